//! Options may stand before the verb that takes them: the verb is moved to the front.
//!
//! Never changes what an argument says, only where it stands.

use std::ffi::OsString;

use clap::Command;

use super::everywhere::longs;

/// The arguments with the verb directly after the program's name, if there is one.
pub(super) fn verb_first(mut arguments: Vec<OsString>, command: &Command) -> Vec<OsString> {
    let Some(at) = first_word(&arguments, command) else { return arguments };
    let is_verb = |name: &str| command.get_subcommands().any(|verb| verb.get_name() == name);
    if at > 1 && arguments[at].to_str().is_some_and(is_verb) {
        let verb = arguments.remove(at);
        arguments.insert(1, verb);
    }
    arguments
}

/// The index of the first argument that is neither an option nor the value of one.
pub(super) fn first_word(arguments: &[OsString], command: &Command) -> Option<usize> {
    let mut at = 1;
    while at < arguments.len() {
        match arguments[at].to_str() {
            Some("--") => return None,
            Some(option) if option.starts_with('-') && option.len() > 1 => {
                at += if takes_next(option, command) { 2 } else { 1 };
            }
            _ => return Some(at),
        }
    }
    None
}

/// Whether the argument after this option belongs to it.
fn takes_next(option: &str, command: &Command) -> bool {
    match option.strip_prefix("--") {
        Some(long) => !long.contains('=') && takes_value(command, &|arg| longs(arg).any(|name| name == long)),
        None => {
            let letters = &option[1..];
            let value = |letter: char| takes_value(command, &|arg| arg.get_short() == Some(letter));
            letters.find(value).is_some_and(|at| at + 1 == letters.len())
        }
    }
}

fn takes_value(command: &Command, wanted: &dyn Fn(&clap::Arg) -> bool) -> bool {
    let all = std::iter::once(command).chain(command.get_subcommands());
    all.flat_map(Command::get_arguments).any(|arg| wanted(arg) && arg.get_action().takes_values())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn the_verb_comes_first_and_nothing_else_moves() {
        for (given, expected) in [
            ("list", "list"),
            ("-R x list", "list -R x"),
            ("-Rx list", "list -Rx"),
            ("-R list list", "list -R list"),
            ("--recipe-dir list list", "list --recipe-dir list"),
            ("--recipe-dir=x list", "list --recipe-dir=x"),
            ("--format json validate a.yaml", "validate --format json a.yaml"),
            ("--set list a.yaml", "--set list a.yaml"),
            ("-c list=1 a.yaml list", "-c list=1 a.yaml list"),
            ("--dry-run run a.yaml", "run --dry-run a.yaml"),
            ("-- list", "-- list"),
            ("--graph dot explain x", "explain --graph dot x"),
            ("./list.yaml", "./list.yaml"),
            ("--version", "--version"),
        ] {
            let arguments = std::iter::once("program").chain(given.split(' ')).map(OsString::from).collect();
            let ordered = verb_first(arguments, &Cli::command());
            let ordered: Vec<_> = ordered[1..].iter().map(|word| word.to_string_lossy()).collect();
            assert_eq!(ordered.join(" "), expected, "{given}");
        }
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }
}
