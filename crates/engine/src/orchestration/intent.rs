//! What a task says about publishing, about merging, and about ending without a change.

use super::{
    clauses::{Clause, Cut, clauses},
    kinds::Publish,
    task_type::asks_for_a_pull_request,
    words::{has, phrase_at, words},
};

/// How far a negation reaches, in words or clauses.
const REACH: usize = 12;

/// What a task says besides its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intent {
    /// What is to be published.
    pub publish: Publish,
    /// Whether it forbids merging.
    pub no_merge: bool,
    /// Whether it may end without a change.
    pub allow_no_op: bool,
}

/// Reads a task.
pub fn read_intent(task: &str) -> Intent {
    let clauses = clauses(task);
    let refused = || clauses.iter().any(|clause| refuses_to_publish(&clause.lower()));
    let publish = match asks_for_a_pull_request(&clauses) && !refused() {
        true => Publish::Pr,
        false => Publish::None,
    };
    Intent { publish, no_merge: forbids_merging(&clauses), allow_no_op: begins_with_a_look(&clauses) }
}

/// `no PR`, `without a pull request`, `do not push`, `never open a PR`.
fn refuses_to_publish(clause: &[&str]) -> bool {
    let known = &words().intent;
    let mut negations = clause.iter().enumerate().filter(|(_, word)| has(&known.negations, word));
    negations.any(|(at, negation)| {
        let after = &clause[at + 1..];
        if matches!(*negation, "no" | "without") {
            let between = after.iter().take_while(|word| has(&known.between, word)).count();
            return names_publishing(&after[between..], true);
        }
        (0..after.len().min(REACH)).any(|from| {
            let forced = from > 0 && after[from - 1] == "force";
            !forced && names_publishing(&after[from..], false)
        })
    })
}

/// Whether these words begin with a pull request, or with a push that is not part of another name.
fn names_publishing(rest: &[&str], is_noun: bool) -> bool {
    let known = &words().intent;
    let is_push = |words: &[&str]| {
        let next = words.get(1);
        let is_name = next.is_some_and(|next| is_noun && !has(&super::words::words().object_ends, next));
        words.first().is_some_and(|word| has(&known.pushes, word)) && !is_name
    };
    phrase_at(&known.pull_requests, rest).is_some() || is_push(rest)
}

/// `do not merge`, `without merging`, `leave it open`.
fn forbids_merging(clauses: &[Clause]) -> bool {
    let mut is_negated = false;
    clauses.iter().enumerate().any(|(at, clause)| {
        let lower = clause.lower();
        let carried = is_negated && carries_on(&clauses[at..]);
        is_negated = carried || begins_negated(&lower);
        let parts = lower.split(|word| *word == "but");
        parts.enumerate().any(|(part, words)| refuses_merge(words, carried && part == 0) || keeps_open(words))
    })
}

/// Whether a negation before these clauses still holds in the first of them: `do not commit, push or merge`.
fn carries_on(clauses: &[Clause]) -> bool {
    match clauses[0].cut {
        Cut::And => true,
        Cut::Comma => {
            let end = clauses.iter().take(REACH).skip(1).position(|clause| clause.cut > Cut::And);
            let chain = &clauses[..end.map_or(clauses.len().min(REACH), |end| end + 1)];
            chain.iter().any(|clause| clause.cut == Cut::And || clause.lower().contains(&"or"))
        }
        _ => false,
    }
}

fn begins_negated(clause: &[&str]) -> bool {
    let start =
        clause.iter().position(|word| !matches!(*word, "please" | "but" | "also" | "do" | "you" | "must"));
    start.is_some_and(|start| has(&words().intent.negations, clause[start]))
}

/// Whether a negation comes before a merge of the work. `is_negated` says that one already holds.
fn refuses_merge(clause: &[&str], is_negated: bool) -> bool {
    let known = &words().intent;
    let first = clause.iter().position(|word| has(&known.negations, word)).map(|at| at + 1);
    let Some(from) = (if is_negated { Some(0) } else { first }) else { return false };
    let mut merges = (from..clause.len()).filter(|at| has(&known.merges, clause[*at]));
    merges.any(|at| merges_work(&clause[at + 1..]))
}

/// Whether what follows `merge` is the work, and not a name (`merge conflict`) or code (`the two functions`).
fn merges_work(after: &[&str]) -> bool {
    let known = &words().intent;
    let ends = |word: &&str| has(&words().object_ends, word) && *word != "that";
    let near = &after[..after.len().min(REACH)];
    let object = &near[..near.iter().position(ends).unwrap_or(near.len())];
    let is_name = object.first().is_some_and(|word| has(&known.after_merge, word));
    let is_work = (0..object.len()).any(|at| phrase_at(&known.merged_work, &object[at..]).is_some());
    let is_code = object.iter().any(|word| has(&known.merged_code, word) || has(&known.counts, word));
    !is_name && (is_work || !is_code)
}

/// `leave the PR open`, `keep it open`, but not `keep the port open` or `keep it open source`.
fn keeps_open(clause: &[&str]) -> bool {
    let known = &words().intent;
    let Some(at) = clause.iter().position(|word| has(&known.keeps, word)) else { return false };
    let is_negated = clause[..at].iter().any(|word| has(&known.negations, word));
    let after = &clause[at + 1..];
    let Some(open) = after.iter().position(|word| *word == known.open) else { return false };
    let is_thing = after[..open].iter().any(|word| has(&known.kept_open, word));
    let is_name = after.get(open + 1).is_some_and(|word| has(&known.after_open, word));
    !is_negated && !is_thing && !is_name
}

/// Whether the first clause begins with a verb that only looks.
fn begins_with_a_look(clauses: &[Clause]) -> bool {
    // `First, check …`: a clause of fillers is none
    let first = clauses.iter().map(Clause::request_or_question).find(|request| !request.is_empty());
    first.is_some_and(|request| {
        let lower: Vec<&str> = request.iter().map(|word| word.lower.as_str()).collect();
        phrase_at(&words().intent.looks, &lower).is_some()
    })
}
