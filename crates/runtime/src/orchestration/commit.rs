//! The commit of the work in a worktree, with the user's identity and hooks. Never changes an earlier commit.

use serde::{Deserialize, Serialize};

use super::repository::{WorkRepository, complaint};

/// The name that commits get where git has none.
const NAME: &str = "recipe-runner-rs";
const ADDRESS: &str = "recipe-runner-rs@localhost";
/// The longest first line of a message.
const SUBJECT: usize = 72;

/// What became of the work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Committed {
    /// Whether there was something to commit, and it is committed.
    pub(super) committed: bool,
    /// The commit that is checked out.
    pub(super) commit: Option<String>,
    /// Why it could not be committed.
    pub(super) error: Option<String>,
    pub(super) notes: Vec<String>,
}

/// Commits everything that git does not ignore.
pub(super) async fn commit(repository: &WorkRepository, task: &str) -> Committed {
    let mut result = Committed::default();
    match attempt(repository, task, &mut result.notes).await {
        Ok(committed) => result.committed = committed,
        Err(error) => result.error = Some(error),
    }
    result.commit = repository.commit("HEAD").await;
    result
}

async fn attempt(repository: &WorkRepository, task: &str, notes: &mut Vec<String>) -> Result<bool, String> {
    if repository.text(&["status", "--porcelain"]).await?.is_empty() {
        return Ok(false);
    }
    repository.text(&["add", "--all"]).await?;
    let has_address = repository.found(&["config", "user.email"]).await.is_some()
        || ["GIT_AUTHOR_EMAIL", "EMAIL"].iter().any(|name| repository.env.get(name).is_some());
    let (name, address) = (format!("user.name={NAME}"), format!("user.email={ADDRESS}"));
    let mut args: Vec<&str> = Vec::new();
    if !has_address {
        args.extend(["-c", &name, "-c", &address]);
        notes.push(format!("git knows no user.email here, so {NAME} is the author of the commit"));
    }
    args.extend(["commit", "--quiet", "--file=-"]);
    let output = repository.git().await.run_with(&args, message(task).into_bytes()).await?;
    match output.status.success() {
        true => Ok(true),
        // a hook may undo every change
        false if repository.text(&["status", "--porcelain"]).await?.is_empty() => Ok(false),
        false => Err(complaint(&[output.stderr, output.stdout].concat())),
    }
}

/// The message of a task: its first line, and all of it if there is more.
fn message(task: &str) -> String {
    let task = task.trim();
    let first = task.lines().next().unwrap_or_default().trim();
    let subject: String = match first.chars().count() {
        0 => "Work on a task".to_owned(),
        1..=SUBJECT => first.to_owned(),
        _ => first.chars().take(SUBJECT - 1).chain(['…']).collect(),
    };
    match task == subject {
        true => format!("{subject}\n"),
        false => format!("{subject}\n\n{task}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_a_short_first_line() {
        assert_eq!(message("Fix it"), "Fix it\n");
        assert_eq!(message("Fix it\nnow"), "Fix it\n\nFix it\nnow\n");
        let long = "x".repeat(100);
        assert_eq!(message(&long), format!("{}…\n\n{long}\n", "x".repeat(71)));
        assert_eq!(message(" "), "Work on a task\n\n\n");
    }
}
