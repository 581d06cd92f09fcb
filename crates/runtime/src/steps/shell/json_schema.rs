//! Checking a value against the JSON Schema of a step.

use recipe::value::Value;

/// Checks a value; the error describes the mismatch.
pub fn check(schema: &Value, value: &Value) -> Result<(), String> {
    let to_json = |value: &Value| serde_json::to_value(value).unwrap_or_default();
    let validator = jsonschema::validator_for(&to_json(schema))
        .map_err(|error| format!("`json_schema` is not a JSON Schema: {error}"))?;
    let json = to_json(value);
    let problems: Vec<String> = validator
        .iter_errors(&json)
        .take(5)
        .map(|error| match error.instance_path().as_str() {
            "" => error.to_string(),
            path => format!("at `{path}`: {error}"),
        })
        .collect();
    match problems.is_empty() {
        true => Ok(()),
        false => Err(format!("the JSON does not meet the step's schema: {}", problems.join("; "))),
    }
}
