//! Whether an agent says of itself that it could not reach the work.
//!
//! What another program, person or part of the code cannot reach is a finding, not an excuse.

use super::words::{UnreachedWords, has, phrase_at, words};

/// Whether one of these sentences says so.
pub(super) fn says_unreached(sentences: &[Vec<String>]) -> bool {
    let known = &words().unreached;
    sentences.iter().any(|sentence| {
        let sentence: Vec<&str> = sentence.iter().map(String::as_str).collect();
        cannot_reach(known, &sentence) || has_no_access(known, &sentence) || is_absent(known, &sentence)
    })
}

/// Whether these words say that the speaker could not reach the work.
pub(super) fn is_excuse(sentence: &[&str]) -> bool {
    let known = &words().unreached;
    cannot_reach(known, sentence) || has_no_access(known, sentence) || is_absent(known, sentence)
}

/// `I cannot access the repository`, `unable to read the code`, `I don't see any files`.
fn cannot_reach(known: &UnreachedWords, sentence: &[&str]) -> bool {
    (0..sentence.len()).any(|at| {
        let rest = &sentence[at..];
        let inability = phrase_at(&known.cannot, rest);
        let Some(taken) = inability.or_else(|| phrase_at(&known.does_not, rest)) else { return false };
        let mut from = at + taken;
        from += sentence[from..].iter().take_while(|word| has(&known.adverbs, word)).count();
        let Some((verb, after)) = reaching_verbs(known, &sentence[from..]) else { return false };
        let is_searching = has(&known.searching, verb);
        (inability.is_some() || is_searching)
            && names_target(known, after, is_searching)
            && is_own(known, &sentence[..at])
    })
}

