//! What must come of a case.

use super::StepPattern;
use crate::{source::Place, value::Value};

/// What must come of a case; absent is not looked at, except that the exit code must be 0.
#[derive(Clone, Debug, Default)]
pub struct Expectations {
    /// The exit code.
    pub exit: Option<Expected>,
    /// The status of the run.
    pub status: Option<Expected>,
    /// The outcome of the run.
    pub outcome: Option<Expected>,
    /// How far the goal of a task is reached.
    pub goal: Option<Expected>,
    /// The status of steps.
    pub steps: Vec<PathExpected>,
    /// Values of the final context, by path: `review.verdict`.
    pub values: Vec<(String, Expected)>,
    /// The result text.
    pub output: Option<Expected>,
    /// The error of the run.
    pub error: Option<Expected>,
    /// The class of the failure.
    pub diagnosis: Option<Expected>,
    /// Steps that started in this order.
    pub order: Vec<(StepPattern, Place)>,
    /// Steps that did not start.
    pub never: Vec<(StepPattern, Place)>,
    /// How often steps were tried.
    pub calls: Vec<PathExpected>,
    /// Calls of `programs`.
    pub commands: CommandsExpected,
    /// What agents were asked.
    pub prompts: Vec<PathExpected>,
    /// Files of the scratch folder.
    pub files: Vec<(String, Expected)>,
    /// All paths that differ from the fixture, sorted.
    pub changed: Option<Expected>,
    /// Whether the case is compared with its snapshot, and the place that says so.
    pub snapshot: Option<Place>,
    /// The place of the whole, or of the case if it expects nothing.
    pub place: Option<Place>,
}

/// An expectation about the steps that a path names.
#[derive(Clone, Debug)]
pub struct PathExpected {
    /// The steps.
    pub path: StepPattern,
    /// What is expected of them.
    pub expected: Expected,
}

/// An expectation and its place.
#[derive(Clone, Debug)]
pub struct Expected {
    /// What is expected.
    pub matcher: Matcher,
    /// Its place.
    pub place: Place,
}

/// What a value must be.
#[derive(Clone, Debug, PartialEq)]
pub enum Matcher {
    /// Equal to this.
    Equals(Value),
    /// All of these hold.
    Words(Box<MatcherWords>),
}

/// The words of a matcher; all that are there must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MatcherWords {
    /// A text has this part, a list this item, a map these members; of a list, all of them.
    pub contains: Option<Value>,
    /// A text matches this regular expression somewhere.
    pub matches: Option<String>,
    /// Whether there is no value.
    pub absent: Option<bool>,
    /// Equal to one of these.
    pub one_of: Option<Vec<Value>>,
    /// The number of characters, items or members.
    pub length: Option<Matcher>,
    /// This does not hold.
    pub not: Option<Matcher>,
}

/// Calls of `programs`, each as a line of its name and arguments.
#[derive(Clone, Debug, Default)]
pub struct CommandsExpected {
    /// Patterns that no call fits.
    pub never: Vec<(String, Place)>,
    /// Patterns that some call fits.
    pub contains: Vec<(String, Place)>,
    /// The number of calls.
    pub length: Option<Expected>,
}
