//! `do`: a task in plain words, and the short forms of the values that its recipe takes.

use clap::{Args, ValueEnum};

use super::RunArgs;

/// The group of options in the help of a command.
const TASK: &str = "Task";

/// Having a task done.
#[derive(Debug, Args)]
pub(crate) struct DoArgs {
    /// The task in plain words; `-` reads it from stdin
    #[arg(value_name = "TASK")]
    pub(crate) words: Vec<String>,
    /// Classify the task, show how it would be carried out, and stop
    #[arg(long, help_heading = TASK)]
    pub(crate) plan: bool,
    #[command(flatten)]
    pub(crate) task: TaskOptions,
    #[command(flatten)]
    pub(crate) run: RunWithoutRecipe,
}

/// Everything that running a recipe takes, except the recipe.
#[derive(Debug, Args)]
pub(crate) struct RunWithoutRecipe {
    #[command(flatten)]
    pub(crate) reading: super::options::Reading,
    #[command(flatten)]
    pub(crate) options: super::options::RunOptions,
    #[command(flatten)]
    pub(crate) format: super::options::Format,
}

impl RunWithoutRecipe {
    /// The same for a recipe.
    pub(crate) fn of(self, recipe: &str) -> RunArgs {
        RunArgs {
            recipe: Some(recipe.to_owned()),
            given: Vec::new(),
            reading: self.reading,
            validate_only: false,
            explain: false,
            graph: None,
            start_from: None,
            previous_run_id: None,
            yes: false,
            options: self.options,
            format: self.format,
        }
    }
}

/// Short forms of `--set` for the values of a task.
#[derive(Debug, Default, Args)]
pub(crate) struct TaskOptions {
    /// The type of the task: Q&A, Operations, Investigation or Development; an agent decides unless given
    #[arg(long = "type", value_name = "TYPE", help_heading = TASK)]
    task_type: Option<String>,
    /// Most rounds, from 1 to 10
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10), help_heading = TASK)]
    rounds: Option<u32>,
    /// Count PARTIAL as a success
    #[arg(long, help_heading = TASK)]
    accept_partial: bool,
    /// Never split the task into workstreams
    #[arg(long, help_heading = TASK)]
    single: bool,
    /// Shell command that decides whether the work is right
    #[arg(long, value_name = "COMMAND", help_heading = TASK)]
    verify: Option<String>,
    /// What to publish: none, push or pr
    #[arg(long, value_name = "WHAT", help_heading = TASK)]
    publish: Option<PublishWhat>,
    /// Work in the directory itself, without a worktree and a branch
    #[arg(long, help_heading = TASK)]
    in_place: bool,
    /// Where new branches begin
    #[arg(long, value_name = "REF", help_heading = TASK)]
    base: Option<String>,
    /// What a person confirms first: none, plan, publish or both
    #[arg(long, value_name = "WHAT", help_heading = TASK)]
    confirm: Option<ConfirmWhat>,
    /// File failures as issues in this repository
    #[arg(long, value_name = "OWNER/NAME", help_heading = TASK)]
    file_issues: Option<String>,
}

/// What to publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PublishWhat {
    /// Nothing
    None,
    /// The branch
    Push,
    /// A pull request
    Pr,
}

/// What to confirm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ConfirmWhat {
    /// Nothing
    None,
    /// The plan
    Plan,
    /// The publication
    Publish,
    /// Both
    Both,
}

impl TaskOptions {
    /// The values that the flags stand for.
    pub(crate) fn values(&self) -> Vec<(&'static str, String)> {
        let word = |value: &dyn Fn() -> Option<String>| value();
        let flag = |is_set: bool, text: &str| is_set.then(|| text.to_owned());
        let publish = || Some(self.publish?.to_possible_value()?.get_name().to_owned());
        let confirm = || Some(self.confirm?.to_possible_value()?.get_name().to_owned());
        let all = [
            ("task_type", self.task_type.clone()),
            ("max_rounds", self.rounds.map(|rounds| rounds.to_string())),
            ("accept", flag(self.accept_partial, "partial")),
            ("force_single_workstream", flag(self.single, "true")),
            ("verify_command", self.verify.clone()),
            ("publish", word(&publish)),
            ("workspace", flag(self.in_place, "in_place")),
            ("base_ref", self.base.clone()),
            ("confirm", word(&confirm)),
            ("file_issues", self.file_issues.clone()),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}
