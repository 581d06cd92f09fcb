//! The verdict of a round, whether another round follows, and the result of all rounds.
//!
//! Facts lower the verdict of an agent and never raise it.

use super::{
    facts::{Reflection, WorkEvidence, WorkstreamResult},
    kinds::{Accept, Cap, GoalStatus, Publish, StopReason, TaskType, TerminalState},
    result::{BestRound, Round},
};

/// The facts about a round that has been executed.
#[derive(Clone, Debug)]
pub struct JudgeFacts<'a> {
    /// The type of the task.
    pub task_type: TaskType,
    /// The verdict of the reflecting agent; absent if it was not asked or gave none.
    pub reflection: Option<&'a Reflection>,
    /// Whether the rules find the answers hollow.
    pub hollow: bool,
    /// Whether the answers name a result: a path, a diff, a test result, code or a finding.
    pub has_result: bool,
    /// What was done since the start of the run.
    pub evidence: &'a WorkEvidence,
    /// The states that the workflows ended in.
    pub terminal_states: &'a [TerminalState],
    /// Whether a failure of this round was not recovered.
    pub has_open_failure: bool,
    /// The workstreams, if there are several.
    pub workstreams: &'a [WorkstreamResult],
    /// What is to be published.
    pub publish: Publish,
    /// Whether the judging agent changed the work.
    pub judge_changed: bool,
}

/// The verdict of a round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundVerdict {
    /// The status.
    pub status: GoalStatus,
    /// Why it was lowered.
    pub capped_by: Vec<Cap>,
    /// What is missing, or a summary.
    pub detail: String,
}

/// Judges a round.
pub fn judge_round(facts: &JudgeFacts<'_>) -> RoundVerdict {
    let detail = facts.reflection.map(|reflection| reflection.detail.clone()).unwrap_or_default();
    if facts.hollow {
        return RoundVerdict { status: GoalStatus::Hollow, capped_by: Vec::new(), detail };
    }
    if facts.task_type == TaskType::Question {
        return RoundVerdict { status: GoalStatus::Answered, capped_by: Vec::new(), detail };
    }
    let said = facts.reflection.map_or(GoalStatus::Unknown, |reflection| reflection.status);
    let has_work = facts.evidence.has_work();
    let is_operation = facts.task_type == TaskType::Operations;
    if is_operation && !facts.evidence.has_change() && said == GoalStatus::Achieved && !facts.has_open_failure
    {
        return RoundVerdict { status: GoalStatus::Answered, capped_by: Vec::new(), detail };
    }
    let believed = match said {
        GoalStatus::Hollow if has_work => GoalStatus::Partial,
        GoalStatus::Hollow if facts.has_result => GoalStatus::NotAchieved,
        GoalStatus::Unknown if has_work => GoalStatus::Partial,
        GoalStatus::Unknown => GoalStatus::NotAchieved,
        status => status,
    };
    let capped_by = caps(facts);
    let most = |cap: &Cap| match cap {
        Cap::NoChange => GoalStatus::NotAchieved,
        Cap::Failure if !has_work => GoalStatus::NotAchieved,
        _ => GoalStatus::Partial,
    };
    let lowest = capped_by.iter().map(most).min();
    let status = lowest.map_or(believed, |lowest| believed.min(lowest));
    RoundVerdict { status, capped_by, detail }
}

/// Every reason to lower a verdict.
fn caps(facts: &JudgeFacts<'_>) -> Vec<Cap> {
    let proven = facts.terminal_states.iter().any(|state| state.proves_no_change());
    let development = facts.task_type == TaskType::Development;
    let is_unmet = |reflection: &Reflection| {
        let is_missing = |text: &String| !text.trim().is_empty();
        reflection.criteria.iter().any(|criterion| !criterion.met)
            || reflection.missing.as_ref().is_some_and(is_missing)
    };
    let done = published(facts.evidence);
    [
        (Cap::NoChange, development && !facts.evidence.has_change() && !proven),
        (Cap::CheckFailed, facts.evidence.failed_check().is_some()),
        (Cap::Failure, facts.has_open_failure || facts.workstreams.iter().any(|stream| !stream.is_success())),
        (Cap::TerminalState, facts.terminal_states.iter().any(|state| !state.is_success())),
        (Cap::NotPublished, done < facts.publish),
        (Cap::Unmet, facts.reflection.is_some_and(is_unmet)),
        (Cap::NoFinding, facts.task_type == TaskType::Investigation && facts.evidence.findings == 0),
        (Cap::JudgeChanged, facts.judge_changed),
    ]
    .into_iter()
    .filter_map(|(cap, holds)| holds.then_some(cap))
    .collect()
}

