//! Criteria about the project as a whole: tests pass, lint is clean, covered by tests.

use crate::{
    brief::{CommandCheck, Expectation, SupportKind},
    reading::criterion::ReadCheck,
    spec::{Sentence, Token},
    words::{PhraseList, criteria},
};

/// The check of a command that is known to test, lint, build or format.
pub(crate) fn classified(check: CommandCheck) -> ReadCheck {
    let only_passes = check.expectations == [Expectation::Exit { code: 0 }];
    match kind_of(&check.command).filter(|_| only_passes) {
        Some(None) => ReadCheck::TestsPass { command: Some(check.command) },
        Some(Some(support)) => ReadCheck::Supporting { support, command: Some(check.command) },
        None => ReadCheck::Command(check),
    }
}

/// What a known command checks; `None` inside means tests.
fn kind_of(command: &str) -> Option<Option<SupportKind>> {
    let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
    let known = &criteria().commands;
    let lists = [
        (&known.test, None),
        (&known.lint, Some(SupportKind::Lint)),
        (&known.types, Some(SupportKind::Types)),
        (&known.format, Some(SupportKind::Format)),
        (&known.build, Some(SupportKind::Build)),
    ];
    let longest = lists.iter().filter_map(|(list, kind)| Some((list.at(&words)?, *kind)));
    longest.max_by_key(|(count, _)| *count).map(|(_, kind)| kind)
}

/// The checks that a sentence asks for in words.
pub(crate) fn read(sentence: &Sentence) -> Vec<ReadCheck> {
    let known = &criteria().project;
    let words: Vec<String> = sentence.lower().into_iter().filter(|word| !word.is_empty()).collect();
    let mut checks = Vec::new();
    if known.covered.is_in(&words) && !is_denied(&known.covered, &words) {
        checks.push(ReadCheck::CoveredByTests);
    } else if passes(&words) {
        let command = command(sentence, &criteria().commands.test);
        checks.push(ReadCheck::TestsPass { command });
    }
    let supports = [
        (&known.lint, &criteria().commands.lint, SupportKind::Lint),
        (&known.types, &criteria().commands.types, SupportKind::Types),
        (&known.format, &criteria().commands.format, SupportKind::Format),
        (&known.build, &criteria().commands.build, SupportKind::Build),
    ];
    let is_clean = checks.is_empty() && known.clean.is_in(&words);
    for (names, commands, support) in supports.into_iter().filter(|_| is_clean) {
        let is_said = names.is_in(&words) && words.len() <= LONGEST;
        if is_said && !sentence_has_other_code(sentence) {
            checks.push(ReadCheck::Supporting { support, command: command(sentence, commands) });
        }
    }
    checks
}

/// Most words of a sentence about lint, types, build or format; a longer one is about something else.
const LONGEST: usize = 12;

fn is_denied(list: &PhraseList, words: &[String]) -> bool {
    let at = list.find(words).map_or(0, |(at, _)| at);
    words[..at].iter().rev().take(2).any(|word| criteria().negations.has(word))
}

/// Whether the tests pass, in these words.
fn passes(words: &[String]) -> bool {
    let known = &criteria().project;
    let Some((at, count)) = known.tests.find(words) else { return false };
    let after = &words[at + count..];
    let is_near = |words: &[String]| known.tests_pass.find(words).is_some_and(|(at, _)| at <= 3);
    let leads = at > 0 && words[at - 1] == "passing";
    (is_near(after) && !is_denied(&known.tests_pass, after)) || leads
}

/// The command of the sentence that checks this.
fn command(sentence: &Sentence, known: &PhraseList) -> Option<String> {
    let is_known = |code: &&str| {
        let words: Vec<String> = code.split_whitespace().map(str::to_owned).collect();
        known.at(&words).is_some()
    };
    let mut codes = sentence.tokens.iter().filter_map(Token::code);
    let said = codes.clone().find(is_known).or_else(|| codes.find(|code| code.contains(' ')));
    said.map(str::to_owned)
}

fn sentence_has_other_code(sentence: &Sentence) -> bool {
    sentence.tokens.iter().filter_map(Token::code).any(|code| kind_of(code).is_none())
}
