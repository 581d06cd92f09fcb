//! The inputs of a recipe, and the values that they take.

use super::Unit;
use crate::{
    input_type::InputType,
    value::{Map, Value},
};

/// A variable that a recipe wants to be given.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Whether the recipe refuses to start without it.
    pub required: bool,
    /// Its value if none is given.
    pub default: Option<Value>,
    /// Its type; without one, every value is taken as it is given.
    pub kind: Option<InputType>,
}

impl Input {
    /// The word for its type in reports.
    pub fn type_word(&self) -> &'static str {
        self.kind.as_ref().map_or("text", InputType::word)
    }

    /// Whether its value is secret.
    pub fn is_secret(&self) -> bool {
        self.kind == Some(InputType::Secret)
    }
}

impl Unit {
    /// The value that an input makes of a given value; a value that does not fit stays as it is.
    pub fn fitted_value(&self, name: &str, value: &Value) -> Value {
        let input = self.inputs.iter().find(|input| input.name == name);
        let kind = input.and_then(|input| input.kind.as_ref());
        kind.and_then(|kind| kind.fit(value, &|_| true).ok()).unwrap_or_else(|| value.clone())
    }

    /// A context in which the inputs have values of their types.
    pub fn fitted(&self, mut context: Map) -> Map {
        for input in self.inputs.iter().filter(|input| input.kind.is_some()) {
            if let Some(value) = context.get_mut(&input.name) {
                *value = self.fitted_value(&input.name, value);
            }
        }
        context
    }
}
