//! What a round really did, for the rules and for the agent that judges it: `orch evidence`.

use std::path::Path;

use engine::orchestration::{
    CheckResult, GoalStatus, HollowVerdict, Publish, Route, SeenWork, TaskType, WorkEvidence, judge_hollow,
    read_goal_status,
};
use serde::{Deserialize, Serialize};

use super::{
    begin::StartFacts,
    caller::{Caller, value_in},
    commit,
    cycle::look,
    detect::Detected,
    evidence::{WorkDone, is_committed_by_us},
    place::{bullets, watched},
    repository::WorkRepository,
    rounds::{Executed, RoundView, rounds},
    streams::PlacedStream,
};

/// The longest text about the work that the judging agent gets.
const DIGEST: usize = 24 * 1024;
/// The longest part of one answer in it.
const ANSWER: usize = 3_000;

/// What a round did, and whether an agent has to judge it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RoundEvidence {
    pub(super) work: WorkEvidence,
    /// Whether an agent judges.
    ask: bool,
    /// What the agent gets.
    digest: String,
    /// The verdict of the rules, where no agent judges.
    pub(super) ruled: Option<GoalStatus>,
    /// What the agent of an operation says about its status.
    pub(super) said: String,
    pub(super) hollow: bool,
    /// Whether the answers name a result.
    pub(super) has_result: bool,
    pub(super) reasons: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// Gathers what the round of the calling step did.
pub(super) async fn evidence(caller: &Caller) -> RoundEvidence {
    let all = rounds(caller.state());
    let Some(round) = all.last() else { return RoundEvidence::default() };
    let route: Option<Route> = value_in(caller.state().root(), "route");
    let task_type = route.as_ref().map_or(TaskType::Development, |route| route.task_type);
    let detected: Detected = caller.sibling("detect").unwrap_or_default();
    let mut notes = Vec::new();
    let mut done = Vec::new();
    for stream in round.streams().streams {
        notes.extend(commit_rest(caller, &stream).await);
        done.push((stream.name.clone(), watched(caller, &stream.workspace).done().await));
    }
    notes.extend(moved(caller, round).await);
    let executed = round.executed();
    let work = work(caller, round, &executed, &done);
    let answers = answers(round, &executed);
    let hollow = hollowness(round, &executed, task_type, &work);
    let ruled = ruled(task_type, &hollow.verdict, &answers, &work, &detected);
    RoundEvidence {
        ask: ruled.is_none(),
        digest: digest(route.as_ref(), &work, &done, &detected, &answers),
        ruled,
        said: answers.last().map(|answer| read_goal_status(answer).detail).unwrap_or_default(),
        hollow: hollow.hollow,
        has_result: hollow.reasons.contains(&"the answer names a result"),
        reasons: hollow.reasons.iter().map(|reason| (*reason).to_owned()).collect(),
        work,
        notes,
    }
}

/// The answers of all agents that executed in a round.
fn answers(round: &RoundView<'_>, executed: &[Executed<'_>]) -> Vec<String> {
    executed.iter().flat_map(|executed| executed.answers(round.state)).collect()
}

