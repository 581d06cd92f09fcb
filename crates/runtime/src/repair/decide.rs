//! The next action after a failed attempt, from its diagnosis and the earlier attempts. Never acts.

use std::time::Duration;

use engine::{
    failure::{Class, Responsibility},
    resume::{ResumePlan, Resumer},
    run::outcome::OutcomeKind,
};

use super::{Attempt, Loop, Report};
use crate::{report::RunResult, runs::Resume};

/// Longest wait for a rate limit or the network.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// The next action.
pub(super) enum Next {
    /// Resume; the plan decides which steps run again.
    Resume,
    /// The same with one more level of producers.
    Widen,
    /// The same after a wait.
    Wait(Duration),
    /// Ask the repair agent.
    Repair,
    /// A person has to fix the environment.
    Blocked(String),
    /// A person has to raise a limit.
    Spent,
    /// A person has to look at the failure.
    Escalate(String),
}

impl Loop<'_> {
    /// Decides by the diagnosis. Where cleanup may have undone a completed side effect, only a person can say whether it
    /// still holds.
    pub(super) fn decide(&self, result: &RunResult, report: &Report) -> Next {
        let next = self.by_diagnosis(result, report);
        if matches!(next, Next::Blocked(_) | Next::Spent | Next::Escalate(_)) {
            return next;
        }
        let plan = self.planned(result, self.level);
        match plan.and_then(|plan| plan.kept_after_cleanup).filter(|kept| kept.repeats_effects) {
            Some(kept) => Next::Escalate(format!(
                "{}; `undoes` of a cleanup step says which steps have to run again",
                kept.message()
            )),
            None => next,
        }
    }

    fn by_diagnosis(&self, result: &RunResult, report: &Report) -> Next {
        if result.failure.as_ref().is_some_and(|failure| failure.outcome == OutcomeKind::Budget) {
            return Next::Spent;
        }
        let Some(diagnosis) = &result.diagnosis else {
            return Next::Escalate("the cause of the failure is unknown".to_owned());
        };
        let earlier = &report.attempts[..report.attempts.len() - 1];
        let same: Vec<&Attempt> = earlier.iter().filter(|attempt| is_same_failure(attempt, result)).collect();
        // an attempt after which nothing was tried, because the loop was stopped, does not count
        let was_followed = |attempt: &Attempt| attempt.plan.is_some();
        let changed_since = |attempt: &Attempt| attempt.repair.as_ref().is_some_and(|repair| repair.accepted);
        if same.iter().any(|attempt| was_followed(attempt) && !changed_since(attempt))
            && diagnosis.bucket != Responsibility::Environment
        {
            // once only: one more level of producers
            let may_widen = self.level == 0 && diagnosis.bucket == Responsibility::Work;
            return match may_widen && self.goes_further(result, &same) {
                true => Next::Widen,
                false => Next::Escalate("the same failure came twice".to_owned()),
            };
        }
        match diagnosis.bucket {
            Responsibility::Environment => match diagnosis.class {
                Class::RateLimit | Class::Network => Next::Wait(self.wait(same.len() as u32)),
                _ => Next::Blocked(format!(
                    "{}: fix a problem outside the recipe first",
                    diagnosis.class.as_str()
                )),
            },
            Responsibility::Recipe => Next::Repair,
            // the agent whose answer was wrong does its own step again
            Responsibility::Work if is_own_slip(result) => Next::Resume,
            Responsibility::Work if self.has_producers(result, self.level) => Next::Resume,
            Responsibility::Work => Next::Repair,
            Responsibility::Run | Responsibility::None if earlier.iter().any(is_unexplained) => {
                Next::Escalate("the cause is unknown, and another attempt did not help".to_owned())
            }
            Responsibility::Run | Responsibility::None => Next::Resume,
        }
    }

    fn wait(&self, tries: u32) -> Duration {
        let base = self.agents.rate.base_delay;
        Duration::from_secs_f64((base * 2f64.powi(tries.min(20) as i32)).min(self.agents.rate.max_delay))
            .min(LONGEST_WAIT)
    }

    fn has_producers(&self, result: &RunResult, level: usize) -> bool {
        self.planned(result, level).is_some_and(|plan| plan.takes_producers)
    }

    /// Whether there are producers further up that did not all run again before.
    fn goes_further(&self, result: &RunResult, same: &[&Attempt]) -> bool {
        let was_done = |rerun: &Vec<String>| {
            same.iter().any(|attempt| attempt.plan.as_ref().is_some_and(|plan| plan.rerun == *rerun))
        };
        self.planned(result, 1).is_some_and(|plan| plan.takes_producers && !was_done(&plan.rerun))
    }

    fn planned(&self, result: &RunResult, level: usize) -> Option<ResumePlan> {
        let folder = self.runs.find(result.run_id.as_ref()?).ok()?;
        let resume = Resume { resumer: Resumer::Automatic { level }, ..self.resumed(None) };
        self.runs.open(folder).ok()?.resume_plan(&resume).ok()
    }
}

/// Whether an agent step failed the requirements for its own answer: then the failed step itself has to run again.
fn is_own_slip(result: &RunResult) -> bool {
    let is_drift = result.diagnosis.as_ref().is_some_and(|found| found.class == Class::AgentDrift);
    is_drift && result.failure.as_ref().is_some_and(|failure| failure.outcome == OutcomeKind::NotJson)
}

/// Whether an earlier attempt failed in the same way: the same steps with the same failures. If fewer steps fail than
/// before, the rerun has helped.
fn is_same_failure(attempt: &Attempt, result: &RunResult) -> bool {
    attempt.failed_step == result.failure.as_ref().map(|failure| failure.step.clone())
        && attempt.fingerprint == result.fingerprint
}

/// Whether an attempt failed without a known cause, so that only another try could help.
fn is_unexplained(attempt: &Attempt) -> bool {
    let found = attempt.classification.as_ref();
    found.is_some_and(|found| matches!(found.bucket, Responsibility::Run | Responsibility::None))
}
