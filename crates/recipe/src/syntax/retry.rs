//! The fields of `retry`.

use serde_json::{Value as Json, json};

use super::{
    Backoff, RetryOn, Seconds,
    shape::{Decode, Spanned, shape},
};
use crate::{
    diagnostic::Diagnostic,
    yaml::{Node, NodeKind},
};

shape! {
    /// What to do when an attempt fails.
    RetryFieldsSyntax "`retry` map" {
        /// Number of attempts, the first one included.
        "max_attempts" max_attempts: u64;
        /// Time before the second attempt, in seconds or with units as in `2m`; 1 second unless set.
        "delay" delay: Seconds;
        /// Whether the delay stays the same or doubles each time; `fixed` unless set.
        "backoff" backoff: Backoff;
        /// Longest delay, in seconds or with units.
        "max_delay" max_delay: Seconds;
        /// Which failures are retried; all unless set, but rate limits as the environment variables say.
        "on" on: Vec<Spanned<RetryOn>>;
    }
}

/// `retry: 3`, or the fields one by one.
#[derive(Clone, Debug)]
pub enum RetrySyntax {
    /// Number of attempts, the first one included.
    Attempts(u64),
    /// Field by field.
    Fields(Box<RetryFieldsSyntax>),
}

impl Decode for RetrySyntax {
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<RetrySyntax> {
        match node.kind {
            NodeKind::Map(_) => {
                RetryFieldsSyntax::decode(node, name, diagnostics).map(Box::new).map(RetrySyntax::Fields)
            }
            _ => u64::decode(node, name, diagnostics).map(RetrySyntax::Attempts),
        }
    }

    fn schema() -> Json {
        json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, RetryFieldsSyntax::schema()] })
    }
}
