//! What single commands and short lists show before anything runs.
//!
//! Never follows a script; other modules do that.

use super::{
    flow::{Level, Status},
    program::{self, Call},
    reach::{Walk, Way},
    script::{Command, Item, Kind, Link, List, Pipeline},
    words::{Token, Word, tokens},
};

/// Programs that pass on what they read.
pub(super) const FILTERS: [&str; 14] = [
    "cat", "tee", "tr", "sed", "sort", "uniq", "head", "tail", "cut", "rev", "fold", "base64", "awk", "xargs",
];

pub(super) fn turn(status: Status) -> Status {
    match status {
        Status::Ok => Status::Fail,
        Status::Fail => Status::Ok,
        other => other,
    }
}

/// The end of a script whose last program has this status.
pub(super) fn end(status: Status) -> Status {
    match status {
        Status::Ok => Status::Exit(Some(true)),
        Status::Fail => Status::Exit(Some(false)),
        Status::Unknown => Status::Exit(None),
        other => other,
    }
}

/// The status of a subshell that ends like this.
pub(super) fn leave(status: Status) -> Status {
    match status {
        Status::Exit(ended) | Status::Return(ended) => told(ended),
        other => other,
    }
}

/// The status of a function that ends like this.
pub(super) fn leave_function(status: Status) -> Status {
    match status {
        Status::Return(ended) => told(ended),
        other => other,
    }
}

fn told(ended: Option<bool>) -> Status {
    match ended {
        Some(true) => Status::Ok,
        Some(false) => Status::Fail,
        None => Status::Unknown,
    }
}

/// Whether an item ends the script with a stored status.
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

