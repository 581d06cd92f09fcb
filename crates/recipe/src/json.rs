//! Finds the JSON in a text that people or programs wrote around it.
//!
//! Never changes its input, and never takes longer than a fixed number of passes over the text.

use std::ops::Range;

use crate::value::Value;

/// The deepest nesting of JSON; beyond that the parser refuses it.
const MAX_DEPTH: usize = 127;

/// The JSON value of `text`: the whole of it; else the content of a Markdown fence, one that is
/// labelled `json` before one without a label; else the first `{…}` or `[…]` that is balanced and valid.
pub fn extract(text: &str) -> Option<Value> {
    parse(text).or_else(|| from_fences(text)).or_else(|| from_brackets(text))
}

/// The last JSON object of `text`: the whole of it; else the last one in a fence that is labelled `json`; else in another
/// fence; else in the text. Outside those labelled fences an empty object does not count: it is more likely to be code.
pub fn last_object(text: &str) -> Option<Value> {
    if let Some(whole @ Value::Map(_)) = parse(text) {
        return Some(whole);
    }
    let (labelled, others): (Vec<Fence<'_>>, Vec<Fence<'_>>) =
        fences(text).into_iter().partition(|fence| fence.label.eq_ignore_ascii_case("json"));
    let last = |text: &str| objects(text).pop().map(|(_, object)| object);
    let last_filled = |text: &str| {
        let is_filled = |object: &Value| !matches!(object, Value::Map(members) if members.is_empty());
        objects(text).into_iter().map(|(_, object)| object).rfind(is_filled)
    };
    let labelled = labelled.iter().rev().find_map(|fence| last(fence.content));
    let others = || others.iter().rev().find_map(|fence| last_filled(fence.content));
    labelled.or_else(others).or_else(|| last_filled(text))
}

/// All JSON objects of `text` that are not inside another one, with their places, in their order.
pub fn objects(text: &str) -> Vec<(Range<usize>, Value)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(at) = bytes.get(start..).and_then(|rest| rest.iter().position(|byte| *byte == b'{')) {
        let open = start + at;
        start = match block(bytes, open) {
            Block::Closed(end) => match text.get(open..end).and_then(parse) {
                Some(value) => {
                    found.push((open..end, value));
                    end
                }
                None => open + 1,
            },
            Block::TooDeep(end) => end.max(open + 1),
            Block::Broken => open + 1,
        };
    }
    found
}

fn parse(text: &str) -> Option<Value> {
    let text = text.trim();
    Value::from_json(text.strip_prefix('\u{feff}').unwrap_or(text)).ok()
}

/// A fenced block: the word after the opening backticks, and its content.
struct Fence<'a> {
    label: &'a str,
    content: &'a str,
}

fn from_fences(text: &str) -> Option<Value> {
    let fences = fences(text);
    let labelled = |wanted: &str| {
        let mut matching = fences.iter().filter(|fence| fence.label.eq_ignore_ascii_case(wanted));
        matching.find_map(|fence| parse(fence.content))
    };
    labelled("json").or_else(|| labelled(""))
}

/// The fenced blocks of a text, in their order. One that is not closed ends with the text.
fn fences(text: &str) -> Vec<Fence<'_>> {
    let mut found = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        match open {
            Some((label, from)) => {
                if let Some(end) = closing(line) {
                    found.push(Fence { label, content: text.get(from..start + end).unwrap_or_default() });
                    open = None;
                }
            }
            None => {
                if let Some((label, from)) = opening(line) {
                    let rest = line.get(from..).unwrap_or_default();
                    match rest.find("```") {
                        Some(end) => {
                            found.push(Fence { label, content: rest.get(..end).unwrap_or_default() })
                        }
                        None => open = Some((label, start + from)),
                    }
                }
            }
        }
        start += line.len();
    }
    found.extend(open.map(|(label, from)| Fence { label, content: text.get(from..).unwrap_or_default() }));
    found
}

/// The label of the fence that `line` opens, and where its content starts. Backticks in the middle of
/// a line open a fence only with the label `json`: otherwise they are likely to be prose.
fn opening(line: &str) -> Option<(&str, usize)> {
    let backticks = if line.trim_start().starts_with("```") { "```" } else { "```json" };
    let after = line.get(line.find(backticks)?..)?.trim_start_matches('`');
    let blanks = after.len() - after.trim_start_matches([' ', '\t']).len();
    let named = after.get(blanks..)?;
    let length = named.find(|c: char| !c.is_alphanumeric() && !"_-+.".contains(c)).unwrap_or(named.len());
    let label = named.get(..length)?;
    // `42` after the backticks is content, not a label
    let label = if label.starts_with(|c: char| c.is_ascii_digit() || c == '-') { "" } else { label };
    Some((label, line.len() - named.len() + label.len()))
}

