//! Names and paths: how templates and conditions reach into the context.
//!
//! Never fails: a missing value is [`Value::Null`].

use std::{
    collections::{HashMap, HashSet},
    fmt,
    sync::Arc,
};

use crate::{
    step_facts::{STEPS, StepFacts, StepPath},
    value::{Map, Segment, Value},
};

/// Where names are looked up.
pub trait Scope {
    /// The value of a top-level name, if it is defined.
    fn get(&self, name: &str) -> Option<Value>;

    /// Whether the value at a path is known by now; in a dry run steps have none.
    fn is_known(&self, _path: &Path) -> bool {
        true
    }

    /// The sub-recipe that gave a name its value: a dotted path reads from it if the value has no such member.
    fn below(&self, _name: &str) -> Option<Arc<Final>> {
        None
    }

    /// How a step of the recipe went, or an instance of it; `None` if the scope does not know it.
    fn step(&self, id: &str, instance: Option<i64>) -> Option<StepFacts>;
}

/// The final context of a sub-recipe.
#[derive(Debug, Default)]
pub struct Final {
    /// Its context.
    pub context: Map,
    /// Its own sub-recipes, by the name that took their value.
    pub below: HashMap<String, Arc<Final>>,
    /// If a `for_each` step gave the value: the sub-recipe of each instance.
    pub items: Vec<Option<Arc<Final>>>,
}

impl Scope for Final {
    fn get(&self, name: &str) -> Option<Value> {
        self.context.get(name).cloned()
    }

    fn below(&self, name: &str) -> Option<Arc<Final>> {
        self.below.get(name).cloned()
    }

    fn step(&self, _id: &str, _instance: Option<i64>) -> Option<StepFacts> {
        None
    }
}

impl Scope for Map {
    fn get(&self, name: &str) -> Option<Value> {
        Map::get(self, name).cloned()
    }

    fn is_known(&self, path: &Path) -> bool {
        path.root != STEPS
    }

    fn step(&self, _id: &str, _instance: Option<i64>) -> Option<StepFacts> {
        None
    }
}

/// A scope in which some names get their values only later.
pub struct Foreseen<'a> {
    /// The known values.
    pub scope: &'a dyn Scope,
    /// The names whose values are not known yet.
    pub unknown: &'a HashSet<String>,
}

impl Scope for Foreseen<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        self.scope.get(name)
    }

    fn is_known(&self, path: &Path) -> bool {
        let has_value = || path.names().all(|name| !self.unknown.contains(&name));
        self.scope.is_known(path) && (path.root == STEPS || self.unknown.is_empty() || has_value())
    }

    fn below(&self, name: &str) -> Option<Arc<Final>> {
        self.scope.below(name)
    }

    fn step(&self, id: &str, instance: Option<i64>) -> Option<StepFacts> {
        self.scope.step(id, instance)
    }
}

/// A path into the context: `deploy.targets[0].name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// The top-level name.
    pub root: String,
    /// The way from there.
    pub segments: Vec<Segment>,
}

impl Path {
    /// Most dots that a name itself may have.
    pub(crate) const MOST_DOTS: usize = 32;

    /// The value at this path; [`Value::Null`] if the path leads nowhere. Names may have dots themselves: if the first
    /// name leads nowhere, the longest name that leads to a value counts.
    pub fn resolve(&self, scope: &dyn Scope) -> Value {
        if self.root == STEPS {
            return self.resolve_step(scope);
        }
        match self.resolve_from(scope, &self.root, 0) {
            Value::Null if self.may_have_dots() => {
                let names: Vec<String> = self.names().collect();
                let longest = names.iter().enumerate().skip(1).rev();
                let mut values = longest.map(|(at, name)| self.resolve_from(scope, name, at));
                values.find(|value| *value != Value::Null).unwrap_or_default()
            }
            value => value,
        }
    }

    /// The value at this path, if its first `at` segments belong to the name that it begins with.
    fn resolve_from(&self, scope: &dyn Scope, name: &str, at: usize) -> Value {
        let mut rest = &self.segments[at..];
        let mut value = scope.get(name).unwrap_or_default();
        let mut below = scope.below(name);
        if let Some((Segment::Index(at), after)) = rest.split_first()
            && let Some(of_list) = below.as_ref().filter(|below| !below.items.is_empty())
        {
            value = value.step(&rest[0]);
            below = usize::try_from(*at).ok().and_then(|at| of_list.items.get(at).cloned().flatten());
            rest = after;
        }
        if let Some((Segment::Key(first), after)) = rest.split_first()
            && let Some(below) = below
            && !value.has_member(first)
        {
            let path = Path { root: first.clone(), segments: after.to_vec() };
            if path.names().any(|name| below.context.contains_key(&name)) {
                return path.resolve(&*below);
            }
        }
        rest.iter().fold(value, |value, segment| value.step(segment))
    }

