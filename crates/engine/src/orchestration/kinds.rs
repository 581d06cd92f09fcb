//! The words of an orchestrated run: types of tasks, statuses, reasons, modes and terminal states.
//!
//! Only names; the rules decide between them.

use serde::{Deserialize, Serialize};

/// Declares an enum whose variants have one name each, in JSON and in text.
macro_rules! named {
    ($(#[$meta:meta])* $name:ident { $($(#[doc = $doc:literal])+ $variant:ident $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[doc = $doc])+ #[serde(rename = $word)] $variant,)+ }

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// Its name.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

named! {
    /// The kind of a task, from the lightest to the heaviest.
    TaskType {
        /// A question that is answered.
        Question "Q&A",
        /// Commands that are carried out.
        Operations "Operations",
        /// Something that is found out.
        Investigation "Investigation",
        /// Files that are changed.
        Development "Development",
    }
}

named! {
    /// How a task type became known.
    Basis {
        /// The classifying agent gave it.
        Agent "agent",
        /// The user gave it.
        Given "given",
        /// The agent gave no usable answer.
        Rules "rules",
    }
}

named! {
    /// How a task is carried out.
    RouteKind {
        /// One agent answers.
        Answer "answer",
        /// One agent works in place.
        Operate "operate",
        /// One workflow.
        Single "single",
        /// Several workstreams at once.
        Parallel "parallel",
    }
}

named! {
    /// What is published, from the least to the most.
    Publish {
        /// Nothing.
        None "none",
        /// The branch.
        Push "push",
        /// A pull request.
        Pr "pr",
    }
}

named! {
    /// Whether a task may be split into workstreams.
    Guard {
        /// It may.
        Allowed "ALLOWED",
        /// The runs inside runs are too deep.
        Depth "BLOCKED:depth",
        /// No session is free.
        Sessions "BLOCKED:sessions",
        /// The session tree cannot be written.
        Unregistered "BLOCKED:unregistered",
    }
}

named! {
    /// How far a goal was reached. The first four are ordered from the weakest to the best.
    GoalStatus {
        /// The agent ran and produced nothing.
        Hollow "HOLLOW",
        /// No criterion is met.
        NotAchieved "NOT_ACHIEVED",
        /// Some criteria are met.
        Partial "PARTIAL",
        /// All criteria are met.
        Achieved "ACHIEVED",
        /// A question or an operation got its answer.
        Answered "ANSWERED",
        /// There is no verdict.
        Unknown "UNKNOWN",
    }
}

named! {
    /// From which status on a result is a success.
    Accept {
        /// All criteria have to be met.
        Achieved "achieved",
        /// Some are enough.
        Partial "partial",
    }
}

named! {
    /// Where a verdict comes from.
    JudgedBy {
        /// A reflecting agent.
        Agent "agent",
        /// The rules.
        Rules "rules",
    }
}

named! {
    /// Why no further round follows.
    StopReason {
        /// The goal is reached.
        Achieved "achieved",
        /// The question or the operation is answered.
        Answered "answered",
        /// The last round has been used.
        RoundsUsed "rounds_used",
        /// A later round changed nothing and misses the same.
        NoProgress "no_progress",
        /// Two rounds in a row produced nothing.
        HollowTwice "hollow_twice",
        /// Something outside the work is in the way.
        Blocked "blocked",
        /// A budget is spent.
        Budget "budget",
        /// A person rejected the plan.
        Rejected "rejected",
        /// A person has to answer.
        Waiting "waiting",
        /// A person ended it.
        Cancelled "cancelled",
        /// A signal ended it, or its process is gone.
        Interrupted "interrupted",
    }
}

named! {
    /// The kind of a failed execution.
    FailureMode {
        /// Runs inside runs are too deep, or too many.
        RecursionLimit "recursion_limit",
        /// Something outside the recipe and the work is missing or refuses.
        Infrastructure "infrastructure",
        /// An agent exceeded its time or showed no activity.
        AgentTimeout "agent_timeout",
        /// An agent completed and did nothing.
        HollowSuccess "hollow_success",
        /// A bash step failed.
        BashFailure "bash_failure",
        /// A sub-recipe or an agent failed in another way.
        RecipeFailure "recipe_failure",
        /// Nothing was executed, and nothing failed.
        RoutingGap "routing_gap",
    }
}

named! {
    /// Why a verdict was lowered.
    Cap {
        /// Development without a change and without a proof that none is needed.
        NoChange "no_change",
        /// A check fails.
        CheckFailed "check_failed",
        /// A failure that nothing recovered, or a workstream without success.
        Failure "failure",
        /// A workflow ended in a state that is not a success.
        TerminalState "terminal_state",
        /// Publishing was asked for and not done.
        NotPublished "not_published",
        /// The agent itself names something that is missing.
        Unmet "unmet",
        /// No finding has a reference that exists.
        NoFinding "no_finding",
        /// The judging agent changed the work.
        JudgeChanged "judge_changed",
    }
}

named! {
    /// How a workflow ended.
    TerminalState {
        /// Changed, checked and approved.
        ImplementedVerified "IMPLEMENTED_VERIFIED",
        /// Changed and approved; there is no check.
        ImplementedReviewed "IMPLEMENTED_REVIEWED",
        /// The remote has the branch.
        Pushed "PUSHED",
        /// The remote has the pull request.
        PrOpen "PR_OPEN",
        /// The pull request is merged.
        Merged "MERGED",
        /// Two agents show that nothing is left to do.
        AlreadyDone "ALREADY_DONE",
        /// A report shows that no change is needed.
        NoChangeNeeded "NO_CHANGE_NEEDED",
        /// An investigation has findings.
        Concluded "CONCLUDED",
        /// A check fails.
        FailedVerification "FAILED_VERIFICATION",
        /// The reviewer still objects.
        ChangesRequested "CHANGES_REQUESTED",
        /// The work is committed and could not be published.
        FailedPublish "FAILED_PUBLISH",
        /// Nothing changed and nothing is proven.
        FailedNoChanges "FAILED_NO_CHANGES",
        /// A step broke off.
        FailedIncomplete "FAILED_INCOMPLETE",
        /// Files are in the work that must not be there.
        FailedGuard "FAILED_GUARD",
        /// The branch or worktree cannot be used.
        FailedWorkspace "FAILED_WORKSPACE",
        /// An investigation has findings without a reference that exists.
        Inconclusive "INCONCLUSIVE",
        /// An investigation has no findings.
        FailedNoFindings "FAILED_NO_FINDINGS",
    }
}

impl TerminalState {
    /// Whether it is a success.
    pub fn is_success(self) -> bool {
        use TerminalState::{
            AlreadyDone, Concluded, ImplementedReviewed, ImplementedVerified, Merged, NoChangeNeeded, PrOpen,
            Pushed,
        };
        matches!(
            self,
            ImplementedVerified
                | ImplementedReviewed
                | Pushed
                | PrOpen
                | Merged
                | AlreadyDone
                | NoChangeNeeded
                | Concluded
        )
    }

    /// Whether it proves that nothing had to change.
    pub fn proves_no_change(self) -> bool {
        matches!(self, TerminalState::AlreadyDone | TerminalState::NoChangeNeeded)
    }

    /// Whether the workflow came to an end of its own: then the verdict counts, not a failed step.
    pub fn is_own_end(self) -> bool {
        use TerminalState::{FailedIncomplete, FailedPublish, FailedWorkspace};
        !matches!(self, FailedIncomplete | FailedPublish | FailedWorkspace)
    }
}
