//! The types of fields: text, counts, amounts, flags, lists, words, values.
//!
//! Never guesses: a value of another type is reported with its place.

use serde_json::{Value as Json, json};

use super::shape::{Decode, Spanned, decode_field, wrong_type};
use crate::{
    diagnostic::{Code, Diagnostic, did_you_mean},
    source::Place,
    value::{Map, Value},
    yaml::{Node, NodeKind},
};

/// Text; any scalar, in the spelling of the file.
impl Decode for String {
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<String> {
        match &node.kind {
            NodeKind::Scalar(scalar) if scalar.is_null() => Some(String::new()),
            NodeKind::Scalar(scalar) => Some(scalar.text.to_string()),
            _ => {
                let problem = wrong_type(node, name, "text");
                diagnostics.push(match node.kind {
                    NodeKind::Map(_) => problem.help("put quotes around text that starts with `{`"),
                    NodeKind::List(_) => problem.help("put quotes around text that starts with `[`"),
                    NodeKind::Scalar(_) => problem,
                });
                None
            }
        }
    }

    fn schema() -> Json {
        json!({ "type": ["string", "number", "boolean"] })
    }
}

/// `true` or `false`.
impl Decode for bool {
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<bool> {
        let found = match &node.kind {
            NodeKind::Scalar(scalar) => scalar.as_bool(),
            _ => None,
        };
        if found.is_none() {
            let problem = wrong_type(node, name, "`true` or `false`");
            diagnostics.push(match &node.kind {
                NodeKind::Scalar(scalar) if matches!(scalar.text.as_str(), "true" | "false") => {
                    problem.help("write it without quotes")
                }
                _ => problem,
            });
        }
        found
    }

    fn schema() -> Json {
        json!({ "type": "boolean" })
    }
}

/// A whole number that is not negative.
impl Decode for u64 {
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<u64> {
        let number = number(node, name, "a whole number", diagnostics)?;
        if number < 0.0 || number.fract() != 0.0 {
            let message = format!("`{name}` must be a whole number, 0 or more");
            diagnostics.push(Diagnostic::new(Code::OutOfRange, node.place, message).label("out of range"));
            return None;
        }
        at_most(1e15, number, node, name, diagnostics).map(|number| number as u64)
    }

    fn schema() -> Json {
        json!({ "type": "integer", "minimum": 0 })
    }
}

/// A whole number, or a template that leads to one.
#[derive(Clone, Debug)]
pub struct CountNode(pub Node);

impl Decode for CountNode {
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<CountNode> {
        let is_template = matches!(&node.kind, NodeKind::Scalar(scalar) if scalar.text.contains("{{"));
        let is_count = is_template || u64::decode(node, name, diagnostics).is_some();
        is_count.then(|| CountNode(node.clone()))
    }

    fn schema() -> Json {
        json!({ "anyOf": [u64::schema(), { "type": "string", "pattern": "\\{\\{" }] })
    }
}

/// A number that is not negative: dollars, minutes.
impl Decode for f64 {
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<f64> {
        let number = number(node, name, "a number", diagnostics)?;
        if number < 0.0 {
            let message = format!("`{name}` must be 0 or more");
            diagnostics.push(Diagnostic::new(Code::OutOfRange, node.place, message).label("out of range"));
            return None;
        }
        at_most(1e12, number, node, name, diagnostics)
    }

    fn schema() -> Json {
        json!({ "type": "number", "minimum": 0 })
    }
}

