//! Names that become the same environment variable, in one recipe or together with the recipes that call it.
//!
//! Never looks at who reads a name.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{Given, members::member_names, names::Notes};
use crate::{
    diagnostic::{Code, Diagnostic, Severity},
    env_name,
    plan::Unit,
    source::Place,
};

/// Names that become the same environment variable.
pub(super) struct Collisions<'a> {
    pub(super) unit: &'a Unit,
    pub(super) notes: &'a Notes,
    /// Pairs that have been told, in whichever recipe.
    pub(super) told: &'a mut HashSet<(String, String)>,
    pub(super) diagnostics: &'a mut Vec<Diagnostic>,
}

impl Collisions<'_> {
    pub(super) fn own(&mut self, given: &Given) {
        let mut exact: HashMap<String, String> = HashMap::new();
        let mut upper: HashMap<String, String> = HashMap::new();
        for name in self.unit.names.iter().chain(&given.names) {
            if let Some(variable) = env_name::variable(name)
                && let Some(other) = exact.insert(variable, name.clone())
                && other != *name
            {
                self.report(name, &other, Severity::Error);
            } else if let Some(alias) = env_name::alias(name)
                && let Some(other) = upper.insert(alias.clone(), name.clone())
                && other != *name
            {
                self.report_alias(name, &other, &alias);
            }
        }
        for (name, value) in &self.unit.context {
            for member in member_names(name, value) {
                let Some(variable) = env_name::variable(&member) else { continue };
                match exact.insert(variable, member.clone()) {
                    Some(other) if other != member => self.report(&member, &other, Severity::Error),
                    // a value that is given for a member becomes the member
                    Some(_) if self.unit.names.contains(&member) => self.report_member(&member, name),
                    _ => {}
                }
            }
        }
    }

    /// A recipe usually does not know its callers, so this does not stop it.
    pub(super) fn with_callers(&mut self, above: &BTreeSet<String>) {
        let own: HashSet<&String> = self.unit.names.iter().collect();
        let foreign = above.iter().filter(|name| !own.contains(name));
        let handed: HashMap<String, &String> =
            foreign.filter_map(|name| Some((env_name::variable(name)?, name))).collect();
        for name in &self.unit.names {
            if let Some(variable) = env_name::variable(name)
                && let Some(other) = handed.get(&variable)
            {
                self.report(name, other, Severity::Warning);
            }
        }
    }

    fn report(&mut self, name: &str, other: &str, severity: Severity) {
        let (Some(place), Some(variable)) = (self.place(name, other), env_name::variable(name)) else {
            return;
        };
        if !self.told.insert((name.min(other).to_owned(), name.max(other).to_owned())) {
            return;
        }
        // what the command line or a context file gives stands nowhere in the recipe
        let (label, from) = match self.known(name).or_else(|| self.known(other)) {
            Some(_) => (format!("`{name}` collides with `{other}`"), ""),
            None => (
                "seen by every step".to_owned(),
                ": both are given from outside, by `--set` or a context file",
            ),
        };
        let message = format!("`{other}` and `{name}` both become `{variable}`{from}");
        self.diagnostics.push(
            Diagnostic::new(Code::NameCollision, place, message)
                .severity(severity)
                .label(label)
                .help("rename one of them: in environment names `-` is `_`, and `.` is `__`"),
        );
    }

    /// `a.b` as a name of its own would never be read: the path leads into `a`.
    fn report_member(&mut self, member: &str, map: &str) {
        let Some(place) = self.place(member, map) else { return };
        let message = format!("`{member}` is a name of its own, and also a member of `{map}`");
        self.diagnostics.push(
            Diagnostic::new(Code::NameCollision, place, message)
                .label(format!("`{map}` has it already"))
                .help(format!("rename it, or remove it from `{map}`: templates cannot tell the two apart")),
        );
    }

    fn report_alias(&mut self, name: &str, other: &str, alias: &str) {
        let Some(place) = self.place(name, other) else { return };
        let message = format!(
            "`{other}` and `{name}` have the same uppercase form `{alias}`: neither is exported under it"
        );
        let help = format!("rename one of them, or read them as `{}{name}`", env_name::PREFIX);
        self.diagnostics.push(
            Diagnostic::new(Code::AliasCollision, place, message)
                .label(format!("same as `{other}`"))
                .help(help),
        );
    }

    /// Where a name is declared or stored, or the member's top-level name.
    fn known(&self, name: &str) -> Option<Place> {
        let declared = |name: &str| self.notes.declared.get(name).copied();
        let stored = |name: &str| {
            let step = self.unit.steps.iter().find(|step| step.store.as_deref() == Some(name));
            step.map(|step| step.place)
        };
        let top = |name: &str| name.split_once('.').and_then(|(top, _)| declared(top));
        declared(name).or_else(|| stored(name)).or_else(|| top(name))
    }

    /// Where a name is known, or the one that it collides with.
    fn place(&self, name: &str, other: &str) -> Option<Place> {
        let first = || self.unit.steps.first().map(|step| step.place);
        self.known(name).or_else(|| self.known(other)).or_else(first)
    }
}
