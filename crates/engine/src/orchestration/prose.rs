//! The part of a text in which its author speaks: without fenced blocks, quotations and quoted lines.
//!
//! Code in backticks stays as one opaque word, so that a path in it can be seen and a verb in it cannot.

/// Marks the place of code in backticks: the mark, its number, the mark.
const MARK: char = '\u{e000}';
/// The longest quotation in single quotes, in characters: an apostrophe is more likely beyond that.
const LONGEST_SINGLE: usize = 200;

/// A text without quotations.
pub(super) struct Prose {
    /// What is left, with marks in place of code.
    pub(super) text: String,
    codes: Vec<String>,
}

impl Prose {
    /// Removes what the author does not say.
    pub(super) fn new(text: &str) -> Prose {
        let text: String = text.chars().map(|c| if c == MARK || c == '\0' { ' ' } else { c }).collect();
        let mut prose = Prose { text: String::with_capacity(text.len()), codes: Vec::new() };
        let unfenced = without_quoted_lines(&without_fences(&text));
        for paragraph in unfenced.split_inclusive("\n\n") {
            prose.add(paragraph);
        }
        prose
    }

    /// The code that a word stands for.
    pub(super) fn code(&self, word: &str) -> Option<&str> {
        let number = word.strip_prefix(MARK)?.strip_suffix(MARK)?;
        self.codes.get(number.parse::<usize>().ok()?).map(String::as_str)
    }

    fn add(&mut self, paragraph: &str) {
        let mut rest = paragraph;
        let mut before = ' ';
        let mut unclosed = Unclosed::default();
        while let Some(c) = rest.chars().next() {
            let taken = match c {
                '`' => self.add_code(rest, &mut unclosed),
                _ => quotation(rest, before, &mut unclosed),
            };
            match taken {
                Some(length) => {
                    self.text.push(' ');
                    rest = &rest[length..];
                    before = '"';
                }
                None => {
                    self.text.push(c);
                    rest = &rest[c.len_utf8()..];
                    before = c;
                }
            }
        }
    }

    /// Takes code in backticks; returns its length.
    fn add_code(&mut self, rest: &str, unclosed: &mut Unclosed) -> Option<usize> {
        let ticks = rest.len() - rest.trim_start_matches('`').len();
        let (fence, after) = rest.split_at(ticks);
        if unclosed.ticks.is_some_and(|unclosed| ticks >= unclosed) {
            return None;
        }
        let Some(end) = after.find(fence) else {
            unclosed.ticks = Some(ticks);
            return None;
        };
        self.text.push_str(&format!(" {MARK}{}{MARK}", self.codes.len()));
        self.codes.push(after[..end].trim().to_owned());
        Some(ticks + end + ticks)
    }
}

/// Marks that nothing closes in the rest of a paragraph: they are looked for once.
#[derive(Default)]
struct Unclosed {
    /// This many backticks, and more.
    ticks: Option<usize>,
    /// Quotation marks, by the one that opens.
    quotes: Vec<char>,
}

/// The length of the quotation that begins here. `before` is the character before it.
fn quotation(rest: &str, before: char, unclosed: &mut Unclosed) -> Option<usize> {
    let open = rest.chars().next()?;
    if before.is_alphanumeric() {
        return None;
    }
    let after = &rest[open.len_utf8()..];
    let closing: &[char] = match open {
        '"' | '“' | '„' => &['"', '”', '“'],
        '«' => &['»'],
        '\'' | '‘' => return single_quotation(after).map(|length| open.len_utf8() + length),
        _ => return None,
    };
    if unclosed.quotes.contains(&open) {
        return None;
    }
    let Some(end) = after.find(closing) else {
        unclosed.quotes.push(open);
        return None;
    };
    let close = after[end..].chars().next()?;
    Some(open.len_utf8() + end + close.len_utf8())
}

/// The length up to the closing single quote, which is not an apostrophe inside a word.
fn single_quotation(after: &str) -> Option<usize> {
    let mut last = ' ';
    for (at, c) in after.char_indices().take(LONGEST_SINGLE) {
        let end = at + c.len_utf8();
        let closes = matches!(c, '\'' | '’') && !last.is_whitespace();
        if closes && !after[end..].starts_with(char::is_alphanumeric) {
            return Some(end);
        }
        last = c;
    }
    None
}

/// The text without fenced blocks; one that is not closed ends with the text.
fn without_fences(text: &str) -> String {
    let unticked = without_blocks(text, "```");
    if unticked.contains("\n~~~") { without_blocks(&unticked, "\n~~~") } else { unticked }
}

fn without_blocks(text: &str, fence: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(fence) {
        kept.push_str(&rest[..at]);
        kept.push('\n');
        let after = &rest[at + fence.len()..];
        let Some(end) = after.find(fence) else { return kept };
        rest = after[end + fence.len()..].trim_start_matches(['`', '~']);
    }
    kept.push_str(rest);
    kept
}

/// The text without lines that quote something (`> …`).
fn without_quoted_lines(text: &str) -> String {
    let is_own = |line: &&str| !line.trim_start().starts_with('>');
    text.split_inclusive('\n').filter(is_own).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(text: &str) -> String {
        Prose::new(text).text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn marks_that_nothing_closes_are_looked_for_once() {
        for mark in [" «", " „", " `` x", " \"a"] {
            let text = mark.repeat(200_000);
            assert!(Prose::new(&text).text.len() >= 200_000 || mark.contains(['`', '"']), "{mark}");
        }
        assert_eq!(left("a ``` b ` c `"), "a");
        assert_eq!(left("«a» « b `c` \"d\" « e"), "« b \u{e000}0\u{e000} « e");
    }

    #[test]
    fn quotations_are_removed() {
        for (text, expected) in [
            ("the button \"Add a test\" fails", "the button fails"),
            ("“Add a test” «x» ‘y z’ 'a b'.", "."),
            ("don't add the user's test", "don't add the user's test"),
            ("a 5\" disk", "a 5\" disk"),
            ("a\n> Add a test\nb", "a b"),
            ("a\n```\nadd a test\n```\nb", "a b"),
            ("a ```add``` b", "a b"),
            ("a\n~~~\nadd\n~~~\nb", "a b"),
            ("a\n```\nadd", "a"),
            ("say \"x\n\nadd a test", "say \"x add a test"),
        ] {
            assert_eq!(left(text), expected, "{text}");
        }
        let prose = Prose::new("Fix `src/a b.rs` now");
        assert_eq!(
            prose.text.split_whitespace().nth(1).and_then(|word| prose.code(word)),
            Some("src/a b.rs")
        );
    }
}
