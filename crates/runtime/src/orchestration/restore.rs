//! The worktrees of a run that is resumed: those that are gone are made again from their branches, half-made ones are
//! completed.

use engine::run::cause::{Need, Problem};

use super::{
    caller::value_in,
    finish::{CommitStep, Ended},
    judge::JudgedRound,
    place::WorkPlace,
    repository::WorkRepository,
    rounds::rounds,
    workspace::{self, WorkspaceFacts, WorkspaceKind},
};
use crate::{
    machine::host::Host,
    os::{clock, environment::Environment},
    runs::{ORCHESTRATOR, OpenedRun},
};

/// The path of the workflow that prepares a worktree of its own if it runs alone.
const WORKFLOW: &str = "built-in:default-workflow";

/// Brings back the worktrees that the unfinished part of a run works in; returns what is in the way.
pub(crate) fn restore(opened: &OpenedRun, host: &Host) -> Vec<Problem> {
    let places = unfinished(opened);
    if places.is_empty() {
        return Vec::new();
    }
    let env = Environment::shared(std::sync::Arc::new(host.env.clone()));
    let repo = opened.state.root().context.get("repo_path").map(|dir| dir.render().into_owned());
    let dir = opened.header.working_dir.join(repo.unwrap_or_default());
    let problem = |text: String| Problem { need: Need::Path, text };
    let restored = clock::block_on(async {
        let repository = WorkRepository::at(&dir, &env);
        let mut problems = Vec::new();
        for place in &places {
            let last = last_commit(opened, place);
            let restored = workspace::restore(&repository, place, &last).await;
            problems.extend(restored.err().map(|error| problem(error.to_string())));
        }
        problems
    });
    restored.unwrap_or_else(|error| vec![problem(error.to_string())])
}

/// The worktrees of the round that is not judged yet, or of a workflow that runs alone.
fn unfinished(opened: &OpenedRun) -> Vec<WorkspaceFacts> {
    let root = opened.state.root();
    let places = match opened.header.recipe_path.as_str() {
        ORCHESTRATOR => {
            let all = rounds(&opened.state);
            let open = all.last().filter(|round| value_in::<JudgedRound>(round.frame, "judge").is_none());
            let streams = open.map(|round| round.streams().streams).unwrap_or_default();
            streams.into_iter().map(|stream| stream.workspace).collect()
        }
        WORKFLOW => {
            let place: Option<WorkPlace> = value_in(root, "prepare");
            place.into_iter().map(|place| place.workspace).collect()
        }
        _ => Vec::new(),
    };
    places.into_iter().filter(|place: &WorkspaceFacts| place.kind == WorkspaceKind::Worktree).collect()
}

/// The newest commit of a place that the journal has.
fn last_commit(opened: &OpenedRun, place: &WorkspaceFacts) -> String {
    let is_there = |dir: &str| dir == place.path;
    let known = opened.state.frames.iter().rev().find_map(|frame| {
        let work: WorkPlace = value_in(frame, "prepare")?;
        let is_its = is_there(&work.workspace.path);
        let ended: Option<Ended> = value_in(frame, "terminal").filter(|_| is_its);
        let committed: Option<CommitStep> = value_in(frame, "commit").filter(|_| is_its);
        ended.and_then(|ended| ended.evidence.head).or(committed.and_then(|step| step.committed.commit))
    });
    known.or_else(|| place.start_commit.clone()).unwrap_or_default()
}
