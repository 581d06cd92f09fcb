//! The name of an orchestrated failure: the same for failures that differ only in times, numbers, ids, paths and quoted
//! values.

use crate::{failure::strip_colours, knowledge::Knowledge};

/// How much of the error text counts, in characters.
const MOST_TEXT: usize = 400;
/// How much of the error text is looked at, in characters.
const MOST_INPUT: usize = 65_536;
/// The longest quoted value, in bytes.
const LONGEST_QUOTE: usize = 400;
/// Shortest word of letters and digits that is an id.
const SHORTEST_ID: usize = 7;

/// Words for units of time and size, which belong to the number before them.
const UNITS: &[&str] = &[
    "s", "ms", "us", "µs", "ns", "m", "h", "d", "sec", "secs", "second", "seconds", "min", "mins", "minute",
    "minutes", "hour", "hours", "day", "days", "b", "kb", "mb", "gb", "kib", "mib", "gib", "bytes", "th",
    "st", "nd", "rd", "t", "z", "x", "utc",
];

/// Sixteen hexadecimal digits for a failure. The task is not part of it.
pub fn failure_fingerprint(mode: &str, recipe: &str, step: &str, error: &str) -> String {
    let parts = [mode, recipe, &without_counters(step), &normal_text(error)];
    recipe::digest::sha256(parts.join("\u{1}").as_bytes()).chars().take(16).collect()
}

/// The path of a step without the numbers of its rounds and attempts: `round[1]/build#2` is `round/build`.
fn without_counters(step: &str) -> String {
    let mut plain = String::with_capacity(step.len());
    let mut rest = step;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let end = if c == '[' { after[digits..].strip_prefix(']') } else { Some(&after[digits..]) };
        match end {
            Some(end) if digits > 0 && matches!(c, '[' | '#') => rest = end,
            _ => {
                plain.push(c);
                rest = after;
            }
        }
    }
    plain
}

/// The error text without everything that changes from one failure to the next.
fn normal_text(error: &str) -> String {
    let start: String = error.chars().take(MOST_INPUT).collect();
    let plain = without_quotes(&strip_colours(&start).to_lowercase());
    let mut kept = String::new();
    let mut after_number = false;
    for token in plain.split_whitespace() {
        let word = normal_word(token);
        let had_digit = token.contains(|c: char| c.is_ascii_digit());
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_unit = (after_number || had_digit) && UNITS.contains(&bare);
        let is_date =
            Knowledge::built_in().phrases().date_words.iter().any(|known| known.eq_ignore_ascii_case(bare));
        after_number = had_digit && bare.is_empty();
        if is_unit || is_date || !word.contains(char::is_alphanumeric) {
            continue;
        }
        if !kept.is_empty() {
            kept.push(' ');
        }
        kept.push_str(&word);
    }
    kept.chars().take(MOST_TEXT).collect()
}

/// The word without numbers, ids and paths; empty if it is one of them.
fn normal_word(token: &str) -> String {
    if token.contains(['/', '\\']) || token.trim_start_matches(['(', '[']).starts_with('~') {
        return String::new();
    }
    let mut normal = String::with_capacity(token.len());
    let mut rest = token;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        normal.push_str(&normal_run(part));
        let next = after.chars().next();
        normal.extend(next);
        rest = next.map_or("", |c| &after[c.len_utf8()..]);
    }
    normal
}

/// Letters and digits without numbers and ids.
fn normal_run(part: &str) -> String {
    let has_digit = part.contains(|c: char| c.is_ascii_digit());
    let is_hex = part.len() >= SHORTEST_ID && part.chars().all(|c| c.is_ascii_hexdigit());
    if is_hex || (has_digit && part.len() >= SHORTEST_ID) || part.starts_with("0x") {
        return String::new();
    }
    let letters: String = part.chars().filter(|c| !c.is_ascii_digit()).collect();
    if has_digit && UNITS.contains(&letters.as_str()) { String::new() } else { letters }
}

/// The text without quoted values. An apostrophe inside a word does not begin one.
fn without_quotes(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let close = match c {
            '"' | '`' => Some(c),
            '\'' if !before.is_alphanumeric() => Some('\''),
            '“' => Some('”'),
            '‘' => Some('’'),
            _ => None,
        };
        match close.and_then(|close| Some((closing(after, close)?, close.len_utf8()))) {
            Some((end, length)) => rest = &after[end + length..],
            None => {
                kept.push(c);
                rest = after;
            }
        }
        before = c;
    }
    kept
}

/// The place of the closing quote, on the same line and not too far away.
fn closing(after: &str, close: char) -> Option<usize> {
    let mut near = after.char_indices().take_while(|(at, c)| *at < LONGEST_QUOTE && *c != '\n');
    near.find(|(_, c)| *c == close).map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(error: &str) -> String {
        failure_fingerprint("bash_failure", "r", "s", error)
    }

    #[test]
    fn what_changes_is_not_part_of_it() {
        let texts = [
            "Error: cannot open /tmp/a1/x.txt after 3 s at 12:30:05 (id 7f3a9c1)",
            "error:  cannot open /home/u/y.txt after 14 s at 2026-01-02T03:04:05Z (id deadbeef)",
            "\u{1b}[31merror:\u{1b}[0m cannot open ~/z after 2 minutes at 1:2 (id 00000000-1111-2222-3333-444444444444)",
            "error: cannot open C:\\x\\y after 1 second at 09:00 (id 20261117-034307-a1b2c3d)",
        ];
        let first = of(texts[0]);
        assert_eq!(first.len(), 16);
        for text in texts {
            assert_eq!(of(text), first, "{text}: {}", normal_text(text));
        }
        assert_eq!(of("no file 'a b' found"), of("no file \"c\" found"));
        assert_eq!(of(&"word ".repeat(200)), of(&"word ".repeat(300)));
    }

    #[test]
    fn everything_else_is() {
        let base = of("cannot open the file");
        assert_ne!(base, of("cannot read the file"));
        assert_ne!(base, failure_fingerprint("agent_timeout", "r", "s", "cannot open the file"));
        assert_ne!(base, failure_fingerprint("bash_failure", "q", "s", "cannot open the file"));
        assert_ne!(base, failure_fingerprint("bash_failure", "r", "t", "cannot open the file"));
        let step = |step| failure_fingerprint("m", "r", step, "e");
        assert_eq!(step("round[0]/build#1"), step("round[2]/build#3"));
        assert_ne!(step("round[0]/build#1"), step("round[0]/test#1"));
    }
}
