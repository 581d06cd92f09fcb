//! What an orchestrated run came to, from its journal alone: the `orchestration` object. `orch conclude`.

use engine::{
    RunStatus, StepStatus,
    orchestration::{
        Accept, EndingFacts, FailureEntry, FailureMode, GoalStatus, ORCHESTRATION_VERSION, Orchestration,
        PublishResult, RecoveryEntry, RecoveryStage, Round, SeenWork, StopReason, TaskType, WorkstreamResult,
        final_status, is_accepted, judge_hollow, published,
    },
    run::outcome::Outcome,
};
use serde::Deserialize;

use super::{
    begin::StartFacts,
    caller::{step_in, value_in},
    detect::Detected,
    judge::JudgedRound,
    round_evidence::RoundEvidence,
    rounds::{RoundView, rounds},
    route::Routed,
    streams::PlacedStream,
    workspace::WorkspaceKind,
};
use crate::runs::{ORCHESTRATOR, OpenedRun};

/// What an orchestrated run came to so far; absent for other runs.
pub(super) fn orchestration(opened: &OpenedRun) -> Option<Orchestration> {
    (opened.header.recipe_path == ORCHESTRATOR).then(|| Story::of(opened).told())
}

/// The workstreams as they are now.
pub(super) fn workstreams(opened: &OpenedRun) -> Vec<WorkstreamResult> {
    Story::of(opened).workstreams()
}

/// The parts of the journal that the object is made of.
struct Story<'a> {
    opened: &'a OpenedRun,
    routed: Option<Routed>,
    started: StartFacts,
    rounds: Vec<RoundView<'a>>,
    verdicts: Vec<JudgedRound>,
}

