//! Dotted names that are given a value: `a.b` means the member `b` of `a` where that is a map.
//!
//! Never turns another value into a map: then the dotted name is a separate name.

use crate::value::{Map, Value};

/// Gives a name its value in `values`, which override `defaults`.
pub fn place(values: &mut Map, defaults: &Map, name: &str, value: &Value) {
    let is_own = values.contains_key(name) || defaults.contains_key(name);
    let owner = owner_of(name, |owner| match values.get(owner).or_else(|| defaults.get(owner)) {
        Some(Value::Map(members)) => Some(Map::clone(members)),
        _ => None,
    });
    match owner.filter(|_| !is_own) {
        Some((owner, mut members, path)) => {
            place(&mut members, &Map::new(), path, value);
            values.insert(owner.to_owned(), Value::map(members));
        }
        None => drop(values.insert(name.to_owned(), value.clone())),
    }
}

/// Adds several names over others, dotted ones last: the maps that they change must exist.
pub fn place_all(values: &mut Map, defaults: &Map, names: impl IntoIterator<Item = (String, Value)>) {
    let (dotted, plain): (Vec<_>, Vec<_>) = names.into_iter().partition(|(name, _)| name.contains('.'));
    for (name, value) in plain.into_iter().chain(dotted) {
        place(values, defaults, &name, &value);
    }
}

/// The name whose value contains the value given to `name`: itself, or the map of which it is a member.
pub fn holder<'n>(values: &Map, name: &'n str) -> &'n str {
    let is_map = |owner: &str| matches!(values.get(owner), Some(Value::Map(_))).then_some(());
    match owner_of(name, is_map) {
        Some((owner, ..)) if !values.contains_key(name) => owner,
        _ => name,
    }
}

/// The longest beginning of a dotted name for which there is something, with that and the rest of the name.
fn owner_of<T>(name: &str, find: impl Fn(&str) -> Option<T>) -> Option<(&str, T, &str)> {
    name.rmatch_indices('.').find_map(|(at, _)| Some((&name[..at], find(&name[..at])?, &name[at + 1..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(json: &str) -> Map {
        let Ok(Value::Map(map)) = Value::from_json(json) else { panic!("{json}") };
        Map::clone(&map)
    }

    #[test]
    fn a_dotted_name_changes_the_member_of_a_map() {
        for (values, defaults, given, expected, holder_of) in [
            ("{}", r#"{"a": {"b": 1, "c": 2}}"#, "a.b", r#"{"a":{"b":9,"c":2}}"#, "a"),
            (r#"{"a": {"b": 1}}"#, r#"{"a": {"x": 1}}"#, "a.b", r#"{"a":{"b":9}}"#, "a"),
            (r#"{"a": {}}"#, "{}", "a.new", r#"{"a":{"new":9}}"#, "a"),
            (r#"{"a": {"b": {"c": 1}}}"#, "{}", "a.b.c", r#"{"a":{"b":{"c":9}}}"#, "a"),
            (r#"{"a": {"b.c": 1}}"#, "{}", "a.b.c", r#"{"a":{"b.c":9}}"#, "a"),
            (r#"{"a.b": {"c": 1}}"#, "{}", "a.b.c", r#"{"a.b":{"c":9}}"#, "a.b"),
            (r#"{"a": {}, "a.b": {"c": 1}}"#, "{}", "a.b.c", r#"{"a":{},"a.b":{"c":9}}"#, "a.b"),
            // nothing to change, or a separate name
            ("{}", "{}", "a.b", r#"{"a.b":9}"#, "a.b"),
            (r#"{"a": "text"}"#, "{}", "a.b", r#"{"a":"text","a.b":9}"#, "a.b"),
            (r#"{"a": {"x": 1}, "a.b": 1}"#, "{}", "a.b", r#"{"a":{"x":1},"a.b":9}"#, "a.b"),
            ("{}", r#"{"a": {"x": 1}, "a.b": 1}"#, "a.b", r#"{"a.b":9}"#, "a.b"),
            ("{}", r#"{"a": {}}"#, "a", r#"{"a":9}"#, "a"),
        ] {
            let mut placed = map(values);
            place(&mut placed, &map(defaults), given, &Value::from(9.0));
            assert_eq!(Value::map(placed.clone()).to_json(), expected, "{given} in {values}, {defaults}");
            assert_eq!(holder(&placed, given), holder_of, "{given} in {expected}");
        }
    }

    #[test]
    fn maps_come_before_their_members() {
        let mut values = Map::new();
        place_all(&mut values, &Map::new(), map(r#"{"a.b": 9, "a": {"b": 1, "c": 2}}"#));
        assert_eq!(Value::map(values).to_json(), r#"{"a":{"b":9,"c":2}}"#);
    }
}