fn at_most(
    most: f64,
    number: f64,
    node: &Node,
    name: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<f64> {
    if number <= most {
        return Some(number);
    }
    let message = format!("`{name}` must be at most {most}");
    diagnostics.push(Diagnostic::new(Code::OutOfRange, node.place, message).label("too large"));
    None
}

fn number(node: &Node, name: &str, wanted: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<f64> {
    let found = match &node.kind {
        NodeKind::Scalar(scalar) => scalar.as_number().map(|number| number.as_f64()),
        _ => None,
    };
    if found.is_none() {
        let help = match &node.kind {
            NodeKind::Scalar(_) => "write a plain number without quotes",
            _ => "write a plain number",
        };
        diagnostics.push(wrong_type(node, name, wanted).help(help));
    }
    found
}

/// A list.
impl<T: Decode> Decode for Vec<Spanned<T>> {
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<Self> {
        let NodeKind::List(items) = &node.kind else {
            diagnostics.push(
                wrong_type(node, name, "a list")
                    .help(format!("write `{name}: [...]`, or one `- ` line for each item")),
            );
            return None;
        };
        let mut list = Vec::with_capacity(items.len());
        for item in items {
            if item.is_null() {
                diagnostics.push(empty_item(item, name));
            }
            list.extend(decode_field(item, name, diagnostics));
        }
        // a list of which nothing is left would look like an empty one
        (!list.is_empty() || items.is_empty()).then_some(list)
    }

    fn schema() -> Json {
        json!({ "type": "array", "items": T::schema() })
    }
}

fn empty_item(item: &Node, name: &str) -> Diagnostic {
    Diagnostic::new(Code::WrongType, item.place, format!("an item of `{name}` is empty"))
        .label("empty")
        .help("remove the item, or write a value; an empty text is `\"\"`")
}

/// A map whose names the author chooses.
#[derive(Clone, Debug)]
pub struct Named<T>(pub Vec<(Spanned<String>, Spanned<T>)>);

impl<T: Decode> Decode for Named<T> {
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<Self> {
        let NodeKind::Map(entries) = &node.kind else {
            diagnostics.push(wrong_type(node, name, "a map of names and values"));
            return None;
        };
        let mut named = Vec::with_capacity(entries.len());
        for entry in entries {
            let key = Spanned { value: entry.key.text.clone(), place: entry.key.place, scalar: None };
            if let Some(value) = T::decode(&entry.value, &entry.key.text, diagnostics) {
                let scalar = match &entry.value.kind {
                    NodeKind::Scalar(scalar) => Some(scalar.clone()),
                    _ => None,
                };
                named.push((key, Spanned { value, place: entry.value.place, scalar }));
            }
        }
        Some(Named(named))
    }

    fn schema() -> Json {
        json!({ "type": "object", "additionalProperties": T::schema() })
    }
}

/// Any value.
impl Decode for Value {
    fn decode(node: &Node, _: &str, _: &mut Vec<Diagnostic>) -> Option<Value> {
        Some(node.to_value())
    }

    fn schema() -> Json {
        json!({})
    }
}

/// Any value, with the places of all its parts.
impl Decode for Node {
    fn decode(node: &Node, _: &str, _: &mut Vec<Diagnostic>) -> Option<Node> {
        Some(node.clone())
    }

    fn schema() -> Json {
        json!({})
    }
}

impl Named<Value> {
    /// As a map.
    pub fn to_map(&self) -> Map {
        self.0.iter().map(|(key, value)| (key.value.clone(), value.value.clone())).collect()
    }
}

/// Declares an enum of the words that a field takes.
macro_rules! words {
    ($(#[doc = $doc:literal])* $name:ident { $($(#[doc = $word_doc:literal])+ $variant:ident $word:literal,)+ }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[doc = $word_doc])+ $variant,)+ }

        impl $name {
            /// The word in the file.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }

            /// The meaning of a word.
            pub fn named(word: &str) -> Option<$name> {
                match word {
                    $($word => Some($name::$variant),)+
                    _ => None,
                }
            }
        }

        impl $crate::syntax::shape::Decode for $name {
            fn decode(
                node: &$crate::yaml::Node,
                name: &str,
                diagnostics: &mut Vec<$crate::diagnostic::Diagnostic>,
            ) -> Option<Self> {
                let text = String::decode(node, name, diagnostics)?;
                match $name::named(&text) {
                    Some(found) => Some(found),
                    None => {
                        diagnostics.push($crate::syntax::kinds::unknown_word(
                            &text, name, &[$($word),+], node.place));
                        None
                    }
                }
            }

            fn schema() -> serde_json::Value {
                serde_json::json!({ "enum": [$($word),+] })
            }
        }
    };
}
pub(crate) use words;

/// Words of other languages for types.
const SYNONYMS: &[(&str, &str)] = &[
    ("array", "list"),
    ("bool", "boolean"),
    ("directory", "path"),
    ("enum", "choice"),
    ("file", "path"),
    ("float", "number"),
    ("int", "integer"),
    ("object", "json"),
    ("password", "secret"),
    ("str", "text"),
    ("string", "text"),
];

/// Reports a word that a field does not take.
pub(crate) fn unknown_word(text: &str, name: &str, words: &[&str], place: Place) -> Diagnostic {
    let list = words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    let message = match text.trim() {
        "" => format!("`{name}` is empty"),
        _ => format!("`{text}` is not a valid `{name}`"),
    };
    let problem = Diagnostic::new(Code::UnknownWord, place, message);
    let synonym = SYNONYMS.iter().find(|(other, _)| *other == text.trim()).map(|(_, word)| *word);
    let synonym = synonym.filter(|word| words.contains(word));
    match synonym.or_else(|| did_you_mean(text, words.iter().copied())) {
        Some(meant) => problem.label(format!("did you mean `{meant}`?")).help(format!("use one of {list}")),
        None => problem.label("unknown word").help(format!("use one of {list}")),
    }
}

/// A shape together with a digest of its text.
#[derive(Clone, Debug)]
pub struct WithDigest<T> {
    /// The shape.
    pub shape: T,
    /// SHA-256 of its values, without the titles and descriptions that change nothing.
    pub digest: String,
}

impl<T: Decode> Decode for WithDigest<T> {
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<Self> {
        let shape = T::decode(node, name, diagnostics)?;
        Some(WithDigest { shape, digest: definition_digest(node) })
    }

    fn schema() -> Json {
        T::schema()
    }
}

fn definition_digest(node: &Node) -> String {
    let mut value = node.to_value();
    if let Value::Map(members) = &value {
        let mut members = Map::clone(members);
        members.retain(|key, _| key != "name" && key != "description");
        if members.contains_key("for_each") {
            // the items decide which instances there are, not what an instance does
            members.insert("for_each".to_owned(), Value::Bool(true));
            members.retain(|key, _| !["max_parallel", "keep_going", "max_items"].contains(&key.as_str()));
        }
        members.sort_keys();
        value = Value::map(members);
    }
    crate::digest::sha256(value.to_json().as_bytes())
}
