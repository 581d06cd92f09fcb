//! Whether a value is as a test file expects it.
//!
//! A text from a command has no type, so `3` equals the text `3`; a final line break counts only if it is expected.

use std::fmt::{self, Display};

use super::{Matcher, MatcherWords};
use crate::value::Value;

impl Matcher {
    /// Whether a value is as expected; `None` is no value.
    pub fn holds(&self, actual: Option<&Value>) -> bool {
        self.holds_for_one(&actual.into_iter().collect::<Vec<_>>())
    }

    /// Whether one of several values is as expected: for `not`, none of them is as it says.
    pub fn holds_for_one(&self, actual: &[&Value]) -> bool {
        match self {
            Matcher::Equals(Value::Null) => actual.iter().all(|value| **value == Value::Null),
            Matcher::Equals(expected) => actual.iter().any(|value| equal(expected, value)),
            Matcher::Words(words) => words.hold(actual),
        }
    }
}

impl MatcherWords {
    fn hold(&self, actual: &[&Value]) -> bool {
        let any = |holds: &dyn Fn(&Value) -> bool| actual.iter().any(|value| holds(value));
        let is_absent = actual.iter().all(|value| **value == Value::Null);
        let MatcherWords { contains: part, matches, absent, one_of, length, not } = self;
        absent.is_none_or(|absent| absent == is_absent)
            && part.as_ref().is_none_or(|part| any(&|value| contains(value, part)))
            && matches.as_ref().is_none_or(|pattern| any(&|value| fits(value, pattern)))
            && one_of.as_ref().is_none_or(|list| any(&|value| list.iter().any(|one| equal(one, value))))
            && length.as_ref().is_none_or(|length| any(&|value| length.holds(Some(&size(value)))))
            && not.as_ref().is_none_or(|not| !not.holds_for_one(actual))
    }
}

/// Whether two values are equal as far as a test file can say.
fn equal(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Null, Value::Null) => true,
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Number(a), Value::Number(b)) => a == b,
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| equal(a, b))
        }
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal(a, b)))
        }
        (Value::List(_) | Value::Map(_), _) | (_, Value::List(_) | Value::Map(_)) => false,
        (expected, actual) => {
            let (expected, actual) = (expected.render(), actual.render());
            let without_end = actual.strip_suffix('\n').filter(|_| !expected.ends_with('\n'));
            expected == actual || without_end == Some(expected.as_ref())
        }
    }
}

/// Whether a value has a part: text in a text, an item in a list, members in a map; of a list of parts, all.
fn contains(actual: &Value, part: &Value) -> bool {
    match (actual, part) {
        (_, Value::List(parts)) => parts.iter().all(|part| contains(actual, part)),
        (Value::List(items), Value::Map(_)) => items.iter().any(|item| contains(item, part)),
        (Value::List(items), part) => items.iter().any(|item| equal(part, item)),
        (Value::Map(members), Value::Map(parts)) => parts.iter().all(|(key, part)| {
            members.get(key).is_some_and(|member| match part {
                Value::Map(_) => contains(member, part),
                _ => equal(part, member),
            })
        }),
        (Value::Map(members), part) => members.contains_key(part.render().as_ref()),
        (_, Value::Map(_)) | (Value::Null, _) => false,
        (actual, part) => actual.render().contains(part.render().as_ref()),
    }
}

fn fits(actual: &Value, pattern: &str) -> bool {
    let text = actual.render();
    *actual != Value::Null && regex::Regex::new(pattern).is_ok_and(|regex| regex.is_match(&text))
}

fn size(value: &Value) -> Value {
    let size = match value {
        Value::List(items) => items.len(),
        Value::Map(members) => members.len(),
        Value::Null => 0,
        other => other.render().chars().count(),
    };
    Value::from(size as f64)
}

