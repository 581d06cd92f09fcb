//! Arguments of `lint`.

use clap::{Args, ValueEnum};

use super::options::{Format, Places};

/// Looking for what is dubious.
#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    /// Recipe files or names
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<String>,
    /// Add the fields that repair a finding to the named recipes; every other byte stays
    #[arg(long)]
    pub(crate) fix: bool,
    /// The lowest level that ends with exit code 1; `error` unless given
    #[arg(long, value_name = "LEVEL", default_value = "error")]
    pub(crate) deny: DeniedLevel,
    #[command(flatten)]
    pub(crate) places: Places,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// The lowest level that is a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeniedLevel {
    /// Errors
    Error,
    /// Errors and warnings
    Warning,
    /// All findings
    Note,
}
