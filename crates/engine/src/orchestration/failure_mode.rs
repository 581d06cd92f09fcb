//! The mode of a failed execution, and whether another execution takes its place.

use super::{
    facts::{Execution, LeafFailure},
    kinds::{FailureMode, Guard, RouteKind, TaskType, TerminalState},
    result::Route,
    workstreams::Workflows,
};
use crate::{
    failure::{Class, Responsibility, StepType},
    run::{
        cause::{Need, Refusal},
        outcome::Outcome,
    },
};

/// What happened in the executions of a round.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoundFacts {
    /// What was executed.
    pub executed: Vec<Execution>,
    /// Whether a step of a workflow ran, besides those that only call it.
    pub any_step_ran: bool,
    /// The failed step at the bottom, if something failed.
    pub failure: Option<LeafFailure>,
    /// Whether the rules find the answers hollow.
    pub hollow: bool,
    /// The guard, if it blocked a split.
    pub blocked_split: Option<Guard>,
}

/// The mode of a round's failure, if it has one.
pub fn failure_mode(facts: &RoundFacts) -> Option<FailureMode> {
    let own_end = |execution: &Execution| execution.terminal_state.is_some_and(TerminalState::is_own_end);
    let came_to_an_end = !facts.executed.is_empty() && facts.executed.iter().all(own_end);
    let failure = facts.failure.as_ref().filter(|_| !came_to_an_end);
    if facts.blocked_split.is_some_and(|guard| guard != Guard::Allowed) || failure.is_some_and(is_recursion) {
        return Some(FailureMode::RecursionLimit);
    }
    if failure.is_some_and(is_infrastructure) || facts.executed.iter().any(is_unusable) {
        return Some(FailureMode::Infrastructure);
    }
    if failure.is_some_and(is_agent_timeout) {
        return Some(FailureMode::AgentTimeout);
    }
    if facts.hollow || failure.is_some_and(|failure| failure.silent) {
        return Some(FailureMode::HollowSuccess);
    }
    match failure {
        Some(failure) if failure.step_type == StepType::Bash => Some(FailureMode::BashFailure),
        Some(_) => Some(FailureMode::RecipeFailure),
        None if facts.executed.is_empty() || !facts.any_step_ran => Some(FailureMode::RoutingGap),
        None => None,
    }
}

/// Whether the workflow could not use its workspace or its remote.
fn is_unusable(execution: &Execution) -> bool {
    matches!(execution.terminal_state, Some(TerminalState::FailedPublish | TerminalState::FailedWorkspace))
}

fn is_recursion(failure: &LeafFailure) -> bool {
    let lacks_depth = match &failure.outcome {
        Outcome::Refused(Refusal::Unready { problems, .. }) => {
            problems.iter().any(|problem| problem.need == Need::Depth)
        }
        _ => false,
    };
    failure.nesting_refused || lacks_depth
}

fn is_infrastructure(failure: &LeafFailure) -> bool {
    failure.unusable || failure.trouble.is_some() || failure.class.bucket() == Responsibility::Environment
}

fn is_agent_timeout(failure: &LeafFailure) -> bool {
    let timed_out = matches!(failure.class, Class::Timeout | Class::AgentOpaque)
        || matches!(failure.outcome, Outcome::TimedOut(_) | Outcome::Idle(_));
    failure.step_type == StepType::Agent && timed_out
}

/// What follows a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Adaptation {
    /// The built-in workflow of the type is executed directly; Operations asks the agent once more.
    Execute {
        /// The workflow; absent for Operations.
        recipe: Option<String>,
    },
    /// One execution takes the place of the workstreams. It does not use up the one adaptation of a run.
    Single,
    /// Nothing, for this reason; the next round is the retry.
    Skipped(&'static str),
    /// Nothing: the rounds end.
    Blocked,
}

/// Whether a run has adapted to a failure before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adapted {
    /// It has.
    Before,
    /// It has not.
    NotYet,
}

/// Decides what follows a failure.
pub fn adaptation(
    mode: FailureMode,
    failure: Option<&LeafFailure>,
    route: &Route,
    adapted: Adapted,
) -> Adaptation {
    match mode {
        FailureMode::RecursionLimit => return Adaptation::Single,
        FailureMode::Infrastructure => return Adaptation::Blocked,
        FailureMode::HollowSuccess => return Adaptation::Skipped("the next round looks at the work first"),
        FailureMode::RecipeFailure if failure.is_some_and(is_over_budget) => {
            return Adaptation::Skipped("a budget is spent");
        }
        FailureMode::RecipeFailure if failure.is_some_and(is_own_structure) => {
            return Adaptation::Skipped("a built-in recipe itself is at fault");
        }
        _ => {}
    }
    if adapted == Adapted::Before {
        return Adaptation::Skipped("the run has adapted before");
    }
    match (route.kind, route.task_type) {
        (RouteKind::Answer, _) | (_, TaskType::Question) => Adaptation::Skipped("a question has no workflow"),
        (_, task_type) => {
            Adaptation::Execute { recipe: Workflows::default().of(task_type).map(str::to_owned) }
        }
    }
}

fn is_over_budget(failure: &LeafFailure) -> bool {
    matches!(failure.outcome, Outcome::Budget(_))
}

fn is_own_structure(failure: &LeafFailure) -> bool {
    failure.built_in && matches!(failure.class, Class::Structure | Class::Deadlock)
}