/// What the rules say about the answers of a round.
fn hollowness(
    round: &RoundView<'_>,
    executed: &[Executed<'_>],
    task_type: TaskType,
    work: &WorkEvidence,
) -> HollowVerdict {
    let proven = executed
        .iter()
        .any(|executed| executed.terminal_state(round.state).is_some_and(|state| state.proves_no_change()));
    let seen = if work.has_work() || proven { SeenWork::Seen } else { SeenWork::None };
    let answers = answers(round, executed);
    let mut hollow = judge_hollow(task_type, seen, &answers.join("\n\n"));
    // silence is hollow only where an agent was asked and did not break off
    let was_silent = || executed.iter().any(|executed| executed.is_silent(round.state));
    if answers.is_empty() && hollow.hollow && !was_silent() {
        hollow.hollow = false;
        hollow.verdict = GoalStatus::NotAchieved;
    }
    hollow
}

/// Why a round is hollow, if it is.
pub(super) async fn hollow_round(caller: &Caller, round: &RoundView<'_>) -> Option<String> {
    let route: Option<Route> = value_in(caller.state().root(), "route");
    let task_type = route.as_ref().map_or(TaskType::Development, |route| route.task_type);
    let mut done = Vec::new();
    for stream in round.streams().streams {
        done.push((stream.name.clone(), watched(caller, &stream.workspace).done().await));
    }
    let executed = round.executed();
    let work = work(caller, round, &executed, &done);
    let hollow = hollowness(round, &executed, task_type, &work);
    hollow.hollow.then(|| hollow.reasons.join("; "))
}

/// The verdict that needs no agent.
fn ruled(
    task_type: TaskType,
    hollow: &GoalStatus,
    answers: &[String],
    work: &WorkEvidence,
    detected: &Detected,
) -> Option<GoalStatus> {
    match (task_type, hollow) {
        (_, GoalStatus::Hollow | GoalStatus::NotAchieved) => Some(*hollow),
        // the agent that carried the operation out says so itself
        (TaskType::Operations, _) if !work.has_change() => {
            let said = answers.last().map_or(GoalStatus::Unknown, |answer| read_goal_status(answer).status);
            Some(said)
        }
        _ if detected.is_budget => Some(GoalStatus::Unknown),
        _ => None,
    }
}

/// Commits what a workflow left uncommitted in its worktree.
pub(super) async fn commit_rest(caller: &Caller, stream: &PlacedStream) -> Vec<String> {
    if !is_committed_by_us(&stream.workspace) || !Path::new(&stream.workspace.path).is_dir() {
        return Vec::new();
    }
    let guarded = look(caller, &stream.workspace).await;
    if !guarded.clean {
        return Vec::new();
    }
    let repository = WorkRepository::at(Path::new(&stream.workspace.path), &caller.env);
    let committed = commit::commit(&repository, &stream.task).await;
    let error = committed.error.map(|error| format!("{}: not committed: {error}", stream.name));
    committed.notes.into_iter().chain(error).collect()
}

/// Branches that are not those of the task and moved meanwhile, and the checkout if it did.
async fn moved(caller: &Caller, round: &RoundView<'_>) -> Vec<String> {
    let started: StartFacts = value_in(caller.state().root(), "begin").unwrap_or_default();
    if !started.checkout.git {
        return Vec::new();
    }
    let now = WorkRepository::at(&caller.dir("repo_path"), &caller.env).facts().await;
    let streams = round.streams().streams;
    let is_ours = |name: &str| streams.iter().any(|stream| stream.workspace.branch.as_deref() == Some(name));
    let in_place = streams.iter().any(|stream| !is_committed_by_us(&stream.workspace));
    let mut notes: Vec<String> = started
        .checkout
        .branches
        .iter()
        .filter(|(name, commit)| now.branches.get(*name) != Some(*commit) && !is_ours(name))
        .map(|(name, commit)| format!("branch `{name}` moved meanwhile; it was at {commit}"))
        .collect();
    let was = &started.checkout;
    let is_same = now.head == was.head && now.branch == was.branch && now.status == was.status;
    if !in_place && !is_same {
        notes.push("your checkout changed meanwhile".to_owned());
    }
    notes
}

/// The evidence of all workstreams together.
pub(super) fn work(
    caller: &Caller,
    round: &RoundView<'_>,
    executed: &[Executed<'_>],
    done: &[(String, WorkDone)],
) -> WorkEvidence {
    let ended: Vec<_> = executed.iter().filter_map(|executed| executed.ended(round.state)).collect();
    let findings: u64 = ended.iter().map(|ended| ended.findings).sum();
    let reports: Vec<&str> = ended.iter().map(|ended| ended.report.as_str()).collect();
    let last = |name: &str| executed.iter().rev().find(|executed| executed.stream == name);
    let newest = done.iter().filter_map(|(name, _)| last(name)?.ended(round.state));
    let newest: Vec<_> = newest.collect();
    let earlier = rounds(caller.state());
    let was_published = earlier.iter().flat_map(RoundView::executed).any(|executed| {
        executed.ended(caller.state()).and_then(|ended| ended.published).unwrap_or(Publish::None)
            > Publish::None
    });
    let state: Vec<String> =
        done.iter().map(|(name, done)| format!("{name} {}", done.state_digest)).collect();
    WorkEvidence {
        commits: done
            .iter()
            .flat_map(|(_, done)| done.commits.iter().map(|made| made.commit.clone()))
            .collect(),
        changed_files: done.iter().flat_map(|(_, done)| done.files.clone()).collect(),
        findings,
        produced: Vec::new(),
        checks: newest.iter().flat_map(|ended| ended.checks.clone()).collect(),
        pushed: was_published,
        pr_url: ended.iter().find_map(|ended| ended.pr_url.clone()),
        merged: ended.iter().any(|ended| ended.merged),
        state_digest: recipe::digest::sha256(
            format!("{}\n{}", state.join("\n"), reports.join("\n")).as_bytes(),
        ),
        commit: done.first().and_then(|(_, done)| done.head.clone()),
    }
}

/// What the judging agent gets: facts first.
fn digest(
    route: Option<&Route>,
    work: &WorkEvidence,
    done: &[(String, WorkDone)],
    detected: &Detected,
    answers: &[String],
) -> String {
    let mut parts = Vec::new();
    if let Some(route) = route {
        parts.push(format!("The goal:\n{}", route.goal));
        parts.push(format!("It is reached when:\n{}", bullets(&route.success_criteria)));
    }
    let subjects = done.iter().flat_map(|(_, done)| done.commits.iter().map(|made| made.subject.clone()));
    let subjects: Vec<String> = subjects.collect();
    parts.push(format!("Commits: {}\n{}", subjects.len(), bullets(&subjects)));
    let count: usize = done.iter().map(|(_, done)| done.changed_files).sum();
    parts.push(format!("Changed files: {count}\n{}", bullets(&work.changed_files)));
    parts.extend(done.iter().filter(|(_, done)| !done.stat.is_empty()).map(|(_, done)| done.stat.clone()));
    let check = |check: &CheckResult| {
        let word = if check.passed { "passed" } else { "failed" };
        let also = if check.preexisting { ", and fails on the base commit too" } else { "" };
        format!("`{}` {word}{also}", check.command)
    };
    let checks: Vec<String> = work.checks.iter().map(check).collect();
    parts.push(match checks.is_empty() {
        true => "Checks: none ran".to_owned(),
        false => format!("Checks:\n{}", bullets(&checks)),
    });
    if let Some(mode) = detected.mode {
        let then = match (&detected.skipped, &detected.fallback) {
            (Some(reason), _) => format!("nothing else was tried: {reason}"),
            (None, Some(recipe)) => format!("{recipe} was tried then"),
            (None, None) => "it was tried once more".to_owned(),
        };
        parts.push(format!("A failure ({mode}): {}\n{then}", detected.quote));
    }
    for answer in answers.iter().rev() {
        let short: String = answer.chars().take(ANSWER).collect();
        parts.push(format!("An agent said:\n{short}"));
    }
    let mut digest = parts.join("\n\n");
    let mut end = DIGEST.min(digest.len());
    while !digest.is_char_boundary(end) {
        end -= 1;
    }
    digest.truncate(end);
    digest
}
