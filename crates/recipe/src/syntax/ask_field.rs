//! The fields that an answer to a question has.

use super::{InputKind, Texts, shape::shape};
use crate::value::Value;

shape! {
    /// A value that a person gives with an answer.
    AskFieldSyntax "field of `ask`" {
        /// Name of the field.
        "name" name: String, required;
        /// What it is for.
        "description" description: String;
        /// Whether an answer without it is refused; `false` unless set.
        "required" required: bool;
        /// Value that is used when none is given.
        "default" default: Value;
        /// Type of the value; `text` unless set.
        "type" kind: InputKind;
        /// The texts that a `choice` takes.
        "choices" choices: Texts;
        /// Regular expression that the whole value of a `text` must match.
        "pattern" pattern: String;
    }
}
