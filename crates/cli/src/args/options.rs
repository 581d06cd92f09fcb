//! Flags that several verbs share.
//!
//! Never gives a flag two meanings: each stands here once.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use runtime::requests::{Questions, RepairReview, RequestOptions};

use crate::environment::Environment;

/// Where things are.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Places {
    /// Directory that the recipe works in
    #[arg(short = 'C', long, value_name = "DIR")]
    pub(crate) working_dir: Option<PathBuf>,
    /// Search this directory for recipes first; may be given several times
    #[arg(short = 'R', long = "recipe-dir", value_name = "DIR")]
    pub(crate) recipe_dirs: Vec<PathBuf>,
}

/// Values of context variables.
#[derive(Debug, Default, Args)]
pub(crate) struct Context {
    /// Set a context variable; may be given several times
    #[arg(long = "set", short = 'c', value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Read context variables from a JSON or YAML file; may be given several times, the later one wins
    #[arg(long = "context-file", value_name = "FILE")]
    pub(crate) context_files: Vec<PathBuf>,
}

/// Which steps run.
#[derive(Debug, Default, Args)]
pub(crate) struct Tags {
    /// Of the tagged steps, run only those with one of these tags (comma-separated)
    #[arg(long, value_name = "TAGS", value_delimiter = ',')]
    pub(crate) include_tags: Vec<String>,
    /// Skip steps with one of these tags (comma-separated)
    #[arg(long, value_name = "TAGS", value_delimiter = ',')]
    pub(crate) exclude_tags: Vec<String>,
}

impl Tags {
    /// The tags of steps that run, without the spaces around commas.
    pub(crate) fn included(&self) -> Vec<String> {
        trimmed(&self.include_tags)
    }

    /// The tags of steps that do not run.
    pub(crate) fn excluded(&self) -> Vec<String> {
        trimmed(&self.exclude_tags)
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<String> {
        [self.included(), self.excluded()].concat()
    }
}

fn trimmed(tags: &[String]) -> Vec<String> {
    tags.iter().map(|tag| tag.trim().to_owned()).filter(|tag| !tag.is_empty()).collect()
}

/// What counts as an error.
#[derive(Debug, Default, Args)]
pub(crate) struct Strictness {
    /// Treat warnings as errors
    #[arg(long)]
    pub(crate) strict: bool,
}

/// How the result is written.
#[derive(Debug, Default, Args)]
pub(crate) struct Format {
    /// How the result is written
    #[arg(long, alias = "format", value_name = "FORMAT", default_value = "text")]
    pub(crate) output_format: OutputFormat,
}

/// The form of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people
    #[default]
    Text,
    /// One JSON value, for programs
    Json,
}

/// How a recipe is run.
#[derive(Debug, Args)]
pub(crate) struct RunOptions {
    /// Walk through the whole recipe and show what would run, without executing anything
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Show steps on stderr as they start and end
    #[arg(long)]
    pub(crate) progress: bool,
    /// Show nothing but the result and errors
    #[arg(long, conflicts_with = "progress")]
    pub(crate) quiet: bool,
    /// Show commands and prompts in full, also in the dry run of a long recipe
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Do not stage files that agents changed
    #[arg(long)]
    pub(crate) no_auto_stage: bool,
    /// Write a log with one JSON line per step into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) audit_dir: Option<PathBuf>,
    /// Agent program for steps that name none
    #[arg(long, value_name = "NAME")]
    pub(crate) agent_binary: Option<String>,
    /// Timeout in seconds for bash and agent steps that have none
    #[arg(long, value_name = "SECONDS", value_parser = seconds, allow_negative_numbers = true)]
    pub(crate) step_timeout: Option<f64>,
    /// How many steps of a parallel group run at the same time: 64 if left out
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub(crate) max_parallel: Option<usize>,
    /// How many agents work at the same time
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub(crate) max_agents: Option<usize>,
    #[command(flatten)]
    pub(crate) budget: BudgetOptions,
    /// When an agent may finish the work of a failed sub-recipe: `declared` if left out
    #[arg(long, value_name = "MODE")]
    pub(crate) recovery: Option<RecoveryMode>,
    /// Diagnose, repair and resume automatically: at most N runs, 3 if N is left out
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "3", value_parser = clap::value_parser!(u32).range(1..=10))]
    pub(crate) auto_fix: Option<u32>,
    /// Never auto-fix (overrides every other setting)
    #[arg(long)]
    pub(crate) no_auto_fix: bool,
    /// Agent program that repairs recipes; by default that of the run
    #[arg(long, value_name = "NAME")]
    pub(crate) repair_agent: Option<String>,
    /// Another agent program that decides where no rule decides about a repair
    #[arg(long, value_name = "NAME")]
    pub(crate) review_agent: Option<String>,
    /// What happens to a repair that neither a rule nor a review decides: `ask` if left out
    #[arg(long, value_name = "MODE")]
    pub(crate) accept_repairs: Option<RepairMode>,
    /// Run even if this recipe is already running here
    #[arg(long)]
    pub(crate) allow_concurrent: bool,
    /// Clear stale locks left by dead runs
    #[arg(long)]
    pub(crate) clear_stale: bool,
    /// Behave as wrappers of other runners expect: allow 6 runs inside each other, and name a JSON log on stderr
    #[arg(long)]
    pub(crate) compat: bool,
    /// Directory that runs are stored in
    #[arg(long, value_name = "DIR")]
    pub(crate) state_dir: Option<PathBuf>,
}

