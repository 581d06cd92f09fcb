//! Workstreams that a file lists: their places, and the report about them. `orch workspace --listed` and
//! `orch report --workstreams`, for the recipe `parallel-workstreams`.

use engine::orchestration::{Guard, TaskType, Workflows};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    caller::{Caller, typed},
    claims::Claims,
    issue_texts::issue_texts,
    place::{brief, wanted, watched},
    repository::WorkRepository,
    round_evidence::commit_rest,
    rounds::{RoundView, rounds},
    stream_sessions::{self, SessionRoom},
    streams::{MAX_PARALLEL, PlacedStream, RoundStreams, is_done},
    verb::VerbError,
    workspace::{self, WantedWorkspace, WorkspaceKind},
};
use crate::{machine::host::Host, runs::Runs};

/// The first line of the report.
const TITLE: &str = "PARALLEL WORKSTREAM REPORT";

/// A workstream as a file lists it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct ListedStream {
    issue: Json,
    branch: Option<String>,
    description: Option<String>,
    task: Option<String>,
    recipe: Option<String>,
}

impl ListedStream {
    fn text(field: Option<&String>) -> Option<&str> {
        field.map(|text| text.trim()).filter(|text| !text.is_empty())
    }

    /// The number of its issue; empty if it has none.
    fn issue(&self) -> String {
        match &self.issue {
            Json::Number(number) => number.to_string(),
            Json::String(text) => {
                let number = text.trim().trim_start_matches('#');
                let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
                if is_number { number.to_owned() } else { String::new() }
            }
            _ => String::new(),
        }
    }
}

/// Prepares a worktree for each workstream of the list.
pub(super) async fn prepare(caller: &Caller, host: &Host) -> Result<RoundStreams, VerbError> {
    let listed = caller.own().context.get("workstreams").and_then(typed::<Vec<ListedStream>>);
    let listed = listed
        .ok_or_else(|| VerbError::Failed("`workstreams` is not a list of objects with texts".to_owned()))?;
    let repository = WorkRepository::at(&caller.dir("repo_path"), &caller.env);
    let base = wanted(caller, &repository).await?;
    let head = repository.commit("HEAD").await;
    let mut streams = Vec::new();
    for (at, listed) in listed.iter().enumerate() {
        let wanted = WantedWorkspace {
            kind: WorkspaceKind::Worktree,
            existing: String::new(),
            base: base.base.clone().or_else(|| head.clone()),
            ..base.clone()
        };
        let mut placed = stream(caller, &repository, (at, listed), wanted).await?;
        if streams.iter().any(|other: &PlacedStream| other.name == placed.name) {
            placed.name = format!("{} ({})", placed.name, at + 1);
        }
        streams.push(placed);
    }
    let place = Runs::at(caller.home.clone()).session_place(host);
    let room = match place.guard() {
        Guard::Allowed => {
            let most = caller.text("max_parallel").parse().unwrap_or(MAX_PARALLEL);
            stream_sessions::begin(&place, &streams, most)
        }
        _ => SessionRoom { parallel: 1, depth: place.depth },
    };
    Ok(RoundStreams {
        first: streams.first().cloned().unwrap_or_default(),
        todo: streams.clone(),
        streams,
        parallel: room.parallel,
        depth: room.depth,
        ..RoundStreams::default()
    })
}

async fn stream(
    caller: &Caller,
    repository: &WorkRepository,
    (at, listed): (usize, &ListedStream),
    wanted: WantedWorkspace,
) -> Result<PlacedStream, VerbError> {
    let (described, asked) = (listed.description.as_ref(), listed.task.as_ref());
    let task = ListedStream::text(asked).or_else(|| ListedStream::text(described));
    let number = at + 1;
    let task = task.ok_or_else(|| {
        VerbError::Failed(format!("workstream {number} has no `task` and no `description`"))
    })?;
    let name = ListedStream::text(described).unwrap_or(task).to_owned();
    let wanted = WantedWorkspace {
        task: name.clone(),
        issue: listed.issue(),
        branch: ListedStream::text(listed.branch.as_ref()).unwrap_or_default().to_owned(),
        ..wanted
    };
    let part = format!("{number} {name}");
    let claims = Claims::of(&caller.home, &caller.opened.folder.id(), &part);
    let workspace = workspace::prepare(repository, &wanted, &claims).await?;
    watched(caller, &workspace).remember().await?;
    let usual = Workflows::default();
    let recipe = ListedStream::text(listed.recipe.as_ref()).unwrap_or(&usual.development).to_owned();
    let issues = issue_texts(repository, task, &wanted.issue).await;
    Ok(PlacedStream {
        classification: Some(match recipe == usual.investigation {
            true => TaskType::Investigation,
            false => TaskType::Development,
        }),
        brief: brief(caller, task, &issues),
        task: task.to_owned(),
        session: format!("{}-{number}", caller.opened.folder.id()),
        issue: wanted.issue.clone(),
        recipe,
        name,
        workspace,
        ..PlacedStream::default()
    })
}

/// What the workstreams came to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct StreamReport {
    pub(super) succeeded: usize,
    pub(super) failed: usize,
    text: String,
}

/// Reports on all workstreams, and commits what their workflows left uncommitted.
pub(super) async fn report(caller: &Caller, host: &Host) -> StreamReport {
    let all = rounds(caller.state());
    let Some(round) = all.last() else { return StreamReport::default() };
    stream_sessions::end(&Runs::at(caller.home.clone()).session_place(host), round);
    let mut report = StreamReport::default();
    let mut lines = vec![TITLE.to_owned()];
    for stream in round.streams().streams {
        let notes = commit_rest(caller, &stream).await;
        let work = watched(caller, &stream.workspace).done().await;
        let is_success = has_run(round, &stream) && is_done(round, &stream.name);
        if is_success {
            report.succeeded += 1
        } else {
            report.failed += 1
        }
        let word = if is_success { "OK" } else { "FAILED" };
        let branch = stream.workspace.branch.clone().unwrap_or_default();
        let why = if is_success { String::new() } else { format!("; {}", failure(round, &stream)) };
        let counts =
            format!("{}, {}", counted(work.commits.len(), "commit"), counted(work.changed_files, "file"));
        lines.push(format!(
            "{word:<6}  {}: {branch} in {}: {counts}{why}",
            stream.name, stream.workspace.path
        ));
        lines.extend(notes.into_iter().map(|note| format!("        {note}")));
    }
    let total = report.succeeded + report.failed;
    lines.push(format!("{} of {} succeeded", report.succeeded, counted(total, "workstream")));
    report.text = lines.join("\n");
    report
}

fn has_run(round: &RoundView<'_>, stream: &PlacedStream) -> bool {
    round.executed().iter().any(|executed| executed.stream == stream.name)
}

/// Why a workstream has no success, in one line.
fn failure(round: &RoundView<'_>, stream: &PlacedStream) -> String {
    let executed = round.executed();
    let Some(last) = executed.iter().rev().find(|executed| executed.stream == stream.name) else {
        return "it did not run".to_owned();
    };
    let reason = last.ended(round.state).map(|ended| ended.terminal.reason);
    let error = last.step.ended.as_deref().and_then(|ended| ended.error.clone());
    let text = reason.or(error).unwrap_or_default();
    text.lines().next().unwrap_or_default().to_owned()
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
