//! The command line of `orch`: one verb for each rule.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use engine::orchestration::{TaskType, read_task_type};

use super::{run_verbs::RunVerbArgs, session::SessionArgs, task::RunWithoutRecipe};

/// Rules for tasks and answers.
#[derive(Debug, Args)]
pub(crate) struct OrchArgs {
    #[command(subcommand)]
    pub(crate) verb: OrchVerb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum OrchVerb {
    #[command(flatten)]
    Filter(OrchFilter),
    /// Register, end and list the sessions of a tree: runs and workstreams that started each other
    Session(SessionArgs),
    #[command(flatten)]
    Run(RunVerbArgs),
    /// Carry out the workstreams of a file at the same time, each on a branch of its own
    #[command(name = "run")]
    RunFile(Box<RunFileArgs>),
}

/// Carrying out workstreams of a file.
#[derive(Debug, Args)]
pub(crate) struct RunFileArgs {
    /// JSON file with a list of workstreams: `[{"task": …, "branch": …, "recipe": …, "issue": …}]`
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) run: RunWithoutRecipe,
}

/// Verbs that read text on stdin and print one JSON object.
#[derive(Debug, Subcommand)]
pub(crate) enum OrchFilter {
    /// Read the goal status in an agent's answer
    GoalStatus(FilterFormat),
    /// Say whether an agent's answer is hollow: no access to the work, and no result
    Hollow(HollowArgs),
    /// Say which type a task has: its text can make it Development
    TaskType(TaskTypeArgs),
    /// Read what a task says about pull requests, merging and ending without a change
    Intent(FilterFormat),
    /// List the workstreams in the answer of a classifying agent
    Workstreams(WorkstreamsArgs),
    /// Turn a word into WORK_VERIFIED, HOLLOW_SUCCESS or INSUFFICIENT_EVIDENCE
    Verdict(FilterFormat),
    /// Print the last JSON object of a text
    Json(FilterFormat),
    /// Print a member of the last JSON object of a text
    Field(FieldArgs),
    /// Name a failure: equal for errors that differ only in numbers, times, ids, paths and quoted values
    Fingerprint(FingerprintArgs),
}

/// How a filter prints.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct FilterFormat {
    /// Print the bare word instead of JSON
    #[arg(long)]
    pub(crate) text: bool,
}

/// Judging an answer.
#[derive(Debug, Args)]
pub(crate) struct HollowArgs {
    /// Type of the task, such as `Development` or `qa`
    #[arg(long = "type", value_name = "TYPE", value_parser = task_type)]
    pub(crate) task_type: TaskType,
    /// Whether there is evidence of work
    #[arg(long, value_name = "WORD", default_value = "no")]
    pub(crate) work: YesNo,
    #[command(flatten)]
    pub(crate) format: FilterFormat,
}

/// Yes or no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum YesNo {
    /// There is some
    Yes,
    /// There is none
    No,
}

/// Finding the type of a task.
#[derive(Debug, Args)]
pub(crate) struct TaskTypeArgs {
    /// Type that an agent named; if it is not a known one, the text alone decides
    #[arg(long, value_name = "TYPE", allow_hyphen_values = true)]
    pub(crate) said: String,
    #[command(flatten)]
    pub(crate) format: FilterFormat,
}

/// Splitting a task.
#[derive(Debug, Args)]
pub(crate) struct WorkstreamsArgs {
    /// Leave one workstream; `true`, `1` and `yes` switch it on
    #[arg(long, value_name = "WORD", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) force_single: Option<String>,
    /// The most workstreams; one is left if there are more
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) max: usize,
    /// Leave one workstream because there is no git repository with a commit
    #[arg(long)]
    pub(crate) no_git: bool,
    #[command(flatten)]
    pub(crate) format: FilterFormat,
}

impl WorkstreamsArgs {
    /// Whether one workstream is wanted.
    pub(crate) fn is_single(&self) -> bool {
        let word = self.force_single.as_deref().unwrap_or_default().trim();
        ["true", "1", "yes"].iter().any(|known| word.eq_ignore_ascii_case(known))
    }
}

/// Taking a member.
#[derive(Debug, Args)]
pub(crate) struct FieldArgs {
    /// Name of the member
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Value if there is no object, or it has no such member
    #[arg(long, value_name = "TEXT", default_value = "", allow_hyphen_values = true)]
    pub(crate) default: String,
    #[command(flatten)]
    pub(crate) format: FilterFormat,
}

/// Naming a failure.
#[derive(Debug, Args)]
pub(crate) struct FingerprintArgs {
    /// Mode of the failure, such as `bash_failure`
    #[arg(long, value_name = "MODE", default_value = "")]
    pub(crate) mode: String,
    /// Recipe that failed
    #[arg(long, value_name = "RECIPE", default_value = "")]
    pub(crate) recipe: String,
    /// Step that failed
    #[arg(long, value_name = "STEP", default_value = "")]
    pub(crate) step: String,
    #[command(flatten)]
    pub(crate) format: FilterFormat,
}

fn task_type(text: &str) -> Result<TaskType, String> {
    read_task_type(text).ok_or_else(|| "use Q&A, Operations, Investigation or Development".to_owned())
}
