//! Secrets: their values are masked in everything that leaves the private run folder.
//!
//! A value is secret if its name looks like it, or if the recipe says so. Values shorter than four characters are
//! masked by name only, or half of all text would be stars. So are values that are words of the run's own, as the id
//! of a step: the commands that a message names must work as they stand.

use std::{borrow::Cow, collections::HashSet, ops::Range, sync::OnceLock};

use aho_corasick::AhoCorasick;
use engine::frame::Frame;
use recipe::{
    plan::Unit,
    value::{Map, Value},
};

/// What stands in place of a secret.
pub const MASK: &str = "[REDACTED]";

/// Parts of names that make a value secret.
const SECRET_WORDS: &[&str] = &["token", "secret", "password", "key"];

/// Shortest value that is masked wherever it stands.
const SHORTEST: usize = 4;
/// Shortest line of a secret of several lines that is masked by itself.
const SHORTEST_LINE: usize = 8;

/// Words of the program's own that messages are known by.
const OWN_WORDS: &[&str] =
    &["agent", "bash", "completed", "degraded", "failed", "pending", "recipe", "running", "skipped", "step"];

/// The secrets of a run.
#[derive(Clone, Debug, Default)]
pub struct Mask {
    names: HashSet<String>,
    values: Vec<String>,
    /// Finds all of them at once; made when it is needed, and not if it cannot be.
    finder: OnceLock<Option<AhoCorasick>>,
    /// Words that everybody may see: the names of steps and recipes.
    words: HashSet<String>,
    /// The run itself; its id may hold a secret of four digits.
    run_id: Option<String>,
}

impl Mask {
    /// A mask for these declared names.
    pub fn new(declared: impl IntoIterator<Item = String>) -> Mask {
        Mask { names: declared.into_iter().collect(), ..Mask::default() }
    }

    /// The same mask for a run: its id is shown whatever it holds.
    #[must_use]
    pub fn of_run(self, run_id: &str) -> Mask {
        Mask { run_id: Some(run_id.to_owned()), ..self }
    }

    /// Learns what a recipe declares secret, and which words are its own.
    pub fn learn_unit(&mut self, unit: &Unit) {
        self.names.extend(unit.secrets.iter().cloned());
        self.words.insert(unit.name.clone());
        self.words.extend(unit.steps.iter().map(|step| step.id.clone()));
    }

    /// Learns what a recipe that was entered knows.
    pub fn learn_frame(&mut self, frame: &Frame) {
        self.learn_unit(&frame.unit);
        self.learn(&frame.context);
    }

    /// Whether the value of this name is secret; dots lead into it. A member that is only called `key` is none: that is
    /// what the keys of all kinds of data are called.
    pub fn is_secret(&self, name: &str) -> bool {
        let lower = name.to_lowercase();
        let (root, members) = lower.split_once('.').unwrap_or((&lower, ""));
        looks_secret(root) || members.split('.').any(is_secret_member) || self.names.contains(name)
    }

    /// Learns the secret values of a context.
    pub fn learn(&mut self, context: &Map) {
        for (name, value) in context {
            self.learn_value(name, value);
        }
    }

    /// Learns the secret ones of these variables.
    pub fn learn_variables(&mut self, variables: &[(String, String)]) {
        variables.iter().for_each(|(name, value)| self.learn_value(name, &Value::from(value.as_str())));
    }

    /// Learns one value, and those inside of it. `name` is where it stands, with dots.
    pub fn learn_value(&mut self, name: &str, value: &Value) {
        if self.is_secret(name) {
            self.learn_all(value);
            return;
        }
        match value {
            Value::Map(members) => {
                members.iter().for_each(|(key, member)| self.learn_value(&format!("{name}.{key}"), member));
            }
            Value::List(items) => items.iter().for_each(|item| self.learn_value(name, item)),
            _ => {}
        }
    }

    fn learn_all(&mut self, value: &Value) {
        match value {
            Value::Map(members) => members.values().for_each(|member| self.learn_all(member)),
            Value::List(items) => items.iter().for_each(|item| self.learn_all(item)),
            Value::Null | Value::Bool(_) => {}
            scalar => self.learn_text(&scalar.render()),
        }
    }

