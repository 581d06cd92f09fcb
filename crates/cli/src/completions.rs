//! `completions`: a script that teaches a shell the verbs and flags.

use clap::CommandFactory as _;
use serde_json::json;

use crate::{
    args::{Cli, CompletionsArgs, options::OutputFormat},
    exit::Exit,
    out::Out,
};

/// Prints the script for a shell.
pub(crate) fn print(args: &CompletionsArgs, out: &mut Out) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "recipe-runner-rs", &mut script);
    let script = String::from_utf8_lossy(&script);
    match args.format.output_format {
        OutputFormat::Text => out.result(&script),
        OutputFormat::Json => out.json(&json!({ "shell": args.shell.to_string(), "script": script })),
    }
    Exit::Success
}
