//! `help`: the same text as `--help`, of the program or of a command.

use clap::CommandFactory as _;
use serde_json::json;

use crate::{
    args::{
        Cli,
        help::{HelpArgs, overview},
        options::OutputFormat,
    },
    exit::Exit,
    out::Out,
    report::{failure::Failure, hints::plain},
};

/// Prints the help.
pub(crate) fn print(args: &HelpArgs, out: &mut Out) -> Result<Exit, Failure> {
    let mut command = Cli::command();
    command = command.clone().override_help(overview(&command));
    command.build();
    let mut found = &mut command;
    for word in &args.words {
        let verbs: Vec<String> = found.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
        let Some(verb) = found.find_subcommand_mut(word) else { return Err(unknown(word, &verbs)) };
        found = verb;
    }
    let text = found.render_help();
    match args.format.output_format {
        OutputFormat::Text => out.result_as_is(&text.ansi().to_string()),
        OutputFormat::Json => out.json(&json!({ "help": text.to_string() })),
    }
    Ok(Exit::Success)
}

fn unknown(word: &str, verbs: &[String]) -> Failure {
    let failure = Failure::new(Exit::Invalid, format!("there is no command `{word}`"));
    match recipe::diagnostic::did_you_mean(word, verbs.iter().map(String::as_str)) {
        Some(meant) => failure.hint(format!("did you mean `{}`?", plain(&format!("help {meant}")))),
        None => failure.hint(format!("`{}` shows all commands", plain("help"))),
    }
}
