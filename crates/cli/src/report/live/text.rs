//! Text that fits into a terminal: no steering characters, no more columns than there are.

use std::borrow::Cow;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns of a text without escape sequences.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// The text in at most so many columns; what is cut off leaves a `…`.
pub(crate) fn fit(text: &str, room: usize) -> Cow<'_, str> {
    if columns(text) <= room {
        return Cow::Borrowed(text);
    }
    if room == 0 {
        return Cow::Borrowed("");
    }
    let mut used = 0;
    let mut end = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > room - 1 {
            break;
        }
        end = at + c.len_utf8();
    }
    Cow::Owned(format!("{}…", &text[..end]))
}

/// The same, cut in the middle: names often begin alike.
pub(crate) fn squeeze(text: &str, room: usize) -> Cow<'_, str> {
    if columns(text) <= room || room < 5 {
        return fit(text, room);
    }
    let mut tail = text.len();
    for (at, _) in text.char_indices().rev() {
        if columns(&text[at..]) > (room - 1) / 2 {
            break;
        }
        tail = at;
    }
    let head = fit(text, room - columns(&text[tail..]));
    Cow::Owned(format!("{head}{}", &text[tail..]))
}

/// Which escape sequences of a step's output are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// None.
    Nothing,
    /// Colours, which end with the line.
    Colours,
}

/// One line of output, safe for a terminal: text that a carriage return overwrites is removed, and nothing moves the
/// cursor, rings, or changes titles.
pub(crate) fn printable(line: &[u8], keep: Keep) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches(['\n', '\r']);
    let text = text.rsplit('\r').next().unwrap_or_default();
    let mut shown = String::with_capacity(text.len());
    let mut is_coloured = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if c == '\u{1b}' {
            let length = sequence(rest);
            if keep == Keep::Colours && is_colour(&rest[..length]) {
                shown.push_str(&rest[..length]);
                is_coloured = true;
            }
            rest = &rest[length..];
            continue;
        }
        match c {
            '\t' if keep == Keep::Colours => shown.push('\t'),
            '\t' => shown.push(' '),
            // a sequence of bytes that are not text becomes one mark
            c if c.is_control() || c == '\u{fffd}' => {
                if !shown.ends_with('\u{fffd}') {
                    shown.push('\u{fffd}');
                }
            }
            c => shown.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    if is_coloured {
        shown.push_str("\u{1b}[0m");
    }
    shown
}

/// Bytes of the escape sequence that a text begins with.
fn sequence(text: &str) -> usize {
    let body = &text[1..];
    match body.chars().next() {
        Some('[') => {
            let end = body[1..].find(|c: char| ('@'..='~').contains(&c));
            end.map_or(text.len(), |at| at + 3)
        }
        Some(']' | 'P' | '_' | '^' | 'X') => {
            let end = body.find(['\u{7}', '\u{1b}']);
            end.map_or(text.len(), |at| if body[at..].starts_with("\u{1b}\\") { at + 3 } else { at + 2 })
        }
        // such as `ESC ( B`: the bytes in between are followed by one letter
        Some(' '..='/') => {
            let end = body.find(|c: char| !(' '..='/').contains(&c));
            end.map_or(text.len(), |at| 1 + at + body[at..].chars().next().map_or(0, char::len_utf8))
        }
        Some(c) => 1 + c.len_utf8(),
        None => 1,
    }
}

fn is_colour(sequence: &str) -> bool {
    let inner = sequence.strip_prefix("\u{1b}[").and_then(|rest| rest.strip_suffix('m'));
    inner.is_some_and(|inner| inner.chars().all(|c| c.is_ascii_digit() || c == ';' || c == ':'))
}

/// An icon in its colour.
pub(super) fn coloured(icon: char) -> String {
    use anstyle::{AnsiColor, Style};
    let colour = match icon {
        '✓' => AnsiColor::Green,
        '✗' => AnsiColor::Red,
        '⚠' | '↻' | '⏸' | '■' => AnsiColor::Yellow,
        '▶' => AnsiColor::Cyan,
        _ => return icon.to_string(),
    };
    let style = Style::new().fg_color(Some(colour.into()));
    format!("{style}{icon}{style:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_columns_not_by_characters() {
        for (text, room, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("abc", 0, ""),
            ("abc", 1, "…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("日本語", 2, "…"),
            ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
            ("🦀🦀", 3, "🦀…"),
            ("", 0, ""),
        ] {
            let fitted = fit(text, room);
            assert_eq!(fitted, expected, "{text} in {room}");
            assert!(columns(&fitted) <= room);
        }
    }

    #[test]
    fn names_keep_both_ends() {
        for (text, room, expected) in [
            ("build", 5, "build"),
            ("build-all-12", 9, "buil…l-12"),
            ("build-all-12", 8, "buil…-12"),
            ("build-all-12", 4, "bui…"),
            ("日本語日本語", 7, "日本…語"),
        ] {
            assert_eq!(squeeze(text, room), expected, "{text} in {room}");
        }
    }

    #[test]
    fn output_cannot_steer_the_terminal() {
        for (line, colours, plain) in [
            (&b"plain\n"[..], "plain", "plain"),
            (b"a\tb", "a\tb", "a b"),
            (b"10%\r50%\r100%\r\n", "100%", "100%"),
            (b"\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m\x1b[0m", "red"),
            (b"\x1b[2J\x1b[Hgone", "gone", "gone"),
            (b"\x1b]0;title\x07text", "text", "text"),
            (b"\x1b]8;;http://x\x1b\\link", "link", "link"),
            (b"\x1b(Btext\x1b(", "text", "text"),
            (b"\x1b[31", "", ""),
            (b"\x1b", "", ""),
            (b"\xff\xfe\x00\x07x\x07", "\u{fffd}x\u{fffd}", "\u{fffd}x\u{fffd}"),
            ("日本\n".as_bytes(), "日本", "日本"),
        ] {
            assert_eq!(printable(line, Keep::Colours), colours);
            assert_eq!(printable(line, Keep::Nothing), plain);
        }
    }
}
