//! Text in lines of a given width. Never breaks inside a word, a name or an argument of a command.

use super::live::columns;

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
        if is_begun && columns(&line) + 1 + columns(word) + columns(end) > width {
            lines.push(format!("{line}{end}"));
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
