//! What leaves the machine: pull requests, pushes, deployments, and whether a person approves first.

use crate::{
    brief::{Approval, Effect, EffectKind},
    spec::{Block, SectionKind, Sentence, Spec, Token, TokenKind, joined},
    words::{PhraseList, work},
};

/// What a spec says about delivery.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ReadDelivery {
    pub(crate) effects: Vec<Effect>,
    /// A person approves first.
    pub(crate) approval: Option<Approval>,
    /// The spec says that approval is not needed.
    pub(crate) needs_no_approval: bool,
    /// `no PR`, with its line.
    pub(crate) refuses_pr: Option<(String, usize)>,
}

/// Reads delivery from every section but criteria, questions and answers.
pub(crate) fn delivery(spec: &Spec) -> ReadDelivery {
    let mut found = ReadDelivery::default();
    for (section, sentence) in spec.sentences() {
        if matches!(section.kind, SectionKind::Acceptance | SectionKind::Questions | SectionKind::Answers) {
            continue;
        }
        let lower = sentence.lower();
        if let Some((at, count)) = work().approval.none.find(&lower) {
            found.needs_no_approval |=
                !lower[at..at + count].contains(&"automatically".to_owned()) || names_effect(&lower);
        } else if work().approval.asks.is_in(&lower) {
            let reason = sentence.text.clone();
            found.approval.get_or_insert(Approval { reason, line: Some(sentence.line) });
        }
        for kind in [EffectKind::Pr, EffectKind::Push, EffectKind::Deploy, EffectKind::Publish] {
            read_effect(kind, sentence, &lower, section.kind == SectionKind::Delivery, &mut found);
        }
    }
    found
}

fn names_effect(lower: &[String]) -> bool {
    let known = &work().delivery;
    [&known.push, &known.deploy, &known.publish].iter().any(|list| list.is_in(lower))
}

fn read_effect(
    kind: EffectKind,
    sentence: &Sentence,
    lower: &[String],
    is_section: bool,
    found: &mut ReadDelivery,
) {
    let Some(at) = place(kind, sentence, lower, is_section) else { return };
    let before = &lower[at.saturating_sub(6)..at];
    let is_refused = before.iter().any(|word| work().delivery.negations.has(word));
    let text = sentence.text.clone();
    if is_refused {
        if kind == EffectKind::Pr {
            found.refuses_pr.get_or_insert((text, sentence.line));
        }
        return;
    }
    let asks = work().approval.asks.find(lower).is_some_and(|(ask, _)| ask < at);
    // `ask me before publishing` alone requests no publishing, but it is the reason for the question
    if asks
        && kind != EffectKind::Pr
        && !is_section
        && !lower[..at].iter().any(|word| word == "then")
        && !begins(lower, at)
    {
        let is_known = found.effects.iter().any(|known| known.kind == kind);
        if is_known {
            return;
        }
    }
    if found.effects.iter().any(|known| known.kind == kind) {
        return;
    }
    // a pull request is pushed by its own step
    let has_pr = found.effects.iter().any(|known| known.kind == EffectKind::Pr);
    if kind == EffectKind::Push && has_pr {
        return;
    }
    let base = if kind == EffectKind::Pr { base(sentence, lower, at) } else { None };
    let command = if kind == EffectKind::Pr { None } else { command(sentence, lower, at) };
    found.effects.push(Effect { kind, base, command, text, line: Some(sentence.line) });
}

fn begins(lower: &[String], at: usize) -> bool {
    lower[..at].iter().all(String::is_empty)
}

/// Where the sentence asks for the effect.
fn place(kind: EffectKind, sentence: &Sentence, lower: &[String], is_section: bool) -> Option<usize> {
    let known = &work().delivery;
    match kind {
        EffectKind::Pr => pull_request(lower, is_section),
        EffectKind::Push => verb(&known.push, &known.objects.push, sentence, lower),
        EffectKind::Deploy => verb(&known.deploy, &known.objects.deploy, sentence, lower),
        EffectKind::Publish => verb(&known.publish, &known.objects.publish, sentence, lower),
    }
}

/// `open a PR`, `no PR`, `a pull request is opened`.
fn pull_request(lower: &[String], is_section: bool) -> Option<usize> {
    let known = &work().delivery;
    let (noun, count) = known.pr.nouns.find(lower)?;
    let start = (0..noun).rev().take_while(|at| known.determiners.has(&lower[*at])).last().unwrap_or(noun);
    let has_verb = start.checked_sub(1).is_some_and(|at| known.pr.verbs.has(&lower[at]));
    let is_denied = start.checked_sub(1).is_some_and(|at| known.negations.has(&lower[at]));
    let passive = lower[noun + count..]
        .iter()
        .take(3)
        .any(|word| ["opened", "created", "raised", "against"].contains(&word.as_str()));
    let place = if has_verb { start - 1 } else { start };
    (has_verb || is_denied || passive || is_section).then_some(place)
}

