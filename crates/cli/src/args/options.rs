//! Flags that several verbs share.
//!
//! Never gives a flag two meanings: each stands here once.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use recipe::syntax::PermissionLevel;
use runtime::requests::{AgentChoice, AskOptions, Questions, RepairReview, RequestOptions, TagFilter};

use crate::environment::Environment;

/// The groups of options in the help of a command.
pub(crate) const RUN: &str = "Run";
const VALUES: &str = "Values";
const AGENTS: &str = "Agents";
const LIMITS: &str = "Limits";
const REPAIR: &str = "Repair";
pub(crate) const OUTPUT: &str = "Output";

/// How recipes are found and read, and with which values.
#[derive(Debug, Default, Args)]
pub(crate) struct Reading {
    #[command(flatten)]
    pub(crate) places: Places,
    #[command(flatten)]
    pub(crate) context: Context,
    #[command(flatten)]
    pub(crate) tags: Tags,
    #[command(flatten)]
    pub(crate) strictness: Strictness,
}

/// Where things are.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = RUN)]
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
#[command(next_help_heading = VALUES)]
pub(crate) struct Context {
    /// Set a context variable; may be given several times
    #[arg(long = "set", short = 'c', value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Set a context variable to the text of a file, for example a secret; may be given several times
    #[arg(long = "set-file", value_name = "KEY=FILE")]
    pub(crate) set_file: Vec<String>,
    /// Read context variables from a JSON or YAML file; may be given several times, the later one wins
    #[arg(long = "context-file", value_name = "FILE")]
    pub(crate) context_files: Vec<PathBuf>,
}

/// Which steps run.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = RUN)]
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
#[command(next_help_heading = RUN)]
pub(crate) struct Strictness {
    /// Treat warnings as errors
    #[arg(long)]
    pub(crate) strict: bool,
}

