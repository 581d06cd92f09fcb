//! Values for the names that recipes declare, from variables `RECIPE_VAR_…` of the environment that a run was started in.
//!
//! Never reads the environment itself: the variables are handed in, and kept with the run.

use std::collections::{BTreeMap, BTreeSet};

use recipe::{
    env_name,
    plan::{Plan, StepKind, Target, Unit},
    typed::typed,
    value::{Map, Value},
};

use crate::RunSettings;

/// Variables, by their names.
pub type Ambient = BTreeMap<String, String>;

/// The variables that give a name its value, the first one that is set: also as the name is written, because
/// `env RECIPE_VAR_my-name=…` can set that.
fn variables(name: &str) -> impl Iterator<Item = String> {
    [format!("{}{name}", env_name::PREFIX)].into_iter().chain(env_name::variable(name))
}

/// The values that the environment gives to the names of a recipe.
pub fn values<'a>(unit: &Unit, variable: impl Fn(&str) -> Option<&'a str>) -> Map {
    let defaults = unit.defaults();
    let value = |name: &String, text: &str| match defaults.get(name) {
        // what is declared as text stays text, whatever it looks like
        Some(Value::Text(_)) => Value::text(text),
        _ => typed(text),
    };
    unit.declared()
        .filter_map(|name| {
            let text = variables(name).find_map(|known| variable(&known))?;
            Some((name.clone(), value(name, text)))
        })
        .collect()
}

/// Of all variables those that the recipes below the first may read; all of them, if some become known only while
/// the run is under way.
pub fn below(plan: &Plan, mut all: Ambient) -> Ambient {
    let dynamic = |unit: &Unit| {
        unit.steps
            .iter()
            .any(|step| matches!(&step.kind, StepKind::Nested { target: Target::Dynamic { .. }, .. }))
    };
    if !plan.units.iter().any(|unit| dynamic(unit)) {
        let nested = plan.units.iter().filter(|unit| unit.path != plan.root().path);
        let known: BTreeSet<String> =
            nested.flat_map(|unit| unit.declared()).flat_map(|name| variables(name)).collect();
        all.retain(|name, _| known.contains(name));
    }
    all
}

impl RunSettings {
    /// What a nested recipe begins with before its caller adds to it.
    pub fn own_context(&self, unit: &Unit) -> Map {
        let mut context = unit.defaults();
        context.extend(values(unit, |name| self.ambient.get(name).map(String::as_str)));
        context
    }
}