/// Where the content ends in a line that closes a fence.
fn closing(line: &str) -> Option<usize> {
    if line.trim_start().starts_with("```") {
        return Some(0);
    }
    line.trim_end().strip_suffix("```").map(str::len)
}

fn from_brackets(text: &str) -> Option<Value> {
    let bytes = text.as_bytes();
    let mut start = 0;
    loop {
        let open = start + bytes.get(start..)?.iter().position(|byte| matches!(byte, b'{' | b'['))?;
        start = match block(bytes, open) {
            Block::Closed(end) => match parse(text.get(open..end)?) {
                Some(value) => return Some(value),
                None => open + 1,
            },
            Block::TooDeep(end) => end,
            Block::Broken => open + 1,
        };
    }
}

/// The text from an opening bracket on.
enum Block {
    /// Balanced, up to here.
    Closed(usize),
    /// Nested too deeply; it ends here.
    TooDeep(usize),
    /// Not JSON: a bracket does not match, or is at a wrong place.
    Broken,
}

/// Follows a block to its end. Strings and brackets are accepted only where JSON allows them, so that the same text is
/// not scanned again and again.
fn block(bytes: &[u8], open: usize) -> Block {
    let mut stack = [0u8; MAX_DEPTH];
    let (mut depth, mut deepest) = (0, 0);
    let mut before = b',';
    let mut at = open;
    while let Some(&byte) = bytes.get(at) {
        let may_start = matches!(before, b'[' | b'{' | b',' | b':');
        match byte {
            b'"' | b'{' | b'[' if !may_start => return broken(deepest, at),
            b'"' => match end_of_string(bytes, at) {
                Some(end) => at = end,
                None => return broken(deepest, at),
            },
            b'{' | b'[' => {
                if let Some(slot) = stack.get_mut(depth) {
                    *slot = byte + 2;
                }
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => {
                depth -= 1;
                if stack.get(depth).is_some_and(|close| *close != byte) {
                    return broken(deepest, at);
                }
                if depth == 0 {
                    return if deepest > MAX_DEPTH { Block::TooDeep(at) } else { Block::Closed(at + 1) };
                }
            }
            _ => {}
        }
        if !byte.is_ascii_whitespace() {
            before = byte;
        }
        at += 1;
    }
    broken(deepest, at)
}

/// A block that breaks off at `at`; if it is too deep, its inner blocks are not worth a look either.
fn broken(deepest: usize, at: usize) -> Block {
    if deepest > MAX_DEPTH { Block::TooDeep(at) } else { Block::Broken }
}

/// The closing quote of the string that starts at `open`.
fn end_of_string(bytes: &[u8], open: usize) -> Option<usize> {
    let mut at = open + 1;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, expected: &str) {
        let found = extract(text).map_or("-".to_owned(), |value| value.to_json());
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn the_whole_text_comes_first() {
        for (text, expected) in [
            (r#"{"a":1}"#, r#"{"a":1}"#),
            ("  [1, 2]\n", "[1,2]"),
            ("42", "42"),
            ("3.10", "3.10"),
            (r#" "x" "#, r#""x""#),
            ("true", "true"),
            ("null\n", "null"),
            ("\u{feff}{\"a\":1}", r#"{"a":1}"#),
            (r#"{"a":"```json\n[1]\n```"}"#, r#"{"a":"```json\n[1]\n```"}"#),
            ("", "-"),
            ("plain words", "-"),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn fences_come_second() {
        for (text, expected) in [
            ("Here:\n```json\n{\"a\":1}\n```\nthanks", r#"{"a":1}"#),
            ("[0]\n```json\n{\"a\":1}\n```", r#"{"a":1}"#),
            ("```\n[1]\n```\n```json\n[2]\n```", "[2]"),
            ("```json\nnot json\n```\n```json\n[2]\n```", "[2]"),
            ("```json\nnot json\n```\n```\n[3]\n```", "[3]"),
            ("```rust\n[1]\n```\n```\n[2]\n```", "[2]"),
            ("```JSON\r\n[1]\r\n```", "[1]"),
            ("``` json\n[1]\n```", "[1]"),
            ("````json\n[1]\n````", "[1]"),
            ("  ```json\n  {\"a\": 1}\n  ```", r#"{"a":1}"#),
            ("```json {\"a\":1}```", r#"{"a":1}"#),
            ("see ```json {\"a\":1}``` there", r#"{"a":1}"#),
            ("```json\n{\"a\":1}```", r#"{"a":1}"#),
            ("```json\n{\"a\":1}", r#"{"a":1}"#),
            ("```json\n\"text\"\n```", r#""text""#),
            ("```\n42\n```", "42"),
            ("use ``` for code\n```json\n[1]\n```", "[1]"),
            ("```json\n{\"code\": \"```\"}\n```", r#"{"code":"```"}"#),
            ("```json\n```\n[7]", "[7]"),
            ("```jsonc\n// c\n[1]\n```", "[1]"),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn brackets_come_third() {
        for (text, expected) in [
            (r#"The answer is {"a": [1, {"b": "}"}]} as you see."#, r#"{"a":[1,{"b":"}"}]}"#),
            (r#"x [1] {"a":1}"#, "[1]"),
            (r#"x {not json} [2]"#, "[2]"),
            (r#"{a: [1]}"#, "[1]"),
            (r#"say "hi {" then {"a":"\"}"}"#, r#"{"a":"\"}"}"#),
            (r#"it's odd " {"a":1}"#, r#"{"a":1}"#),
            ("\u{1b}[31mred\u{1b}[0m {\"a\":1}", r#"{"a":1}"#),
            ("[INFO] done [1,2]", "[1,2]"),
            (r#"{"a":1"#, "-"),
            (r#"{"a":[1}"#, "-"),
            (r#"[[1], [2"#, "[1]"),
            ("]}{[", "-"),
            (r#"{"a": 1,} {"b": 2}"#, r#"{"b":2}"#),
            ("ü {\"ü\":\"€\"} ü", r#"{"ü":"€"}"#),
            ("{\"a\":\"line\nbreak\"} [1]", "[1]"),
        ] {
            check(text, expected);
        }
    }

    #[test]
    fn the_last_object_is_found() {
        for (text, expected) in [
            (r#"{"a":1}"#, r#"{"a":1}"#),
            (r#"{"a":1} then {"b":{"c":2}} end"#, r#"{"b":{"c":2}}"#),
            ("```json\n{\"a\":1}\n```\n{\"b\":2}", r#"{"a":1}"#),
            ("```json\n{\"a\":1}\n```\n```json\n{\"b\":2}\n```\n```\n{\"c\":3}\n```", r#"{"b":2}"#),
            ("```\n{\"c\":3}\n```\n{\"b\":2}", r#"{"c":3}"#),
            ("```json\nnot json\n```\n```\n{\"c\":3}\n```", r#"{"c":3}"#),
            ("```json\n[1]\n```\nsee {\"d\":4}", r#"{"d":4}"#),
            ("```rust\nfn a() {}\n```\n{\"d\":4}", r#"{"d":4}"#),
            (r#"{"a":"```json\n{}\n```"}"#, r#"{"a":"```json\n{}\n```"}"#),
            (r#"[{"a":1},{"b":2}]"#, r#"{"b":2}"#),
            (r#"{"a":1} {broken"#, r#"{"a":1}"#),
            ("[1]", "-"),
            ("", "-"),
        ] {
            let found = last_object(text).map_or("-".to_owned(), |value| value.to_json());
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn hostile_texts_take_no_time() {
        let million = 1_000_000;
        for text in [
            "[".repeat(million),
            "{".repeat(million),
            "{\"a\":".repeat(million / 5),
            "[\"".repeat(million / 2),
            "[\",".repeat(million / 3),
            "[1,".repeat(million / 3),
            "[\\\"".repeat(million / 3),
            "```json\n".repeat(million / 8),
            "a ``` b\n".repeat(million / 8),
            format!("{}{}", "[".repeat(million / 2), "]".repeat(million / 2)),
            format!("x {}1{}", "[".repeat(200), "]".repeat(200)),
            format!("x {}1{}", "{\"a\":".repeat(200), "}".repeat(200)),
        ] {
            assert_eq!(extract(&text), None);
            assert_eq!(last_object(&text), None);
        }
        let deepest = format!("x {}1{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        assert!(extract(&deepest).is_some());
    }

    proptest! {
        #[test]
        fn never_panics(text in r#"([\[\]{}",:\\`\n ]|```json|ü|1|true|"a":){0,60}"#) {
            let _ = extract(&text);
            let _ = last_object(&text);
        }

        #[test]
        fn finds_what_is_wrapped(number in any::<i64>(), key in "[a-zü\" \\\\{}]{0,8}", prose in "[a-z .]{0,20}") {
            let value = serde_json::json!({ key: [number, {"x": "]}"}] });
            let expected = Some(Value::from(value.clone()));
            prop_assert_eq!(extract(&format!("{prose}{value}{prose}")), expected.clone());
            prop_assert_eq!(extract(&format!("{prose}\n```json\n{value:#}\n```\n{prose}")), expected);
        }
    }
}
