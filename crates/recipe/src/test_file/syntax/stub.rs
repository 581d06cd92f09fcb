//! Stubs as they are written.

use serde_json::{Value as Json, json};

use super::FileTextSyntax;
use crate::{
    diagnostic::Diagnostic,
    syntax::{
        Seconds,
        kinds::Named,
        shape::{Decode, Spanned, shape, shape_schema, wrong_type},
    },
    test_file::stub::Fault,
    value::Value,
    yaml::{Node, NodeKind},
};

/// The answers for a step: a map answers every call, each entry of a list one of them.
#[derive(Clone, Debug)]
pub enum StubSyntax {
    /// For every call.
    Every(Box<StubReplySyntax>),
    /// One for each item, iteration or call.
    Each(Vec<StubReplySyntax>),
}

shape! {
    /// One answer for a step.
    StubReplySyntax "stub" listed by "recipe-runner-rs schema --tests" {
        /// Answer of an agent, as text.
        "answer" answer: String;
        /// Answer of an agent, as JSON.
        "json" json: Value;
        /// What an agent program does instead of answering: `timeout`, `idle`, `rate_limit`, `auth`, `network`, `crash`, `signal`,
        /// `garbage`, `empty`, `missing`, `lie` or `hang_after_result`.
        "fault" fault: Fault;
        /// With `true`, an agent answers with the smallest value that satisfies the `json_schema` of its step.
        "auto" auto: bool;
        /// What a command prints.
        "stdout" stdout: String;
        /// What a command prints on stderr.
        "stderr" stderr: String;
        /// Exit code of a command; 0 unless set.
        "exit" exit: u64;
        /// Signal that ends a command, such as `TERM`.
        "signal" signal: String;
        /// With `true`, a command runs for real although it has effects; every program outside must be in `programs`.
        "real" real: bool;
        /// Value of a recipe step; the sub-recipe is not entered.
        "value" value: Value;
        /// Values that flow back from a sub-recipe that is not entered.
        "context" context: Named<Value>;
        /// Error of a sub-recipe that is not entered.
        "fail" fail: String;
        /// Files that the step writes, relative to its directory; `null` removes a file.
        "files" files: Named<FileTextSyntax>;
        /// Patch that the step applies, as `git diff` prints it.
        "patch" patch: String;
        /// What an agent reports about its cost.
        "usage" usage: StubUsageSyntax;
        /// Time that the answer takes, in seconds or with units; the test clock skips it.
        "after" after: Seconds;
        /// The answer to the next call, after a `fault`.
        "then" then: ThenSyntax;
        /// Whether the stub may stay unused; `false` unless set.
        "optional" optional: bool;
    }
}

shape! {
    /// What an agent reports about its cost.
    StubUsageSyntax "`usage` map" {
        /// Dollars.
        "usd" usd: f64;
        /// Tokens in.
        "input_tokens" input_tokens: u64;
        /// Tokens out.
        "output_tokens" output_tokens: u64;
    }
}

/// The answer after a fault.
#[derive(Clone, Debug)]
pub struct ThenSyntax(pub Box<StubReplySyntax>);

impl Decode for ThenSyntax {
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<ThenSyntax> {
        StubReplySyntax::decode(node, name, diagnostics).map(Box::new).map(ThenSyntax)
    }

    fn schema() -> Json {
        json!({ "$ref": "#/$defs/stub" })
    }
}

impl Decode for StubSyntax {
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<StubSyntax> {
        match &node.kind {
            NodeKind::Map(_) => {
                StubReplySyntax::decode(node, name, diagnostics).map(Box::new).map(StubSyntax::Every)
            }
            NodeKind::List(_) => {
                let replies = Vec::<Spanned<StubReplySyntax>>::decode(node, name, diagnostics)?;
                Some(StubSyntax::Each(replies.into_iter().map(|reply| reply.value).collect()))
            }
            NodeKind::Scalar(scalar) => {
                let help = match scalar.text.as_str() {
                    "auto" | "real" => format!("write `{name}: {{{}: true}}`", scalar.text),
                    _ => format!(
                        "write `{name}: {{answer: …}}` for an agent, `{name}: {{stdout: …}}` for a command"
                    ),
                };
                diagnostics.push(wrong_type(node, name, "a stub or a list of stubs").help(help));
                None
            }
        }
    }

    fn schema() -> Json {
        let reply = json!({ "$ref": "#/$defs/stub" });
        json!({ "anyOf": [reply, { "type": "array", "items": reply }, { "type": "null" }] })
    }
}

/// The schema that the others refer to.
pub(super) fn definition() -> Json {
    let mut reply = shape_schema::<StubReplySyntax>();
    reply["additionalProperties"] = json!(false);
    reply
}
