//! The verdict about a round, and whether another one follows: `orch judge`.

use engine::orchestration::{
    Accept, FailureMode, GoalStatus, JudgeFacts, JudgedBy, ReflectedCriterion, Reflection, Round,
    RoundLimits, Route, StopReason, TaskType, TerminalState, WorkstreamResult, final_status, is_accepted,
    judge_round, read_goal_status, stop_after,
};
use serde::{Deserialize, Serialize};

use super::{
    caller::{Caller, typed, value_in},
    detect::Detected,
    place::watched,
    round_evidence::{RoundEvidence, work},
    rounds::{RoundView, rounds},
    streams::{PlacedStream, is_done},
};

/// What a round misses that changed nothing.
const NOTHING: &str = "nothing changed, and nothing shows that no change is needed";

/// The verdict about a round.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct JudgedRound {
    #[serde(flatten)]
    pub(super) round: Round,
    pub(super) stop: bool,
    pub(super) stop_reason: Option<StopReason>,
    pub(super) accepted: bool,
    pub(super) text: String,
}

impl JudgedRound {
    /// One line about it.
    pub(super) fn line(&self) -> String {
        match self.stop_reason {
            Some(reason) => format!("{} (stop: {reason})", self.text),
            None => format!("{}; next round", self.text),
        }
    }

    pub(super) fn is_hollow(&self) -> bool {
        self.round.status == GoalStatus::Hollow
    }
}

/// The verdict about the round of the calling step.
pub(super) async fn verdict(caller: &Caller) -> Option<JudgedRound> {
    let all = rounds(caller.state());
    let current = all.last()?;
    let route: Route = value_in(caller.state().root(), "route")?;
    let evidence: RoundEvidence = caller.sibling("evidence").unwrap_or_default();
    let detected: Detected = caller.sibling("detect").unwrap_or_default();
    let reflection = reflection(caller, &evidence);
    let is_open = |stream: &PlacedStream| !is_done(current, &stream.name);
    let open: Vec<PlacedStream> = current.streams().streams.into_iter().filter(is_open).collect();
    let is_recovered = !detected.failures.is_empty() && open.is_empty();
    let is_open = detected.failures.iter().any(|failure| !failure.recovered);
    let unrecovered = detected.mode.filter(|_| is_open && !is_recovered);
    let states = newest_states(current);
    let several: Vec<WorkstreamResult> = match route.workstreams.len() {
        1 => Vec::new(),
        _ => super::conclude::workstreams(&caller.opened),
    };
    let judged = judge_round(&JudgeFacts {
        task_type: route.task_type,
        reflection: Some(&reflection),
        hollow: evidence.hollow,
        has_result: evidence.has_result,
        evidence: &evidence.work,
        terminal_states: &states,
        has_open_failure: unrecovered.is_some(),
        workstreams: &several,
        publish: route.publish,
        judge_changed: judge_changed(caller, current, &evidence).await,
    });
    let status = judged.status;
    let round = Round {
        round: current.number,
        executed: current.executed().iter().map(|executed| executed.summary(current.state)).collect(),
        detail: detail(&reflection, status, &evidence, &detected, current),
        state_digest: evidence.work.state_digest.clone(),
        commit: evidence.work.commit.clone(),
        evidence: evidence.work,
        reflection: Some(reflection),
        capped_by: judged.capped_by,
        status,
    };
    Some(decided(caller, &all, round, unrecovered, detected.is_budget))
}

