//! Expected values: a value means equality, a map is a matcher.

use serde_json::{Value as Json, json};

use crate::{
    diagnostic::Diagnostic,
    syntax::{
        Texts,
        shape::{Decode, shape, shape_schema},
    },
    value::Value,
    yaml::{Node, NodeKind},
};

/// An expected value.
#[derive(Clone, Debug)]
pub enum MatcherSyntax {
    /// Equal to this.
    Equals(Value),
    /// The words of a matcher.
    Words(Box<MatcherWordsSyntax>),
}

shape! {
    /// What a value must be; all words that are there must hold.
    MatcherWordsSyntax "matcher" {
        /// Part of a text, item of a list, or members of a map; of a list of these, all of them.
        "contains" contains: Value;
        /// Regular expression that fits somewhere in the text.
        "matches" matches: String;
        /// Whether there is no value, step or file.
        "absent" absent: bool;
        /// Values of which one is equal.
        "one_of" one_of: Vec<crate::syntax::shape::Spanned<Value>>;
        /// Number of characters, items or members.
        "length" length: MatcherSyntax;
        /// What must not hold.
        "not" not: MatcherSyntax;
    }
}

shape! {
    /// Calls of `programs`.
    CommandsSyntax "`commands` map" {
        /// Patterns that no call fits, such as `git push*`.
        "never" never: Texts;
        /// Patterns, each of which fits some call.
        "contains" contains: Texts;
        /// Number of calls.
        "length" length: MatcherSyntax;
    }
}

impl Decode for MatcherSyntax {
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<MatcherSyntax> {
        match node.kind {
            NodeKind::Map(_) => {
                MatcherWordsSyntax::decode(node, name, diagnostics).map(Box::new).map(MatcherSyntax::Words)
            }
            _ => Some(MatcherSyntax::Equals(node.to_value())),
        }
    }

    fn schema() -> Json {
        json!({ "$ref": "#/$defs/matcher" })
    }
}

/// The schema that the others refer to.
pub(super) fn definition() -> Json {
    let mut words = shape_schema::<MatcherWordsSyntax>();
    words["additionalProperties"] = json!(false);
    words["minProperties"] = json!(1);
    json!({ "anyOf": [{ "type": ["string", "number", "boolean", "null", "array"] }, words] })
}
