//! Arguments of `test`.

use std::path::PathBuf;

use clap::Args;

use super::options::{Format, Places, at_least_one};

/// Testing recipes.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit code: 0 all cases passed, 1 a case failed or the coverage is too low, 2 a test file or its recipe is invalid,
3 a file is not found, 4 no case matched.

A recipe that is called `test` is run with `run test`, or by its path.")]
pub(crate) struct TestArgs {
    /// Test files, or directories to search for `*.test.yaml`; the current directory unless given
    #[arg(value_name = "FILE|DIR")]
    pub(crate) paths: Vec<String>,
    /// Run only cases whose name or file contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) filter: Option<String>,
    /// Run only the case with this name; may be given several times
    #[arg(long = "case", value_name = "NAME")]
    pub(crate) cases: Vec<String>,
    /// Cases that run at the same time; as many as there are processors unless given
    #[arg(long, short = 'j', value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub(crate) jobs: Option<usize>,
    /// List the cases, and run none
    #[arg(long)]
    pub(crate) list: bool,
    /// Start no more cases after the first that fails
    #[arg(long)]
    pub(crate) fail_fast: bool,
    /// Write the result as JUnit XML into this file
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Show which branches of the recipes no case reaches
    #[arg(long)]
    pub(crate) coverage: bool,
    /// Fail if fewer than this percentage of the branches is reached
    #[arg(long, value_name = "N", value_parser = percentage, allow_negative_numbers = true)]
    pub(crate) coverage_min: Option<f64>,
    /// Write the snapshots of the cases that have one
    #[arg(long)]
    pub(crate) update: bool,
    /// Keep the scratch folders of failed cases
    #[arg(long)]
    pub(crate) keep: bool,
    /// Run every case this many times; a case with differing results fails as flaky
    #[arg(long, value_name = "N", value_parser = at_least_one, allow_negative_numbers = true)]
    pub(crate) repeat: Option<usize>,
    /// Write a test file for this recipe, and run nothing else
    #[arg(long, value_name = "RECIPE", conflicts_with_all = ["paths", "filter", "cases", "list", "update"])]
    pub(crate) init: Option<String>,
    #[command(flatten)]
    pub(crate) places: Places,
    #[command(flatten)]
    pub(crate) format: Format,
}

/// A number from 0 to 100.
fn percentage(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(number) if (0.0..=100.0).contains(&number) => Ok(number),
        _ => Err("write a number from 0 to 100".to_owned()),
    }
}
