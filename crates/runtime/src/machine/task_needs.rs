//! What a task of the orchestrator needs before its first step: a text, and a way to publish where that was asked for.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use engine::{
    orchestration::read_task_type,
    run::cause::{Need, Problem},
};
use recipe::value::Map;

use super::{
    host::Host,
    programs::{Presence, look_for},
};
use crate::os::{clock, environment::Environment, git::Git};

/// Everything that is missing. `given` are the values that the user gave.
pub(crate) fn problems(given: &Map, working_dir: &Path, host: &Host) -> Vec<Problem> {
    let text = |name: &str| given.get(name).map(|value| value.render().trim().to_owned()).unwrap_or_default();
    let mut problems = Vec::new();
    if given.contains_key("task_description") && text("task_description").is_empty() {
        let need = Need::Value("task_description".to_owned());
        problems.push(Problem { need, text: "the task is blank: write it in plain words".to_owned() });
    }
    let said = text("task_type");
    if !said.is_empty() && read_task_type(&said).is_none() {
        let text = format!("`task_type` is `{said}`: use Q&A, Operations, Investigation or Development");
        problems.push(Problem { need: Need::Fit("task_type".to_owned()), text });
    }
    for (name, range) in [("max_rounds", 1..=10), ("max_workstreams", 1..=1000), ("max_parallel", 1..=1000)] {
        let number = text(name).parse::<u32>().ok();
        if number.is_some_and(|number| !range.contains(&number)) {
            let (from, to) = range.into_inner();
            let text = format!("`{name}` must be from {from} to {to}");
            problems.push(Problem { need: Need::Fit(name.to_owned()), text });
        }
    }
    let dir = working_dir.join(text("repo_path"));
    if !dir.is_dir() {
        let text = format!("`repo_path` is `{}`, which is not a directory", dir.display());
        problems.push(Problem { need: Need::Path, text });
    }
    let publish = text("publish");
    if !matches!(publish.as_str(), "push" | "pr") {
        return problems;
    }
    let mut add = |need: Need, text: String| problems.push(Problem { need, text });
    if text("workspace") == "in_place" {
        let text =
            "work in place is not committed, so it cannot be published: leave out `publish` or `workspace`";
        add(Need::Fit("publish".to_owned()), text.to_owned());
    }
    if !has_remote(&dir, host) {
        let text =
            format!("`{}` has no git remote to publish to: add one with `git remote add`", dir.display());
        add(Need::Path, text);
    }
    if publish == "pr" && !matches!(look_for("gh", host), Presence::Found(_)) {
        let text = "`gh` is not installed, so no pull request can be opened: install it, or use `push`";
        add(Need::Program("gh".to_owned()), text.to_owned());
    }
    problems
}

/// Whether the repository around a directory has a remote.
fn has_remote(dir: &Path, host: &Host) -> bool {
    let env = Environment::shared(Arc::new(host.env.clone()));
    let listed = clock::block_on(async { Git::new(dir, &env).await.output(&["remote"]).await });
    listed.is_ok_and(|listed| listed.is_ok_and(|names| !names.trim_ascii().is_empty()))
}

/// What identifies the repository around a directory: the same for all its worktrees. A directory without git is its own.
pub(crate) fn repository_of(dir: &Path) -> PathBuf {
    git_dir(dir).unwrap_or_else(|| dir.canonicalize().unwrap_or_else(|_| dir.to_owned()))
}

/// The folder of the repository around a directory.
fn git_dir(dir: &Path) -> Option<PathBuf> {
    let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
    let git = dir.ancestors().map(|dir| dir.join(".git")).find(|git| git.exists())?;
    // in a worktree it is a file that names a folder below the repository's own
    let Ok(text) = fs::read_to_string(&git) else { return Some(git) };
    let named = git.parent()?.join(text.trim_start_matches("gitdir:").trim());
    let folder = named.ancestors().nth(2)?;
    Some(folder.canonicalize().unwrap_or_else(|_| folder.to_owned()))
}