/// What the remote confirms.
pub fn published(evidence: &WorkEvidence) -> Publish {
    match (&evidence.pr_url, evidence.pushed) {
        (Some(_), _) => Publish::Pr,
        (None, true) => Publish::Push,
        (None, false) => Publish::None,
    }
}

/// What is known when a round has its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundLimits {
    /// The most rounds.
    pub max_rounds: u32,
    /// Whether something outside the work is in the way.
    pub is_blocked: bool,
    /// Whether a budget is spent.
    pub is_over_budget: bool,
}

/// Why no further round follows the last of these; `None` if one follows.
pub fn stop_after(rounds: &[Round], limits: RoundLimits) -> Option<StopReason> {
    let (last, earlier) = rounds.split_last()?;
    let before = earlier.last();
    let is_stuck = |before: &Round| {
        before.state_digest == last.state_digest
            && misses(before) == misses(last)
            && last.status != GoalStatus::Hollow
    };
    match last.status {
        GoalStatus::Achieved => return Some(StopReason::Achieved),
        GoalStatus::Answered => return Some(StopReason::Answered),
        _ => {}
    }
    let is_hollow_again =
        last.status == GoalStatus::Hollow && before.is_some_and(|before| before.status == GoalStatus::Hollow);
    if limits.is_blocked {
        Some(StopReason::Blocked)
    } else if limits.is_over_budget {
        Some(StopReason::Budget)
    } else if is_hollow_again {
        Some(StopReason::HollowTwice)
    } else if before.is_some_and(is_stuck) {
        Some(StopReason::NoProgress)
    } else if last.round >= limits.max_rounds {
        Some(StopReason::RoundsUsed)
    } else {
        None
    }
}

/// What a round misses: its unmet criteria, or what the verdict says.
fn misses(round: &Round) -> Vec<&str> {
    let criteria =
        round.reflection.as_ref().map(|reflection| reflection.criteria.as_slice()).unwrap_or_default();
    if criteria.is_empty() {
        return vec![round.detail.trim()];
    }
    let unmet = criteria.iter().filter(|criterion| !criterion.met);
    unmet.map(|criterion| criterion.criterion.trim()).collect()
}

/// What all rounds came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalStatus {
    /// The best status that was given to the final state.
    pub status: GoalStatus,
    /// What is missing, or a summary.
    pub detail: String,
    /// An earlier, better state.
    pub best_round: Option<BestRound>,
}

/// The result of all rounds: the best verdict about the final state. Without a round it is unknown.
pub fn final_status(task_type: TaskType, rounds: &[Round]) -> FinalStatus {
    let Some(last) = rounds.last() else {
        return FinalStatus { status: GoalStatus::Unknown, detail: String::new(), best_round: None };
    };
    let better = |a: &&Round, b: &&Round| a.status.cmp(&b.status);
    let is_judged = |round: &&Round| round.status != GoalStatus::Unknown;
    let same_state = rounds.iter().filter(|round| round.state_digest == last.state_digest);
    // an investigation keeps the findings of its best round
    let best_state = match task_type {
        TaskType::Investigation => rounds.iter().filter(is_judged).max_by(better),
        _ => same_state.filter(is_judged).max_by(better),
    };
    let result = best_state.unwrap_or(last);
    let best = rounds.iter().filter(is_judged).rev().max_by(better);
    let best_round = best.filter(|best| best.status > result.status).map(|best| BestRound {
        round: best.round,
        status: best.status,
        commit: best.commit.clone(),
    });
    FinalStatus { status: result.status, detail: result.detail.clone(), best_round }
}

/// Whether a status is a success.
pub fn is_accepted(status: GoalStatus, accept: Accept) -> bool {
    match status {
        GoalStatus::Achieved | GoalStatus::Answered => true,
        GoalStatus::Partial => accept == Accept::Partial,
        _ => false,
    }
}