/// The last of the verbs at the beginning, and what follows them: `access or read the files`.
fn reaching_verbs<'s, 'a>(known: &UnreachedWords, words: &'s [&'a str]) -> Option<(&'a str, &'s [&'a str])> {
    let mut at = phrase_at(&known.verbs, words)?;
    let mut verb = *words.first()?;
    while let Some(["or" | "and" | ",", rest @ ..]) = words.get(at..) {
        let Some(more) = phrase_at(&known.verbs, rest).or_else(|| phrase_at(&known.also, rest)) else {
            break;
        };
        verb = if phrase_at(&known.verbs, rest).is_some() { rest.first()? } else { verb };
        at += 1 + more;
    }
    Some((verb, &words[at..]))
}

/// `I have no access to the files`, `access to the repository was denied`.
fn has_no_access(known: &UnreachedWords, sentence: &[&str]) -> bool {
    let accesses = (0..sentence.len()).filter(|at| sentence[*at..].starts_with(&["access", "to"]));
    accesses.into_iter().any(|at| {
        let after = &sentence[at + 2..];
        if !names_target(known, after, false) {
            return false;
        }
        let near = at.saturating_sub(5);
        let negation = (near..at).rev().find(|place| has(&known.no_access, sentence[*place]));
        match negation {
            Some(place) if !sentence[place..at].contains(&",") => is_own(known, &sentence[..place]),
            _ => is_own(known, &sentence[..at]) && after.iter().any(|word| has(&known.denied, word)),
        }
    })
}

/// `the repository is not accessible`, `no codebase exists in this environment`.
fn is_absent(known: &UnreachedWords, sentence: &[&str]) -> bool {
    (0..sentence.len()).any(|at| {
        let Some(taken) = phrase_at(&known.targets, &sentence[at..]) else { return false };
        let is_modifier = |word: &&&str| has(&known.determiners, word) || has(&known.targets, word);
        let modifiers = sentence[..at].iter().rev().take_while(is_modifier).count();
        let (before, after) = (&sentence[..at - modifiers], &sentence[at + taken..]);
        match before.split_last() {
            Some((no, before)) if *no == "no" => is_not_there(known, before, after),
            Some((last, _)) if !matches!(*last, "," | ":") && !has(&known.subject.turns, last) => false,
            _ => is_not_reachable(known, after),
        }
    })
}

fn is_not_reachable(known: &UnreachedWords, after: &[&str]) -> bool {
    let adverb = |after: &[&str]| after.iter().take_while(|word| has(&known.adverbs, word)).count();
    let helpers = after.iter().take_while(|word| has(&known.subject.helpers, word)).count();
    [0, helpers].into_iter().any(|skipped| {
        let rest = &after[skipped..];
        let rest = &rest[adverb(rest)..];
        phrase_at(&known.absent, rest).is_some_and(|taken| is_own_place(known, &rest[taken..]))
    })
}

/// What stands around `no files`.
fn is_not_there(known: &UnreachedWords, before: &[&str], after: &[&str]) -> bool {
    let clause =
        before.rsplit(|word| *word == "," || has(&known.subject.turns, word)).next().unwrap_or_default();
    let clause: Vec<&str> = clause.iter().filter(|word| !has(&known.adverbs, word)).copied().collect();
    let fits = match clause.as_slice() {
        [] => true,
        ["there", helper] => has(&known.subject.helpers, helper),
        [own, verb] => has(&known.subject.own, own) && has(&known.sees, verb),
        _ => false,
    };
    let taken = phrase_at(&known.exists, after);
    let tail = &after[taken.unwrap_or_default()..];
    fits && (taken.is_some() || !tail.is_empty() || !clause.is_empty()) && is_own_place(known, tail)
}

/// Whether the sentence ends here, or names the place of the agent.
fn is_own_place(known: &UnreachedWords, tail: &[&str]) -> bool {
    match tail.first() {
        None => true,
        Some(first) => {
            matches!(*first, "," | ":" | "and" | "or")
                || has(&known.subject.turns, first)
                || phrase_at(&known.places, tail).is_some()
        }
    }
}

/// Whether the object that begins here is the work: `the files`, `version 2 of the code`.
fn names_target(known: &UnreachedWords, after: &[&str], is_searching: bool) -> bool {
    let determiners = after.iter().take_while(|word| has(&known.determiners, word)).count();
    let after = &after[determiners..];
    let is_end =
        |word: &str| matches!(word, "," | ":") || has(&known.ends, word) || has(&words().object_ends, word);
    let end = after.iter().position(|word| is_end(word)).unwrap_or(after.len());
    let (object, rest) = after.split_at(end);
    let is_part = determiners > 0 && object.is_empty() || object.iter().any(|word| has(&known.parts, word));
    if rest.first() == Some(&"of") && is_part {
        return names_target(known, &rest[1..], is_searching);
    }
    let tails = object.iter().rev().take_while(|word| has(&known.tails, word)).count();
    let named = &object[..object.len() - tails];
    let ends_in_target = (1..=2).any(|count| {
        let start = named.len().checked_sub(count);
        start.is_some_and(|start| phrase_at(&known.targets, &named[start..]) == Some(count))
    });
    let is_limited = rest.first().is_some_and(|word| has(&known.beyond, word)) || named.contains(&"other");
    ends_in_target && !is_limited && (!is_searching || is_own_place(known, rest))
}

/// Whether the speaker is the subject after these words.
fn is_own(known: &UnreachedWords, before: &[&str]) -> bool {
    let is_first_other = || {
        let first = before.iter().find(|word| !has(&known.adverbs, word) && **word != ",");
        first.is_some_and(|first| has(&known.subject.others, first))
    };
    let turn = before.iter().rposition(|word| has(&known.subject.turns, word)).map_or(0, |at| at + 1);
    let mut subject = &before[turn..];
    while let Some((last, shorter)) = subject.split_last() {
        if !(has(&known.adverbs, last) || has(&known.subject.helpers, last)) {
            break;
        }
        subject = shorter;
    }
    match subject {
        [] | [.., "," | "and" | "or"] => !is_first_other(),
        [.., owner, place] if has(&known.subject.own_places, place) => has(&known.subject.owners, owner),
        [.., last] => has(&known.subject.own, last),
    }
}
