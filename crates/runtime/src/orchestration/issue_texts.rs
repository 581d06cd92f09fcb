//! The issues that a task mentions, read with gh where that works. Never writes to a remote.

use std::time::Duration;

use engine::orchestration::issue_numbers;
use serde::Deserialize;

use super::repository::WorkRepository;
use crate::os::gh::Gh;

/// The longest time for one issue.
const CALL: Duration = Duration::from_secs(30);
/// The longest part of the text of an issue, in characters.
const TEXT: usize = 8_000;

/// An issue as gh prints it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct SeenIssue {
    title: String,
    body: Option<String>,
}

/// The texts of the issues that a task mentions, for prompts; empty where gh cannot read them.
pub(super) async fn issue_texts(repository: &WorkRepository, task: &str, given: &str) -> String {
    let given = given.trim().trim_start_matches('#').parse::<u64>().ok();
    let mut numbers = issue_numbers(task);
    numbers.extend(given.filter(|number| !numbers.contains(number)));
    if numbers.is_empty() || !repository.has_program("gh") || repository.remote().await.is_none() {
        return String::new();
    }
    let mut texts = Vec::new();
    for number in numbers {
        texts.extend(issue_text(repository, number).await);
    }
    texts.join("\n\n")
}

async fn issue_text(repository: &WorkRepository, number: u64) -> Option<String> {
    let name = number.to_string();
    let gh = Gh::new(&repository.dir, &repository.env, CALL);
    let seen = gh.call(&["issue", "view", &name, "--json", "title,body"], "").await.ok()?;
    let seen: SeenIssue = serde_json::from_str(&seen).ok()?;
    let body: String = seen.body.unwrap_or_default().trim().chars().take(TEXT).collect();
    let text = format!("{}\n{body}", seen.title.trim());
    let quoted: Vec<String> = text.trim().lines().map(|line| format!("> {line}")).collect();
    (!quoted.is_empty()).then(|| format!("Issue #{number}:\n{}", quoted.join("\n")))
}
