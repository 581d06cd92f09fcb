//! The smallest value that satisfies a JSON Schema. Never guesses: what it finds was checked against the schema.

use recipe::value::Value;
use serde_json::{Map, Value as Json, json};

use crate::steps::shell::json_schema;

/// How deep schemas may refer to each other.
const DEEPEST: usize = 12;
/// The most values that are tried for one schema.
const MOST: usize = 64;

/// The smallest value that satisfies a schema.
pub(super) fn smallest(schema: &Value) -> Result<Json, String> {
    let root = serde_json::to_value(schema).unwrap_or_default();
    let mut why = "it allows no value that can be built from it".to_owned();
    for candidate in (ValueSearch { root: &root }).values(&root, 0) {
        let text = candidate.to_string();
        match Value::from_json(&text)
            .map_err(|error| error.to_string())
            .and_then(|v| json_schema::check(schema, &v))
        {
            Ok(()) => return Ok(candidate),
            Err(problem) => why = problem,
        }
    }
    Err(why)
}

struct ValueSearch<'a> {
    root: &'a Json,
}

impl ValueSearch<'_> {
    /// Values that may satisfy a schema, the smallest first.
    fn values(&self, schema: &Json, depth: usize) -> Vec<Json> {
        let Some(schema) = schema.as_object().filter(|_| depth < DEEPEST) else { return plain() };
        if let Some(value) = schema.get("const") {
            return vec![value.clone()];
        }
        if let Some(Json::Array(values)) = schema.get("enum") {
            let mut values = values.clone();
            values.sort_by_key(|value| value.to_string().len());
            return values;
        }
        let mut found = Vec::new();
        for part in self.alternatives(schema, depth) {
            found.extend(self.typed(&part, depth));
        }
        found.truncate(MOST);
        found
    }

    /// The schema with everything that it refers to or combines, once for each way to satisfy it.
    fn alternatives(&self, schema: &Map<String, Json>, depth: usize) -> Vec<Map<String, Json>> {
        let mut own = schema.clone();
        if let Some(Json::String(place)) = own.remove("$ref") {
            let target = place.strip_prefix('#').and_then(|place| self.root.pointer(place));
            merge(&mut own, target);
            if depth < DEEPEST && own.contains_key("$ref") {
                return self.alternatives(&own, depth + 1);
            }
        }
        if let Some(Json::Array(all)) = own.remove("allOf") {
            all.iter().for_each(|part| merge(&mut own, Some(part)));
        }
        let choices = ["anyOf", "oneOf"].iter().find_map(|word| own.remove(*word));
        match choices {
            Some(Json::Array(choices)) if depth < DEEPEST => {
                let with = |choice: &Json| {
                    let mut one = own.clone();
                    merge(&mut one, Some(choice));
                    self.alternatives(&one, depth + 1)
                };
                choices.iter().flat_map(with).collect()
            }
            _ => vec![own],
        }
    }

    fn typed(&self, schema: &Map<String, Json>, depth: usize) -> Vec<Json> {
        if schema.contains_key("const") || schema.contains_key("enum") {
            return self.values(&Json::Object(schema.clone()), depth + 1);
        }
        let types: Vec<&str> = match schema.get("type") {
            Some(Json::String(one)) => vec![one],
            Some(Json::Array(several)) => several.iter().filter_map(Json::as_str).collect(),
            _ if schema.contains_key("properties") || schema.contains_key("required") => vec!["object"],
            _ if schema.contains_key("items") || schema.contains_key("minItems") => vec!["array"],
            _ if schema.contains_key("minLength") || schema.contains_key("pattern") => vec!["string"],
            _ if schema.contains_key("minimum") || schema.contains_key("maximum") => vec!["number"],
            _ => return plain(),
        };
        types.into_iter().flat_map(|kind| self.of_type(kind, schema, depth)).collect()
    }

    fn of_type(&self, kind: &str, schema: &Map<String, Json>, depth: usize) -> Vec<Json> {
        let number = |word: &str| schema.get(word).and_then(Json::as_f64);
        let count =
            |word: &str| schema.get(word).and_then(Json::as_u64).and_then(|n| usize::try_from(n).ok());
        match kind {
            "null" => vec![Json::Null],
            "boolean" => vec![json!(false), json!(true)],
            "integer" | "number" => numbers(number, kind == "integer"),
            "string" => {
                let least = count("minLength").unwrap_or(0).min(100_000);
                ["x", "a", "A", "0", "1"].iter().map(|letter| Json::from(letter.repeat(least))).collect()
            }
            "array" => self.arrays(schema, count("minItems").unwrap_or(0).min(10_000), depth),
            "object" => vec![self.object(schema, count("minProperties").unwrap_or(0), depth)],
            _ => Vec::new(),
        }
    }

    fn arrays(&self, schema: &Map<String, Json>, least: usize, depth: usize) -> Vec<Json> {
        let first = schema.get("prefixItems").and_then(Json::as_array).cloned().unwrap_or_default();
        let rest = schema.get("items").cloned().unwrap_or(Json::Bool(true));
        let is_unique = schema.get("uniqueItems") == Some(&Json::Bool(true));
        let mut items: Vec<Json> = Vec::new();
        for at in 0..least {
            let schema = first.get(at).unwrap_or(&rest);
            let values =
                self.values(schema, depth + 1).into_iter().filter(|value| self.allows(schema, value));
            let found = values.into_iter().find(|value| !is_unique || !items.contains(value));
            // numbers are easy to tell apart
            items.push(found.unwrap_or_else(|| Json::from(at)));
        }
        let wanted = schema.get("contains").map(|wanted| self.values(wanted, depth + 1));
        let mut found = vec![Json::Array(items.clone())];
        for value in wanted.into_iter().flatten() {
            let kept = items.iter().skip(1).cloned();
            found.push(Json::Array([value].into_iter().chain(kept).collect()));
        }
        found
    }

    fn object(&self, schema: &Map<String, Json>, least: usize, depth: usize) -> Json {
        let known = schema.get("properties").and_then(Json::as_object);
        let required = schema.get("required").and_then(Json::as_array);
        let mut names: Vec<String> =
            required.into_iter().flatten().filter_map(Json::as_str).map(str::to_owned).collect();
        let more = known.into_iter().flat_map(Map::keys).cloned().chain((0..).map(|at| format!("x{at}")));
        for name in more.take(least + names.len() + known.map_or(0, Map::len)) {
            if names.len() >= least {
                break;
            }
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let anything = schema.get("additionalProperties").cloned().unwrap_or(Json::Bool(true));
        let value = |name: &String| {
            let schema = known.and_then(|known| known.get(name)).unwrap_or(&anything);
            let values = self.values(schema, depth + 1);
            values.into_iter().find(|value| self.allows(schema, value)).unwrap_or(Json::Null)
        };
        Json::Object(names.iter().map(|name| (name.clone(), value(name))).collect())
    }
}

