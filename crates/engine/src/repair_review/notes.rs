//! Failures that a script stores and ends with later: `CHECK || fail=1; exit $fail`, `CHECK; rc=$?`, and ends that only
//! a success avoids: `if CHECK; then exit 0; fi; exit 1`.
//!
//! Never runs anything. A stored failure counts at most as much as the commands that use it later.

use super::{
    flow::{Level, Status},
    known::only,
    reach::{Walk, Way},
    script::{Command, Item, Kind, Link, List, Pipeline},
    words::Word,
};

/// The part of a command's status that the next command stores.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Note {
    /// Its status: `$?`.
    Whole,
    /// The status of one command of its pipeline: `${PIPESTATUS[0]}`.
    Part(usize),
}

/// What the condition of a branch decides.
pub(super) struct Asked {
    pub(super) level: Level,
    /// Whether its success is refused.
    pub(super) flips: bool,
    /// Whether its failure is stored.
    pub(super) noted: bool,
}

/// Whether a command decides by its arguments: `exit`, `test` and the like.
fn decides(words: &[Word]) -> bool {
    let ends = |word: &Word| word.is_bare("exit") || word.is_bare("return");
    let tests = |word: &Word| matches!(word.text.as_str(), "test" | "[" | "[[" | "((");
    words.first().is_some_and(|word| ends(word) || tests(word))
}

fn tells_status(text: &str) -> Option<Note> {
    let part = text.split_once("PIPESTATUS").map(|(_, rest)| {
        let digits: String =
            rest.chars().skip_while(|c| *c == '[').take_while(char::is_ascii_digit).collect();
        Note::Part(digits.parse().unwrap_or(0))
    });
    part.or_else(|| text.contains("$?").then_some(Note::Whole))
}

/// The names in a word of a deciding command.
fn names(word: &Word) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_option = word.text.starts_with('-');
    let parts = word.text.split(move |c: char| !is_part(c)).filter(move |_| !is_option);
    parts.filter(|name| name.starts_with(|c: char| !c.is_ascii_digit()))
}

/// The words by which a list decides how it ends.
fn deciding<'a>(list: &'a List, words: &mut Vec<&'a Word>) {
    for command in list.iter().flat_map(|item| &item.chain).flat_map(|(_, pipeline)| &pipeline.commands) {
        match &command.kind {
            Kind::Simple { words: found, .. } if decides(found) => words.extend(&found[1..]),
            Kind::Group(list) | Kind::Subshell(list) => deciding(list, words),
            Kind::If { arms, otherwise } => {
                arms.iter().for_each(|(condition, body)| {
                    deciding(condition, words);
                    deciding(body, words);
                });
                otherwise.iter().for_each(|list| deciding(list, words));
            }
            _ => {}
        }
    }
}

/// The words of an item that look at an earlier status.
fn looking(item: &Item) -> &[Word] {
    let Some(command) = item.chain.first().and_then(|(_, pipeline)| pipeline.commands.first()) else {
        return &[];
    };
    match &command.kind {
        Kind::Simple { words, .. } if decides(words) => words,
        Kind::If { arms, .. } => arms.first().and_then(|(list, _)| list.first()).map_or(&[], looking),
        Kind::Case { subject, .. } => subject,
        _ => &[],
    }
}

/// Whether an item is a plain sequence.
fn is_straight(item: &Item) -> bool {
    matches!(item.chain.as_slice(), [(_, pipeline)]
        if pipeline.commands.iter().all(|command| matches!(command.kind, Kind::Simple { .. })))
}

impl Walk {
    /// Remembers the names whose values decide the end of a list.
    pub(super) fn keep(&mut self, list: &List) {
        let mut words = Vec::new();
        deciding(list, &mut words);
        self.kept.extend(words.into_iter().flat_map(names).map(str::to_owned));
    }

    /// The part of an item's status that the next item stores.
    pub(super) fn note_by(&mut self, next: Option<&Item>) -> Option<Note> {
        let next = next?;
        if let Some((assignments, words)) = only(next) {
            let is_set = |word: &&Word| words.is_empty() || word.text.contains('=');
            for word in assignments.iter().chain(words.iter().skip(1)).filter(is_set) {
                let Some((name, value)) = word.text.split_once('=') else { continue };
                let Some(note) = tells_status(value).filter(|_| self.kept.contains(name)) else { continue };
                self.noted.insert(name.to_owned());
                return Some(note);
            }
        }
        looking(next).iter().find_map(|word| tells_status(&word.text))
    }

