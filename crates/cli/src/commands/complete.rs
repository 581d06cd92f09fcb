//! `__complete`: what a command line can be completed to, for the scripts that `completions` prints. One candidate for
//! each line, with a few words after a tab; the line `:files` stands for the names of files.
//!
//! Never reports a problem: a person who types cannot read it.

mod candidates;
mod typed_line;

use clap::CommandFactory as _;

use crate::{
    args::{Cli, CompleteArgs},
    environment::Environment,
    exit::Exit,
    out::Out,
};
use candidates::Candidates;
use typed_line::TypedLine;

/// Prints the candidates.
pub(crate) fn print(args: &CompleteArgs, environment: &Environment, out: &mut Out) -> Exit {
    let command = Cli::command();
    let line = TypedLine::read(&args.words, &command);
    let found = Candidates::of(&line, environment);
    let mut text = String::new();
    for (value, about) in found.values {
        text.push_str(&format!("{value}\t{about}\n"));
    }
    if found.files {
        text.push_str(":files\n");
    }
    if !text.is_empty() {
        out.result_as_is(text.trim_end_matches('\n'));
    }
    Exit::Success
}
