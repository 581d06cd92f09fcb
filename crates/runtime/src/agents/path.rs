//! Values inside an event, by their path: `message.text`, `items.0.name`, `items.*.name`.

use std::borrow::Cow;

use serde_json::Value;

/// The value at a path without `*`.
pub(super) fn at<'a>(event: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(event, |value, name| match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        value => value.get(name),
    })
}

/// All values at a path, in which `*` matches every item of a list and every member of an object.
pub(super) fn all<'a>(event: &'a Value, path: &str) -> Vec<&'a Value> {
    let Some((before, after)) = path.split_once(".*.") else { return at(event, path).into_iter().collect() };
    match at(event, before) {
        Some(Value::Array(items)) => items.iter().flat_map(|item| all(item, after)).collect(),
        Some(Value::Object(members)) => members.values().flat_map(|member| all(member, after)).collect(),
        _ => Vec::new(),
    }
}

/// The text at a path; the texts of a list are joined.
pub(super) fn words<'a>(event: &'a Value, path: &str) -> Option<Cow<'a, str>> {
    match at(event, path)? {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Array(items) => {
            let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            (!texts.is_empty()).then(|| Cow::Owned(texts.join("; ")))
        }
        _ => None,
    }
}

/// The sum of the whole numbers at a path; `<one>` is 1.
pub(super) fn total(event: &Value, path: &str) -> Option<u64> {
    if path == "<one>" {
        return Some(1);
    }
    let numbers = all(event, path).into_iter().filter_map(Value::as_u64);
    numbers.reduce(u64::saturating_add)
}

/// A value as text.
pub(super) fn as_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        value => Cow::Owned(value.to_string()),
    }
}

/// Whether a value is as wanted.
pub(super) fn fits(value: Option<&Value>, wanted: &str) -> bool {
    let value = value.filter(|value| !value.is_null());
    match (wanted, value) {
        ("<none>", value) => value.is_none(),
        (_, None) => false,
        ("<any>", _) => true,
        ("<text>", Some(value)) => value.is_string(),
        ("<object>", Some(value)) => value.is_object(),
        (wanted, Some(value)) => {
            let text = as_text(value);
            wanted.split('|').any(|wanted| glob(wanted, &text))
        }
    }
}

/// Whether a text fits another one in which `*` matches any letters.
fn glob(wanted: &str, text: &str) -> bool {
    let Some((start, rest)) = wanted.split_once('*') else { return wanted == text };
    let Some(text) = text.strip_prefix(start) else { return false };
    rest.is_empty() || text.char_indices().any(|(at, _)| glob(rest, &text[at..]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_found_by_path() {
        let event =
            json!({"a": {"b": ["x", {"c": 2}, {"c": 3}]}, "n": null, "t": "item.started", "ok": true});
        assert_eq!(at(&event, "a.b.0"), Some(&json!("x")));
        assert_eq!(at(&event, "a.b.9"), None);
        assert_eq!(total(&event, "a.b.*.c"), Some(5));
        assert_eq!(total(&event, "a.b"), None);
        assert_eq!(total(&event, "<one>"), Some(1));
        assert_eq!(words(&event, "a.b").as_deref(), Some("x"));
        for (path, wanted, expected) in [
            ("n", "<none>", true),
            ("n", "<any>", false),
            ("a", "<object>", true),
            ("a", "<text>", false),
            ("t", "item.*", true),
            ("t", "turn.*|item.started", true),
            ("t", "*.*", true),
            ("t", "*.x", false),
            ("ok", "true", true),
        ] {
            assert_eq!(fits(at(&event, path), wanted), expected, "{path} {wanted}");
        }
    }
}
