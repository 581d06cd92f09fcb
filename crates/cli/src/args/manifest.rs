//! `manifest`: the digests of a directory's recipes.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::options::{self, OutputFormat};

/// Digests of a directory's recipes.
#[derive(Debug, Args)]
pub(crate) struct ManifestArgs {
    #[command(subcommand)]
    pub(crate) action: ManifestAction,
    /// How the result is written
    #[arg(long, alias = "format", value_name = "FORMAT", default_value = "text", global = true, help_heading = options::OUTPUT)]
    pub(crate) output_format: OutputFormat,
}

/// What to do with a manifest.
#[derive(Debug, Subcommand)]
pub(crate) enum ManifestAction {
    /// Write the digests of all recipe files into _recipe_manifest.json
    Write(ManifestDir),
    /// Show recipe files that are new, modified or deleted since then; exit code 1 if there are any
    Check(ManifestDir),
}

/// The directory of a manifest.
#[derive(Debug, Args)]
pub(crate) struct ManifestDir {
    /// Directory with recipe files
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}
