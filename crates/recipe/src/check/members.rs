//! What stands inside of declared maps.
//!
//! Never guesses: only a map that nothing can replace is known to lack a key.

use std::collections::{BTreeSet, HashMap};

use super::names::{Use, Where};
use crate::{
    diagnostic::{Code, Diagnostic, did_you_mean},
    plan::Unit,
    value::{Segment, Value},
};

/// The dotted names of everything inside a declared map.
pub(super) fn member_names(name: &str, value: &Value) -> Vec<String> {
    let Value::Map(members) = value else { return Vec::new() };
    let mut names = Vec::new();
    for (key, member) in members.iter() {
        let full = format!("{name}.{key}");
        names.extend(member_names(&full, member));
        names.push(full);
    }
    names
}

/// Reports a key that a declared map does not have, if nobody can give the map another value. `replaced` are names
/// that steps assign; the map's name stands for the path's first `before` segments, too.
pub(super) fn missing(
    unit: &Unit,
    used: &Use,
    (name, before): (&str, usize),
    outside: &BTreeSet<&str>,
    replaced: &HashMap<&str, usize>,
) -> Option<Diagnostic> {
    if outside.contains(name) || replaced.contains_key(name) {
        return None;
    }
    let mut value = unit.context.get(name)?;
    let mut path = name.to_owned();
    for segment in &used.path.segments[before..] {
        let (Value::Map(members), Segment::Key(key)) = (value, segment) else { return None };
        match members.get(key.as_str()) {
            Some(member) => value = member,
            None if key == "length" => return None,
            None => return told(used, &path, key, members.keys().map(String::as_str).collect()),
        }
        path = format!("{path}.{key}");
    }
    None
}

pub(super) fn told(used: &Use, path: &str, key: &str, keys: Vec<&str>) -> Option<Diagnostic> {
    let meant = did_you_mean(key, keys.iter().copied());
    // a key that may be missing is a pattern of conditions, too
    if matches!(used.at, Where::Condition(_)) && meant.is_none() {
        return None;
    }
    let list: Vec<String> = keys.iter().take(12).map(|key| format!("`{key}`")).collect();
    let label = meant.map_or("renders as empty text".to_owned(), |meant| format!("did you mean `{meant}`?"));
    let help = match (meant, list.is_empty()) {
        (Some(meant), _) => format!("did you mean `{path}.{meant}`?"),
        (None, true) => format!("declare `{key}` under `{path}`, or pass it with `--set {path}.{key}=…`"),
        (None, false) => format!("it has {}; declare `{key}` there if it is meant", list.join(", ")),
    };
    let message = format!("nothing defines `{path}.{key}`: `{path}` has no `{key}`");
    Some(Diagnostic::new(Code::UndefinedVariable, used.place, message).label(label).help(help))
}
