//! Given context values of a request, and how they go over other values.

use engine::run::env_overrides;
use recipe::{
    check::Given,
    member,
    plan::Unit,
    value::{Map, Value},
};

use super::given_answers::is_answer;

/// Given context values.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    /// Values from files: a recipe may leave some of them unused.
    pub shared: Map,
    /// Values for this recipe, in order; they win.
    pub own: Vec<(String, Value)>,
}

impl Inputs {
    /// What the checker has to know about them.
    pub fn given(&self, tags: Vec<String>) -> Given {
        let names = self.shared.keys().chain(self.own.iter().map(|(name, _)| name));
        let typed = names.filter(|name| !is_answer(name)).cloned().collect();
        Given { names: self.names(), typed, tags, ..Given::default() }
    }

    /// The names that get a value.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for name in self.shared.keys().chain(self.own.iter().map(|(name, _)| name)) {
            names.push(name.clone());
            names.extend(name.split_once('.').map(|(root, _)| root.to_owned()));
        }
        names.sort();
        names.dedup();
        names
    }

    /// All given values for a recipe, lowest precedence first: environment, shared values, own values.
    pub fn settings<'a>(&self, unit: &Unit, variable: impl Fn(&str) -> Option<&'a str>) -> Map {
        let mut values = env_overrides::values(unit, variable);
        self.put_over(&mut values, unit);
        values
    }

    /// Puts the values over others.
    pub(super) fn put_over(&self, values: &mut Map, unit: &Unit) {
        member::place_all(values, &unit.context, self.shared.clone());
        for (name, value) in &self.own {
            member::place(values, &unit.context, name, value);
        }
    }

    /// The new values for a resumed run. The environment is not read again.
    pub fn given_anew(&self, unit: &Unit, before: &Map) -> Map {
        let mut values = before.clone();
        self.put_over(&mut values, unit);
        let is_same = |old: &Value, new: &Value| old == new && old.render() == new.render();
        values.retain(|name, value| !before.get(name).is_some_and(|old| is_same(old, value)));
        values
    }
}
