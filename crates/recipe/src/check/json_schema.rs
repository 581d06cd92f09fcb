//! JSON Schemas of steps: misspelt keywords, and members that a closed schema does not have.
//!
//! Never reports a keyword that resembles no known one: a schema may have notes of its own.

use super::Checker;
use crate::{
    diagnostic::{Code, Diagnostic, did_you_mean},
    plan::Step,
    syntax::StepSyntax,
    value::{Map, Segment, Value},
};

/// Keywords whose value is a schema, or a list of schemas.
const SCHEMAS: &[&str] = &[
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "oneOf",
    "prefixItems",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords whose value is a map of schemas.
const MAPS: &[&str] = &["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/// All other keywords.
const OTHERS: &[&str] = &[
    "$anchor",
    "$comment",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$ref",
    "$schema",
    "$vocabulary",
    "const",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "default",
    "dependencies",
    "dependentRequired",
    "deprecated",
    "description",
    "enum",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "readOnly",
    "required",
    "title",
    "type",
    "uniqueItems",
    "writeOnly",
];

impl Checker<'_> {
    /// Reports misspelt keywords: a validator ignores them without a word.
    pub(super) fn schema_keywords(&mut self, fields: &StepSyntax) {
        let Some(schema) = &fields.json_schema else { return };
        let mut wrong = Vec::new();
        misspelt(&schema.value, &mut wrong);
        for (word, meant) in wrong {
            let message = format!("`json_schema` has no keyword `{word}`: it checks nothing");
            self.diagnostics.push(
                Diagnostic::new(Code::UnknownField, schema.place, message)
                    .label(format!("did you mean `{meant}`?"))
                    .help(format!("write `{meant}` instead of `{word}`")),
            );
        }
    }
}

fn misspelt(schema: &Value, found: &mut Vec<(String, &'static str)>) {
    if let Value::List(schemas) = schema {
        return schemas.iter().for_each(|schema| misspelt(schema, found));
    }
    let Value::Map(keywords) = schema else { return };
    for (word, value) in keywords.iter() {
        let known = || SCHEMAS.iter().chain(MAPS).chain(OTHERS).copied();
        if SCHEMAS.contains(&word.as_str()) {
            misspelt(value, found);
        } else if let (true, Value::Map(schemas)) = (MAPS.contains(&word.as_str()), value) {
            schemas.values().for_each(|schema| misspelt(schema, found));
        } else if !known().any(|known| known == word) {
            found.extend(did_you_mean(word, known()).map(|meant| (word.clone(), meant)));
        }
    }
}

/// A member that the value of a step cannot have.
pub(super) struct NoMember<'a> {
    /// The number of path segments before it.
    pub(super) before: usize,
    /// The members that there are.
    pub(super) keys: Vec<&'a str>,
}

/// The first segment of a path into the value of a step that its schema rules out.
pub(super) fn no_member<'a>(step: &'a Step, path: &[Segment]) -> Option<NoMember<'a>> {
    let mut schema = step.json_schema.as_ref().filter(|_| step.looped.is_none())?;
    for (before, segment) in path.iter().enumerate() {
        let (Value::Map(keywords), Segment::Key(key)) = (schema, segment) else { return None };
        let Some(Value::Map(members)) = keywords.get("properties") else { return None };
        match members.get(key.as_str()) {
            Some(member) => schema = member,
            None if is_closed(keywords) && key != "length" => {
                return Some(NoMember { before, keys: members.keys().map(String::as_str).collect() });
            }
            None => return None,
        }
    }
    None
}

/// Whether a schema allows only the members that it lists.
fn is_closed(keywords: &Map) -> bool {
    keywords.get("additionalProperties") == Some(&Value::Bool(false))
        && !keywords.contains_key("patternProperties")
}
