//! A started process, as the journal stores it.

use std::{borrow::Cow, collections::BTreeSet};

use serde::{Deserialize, Serialize};

use super::OutputRef;

/// A process that was started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spawned {
    /// The step.
    pub path: String,
    /// The attempt.
    pub attempt: u32,
    /// Its process id, which is also its group.
    pub pid: u32,
    /// The start time according to the kernel, to distinguish it from a later process with the same id.
    pub start_time: u64,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Its directory.
    pub cwd: String,
    /// Its purpose, if it is not the attempt itself: the name of a hook, `ensure` or `repair`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// The names of its environment variables, as a difference to the process before it.
    #[serde(default, skip_serializing_if = "NameChange::is_empty")]
    pub env: NameChange,
    /// The prompt that an agent program got, as it was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<OutputRef>,
}

/// The difference between two sets of names: a run starts many processes with nearly the same environment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NameChange {
    /// New names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<String>,
    /// Removed names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
}

impl NameChange {
    /// The difference from `names` to `next`; `names` becomes `next`.
    pub fn follow(names: &mut BTreeSet<String>, next: &BTreeSet<Cow<'_, str>>) -> NameChange {
        let added = next.iter().filter(|name| !names.contains(name.as_ref())).map(ToString::to_string);
        let gone = names.iter().filter(|name| !next.contains(name.as_str())).cloned();
        let change = NameChange { added: added.collect(), gone: gone.collect() };
        change.apply(names);
        change
    }

    /// Applies it to `names`.
    pub fn apply(&self, names: &mut BTreeSet<String>) {
        names.extend(self.added.iter().cloned());
        for name in &self.gone {
            names.remove(name);
        }
    }

    fn is_empty(&self) -> bool {
        self.added.is_empty() && self.gone.is_empty()
    }
}
