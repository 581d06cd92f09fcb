//! How fields are described: one declaration gives the type, the decoder, the known names and the schema.
//!
//! Never holds a second list of field names: typo detection and the JSON Schema come from the same
//! declaration as the decoding.

use serde_json::{Value as Json, json};

use super::foreign;
use crate::{
    diagnostic::{Code, Diagnostic, did_you_mean, is_one_slip},
    source::Place,
    yaml::{Entry, Node, NodeKind, Scalar},
};

/// A decoded value and its place.
#[derive(Clone, Debug)]
pub struct Spanned<T> {
    /// The thing.
    pub value: T,
    /// Its place.
    pub place: Place,
    /// The scalar that it was written as, to point inside it.
    pub scalar: Option<Scalar>,
}

impl<T> Spanned<T> {
    /// The place of a part of the text.
    pub fn place_of(&self, range: std::ops::Range<usize>) -> Place {
        self.scalar.as_ref().map_or(self.place, |scalar| scalar.place_of(self.place, range))
    }
}

/// The value of a field that may be absent. Most fields of a step are absent, and each takes one word of memory.
pub type Optional<T> = Option<Box<Spanned<T>>>;

/// Something that a field can hold.
pub trait Decode: Sized {
    /// Reads it; problems go into `diagnostics`.
    fn decode(node: &Node, name: &str, diagnostics: &mut Vec<Diagnostic>) -> Option<Self>;
    /// Its JSON Schema.
    fn schema() -> Json;
}

/// A field of a shape, as documentation and schema know it.
pub struct Field {
    /// The name in the file.
    pub name: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// The schema of its value.
    pub schema: fn() -> Json,
    /// Whether the schema demands it.
    pub required: bool,
}

/// A group of fields.
pub trait Shape {
    /// What people call it: `recipe`, `step`, …
    const NAME: &'static str;
    /// Its fields.
    const FIELDS: &'static [Field];
    /// The command that lists all fields.
    const LISTED_BY: &'static str = "recipe-runner-rs schema";
}

/// The schema of a shape.
pub fn shape_schema<S: Shape>() -> Json {
    let properties: serde_json::Map<String, Json> = S::FIELDS
        .iter()
        .map(|field| {
            let mut schema = (field.schema)();
            schema["description"] = json!(field.doc);
            (field.name.to_owned(), schema)
        })
        .collect();
    let required: Vec<_> = S::FIELDS.iter().filter(|field| field.required).map(|field| field.name).collect();
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// Decodes the value of one field; an explicit `null` counts as absent.
pub fn decode_field<T: Decode>(
    node: &Node,
    name: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Spanned<T>> {
    let scalar = match &node.kind {
        NodeKind::Scalar(scalar) if scalar.is_null() => return None,
        NodeKind::Scalar(scalar) => Some(scalar.clone()),
        _ => None,
    };
    T::decode(node, name, diagnostics).map(|value| Spanned { value, place: node.place, scalar })
}

/// The field that a misspelt key probably means. If the map also has that field, only a typo of one letter counts:
/// other keys belong to other tools, such as a `comment` beside a `command`.
pub fn meant_field<S: Shape>(key: &str, beside: &[Entry]) -> Option<&'static str> {
    if foreign::is_foreign::<S>(key) {
        return None;
    }
    let meant = did_you_mean(key, S::FIELDS.iter().map(|field| field.name))?;
    let is_there = beside.iter().any(|entry| entry.key.text == meant && !entry.value.is_null());
    (!is_there || is_one_slip(key, meant)).then_some(meant)
}

/// Reports a field that the shape does not have, with its map.
pub fn unknown_field<S: Shape>(key: &str, place: Place, beside: &[Entry]) -> Diagnostic {
    let value = beside.iter().find(|entry| entry.key.text == key).map(|entry| &entry.value);
    if let Some(problem) = foreign::reported::<S>(key, place, value) {
        return problem;
    }
    let message = format!("unknown field `{key}` in {} {}", article(S::NAME), S::NAME);
    match meant_field::<S>(key, beside) {
        Some(meant) => Diagnostic::new(Code::FieldTypo, place, format!("{message}: did you mean `{meant}`?"))
            .label("not a known field")
            .help(format!("write `{meant}:`")),
        None => Diagnostic::new(Code::UnknownField, place, message)
            .label("has no effect")
            .help(format!("remove it, or check the spelling: {}", known_fields::<S>())),
    }
}

/// The field that a word of other tools stands for.
pub fn foreign_field<S: Shape>(key: &str) -> Option<&'static str> {
    foreign::stands_for::<S>(key)
}

