//! The inputs of a recipe as data, for everyone who shows them.

use recipe::{input_type::InputType, plan::Unit, value::Value};
use serde::Serialize;

use crate::store::secrets::Mask;

/// An input of a recipe.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InputReport {
    /// Its name.
    pub name: String,
    /// The word for its type.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The texts that it takes, if it takes only those.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choices: Option<Vec<String>>,
    /// The regular expression that its text must match.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Whether the recipe refuses to start without it.
    pub required: bool,
    /// Its value if none is given; a secret one is masked.
    pub default: Option<Value>,
    /// Its description.
    pub description: String,
}

/// The inputs of a recipe; `mask` hides secret defaults.
pub fn inputs(unit: &Unit, mask: &Mask) -> Vec<InputReport> {
    let report = |input: &recipe::plan::Input| {
        let kind = input.kind.as_ref();
        InputReport {
            name: input.name.clone(),
            kind: input.type_word(),
            choices: kind.and_then(InputType::choices).map(<[String]>::to_vec),
            pattern: kind.and_then(InputType::pattern).map(|pattern| pattern.as_str().to_owned()),
            required: input.required,
            default: input.default.as_ref().map(|value| mask.value(&input.name, value)),
            description: mask.text(&input.description).into_owned(),
        }
    };
    unit.inputs.iter().map(report).collect()
}