/// In words: `"1.2.3"`, `contains "x"`, `not (one of "a", "b")`.
impl Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            Matcher::Equals(value) => return f.write_str(&value.to_json()),
            Matcher::Words(words) => words,
        };
        let MatcherWords { contains, matches, absent, one_of, length, not } = &**words;
        let list = |values: &[Value]| values.iter().map(Value::to_json).collect::<Vec<_>>().join(", ");
        let mut parts: Vec<String> = Vec::new();
        parts.extend(contains.as_ref().map(|part| format!("contains {}", part.to_json())));
        parts.extend(matches.as_ref().map(|pattern| format!("matches /{pattern}/")));
        parts.extend(absent.map(|absent| if absent { "absent".to_owned() } else { "present".to_owned() }));
        parts.extend(one_of.as_ref().map(|values| format!("one of {}", list(values))));
        parts.extend(length.as_ref().map(|length| format!("length {length}")));
        parts.extend(not.as_ref().map(|not| format!("not ({not})")));
        f.write_str(&parts.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &str) -> Value {
        Value::from_json(json).expect("JSON")
    }

    fn words(change: impl FnOnce(&mut MatcherWords)) -> Matcher {
        let mut words = MatcherWords::default();
        change(&mut words);
        Matcher::Words(Box::new(words))
    }

    #[test]
    fn a_value_means_equality() {
        for (expected, actual, holds) in [
            ("3", "3", true),
            ("3", "3.0", true),
            ("3", r#""3""#, true),
            ("3", r#""3\n""#, true),
            (r#""3\n""#, "3", false),
            (r#""a""#, r#""a\n\n""#, false),
            ("true", r#""true""#, true),
            ("[1,2]", "[1,2]", true),
            ("[1,2]", "[2,1]", false),
            (r#"{"a":1}"#, r#"{"a":1,"b":2}"#, false),
            ("null", "null", true),
            ("null", r#""""#, false),
            (r#""""#, "null", false),
        ] {
            assert_eq!(
                Matcher::Equals(value(expected)).holds(Some(&value(actual))),
                holds,
                "{expected} {actual}"
            );
        }
        assert!(Matcher::Equals(Value::Null).holds(None));
        assert!(!Matcher::Equals(value("1")).holds(None));
    }

    #[test]
    fn every_word_of_a_matcher_has_its_meaning() {
        let contains = |part: &str| words(|words| words.contains = Some(value(part)));
        for (part, actual, holds) in [
            (r#""b""#, r#""abc""#, true),
            (r#""x""#, r#""abc""#, false),
            (r#"["a","c"]"#, r#""abc""#, true),
            (r#"["a","x"]"#, r#""abc""#, false),
            ("2", "[1,2]", true),
            ("3", "[1,2]", false),
            (r#"{"a":1}"#, r#"{"a":1,"b":2}"#, true),
            (r#"{"a":{"b":1}}"#, r#"{"a":{"b":1,"c":2}}"#, true),
            (r#"{"a":2}"#, r#"{"a":1}"#, false),
            (r#"{"a":1}"#, r#"[{"a":1,"b":2}]"#, true),
            (r#""a""#, r#"{"a":1}"#, true),
        ] {
            assert_eq!(contains(part).holds(Some(&value(actual))), holds, "{part} {actual}");
        }
        let absent = |wanted| words(|words| words.absent = Some(wanted));
        assert!(absent(true).holds(None) && !absent(false).holds(None));
        assert!(!absent(true).holds(Some(&value("1"))) && absent(false).holds(Some(&value("1"))));
        let matches = words(|words| words.matches = Some("^a.c$".to_owned()));
        assert!(matches.holds(Some(&value(r#""abc""#))) && !matches.holds(Some(&value(r#""xabc""#))));
        let one_of = words(|words| words.one_of = Some(vec![value("1"), value(r#""b""#)]));
        assert!(
            one_of.holds(Some(&value(r#""b""#))) && !one_of.holds(Some(&value("2"))) && !one_of.holds(None)
        );
        let length = words(|words| words.length = Some(Matcher::Equals(value("2"))));
        assert!(length.holds(Some(&value("[1,2]"))) && length.holds(Some(&value(r#""äb""#))));
        assert!(!length.holds(Some(&value("[]"))));
        let not = words(|words| words.not = Some(contains(r#""b""#)));
        assert!(not.holds(Some(&value(r#""a""#))) && !not.holds(Some(&value(r#""b""#))));
        assert_eq!(not.to_string(), r#"not (contains "b")"#);
    }

    #[test]
    fn one_of_several_values_is_enough_and_none_may_be_what_not_says() {
        let (a, b) = (value(r#""a""#), value(r#""b""#));
        let both = [&a, &b];
        let equals = Matcher::Equals(value(r#""b""#));
        assert!(equals.holds_for_one(&both));
        assert!(!words(|words| words.not = Some(equals)).holds_for_one(&both));
    }
}
