//! What a person sees with a question, as it is written.

use serde_json::{Value as Json, json};

use super::shape::{Decode, shape};
use crate::{
    diagnostic::Diagnostic,
    yaml::{Node, NodeKind},
};

shape! {
    /// Something that a person sees with a question, named for what it is.
    ShownFieldsSyntax "`show` entry" {
        /// Path of a file, relative to the working directory of the step.
        "file" file: String;
        /// Text.
        "text" text: String;
    }
}

/// Something that a person sees with a question: a path or a text, or a map that says which of them it is.
#[derive(Clone, Debug)]
pub enum ShownSyntax {
    /// A path if it is literal, a text if it has templates.
    Plain(String),
    /// A map that says what it is.
    Fields(Box<ShownFieldsSyntax>),
}

impl Decode for ShownSyntax {
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<ShownSyntax> {
        match node.kind {
            NodeKind::Map(_) => {
                ShownFieldsSyntax::decode(node, name, diagnostics).map(Box::new).map(ShownSyntax::Fields)
            }
            _ => String::decode(node, name, diagnostics).map(ShownSyntax::Plain),
        }
    }

    fn schema() -> Json {
        json!({ "anyOf": [String::schema(), ShownFieldsSyntax::schema()] })
    }
}
