//! Text in lines of a given width. Never breaks inside a word, a name or an argument of a command.

use anstream::adapter::strip_str;

use super::{hints::plain, live::columns};

/// The width of lines that are not wrapped.
pub(crate) const UNLIMITED: usize = usize::MAX;

/// A text in lines of at most this width; the lines after the first begin with `hang` blanks. A longer word has a line
/// of its own.
pub(crate) fn wrapped(text: &str, width: usize, hang: usize) -> Vec<String> {
    if columns(text) <= width {
        return vec![text.to_owned()];
    }
    joined(text, &text.split(' ').collect::<Vec<_>>(), (width, hang), "")
}

/// Each line of a text for people, in lines of at most this width. What is in backticks stays on one line if it fits
/// there, and so does a command of this program at the end.
pub(crate) fn wrapped_lines(text: &str, width: usize) -> String {
    let wrap = |line: &str| match seen(line) <= width {
        true => line.to_owned(),
        false => {
            let hang = line.len() - line.trim_start_matches(' ').len() + 2;
            joined(line, &units(line, width.saturating_sub(hang)), (width, hang), "").join("\n")
        }
    };
    text.split('\n').map(wrap).collect::<Vec<_>>().join("\n")
}

/// The words of a line; words that belong together are one if they take at most this many columns.
fn units(line: &str, room: usize) -> Vec<&str> {
    let program = plain("");
    let (mut units, mut from, mut is_quoted) = (Vec::new(), 0, false);
    for (at, c) in line.char_indices() {
        let rest = &line[from..];
        match c {
            '`' => is_quoted = !is_quoted,
            ' ' => {
                let quote =
                    || rest.char_indices().filter(|(_, c)| *c == '`').nth(1).map(|(end, _)| &rest[..end]);
                let fits = is_quoted && quote().is_some_and(|quote| seen(quote) < room);
                let is_command = rest.starts_with(&program) && seen(rest) <= room;
                if !fits && !is_command {
                    units.push(&line[from..at]);
                    from = at + 1;
                }
            }
            _ => {}
        }
    }
    units.push(&line[from..]);
    units
}

/// Columns of a text on the screen.
fn seen(text: &str) -> usize {
    columns(&strip_str(text).to_string())
}

/// The same for a command after some words: each line but the last ends with `\`, so that the lines together are still
/// the command.
pub(crate) fn wrapped_command(words: &str, command: &str, width: usize, hang: usize) -> Vec<String> {
    let text = format!("{words} {command}");
    if columns(&text) <= width {
        return vec![text];
    }
    let parts: Vec<&str> = words.split(' ').chain(arguments(command)).collect();
    joined(&text, &parts, (width, hang), " \\")
}

fn joined(text: &str, words: &[&str], shape: (usize, usize), end: &str) -> Vec<String> {
    let (width, hang) = shape;
    let indent = text.len() - text.trim_start_matches(' ').len();
    let mut lines = Vec::new();
    let mut line = " ".repeat(indent);
    let mut is_begun = false;
    for word in words.iter().skip(indent) {
        if is_begun && seen(&line) + 1 + seen(word) + seen(end) > width {
            lines.push(format!("{}{end}", line.trim_end()));
            line = " ".repeat(hang);
            is_begun = false;
        }
        if std::mem::replace(&mut is_begun, true) {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines
}

/// The beginning of a line, without its last words if it would be wider than this.
pub(crate) fn cut_off(line: &str, width: usize) -> String {
    let mut line = line;
    while columns(line) + 2 > width
        && let Some((before, _)) = line.trim_end().rsplit_once(' ')
        && !before.trim().is_empty()
    {
        line = before;
    }
    format!("{} …", line.trim_end())
}

/// The words of a command; quoted blanks do not separate.
fn arguments(command: &str) -> Vec<&str> {
    let (mut words, mut from, mut quote, mut is_escaped) = (Vec::new(), 0, None, false);
    for (at, c) in command.char_indices() {
        match (c, quote) {
            _ if is_escaped => is_escaped = false,
            ('\\', None | Some('"')) => is_escaped = true,
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (' ', None) => {
                words.push(&command[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    words.push(&command[from..]);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_whole() {
        for (text, width, hang, expected) in [
            ("a bb ccc", 80, 2, &["a bb ccc"][..]),
            ("a bb ccc", 5, 2, &["a bb", "  ccc"]),
            ("aa averylongword b", 6, 1, &["aa", " averylongword", " b"]),
            ("averylongword b", 6, 0, &["averylongword", "b"]),
            ("  aa bb cc", 6, 4, &["  aa", "    bb", "    cc"]),
            ("日本 日本 日本", 9, 0, &["日本 日本", "日本"]),
            ("", 5, 0, &[""]),
        ] {
            assert_eq!(wrapped(text, width, hang), expected, "{text} in {width}");
        }
    }

    #[test]
    fn lines_for_people_keep_quoted_words_and_commands_together() {
        for (text, width, expected) in [
            ("a bb\n  ccc ddd ee\n", 9, "a bb\n  ccc ddd\n    ee\n"),
            ("say `a b c` now", 9, "say\n  `a b c`\n  now"),
            ("say `a b c d e f` now", 9, "say `a b\n  c d e\n  f` now"),
            ("  files      /a/long/path", 20, "  files\n    /a/long/path"),
            (&format!("then: {}", plain("show x")), 28, &format!("then:\n  {}", plain("show x"))),
            ("\u{1b}[32mgreen\u{1b}[0m word", 10, "\u{1b}[32mgreen\u{1b}[0m word"),
        ] {
            assert_eq!(wrapped_lines(text, width), expected, "{text} in {width}");
        }
    }

    #[test]
    fn commands_can_still_be_copied() {
        for (text, width, expected) in [
            ("a 'b c d' e", 12, &["it's a \\", "  'b c d' \\", "  e"][..]),
            ("a\\ b \"c 'd\" e", 12, &["it's a\\ b \\", "  \"c 'd\" e"]),
            ("a", 12, &["it's a"]),
        ] {
            assert_eq!(wrapped_command("it's", text, width, 2), expected, "{text} in {width}");
        }
    }
}
