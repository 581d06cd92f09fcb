//! The variables of a process, with those of `.env` files and defaults behind them.
//!
//! Never reads the process's own environment: the caller passes it in.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
};

/// Variables in layers: the process's own win, then those of files, then defaults.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    own: BTreeMap<OsString, OsString>,
    files: BTreeMap<String, String>,
    defaults: BTreeMap<String, String>,
}

impl Variables {
    /// The variables of a process.
    pub fn new<N: Into<OsString>, V: Into<OsString>>(own: impl IntoIterator<Item = (N, V)>) -> Variables {
        let own = own.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Variables { own, ..Variables::default() }
    }

    /// The value of a variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.raw(name).filter(|value| !value.is_empty())
    }

    /// The value of a variable that is set outside files, and not empty.
    pub fn exported(&self, name: &str) -> Option<&str> {
        self.own.get(OsStr::new(name)).and_then(|value| value.to_str()).filter(|value| !value.is_empty())
    }

    /// The value of a set variable, even if it is empty.
    pub fn raw(&self, name: &str) -> Option<&str> {
        let own = self.own.get(OsStr::new(name)).and_then(|value| value.to_str());
        let later = || [&self.files, &self.defaults].into_iter().find_map(|all| all.get(name));
        own.or_else(|| later().map(String::as_str))
    }

    /// The names that files define.
    pub fn defined(&self) -> impl Iterator<Item = String> {
        self.files.keys().cloned()
    }

    /// The process's own variables whose names and values are text.
    pub fn texts(&self) -> BTreeMap<String, String> {
        let text = |text: &OsString| text.to_str().map(str::to_owned);
        self.own.iter().filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect()
    }

    /// All variables with this prefix.
    pub fn beginning_with(&self, prefix: &str) -> BTreeMap<String, String> {
        let mut all = self.defaults.clone();
        all.extend(self.files.clone());
        all.extend(self.texts());
        all.retain(|name, _| name.starts_with(prefix));
        all
    }

    /// All set variables, for the programs that steps start.
    pub fn all(&self) -> BTreeMap<OsString, OsString> {
        let mut all = self.own.clone();
        for (name, value) in self.files.iter().chain(&self.defaults) {
            all.entry(name.into()).or_insert_with(|| value.into());
        }
        all
    }

    /// The same variables with these definitions from files. Set variables win, then the first definition.
    #[must_use]
    pub fn with_files(&self, definitions: impl IntoIterator<Item = (String, String)>) -> Variables {
        Variables { files: self.unset(definitions), ..self.clone() }
    }

    /// The same variables with these defaults for names that neither the process nor a file defines.
    #[must_use]
    pub fn with_defaults(&self, definitions: impl IntoIterator<Item = (String, String)>) -> Variables {
        let all = self.defaults.clone().into_iter().chain(definitions);
        Variables { defaults: self.unset(all), ..self.clone() }
    }

    /// The definitions of unset names; the first one of each name.
    fn unset(&self, definitions: impl IntoIterator<Item = (String, String)>) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        // a variable whose value is not text is set too
        for (name, value) in definitions {
            if !self.own.contains_key(OsStr::new(&name)) {
                found.entry(name).or_insert(value);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_process_wins_over_files_and_files_over_defaults() {
        let variables = Variables::new(pairs(&[("A", "own"), ("E", "")]))
            .with_files(pairs(&[("A", "file"), ("B", "file"), ("B", "second"), ("E", "file")]))
            .with_defaults(pairs(&[("B", "default"), ("C", "default")]));
        for (name, raw) in [("A", "own"), ("B", "file"), ("C", "default"), ("E", "")] {
            assert_eq!(variables.raw(name), Some(raw), "{name}");
            assert_eq!(variables.all()[OsStr::new(name)], OsStr::new(raw), "{name}");
            assert_eq!(variables.beginning_with(name)[name], raw, "{name}");
        }
        assert_eq!((variables.get("E"), variables.exported("B"), variables.raw("D")), (None, None, None));
    }
}
