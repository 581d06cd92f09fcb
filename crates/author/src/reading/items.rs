//! The same work for each of several items, and check-fix-rerun loops.

use crate::{
    brief::{FixLoop, Item, Items},
    project::ProjectFiles,
    reading::{delivery::work_of, paths::path},
    spec::{BlockKind, Section, SectionKind, Sentence, Spec, Token},
    words::work,
};

/// Reads items: `convert each of A, B and C`, or `each of these files:` before a list.
pub(crate) fn items(spec: &Spec, files: &dyn ProjectFiles) -> Option<Items> {
    let sections = spec.sections.iter().filter(|section| {
        matches!(section.kind, SectionKind::Goal | SectionKind::Prose | SectionKind::Targets)
    });
    let title = spec.title.iter().find_map(|title| in_sentence(title, files));
    title.or_else(|| sections.into_iter().find_map(|section| in_section(section, files)))
}

fn in_section(section: &Section, files: &dyn ProjectFiles) -> Option<Items> {
    for (at, block) in section.blocks.iter().enumerate() {
        if let Some(found) = block.sentences.iter().find_map(|sentence| in_sentence(sentence, files)) {
            return Some(found);
        }
        let Some(last) =
            block.sentences.last().filter(|last| last.tokens.last().is_some_and(|end| end.is_mark(':')))
        else {
            continue;
        };
        let lower = last.lower();
        let list =
            section.blocks[at + 1..].iter().take_while(|block| matches!(block.kind, BlockKind::Item { .. }));
        let listed: Vec<Item> =
            list.filter_map(|block| block.tokens.first()?.code().map(|code| item(code, files))).collect();
        if each(&lower).is_some() && listed.len() > 1 {
            return Some(made(last, &lower, listed));
        }
    }
    None
}

/// Where `each of` stands.
fn each(lower: &[String]) -> Option<usize> {
    let (at, count) = work().items.each.find(lower)?;
    let phrase = &lower[at..at + count];
    // `each` alone needs a thing: `each file`, `each of these pages`
    let follows = lower.get(at + count).map_or("", String::as_str);
    let is_thing = work().items.nouns.has(follows) || ["the", "these", ""].contains(&follows);
    (phrase.len() > 1 || is_thing).then_some(at + count)
}

fn in_sentence(sentence: &Sentence, files: &dyn ProjectFiles) -> Option<Items> {
    let lower = sentence.lower();
    let at = each(&lower)?;
    // the items are joined by commas and `and`
    let mut found = Vec::new();
    for token in &sentence.tokens[at..] {
        let joins = token.is_mark(',') || token.is_word("and") || token.is_word("or");
        let leads = found.is_empty()
            && (token.is_mark(':')
                || token.is_word("the")
                || token.is_word("these")
                || work().items.nouns.has(&token.lower()));
        match token.code() {
            Some(code) => found.push(item(code, files)),
            None if joins || leads => {}
            None => break,
        }
    }
    (found.len() > 1).then(|| made(sentence, &lower, found))
}

fn item(code: &str, files: &dyn ProjectFiles) -> Item {
    match path(code, files) {
        Some(path) => Item { text: path, is_path: true },
        None => Item { text: code.to_owned(), is_path: false },
    }
}

fn made(sentence: &Sentence, lower: &[String], items: Vec<Item>) -> Items {
    let in_order = work().items.orders.is_in(lower);
    let mut known: Vec<Item> = Vec::new();
    for item in items {
        if !known.contains(&item) {
            known.push(item);
        }
    }
    Items { task: work_of(sentence), line: sentence.line, items: known, in_order }
}

/// Reads `validate, fix, rerun until clean`.
pub(crate) fn fix_loop(spec: &Spec) -> Option<FixLoop> {
    let known = &work().r#loop;
    let is_read =
        |kind| !matches!(kind, SectionKind::Questions | SectionKind::Answers | SectionKind::Constraints);
    spec.sentences().filter(|(section, _)| is_read(section.kind)).find_map(|(_, sentence)| {
        let words: Vec<String> = sentence
            .lower()
            .iter()
            .flat_map(|word| word.split('/').map(str::to_owned).collect::<Vec<_>>())
            .collect();
        let parts = [
            known.check.is_in(&words),
            known.fix.is_in(&words),
            known.rerun.is_in(&words),
            known.until.is_in(&words),
        ];
        let has_loop = known.until.is_in(&words) || (parts[0] && parts[1] && parts[2]);
        let count = parts.iter().filter(|part| **part).count();
        if !has_loop || count < 2 {
            return None;
        }
        let command = sentence
            .tokens
            .iter()
            .filter_map(Token::code)
            .find(|code| !code.contains('/') || code.contains(' '));
        Some(FixLoop {
            text: sentence.text.clone(),
            line: sentence.line,
            command: command.map(str::to_owned),
        })
    })
}

/// The phrase that says that several artefacts are worked on, without naming them.
pub(crate) fn many_artefacts(spec: &Spec) -> Option<(String, usize)> {
    let known = &work().r#loop;
    spec.sentences()
        .filter(|(section, _)| matches!(section.kind, SectionKind::Goal | SectionKind::Prose))
        .find_map(|(_, sentence)| {
            let lower = sentence.lower();
            let noun = lower.iter().position(|word| known.artefacts.has(word))?;
            let start = noun.saturating_sub(3);
            let many = lower[start..noun].iter().position(|word| known.many.has(word))?;
            Some((lower[start + many..=noun].join(" "), sentence.line))
        })
}