    /// Learns a secret in every form in which it could be shown: whole, by lines, and as JSON writes it.
    fn learn_text(&mut self, text: &str) {
        // a newline at its end is the first thing that a secret loses
        let text = text.trim();
        if text.chars().count() < SHORTEST || self.words.contains(text) || OWN_WORDS.contains(&text) {
            return;
        }
        self.add(text);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        if lines.len() > 1 {
            lines.iter().filter(|line| line.chars().count() >= SHORTEST_LINE).for_each(|line| self.add(line));
        }
        let json = serde_json::Value::from(text).to_string();
        self.add(&json[1..json.len() - 1]);
        self.values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    }

    fn add(&mut self, text: &str) {
        if !self.values.iter().any(|known| known == text) {
            self.values.push(text.to_owned());
            self.finder = OnceLock::new();
        }
    }

    /// How many texts it knows; grows when it learns.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether it knows no text at all.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Where secret values stand. Those that overlap are one.
    fn places(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let finder = self.finder.get_or_init(|| AhoCorasick::new(&self.values).ok());
        let mut found: Vec<Range<usize>> = match finder {
            // the first search is several times faster, and most texts hold none
            Some(finder) if !self.is_empty() && finder.is_match(bytes) => {
                finder.find_overlapping_iter(bytes).map(|found| found.range()).collect()
            }
            Some(_) => Vec::new(),
            // too many to be looked for: nothing is shown
            None => std::iter::once(0..bytes.len()).collect(),
        };
        found.sort_unstable_by_key(|place| place.start);
        found.dedup_by(|next, place| {
            let is_inside = next.start < place.end;
            place.end = if is_inside { place.end.max(next.end) } else { place.end };
            is_inside
        });
        found
    }

    /// The bytes without secret values; bytes that are no text stay as they are.
    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let places = self.places(bytes);
        if places.is_empty() {
            return Cow::Borrowed(bytes);
        }
        Cow::Owned(replaced(bytes, places))
    }

    /// The text without secret values, and without what a quotation has cut off of one.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.run_id.as_deref().filter(|run_id| !self.is_empty() && text.contains(run_id)) {
            None => self.part(text),
            Some(run_id) => {
                let parts: Vec<Cow<'_, str>> = text.split(run_id).map(|part| self.part(part)).collect();
                Cow::Owned(parts.join(run_id))
            }
        }
    }

    fn part<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut masked = match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        };
        for value in &self.values {
            if let Some(whole) = without_parts(&masked, value) {
                masked = Cow::Owned(whole);
            }
        }
        masked
    }

    /// The value without secret values; `name` is where it stands, with dots.
    pub fn value(&self, name: &str, value: &Value) -> Value {
        match value {
            Value::Null => Value::Null,
            _ if self.is_secret(name) => Value::from(MASK),
            Value::Text(text) => match self.text(text) {
                Cow::Borrowed(_) => value.clone(),
                Cow::Owned(masked) => Value::from(masked),
            },
            Value::List(items) => Value::list(items.iter().map(|item| self.value(name, item)).collect()),
            Value::Map(members) => {
                let member = |(key, item): (&String, &Value)| {
                    (key.clone(), self.value(&format!("{name}.{key}"), item))
                };
                Value::map(members.iter().map(member).collect())
            }
            Value::Number(number) if self.values.iter().any(|secret| secret == number.as_str()) => {
                Value::from(MASK)
            }
            other => other.clone(),
        }
    }

    /// Length of the longest secret, so that streams can be cut without letting half of one through.
    pub fn longest(&self) -> usize {
        self.values.first().map_or(0, String::len)
    }
}

