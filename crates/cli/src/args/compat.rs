//! `compat`: calls that recipes of other runners make.

use std::{ffi::OsString, path::PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::session::SessionVerb;

/// Working with recipes of other runners.
#[derive(Debug, Args)]
pub(crate) struct CompatArgs {
    #[command(subcommand)]
    pub(crate) verb: CompatVerb,
}

/// What to do for them.
#[derive(Debug, Subcommand)]
pub(crate) enum CompatVerb {
    /// Write a program `amplihack` into a directory that calls this one
    Install(CompatInstallArgs),
    /// Remove the programs that `install` wrote into a directory
    Uninstall(CompatUninstallArgs),
    /// Do what a call of `amplihack` asks for
    Amplihack(AmplihackArgs),
}

/// Installing the programs.
#[derive(Debug, Args)]
pub(crate) struct CompatInstallArgs {
    /// Directory, best one in PATH
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Move a file of another program aside
    #[arg(long)]
    pub(crate) force: bool,
}

/// Removing the programs.
#[derive(Debug, Args)]
pub(crate) struct CompatUninstallArgs {
    /// Directory
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// A call of `amplihack`.
#[derive(Debug, Args)]
pub(crate) struct AmplihackArgs {
    /// Its arguments
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true, num_args = 0..)]
    pub(crate) words: Vec<OsString>,
}

/// The arguments of `amplihack`.
#[derive(Debug, Parser)]
#[command(name = "amplihack", disable_help_subcommand = true)]
pub(crate) struct AmplihackCli {
    #[command(subcommand)]
    pub(crate) call: AmplihackCall,
}

/// A call of `amplihack`.
#[derive(Debug, Subcommand)]
pub(crate) enum AmplihackCall {
    /// Helpers for the steps of recipes
    Orch(AmplihackOrchArgs),
    /// Sessions of a tree
    #[command(subcommand)]
    SessionTree(SessionVerb),
    /// Checks of a repository
    Hygiene(HygieneArgs),
    /// Run and check recipes
    Recipe(AmplihackRecipeArgs),
    /// Start an agent program
    #[command(external_subcommand)]
    Program(Vec<OsString>),
}

/// `amplihack orch`.
#[derive(Debug, Args)]
pub(crate) struct AmplihackOrchArgs {
    #[command(subcommand)]
    pub(crate) verb: AmplihackOrchVerb,
}

/// `amplihack orch …`.
#[derive(Debug, Subcommand)]
pub(crate) enum AmplihackOrchVerb {
    /// Read an answer from stdin, and print a part of it
    Helper(HelperArgs),
    /// Carry out the workstreams of a file at the same time
    Run(Box<super::orch::RunFileArgs>),
}

/// `amplihack orch helper`.
#[derive(Debug, Args)]
pub(crate) struct HelperArgs {
    #[command(subcommand)]
    pub(crate) helper: Helper,
}

/// A helper: text on stdin in, text out.
#[derive(Debug, Subcommand)]
pub(crate) enum Helper {
    /// Print the last JSON object of a text
    ExtractJson,
    /// Print a field of that object
    ExtractField {
        /// Name of the field
        #[arg(long, value_name = "NAME")]
        field: String,
        /// Printed if there is no such field
        #[arg(long, value_name = "TEXT", default_value = "", allow_hyphen_values = true)]
        default: String,
    },
    /// Print the type of a task, from any spelling
    #[command(alias = "normalize-type")]
    NormaliseType,
    /// Print the type of the task on stdin, which was taken for another type
    ReclassifyTaskType {
        /// The type so far
        #[arg(long, value_name = "TYPE")]
        current: String,
    },
    /// Print a verdict, from any spelling
    #[command(alias = "normalize-verdict")]
    NormaliseVerdict,
    /// Print the number of workstreams
    CountWorkstreams(SplitArgs),
    /// Write the workstreams into a file of the run, and print its path
    BuildWorkstreamsConfig(SplitArgs),
}

/// How a task is split.
#[derive(Debug, Args)]
pub(crate) struct SplitArgs {
    /// One workstream
    #[arg(long, value_name = "YES", num_args = 0..=1, default_missing_value = "true")]
    pub(crate) force_single: Option<String>,
}

/// `amplihack hygiene`.
#[derive(Debug, Args)]
pub(crate) struct HygieneArgs {
    #[command(subcommand)]
    pub(crate) check: HygieneCheck,
}

/// A check of a repository.
#[derive(Debug, Subcommand)]
pub(crate) enum HygieneCheck {
    /// List paths that do not belong into the repository
    ArtifactGuard(ArtifactGuardArgs),
}

/// Which paths are checked.
#[derive(Debug, Args)]
pub(crate) struct ArtifactGuardArgs {
    /// Directory of the repository
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) repo: PathBuf,
    /// Which files are looked at
    #[arg(long, value_name = "MODE", default_value = "pre-commit")]
    pub(crate) mode: GuardMode,
    /// File with a path or pattern a line that may be there
    #[arg(long, value_name = "FILE")]
    pub(crate) allowlist: Option<PathBuf>,
}

/// Which files are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GuardMode {
    /// The index and untracked files
    PreCommit,
    /// The same
    PrePublish,
    /// The index
    Staged,
    /// All files, also ignored ones
    Worktree,
    /// The same
    All,
}

/// `amplihack recipe`.
#[derive(Debug, Args)]
pub(crate) struct AmplihackRecipeArgs {
    #[command(subcommand)]
    pub(crate) verb: AmplihackRecipeVerb,
}

/// What to do with a recipe.
#[derive(Debug, Subcommand)]
pub(crate) enum AmplihackRecipeVerb {
    /// Run a recipe
    Run(AmplihackRunArgs),
    /// List recipes
    List(PassedArgs),
    /// Explain a recipe
    Show(PassedArgs),
    /// Check recipes
    Validate(PassedArgs),
}

/// `amplihack recipe run`.
#[derive(Debug, Args)]
pub(crate) struct AmplihackRunArgs {
    /// Recipe file or name
    #[arg(value_name = "RECIPE")]
    pub(crate) recipe: OsString,
    /// Value of a variable
    #[arg(short = 'c', long = "context", value_name = "NAME=VALUE")]
    pub(crate) context: Vec<OsString>,
    /// Working directory
    #[arg(short = 'w', long = "working-dir", value_name = "DIR")]
    pub(crate) working_dir: Option<OsString>,
    /// Form of the result: `json`, otherwise text
    #[arg(short = 'f', long = "format", value_name = "FORMAT")]
    pub(crate) format: Option<String>,
    /// Show what would run
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Show more
    #[arg(short = 'v', long)]
    pub(crate) verbose: bool,
    /// Timeout of steps in seconds
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    pub(crate) step_timeout: Option<OsString>,
}

/// Arguments that are passed on.
#[derive(Debug, Args)]
pub(crate) struct PassedArgs {
    /// Arguments of the command
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true, num_args = 0..)]
    pub(crate) words: Vec<OsString>,
}
