//! The references of an investigation's findings: which of them exist. Never judges what a finding says.

use std::{fs, path::Path};

use engine::orchestration::{TerminalResult, TerminalState, investigation_end};
use serde::{Deserialize, Serialize};

use super::{caller::Caller, repository::WorkRepository};

/// A reference that a finding rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Reference {
    /// `path`, `commit` or `command`.
    pub(super) kind: String,
    #[serde(rename = "ref")]
    pub(super) place: String,
    pub(super) quote: String,
    /// Whether it exists; absent if that cannot be known.
    pub(super) exists: Option<bool>,
}

/// A claim and what it rests on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct CitedFinding {
    pub(super) claim: String,
    pub(super) evidence: Vec<Reference>,
    pub(super) confidence: serde_json::Value,
}

/// Marks the references of all findings.
async fn check(repository: &WorkRepository, findings: &mut [CitedFinding]) {
    for reference in findings.iter_mut().flat_map(|finding| &mut finding.evidence) {
        reference.exists = match reference.kind.as_str() {
            "path" => Some(has_place(&repository.dir, &reference.place)),
            "commit" => Some(repository.commit(reference.place.trim()).await.is_some()),
            _ => None,
        };
    }
}

/// Whether a file, and the line that is named after it, exists.
pub(super) fn has_place(dir: &Path, place: &str) -> bool {
    let place = place.trim().trim_matches('`');
    let file = |name: &str| {
        let path = dir.join(name);
        Some(path).filter(|path| !name.is_empty() && path.is_file())
    };
    if file(place).is_some() {
        return true;
    }
    // `src/a.rs:12`, `src/a.rs:12-14`, `src/a.rs:12:5`
    let Some((name, lines)) = place.split_once(':') else { return false };
    let number: String =
        lines.trim_start_matches(['L', ' ']).chars().take_while(char::is_ascii_digit).collect();
    let Ok(number) = number.parse::<usize>() else { return false };
    let text = file(name).and_then(|path| fs::read(path).ok());
    text.is_some_and(|text| number > 0 && text.split(|byte| *byte == b'\n').count() >= number)
}

/// The answer of an investigation, with checked references.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Investigated {
    answer: String,
    pub(super) findings: Vec<CitedFinding>,
    open: Vec<String>,
    /// How many findings have a reference that exists.
    pub(super) confirmed: u64,
    /// The same for people.
    pub(super) text: String,
}

/// Checks what the synthesis of the step's recipe cites.
pub(super) async fn investigated(caller: &Caller) -> Investigated {
    let repository = WorkRepository::at(&caller.dir("repo_path"), &caller.env);
    let mut read: Investigated = caller.sibling("synthesis").unwrap_or_default();
    check(&repository, &mut read.findings).await;
    read.confirmed = read.findings.iter().filter(|finding| finding.is_confirmed()).count() as u64;
    let said = caller.sibling_state("synthesis").and_then(|step| step.value.as_ref());
    read.text = match read.answer.is_empty() && read.findings.is_empty() {
        true => said.map(|said| said.render().into_owned()).unwrap_or_default(),
        false => text(&read),
    };
    read
}

/// The state that an investigation ended in.
pub(super) fn concluded(read: &Investigated, broke_off: Option<String>) -> TerminalResult {
    match broke_off {
        Some(reason) => TerminalResult {
            terminal_state: TerminalState::FailedIncomplete,
            terminal_success: false,
            reason,
        },
        None => investigation_end(read.findings.len() as u64, read.confirmed),
    }
}

impl CitedFinding {
    fn is_confirmed(&self) -> bool {
        self.evidence.iter().any(|reference| reference.exists == Some(true))
    }
}

fn text(read: &Investigated) -> String {
    let mut lines = vec![read.answer.clone()];
    lines.extend((!read.findings.is_empty()).then(String::new));
    for finding in &read.findings {
        let place = |reference: &Reference| match reference.exists {
            Some(false) => format!("{} (does not exist)", reference.place),
            _ => reference.place.clone(),
        };
        let places: Vec<String> = finding.evidence.iter().map(place).collect();
        let places = if places.is_empty() { "no evidence".to_owned() } else { places.join(", ") };
        lines.push(format!("- {} ({places})", finding.claim));
    }
    lines.extend(read.open.iter().map(|open| format!("- open: {open}")));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_needs_its_file_and_its_line() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.rs"), "one\ntwo").unwrap();
        for (place, exists) in [
            ("a.rs", true),
            ("a.rs:2", true),
            ("a.rs:1-2", true),
            ("`a.rs:L2`", true),
            ("a.rs:3", false),
            ("a.rs:0", false),
            ("b.rs:1", false),
            ("", false),
            ("a.rs:x", false),
        ] {
            assert_eq!(has_place(dir.path(), place), exists, "{place}");
        }
    }
}
