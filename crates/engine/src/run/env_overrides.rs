//! Values for declared names of recipes, from the variables `RECIPE_VAR_…` of the environment in which a run was
//! started.
//!
//! Never reads the environment itself: the caller passes the variables, and the run stores them.

use std::collections::{BTreeMap, BTreeSet};

use recipe::{
    env_name,
    plan::{Plan, StepKind, Target, Unit},
    typed::typed,
    value::{Map, Value},
};

use crate::RunSettings;

/// Variables, by their names.
pub type EnvOverrides = BTreeMap<String, String>;

/// The variables for a name, in order of precedence: also with the name as written, because `env RECIPE_VAR_my-name=…`
/// can set that.
fn variables(name: &str) -> impl Iterator<Item = String> {
    [format!("{}{name}", env_name::PREFIX)].into_iter().chain(env_name::variable(name))
}

/// The values that the environment gives to the names of a recipe.
pub fn values<'a>(unit: &Unit, variable: impl Fn(&str) -> Option<&'a str>) -> Map {
    let defaults = unit.defaults();
    let value = |name: &String, text: &str| match defaults.get(name) {
        // a name that is declared as text stays text
        Some(Value::Text(_)) => Value::text(text),
        _ => typed(text),
    };
    unit.expected()
        .filter_map(|name| {
            let text = variables(name).find_map(|known| variable(&known))?;
            Some((name.clone(), value(name, text)))
        })
        .collect()
}

/// The variables that only sub-recipes may read. All of them are kept if a recipe becomes known only during the run,
/// because its variables are unknown.
pub fn below(plan: &Plan, mut all: EnvOverrides) -> EnvOverrides {
    let names =
        |unit: &Unit| -> BTreeSet<String> { unit.expected().flat_map(|name| variables(name)).collect() };
    // the main recipe passes its own names down
    let own = names(plan.root());
    all.retain(|name, _| !own.contains(name));
    if !plan.units.iter().any(|unit| has_dynamic(unit)) {
        let known: BTreeSet<String> = plan.units.iter().flat_map(|unit| names(unit)).collect();
        all.retain(|name, _| known.contains(name));
    }
    all
}

fn has_dynamic(unit: &Unit) -> bool {
    let is_dynamic =
        |kind: &StepKind| matches!(kind, StepKind::Nested { target: Target::Dynamic { .. }, .. });
    unit.steps.iter().any(|step| is_dynamic(&step.kind))
}

impl RunSettings {
    /// The initial context of a sub-recipe before its caller adds to it.
    pub fn own_context(&self, unit: &Unit) -> Map {
        let mut context = unit.defaults();
        context.extend(values(unit, |name| self.ambient.get(name).map(String::as_str)));
        context
    }
}
