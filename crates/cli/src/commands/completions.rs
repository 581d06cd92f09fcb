//! `completions`: a script with the verbs and flags for a shell.
//!
//! The generator does not expect a program whose first word is a verb or a file, nor one with hyphens in its name; this
//! file corrects its output. Never completes anything that needs a run of the program.

use clap::CommandFactory as _;
use clap_complete::Shell;
use serde_json::json;

use crate::{
    args::{Cli, CompletionsArgs, options::OutputFormat},
    exit::Exit,
    out::Out,
};

/// The program.
const NAME: &str = "recipe-runner-rs";

/// Prints the script for a shell.
pub(crate) fn print(args: &CompletionsArgs, out: &mut Out) -> Exit {
    let script = script(args.shell);
    match args.format.output_format {
        OutputFormat::Text => out.result(&script),
        OutputFormat::Json => out.json(&json!({ "shell": args.shell.to_string(), "script": script })),
    }
    Exit::Success
}

fn script(shell: Shell) -> String {
    let mut command = Cli::command();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, NAME, &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    let verbs: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    let verbs = verbs.join(" ");
    match shell {
        // one name for the same command in both halves of the script
        Shell::Bash => script.replace("recipe__subcmd__runner__subcmd__rs", "recipe__runner__rs"),
        Shell::Zsh => zsh(script, &verbs),
        Shell::Fish => fish(&script, &verbs),
        _ => script,
    }
}

/// The first word is a verb or a file; a file is followed by the options of `run`.
fn zsh(script: String, verbs: &str) -> String {
    let Some((before, rest)) = script.split_once("'::recipe -- ") else { return script };
    let Some((_, rest)) = rest.split_once('\n') else { return script };
    let describe = format!("_describe -t commands '{NAME} commands' commands \"$@\"");
    format!("{before}{rest}")
        .replacen(
            "case $line[2] in",
            &format!("local -a verbs=({verbs})\n        case ${{${{(M)verbs:#$line[1]}}:-run}} in"),
            1,
        )
        .replace("$line[2]", "$line[1]")
        .replacen(&describe, &format!("{describe}\n    _files"), 1)
}

/// The same; also accepts an option whose value is being typed.
fn fish(script: &str, verbs: &str) -> String {
    script.replacen("    or return\n", "    or return 0\n", 1).replacen(
        "    contains -- $cmd[1] $argv\n",
        &format!("    contains -- $cmd[1] {verbs}\n    or set cmd run\n    contains -- $cmd[1] $argv\n"),
        1,
    )
}
