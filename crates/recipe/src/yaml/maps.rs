//! The entries of one map: keys are text and unique, and `<<` brings in the entries of other maps.
//!
//! Never stops at the first problem: each is reported, and the map stays usable.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use super::{
    Key,
    shared::{SharedEntry, SharedKind, SharedNode},
};
use crate::{
    diagnostic::{Code, Diagnostic},
    source::Place,
};

/// The key.
pub(super) enum RawKey {
    /// A key.
    Text(Key),
    /// A plain `<<`.
    Merge(Place),
    /// Something that cannot be a key; already reported.
    Unusable,
}

/// Whether the tree has an entry whose key is already in its map.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Duplicates {
    Dropped,
    Kept,
}

/// The entries, in order, with merged ones at the place of their `<<`. `line` is used only for messages.
pub(super) fn finish_map(
    raw: Vec<(RawKey, Rc<SharedNode>)>,
    line: impl Fn(Place) -> usize,
    diagnostics: &mut Vec<Diagnostic>,
    duplicates: Duplicates,
) -> Vec<SharedEntry> {
    let first = first_places(&raw);
    let mut merged_at = None;
    let mut entries = Vec::with_capacity(raw.len());
    let mut merged = HashSet::new();
    for (key, value) in raw {
        match key {
            RawKey::Text(key) if first.get(&key.text) == Some(&key.place) => {
                entries.push(SharedEntry { key, value })
            }
            RawKey::Text(key) => {
                let before = first.get(&key.text).copied().unwrap_or(key.place);
                diagnostics.push(duplicate(&key.text, key.place, line(before)));
                if duplicates == Duplicates::Kept {
                    entries.push(SharedEntry { key, value });
                }
            }
            RawKey::Merge(place) => match merged_at {
                None => {
                    merged_at = Some(place);
                    merge(&value, place, diagnostics, &mut |entry| {
                        if !first.contains_key(&entry.key.text) && merged.insert(entry.key.text.clone()) {
                            entries.push(entry.clone());
                        }
                    });
                }
                Some(before) => diagnostics.push(
                    duplicate("<<", place, line(before))
                        .help("merge several maps at once: `<<: [*first, *second]`"),
                ),
            },
            RawKey::Unusable => {}
        }
    }
    entries
}

fn first_places(raw: &[(RawKey, Rc<SharedNode>)]) -> HashMap<String, Place> {
    let mut first = HashMap::with_capacity(raw.len());
    for (key, _) in raw {
        if let RawKey::Text(key) = key {
            first.entry(key.text.clone()).or_insert(key.place);
        }
    }
    first
}

fn duplicate(key: &str, place: Place, line: usize) -> Diagnostic {
    Diagnostic::new(Code::DuplicateKey, place, format!("duplicate key `{key}`"))
        .label(format!("first in line {line}"))
        .help(format!("remove one of them, or rename it; the first is in line {line}"))
}

/// Hands out the entries of the map, or of each map of the list, that a `<<` names.
fn merge(
    value: &SharedNode,
    key: Place,
    diagnostics: &mut Vec<Diagnostic>,
    take: &mut impl FnMut(&SharedEntry),
) {
    match &value.kind {
        SharedKind::Map(entries) => entries.iter().for_each(take),
        SharedKind::List(items) => {
            for item in items {
                match &item.kind {
                    SharedKind::Map(entries) => entries.iter().for_each(&mut *take),
                    _ => diagnostics.push(not_a_map(item, key)),
                }
            }
        }
        SharedKind::Scalar(_) => diagnostics.push(not_a_map(value, key)),
    }
}

fn not_a_map(value: &SharedNode, key: Place) -> Diagnostic {
    let message = format!("`<<` merges maps, but this is {}", value.type_name());
    // an aliased value is elsewhere: point at the `<<` that uses it
    let place = if value.place.span.start > key.span.start { value.place } else { key };
    Diagnostic::new(Code::WrongType, place, message)
        .label("expected a map")
        .help("merge a map, an alias to one, or a list of them; a quoted `\"<<\"` is an ordinary key")
}
