//! The type of fields that hold a time.

use serde_json::{Value as Json, json};

use super::shape::{Decode, wrong_type};
use crate::{
    diagnostic::{Code, Diagnostic},
    time_span,
    yaml::{Node, NodeKind},
};

/// A time in seconds: a number, or text with units such as `1h30m`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seconds(pub f64);

/// The longest time.
const MOST: f64 = 1e12;
const WANTED: &str = "a time";

impl Decode for Seconds {
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<Seconds> {
        let NodeKind::Scalar(scalar) = &node.kind else {
            let help = format!("write `{name}: 90`, or a time with units such as `10m`");
            diagnostics.push(wrong_type(node, name, WANTED).help(help));
            return None;
        };
        let seconds = match scalar.as_number() {
            Some(number) => number.as_f64(),
            None if scalar.text.trim().parse::<f64>().is_ok() => {
                let help = "write a plain number without quotes";
                diagnostics.push(wrong_type(node, name, WANTED).help(help));
                return None;
            }
            None => match time_span::parse(&scalar.text) {
                Ok(seconds) => seconds,
                Err(error) => {
                    let message = format!("`{}` is not a time for `{name}`", scalar.text.trim());
                    let problem = Diagnostic::new(Code::WrongType, node.place, message);
                    diagnostics.push(problem.label("not a time").help(error.to_string()));
                    return None;
                }
            },
        };
        let (message, label) = match seconds {
            _ if seconds < 0.0 => (format!("`{name}` must not be negative"), "out of range"),
            _ if seconds > MOST => (format!("`{name}` must be at most {MOST}"), "too large"),
            _ => return Some(Seconds(seconds)),
        };
        diagnostics.push(Diagnostic::new(Code::OutOfRange, node.place, message).label(label));
        None
    }

    fn schema() -> Json {
        let text = json!({ "type": "string", "pattern": r"^\s*([0-9]+(\.[0-9]+)?\s*(ms|s|m|h|d)\s*)+$" });
        json!({ "anyOf": [{ "type": "number", "minimum": 0 }, text] })
    }
}
