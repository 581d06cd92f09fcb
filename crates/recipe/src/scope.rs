//! Names and paths: how templates and conditions reach into the context.
//!
//! Never fails: what is not there is [`Value::Null`].

use std::{collections::HashMap, fmt, sync::Arc};

use crate::value::{Map, Segment, Value};

/// Where names are looked up.
pub trait Scope {
    /// The value of a top-level name, if it is defined.
    fn get(&self, name: &str) -> Option<Value>;

    /// What a whole path stands for, where its value cannot be looked into.
    fn whole(&self, _path: &Path) -> Option<Value> {
        None
    }

    /// What a dotted path below a name reads first: the nested recipe that gave the name its value.
    fn below(&self, _name: &str) -> Option<Arc<Final>> {
        None
    }
}

/// What a nested recipe left behind when it ended.
#[derive(Debug, Default)]
pub struct Final {
    /// Its context.
    pub context: Map,
    /// The recipes that were nested in it, by the name that took their value.
    pub below: HashMap<String, Arc<Final>>,
}

impl Scope for Final {
    fn get(&self, name: &str) -> Option<Value> {
        self.context.get(name).cloned()
    }

    fn below(&self, name: &str) -> Option<Arc<Final>> {
        self.below.get(name).cloned()
    }
}

impl Scope for Map {
    fn get(&self, name: &str) -> Option<Value> {
        Map::get(self, name).cloned()
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
    /// The value at this path; [`Value::Null`] if there is none.
    pub fn resolve(&self, scope: &dyn Scope) -> Value {
        if let Some(value) = scope.whole(self) {
            return value;
        }
        if let Some((Segment::Key(first), rest)) = self.segments.split_first()
            && let Some(below) = scope.below(&self.root).filter(|below| below.context.contains_key(first))
        {
            return Path { root: first.clone(), segments: rest.to_vec() }.resolve(&*below);
        }
        let root = scope.get(&self.root).unwrap_or_default();
        match self.segments.iter().fold(root, |value, segment| value.step(segment)) {
            // a name that has dots itself: `--set a.b=c`
            Value::Null => scope.get(&self.to_string()).unwrap_or_default(),
            value => value,
        }
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
