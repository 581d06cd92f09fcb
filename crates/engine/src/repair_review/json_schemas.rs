//! Compares two JSON schemas: which of them allows more. Never validates a value.

use recipe::value::{Map, Value};

use super::ReviewRule;

/// How a schema has changed; the greater one decides about several changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum SchemaChange {
    Same,
    Stricter,
    /// It may allow more in one place and less in another.
    Unclear,
    Looser,
}

/// Keywords that allow and forbid nothing.
const ANNOTATIONS: [&str; 8] =
    ["$comment", "$id", "$schema", "default", "description", "examples", "readOnly", "title"];
/// Keywords with a lower bound.
const LOWER: [&str; 6] =
    ["exclusiveMinimum", "minContains", "minItems", "minLength", "minProperties", "minimum"];
/// Keywords with an upper bound.
const UPPER: [&str; 6] =
    ["exclusiveMaximum", "maxContains", "maxItems", "maxLength", "maxProperties", "maximum"];
/// Keywords with one schema.
const INNER: [&str; 4] = ["additionalProperties", "contains", "items", "propertyNames"];
/// Keywords that forbid something wherever they are added.
const FORBIDDING: [&str; 9] = [
    "additionalProperties",
    "const",
    "contains",
    "enum",
    "multipleOf",
    "pattern",
    "required",
    "type",
    "uniqueItems",
];

/// The rule for a changed schema; none if nothing has changed.
pub(super) fn review_schema(old: &Value, new: &Value) -> Option<ReviewRule> {
    if old == new {
        return None;
    }
    Some(match compare(old, new) {
        SchemaChange::Looser => ReviewRule::Loosened,
        SchemaChange::Stricter => ReviewRule::Stricter,
        SchemaChange::Same | SchemaChange::Unclear => ReviewRule::NoRule,
    })
}

fn compare(old: &Value, new: &Value) -> SchemaChange {
    match (old, new) {
        _ if old == new => SchemaChange::Same,
        (Value::Bool(false), _) => SchemaChange::Looser,
        (_, Value::Bool(false)) => SchemaChange::Stricter,
        (Value::Bool(true), Value::Map(_)) => SchemaChange::Stricter,
        (Value::Map(_), Value::Bool(true)) => SchemaChange::Looser,
        (Value::Map(old), Value::Map(new)) => compare_keywords(old, new),
        _ => SchemaChange::Unclear,
    }
}

fn compare_keywords(old: &Map, new: &Map) -> SchemaChange {
    let has = |keyword: &str| old.contains_key(keyword) || new.contains_key(keyword);
    // a listed property is exempt from these
    let is_closed = has("additionalProperties") || has("unevaluatedProperties");
    let one = |keyword: &String| match (old.get(keyword), new.get(keyword)) {
        _ if ANNOTATIONS.contains(&keyword.as_str()) => SchemaChange::Same,
        (Some(_), None) => SchemaChange::Looser,
        (None, Some(_)) => added(keyword, is_closed),
        (Some(old), Some(new)) if old != new => changed(keyword, old, new, is_closed),
        _ => SchemaChange::Same,
    };
    old.keys().chain(new.keys()).map(one).max().unwrap_or(SchemaChange::Same)
}

/// A keyword that was not there before.
fn added(keyword: &str, is_closed: bool) -> SchemaChange {
    let is_bound = [&LOWER[..], &UPPER[..], &FORBIDDING[..]].concat().contains(&keyword);
    match is_bound || (keyword == "properties" && !is_closed) {
        true => SchemaChange::Stricter,
        false => SchemaChange::Unclear,
    }
}

/// A keyword with another value.
fn changed(keyword: &str, old: &Value, new: &Value, is_closed: bool) -> SchemaChange {
    match keyword {
        "type" => allowed(&types(old), &types(new)),
        "enum" => allowed(&entries(old), &entries(new)),
        // more names are a stronger demand
        "required" => allowed(&entries(new), &entries(old)),
        "uniqueItems" if *new == Value::Bool(false) => SchemaChange::Looser,
        "uniqueItems" => SchemaChange::Stricter,
        "properties" => properties(old, new, is_closed),
        _ if LOWER.contains(&keyword) => bound(old, new),
        _ if UPPER.contains(&keyword) => bound(new, old),
        _ if INNER.contains(&keyword) => compare(old, new),
        _ => SchemaChange::Unclear,
    }
}

/// A bound that is stricter if it is greater.
fn bound(old: &Value, new: &Value) -> SchemaChange {
    let number = |value: &Value| value.render().parse::<f64>().ok();
    match (number(old), number(new)) {
        (Some(old), Some(new)) if new < old => SchemaChange::Looser,
        (Some(old), Some(new)) if new > old => SchemaChange::Stricter,
        (Some(_), Some(_)) => SchemaChange::Same,
        _ => SchemaChange::Unclear,
    }
}

/// A list of what is allowed.
fn allowed(old: &[Value], new: &[Value]) -> SchemaChange {
    let is_in = |some: &[Value], others: &[Value]| some.iter().all(|value| others.contains(value));
    match (is_in(new, old), is_in(old, new)) {
        (true, true) => SchemaChange::Same,
        (true, false) => SchemaChange::Stricter,
        (false, true) => SchemaChange::Looser,
        (false, false) => SchemaChange::Unclear,
    }
}

/// The types of a schema. Every integer is a number.
fn types(value: &Value) -> Vec<Value> {
    let mut types = entries(value);
    if types.contains(&Value::from("number")) {
        types.push(Value::from("integer"));
    }
    types
}

/// The entries of a list; a single value is a list of one.
fn entries(value: &Value) -> Vec<Value> {
    match value {
        Value::List(list) => list.iter().cloned().collect(),
        value => vec![value.clone()],
    }
}

fn properties(old: &Value, new: &Value, is_closed: bool) -> SchemaChange {
    let (Value::Map(old), Value::Map(new)) = (old, new) else { return SchemaChange::Unclear };
    let one = |name: &String| match (old.get(name), new.get(name)) {
        (Some(old), Some(new)) => compare(old, new),
        (Some(_), None) => SchemaChange::Looser,
        // where other properties are restricted, a new one may allow more
        (None, _) if is_closed => SchemaChange::Unclear,
        (None, _) => SchemaChange::Stricter,
    };
    old.keys().chain(new.keys()).map(one).max().unwrap_or(SchemaChange::Same)
}