impl<'a> Story<'a> {
    fn of(opened: &'a OpenedRun) -> Story<'a> {
        let rounds = rounds(&opened.state);
        Story {
            opened,
            routed: value_in(opened.state.root(), "route"),
            started: value_in(opened.state.root(), "begin").unwrap_or_default(),
            verdicts: rounds.iter().filter_map(|round| value_in(round.frame, "judge")).collect(),
            rounds,
        }
    }

    fn text(&self, name: &str) -> String {
        let value = self.opened.state.root().context.get(name);
        value.map(|value| value.render().trim().to_owned()).unwrap_or_default()
    }

    fn told(&self) -> Orchestration {
        let judged: Vec<Round> = self.verdicts.iter().map(|verdict| verdict.round.clone()).collect();
        let (goal_status, detail, best_round) = self.status(&judged);
        let route = self.routed.as_ref().map(|routed| routed.route.clone());
        let failures = self.failures();
        let unrecovered =
            failures.iter().rev().find(|failure| !failure.recovered).map(|failure| failure.mode);
        let accept = if self.text("accept") == "partial" { Accept::Partial } else { Accept::Achieved };
        Orchestration {
            schema_version: ORCHESTRATION_VERSION,
            task: self.text("task_description"),
            task_type: route.as_ref().map(|route| route.task_type),
            goal: route.as_ref().map(|route| route.goal.clone()).unwrap_or_default(),
            success_criteria: route.as_ref().map(|route| route.success_criteria.clone()).unwrap_or_default(),
            classification: self.routed.as_ref().map(|routed| routed.classification.clone()),
            goal_status,
            detail,
            accepted: is_accepted(goal_status, accept),
            stop_reason: self.stop_reason(goal_status),
            rounds: judged,
            best_round,
            failure_mode: unrecovered,
            failures,
            recovery: self.recovery(),
            workstreams: self.workstreams(),
            ending: self.ending(),
            route,
        }
    }

    /// The status of the whole run, what is missing, and a better state.
    fn status(&self, judged: &[Round]) -> (GoalStatus, String, Option<engine::orchestration::BestRound>) {
        let task_type = self.routed.as_ref().map(|routed| routed.route.task_type);
        if let Some(task_type) = task_type.filter(|_| !judged.is_empty()) {
            let end = final_status(task_type, judged);
            return (end.status, end.detail, end.best_round);
        }
        let step = step_in(self.opened.state.root(), "answer");
        let answered = step.filter(|step| step.attempt > 0 && step.status != StepStatus::Running);
        if let Some(step) = answered.filter(|step| step.ended.is_some()) {
            let said = step.value.as_ref().map(|value| value.render().into_owned()).unwrap_or_default();
            let judged = judge_hollow(TaskType::Question, SeenWork::None, &said);
            let status = match step.status {
                StepStatus::Failed if !judged.hollow => GoalStatus::NotAchieved,
                _ => judged.verdict,
            };
            let error = step.ended.as_deref().and_then(|ended| ended.error.clone());
            let detail = match status {
                GoalStatus::Answered => String::new(),
                _ => error.unwrap_or_else(|| judged.reasons.join("; ")),
            };
            return (status, detail, None);
        }
        match self.rejected() {
            true => (GoalStatus::NotAchieved, "the plan was rejected".to_owned(), None),
            false => (GoalStatus::Unknown, self.error(), None),
        }
    }

    /// Why a step of the orchestrator itself failed.
    fn error(&self) -> String {
        let root = self.opened.state.root();
        let failed = ["begin", "route"].iter().find_map(|id| {
            let step = step_in(root, id).filter(|step| step.status == StepStatus::Failed)?;
            step.ended.as_deref()?.error.clone()
        });
        failed.and_then(|error| error.lines().last().map(str::to_owned)).unwrap_or_default()
    }

    fn rejected(&self) -> bool {
        let step = step_in(self.opened.state.root(), "approve-plan");
        let ended = step.and_then(|step| step.ended.as_deref());
        ended.is_some_and(|ended| matches!(ended.outcome, Outcome::Rejected { .. }))
    }

    fn stop_reason(&self, status: GoalStatus) -> Option<StopReason> {
        if self.rejected() {
            return Some(StopReason::Rejected);
        }
        if self.verdicts.is_empty() && status == GoalStatus::Answered {
            return Some(StopReason::Answered);
        }
        let last = self.verdicts.last().filter(|_| self.verdicts.len() == self.rounds.len());
        if let Some(reason) = last.and_then(|verdict| verdict.stop_reason) {
            return Some(reason);
        }
        match self.opened.status {
            RunStatus::Running => None,
            RunStatus::Waiting => Some(StopReason::Waiting),
            RunStatus::Cancelled => Some(StopReason::Cancelled),
            RunStatus::Interrupted => Some(StopReason::Interrupted),
            RunStatus::Failed if self.is_budget() => Some(StopReason::Budget),
            RunStatus::Failed => Some(StopReason::Blocked),
            RunStatus::Completed => None,
        }
    }

    fn is_budget(&self) -> bool {
        let root = self.opened.state.root();
        let ends = root.steps.iter().filter_map(|step| step.ended.as_deref());
        ends.into_iter().any(|ended| matches!(ended.outcome, Outcome::Budget(_)))
    }

    fn failures(&self) -> Vec<FailureEntry> {
        let mut found = Vec::new();
        for round in &self.rounds {
            let detected: Detected = value_in(round.frame, "detect").unwrap_or_default();
            let is_recovered = recovered(round, &detected);
            for failure in detected.failures {
                found.push(FailureEntry { recovered: failure.recovered || is_recovered, ..failure });
            }
            let verdict: Option<JudgedRound> = value_in(round.frame, "judge");
            let is_new = |entry: &FailureEntry| entry.mode != FailureMode::HollowSuccess;
            let is_undetected = found.iter().filter(|entry| entry.round == round.number).all(is_new);
            if let Some(verdict) = verdict.filter(JudgedRound::is_hollow).filter(|_| is_undetected) {
                found.push(FailureEntry {
                    round: round.number,
                    mode: FailureMode::HollowSuccess,
                    class: None,
                    step: verdict.round.executed.last().map(|executed| executed.path.clone()),
                    quote: verdict.round.detail.clone(),
                    recovered: false,
                });
            }
        }
        found
    }

    fn recovery(&self) -> Vec<RecoveryEntry> {
        let mut found = Vec::new();
        for round in &self.rounds {
            let detected: Detected = value_in(round.frame, "detect").unwrap_or_default();
            let Some(mode) = detected.mode else { continue };
            let mut add = |stage| found.push(RecoveryEntry { round: round.number, stage });
            add(RecoveryStage::Detect {
                mode,
                class: detected.class,
                step: detected.step.clone(),
                quote: detected.quote.clone(),
                fallback: detected.fallback.clone(),
            });
            let report: Option<Reported> = value_in(round.frame, "report");
            if let Some(report) = report {
                let Reported { file, issue_url, dedup } = report;
                add(RecoveryStage::Report { file, issue_url, dedup });
            }
            add(adapted(round, &detected));
            let verdict: Option<JudgedRound> = value_in(round.frame, "judge");
            if let Some(verdict) = verdict {
                add(RecoveryStage::Reflect { status: verdict.round.status });
            }
        }
        found
    }

    fn workstreams(&self) -> Vec<WorkstreamResult> {
        let Some(last) = self.rounds.last() else { return Vec::new() };
        last.streams().streams.iter().map(|stream| self.workstream(stream)).collect()
    }

    fn workstream(&self, stream: &PlacedStream) -> WorkstreamResult {
        let newest = self.rounds.iter().rev().find_map(|round| {
            let executed = round.executed();
            let last = executed.into_iter().rev().find(|executed| executed.stream == stream.name)?;
            Some((last.summary(round.state), last.ended(round.state), last.step.clone()))
        });
        let (summary, ended, step) = match newest {
            Some((summary, ended, step)) => (Some(summary), ended, Some(step)),
            None => (None, None, None),
        };
        let work = ended.as_ref().map(|ended| ended.evidence.clone()).unwrap_or_default();
        let evidence: Option<RoundEvidence> =
            self.rounds.iter().rev().find_map(|round| value_in(round.frame, "evidence"));
        let is_single = self.rounds.last().is_some_and(|round| round.streams().streams.len() == 1);
        let seen = evidence.filter(|_| is_single).map(|evidence| evidence.work);
        let is_worktree = stream.workspace.kind == WorkspaceKind::Worktree;
        let error =
            step.as_ref().and_then(|step| step.ended.as_deref()).and_then(|ended| ended.error.clone());
        WorkstreamResult {
            name: stream.name.clone(),
            classification: stream.classification.unwrap_or(TaskType::Development),
            recipe: summary
                .as_ref()
                .map(|summary| summary.recipe.clone())
                .filter(|recipe| !recipe.is_empty()),
            branch: stream.workspace.branch.clone().filter(|_| is_worktree),
            worktree: is_worktree.then(|| stream.workspace.path.clone()),
            base_commit: stream.workspace.base_commit.clone(),
            commits: match &seen {
                Some(seen) => seen.commits.clone(),
                None => work.commits.iter().map(|made| made.commit.clone()).collect(),
            },
            changed_files: match &seen {
                Some(seen) => seen.changed_files.len() as u64,
                None => work.changed_files as u64,
            },
            terminal_state: summary.as_ref().and_then(|summary| summary.terminal_state),
            status: summary.map_or(StepStatus::Pending, |summary| summary.outcome),
            pr_url: ended.as_ref().and_then(|ended| ended.pr_url.clone()),
            error: ended
                .filter(|ended| !ended.terminal.terminal_success)
                .map(|ended| ended.terminal.reason)
                .or(error),
        }
    }

    fn ending(&self) -> EndingFacts {
        let route = self.routed.as_ref().map(|routed| &routed.route);
        let evidence: Vec<RoundEvidence> =
            self.rounds.iter().filter_map(|round| value_in(round.frame, "evidence")).collect();
        let last = evidence.last().map(|evidence| evidence.work.clone()).unwrap_or_default();
        let streams = self.rounds.first().map(|round| round.streams().streams).unwrap_or_default();
        let mut notes = self.started.notes.clone();
        notes.extend(self.routed.iter().flat_map(|routed| routed.notes.clone()));
        notes.extend(streams.into_iter().flat_map(|stream| stream.workspace.notes));
        notes.extend(evidence.into_iter().flat_map(|evidence| evidence.notes));
        EndingFacts {
            publish: PublishResult {
                asked: route.map_or(PublishResult::default().asked, |route| route.publish),
                done: published(&last),
                pr_url: last.pr_url,
            },
            no_merge: route.is_some_and(|route| route.no_merge),
            allow_no_op: route.is_some_and(|route| route.allow_no_op),
            session: self.started.session.clone(),
            notes,
        }
    }
}

/// What the step `report` gave.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Reported {
    file: Option<String>,
    issue_url: Option<String>,
    dedup: String,
}

/// Whether another way made up for the failures of a round.
fn recovered(round: &RoundView<'_>, detected: &Detected) -> bool {
    let tried = !detected.adapt.is_empty() || detected.adapt_operations;
    tried && round.streams().streams.iter().all(|stream| super::streams::is_done(round, &stream.name))
}

fn adapted(round: &RoundView<'_>, detected: &Detected) -> RecoveryStage {
    let executed = round.executed();
    let last = executed.iter().rev().find(|executed| executed.is_adapted);
    match last {
        Some(executed) => RecoveryStage::Adapt {
            recipe: Some(executed.recipe.clone()).filter(|recipe| !recipe.is_empty()),
            path: Some(executed.path.clone()),
            outcome: Some(executed.step.status),
            skipped: None,
        },
        None => RecoveryStage::Adapt {
            recipe: None,
            path: None,
            outcome: None,
            skipped: Some(detected.skipped.clone().unwrap_or_else(|| "it has not begun".to_owned())),
        },
    }
}
