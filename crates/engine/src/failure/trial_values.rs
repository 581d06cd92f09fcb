//! Comparisons and sums of known values, as bash computes them. What is not understood is unknown.

use std::collections::HashMap;

/// Whether `[ … ]` or `[[ … ]]` with known words holds.
pub(super) fn compare(words: &[String]) -> Option<bool> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let inner = match words.as_slice() {
        ["[", inner @ .., "]"] | ["[[", inner @ .., "]]"] | ["test", inner @ ..] => inner,
        _ => return None,
    };
    match inner {
        ["!", rest @ ..] => compare(
            &["test".to_owned()]
                .into_iter()
                .chain(rest.iter().map(|word| (*word).to_owned()))
                .collect::<Vec<_>>(),
        )
        .map(|holds| !holds),
        ["-n", text] => Some(!text.is_empty()),
        ["-z", text] => Some(text.is_empty()),
        [left, "=" | "==", right] => (!is_pattern(right)).then_some(left == right),
        [left, "!=", right] => (!is_pattern(right)).then_some(left != right),
        [left, operator, right] => {
            let (left, right): (i64, i64) = (left.parse().ok()?, right.parse().ok()?);
            match *operator {
                "-eq" => Some(left == right),
                "-ne" => Some(left != right),
                "-lt" => Some(left < right),
                "-le" => Some(left <= right),
                "-gt" => Some(left > right),
                "-ge" => Some(left >= right),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_pattern(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// The value of an arithmetic expression with known names: one operator, or `++`.
pub(super) fn arithmetic(text: &str, values: &mut HashMap<String, String>) -> Option<i64> {
    let text: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let read = |name: &str, values: &HashMap<String, String>| -> Option<i64> {
        let name = name.strip_prefix('$').unwrap_or(name);
        name.parse().ok().or_else(|| values.get(name)?.parse().ok())
    };
    if let Some(name) = text.strip_suffix("++") {
        let value = read(name, values)?;
        values.insert(name.to_owned(), (value + 1).to_string());
        return Some(value);
    }
    if let Some((name, more)) = text.split_once("+=") {
        let value = read(name, values)? + read(more, values)?;
        values.insert(name.to_owned(), value.to_string());
        return Some(value);
    }
    if let Some(inner) = text.strip_prefix('!') {
        return read(inner, values).map(|value| i64::from(value == 0));
    }
    for operator in ["==", "!=", ">=", "<=", ">", "<", "+", "-"] {
        let Some((left, right)) = text.split_once(operator).filter(|(left, _)| !left.is_empty()) else {
            continue;
        };
        let (left, right) = (read(left, values)?, read(right, values)?);
        return match operator {
            "==" => Some(i64::from(left == right)),
            "!=" => Some(i64::from(left != right)),
            ">=" => Some(i64::from(left >= right)),
            "<=" => Some(i64::from(left <= right)),
            ">" => Some(i64::from(left > right)),
            "<" => Some(i64::from(left < right)),
            "+" => left.checked_add(right),
            _ => left.checked_sub(right),
        };
    }
    read(&text, values)
}
