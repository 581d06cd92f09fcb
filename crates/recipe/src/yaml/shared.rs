//! The tree while it is read: aliases share their target, so that a bomb costs nothing.
//!
//! Never grows beyond the size of the file; only [`into_tree`] makes copies, after the budget
//! has been checked.

use std::rc::Rc;

use super::{Entry, Key, Node, NodeKind, scalar::Scalar};
use crate::{
    diagnostic::{Code, Diagnostic},
    source::Place,
};

/// How many nodes a tree may have, after aliases are expanded.
pub(super) const MAX_NODES: usize = 100_000;
/// How many bytes of text it may have.
pub(super) const MAX_TEXT: usize = 10_000_000;
/// How deep lists and maps may nest.
pub(super) const MAX_DEPTH: usize = 100;

/// A node whose children may have several parents.
pub(super) struct SharedNode {
    pub(super) kind: SharedKind,
    pub(super) place: Place,
    pub(super) size: Size,
}

pub(super) enum SharedKind {
    Scalar(Scalar),
    List(Vec<Rc<SharedNode>>),
    Map(Vec<SharedEntry>),
}

#[derive(Clone)]
pub(super) struct SharedEntry {
    pub(super) key: Key,
    pub(super) value: Rc<SharedNode>,
}

/// The cost of a node once it is expanded.
#[derive(Clone, Copy, Default)]
pub(super) struct Size {
    pub(super) nodes: usize,
    pub(super) text: usize,
    /// How many lists and maps nest in it, itself included.
    pub(super) depth: usize,
}

impl Size {
    /// The cost of a scalar or a key.
    pub(super) fn of_text(text: &str) -> Size {
        Size { nodes: 1, text: text.len(), depth: 0 }
    }

    /// The cost of a collection of such nodes.
    pub(super) fn around(inner: impl IntoIterator<Item = Size>) -> Size {
        let empty = Size { nodes: 1, text: 0, depth: 0 };
        let all = inner.into_iter().fold(empty, Size::plus);
        Size { depth: all.depth + 1, ..all }
    }

    /// The cost of two siblings.
    pub(super) fn plus(self, other: Size) -> Size {
        Size {
            nodes: self.nodes.saturating_add(other.nodes),
            text: self.text.saturating_add(other.text),
            depth: self.depth.max(other.depth),
        }
    }
}

impl SharedNode {
    pub(super) fn scalar(scalar: Scalar, place: Place) -> Rc<SharedNode> {
        let size = Size::of_text(&scalar.text);
        Rc::new(SharedNode { kind: SharedKind::Scalar(scalar), place, size })
    }

    pub(super) fn list(items: Vec<Rc<SharedNode>>, place: Place) -> Rc<SharedNode> {
        let size = Size::around(items.iter().map(|item| item.size));
        Rc::new(SharedNode { kind: SharedKind::List(items), place, size })
    }

    pub(super) fn map(entries: Vec<SharedEntry>, place: Place) -> Rc<SharedNode> {
        let cost = |entry: &SharedEntry| entry.value.size.plus(Size::of_text(&entry.key.text));
        let size = Size::around(entries.iter().map(cost));
        Rc::new(SharedNode { kind: SharedKind::Map(entries), place, size })
    }

    /// The word for its type in messages.
    pub(super) fn type_name(&self) -> &'static str {
        match &self.kind {
            SharedKind::Scalar(scalar) => scalar.type_name(),
            SharedKind::List(_) => "a list",
            SharedKind::Map(_) => "a map",
        }
    }
}

/// The tree of `shared`; nodes with one parent are moved, the others are copied.
pub(super) fn into_tree(shared: Rc<SharedNode>) -> Node {
    let place = shared.place;
    let kind = match Rc::try_unwrap(shared) {
        Ok(SharedNode { kind: SharedKind::Scalar(scalar), .. }) => NodeKind::Scalar(scalar),
        Ok(SharedNode { kind: SharedKind::List(items), .. }) => {
            NodeKind::List(items.into_iter().map(into_tree).collect())
        }
        Ok(SharedNode { kind: SharedKind::Map(entries), .. }) => {
            NodeKind::Map(entries.into_iter().map(into_entry).collect())
        }
        Err(shared) => copy(&shared),
    };
    Node { kind, place }
}

fn copy(shared: &SharedNode) -> NodeKind {
    match &shared.kind {
        SharedKind::Scalar(scalar) => NodeKind::Scalar(scalar.clone()),
        SharedKind::List(items) => NodeKind::List(items.iter().cloned().map(into_tree).collect()),
        SharedKind::Map(entries) => NodeKind::Map(entries.iter().cloned().map(into_entry).collect()),
    }
}

fn into_entry(entry: SharedEntry) -> Entry {
    Entry { key: entry.key, value: into_tree(entry.value) }
}

pub(super) fn too_deep(place: Place) -> Diagnostic {
    Diagnostic::new(Code::TooComplex, place, format!("lists and maps nest more than {MAX_DEPTH} levels deep"))
        .label("one level too many")
        .help("flatten the structure, or put quotes around the text if it is not YAML")
}

pub(super) fn too_much(place: Place, limit: &str) -> Diagnostic {
    Diagnostic::new(
        Code::TooComplex,
        place,
        format!("the file has more than {limit} when its aliases are expanded"),
    )
    .label("the limit is reached here")
    .help("use fewer aliases, or split the file")
}
