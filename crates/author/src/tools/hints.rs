//! Hints about agent programs: a program and a verb in one clause. Quotation marks do not hide a hint; code does.

use crate::{
    spec::{SectionKind, Sentence, Spec, Token, TokenKind, words_of},
    words::tools,
};

/// A program for a role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hint {
    pub(crate) role: AgentRole,
    pub(crate) program: String,
    pub(crate) model: Option<String>,
    pub(crate) line: usize,
    /// The words of the clause.
    pub(crate) text: String,
    /// The program must not do this.
    pub(crate) is_denied: bool,
}

/// What a program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgentRole {
    Writer,
    Reviewer,
    Planner,
    /// `use only P`.
    Every,
}

/// All hints of a spec, in its order. `programs` are names that the word lists do not have.
pub(crate) fn hints(spec: &Spec, programs: &[String]) -> Vec<Hint> {
    let is_read =
        |kind| !matches!(kind, SectionKind::Questions | SectionKind::Answers | SectionKind::Targets);
    let mut found: Vec<Hint> = spec.title.iter().flat_map(|title| of_sentence(title, programs)).collect();
    for (section, sentence) in spec.sentences().filter(|(section, _)| is_read(section.kind)) {
        let heading = words_of(&section.heading, section.line);
        let names_role = heading.iter().any(|word| role(&word.lower()).is_some());
        match section.kind == SectionKind::Agents && names_role {
            // `Reviewers: claude, codex`
            true => {
                let colon =
                    Token { kind: TokenKind::Mark, text: ":".to_owned(), span: 0..0, line: section.line };
                let tokens = heading.into_iter().filter(|word| word.kind == TokenKind::Word).chain([colon]);
                let tokens = tokens.chain(sentence.tokens.iter().cloned()).collect();
                found.extend(of_sentence(&Sentence { tokens, ..sentence.clone() }, programs));
            }
            false => found.extend(of_sentence(sentence, programs)),
        }
    }
    found
}

/// The hints of a sentence.
pub(crate) fn of_sentence(sentence: &Sentence, programs: &[String]) -> Vec<Hint> {
    let ends = |token: &Token| token.is_mark(';') || token.is_mark('.') || token.is_word("but");
    sentence.tokens.split(ends).flat_map(|clause| of_clause(clause, programs)).collect()
}

/// A part of a clause.
#[derive(Clone, Debug, PartialEq, Eq)]
enum HintPart {
    /// A program; `is_led` says that `with` or `by` comes before it.
    Program {
        name: String,
        is_led: bool,
    },
    Role(AgentRole),
    Denial,
    Only,
}

fn of_clause(tokens: &[Token], more: &[String]) -> Vec<Hint> {
    let parts = parts(tokens, more);
    let programs = || {
        parts.iter().filter_map(|part| match part {
            HintPart::Program { name, .. } => Some(name.clone()),
            _ => None,
        })
    };
    let Some(first) = programs().next() else { return Vec::new() };
    let (line, text) = (tokens.first().map_or(1, |token| token.line), text(tokens));
    let is_denied = parts.contains(&HintPart::Denial);
    let model = model(tokens);
    let hint = |role: AgentRole, program: String| Hint {
        role,
        program,
        model: None,
        line,
        text: text.clone(),
        is_denied,
    };
    let has_role = parts.iter().any(|part| matches!(part, HintPart::Role(_)));
    let mut found: Vec<Hint> = match parts.contains(&HintPart::Only) && !has_role {
        true => vec![hint(AgentRole::Every, first)],
        false => pairs(&parts).into_iter().map(|(role, program)| hint(role, program)).collect(),
    };
    if let Some((name, at)) = model {
        // a model belongs to the program named last before it
        let before = parts_before(tokens, at, more);
        for hint in
            found.iter_mut().filter(|hint| before.as_ref().is_none_or(|program| hint.program == *program))
        {
            hint.model = Some(name.clone());
        }
    }
    found
}

