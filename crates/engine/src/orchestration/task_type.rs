//! The type of a task: the words for it, and the requests in the user's text that make it Development.
//!
//! A type only ever becomes heavier, and only by the user's own words.

use super::{
    clauses::{Clause, ClauseWord, clauses, is_all_questions, object},
    kinds::TaskType,
    paths::is_source_path,
    words::{has, phrase_at, words},
};

/// The type that a text names; the heaviest if it names several.
pub fn read_task_type(said: &str) -> Option<TaskType> {
    let known = &words().types;
    let lower = said.to_lowercase();
    let is_part = |c: char| c.is_alphanumeric() || c == '&';
    let named: Vec<&str> = lower.split(|c| !is_part(c)).map(|word| word.trim_matches('&')).collect();
    let lists = [
        (TaskType::Development, &known.development),
        (TaskType::Investigation, &known.investigation),
        (TaskType::Operations, &known.operations),
        (TaskType::Question, &known.question),
    ];
    let names = |list: &Vec<String>| named.iter().any(|word| has(list, word));
    lists.into_iter().find(|(_, list)| names(list)).map(|(task_type, _)| task_type)
}

/// The type of a task whose classification gave no usable answer.
pub fn fallback_task_type(task: &str) -> TaskType {
    if is_all_questions(task) { TaskType::Question } else { TaskType::Development }
}

/// A task type after the user's text was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromotedType {
    /// The type.
    pub task_type: TaskType,
    /// The rule that made it Development.
    pub promoted_by: Option<&'static str>,
}

/// The type of a task: as it was said, or Development if the text asks for changes.
pub fn promote(said: TaskType, task: &str) -> PromotedType {
    let promoted_by = match said {
        TaskType::Development => None,
        _ => promoting_rule(said, task),
    };
    let task_type = if promoted_by.is_some() { TaskType::Development } else { said };
    PromotedType { task_type, promoted_by }
}

fn promoting_rule(said: TaskType, task: &str) -> Option<&'static str> {
    let clauses = clauses(task);
    let any = |rule: fn(&[ClauseWord]) -> bool| clauses.iter().any(|clause| rule(clause.request()));
    if any(asks_for_pr) {
        Some("pr")
    } else if any(asks_for_tests) {
        Some("tests")
    } else if is_list_of_changes(&clauses) {
        Some("list")
    } else if said != TaskType::Operations && any(asks_then) {
        Some("then")
    } else {
        any(asks_for_code).then_some("code")
    }
}

/// Whether a text asks for a pull request.
pub(super) fn asks_for_a_pull_request(clauses: &[Clause]) -> bool {
    clauses.iter().any(|clause| asks_for_pr(clause.request()))
}

fn asks_for_pr(request: &[ClauseWord]) -> bool {
    let known = &words().promotion.pr;
    let Some((verb, after)) = request.split_first() else { return false };
    let object: Vec<&str> = object(after).iter().map(|word| word.lower.as_str()).collect();
    let determiners = object.iter().take_while(|word| has(&known.determiners, word)).count();
    let noun = &object[determiners..];
    has(&known.verbs, &verb.lower) && determiners > 0 && phrase_at(&known.nouns, noun) == Some(noun.len())
}

fn asks_for_tests(request: &[ClauseWord]) -> bool {
    let known = &words().promotion.tests;
    let Some((verb, after)) = request.split_first() else { return false };
    let object: Vec<&str> = object(after).iter().map(|word| last_part(&word.lower)).collect();
    let ends = |count: usize| {
        let start = object.len().checked_sub(count);
        start.is_some_and(|start| phrase_at(&known.endings, &object[start..]) == Some(count))
    };
    has(&known.verbs, &verb.lower) && (ends(1) || ends(2))
}

fn asks_then(request: &[ClauseWord]) -> bool {
    let known = &words().promotion.then;
    match request {
        [verb, pronoun, ..] => has(&known.verbs, &verb.lower) && has(&known.pronouns, &pronoun.lower),
        _ => false,
    }
}

fn asks_for_code(request: &[ClauseWord]) -> bool {
    let known = &words().promotion.code;
    let Some((verb, after)) = request.split_first() else { return false };
    if has(&known.alone, &verb.lower) {
        return true;
    }
    if has(&known.verbs, &verb.lower) {
        return after.iter().any(|word| is_source_path(&word.raw)) || names_code(after);
    }
    makes_code(verb, after)
}

/// Whether a new thing of code is made: `create a function`, but not `make sure a function …`.
fn makes_code(verb: &ClauseWord, after: &[ClauseWord]) -> bool {
    let known = &words().promotion.code;
    let is_new = object(after).iter().any(|word| has(&known.making_words, &word.lower));
    let makes_sure = after.first().is_some_and(|word| word.lower == "sure");
    has(&known.making_verbs, &verb.lower) && is_new && !makes_sure && names_code(after)
}

/// Whether one of the last two words of the object is a thing of code.
fn names_code(after: &[ClauseWord]) -> bool {
    let known = &words().promotion.code;
    let object = object(after);
    let is_other = object.last().is_some_and(|word| has(&known.other_ends, last_part(&word.lower)));
    let mut last = object.iter().rev().take(2);
    !is_other && last.any(|word| has(&known.nouns, last_part(&word.lower)))
}

/// The last part of a word with hyphens: a `json-parser` is a parser.
fn last_part(word: &str) -> &str {
    word.rsplit('-').next().unwrap_or(word)
}

/// Whether the text has a list of three or more items, two of which change code.
fn is_list_of_changes(clauses: &[Clause]) -> bool {
    let items: Vec<&Clause> = clauses.iter().filter(|clause| clause.is_item).collect();
    let changes = |clause: &&&Clause| {
        let known = &words().promotion.code;
        let Some((verb, after)) = clause.request().split_first() else { return false };
        has(&known.alone, &verb.lower) || has(&known.verbs, &verb.lower) || makes_code(verb, after)
    };
    items.len() >= 3 && items.iter().filter(changes).count() >= 2
}
