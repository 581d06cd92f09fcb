//! Names that become the same environment variable, in one recipe or together with the recipes that call it.
//!
//! Never looks at the readers of a name.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{Given, members::member_names, names::NameFacts};
use crate::{
    diagnostic::{Code, Diagnostic, Severity},
    env_name,
    plan::{Plan, StepKind, Target, Unit, UnitId},
    source::Place,
};

/// Names that become the same environment variable.
pub(super) struct Collisions<'a> {
    plan: &'a Plan,
    unit: &'a Unit,
    name_facts: &'a NameFacts,
    /// Pairs that have been reported, in any recipe.
    reported: &'a mut HashSet<(String, String)>,
    diagnostics: &'a mut Vec<Diagnostic>,
    /// Where names are stored first.
    stored: HashMap<&'a str, Place>,
}

/// Where two names come from.
enum NameOrigin {
    Recipes,
    /// Given values of the command line or a context file have no place in a recipe.
    Outside,
}

impl<'a> Collisions<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        unit: &'a Unit,
        name_facts: &'a NameFacts,
        reported: &'a mut HashSet<(String, String)>,
        diagnostics: &'a mut Vec<Diagnostic>,
    ) -> Collisions<'a> {
        let mut stored = HashMap::new();
        for step in &unit.steps {
            if let Some(name) = &step.store {
                stored.entry(name.as_str()).or_insert(step.place);
            }
        }
        Collisions { plan, unit, name_facts, reported, diagnostics, stored }
    }

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
                    // a value from outside for a member becomes the member
                    Some(_) if self.unit.names.contains(&member) => self.report_member(&member, name),
                    _ => {}
                }
            }
        }
    }

    /// Variables in a step's `env` that already carry a value of the context.
    pub(super) fn in_step_env(&mut self, outside: &BTreeSet<&str>, below: &[BTreeSet<String>]) {
        if self.name_facts.variables.is_empty() {
            return;
        }
        let members = self.unit.context.iter().flat_map(|(name, value)| member_names(name, value));
        let outside = outside.iter().map(|name| (*name).to_owned());
        let mut passed: HashMap<String, String> = HashMap::new();
        for name in self.unit.names.iter().cloned().chain(members).chain(outside) {
            if let Some(variable) = env_name::variable(&name) {
                passed.entry(variable).or_insert(name);
            }
        }
        for (at, variable, place) in &self.name_facts.variables {
            let child = match self.unit.steps.get(*at).map(|step| &step.kind) {
                Some(StepKind::Nested { target: Target::Known { unit, .. }, .. }) => {
                    below.get(unit.0 as usize)
                }
                _ => None,
            };
            let is_passed = |name: &&String| env_name::variable(name).as_ref() == Some(variable);
            let in_child = || child.into_iter().flatten().find(is_passed);
            if let Some(name) = passed.get(variable).or_else(in_child) {
                self.diagnostics.push(step_variable(variable, name, *place));
            }
        }
    }

    /// Names that a call passes, compared with all other names that the called recipe surely sees.
    pub(super) fn in_calls(&mut self, surely_above: &BTreeSet<String>) {
        let (plan, unit) = (self.plan, self.unit);
        let around = by_variable(unit.declared().chain(surely_above));
        let mut inside: HashMap<UnitId, HashMap<String, &String>> = HashMap::new();
        for passed in self.name_facts.passed.chunk_by(|(one, ..), (other, ..)| one == other) {
            let step = passed.first().and_then(|(at, ..)| unit.steps.get(*at));
            let Some(StepKind::Nested { target, .. }) = step.map(|step| &step.kind) else { continue };
            let child = match target {
                Target::Known { unit, .. } => {
                    Some(&*inside.entry(*unit).or_insert_with(|| by_variable(plan.unit(*unit).declared())))
                }
                Target::Dynamic { .. } => None,
            };
            let mut own: HashMap<String, &String> = HashMap::new();
            for (_, name, place) in passed {
                let Some(variable) = env_name::variable(name) else { continue };
                let known = child.and_then(|child| child.get(&variable)).or_else(|| around.get(&variable));
                let other = known.copied();
                if let Some(other) = own.insert(variable, name).or(other)
                    && other != name
                {
                    self.push((name, other), *place, Severity::Error, NameOrigin::Recipes);
                }
            }
        }
    }

    /// Names of the recipe, compared with those of its callers. A name that a caller only may have is a warning, not an
    /// error: a recipe usually does not know its callers.
    pub(super) fn with_callers(&mut self, above: &BTreeSet<String>, surely_above: &BTreeSet<String>) {
        let declared: HashSet<&String> = self.unit.declared().collect();
        let own: HashSet<&String> = self.unit.names.iter().collect();
        // if two names share a variable, the sure one counts
        let foreign = above.iter().chain(surely_above).filter(|name| !own.contains(name));
        let passed = by_variable(foreign);
        for name in &self.unit.names {
            if let Some(variable) = env_name::variable(name)
                && let Some(other) = passed.get(&variable)
            {
                let is_sure = declared.contains(name) && surely_above.contains(*other);
                self.report(name, other, if is_sure { Severity::Error } else { Severity::Warning });
            }
        }
    }

    fn report(&mut self, name: &str, other: &str, severity: Severity) {
        let Some(place) = self.place(name, other) else { return };
        let origin = match self.known(name).or_else(|| self.known(other)) {
            Some(_) => NameOrigin::Recipes,
            None => NameOrigin::Outside,
        };
        self.push((name, other), place, severity, origin);
    }

    fn push(&mut self, (name, other): (&str, &str), place: Place, severity: Severity, origin: NameOrigin) {
        let Some(variable) = env_name::variable(name) else { return };
        if !self.reported.insert((name.min(other).to_owned(), name.max(other).to_owned())) {
            return;
        }
        let (label, from) = match origin {
            NameOrigin::Recipes => (format!("`{name}` collides with `{other}`"), ""),
            NameOrigin::Outside => (
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

    /// `a.b` as a separate name would never be read: the path leads into `a`.
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
        let declared = |name: &str| self.name_facts.declared.get(name).copied();
        let stored = |name: &str| self.stored.get(name).copied();
        let top = |name: &str| name.split_once('.').and_then(|(top, _)| declared(top));
        declared(name).or_else(|| stored(name)).or_else(|| top(name))
    }

    /// Where a name is known, or the one that it collides with.
    fn place(&self, name: &str, other: &str) -> Option<Place> {
        let first = || self.unit.steps.first().map(|step| step.place);
        self.known(name).or_else(|| self.known(other)).or_else(first)
    }
}

/// Names by the variables that they become; of two with the same one, the last.
fn by_variable<'n>(names: impl Iterator<Item = &'n String>) -> HashMap<String, &'n String> {
    names.filter_map(|name| Some((env_name::variable(name)?, name))).collect()
}

fn step_variable(variable: &str, name: &str, place: Place) -> Diagnostic {
    let message = format!("`{variable}` already carries the value of `{name}` in every step");
    Diagnostic::new(Code::NameCollision, place, message)
        .label(format!("would change what `{{{{{name}}}}}` means"))
        .help("use another name, or set the variable of the context under `context:`")
}
