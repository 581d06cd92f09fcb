//! Loops: a step that runs once for each item of a list, or again and again.

use crate::{
    condition::Condition,
    plan::{Step, ValueTemplate},
    syntax::{OnExhausted, When},
    template::Template,
    value::Value,
};

/// How a step runs several times. Each time is an instance of the step.
#[derive(Clone, Debug)]
pub enum Loop {
    /// Once for each item of a list.
    Each(Box<ForEach>),
    /// Again and again, until a condition holds.
    Repeat(Box<Repeat>),
}

/// A loop over a list.
#[derive(Clone, Debug)]
pub struct ForEach {
    /// The list.
    pub list: ValueTemplate,
    /// The list as it is written, to recognise a change.
    pub list_digest: String,
    /// The name of the item inside the step.
    pub item: String,
    /// The most instances at the same time: a number, or a template that leads to one.
    pub max_parallel: ValueTemplate,
    /// Whether the other instances still run after one has failed.
    pub keep_going: bool,
    /// The most items.
    pub max_items: usize,
}

impl ForEach {
    /// The name of the item unless `as` is set.
    pub const ITEM: &str = "item";
    /// The name of the number of the item, from 0.
    pub const INDEX: &str = "item_index";
    /// The name of the number of items.
    pub const COUNT: &str = "item_count";
    /// The most items unless `max_items` is set.
    pub const DEFAULT_ITEMS: usize = 100;
    /// The most items that `max_items` takes.
    pub const MOST_ITEMS: usize = 10_000;

    /// The templates that are read before the first instance begins.
    pub fn templates(&self) -> Vec<&Template> {
        [self.list.templates(), self.max_parallel.templates()].concat()
    }
}

/// A loop with a condition at its end.
#[derive(Clone, Debug)]
pub struct Repeat {
    /// The most iterations.
    pub max: usize,
    /// The condition that ends the loop.
    pub until: Option<Condition>,
    /// Seconds between two iterations.
    pub delay: f64,
    /// What happens if the condition is still false after the last iteration.
    pub on_exhausted: OnExhausted,
}

impl Repeat {
    /// The name of the number of the iteration, from 1.
    pub const ITERATION: &str = "iteration";
    /// The name of the largest number of iterations.
    pub const ITERATIONS: &str = "iterations";
    /// The most iterations that `max` takes.
    pub const MOST: usize = 1_000;

    /// The value of a name that only an iteration sees. `at` counts from 0.
    pub fn local(&self, at: usize, name: &str) -> Option<Value> {
        match name {
            Repeat::ITERATION => Some(Value::from((at + 1) as f64)),
            Repeat::ITERATIONS => Some(Value::from(self.max as f64)),
            _ => None,
        }
    }
}

impl Loop {
    /// The names that only the instances see.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Loop::Each(each) => vec![&each.item, ForEach::INDEX, ForEach::COUNT],
            Loop::Repeat(_) => vec![Repeat::ITERATION, Repeat::ITERATIONS],
        }
    }
}

impl Step {
    /// The loop over a list, if the step has one.
    pub fn each(&self) -> Option<&ForEach> {
        match &self.looped {
            Some(Loop::Each(each)) => Some(each),
            _ => None,
        }
    }

    /// The loop with a condition, if the step has one.
    pub fn repeat(&self) -> Option<&Repeat> {
        match &self.looped {
            Some(Loop::Repeat(repeat)) => Some(repeat),
            _ => None,
        }
    }

    /// Whether only an instance of the step sees this name.
    pub fn is_loop_name(&self, name: &str) -> bool {
        self.looped.as_ref().is_some_and(|looped| looped.names().contains(&name))
    }

    /// One instance of a step with a loop, as a step of its own. Tags, dependencies, the parallel group and `when`
    /// belong to the step as a whole, and so does the condition of a `repeat`.
    #[must_use]
    pub fn instance(&self) -> Step {
        let is_repeat = self.repeat().is_some();
        Step {
            looped: None,
            condition: self.condition.clone().filter(|_| !is_repeat),
            continue_on_error: self.continue_on_error && is_repeat,
            tags: Vec::new(),
            depends_on: Vec::new(),
            group: None,
            when: When::Ok,
            undoes: None,
            ..self.clone()
        }
    }
}
