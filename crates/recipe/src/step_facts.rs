//! How a step went, as conditions and templates of its recipe can ask: `steps.ID.status`, `steps.ID[0].failed`.
//!
//! Never looks at a run: a [`crate::scope::Scope`] knows the steps.

use crate::{
    scope::Path,
    value::{Number, Segment, Value},
};

/// The name under which the steps of a recipe are found.
pub const STEPS: &str = "steps";

/// Whether a variable name belongs to the steps.
pub fn is_reserved(name: &str) -> bool {
    name.trim().split('.').next() == Some(STEPS)
}

/// What can be asked about a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepFact {
    /// Its status, as a word.
    Status,
    /// Whether it failed.
    Failed,
    /// Whether it did its work.
    Completed,
    /// Whether it was skipped.
    Skipped,
    /// The exit code of its process.
    ExitCode,
    /// Its error message.
    Error,
    /// Its value.
    Output,
    /// How long it took, in seconds.
    Duration,
}

impl StepFact {
    /// All of them, in the order of the manual.
    pub const ALL: [StepFact; 8] = [
        StepFact::Status,
        StepFact::Failed,
        StepFact::Completed,
        StepFact::Skipped,
        StepFact::ExitCode,
        StepFact::Error,
        StepFact::Output,
        StepFact::Duration,
    ];

    /// Its name in a path.
    pub fn as_str(self) -> &'static str {
        match self {
            StepFact::Status => "status",
            StepFact::Failed => "failed",
            StepFact::Completed => "completed",
            StepFact::Skipped => "skipped",
            StepFact::ExitCode => "exit_code",
            StepFact::Error => "error",
            StepFact::Output => "output",
            StepFact::Duration => "duration",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<StepFact> {
        StepFact::ALL.into_iter().find(|fact| fact.as_str() == name)
    }
}

/// How a step went.
#[derive(Clone, Debug, PartialEq)]
pub struct StepFacts {
    /// Its status, as a word.
    pub status: &'static str,
    /// Whether it did its work.
    pub is_done: bool,
    /// Whether it failed.
    pub has_failed: bool,
    /// Whether it was skipped.
    pub is_skipped: bool,
    /// The exit code of its process, if it had one.
    pub exit_code: Option<i32>,
    /// Its error message; empty if it has none.
    pub error: String,
    /// Its value; empty text if it has none.
    pub output: Value,
    /// How long it took, in seconds, if it began.
    pub duration: Option<f64>,
}

impl StepFacts {
    fn value(&self, fact: StepFact) -> Value {
        let number = |number: f64| Value::Number(Number::from_f64(number));
        match fact {
            StepFact::Status => Value::from(self.status),
            StepFact::Failed => Value::from(self.has_failed),
            StepFact::Completed => Value::from(self.is_done),
            StepFact::Skipped => Value::from(self.is_skipped),
            StepFact::ExitCode => self.exit_code.map(|code| number(f64::from(code))).unwrap_or_default(),
            StepFact::Error => Value::from(self.error.as_str()),
            StepFact::Output => self.output.clone(),
            StepFact::Duration => self.duration.map(number).unwrap_or_default(),
        }
    }

    /// The value at the end of a path whose step this is.
    pub(crate) fn at(&self, rest: &[Segment]) -> Value {
        let Some((Segment::Key(name), rest)) = rest.split_first() else { return Value::Null };
        let value = StepFact::named(name).map(|fact| self.value(fact)).unwrap_or_default();
        rest.iter().fold(value, |value, segment| value.step(segment))
    }
}

/// A path below `steps`, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepPath<'p> {
    /// The id of the step.
    pub id: String,
    /// The number of the instance, if the path names one; negative ones count from the end.
    pub instance: Option<i64>,
    /// What is asked about it.
    pub rest: &'p [Segment],
}

impl StepPath<'_> {
    /// Takes a path apart; `None` if it does not lead to a step. Ids may have dots: the longest one counts.
    pub fn find<'p>(path: &'p Path, is_step: &dyn Fn(&str) -> bool) -> Option<StepPath<'p>> {
        let keys = path.segments.iter().map_while(|segment| match segment {
            Segment::Key(key) => Some(key.as_str()),
            Segment::Index(_) => None,
        });
        let keys: Vec<&str> = keys.take(Path::MOST_DOTS).collect();
        let mut ids = (1..=keys.len()).rev().map(|count| (count, keys[..count].join(".")));
        let (count, id) = ids.find(|(_, id)| path.root == STEPS && is_step(id))?;
        let (instance, rest) = match &path.segments[count..] {
            [Segment::Index(at), rest @ ..] => (Some(*at), rest),
            rest => (None, rest),
        };
        Some(StepPath { id, instance, rest })
    }
}

/// Whether a path reads the value of the step with this id.
pub fn reads_output(path: &Path, id: &str) -> bool {
    let found = StepPath::find(path, &|found| found == id);
    let output = Segment::Key(StepFact::Output.as_str().to_owned());
    found.is_some_and(|found| found.rest.first() == Some(&output))
}

/// The item that an index means, which may count from the end.
pub fn nth<T>(items: &[T], at: i64) -> Option<&T> {
    let at = if at < 0 { at + items.len() as i64 } else { at };
    usize::try_from(at).ok().and_then(|at| items.get(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::parse_path;

    #[test]
    fn paths_lead_to_the_step_with_the_longest_id() {
        let is_step = |id: &str| ["a", "a.b", "x-y"].contains(&id);
        for (text, expected) in [
            ("steps.a.status", Some(("a", None, 1))),
            ("steps.a.b.status", Some(("a.b", None, 1))),
            ("steps.x-y.failed", Some(("x-y", None, 1))),
            ("steps.a[2].output.url", Some(("a", Some(2), 2))),
            ("steps.a", Some(("a", None, 0))),
            ("steps.nope.status", None),
            ("steps", None),
            ("other.a.status", None),
        ] {
            let path = parse_path(text).unwrap_or_else(|| panic!("{text}"));
            let found = StepPath::find(&path, &is_step);
            let found = found.as_ref().map(|found| (found.id.as_str(), found.instance, found.rest.len()));
            assert_eq!(found, expected, "{text}");
        }
    }
}
