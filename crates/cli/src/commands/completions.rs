//! `completions`: a script for a shell. In bash, zsh and fish the script asks the program (`__complete`), so that recipes,
//! runs, steps and variables are completed too; other shells get the commands and options.

use clap::CommandFactory as _;
use clap_complete::Shell;
use serde_json::json;

use crate::{
    args::{Cli, CompletionsArgs, options::OutputFormat},
    exit::Exit,
    out::Out,
};

/// Prints the script for a shell.
pub(crate) fn print(args: &CompletionsArgs, out: &mut Out) -> Exit {
    let script = script(args.shell);
    match args.format.output_format {
        OutputFormat::Text => out.result_as_is(&script),
        OutputFormat::Json => out.json(&json!({ "shell": args.shell.to_string(), "script": script })),
    }
    Exit::Success
}

fn script(shell: Shell) -> String {
    match shell {
        Shell::Bash => include_str!("completions/bash.sh").to_owned(),
        Shell::Zsh => include_str!("completions/zsh.zsh").to_owned(),
        Shell::Fish => include_str!("completions/fish.fish").to_owned(),
        other => {
            let mut script = Vec::new();
            clap_complete::generate(other, &mut Cli::command(), "recipe-runner-rs", &mut script);
            String::from_utf8_lossy(&script).into_owned()
        }
    }
}
