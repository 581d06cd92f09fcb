//! The members of declared maps.
//!
//! Never guesses: only a map that nothing can replace is known to lack a key.

use super::{Comparisons, names::NameUse, undefined::no_value};
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

/// Reports a key that a declared map does not have, unless the map may get another value: `is_replaced` tells for which
/// names that is so. The map's name also covers the path's first `before` segments.
pub(super) fn missing(
    unit: &Unit,
    used: &NameUse,
    (name, before): (&str, usize),
    is_replaced: &dyn Fn(&str) -> bool,
    comparisons: &mut Comparisons,
) -> Option<Diagnostic> {
    let mut value = unit.context.get(name).filter(|_| !is_replaced(name))?;
    let mut path = name.to_owned();
    for segment in &used.path.segments[before..] {
        let (Value::Map(members), Segment::Key(key)) = (value, segment) else { return None };
        match members.get(key.as_str()) {
            Some(member) => value = member,
            None if key == "length" => return None,
            None => {
                let keys = members.keys().map(String::as_str).collect();
                return reported(used, &path, key, keys, comparisons);
            }
        }
        path = format!("{path}.{key}");
    }
    None
}

/// The report about `key`, which is not one of `keys`.
pub(super) fn reported(
    used: &NameUse,
    path: &str,
    key: &str,
    keys: Vec<&str>,
    comparisons: &mut Comparisons,
) -> Option<Diagnostic> {
    let is_allowed = comparisons.allow(keys.len());
    let meant = is_allowed.then(|| did_you_mean(key, keys.iter().copied())).flatten();
    let list: Vec<String> = keys.iter().take(12).map(|key| format!("`{key}`")).collect();
    let label = meant.map_or(no_value(used.at).to_owned(), |meant| format!("did you mean `{meant}`?"));
    let help = match (meant, list.is_empty()) {
        (Some(meant), _) => format!("did you mean `{path}.{meant}`?"),
        (None, true) => format!("declare `{key}` under `{path}`, or pass it with `--set {path}.{key}=…`"),
        (None, false) => format!("it has {}; use one of these, or declare `{key}` there", list.join(", ")),
    };
    let message = format!("nothing defines `{path}.{key}`: `{path}` has no `{key}`");
    Some(Diagnostic::new(Code::UndefinedVariable, used.place, message).label(label).help(help))
}