impl RunOptions {
    /// Whether a run may go beside a live one.
    pub(crate) fn beside(&self) -> runtime::runs::Beside {
        match self.allow_concurrent {
            true => runtime::runs::Beside::Allowed,
            false => runtime::runs::Beside::Refused,
        }
    }

    /// The options of a request.
    pub(crate) fn request(
        &self,
        tags: &Tags,
        places: &Places,
        strictness: &Strictness,
        environment: &Environment,
    ) -> RequestOptions {
        RequestOptions {
            agent_binary: self.agent_binary.clone(),
            audit_dir: self.audit_dir.as_deref().map(|dir| environment.absolute(dir)),
            auto_fix: self.auto_fix,
            budget: self.budget.to_budget(),
            clear_stale: self.clear_stale,
            compat: self.compat,
            dry_run: self.dry_run,
            exclude_tags: tags.excluded(),
            include_tags: tags.included(),
            max_agents: self.max_agents,
            max_parallel: self.max_parallel,
            no_auto_fix: self.no_auto_fix,
            no_auto_stage: self.no_auto_stage,
            recipe_dirs: places.recipe_dirs.clone(),
            recovery: self.recovery.map(Into::into),
            repair_agent: self.repair_agent.clone(),
            review: RepairReview {
                agent: self.review_agent.clone(),
                questions: self.accept_repairs.map(|mode| match mode {
                    RepairMode::Refuse => Questions::Refuse,
                    RepairMode::Ask => Questions::Person,
                }),
            },
            step_timeout: self.step_timeout,
            strict: strictness.strict,
        }
    }
}

/// What happens to a repair that no rule decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RepairMode {
    /// The run waits for a person
    Ask,
    /// The repair is refused
    Refuse,
}

/// When a failed nested recipe is handed to an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecoveryMode {
    /// Where the step says `recovery_on_failure: true`
    Declared,
    /// Always
    Always,
    /// Never
    Off,
}

impl From<RecoveryMode> for runtime::store::folder::Recovery {
    fn from(mode: RecoveryMode) -> runtime::store::folder::Recovery {
        match mode {
            RecoveryMode::Declared => runtime::store::folder::Recovery::Declared,
            RecoveryMode::Always => runtime::store::folder::Recovery::Always,
            RecoveryMode::Off => runtime::store::folder::Recovery::Off,
        }
    }
}

/// What agents may use up in the whole run.
#[derive(Debug, Default, Args)]
pub(crate) struct BudgetOptions {
    /// Maximum cost of agents in dollars
    #[arg(long, value_name = "USD", value_parser = amount, allow_negative_numbers = true)]
    pub(crate) budget_usd: Option<f64>,
    /// Maximum number of tokens for agents
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) budget_tokens: Option<u64>,
    /// Maximum number of agent calls
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) budget_agent_runs: Option<u64>,
    /// Maximum minutes of agent work, added up
    #[arg(long, value_name = "MINUTES", value_parser = amount, allow_negative_numbers = true)]
    pub(crate) budget_minutes: Option<f64>,
}

impl BudgetOptions {
    /// As the runtime knows it.
    pub(crate) fn to_budget(&self) -> recipe::plan::Budget {
        recipe::plan::Budget {
            usd: self.budget_usd,
            tokens: self.budget_tokens,
            agent_runs: self.budget_agent_runs,
            minutes: self.budget_minutes,
        }
    }
}

/// The largest number that recipes may name, too.
const LARGEST: f64 = 1e12;

/// A number of seconds that can be waited for.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= LARGEST => Ok(seconds),
        _ => Err(format!("expected a number of seconds above 0, at most {LARGEST}")),
    }
}

pub(super) fn amount(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if (0.0..=LARGEST).contains(&amount) => Ok(amount),
        _ => Err(format!("expected a number from 0 to {LARGEST}")),
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected a whole number from 1".to_owned()),
        Ok(number) => Ok(number),
    }
}
