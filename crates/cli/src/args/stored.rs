//! Arguments of the verbs that look at stored runs or change them.
//!
//! Never says what a run is; an id may be shortened to a unique prefix, and `last` is the newest run.

use std::path::PathBuf;

use clap::Args;

use super::options::{Format, Reading, RunOptions, amount};

/// Where runs are stored.
#[derive(Debug, Default, Args)]
pub(crate) struct StateDir {
    /// Directory that runs are stored in
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
}

/// Listing runs.
#[derive(Debug, Args)]
pub(crate) struct RunsArgs {
    /// Show at most this many
    #[arg(long, short = 'n', value_name = "N", allow_negative_numbers = true)]
    pub(crate) limit: Option<usize>,
    #[command(flatten)]
    pub(crate) state: StateDir,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// Showing one run.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Id of the run or a unique beginning of it; the newest run (`last`) if left out
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Also show every process that was started, with its arguments and the names of its environment
    #[arg(long)]
    pub(crate) evidence: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// Showing what steps printed.
#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// Id of the run or a unique beginning of it; the newest run (`last`) if left out
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Only this step
    #[arg(value_name = "STEP")]
    pub(crate) step: Option<String>,
    /// Follow the output until the run ends
    #[arg(long, short = 'f')]
    pub(crate) follow: bool,
    /// Show what agent programs printed, not a transcript of it
    #[arg(long)]
    pub(crate) raw: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// Asking about one step of a run.
#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// Id of the run or a unique beginning of it; `last` is the newest run
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// The step: its path, such as `build/test` or `review[1]`
    #[arg(value_name = "STEP")]
    pub(crate) step: String,
    /// Compare the step with the same step of this run
    #[arg(long, value_name = "RUN")]
    pub(crate) against: Option<String>,
    #[command(flatten)]
    pub(crate) state: StateDir,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// Going on with a run.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Id of the run or a unique beginning of it; the newest run (`last`) if left out
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Resume with this edited recipe
    #[arg(long, value_name = "FILE")]
    pub(crate) recipe: Option<PathBuf>,
    /// Accept the repair that waits for a decision: write it into the recipe, and resume with it
    #[arg(long, conflicts_with_all = ["recipe", "plan", "dry_run"])]
    pub(crate) accept_repair: bool,
    /// Show which steps would be kept and which re-run, then stop
    #[arg(long)]
    pub(crate) plan: bool,
    /// Resume at this step: it and all later steps run again
    #[arg(long, value_name = "STEP")]
    pub(crate) from: Option<String>,
    /// Allow completed side effects to run again
    #[arg(long)]
    pub(crate) rerun_effects: bool,
    /// Re-run interrupted steps, even those that are not idempotent
    #[arg(long)]
    pub(crate) rerun_interrupted: bool,
    /// Skip interrupted steps that are not idempotent
    #[arg(long, conflicts_with = "rerun_interrupted")]
    pub(crate) skip_interrupted: bool,
    /// Re-run the steps whose results the failed step reads
    #[arg(long)]
    pub(crate) rerun_producers: bool,
    /// Resume only if the plan still has this digest, which `--plan --output-format json` shows
    #[arg(long, value_name = "DIGEST")]
    pub(crate) plan_digest: Option<String>,
    /// Do not ask before completed agent steps run again
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Whether a recipe and one of its runs were named, instead of a run and a recipe that replaces its own.
    #[arg(skip)]
    pub(crate) of_this_recipe: bool,
    #[command(flatten)]
    pub(crate) task: super::task::TaskOptions,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) options: RunOptions,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// Listing what waits for a person.
#[derive(Debug, Args)]
pub(crate) struct WaitingArgs {
    #[command(flatten)]
    pub(crate) state: StateDir,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// Answering a question.
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// Id of the run, a unique beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// The step that asks, if several questions wait; then the choice
    #[arg(value_name = "[STEP] CHOICE", num_args = 1..=2, required = true)]
    pub(crate) words: Vec<String>,
    /// Set a field of the answer; may be given several times
    #[arg(long = "set", short = 'c', value_name = "FIELD=VALUE")]
    pub(crate) set: Vec<String>,
    /// Add a comment, for example the reason
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) comment: Option<String>,
    /// Answer only if the shown contents still have this digest, which `waiting --output-format json` shows
    #[arg(long, value_name = "DIGEST")]
    pub(crate) digest: Option<String>,
    /// Only record the answer
    #[arg(long)]
    pub(crate) no_resume: bool,
    #[command(flatten)]
    pub(crate) shown: ShownRun,
    #[command(flatten)]
    pub(crate) state: StateDir,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// How a run that continues is shown.
#[derive(Debug, Args)]
pub(crate) struct ShownRun {
    /// Stay and wait for the answers to further questions
    #[arg(long)]
    pub(crate) wait: bool,
    /// Show progress with icons
    #[arg(long)]
    pub(crate) progress: bool,
    /// Show nothing but the result and errors
    #[arg(long, conflicts_with = "progress")]
    pub(crate) quiet: bool,
}

impl ShownRun {
    /// The same as options of a run.
    pub(crate) fn options(&self) -> RunOptions {
        RunOptions { wait: self.wait, progress: self.progress, quiet: self.quiet, ..RunOptions::default() }
    }
}

/// Stopping a run.
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    /// Id of the run or a unique beginning of it; the newest run (`last`) if left out
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Do not run steps with `when: always` before the run ends
    #[arg(long)]
    pub(crate) no_cleanup: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// Looking at what stored runs say about their recipes.
#[derive(Debug, Args)]
pub(crate) struct HealthArgs {
    /// Only runs that began at this time or later: a date, a time, or an age such as 7d
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only runs that began at this time or earlier
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Only runs of this recipe
    #[arg(long, value_name = "NAME")]
    pub(crate) recipe: Option<String>,
    #[command(flatten)]
    pub(crate) state: StateDir,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// Removing old runs.
#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Keep this many of the newest runs
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) keep: Option<usize>,
    /// Remove only runs that ended more than this many days ago
    #[arg(long, value_name = "DAYS", value_parser = amount, allow_negative_numbers = true)]
    pub(crate) older_than: Option<f64>,
    /// Show which runs would be removed, then stop
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) state: StateDir,
    #[command(flatten)]
    pub(crate) format: Format,
}