impl ValueSearch<'_> {
    /// Whether a part of the schema allows a value. A part that refers to others by place cannot be asked alone.
    fn allows(&self, schema: &Json, value: &Json) -> bool {
        let mut schema = schema.clone();
        for word in ["$defs", "definitions"] {
            if let (Some(part), Some(shared)) = (schema.as_object_mut(), self.root.get(word)) {
                part.entry(word).or_insert_with(|| shared.clone());
            }
        }
        jsonschema::validator_for(&schema).map_or(true, |schema| schema.is_valid(value))
    }
}

/// The smallest values of all types.
fn plain() -> Vec<Json> {
    vec![json!({}), json!([]), json!(""), json!(0), json!(false), Json::Null]
}

/// Numbers near the limits.
fn numbers(limit: impl Fn(&str) -> Option<f64>, is_whole: bool) -> Vec<Json> {
    let step = limit("multipleOf").filter(|step| *step > 0.0).unwrap_or(1.0);
    let mut tried = vec![0.0];
    for (word, direction) in
        [("minimum", 1.0), ("exclusiveMinimum", 1.0), ("maximum", -1.0), ("exclusiveMaximum", -1.0)]
    {
        let Some(bound) = limit(word) else { continue };
        let near = if direction > 0.0 { (bound / step).ceil() } else { (bound / step).floor() } * step;
        tried.extend([near, near + direction * step]);
        if !is_whole {
            tried.extend([bound, bound + direction * 0.5]);
        }
    }
    let shown = |number: f64| match number.fract() == 0.0 && number.abs() < 1e15 {
        true => Json::from(number as i64),
        false => Json::from(number),
    };
    tried.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
    tried.into_iter().map(shown).collect()
}

