//! The inputs of a recipe as text.

use recipe::value::Value;
use runtime::report::inputs::InputReport;

use super::failure::clean;
use crate::commands::list::shorten;

/// One line for an input: `count (integer, required) = 3: How many`.
pub(crate) fn line(input: &InputReport) -> String {
    let kind = match (&input.choices, &input.pattern) {
        (Some(choices), _) => format!("{}: {}", input.kind, choices.join(" | ")),
        (None, Some(pattern)) => format!("{} matching `{pattern}`", input.kind),
        (None, None) => input.kind.to_owned(),
    };
    let required = if input.required { ", required" } else { "" };
    let default = match &input.default {
        Some(value) => format!(" = {}", shown(value)),
        None => String::new(),
    };
    let about = match input.description.trim() {
        "" => String::new(),
        text => format!(": {text}"),
    };
    clean(&format!("{} ({kind}{required}){default}{about}", input.name)).replace('\n', " ")
}

/// The inputs below a heading; nothing if there are no inputs.
pub(crate) fn block(inputs: &[InputReport]) -> Vec<String> {
    let heading = (!inputs.is_empty()).then(|| "Inputs:".to_owned());
    heading.into_iter().chain(inputs.iter().map(|input| format!("  {}", line(input)))).collect()
}

/// A value in one line.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "(nothing)".to_owned(),
        Value::Text(text) if text.is_empty() => "(empty)".to_owned(),
        value => shorten(&value.render().replace('\n', "⏎"), 80),
    }
}