/// How the result is written.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = OUTPUT)]
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
#[derive(Debug, Default, Args)]
pub(crate) struct RunOptions {
    /// Show what would run, in the whole recipe, without executing anything
    #[arg(long, help_heading = RUN)]
    pub(crate) dry_run: bool,
    /// Stay and wait for the answers to questions, instead of ending with exit code 6
    #[arg(long, help_heading = RUN)]
    pub(crate) wait: bool,
    /// After Ctrl-C or `cancel`, do not run steps with `when: always`
    #[arg(long, help_heading = RUN)]
    pub(crate) no_cleanup: bool,
    /// Run even if this recipe is already running here
    #[arg(long, help_heading = RUN)]
    pub(crate) allow_concurrent: bool,
    /// Clear stale locks left by dead runs
    #[arg(long, help_heading = RUN)]
    pub(crate) clear_stale: bool,
    /// For recipes of other runners: steps can call `amplihack`, 6 runs inside each other, a JSON log named on stderr
    #[arg(long, help_heading = RUN)]
    pub(crate) compat: bool,
    /// Directory that runs are stored in
    #[arg(long, value_name = "DIR", help_heading = RUN)]
    pub(crate) state_dir: Option<PathBuf>,
    /// Do not stage files that agents changed
    #[arg(long, help_heading = AGENTS)]
    pub(crate) no_auto_stage: bool,
    /// Agent program for steps that name none; several with commas between them are tried in that order
    #[arg(long, value_name = "NAME", help_heading = AGENTS)]
    pub(crate) agent_binary: Option<String>,
    /// What agents may do in steps that do not say so: read-only, edit or full
    #[arg(long, value_name = "LEVEL", value_parser = permission_level, help_heading = AGENTS)]
    pub(crate) permissions: Option<PermissionLevel>,
    /// Timeout for bash and agent steps that have none, in seconds or with units as in 10m
    #[arg(long, value_name = "TIME", value_parser = seconds, allow_negative_numbers = true, help_heading = LIMITS)]
    pub(crate) step_timeout: Option<f64>,
    /// How many steps of a parallel group or a graph run at the same time: 64 if left out
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true, help_heading = LIMITS)]
    pub(crate) max_parallel: Option<usize>,
    /// How many agents work at the same time
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true, help_heading = LIMITS)]
    pub(crate) max_agents: Option<usize>,
    #[command(flatten)]
    pub(crate) budget: BudgetOptions,
    /// When an agent may finish the work of a failed sub-recipe: `declared` if left out
    #[arg(long, value_name = "MODE", help_heading = REPAIR)]
    pub(crate) recovery: Option<RecoveryMode>,
    /// Diagnose, repair and resume automatically: at most N runs, 3 if N is left out
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "3", value_parser = clap::value_parser!(u32).range(1..=10), help_heading = REPAIR)]
    pub(crate) auto_fix: Option<u32>,
    /// Never auto-fix (overrides every other setting)
    #[arg(long, help_heading = REPAIR)]
    pub(crate) no_auto_fix: bool,
    /// Agent program that repairs recipes; by default that of the run
    #[arg(long, value_name = "NAME", help_heading = REPAIR)]
    pub(crate) repair_agent: Option<String>,
    /// Another agent program that decides where no rule decides about a repair
    #[arg(long, value_name = "NAME", help_heading = REPAIR)]
    pub(crate) review_agent: Option<String>,
    /// What happens to a repair that neither a rule nor a review decides: `ask` if left out
    #[arg(long, value_name = "MODE", help_heading = REPAIR)]
    pub(crate) accept_repairs: Option<RepairMode>,
    /// Show steps on stderr as they start and end
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) progress: bool,
    /// Show only the result, errors, and warnings about the recipe
    #[arg(long, conflicts_with = "progress", help_heading = OUTPUT)]
    pub(crate) quiet: bool,
    /// Show commands and prompts in full, also in the dry run of a long recipe
    #[arg(long, conflicts_with = "quiet", help_heading = OUTPUT)]
    pub(crate) verbose: bool,
    /// Write a log with one JSON line per step into this directory
    #[arg(long, value_name = "DIR", help_heading = OUTPUT)]
    pub(crate) audit_dir: Option<PathBuf>,
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
    pub(crate) fn request(&self, reading: &Reading, environment: &Environment) -> RequestOptions {
        let Reading { tags, places, strictness, .. } = reading;
        RequestOptions {
            agent: AgentChoice { agent_binary: self.agent_binary.clone(), permissions: self.permissions },
            audit_dir: self.audit_dir.as_deref().map(|dir| environment.absolute(dir)),
            auto_fix: self.auto_fix,
            budget: self.budget.to_budget(),
            clear_stale: self.clear_stale,
            compat: self.compat,
            dry_run: self.dry_run,
            tags: TagFilter { exclude_tags: tags.excluded(), include_tags: tags.included() },
            max_agents: self.max_agents,
            max_parallel: self.max_parallel,
            no_auto_fix: self.no_auto_fix,
            no_auto_stage: self.no_auto_stage,
            no_cleanup: self.no_cleanup,
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
            asking: AskOptions { wait: self.wait || self.asks_here(environment), ..AskOptions::default() },
        }
    }

    /// Whether questions are put at this terminal.
    pub(crate) fn asks_here(&self, environment: &Environment) -> bool {
        let is_terminal = environment.stdin_is_terminal && environment.stderr_is_terminal;
        is_terminal && !self.quiet && !self.dry_run
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
#[command(next_help_heading = LIMITS)]
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

/// A time that can be waited for: seconds, or numbers with units.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let found = text.parse::<f64>().or_else(|_| recipe::time_span::parse(text));
    match found {
        Ok(seconds) if seconds > 0.0 && seconds <= LARGEST => Ok(seconds),
        Ok(_) => Err(format!("expected a time above 0, at most {LARGEST} seconds")),
        Err(error) => Err(error.to_string()),
    }
}

/// What agents may do.
pub(crate) fn permission_level(text: &str) -> Result<PermissionLevel, String> {
    PermissionLevel::named(text).ok_or_else(|| "expected read-only, edit or full".to_owned())
}

pub(super) fn amount(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if (0.0..=LARGEST).contains(&amount) => Ok(amount),
        _ => Err(format!("expected a number from 0 to {LARGEST}")),
    }
}

pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected a whole number from 1".to_owned()),
        Ok(number) => Ok(number),
    }
}
