//! The fields of agent steps that have more than one form.

use serde_json::{Value as Json, json};

use super::{
    PermissionLevel, Texts,
    shape::{Decode, Spanned, decode_field, shape},
};
use crate::{
    diagnostic::{Code, Diagnostic},
    yaml::{Node, NodeKind},
};

shape! {
    /// What an agent may do.
    PermissionsFieldsSyntax "`permissions` map" {
        /// What the agent may do: `read-only`, `edit` or `full`.
        "level" level: PermissionLevel, required;
        /// Whether a program that cannot be limited so is refused; `true` unless set.
        "required" required: bool;
    }
}

/// `permissions: read-only`, or the fields one by one.
#[derive(Clone, Debug)]
pub enum PermissionsSyntax {
    /// The level.
    Level(PermissionLevel),
    /// Field by field.
    Fields(Box<PermissionsFieldsSyntax>),
}

impl Decode for PermissionsSyntax {
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<PermissionsSyntax> {
        match node.kind {
            NodeKind::Map(_) => {
                let known = diagnostics.len();
                let fields = PermissionsFieldsSyntax::decode(node, name, diagnostics)?;
                if fields.level.is_none() && diagnostics.len() == known {
                    diagnostics.push(
                        Diagnostic::new(Code::MissingField, node.place, "`permissions` has no `level`")
                            .label("limits nothing")
                            .help("add `level: read-only`, `level: edit` or `level: full`"),
                    );
                }
                Some(PermissionsSyntax::Fields(Box::new(fields)))
            }
            _ => PermissionLevel::decode(node, name, diagnostics).map(PermissionsSyntax::Level),
        }
    }

    fn schema() -> Json {
        json!({ "anyOf": [PermissionLevel::schema(), PermissionsFieldsSyntax::schema()] })
    }
}

/// One agent program, or several in the order in which they are tried.
#[derive(Clone, Debug)]
pub struct ProgramsSyntax(pub Texts);

impl Decode for ProgramsSyntax {
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<ProgramsSyntax> {
        match node.kind {
            NodeKind::List(_) => Texts::decode(node, name, diagnostics).map(ProgramsSyntax),
            _ => decode_field::<String>(node, name, diagnostics)
                .map(|program: Spanned<String>| ProgramsSyntax(vec![program])),
        }
    }

    fn schema() -> Json {
        json!({ "anyOf": [String::schema(), Texts::schema()] })
    }
}

impl serde::Serialize for PermissionLevel {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> serde::Deserialize<'de> for PermissionLevel {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<PermissionLevel, D::Error> {
        let word = String::deserialize(deserializer)?;
        PermissionLevel::named(&word).ok_or_else(|| serde::de::Error::custom("not a level of permissions"))
    }
}