/// The verdict with what follows from it.
fn decided(
    caller: &Caller,
    all: &[RoundView<'_>],
    round: Round,
    failure: Option<FailureMode>,
    is_budget: bool,
) -> JudgedRound {
    let mut judged: Vec<Round> = all[..all.len() - 1]
        .iter()
        .filter_map(|round| value_in::<JudgedRound>(round.frame, "judge"))
        .map(|verdict| verdict.round)
        .collect();
    judged.push(round.clone());
    let accept = if caller.text("accept") == "partial" { Accept::Partial } else { Accept::Achieved };
    // a person who resumes has removed what was in the way, and gives that round back
    let is_blocked = failure == Some(FailureMode::Infrastructure);
    let is_resumed = caller.attempt > 1;
    let given_back = u32::from(is_resumed && (is_blocked || is_budget));
    let limits = RoundLimits {
        max_rounds: caller.text("max_rounds").parse::<u32>().unwrap_or(3) + given_back,
        is_blocked: is_blocked && !is_resumed,
        is_over_budget: is_budget && !is_resumed,
    };
    let reason = stop_after(&judged, limits);
    let task_type = value_in::<Route>(caller.state().root(), "route").map(|route| route.task_type);
    let status = final_status(task_type.unwrap_or(TaskType::Development), &judged).status;
    JudgedRound {
        stop: reason.is_some(),
        stop_reason: reason,
        accepted: reason.is_some() && is_accepted(status, accept),
        text: format!("round {}: {}{}", round.round, round.status, with_detail(&round.detail)),
        round,
    }
}

pub(super) fn with_detail(detail: &str) -> String {
    let line = detail.lines().next().unwrap_or_default();
    if line.is_empty() { String::new() } else { format!(": {line}") }
}

/// The states that the newest executions of all workstreams ended in.
fn newest_states(round: &RoundView<'_>) -> Vec<TerminalState> {
    let executed = round.executed();
    let is_newest = |at: usize| !executed[at + 1..].iter().any(|later| later.stream == executed[at].stream);
    let all = (0..executed.len()).filter(|at| is_newest(*at));
    all.filter_map(|at| executed[at].terminal_state(round.state)).collect()
}

/// The verdict of the agent that was asked last, or of the rules.
fn reflection(caller: &Caller, evidence: &RoundEvidence) -> Reflection {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct ReflectedAnswer {
        criteria: Vec<ReflectedCriterion>,
        missing: Option<serde_json::Value>,
    }
    if let Some(status) = evidence.ruled {
        let is_said = !evidence.hollow && !evidence.said.is_empty();
        let is_reached = matches!(status, GoalStatus::Achieved | GoalStatus::Answered);
        let detail = match is_said || is_reached {
            true => evidence.said.clone(),
            false if status == GoalStatus::NotAchieved => NOTHING.to_owned(),
            false => evidence.reasons.join("; "),
        };
        return Reflection { status, detail, criteria: Vec::new(), missing: None, by: JudgedBy::Rules };
    }
    let answered = |id: &str| caller.sibling_state(id).filter(|step| step.status.is_done())?.value.clone();
    let answer = answered("reflect-again").or_else(|| answered("reflect"));
    let text = answer.as_ref().map(|answer| answer.render().into_owned()).unwrap_or_default();
    let read = read_goal_status(&text);
    let objects = recipe::json::objects(&text);
    let said =
        objects.iter().rev().find_map(|(_, object)| typed::<ReflectedAnswer>(object)).unwrap_or_default();
    let missing = said.missing.map(|missing| match missing {
        serde_json::Value::String(text) => text,
        serde_json::Value::Array(items) => {
            items.iter().filter_map(|item| item.as_str()).collect::<Vec<_>>().join("; ")
        }
        _ => String::new(),
    });
    Reflection {
        status: read.status,
        detail: read.detail,
        criteria: said.criteria,
        missing: missing.filter(|missing| is_something(missing)),
        by: JudgedBy::Agent,
    }
}

/// Whether an agent names something that is missing.
fn is_something(missing: &str) -> bool {
    let plain = missing.trim().trim_end_matches('.').to_lowercase();
    !matches!(plain.as_str(), "" | "-" | "none" | "nothing" | "n/a" | "nothing is missing")
}

/// What is missing, or a summary.
fn detail(
    reflection: &Reflection,
    status: GoalStatus,
    evidence: &RoundEvidence,
    detected: &Detected,
    round: &RoundView<'_>,
) -> String {
    if matches!(status, GoalStatus::Achieved | GoalStatus::Answered) {
        return reflection.detail.clone();
    }
    let said = reflection.missing.clone().unwrap_or_else(|| reflection.detail.clone());
    if !said.is_empty() && reflection.status != GoalStatus::Achieved {
        return said;
    }
    let ended = round.executed().iter().rev().find_map(|executed| executed.ended(round.state));
    let reason = ended.filter(|ended| !ended.terminal.terminal_success).map(|ended| ended.terminal.reason);
    let failed = evidence.work.failed_check().map(|check| format!("`{}` fails", check.command));
    let failure = detected.mode.map(|mode| format!("{mode}: {}", detected.quote));
    reason.or(failed).or(failure).unwrap_or(said)
}

/// Whether the work is in another state than before it was judged.
async fn judge_changed(caller: &Caller, round: &RoundView<'_>, evidence: &RoundEvidence) -> bool {
    let asked = caller.sibling_state("reflect").is_some_and(|step| step.attempt > 0);
    if !asked {
        return false;
    }
    let mut done = Vec::new();
    for stream in round.streams().streams {
        done.push((stream.name.clone(), watched(caller, &stream.workspace).done().await));
    }
    let now = work(caller, round, &round.executed(), &done);
    now.state_digest != evidence.work.state_digest || now.commits != evidence.work.commits
}
