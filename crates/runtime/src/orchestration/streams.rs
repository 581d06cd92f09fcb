//! The workspaces of a round: one for each workstream, found again in later rounds. `orch workspace --streams`.

use engine::orchestration::{Route, RouteKind, TaskType};
use serde::{Deserialize, Serialize};

use super::{
    begin::{StartFacts, listing},
    caller::{Caller, value_in},
    claims::Claims,
    judge::JudgedRound,
    place::{brief, hints, wanted, watched},
    repository::WorkRepository,
    rounds::{RoundView, rounds},
    stream_sessions::{self, SessionRoom},
    verb::VerbError,
    workspace::{self, WantedWorkspace, WorkspaceFacts, WorkspaceKind},
};
use crate::{machine::host::Host, runs::Runs};

/// How many workstreams work at the same time unless set.
pub(super) const MAX_PARALLEL: usize = 3;

/// A workstream with its workspace.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PlacedStream {
    #[serde(flatten)]
    pub(super) workspace: WorkspaceFacts,
    pub(super) name: String,
    pub(super) classification: Option<TaskType>,
    pub(super) recipe: String,
    pub(super) task: String,
    /// The task with hints, criteria and what is missing, for prompts.
    pub(super) brief: String,
    /// What an earlier round missed.
    pub(super) feedback: String,
    pub(super) criteria: Vec<String>,
    /// The id of its session.
    pub(super) session: String,
    /// The number of its issue.
    pub(super) issue: String,
}

impl PlacedStream {
    /// The same for another workflow, which is told why the first one failed.
    pub(super) fn again(self, recipe: &str, failure: &str, caller: &Caller) -> PlacedStream {
        let missing = format!("Another workflow failed in this directory: {failure}");
        PlacedStream {
            recipe: recipe.to_owned(),
            brief: format!("{}\n\n{missing}", brief(caller, &self.task, &guidance(caller))),
            feedback: missing,
            ..self
        }
    }
}

/// The workstreams of a round.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RoundStreams {
    /// `development`, `investigation`, `operations` or `workstreams`.
    pub(super) way: String,
    pub(super) streams: Vec<PlacedStream>,
    /// Those that this round works on.
    pub(super) todo: Vec<PlacedStream>,
    pub(super) first: PlacedStream,
    pub(super) guidance: String,
    /// How many of them work at the same time.
    pub(super) parallel: usize,
    /// The session depth that the steps of a workstream see.
    pub(super) depth: u64,
}

impl RoundStreams {
    /// One line about the places.
    pub(super) fn line(&self) -> String {
        let place = |stream: &PlacedStream| match &stream.workspace.branch {
            Some(branch) if stream.workspace.kind == WorkspaceKind::Worktree => {
                format!("{branch} in {}", stream.workspace.path)
            }
            _ => stream.workspace.path.clone(),
        };
        let places: Vec<String> = self.todo.iter().map(place).collect();
        format!("workspace: {}", places.join(", "))
    }
}

/// Prepares the workspaces of a round.
pub(super) async fn prepare(caller: &Caller, host: &Host) -> Result<RoundStreams, VerbError> {
    let route: Route = value_in(caller.state().root(), "route")
        .ok_or_else(|| VerbError::Failed("the task has no route".to_owned()))?;
    let all = rounds(caller.state());
    let earlier = &all[..all.len().saturating_sub(1)];
    let guidance = guidance(caller);
    let mut streams = Vec::new();
    for index in 0..route.workstreams.len() {
        streams.push(stream(caller, &route, index, earlier).await?);
    }
    let is_open = |stream: &&PlacedStream| !earlier.last().is_some_and(|round| is_done(round, &stream.name));
    let open: Vec<PlacedStream> = streams.iter().filter(is_open).cloned().collect();
    let todo = if open.is_empty() { streams.clone() } else { open };
    let place = Runs::at(caller.home.clone()).session_place(host);
    let room = match route.kind {
        RouteKind::Parallel => {
            let most = caller.text("max_parallel").parse().unwrap_or(MAX_PARALLEL);
            stream_sessions::begin(&place, &todo, most)
        }
        _ => SessionRoom { parallel: 1, depth: place.depth },
    };
    Ok(RoundStreams {
        way: match (route.kind, route.task_type) {
            (RouteKind::Parallel, _) => "workstreams",
            (RouteKind::Operate, _) => "operations",
            (_, TaskType::Investigation) => "investigation",
            _ => "development",
        }
        .to_owned(),
        first: todo.first().cloned().unwrap_or_default(),
        todo,
        streams,
        guidance,
        parallel: room.parallel,
        depth: room.depth,
    })
}

/// The hints of the person: given at the start, on a resume or with the approval of the plan; and the issues that the
/// task mentions.
fn guidance(caller: &Caller) -> String {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Approved {
        guidance: String,
    }
    let approved: Approved = value_in(caller.state().root(), "approve-plan").unwrap_or_default();
    let started: StartFacts = value_in(caller.state().root(), "begin").unwrap_or_default();
    let given = caller.text("guidance");
    hints([given, approved.guidance, started.issues])
}