/// The fields of a shape, if they are few; else where to find them.
fn known_fields<S: Shape>() -> String {
    const FEW: usize = 8;
    if S::FIELDS.len() > FEW {
        return format!("`{}` shows every field", S::LISTED_BY);
    }
    let names: Vec<String> = S::FIELDS.iter().map(|field| format!("`{}`", field.name)).collect();
    format!("the fields are {}", names.join(", "))
}

/// The article before a word, which may be in backticks.
pub(crate) fn article(word: &str) -> &'static str {
    match word.trim_start_matches('`').starts_with(['a', 'e', 'i', 'o', 'u']) {
        true => "an",
        false => "a",
    }
}

/// Reports a value of the wrong type.
pub fn wrong_type(node: &Node, name: &str, wanted: &str) -> Diagnostic {
    Diagnostic::new(
        Code::WrongType,
        node.place,
        format!("`{name}` takes {wanted}, but this is {}", node.type_name()),
    )
    .label(format!("not {wanted}"))
    .help(format!("write {wanted} after `{name}:`"))
}

/// Declares a shape: struct, decoder, field names and schema in one.
macro_rules! shape {
    ($(#[doc = $doc:literal])* $name:ident $word:literal $(listed by $listed:literal)? {
        $($(#[doc = $field_doc:literal])+ $key:literal $field:ident: $type:ty $(, $required:ident)?;)+
    }) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug)]
        pub struct $name {
            /// Its place.
            pub place: $crate::source::Place,
            /// Fields that are there and could not be read; that has been reported.
            pub unread: Vec<&'static str>,
            /// Fields that were written without a value, each with the place of its key.
            pub blank: Vec<(&'static str, $crate::source::Place)>,
            $($(#[doc = $field_doc])+ pub $field: $crate::syntax::shape::Optional<$type>,)+
        }

        impl $name {
            /// The place to report that a field has no value: its key, or the start of the map if the key is absent.
            pub fn missing(&self, field: &str) -> $crate::source::Place {
                let blank = self.blank.iter().find(|(name, _)| *name == field);
                blank.map_or(self.place.first_character(), |(_, place)| *place)
            }
        }

        impl $crate::syntax::shape::Shape for $name {
            const NAME: &'static str = $word;
            $(const LISTED_BY: &'static str = $listed;)?
            const FIELDS: &'static [$crate::syntax::shape::Field] = &[$($crate::syntax::shape::Field {
                name: $key,
                doc: concat!($($field_doc),+).trim_ascii(),
                schema: <$type as $crate::syntax::shape::Decode>::schema,
                required: false $(|| stringify!($required).len() > 0)?,
            }),+];
        }

        impl $crate::syntax::shape::Decode for $name {
            fn decode(
                node: &$crate::yaml::Node,
                name: &str,
                diagnostics: &mut Vec<$crate::diagnostic::Diagnostic>,
            ) -> Option<Self> {
                let $crate::yaml::NodeKind::Map(entries) = &node.kind else {
                    diagnostics.push($crate::syntax::shape::wrong_type(node, name, "a map of fields"));
                    return None;
                };
                let mut shape =
                    $name { place: node.place, unread: Vec::new(), blank: Vec::new(), $($field: None,)+ };
                let mut misspelt = Vec::new();
                for entry in entries {
                    match entry.key.text.as_str() {
                        $($key => {
                            shape.$field =
                                $crate::syntax::shape::decode_field(&entry.value, $key, diagnostics).map(Box::new);
                            match entry.value.is_null() {
                                true => shape.blank.push(($key, entry.key.place)),
                                false if shape.$field.is_none() => shape.unread.push($key),
                                false => {}
                            }
                        })+
                        other => {
                            let place = entry.key.place;
                            let problem = $crate::syntax::shape::unknown_field::<$name>(other, place, entries);
                            diagnostics.push(problem);
                            shape.unread.extend($crate::syntax::shape::foreign_field::<$name>(other));
                            misspelt.push(entry);
                        }
                    }
                }
                // a misspelt field is read as the one that was meant, so that one slip gives one message
                for entry in misspelt {
                    match $crate::syntax::shape::meant_field::<$name>(&entry.key.text, entries) {
                        $(Some($key) if shape.$field.is_none() => {
                            shape.$field =
                                $crate::syntax::shape::decode_field(&entry.value, $key, &mut Vec::new()).map(Box::new);
                            if shape.$field.is_none() {
                                shape.unread.push($key);
                            }
                        })+
                        _ => {}
                    }
                }
                Some(shape)
            }

            fn schema() -> serde_json::Value {
                $crate::syntax::shape::shape_schema::<$name>()
            }
        }
    };
}
pub(crate) use shape;
