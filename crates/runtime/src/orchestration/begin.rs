//! The beginning of an orchestrated run: the repository, the session, and whether an agent has to classify the task.

use std::fs;

use engine::orchestration::{RepositoryFacts, SessionEntry, TaskType, read_task_type};
use serde::{Deserialize, Serialize};

use super::{
    caller::Caller,
    issue_texts::issue_texts,
    place::{brief, hints},
    repository::{CheckoutFacts, WorkRepository},
    verb::VerbError,
};
use crate::{
    machine::host::Host,
    runs::{Runs, TaskError, task_digest},
};

/// The most names of a directory that an agent is shown.
const NAMES: usize = 200;

/// What is known before the task is classified.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct StartFacts {
    pub(super) repository: RepositoryFacts,
    pub(super) checkout: CheckoutFacts,
    pub(super) session: Option<SessionEntry>,
    pub(super) free_sessions: u64,
    pub(super) ask_classifier: bool,
    pub(super) brief: String,
    /// The texts of the issues that the task mentions.
    pub(super) issues: String,
    /// The names in the directory.
    pub(super) listing: String,
    pub(super) notes: Vec<String>,
}

/// Looks at everything that the task starts from.
pub(super) async fn begin(caller: &Caller, host: &Host) -> Result<StartFacts, VerbError> {
    let dir = caller.dir("repo_path");
    let task = caller.text("task_description");
    let mut problems = Vec::new();
    if !dir.is_dir() {
        problems.push(format!("`repo_path` is `{}`, which is not a directory", dir.display()));
    }
    let said = caller.text("task_type");
    let given = read_task_type(&said);
    if !said.is_empty() && given.is_none() {
        problems.push(format!("`task_type` is `{said}`: use Q&A, Operations, Investigation or Development"));
    }
    let rounds = caller.text("max_rounds").parse::<u32>().unwrap_or(0);
    if !(1..=10).contains(&rounds) {
        problems.push("`max_rounds` must be from 1 to 10".to_owned());
    }
    if !problems.is_empty() {
        return Err(VerbError::Failed(problems.join("; ")));
    }
    let repository = WorkRepository::at(&dir, &caller.env);
    let checkout = repository.facts().await;
    let mut notes = Vec::new();
    if checkout.dirty_files > 0 && caller.text("workspace") != "in_place" {
        let count = checkout.dirty_files;
        notes.push(format!("{count} uncommitted files of your checkout are not in the worktree"));
    }
    if !caller.text("existing_branch").is_empty() && !caller.text("pr_number").is_empty() {
        notes.push("`existing_branch` and `pr_number` are given: `existing_branch` is used".to_owned());
    }
    let issues = issue_texts(&repository, &task, &caller.text("issue_number")).await;
    let (session, free_sessions) = enter(caller, host, &task, &repository, &mut notes)?;
    let needs_no_split = caller.flag("force_single_workstream");
    let is_light = |task_type| matches!(task_type, TaskType::Question | TaskType::Operations);
    let shown = checkout.branch.iter().map(|branch| format!("The branch: {branch}"));
    Ok(StartFacts {
        repository: RepositoryFacts {
            git: checkout.git,
            head: checkout.head.clone(),
            branch: checkout.branch.clone(),
            dirty_files: Vec::new(),
            remote: checkout.remote.clone(),
            gh: checkout.gh,
        },
        ask_classifier: !given.is_some_and(|given| is_light(given) || needs_no_split),
        brief: [brief(caller, &task, &hints([caller.text("guidance"), issues.clone()]))]
            .into_iter()
            .chain(shown)
            .collect::<Vec<_>>()
            .join("\n\n"),
        issues,
        listing: listing(&dir),
        session,
        free_sessions,
        checkout,
        notes,
    })
}

/// Registers the run as one that orchestrates.
fn enter(
    caller: &Caller,
    host: &Host,
    task: &str,
    repository: &WorkRepository,
    notes: &mut Vec<String>,
) -> Result<(Option<SessionEntry>, u64), VerbError> {
    let place = Runs::at(caller.home.clone()).session_place(host);
    let guard = place.guard();
    match place.begin_task(&task_digest(task, &repository.dir)) {
        Ok(changed) => notes.extend(changed.warning),
        Err(error @ TaskError::SameTask { .. }) => return Err(VerbError::Failed(error.to_string())),
        Err(error) => notes.push(format!("the run is not registered in its session tree: {error}")),
    }
    let entry = SessionEntry {
        id: caller.opened.folder.id(),
        tree_id: place.tree_id.clone().unwrap_or_default(),
        depth: u32::try_from(place.depth.saturating_sub(1)).unwrap_or(u32::MAX),
        guard,
    };
    Ok((Some(entry), place.free_sessions()))
}

/// The names at the top of a directory.
pub(super) fn listing(dir: &std::path::Path) -> String {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let name = |entry: fs::DirEntry| {
        let mark = if entry.path().is_dir() { "/" } else { "" };
        format!("{}{mark}", entry.file_name().to_string_lossy())
    };
    let mut names: Vec<String> =
        entries.map(name).filter(|name| ![".git", ".git/"].contains(&name.as_str())).collect();
    names.sort();
    let rest = names.len().saturating_sub(NAMES);
    names.truncate(NAMES);
    if rest > 0 {
        names.push(format!("… and {rest} more"));
    }
    names.join("\n")
}
