//! The same failure has the same fingerprint, whatever the clock, the counters and the temporary names are.
//!
//! Never interprets the text: it removes what changes from attempt to attempt and keeps the rest.

use std::borrow::Cow;

use super::{Class, Facts};
use crate::{knowledge::Knowledge, run::outcome::Outcome};

/// A short name of a failure; equal for failures that differ only in times, durations, counters, process ids and other
/// ids, temporary paths and attempt numbers.
pub fn fingerprint(step: &str, class: Class, facts: &Facts) -> String {
    let outcome = facts.outcome.as_ref().map(|outcome| match facts.exit_code() {
        Some(code) => format!("exit {code}"),
        None => normalize(&format!("{:?}", outcome.kind())),
    });
    let failure = match &facts.outcome {
        Some(Outcome::Ensure) => &facts.unmet.join("\n"),
        _ => facts.agent_failure.as_deref().unwrap_or_default(),
    };
    let parts = [
        step.to_owned(),
        class.as_str().to_owned(),
        outcome.unwrap_or_default(),
        normalize(&facts.stderr),
        normalize(failure),
        // stdout changes more than stderr, because a step prints there on success too
        if facts.stderr.trim().is_empty() { normalize(&facts.stdout) } else { String::new() },
    ];
    recipe::digest::sha256(parts.join("\u{1}").as_bytes()).chars().take(16).collect()
}

/// The fingerprint of several steps that failed side by side. If one of them is fixed, or fails in another way, the
/// fingerprint changes.
pub fn fingerprint_of_all(fingerprints: &[String]) -> Option<String> {
    match fingerprints {
        [] => None,
        [only] => Some(only.clone()),
        all => Some(recipe::digest::sha256(all.join("\u{1}").as_bytes()).chars().take(16).collect()),
    }
}

/// The text without the parts that change from attempt to attempt.
pub fn normalize(text: &str) -> String {
    let plain = strip_colours(text);
    let lines = plain.lines().map(normal_line);
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

fn normal_line(line: &str) -> String {
    let mut words: Vec<String> = line.split_whitespace().map(|word| normal_word(&mark_run(word))).collect();
    // backwards: in `Sun Nov 15` the weekday belongs to the month, and the month to the day
    for at in (0..words.len()).rev() {
        let is_number = |at: usize| words.get(at).is_some_and(|word| word.starts_with('#'));
        if is_of_a_date(&words[at]) && (is_number(at + 1) || at.checked_sub(1).is_some_and(is_number)) {
            "#".clone_into(&mut words[at]);
        }
    }
    // `2m 3s` is one duration
    words.dedup_by(|later, earlier| later == "#" && earlier == "#");
    words.join(" ")
}

/// Whether a word is a weekday or a month of a date.
fn is_of_a_date(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    Knowledge::built_in().phrases().date_words.iter().any(|known| known == word)
}

/// The word with run ids (`20260102-030405-a1b2c3d`) replaced by a mark.
fn mark_run(word: &str) -> Cow<'_, str> {
    let is_id = |text: &str| {
        let parts: Vec<&str> = text.split('-').collect();
        let digits = |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit());
        parts.iter().map(|part| part.len()).eq([8, 6, 7])
            && parts[..2].iter().all(digits)
            && parts[2].bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let ends = |start: usize| word.get(start..start + RUN_ID);
    let found = (0..word.len()).find(|start| ends(*start).is_some_and(is_id));
    match found {
        Some(start) => Cow::Owned(format!("{}#{}", &word[..start], mark_run(&word[start + RUN_ID..]))),
        None => Cow::Borrowed(word),
    }
}

/// Length of a run's id.
const RUN_ID: usize = 23;

/// The text without escape sequences.
pub(crate) fn strip_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\u{1b}' {
            plain.push(c);
            continue;
        }
        if chars.next_if_eq(&'[').is_some() {
            while chars.next().is_some_and(|c| !c.is_ascii_alphabetic()) {}
        }
    }
    plain
}

fn normal_word(word: &str) -> String {
    if let Some(at) = temporary_path(word) {
        return format!("{}<tmp>", normal_word(&word[..at]));
    }
    let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
    if is_uuid(bare) {
        return word.replace(bare, "#");
    }
    let mut normal = String::with_capacity(word.len());
    let mut rest = word;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        let keeps_numbers = names_a_place(&normal);
        normal.push_str(if part.is_empty() { "" } else { normal_part(part, keeps_numbers) });
        rest = after;
        if let Some(c) = rest.chars().next() {
            normal.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    collapse(&normal)
}

fn is_uuid(word: &str) -> bool {
    let lengths: Vec<usize> = word.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && word.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// `12:30:05`, `1.25` and `2026-01-02` become one mark.
fn collapse(word: &str) -> String {
    let mut word = word.to_owned();
    for joined in ["#:#", "#.#", "#-#", "#,#", "#/#", "#T#"] {
        while word.contains(joined) {
            word = word.replace(joined, "#");
        }
    }
    word
}

/// Whether the text before a number is a file, so that the number is one of its lines.
fn names_a_place(before: &str) -> bool {
    let Some(file) = before.strip_suffix(':') else { return false };
    let file = file.rsplit(['/', '(']).next().unwrap_or(file);
    file.split(':')
        .next()
        .is_some_and(|name| name.contains('.') && name.contains(|c: char| c.is_alphabetic()))
}

fn normal_part(part: &str, keeps_numbers: bool) -> &str {
    let digits = part.chars().filter(char::is_ascii_digit).count();
    if digits == 0 || (keeps_numbers && digits == part.len()) {
        return part;
    }
    // `02T03` is the middle of a time
    let number = part.chars().all(|c| c.is_ascii_digit() || matches!(c, 'T' | 'Z' | '_'));
    let letters = part.trim_start_matches(|c: char| c.is_ascii_digit());
    let duration = part.starts_with(|c: char| c.is_ascii_digit())
        && matches!(
            letters,
            "s" | "ms"
                | "us"
                | "ns"
                | "m"
                | "h"
                | "d"
                | "sec"
                | "secs"
                | "min"
                | "mins"
                | "Z"
                | "kB"
                | "MB"
                | "KB"
                | "GB"
                | "KiB"
                | "MiB"
                | "th"
                | "st"
                | "nd"
                | "rd"
        );
    let hexadecimal = part.len() >= 6 && part.chars().all(|c| c.is_ascii_hexdigit());
    let address = part.starts_with("0x") && part.len() > 4;
    // `20260102T030405Z`, `01J8Z3K5Q7…`: long and mostly digits
    let id = part.len() >= 10 && digits * 3 >= part.len();
    let last = part.rsplit('_').next().unwrap_or(part);
    // `req_011CabcDEF`: of every kind of character
    let random = last.len() >= 8
        && [char::is_ascii_digit, char::is_ascii_uppercase, char::is_ascii_lowercase]
            .iter()
            .all(|is| last.chars().any(|c| is(&c)));
    let attempt = part.to_ascii_lowercase().starts_with("attempt");
    if number || duration || hexadecimal || address || id || random {
        "#"
    } else if attempt {
        "attempt#"
    } else {
        part
    }
}

/// The place of a temporary path in a word.
fn temporary_path(word: &str) -> Option<usize> {
    ["/tmp/", "/var/tmp/", "/private/tmp/", "/var/folders/", "/private/var/", "/dev/shm/", "/run/user/"]
        .iter()
        .filter_map(|root| word.find(root))
        .min()
}