/// Pairs programs and roles: `P to V`, `P Vs`, `V with P`, joined by `and`.
fn pairs(parts: &[HintPart]) -> Vec<(AgentRole, String)> {
    let mut found = Vec::new();
    let mut programs: Vec<String> = Vec::new();
    let mut roles: Vec<AgentRole> = Vec::new();
    let mut last_was_role = false;
    for part in parts {
        match part {
            HintPart::Program { name, is_led } => {
                if *is_led && !roles.is_empty() {
                    found.extend(roles.iter().map(|role| (*role, name.clone())));
                    last_was_role = false;
                    continue;
                }
                if last_was_role {
                    programs.clear();
                    roles.clear();
                }
                programs.push(name.clone());
                last_was_role = false;
            }
            HintPart::Role(role) => {
                if !last_was_role {
                    roles.clear();
                }
                roles.push(*role);
                found.extend(programs.iter().map(|program| (*role, program.clone())));
                last_was_role = true;
            }
            HintPart::Denial | HintPart::Only => {}
        }
    }
    let mut known: Vec<(AgentRole, String)> = Vec::new();
    for pair in found {
        if !known.contains(&pair) {
            known.push(pair);
        }
    }
    known
}

/// The role that a word names.
fn role(word: &str) -> Option<AgentRole> {
    let known = &tools().roles;
    match word {
        _ if known.writer.has(word) => Some(AgentRole::Writer),
        _ if known.reviewer.has(word) => Some(AgentRole::Reviewer),
        _ if known.planner.has(word) => Some(AgentRole::Planner),
        _ => None,
    }
}

fn parts(tokens: &[Token], more: &[String]) -> Vec<HintPart> {
    let known = tools();
    let lower: Vec<String> = tokens.iter().map(Token::lower).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let listed = known.programs.iter().find_map(|(name, names)| Some((name, names.at(&lower[at..])?)));
        let program = listed.or_else(|| more.iter().find(|name| **name == lower[at]).map(|name| (name, 1)));
        if let Some((name, count)) = program {
            let is_led = is_led(tokens, &lower, at, &found);
            found.push(HintPart::Program { name: name.clone(), is_led });
            at += count;
            continue;
        }
        let word = lower[at].as_str();
        found.extend(role(word).map(HintPart::Role));
        if known.negations.has(word) {
            found.push(HintPart::Denial);
        }
        if known.only.has(word) {
            found.push(HintPart::Only);
        }
        at += 1;
    }
    found
}

/// Whether `with`, `by`, `:` or a program that is led itself comes before this program.
fn is_led(tokens: &[Token], lower: &[String], at: usize, found: &[HintPart]) -> bool {
    let before = (0..at).rev().find(|place| {
        let word = lower[*place].as_str();
        !(tokens[*place].is_quotation_mark()
            || ["and", "then", "the", "or"].contains(&word)
            || tokens[*place].is_mark(','))
    });
    let Some(place) = before else { return false };
    let word = lower[place].as_str();
    let follows_led = matches!(found.last(), Some(HintPart::Program { is_led: true, .. }))
        && !tools().roles.reviewer.has(word);
    let joined =
        at > 0 && (tokens[at - 1].is_mark(',') || ["and", "then", "or"].contains(&lower[at - 1].as_str()));
    let is_label = tokens[place].is_mark(':') || ["is", "are", "be", "="].contains(&word);
    // `reviews: claude, codex`
    (tools().leads.has(word) && !tools().subjects.has(word)
        || word == "using" && found.iter().any(|part| matches!(part, HintPart::Role(_))))
        || is_label
        || (follows_led && joined)
}

/// The model of a clause, `with model m`, and its place.
fn model(tokens: &[Token]) -> Option<(String, usize)> {
    let at = tokens.iter().position(|token| tools().model_words.has(&token.lower()))?;
    let next =
        tokens.get(at + 1..)?.iter().find(|token| !(token.is_mark(':') || token.is_quotation_mark()))?;
    let is_name = next.kind != TokenKind::Mark && !next.text.is_empty();
    is_name.then(|| (next.text.clone(), at))
}

/// The program named last before a place.
fn parts_before(tokens: &[Token], at: usize, more: &[String]) -> Option<String> {
    let mut named = parts(&tokens[..at], more).into_iter().filter_map(|part| match part {
        HintPart::Program { name, .. } => Some(name),
        _ => None,
    });
    named.next_back()
}

fn text(tokens: &[Token]) -> String {
    let mut text = String::new();
    for token in tokens {
        let is_mark = token.kind == TokenKind::Mark;
        text.push_str(if text.is_empty() || is_mark { "" } else { " " });
        text.push_str(&token.text);
    }
    text
}