/// Whether the newest work on a workstream ended with success.
pub(super) fn is_done(round: &RoundView<'_>, name: &str) -> bool {
    let executed = round.executed();
    let last = executed.iter().rev().find(|executed| executed.stream == name);
    match last {
        Some(executed) => {
            let state = executed.terminal_state(round.state);
            executed.step.status.is_done() && state.is_none_or(|state| state.is_success())
        }
        // it was not among those of this round, so it was done before
        None => round.streams().streams.iter().any(|stream| stream.name == name),
    }
}

async fn stream(
    caller: &Caller,
    route: &Route,
    index: usize,
    earlier: &[RoundView<'_>],
) -> Result<PlacedStream, VerbError> {
    let routed = &route.workstreams[index];
    let is_single = route.workstreams.len() == 1;
    let task = match is_single {
        true => caller.text("task_description"),
        false => routed.description.clone(),
    };
    let known = earlier.first().and_then(|round| round.streams().streams.into_iter().nth(index));
    let workspace =
        workspace_of(caller, route, (&routed.name, &task), known.map(|stream| stream.workspace)).await?;
    watched(caller, &workspace).remember().await?;
    let feedback = earlier.last().map(|round| feedback(round, &routed.name, &workspace)).unwrap_or_default();
    let missing = if feedback.is_empty() { String::new() } else { format!("\n\nStill missing:\n{feedback}") };
    Ok(PlacedStream {
        name: routed.name.clone(),
        classification: Some(routed.classification),
        recipe: routed.recipe.clone().unwrap_or_default(),
        brief: format!("{}{missing}", brief(caller, &task, &guidance(caller))),
        session: format!("{}-{}", caller.opened.folder.id(), index + 1),
        issue: String::new(),
        // the criteria of the whole task are not those of one part
        criteria: if is_single { route.success_criteria.clone() } else { Vec::new() },
        task,
        feedback,
        workspace,
    })
}

/// The workspace of a workstream: that of the first round, or a new one.
async fn workspace_of(
    caller: &Caller,
    route: &Route,
    (name, task): (&str, &str),
    known: Option<WorkspaceFacts>,
) -> Result<WorkspaceFacts, VerbError> {
    let repository = WorkRepository::at(&caller.dir("repo_path"), &caller.env);
    let started: StartFacts = value_in(caller.state().root(), "begin").unwrap_or_default();
    let base = wanted(caller, &repository).await?;
    let needs_branch = route.kind == RouteKind::Parallel || route.task_type == TaskType::Development;
    let wanted = WantedWorkspace {
        kind: match (needs_branch, route.kind) {
            (true, RouteKind::Parallel) => WorkspaceKind::Worktree,
            (true, _) => base.kind,
            (false, _) => WorkspaceKind::InPlace,
        },
        task: if route.kind == RouteKind::Parallel { name.to_owned() } else { task.to_owned() },
        existing: if route.kind == RouteKind::Parallel { String::new() } else { base.existing.clone() },
        base: base.base.clone().or_else(|| started.repository.head.clone()),
        earlier: known.as_ref().and_then(|known| {
            let commit = known.start_commit.clone().unwrap_or_default();
            (known.kind == WorkspaceKind::Worktree)
                .then(|| (known.branch.clone().unwrap_or_default(), commit))
        }),
        ..base
    };
    // looking and answering need no place of their own
    if !needs_branch {
        return Ok(in_place(&repository, &started));
    }
    let claims = Claims::of(&caller.home, &caller.opened.folder.id(), name);
    let found = workspace::prepare(&repository, &wanted, &claims).await?;
    Ok(match known {
        Some(known) => WorkspaceFacts { path: found.path, notes: found.notes, ..known },
        None => found,
    })
}

fn in_place(repository: &WorkRepository, started: &StartFacts) -> WorkspaceFacts {
    WorkspaceFacts {
        kind: WorkspaceKind::InPlace,
        git: started.checkout.git,
        path: repository.dir.to_string_lossy().into_owned(),
        branch: started.checkout.branch.clone(),
        base_branch: started.checkout.branch.clone(),
        base_commit: started.checkout.head.clone(),
        start_commit: started.checkout.head.clone(),
        ..WorkspaceFacts::default()
    }
}

/// What a round missed, for the next one.
fn feedback(round: &RoundView<'_>, name: &str, workspace: &WorkspaceFacts) -> String {
    let verdict: Option<JudgedRound> = value_in(round.frame, "judge");
    let executed = round.executed();
    let last = executed.iter().rev().find(|executed| executed.stream == name);
    let ended = last.and_then(|executed| executed.ended(round.state));
    let mut parts = Vec::new();
    if verdict.as_ref().is_some_and(JudgedRound::is_hollow) {
        let names = listing(std::path::Path::new(&workspace.path));
        parts.push(format!("The work is in `{}`. It has:\n{names}", workspace.path));
    }
    parts.extend(verdict.map(|verdict| verdict.round.detail).filter(|detail| !detail.is_empty()));
    let unmet = ended.filter(|ended| !ended.terminal.terminal_success);
    parts.extend(unmet.map(|ended| ended.terminal.reason));
    if parts.is_empty() {
        parts.push("The last round did not reach the goal.".to_owned());
    }
    parts.join("\n\n")
}