fn looks_secret(name: &str) -> bool {
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// Whether a member of this name, in small letters, is secret wherever it stands.
fn is_secret_member(name: &str) -> bool {
    looks_secret(name) && !matches!(name, "key" | "keys")
}

/// The bytes without the texts of members that look secret, as `"api_key": "…"`: what prints JSON does so before anybody
/// has read it.
pub fn without_members(bytes: Vec<u8>) -> Vec<u8> {
    let places = members(&bytes);
    if places.is_empty() { bytes } else { replaced(&bytes, places) }
}

/// The bytes with the mask in these places.
fn replaced(bytes: &[u8], places: Vec<Range<usize>>) -> Vec<u8> {
    let (mut masked, mut from) = (Vec::with_capacity(bytes.len()), 0);
    for place in places {
        masked.extend_from_slice(&bytes[from..place.start]);
        masked.extend_from_slice(MASK.as_bytes());
        from = place.end;
    }
    masked.extend_from_slice(&bytes[from..]);
    masked
}

/// Where the texts of members stand whose names look secret.
fn members(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut at = 0;
    while let Some(open) = position(bytes, at, b'"') {
        let Some(end) = text_end(bytes, open + 1) else { break };
        at = end + 1;
        let value = skip_space(bytes, at);
        if bytes.get(value) != Some(&b':') {
            continue;
        }
        let value = skip_space(bytes, value + 1);
        let name = String::from_utf8_lossy(&bytes[open + 1..end]).to_lowercase();
        if bytes.get(value) == Some(&b'"') {
            // a text without an end was cut, and is masked as far as it goes
            let end = text_end(bytes, value + 1).unwrap_or(bytes.len());
            at = end + 1;
            if is_secret_member(&name) && end - value > SHORTEST {
                places.push(value + 1..end);
            }
        }
    }
    places
}

fn position(bytes: &[u8], from: usize, wanted: u8) -> Option<usize> {
    bytes.get(from..)?.iter().position(|byte| *byte == wanted).map(|at| from + at)
}

fn skip_space(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Where the text that begins here ends: at a quote that is not escaped.
fn text_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        match bytes.get(at)? {
            b'"' => return Some(at),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Shortest part of a secret that is recognised beside a cut.
const SHORTEST_PART: usize = 6;

/// The text without the beginnings of a secret that stand before a cut, and the ends that stand behind one; `None` if
/// there are none. Messages are cut before anybody knows what is secret in them.
fn without_parts(text: &str, secret: &str) -> Option<String> {
    let parts = beginnings(text, secret).into_iter().chain(endings(text, secret));
    let mut parts: Vec<Range<usize>> = parts.collect();
    parts.sort_unstable_by_key(|part| part.start);
    let (mut masked, mut from) = (String::new(), 0);
    for part in parts.iter().filter(|part| part.start < part.end) {
        if part.start < from {
            continue;
        }
        masked.push_str(&text[from..part.start]);
        masked.push_str(MASK);
        from = part.end;
    }
    (from > 0).then(|| masked + &text[from..])
}

/// What a cut looks like: the end of a line or of a quotation.
fn is_cut(beside: Option<char>) -> bool {
    matches!(beside, None | Some('\n' | '`' | '…'))
}

fn beginnings(text: &str, secret: &str) -> Vec<Range<usize>> {
    let Some(first) = secret.char_indices().nth(SHORTEST_PART).map(|(at, _)| &secret[..at]) else {
        return Vec::new();
    };
    let part = |at: usize| {
        let same = text[at..].chars().zip(secret.chars()).take_while(|(a, b)| a == b);
        let end = at + same.map(|(c, _)| c.len_utf8()).sum::<usize>();
        is_cut(text[end..].chars().next()).then_some(at..end)
    };
    text.match_indices(first).filter_map(|(at, _)| part(at)).collect()
}

fn endings(text: &str, secret: &str) -> Vec<Range<usize>> {
    let Some(last) = secret.char_indices().nth_back(SHORTEST_PART - 1).map(|(at, _)| &secret[at..]) else {
        return Vec::new();
    };
    let part = |at: usize| {
        let end = at + last.len();
        let same = text[..end].chars().rev().zip(secret.chars().rev()).take_while(|(a, b)| a == b);
        let start = end - same.map(|(c, _)| c.len_utf8()).sum::<usize>();
        is_cut(text[..start].chars().next_back()).then_some(start..end)
    };
    text.match_indices(last).filter_map(|(at, _)| part(at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_name_counts_at_any_depth() {
        for json in [
            r#"{"api_token": "ListTok11"}"#,
            r#"{"cfg": {"api_token": "ListTok11"}}"#,
            r#"{"cfg": {"list": [{"api_token": "ListTok11"}]}}"#,
            r#"{"cfg": [[{"a": {"PASSWORDS": [{"x": "ListTok11"}]}}]]}"#,
        ] {
            let Ok(Value::Map(context)) = Value::from_json(json) else { panic!("a map") };
            let mut mask = Mask::default();
            mask.learn(&context);
            assert_eq!(mask.text("a ListTok11 b"), "a [REDACTED] b", "{json}");
            for (name, value) in context.iter() {
                assert!(!mask.value(name, value).to_json().contains("ListTok11"), "{json}");
            }
        }
    }

    #[test]
    fn a_declared_name_may_lead_into_a_value() {
        let json =
            r#"{"cfg": {"v": "S3cr3tV4lue!", "w": "seen"}, "list": [{"v": "L1stV4lue!"}], "v": "open"}"#;
        let Ok(Value::Map(context)) = Value::from_json(json) else { panic!("a map") };
        let mut mask = Mask::new(["cfg.v".to_owned(), "list.v".to_owned()]);
        mask.learn(&context);
        assert_eq!(mask.text("S3cr3tV4lue! L1stV4lue! seen open"), "[REDACTED] [REDACTED] seen open");
        let shown = |name: &str| mask.value(name, &context[name]).to_json();
        assert_eq!(shown("cfg"), r#"{"v":"[REDACTED]","w":"seen"}"#);
        assert_eq!(shown("list"), r#"[{"v":"[REDACTED]"}]"#);
        assert_eq!(shown("v"), r#""open""#);
    }

    #[test]
    fn what_a_quotation_leaves_of_a_secret_is_masked() {
        let mut mask = Mask::default();
        mask.learn_value("api_key", &Value::from("Zq8Wk3Lm9Xv2Rt7B"));
        for (text, expected) in [
            ("begins with `abc Zq8Wk3Lm9X`", "begins with `abc [REDACTED]`"),
            ("begins with `Zq8Wk3…`", "begins with `[REDACTED]…`"),
            ("abc Zq8Wk3Lm", "abc [REDACTED]"),
            ("last on stderr:\nv2Rt7Bbbbb", "last on stderr:\n[REDACTED]bbbb"),
            ("9Xv2Rt7B", "[REDACTED]"),
            ("Zq8Wk3 and v2Rt7B", "Zq8Wk3 and v2Rt7B"),
            ("Zq8Wk", "Zq8Wk"),
            ("Zq8Wk3Lm9Xv2Rt7B Zq8Wk3Lm\nk3Lm9Xv2Rt7B", "[REDACTED] [REDACTED]\n[REDACTED]"),
        ] {
            assert_eq!(mask.text(text), expected, "{text}");
        }
        let mut mask = Mask::default();
        mask.learn_value("api_key", &Value::from("ééééééééé"));
        assert_eq!(mask.text("éééééééé\nx"), "[REDACTED]\nx");
    }

    #[test]
    fn members_of_json_are_masked_before_anybody_has_read_it() {
        for (text, expected) in [
            (r#"{"access_token": "S3cretVal99x"}"#, r#"{"access_token": "[REDACTED]"}"#),
            (r#"{"a":1,"API_Key" :\t"ab\"cdef","b":"x"}"#, r#"{"a":1,"API_Key" :\t"[REDACTED]","b":"x"}"#),
            (r#"  "password": "long and cut"#, r#"  "password": "[REDACTED]"#),
            (r#"{"key": "value", "keys": "values"}"#, r#"{"key": "value", "keys": "values"}"#),
            (r#"{"token": "abc"}"#, r#"{"token": "abc"}"#),
            (r#"{"name": "token", "x": "y"}"#, r#"{"name": "token", "x": "y"}"#),
            (r#"{"max_tokens": 4096}"#, r#"{"max_tokens": 4096}"#),
            ("no quotes at all: token", "no quotes at all: token"),
            (r#"["token", "secret-thing"]"#, r#"["token", "secret-thing"]"#),
            (r#"a "quote"#, r#"a "quote"#),
        ] {
            let text = text.replace("\\t", "\t");
            let masked = without_members(text.as_bytes().to_vec());
            assert_eq!(String::from_utf8_lossy(&masked), expected.replace("\\t", "\t"), "{text}");
        }
    }

    #[test]
    fn a_member_called_key_is_data() {
        let mask = Mask::default();
        for (name, expected) in [
            ("key", true),
            ("out.key", false),
            ("out.keys", false),
            ("out.api_key", true),
            ("out.list.token", true),
            ("monkey.x", true),
            ("out.key.secret", true),
            ("out", false),
        ] {
            assert_eq!(mask.is_secret(name), expected, "{name}");
        }
    }

    #[test]
    fn secrets_that_overlap_are_masked_whole() {
        let mut mask = Mask::default();
        for value in ["abcd", "cdefghij", "cdef", "klmn"] {
            mask.learn_value("key", &Value::from(value));
        }
        for (text, expected) in [
            ("abcdefghij", "[REDACTED]"),
            ("xabcdefghijy", "x[REDACTED]y"),
            ("abcdabcd", "[REDACTED][REDACTED]"),
            ("cdefghijklmn", "[REDACTED][REDACTED]"),
            ("abc cdef ghij", "abc [REDACTED] ghij"),
        ] {
            assert_eq!(mask.text(text), expected, "{text}");
            assert_eq!(mask.bytes(text.as_bytes()), expected.as_bytes(), "{text}");
        }
        assert_eq!(mask.bytes(b"\xff klmn \xfe").as_ref(), b"\xff [REDACTED] \xfe");
    }

    #[test]
    fn words_of_the_run_itself_are_shown() {
        let mut mask = Mask::default().of_run("20261115-192427-2607bt6");
        mask.words.extend(["build".to_owned()]);
        for (name, value) in
            [("my_key", "2026"), ("cache_key", "build"), ("a_key", "failed"), ("pw_key", "hunter2x")]
        {
            mask.learn_value(name, &Value::from(value));
        }
        for (text, expected) in [
            ("resume 20261115-192427-2607bt6", "resume 20261115-192427-2607bt6"),
            ("2026 20261115-192427-2607bt6 2026", "[REDACTED] 20261115-192427-2607bt6 [REDACTED]"),
            ("20261115-192427-other", "[REDACTED]1115-192427-other"),
            ("build: bash step failed: hunter2x", "build: bash step failed: [REDACTED]"),
        ] {
            assert_eq!(mask.text(text), expected, "{text}");
        }
        assert_eq!(mask.value("cache_key", &Value::from("build")), Value::from(MASK));
    }

    #[test]
    fn a_secret_is_masked_without_the_space_around_it() {
        for value in ["S3cr3tV4lue!\n", "\nS3cr3tV4lue!", "  S3cr3tV4lue!\r\n"] {
            let mut mask = Mask::default();
            mask.learn_value("api_key", &Value::from(value));
            assert_eq!(mask.text("a S3cr3tV4lue! b\nc"), "a [REDACTED] b\nc", "{value:?}");
        }
        let mut mask = Mask::default();
        mask.learn_value("api_key", &Value::from(" a \n"));
        assert!(mask.is_empty(), "three characters of it are space");
    }

    #[test]
    fn secrets_are_masked_by_name_and_by_value() {
        let mut mask = Mask::new(["declared".to_owned()]);
        let context = [
            ("api_token", Value::from("s3cr3t-value")),
            ("declared", Value::from("also hidden")),
            ("PASSWORD", Value::from("abc")),
            ("plain", Value::from("seen")),
        ];
        mask.learn(&context.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect());
        for (text, expected) in [
            ("x s3cr3t-value y", "x [REDACTED] y"),
            ("also hidden", "[REDACTED]"),
            ("abc", "abc"),
            ("seen", "seen"),
        ] {
            assert_eq!(mask.text(text), expected);
        }
        assert_eq!(mask.value("PASSWORD", &Value::from("abc")), Value::from(MASK));
        assert_eq!(mask.value("plain", &Value::from("seen")), Value::from("seen"));
        assert_eq!(mask.value("monkey", &Value::from("banana")), Value::from(MASK));
    }
}