/// The only simple command of an item.
pub(super) fn only(item: &Item) -> Option<(&[Word], &[Word])> {
    match item.chain.as_slice() {
        [(_, Pipeline { negated: false, commands })] if !item.background => match commands.as_slice() {
            [Command { kind: Kind::Simple { assignments, words }, .. }] => Some((assignments, words)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the commands after one end the script with its status: `exit`, or `rc=$?` and at last `exit $rc`.
pub(super) fn hands_over(rest: &[Item]) -> bool {
    let Some((assignments, words)) = rest.first().and_then(only) else { return false };
    if let Some((first, given)) = words.split_first() {
        let ends = first.is_bare("exit") || first.is_bare("return");
        return ends && given.iter().all(|word| word.text == "$?");
    }
    let [assignment] = assignments else { return false };
    let Some(name) = assignment.text.strip_suffix("=$?") else { return false };
    let Some((last, between)) = rest[1..].split_last().filter(|(_, between)| between.len() < 50) else {
        return false;
    };
    let keeps_it = |item: &Item| {
        only(item).is_some_and(|(assignments, _)| !assignments.iter().any(|word| word.text.starts_with(name)))
    };
    let is_kept = |word: &Word| word.text == format!("${name}") || word.text == format!("${{{name}}}");
    let ends = only(last)
        .is_some_and(|(_, words)| matches!(words, [exit, status] if exit.is_bare("exit") && is_kept(status)));
    ends && between.iter().all(keeps_it)
}

pub(super) fn first_program(item: &Item) -> Option<&str> {
    match &item.chain.first()?.1.commands.first()?.kind {
        Kind::Simple { words, .. } => words.first().map(|word| word.text.as_str()),
        _ => None,
    }
}

/// Whether no command of a pipeline does any work, so that its success means nothing.
pub(super) fn is_idle(pipeline: &Pipeline) -> bool {
    pipeline.commands.iter().all(|command| match &command.kind {
        Kind::Simple { words, .. } => words.is_empty() || Call::new(words).is_toothless(),
        Kind::Group(list) | Kind::Subshell(list) => {
            list.iter().all(|item| item.chain.iter().all(|(_, pipeline)| is_idle(pipeline)))
        }
        _ => false,
    })
}

/// Whether a command only prints a text of the script.
pub(super) fn is_talk(command: &Command) -> bool {
    let Kind::Simple { words, .. } = &command.kind else { return false };
    let talks = words.first().is_some_and(|word| matches!(word.text.as_str(), "echo" | "printf" | "yes"));
    talks && words.iter().all(|word| !word.expands)
}

/// Whether a command only passes on its input.
pub(super) fn is_filter(command: &Command) -> bool {
    let Kind::Simple { words, .. } = &command.kind else { return false };
    FILTERS.contains(&Call::new(words).program.as_str()) && words.iter().all(|word| !word.expands)
}

/// Whether a text is the same in every run.
pub(super) fn is_constant(word: &Word) -> bool {
    !word.expands && !word.text.contains(['$', '`']) && !word.text.contains("{{")
}

pub(super) fn known(words: &[Word]) -> Status {
    program::known_status(&Call::new(words), words)
}

pub(super) fn is_negated(condition: &List) -> bool {
    condition.len() == 1 && condition[0].chain.len() == 1 && condition[0].chain[0].1.negated
}

/// The words that `$((…))` calculates, given the text in its outer brackets; `None` if these contain commands.
pub(super) fn calculated(text: &str) -> Option<Vec<Word>> {
    let sum = text.strip_prefix('(')?.strip_suffix(')')?;
    let mut level = 0_i64;
    let is_whole = sum.chars().all(|c| {
        level += i64::from(c == '(') - i64::from(c == ')');
        level >= 0
    });
    let word = |token| match token {
        Token::Word(word) => Some(word),
        _ => None,
    };
    is_whole.then(|| tokens(sum).into_iter().filter_map(word).collect())
}

fn is_bad_end(status: Status, found: Status) -> bool {
    match status {
        Status::Exit(Some(false)) | Status::Return(Some(false)) => true,
        Status::Fail => found == Status::Fail,
        _ => false,
    }
}

impl Walk {
    /// The consequence of a list that always ends in a failure.
    pub(super) fn refusal(&self, list: &[Item], last: Status, way: Way) -> Option<Level> {
        match self.known_list(list, last, 0) {
            Status::Exit(Some(false)) => Some(way.exit),
            Status::Return(Some(false)) => Some(way.returns),
            Status::Fail => Some(way.level),
            _ => None,
        }
    }

    /// Whether a list refuses what was found before it. A list that fails after a success may do so for another reason,
    /// unless it ends the script.
    pub(super) fn refuses(&self, list: &List, found: Status) -> bool {
        is_bad_end(self.known_list(list, found, 0), found)
    }

    /// Whether a pipeline refuses the failure before it.
    pub(super) fn is_refusal(&self, pipeline: &Pipeline) -> bool {
        is_bad_end(self.known_pipeline(pipeline, Status::Fail, 0), Status::Fail)
    }

    pub(super) fn known_list(&self, list: &[Item], last: Status, depth: usize) -> Status {
        let mut status = last;
        for item in list {
            status = self.known_chain(item, status, depth);
            if matches!(status, Status::Exit(_) | Status::Return(_)) {
                break;
            }
        }
        if list.is_empty() { Status::Ok } else { status }
    }

    /// The status of a chain, if everything that decides about it is known.
    fn known_chain(&self, item: &Item, last: Status, depth: usize) -> Status {
        let mut status = last;
        for (link, pipeline) in &item.chain {
            match (link, status) {
                (Link::And, Status::Fail) | (Link::Or, Status::Ok) => continue,
                (Link::And | Link::Or, Status::Unknown) => return Status::Unknown,
                (_, Status::Exit(_) | Status::Return(_)) => break,
                _ => status = self.known_pipeline(pipeline, status, depth),
            }
        }
        status
    }

    pub(super) fn known_pipeline(&self, pipeline: &Pipeline, last: Status, depth: usize) -> Status {
        let status = match pipeline.commands.as_slice() {
            [Command { kind: Kind::Simple { words, .. }, .. }] => self.known_call(words, last, depth),
            [Command { kind: Kind::Group(list), .. }] => self.known_list(list, last, depth),
            [Command { kind: Kind::Subshell(list), .. }] => leave(self.known_list(list, last, depth)),
            [.., Command { kind: Kind::Simple { words, .. }, .. }] => {
                leave(self.known_call(words, last, depth))
            }
            _ => Status::Unknown,
        };
        if pipeline.negated { turn(status) } else { status }
    }

    fn known_call(&self, words: &[Word], last: Status, depth: usize) -> Status {
        let call = Call::new(words);
        match self.functions.get(&call.program) {
            Some(body) if depth < 2 => leave_function(self.known_list(body, last, depth + 1)),
            Some(_) => Status::Unknown,
            None => self.ending(&call, last).unwrap_or_else(|| known(words)),
        }
    }

    /// How `exit` and `return` end.
    pub(super) fn ending(&self, call: &Call, last: Status) -> Option<Status> {
        let ended = match call.words.get(1).map(String::as_str) {
            None | Some("$?") => match last {
                Status::Ok => Some(true),
                Status::Fail => Some(false),
                _ => None,
            },
            Some(text) if text.contains(['$', '`', '{']) => None,
            Some(text) => Some(text.parse::<i64>().is_ok_and(|code| code % 256 == 0)),
        };
        match call.program.as_str() {
            "return" if self.calls > 0 => Some(Status::Return(ended)),
            "exit" | "return" => Some(Status::Exit(ended)),
            _ => None,
        }
    }
}
