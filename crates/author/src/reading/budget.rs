//! Limits of the run: `within 30 minutes`, `at most $5`.

use crate::{
    brief::Budget,
    spec::{SectionKind, Sentence, Spec},
    words::work,
};

/// Reads the limits. Sentences with code are about commands, except in the section of constraints.
pub(crate) fn budget(spec: &Spec) -> Budget {
    let mut found = Budget::default();
    for (section, sentence) in spec.sentences() {
        let is_about_run = match section.kind {
            SectionKind::Acceptance | SectionKind::Questions | SectionKind::Answers => false,
            SectionKind::Constraints => true,
            _ => !sentence.has_code(),
        };
        if is_about_run {
            found.minutes = found.minutes.or_else(|| minutes(sentence));
            found.usd = found.usd.or_else(|| dollars(sentence));
        }
    }
    found
}

/// Whether a sentence limits the run.
pub(crate) fn is_limited(sentence: &Sentence) -> bool {
    !sentence.has_code() && (minutes(sentence).is_some() || dollars(sentence).is_some())
}

/// Whether a limiting word comes shortly before this place.
fn is_limit(lower: &[String], at: usize) -> bool {
    let known = &work().budget.most;
    (at.saturating_sub(4)..at)
        .any(|from| known.at(&lower[from..at]).is_some_and(|count| from + count + 1 >= at))
}

fn minutes(sentence: &Sentence) -> Option<f64> {
    let known = &work().budget;
    let lower = sentence.lower();
    lower.iter().enumerate().find_map(|(at, word)| {
        let digits = word.trim_end_matches(|c: char| c.is_alphabetic() || c == '-');
        let number: f64 = digits.parse().ok().filter(|number| *number > 0.0)?;
        let own = word[digits.len()..].trim_start_matches('-');
        let unit = if own.is_empty() { lower.get(at + 1).map_or("", String::as_str) } else { own };
        let factor = match unit {
            _ if known.minutes.has(unit) => 1.0,
            _ if known.hours.has(unit) => 60.0,
            _ => return None,
        };
        is_limit(&lower, at).then_some(number * factor)
    })
}

fn dollars(sentence: &Sentence) -> Option<f64> {
    let known = &work().budget;
    let lower = sentence.lower();
    lower.iter().enumerate().find_map(|(at, word)| {
        let number: f64 =
            word.trim_start_matches('$').trim_end_matches("usd").trim_end_matches('$').parse().ok()?;
        let next = lower.get(at + 1).map_or("", String::as_str);
        let is_money = word.contains('$') || word.ends_with("usd") || known.usd.has(next);
        (number > 0.0 && is_money && is_limit(&lower, at)).then_some(number)
    })
}