/// Adds another schema: members of `properties` and `required` are joined, everything else replaces.
fn merge(own: &mut Map<String, Json>, other: Option<&Json>) {
    for (word, value) in other.and_then(Json::as_object).into_iter().flatten() {
        match (own.get_mut(word), value) {
            (Some(Json::Object(known)), Json::Object(more)) if word == "properties" => {
                known.extend(more.iter().map(|(name, schema)| (name.clone(), schema.clone())));
            }
            (Some(Json::Array(known)), Json::Array(more)) if word == "required" => {
                known.extend(more.iter().cloned());
            }
            _ => _ = own.insert(word.clone(), value.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_value_satisfies_its_schema() {
        for (schema, expected) in [
            (json!({"type": "object"}), json!({})),
            (json!({"type": "string"}), json!("")),
            (json!({"type": "string", "minLength": 3}), json!("xxx")),
            (json!({"type": "integer", "minimum": 3}), json!(3)),
            (json!({"type": "integer", "exclusiveMinimum": 3, "multipleOf": 5}), json!(5)),
            (json!({"type": "number", "maximum": -0.5}), json!(-0.5)),
            (json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1}), json!(0.5)),
            (json!({"enum": ["FINDINGS", "NONE"]}), json!("NONE")),
            (json!({"const": 7}), json!(7)),
            (json!({"type": ["string", "null"]}), json!("")),
            (json!({"type": "array", "items": {"type": "integer"}, "minItems": 2}), json!([0, 0])),
            (
                json!({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2, "uniqueItems": true}),
                json!(["a", "b"]),
            ),
            (
                json!({"required": ["verdict", "findings"], "properties": {
                    "verdict": {"enum": ["FINDINGS", "NO_ISSUES_FOUND"]},
                    "findings": {"type": "array", "items": {"type": "string"}}, "more": {"type": "string"}}}),
                json!({"verdict": "FINDINGS", "findings": []}),
            ),
            (json!({"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]}), json!("x")),
            (
                json!({"allOf": [{"type": "object", "required": ["a"]}, {"required": ["b"]}]}),
                json!({"a": {}, "b": {}}),
            ),
            (
                json!({"$ref": "#/$defs/one", "$defs": {"one": {"type": "object", "required": ["n"],
                    "properties": {"n": {"$ref": "#/$defs/two"}}}, "two": {"type": "boolean"}}}),
                json!({"n": false}),
            ),
            (json!({"type": "object", "minProperties": 1}), json!({"x0": {}})),
            (
                json!({"type": "object", "required": ["n", "l"], "properties": {"n": {"type": "integer", "minimum": 3},
                    "l": {"type": "array", "minItems": 1, "items": {"type": "number", "exclusiveMinimum": 1}}}}),
                json!({"n": 3, "l": [1.5]}),
            ),
            (json!({"type": "string", "pattern": "^A$", "minLength": 1}), json!("A")),
            (json!({"not": {"type": "object"}}), json!([])),
        ] {
            let schema = Value::from_json(&schema.to_string()).unwrap();
            assert_eq!(smallest(&schema).unwrap(), expected, "{}", schema.to_json());
        }
    }

    #[test]
    fn a_schema_without_a_value_is_told() {
        for schema in [
            json!({"type": "string", "pattern": "^[0-9a-f]{8}-x$"}),
            json!({"type": "integer", "minimum": 3, "maximum": 2}),
            json!({"enum": []}),
        ] {
            let schema = Value::from_json(&schema.to_string()).unwrap();
            assert!(smallest(&schema).is_err(), "{}: {:?}", schema.to_json(), smallest(&schema));
        }
    }
}