    /// The name under which a pipeline stores a failure.
    pub(super) fn note_in(&self, pipeline: &Pipeline) -> Option<String> {
        let [Command { kind, .. }] = pipeline.commands.as_slice() else { return None };
        let known = |name: &str| Some(name.to_owned()).filter(|name| self.kept.contains(name));
        match kind {
            Kind::Simple { assignments, words } if words.is_empty() => assignments.iter().find_map(|word| {
                // empty and 0 are not failures
                let (name, _) = word.text.split_once('=').filter(|(_, value)| !matches!(*value, "" | "0"))?;
                known(name.trim_end_matches('+'))
            }),
            Kind::Simple { words, .. } if matches!(words[0].text.as_str(), "((" | "let") => words[1..]
                .iter()
                .filter(|word| word.text.contains("++") || word.text.contains('='))
                .find_map(|word| names(word).find_map(known)),
            Kind::Group(list) => self.note_in_list(list),
            _ => None,
        }
    }

    fn note_in_list(&self, list: &List) -> Option<String> {
        list.iter().filter(|item| item.chain.len() == 1).find_map(|item| self.note_in(&item.chain[0].1))
    }

    /// The name under which a later pipeline of the chain stores the failure of this one.
    pub(super) fn noted_after(&self, item: &Item, at: usize) -> Option<String> {
        let handler = item.chain[at + 1..].iter().find(|(link, _)| *link == Link::Or)?;
        self.note_in(&handler.1)
    }

    /// What the condition of a branch decides: it counts if its failure, or its success, is refused.
    pub(super) fn asked(
        &mut self,
        (condition, body): (&List, &List),
        otherwise: Option<&List>,
        way: Way,
    ) -> Asked {
        let passed = self.refusal(body, Status::Ok, way);
        let failed = match otherwise {
            Some(list) => self.refusal(list, Status::Fail, way),
            None => way.gives_up.filter(|_| self.ends_well_by(body)),
        };
        let is_single = condition.len() == 1 && condition[0].chain.len() == 1;
        match (passed, failed) {
            (None, Some(level)) => return Asked { level, flips: false, noted: true },
            (Some(level), None) if is_single => return Asked { level, flips: true, noted: true },
            _ => {}
        }
        let names = (self.note_in_list(body), otherwise.and_then(|list| self.note_in_list(list)));
        let level = way.exit.min(Level::Maybe);
        match names {
            (None, Some(name)) => {
                self.noted.insert(name);
                Asked { level, flips: false, noted: true }
            }
            (Some(name), None) if is_single => {
                self.noted.insert(name);
                Asked { level, flips: true, noted: true }
            }
            _ => Asked { level: Level::Ignored, flips: false, noted: false },
        }
    }

    fn ends_well_by(&self, list: &List) -> bool {
        matches!(self.known_list(list, Status::Ok, 0), Status::Exit(Some(true)) | Status::Return(Some(true)))
    }

    /// Whether a success of this item ends the script well: `if CHECK; then exit 0; fi`, `CHECK && exit 0`.
    fn may_end_well(&self, item: &Item) -> bool {
        match item.chain.as_slice() {
            [(_, Pipeline { negated: false, commands })] => match commands.as_slice() {
                [Command { kind: Kind::If { arms, otherwise: None }, .. }] => {
                    arms.iter().all(|(_, body)| self.ends_well_by(body))
                }
                [Command { kind: Kind::For { body, .. } | Kind::Loop { body, .. }, .. }] => {
                    body.iter().any(|item| self.may_end_well(item))
                }
                _ => false,
            },
            [_, (Link::And, then)] => matches!(
                self.known_pipeline(then, Status::Ok, 0),
                Status::Exit(Some(true)) | Status::Return(Some(true))
            ),
            _ => false,
        }
    }

    /// The consequence of a failed item whose success ends the script, if what follows always ends in a failure.
    pub(super) fn gives_up(&self, item: &Item, rest: &[Item], way: Way) -> Option<Level> {
        if !self.may_end_well(item) {
            return None;
        }
        if rest.iter().all(first_is_idle) {
            // the next iteration, and after the last one the commands after the loop
            return way.gives_up.map(|level| level.min(Level::Maybe));
        }
        let level = self.refusal(rest, Status::Fail, way)?;
        Some(if rest.iter().all(is_straight) { level } else { level.min(Level::Maybe) })
    }
}

/// Whether an item only waits or prints.
fn first_is_idle(item: &Item) -> bool {
    let idle = |words: &[Word]| {
        words.is_empty()
            || matches!(words[0].text.as_str(), "sleep" | "echo" | "printf" | "date" | ":" | "((")
    };
    only(item).is_some_and(|(_, words)| idle(words))
}