    /// The value at a path that asks how a step went.
    fn resolve_step(&self, scope: &dyn Scope) -> Value {
        let found = StepPath::find(self, &|id| scope.step(id, None).is_some());
        let facts = found.as_ref().and_then(|found| scope.step(&found.id, found.instance));
        facts.zip(found).map(|(facts, found)| facts.at(found.rest)).unwrap_or_default()
    }

    fn may_have_dots(&self) -> bool {
        matches!(self.segments.first(), Some(Segment::Key(_)))
    }

    /// The names that the path may begin with, the shortest first: of `a.b[0].c` these are `a` and `a.b`. A hostile
    /// path could begin with more than there is memory for.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let keys = self.segments.iter().map_while(|segment| match segment {
            Segment::Key(key) => Some(key),
            Segment::Index(_) => None,
        });
        let longer = keys.take(Path::MOST_DOTS).scan(self.root.clone(), |name, key| {
            name.push('.');
            name.push_str(key);
            Some(name.clone())
        });
        std::iter::once(self.root.clone()).chain(longer)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.root)?;
        self.segments.iter().try_for_each(|segment| match segment {
            Segment::Key(key) => write!(f, ".{key}"),
            Segment::Index(at) => write!(f, "[{at}]"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{plan::Target, template::Template};

    fn map(json: &str) -> Map {
        let Ok(Value::Map(map)) = Value::from_json(json) else { panic!("{json}") };
        Map::clone(&map)
    }

    /// A recipe `s` that ran a recipe `d`.
    fn nested() -> Final {
        let d = Arc::new(Final { context: map(r#"{"k": "K"}"#), below: HashMap::new(), items: Vec::new() });
        let s = Final {
            context: map(r#"{"d": "L", "only": "ON"}"#),
            below: HashMap::from([("d".to_owned(), d)]),
            items: Vec::new(),
        };
        let json = Final {
            context: map(r#"{"url": "a default", "nothing": "a default", "only": "ON"}"#),
            below: HashMap::new(),
            items: Vec::new(),
        };
        let below = HashMap::from([("s".to_owned(), Arc::new(s)), ("json".to_owned(), Arc::new(json))]);
        let context =
            r#"{"s": "C", "which": "s", "json": "{\"url\": \"from the result\", \"nothing\": null}"}"#;
        Final { context: map(context), below, items: Vec::new() }
    }

    #[test]
    fn paths_read_through_recipes() {
        let (scope, unknown) = (nested(), HashSet::from(["late".to_owned()]));
        let foreseen = Foreseen { scope: &scope, unknown: &unknown };
        for (text, expected) in [
            ("{{s}}", "C"),
            ("{{s.d}}", "L"),
            ("{{s.only}}", "ON"),
            ("{{s.d.k}}", "K"),
            ("{{s.d.nope}}", ""),
            ("{{s.nope}}", ""),
            ("{{json.url}}", "from the result"),
            ("{{json.nothing}}", ""),
            ("{{json.only}}", "ON"),
        ] {
            let template = Template::parse(text).unwrap_or_else(|errors| panic!("{text}: {errors:?}"));
            assert_eq!(template.render(&scope), expected, "{text}");
            assert_eq!(template.render(&foreseen), expected, "{text}");
        }
        let late = Template::parse("{{late}}").unwrap_or_else(|errors| panic!("{errors:?}"));
        assert_eq!(late.render(&foreseen), "{{late}}");
    }

    #[test]
    fn a_recipe_is_called_as_it_is_written_or_rendered() {
        let name = Template::parse("./{{which}}.yaml").unwrap_or_else(|errors| panic!("{errors:?}"));
        let known = Target::Known { unit: crate::plan::UnitId(0), name: "a b".to_owned() };
        assert_eq!(known.called(&nested()), "a b");
        assert_eq!(Target::Dynamic { name, from: String::new() }.called(&nested()), "./s.yaml");
    }
}
