//! The state that a workflow ends in, from facts.

use serde::{Deserialize, Serialize};

use super::kinds::{Publish, TerminalState};

/// What is known at the end of a development workflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DevelopmentFacts {
    /// Whether the branch or the worktree could not be used.
    pub workspace_failed: bool,
    /// Whether a step broke off.
    pub broke_off: bool,
    /// Whether files are in the work that must not be there.
    pub guard_failed: bool,
    /// Whether the work is committed, or changed in place.
    pub has_change: bool,
    /// The checks.
    pub checks: Checks,
    /// Whether the reviewer approved the final state.
    pub approved: bool,
    /// Whether two agents cite existing places for every criterion.
    pub proven_done: bool,
    /// Whether the task may end without a change.
    pub allow_no_op: bool,
    /// Whether a report has references that exist.
    pub has_report: bool,
    /// Whether publishing failed, or could not be tried.
    pub publish_failed: bool,
    /// Whether the pull request is merged.
    pub merged: bool,
}

/// What the checks of the final state say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checks {
    /// There is no check.
    #[default]
    None,
    /// All pass.
    Pass,
    /// One fails.
    Fail,
}

/// A terminal state with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TerminalResult {
    /// The state.
    pub terminal_state: TerminalState,
    /// Whether it is a success.
    pub terminal_success: bool,
    /// Why.
    pub reason: String,
}

/// The end of a development workflow. `asked` is what is to be published, `done` what the remote confirms.
pub fn development_end(facts: DevelopmentFacts, asked: Publish, done: Publish) -> TerminalResult {
    use TerminalState as State;
    let no_failed_check = facts.checks != Checks::Fail;
    let (state, reason) = if facts.workspace_failed {
        (State::FailedWorkspace, "the branch or worktree cannot be used")
    } else if facts.guard_failed {
        (State::FailedGuard, "the work has files that must not be committed")
    } else if facts.broke_off {
        (State::FailedIncomplete, "a step failed before the work was complete")
    } else if !facts.has_change {
        match () {
            () if facts.proven_done && no_failed_check => {
                (State::AlreadyDone, "two agents found everything done already")
            }
            () if facts.allow_no_op && facts.has_report && no_failed_check => {
                (State::NoChangeNeeded, "the report shows that no change is needed")
            }
            () if facts.checks == Checks::Fail => (State::FailedVerification, "a check fails"),
            () => (State::FailedNoChanges, "nothing changed, and nothing shows that no change is needed"),
        }
    } else if facts.checks == Checks::Fail {
        (State::FailedVerification, "a check fails")
    } else if !facts.approved {
        (State::ChangesRequested, "the reviewer did not approve the work")
    } else if facts.publish_failed || done < asked {
        (State::FailedPublish, "the work is committed but not published")
    } else if facts.merged {
        (State::Merged, "the pull request is merged")
    } else if asked != Publish::None {
        match done {
            Publish::Pr => (State::PrOpen, "the pull request is open"),
            _ => (State::Pushed, "the branch is pushed"),
        }
    } else if facts.checks == Checks::Pass {
        (State::ImplementedVerified, "the checks pass and the reviewer approved")
    } else {
        (State::ImplementedReviewed, "the reviewer approved; there is no check")
    };
    end(state, reason)
}

/// The end of an investigation: `findings` in all, `proven` with a reference that exists.
pub fn investigation_end(findings: u64, proven: u64) -> TerminalResult {
    match (findings, proven) {
        (0, _) => end(TerminalState::FailedNoFindings, "there are no findings"),
        (_, 0) => end(TerminalState::Inconclusive, "no finding has a reference that exists"),
        _ => end(TerminalState::Concluded, "findings have references that exist"),
    }
}

fn end(terminal_state: TerminalState, reason: &str) -> TerminalResult {
    TerminalResult {
        terminal_state,
        terminal_success: terminal_state.is_success(),
        reason: reason.to_owned(),
    }
}