/// A verb that is a request and no name: it begins the sentence, or it is about something that is delivered.
fn verb(list: &PhraseList, objects: &PhraseList, sentence: &Sentence, lower: &[String]) -> Option<usize> {
    let known = &work().delivery;
    (0..lower.len()).find(|at| {
        let Some(count) = list.at(&lower[*at..]) else { return false };
        let before = at.checked_sub(1).map_or("", |at| lower[at].as_str());
        let part = sentence.tokens[at + count..].iter().take_while(|token| token.kind != TokenKind::Mark);
        let rest = &lower[at + count..at + count + part.take(5).count()];
        let next = rest.first().map_or("", String::as_str);
        let is_label = sentence.tokens.get(at + count).is_some_and(|token| token.is_mark(':'));
        let is_name = known.names_before.has(before) || known.names_after.has(next) || is_label;
        let is_ambiguous = ["push", "release", "upload"].contains(&lower[*at].as_str());
        let begins = !is_ambiguous && (begins(lower, *at) || known.begins.has(before));
        let asks = work().approval.asks.find(lower).is_some_and(|(ask, length)| ask + length == *at);
        !is_name && (begins || asks || rest.iter().any(|word| objects.has(word)))
    })
}

/// The base branch: `against develop`.
fn base(sentence: &Sentence, lower: &[String], at: usize) -> Option<String> {
    let known = &work().delivery;
    for (offset, word) in lower[at..].iter().enumerate().filter(|(_, word)| known.base.has(word)) {
        let mut next = at + offset + 1;
        while ["the", "branch", "base"].contains(&lower.get(next).map_or("", String::as_str)) {
            next += 1;
        }
        let token = sentence.tokens.get(next)?;
        let follows_branch = lower.get(next + 1).is_some_and(|word| word == "branch");
        let is_branch = token.code().is_some()
            || known.branches.has(&token.lower())
            || follows_branch
            || token.text.contains('/')
            || word == "against";
        let is_plain = token.text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c));
        if is_branch && is_plain && !token.text.is_empty() {
            return Some(token.text.clone());
        }
    }
    None
}

/// The command of an effect: `deploy with X`, `publish by running X`.
fn command(sentence: &Sentence, lower: &[String], at: usize) -> Option<String> {
    let known = &work().delivery.commands;
    let is_led = |place: usize| place > 0 && known.has(&lower[place - 1]);
    let found =
        (at..sentence.tokens.len()).find(|place| sentence.tokens[*place].code().is_some() && is_led(*place));
    found.and_then(|place| sentence.tokens[place].code()).map(str::to_owned).or_else(|| {
        // `make deploy` deploys: code with a blank in the same sentence
        sentence.tokens.iter().filter_map(Token::code).find(|code| code.contains(' ')).map(str::to_owned)
    })
}

/// Whether a sentence asks for an effect, or refuses a pull request.
pub(crate) fn is_delivery(sentence: &Sentence) -> bool {
    let lower = sentence.lower();
    let kinds = [EffectKind::Pr, EffectKind::Push, EffectKind::Deploy, EffectKind::Publish];
    kinds.into_iter().any(|kind| place(kind, sentence, &lower, false).is_some())
        || work().approval.asks.is_in(&lower)
}

/// The text of a sentence without its requests for effects: they are no work for an agent. Empty if nothing is left.
pub(crate) fn work_of(sentence: &Sentence) -> String {
    let lower = sentence.lower();
    let kinds = [EffectKind::Pr, EffectKind::Push, EffectKind::Deploy, EffectKind::Publish];
    let is_refused =
        |at: usize| lower[at.saturating_sub(6)..at].iter().any(|word| work().delivery.negations.has(word));
    let places = kinds.into_iter().filter_map(|kind| place(kind, sentence, &lower, false));
    let Some(at) = places.filter(|at| !is_refused(*at)).min() else { return sentence.text.clone() };
    let joins = |token: &Token| {
        let words = ["and", "then", "finally", "please", "afterwards", "also"];
        token.is_mark(',') || token.is_mark(';') || words.iter().any(|word| token.is_word(word))
    };
    let start = (0..at).rev().take_while(|place| joins(&sentence.tokens[*place])).last().unwrap_or(at);
    // an effect in the middle of a thought cannot be cut out
    let is_cut = start < at || at == 0;
    let end = sentence.tokens[at..]
        .iter()
        .position(|token| token.is_mark(';'))
        .map_or(sentence.tokens.len(), |end| at + end + 1);
    if !is_cut {
        return sentence.text.clone();
    }
    let rest: Vec<Token> = sentence.tokens[..start].iter().chain(&sentence.tokens[end..]).cloned().collect();
    joined(&rest)
}

/// The text of a block without its requests for effects.
pub(crate) fn work_of_block(block: &Block) -> String {
    let whole: Vec<String> = block.sentences.iter().map(|sentence| sentence.text.clone()).collect();
    let texts: Vec<String> = block.sentences.iter().map(work_of).collect();
    if texts == whole {
        return block.text.clone();
    }
    let texts: Vec<String> = texts.into_iter().filter(|text| !text.is_empty()).collect();
    texts.join(". ")
}
