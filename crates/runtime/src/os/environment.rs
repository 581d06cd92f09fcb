//! The environment of a process: the common part of all processes of a run, and the part of this one. Never copies the
//! common part: it has some fifty variables, and a run may have ten thousand steps.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    sync::Arc,
};

/// Variables that git sets for hooks: the repository and its index.
pub const GIT_PLACES: [&str; 7] = [
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_NAMESPACE",
];

/// Names and values; of two entries with the same name the later one counts.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    shared: Arc<BTreeMap<OsString, OsString>>,
    /// Names of the common part that this process does not get.
    hidden: BTreeSet<OsString>,
    own: Vec<(OsString, OsString)>,
}

impl Environment {
    /// The common environment of all processes of a run.
    #[must_use]
    pub fn shared(shared: Arc<BTreeMap<OsString, OsString>>) -> Environment {
        Environment { shared, ..Environment::default() }
    }

    /// Sets a variable.
    pub fn set(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.own.push((name.into(), value.into()));
    }

    /// Sets a variable that is not set yet.
    pub fn set_missing(&mut self, name: &str, value: &OsStr) {
        if self.get(name).is_none() {
            self.set(name, value);
        }
    }

    /// Leaves these variables of the common part out.
    pub fn hide(&mut self, names: BTreeSet<OsString>) {
        self.hidden = names;
    }

    /// The value of a variable.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        let own = self.own.iter().rev().find(|(own, _)| own == name).map(|(_, value)| value);
        let shared = || self.shared.get(OsStr::new(name)).filter(|_| !self.hidden.contains(OsStr::new(name)));
        own.or_else(shared).map(OsString::as_os_str)
    }

    /// All entries, in order of precedence, the last one counting most.
    pub fn entries(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        let own = self.own.iter().map(|(name, value)| (name, value));
        let shared = self.shared.iter().filter(|(name, _)| !self.hidden.contains(*name));
        shared.chain(own).map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The names alone.
    #[must_use]
    pub fn names(&self) -> BTreeSet<Cow<'_, str>> {
        self.entries().map(|(name, _)| name.to_string_lossy()).collect()
    }
}

impl<N: Into<OsString>, V: Into<OsString>> Extend<(N, V)> for Environment {
    fn extend<I: IntoIterator<Item = (N, V)>>(&mut self, entries: I) {
        self.own.extend(entries.into_iter().map(|(name, value)| (name.into(), value.into())));
    }
}

impl From<Vec<(OsString, OsString)>> for Environment {
    fn from(own: Vec<(OsString, OsString)>) -> Environment {
        Environment { own, ..Environment::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_later_entry_counts() {
        let shared = [("A", "shared"), ("B", "shared")].map(|(name, value)| (name.into(), value.into()));
        let mut environment = Environment::shared(Arc::new(shared.into()));
        environment.set("B", "own");
        environment.extend([("C", "first"), ("C", "second")]);
        environment.set_missing("A", "missing".as_ref());
        environment.set_missing("D", "missing".as_ref());
        for (name, value) in [("A", "shared"), ("B", "own"), ("C", "second"), ("D", "missing")] {
            assert_eq!(environment.get(name), Some(OsStr::new(value)), "{name}");
            let last = environment.entries().filter(|(entry, _)| *entry == name).last();
            assert_eq!(last, Some((OsStr::new(name), OsStr::new(value))), "{name}");
        }
        assert_eq!(environment.get("E"), None);
        environment.hide(["A", "B"].map(OsString::from).into());
        assert_eq!((environment.get("A"), environment.get("B")), (None, Some(OsStr::new("own"))));
        environment.hide(BTreeSet::new());
        assert_eq!(environment.names(), ["A", "B", "C", "D"].map(Cow::Borrowed).into());
    }
}
