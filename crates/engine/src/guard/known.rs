//! What single commands and items of a script show before anything runs.
//!
//! Never follows a script; that is done where the ways through it are known.

use super::{
    flow::Status,
    program::{self, Call},
    script::{Command, Item, Kind, Pipeline},
    words::Word,
};

pub(super) fn turn(status: Status) -> Status {
    match status {
        Status::Ok => Status::Fail,
        Status::Fail => Status::Ok,
        other => other,
    }
}

/// The status of a subshell that ends like this.
pub(super) fn leave(status: Status) -> Status {
    match status {
        Status::Exit(true) => Status::Ok,
        Status::Exit(false) => Status::Fail,
        other => other,
    }
}

/// `return` and `exit` look alike in a function; its caller goes on unless it failed.
pub(super) fn leave_function(status: Status) -> Status {
    if status == Status::Exit(true) { Status::Ok } else { status }
}

/// Whether an item ends the script with a status that was kept before.
pub(super) fn passes_on(item: &Item) -> bool {
    item.chain.iter().any(|(_, pipeline)| match pipeline.commands.as_slice() {
        [Command { kind: Kind::Simple { words, .. }, .. }] => {
            let ends = words.first().is_some_and(|word| word.is_bare("exit") || word.is_bare("return"));
            let tests = words.first().is_some_and(|word| matches!(word.text.as_str(), "[" | "test" | "[["));
            let kept = words.iter().skip(1).any(|word| word.expands);
            (ends && (kept || words.len() == 1)) || (tests && words.iter().any(|word| word.text == "$?"))
        }
        _ => false,
    })
}

pub(super) fn first_program(item: &Item) -> Option<&str> {
    match &item.chain.first()?.1.commands.first()?.kind {
        Kind::Simple { words, .. } => words.first().map(|word| word.text.as_str()),
        _ => None,
    }
}

/// Whether nothing in a pipeline does any work, so that its success says nothing.
pub(super) fn is_idle(pipeline: &Pipeline) -> bool {
    pipeline.commands.iter().all(|command| match &command.kind {
        Kind::Simple { words, .. } => words.is_empty() || Call::new(words).is_toothless(),
        Kind::Group(list) | Kind::Subshell(list) => {
            list.iter().all(|item| item.chain.iter().all(|(_, pipeline)| is_idle(pipeline)))
        }
        _ => false,
    })
}

/// Whether a command only says what the script says already.
pub(super) fn is_talk(command: &Command) -> bool {
    let Kind::Simple { words, .. } = &command.kind else { return false };
    let talks = words.first().is_some_and(|word| matches!(word.text.as_str(), "echo" | "printf" | "yes"));
    talks && words.iter().all(|word| !word.expands)
}

pub(super) fn known(words: &[Word]) -> Status {
    program::known_status(&Call::new(words), words)
}
