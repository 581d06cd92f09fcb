//! The verbs of `orch` that steps of a run call.

use clap::Subcommand;

/// Verbs that only steps of a run can call.
#[derive(Debug, Subcommand)]
pub(crate) enum RunVerbArgs {
    /// In a run: look at the repository and the session of a task
    Begin,
    /// In a run: decide how a task is carried out
    Route,
    /// In a run: prepare the worktree and branch of a task, or find them again
    Workspace {
        /// Prepare those of all workstreams of a round
        #[arg(long)]
        streams: bool,
        /// Prepare those of all workstreams of a list
        #[arg(long, conflicts_with = "streams")]
        listed: bool,
    },
    /// In a run: find the command that checks the project
    Checks,
    /// In a run: show what was really done
    Evidence {
        /// The agent step whose work is looked at
        #[arg(long, value_name = "STEP")]
        of: Option<String>,
    },
    /// In a run: judge how far the goal is reached
    Judge {
        /// Judge the work of one cycle: check, files and review
        #[arg(long)]
        work: bool,
    },
    /// In a run: find what failed in a round, and whether another way is tried
    Detect,
    /// In a run: write a file about a failure, and file an issue where the user asked for that
    Report {
        /// Report on the workstreams of a list
        #[arg(long)]
        workstreams: bool,
    },
    /// In a run: check that what findings cite exists
    Findings,
    /// In a run: say what the task came to
    Conclude,
    /// In a run: find files that must not be committed
    Guard,
    /// In a run: commit the work
    Commit,
    /// In a run: push the branch, open its pull request or merge it
    Publish {
        /// The stage
        #[arg(value_name = "STAGE")]
        stage: PublishStageArg,
    },
    /// In a run: decide how the workflow ended
    Terminal,
}

/// A stage of publishing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum PublishStageArg {
    /// Push the branch
    Push,
    /// Open the pull request
    Pr,
    /// Merge it once its required checks are green
    Merge,
}
