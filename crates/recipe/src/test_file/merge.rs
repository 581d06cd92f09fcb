//! The defaults of a test file under the fields of each case.
//!
//! Works on the tree, so that every part keeps its place.

use crate::yaml::{Entry, Node, NodeKind};

/// The fields of a case whose members are merged one by one.
const MAPS: [&str; 9] =
    ["inputs", "env", "files", "stubs", "programs", "answers", "tags", "options", "expect"];
/// The maps of which `null` takes an entry of the defaults away.
const REMOVABLE: [&str; 3] = ["stubs", "programs", "answers"];
/// The maps inside `expect` and `options` whose members are merged one by one.
const INNER: [&str; 7] = ["steps", "values", "calls", "commands", "prompts", "files", "budget"];

/// The tree of a test file in which every case has the defaults.
pub(super) fn with_defaults(mut root: Node) -> Node {
    let defaults = root.get("defaults").map(|entry| entry.value.clone());
    let NodeKind::Map(fields) = &mut root.kind else { return root };
    let cases = fields.iter_mut().find(|entry| entry.key.text == "cases");
    if let Some(NodeKind::List(cases)) = cases.map(|entry| &mut entry.value.kind) {
        for case in cases {
            if let Some(defaults) = &defaults {
                *case = merged(defaults, case, &MAPS);
            }
            drop_removed(case);
        }
    }
    root
}

/// The fields of `over`, and those of `under` that it does not have; the named fields are merged inside.
fn merged(under: &Node, over: &Node, inside: &[&str]) -> Node {
    let (NodeKind::Map(low), NodeKind::Map(high)) = (&under.kind, &over.kind) else { return over.clone() };
    let mut entries: Vec<Entry> = high
        .iter()
        .map(|entry| {
            let default = under.get(&entry.key.text).filter(|_| inside.contains(&entry.key.text.as_str()));
            let value = default.map(|default| merged(&default.value, &entry.value, &INNER));
            Entry { key: entry.key.clone(), value: value.unwrap_or_else(|| entry.value.clone()) }
        })
        .collect();
    entries.extend(low.iter().filter(|entry| over.get(&entry.key.text).is_none()).cloned());
    Node { kind: NodeKind::Map(entries), place: over.place }
}

fn drop_removed(case: &mut Node) {
    let NodeKind::Map(fields) = &mut case.kind else { return };
    for field in fields.iter_mut().filter(|entry| REMOVABLE.contains(&entry.key.text.as_str())) {
        if let NodeKind::Map(entries) = &mut field.value.kind {
            entries.retain(|entry| !entry.value.is_null());
        }
    }
}
