//! YAML text in, a tree with places out, or every problem that was found.
//!
//! Never knows what a recipe is beyond being a map, and never builds more than the budget allows:
//! aliases are expanded here, so the tree has neither anchors nor merge keys.

mod align;
mod compose;
mod decode;
mod explain;
mod maps;
mod quote;
mod scalar;
mod shared;
#[cfg(test)]
mod tests;
mod written;

pub use decode::{DecodeError, MAX_BYTES, decode};
pub use scalar::{Scalar, TextStyle};

use compose::{Composed, compose};
use maps::Duplicates;
use shared::into_tree;

use crate::{
    diagnostic::{Code, Diagnostic},
    source::{FileId, Place, Sources, Span},
    value::{Map, Value},
};

/// One node of the tree.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its kind.
    pub kind: NodeKind,
    /// Its place, with quotes or block header; for an alias, the place of its target.
    pub place: Place,
}

/// The kind of a node.
#[derive(Clone, Debug)]
pub enum NodeKind {
    /// Text, a number, a boolean or nothing.
    Scalar(Scalar),
    /// A list.
    List(Vec<Node>),
    /// A map without duplicate keys, in the order in which it was written.
    Map(Vec<Entry>),
}

/// One entry of a map.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The key.
    pub key: Key,
    /// The value.
    pub value: Node,
}

/// The key of an entry: always text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its decoded text.
    pub text: String,
    /// Where it was written.
    pub place: Place,
}

impl Node {
    /// The value of the node, typed by the YAML 1.2 core rules.
    pub fn to_value(&self) -> Value {
        match &self.kind {
            NodeKind::Scalar(scalar) => scalar.to_value(),
            NodeKind::List(items) => Value::list(items.iter().map(Node::to_value).collect()),
            NodeKind::Map(entries) => {
                let member = |entry: &Entry| (entry.key.text.clone(), entry.value.to_value());
                Value::map(entries.iter().map(member).collect::<Map>())
            }
        }
    }

    /// The entry of a map with this key.
    pub fn get(&self, key: &str) -> Option<&Entry> {
        match &self.kind {
            NodeKind::Map(entries) => entries.iter().find(|entry| entry.key.text == key),
            _ => None,
        }
    }

    /// Whether it is nothing: left out, `~` or `null`.
    pub fn is_null(&self) -> bool {
        matches!(&self.kind, NodeKind::Scalar(scalar) if scalar.is_null())
    }

    /// The word for its type in messages.
    pub fn type_name(&self) -> &'static str {
        match &self.kind {
            NodeKind::Scalar(scalar) => scalar.type_name(),
            NodeKind::List(_) => "a list",
            NodeKind::Map(_) => "a map",
        }
    }
}

/// The words about the map that a file must contain.
#[derive(Clone, Copy, Debug)]
pub struct RootWords {
    /// What the file is: `a recipe`.
    pub noun: &'static str,
    /// How to begin it.
    pub begin: &'static str,
    /// The least that it needs.
    pub least: &'static str,
}

impl RootWords {
    /// A recipe.
    const RECIPE: RootWords = RootWords {
        noun: "a recipe",
        begin: "start the file with `name: …` and put the steps under `steps:`",
        least: "write at least `name:` and `steps:`",
    };
}

/// Parses a file that must contain one map. `None` if there is no map that can be checked further.
pub fn parse(sources: &Sources, file: FileId, diagnostics: &mut Vec<Diagnostic>) -> Option<Node> {
    parse_as(RootWords::RECIPE, sources, file, diagnostics)
}

/// The same for a file that is no recipe.
pub fn parse_as(
    words: RootWords,
    sources: &Sources,
    file: FileId,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Node> {
    let text = &sources.file(file).text;
    let root = match compose(text, file, diagnostics, Duplicates::Dropped) {
        Composed::Document(root) => into_tree(root),
        Composed::Nothing => {
            diagnostics.push(empty_file(words, Place { file, span: Span::default() }));
            return None;
        }
        Composed::Unreadable => return None,
    };
    // the file itself cannot hold one, so only an escape in double quotes makes it
    if text.contains('\\') {
        report_nul(&root, diagnostics);
    }
    if matches!(root.kind, NodeKind::Map(_)) {
        return Some(root);
    }
    diagnostics.push(wrong_root(words, &root));
    None
}

/// The tree of a file with the entries whose key is already in their map: for a search of its values. `None` if it
/// cannot be read.
pub fn parse_with_duplicates(sources: &Sources, file: FileId) -> Option<Node> {
    match compose(&sources.file(file).text, file, &mut Vec::new(), Duplicates::Kept) {
        Composed::Document(root) => Some(into_tree(root)),
        Composed::Nothing | Composed::Unreadable => None,
    }
}

/// Reports every text with a NUL character: no program takes one as an argument or in its environment.
fn report_nul(node: &Node, diagnostics: &mut Vec<Diagnostic>) {
    let mut report = |text: &str, place: Place| {
        if text.contains('\0') {
            diagnostics.push(
                Diagnostic::new(Code::NulCharacter, place, "the text contains a NUL character")
                    .label("has `\\0` in it")
                    .help("remove `\\0`: neither commands nor environment variables can hold it"),
            );
        }
    };
    match &node.kind {
        NodeKind::Scalar(scalar) => report(&scalar.text, node.place),
        NodeKind::List(items) => items.iter().for_each(|item| report_nul(item, diagnostics)),
        NodeKind::Map(entries) => {
            entries.iter().for_each(|entry| report(&entry.key.text, entry.key.place));
            entries.iter().for_each(|entry| report_nul(&entry.value, diagnostics));
        }
    }
}

fn wrong_root(words: RootWords, node: &Node) -> Diagnostic {
    let message = format!("{} is a map of fields, but this is {}", words.noun, node.type_name());
    Diagnostic::new(Code::WrongType, node.place, message).label("expected `field: value`").help(words.begin)
}

fn empty_file(words: RootWords, place: Place) -> Diagnostic {
    Diagnostic::new(Code::EmptyFile, place, "the file is empty").help(words.least)
}
