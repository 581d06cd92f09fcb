//! Each expectation beside the facts.

use recipe::{
    source::Place,
    test_file::{Expectations, Expected, Matcher, PathExpected, StepPattern, Vocabulary, text_fits},
    value::{Map, Segment, Value},
};

use super::{CaseFacts, FileFact, StepFact, Unmet};
use crate::{RunStatus, StepStatus, failure::Class, orchestration::GoalStatus};

/// The words that results can have.
pub fn vocabulary() -> Vocabulary {
    Vocabulary {
        run_statuses: RunStatus::ALL.iter().map(|status| status.as_str()).collect(),
        step_statuses: StepStatus::ALL.iter().map(|status| status.as_str()).collect(),
        outcomes: vec!["ok", "failed", "needs_human", "blocked", "cancelled", "interrupted"],
        goals: GoalStatus::ALL.iter().map(|goal| goal.as_str()).collect(),
        classes: Class::ALL.iter().map(|class| class.as_str()).collect(),
    }
}

/// The expectations that are not met, in the order of the fields.
pub fn judge(expect: &Expectations, facts: &CaseFacts) -> Vec<Unmet> {
    let mut judge = Judge { facts, unmet: Vec::new() };
    judge.run(expect);
    judge.steps(expect);
    judge.texts(expect);
    judge.files(expect);
    judge.unmet
}

struct Judge<'a> {
    facts: &'a CaseFacts,
    unmet: Vec<Unmet>,
}

impl Judge<'_> {
    fn report(
        &mut self,
        what: impl Into<String>,
        expected: impl Into<String>,
        actual: String,
        place: Option<Place>,
    ) {
        self.unmet.push(Unmet { what: what.into(), expected: expected.into(), actual, place });
    }

    /// One value.
    fn value(&mut self, what: &str, expected: &Expected, actual: Option<&Value>) {
        if !expected.matcher.holds(actual) {
            self.report(what, expected.matcher.to_string(), shown(actual), Some(expected.place));
        }
    }

    fn run(&mut self, expect: &Expectations) {
        let facts = self.facts;
        let exit = Value::from(f64::from(facts.exit));
        match &expect.exit {
            Some(expected) => self.value("exit", expected, Some(&exit)),
            None if facts.exit != 0 => {
                let why = facts.error.as_deref().map(|error| format!(" ({})", first_line(error)));
                let actual = format!("{}{}", facts.exit, why.unwrap_or_default());
                self.report("exit", "0", actual, expect.place);
            }
            None => {}
        }
        let text = |text: &str| Value::text(text);
        for (what, expected, actual) in [
            ("status", &expect.status, Some(text(&facts.status))),
            ("outcome", &expect.outcome, Some(text(&facts.outcome))),
            ("goal", &expect.goal, facts.goal.as_deref().map(text)),
            ("output", &expect.output, Some(text(&facts.output))),
            ("error", &expect.error, facts.error.as_deref().map(text)),
            ("diagnosis", &expect.diagnosis, facts.diagnosis.as_deref().map(text)),
        ] {
            if let Some(expected) = expected {
                self.value(what, expected, actual.as_ref());
            }
        }
        for (name, expected) in &expect.values {
            let actual = read_path(&facts.context, name);
            self.value(&format!("values.{name}"), expected, actual.as_ref());
        }
    }

    fn steps(&mut self, expect: &Expectations) {
        let facts = self.facts;
        for PathExpected { path, expected } in &expect.steps {
            let found = named(&facts.steps, path);
            let what = |path: &str| format!("steps.{path}");
            if found.is_empty() {
                self.value(&what(path.as_str()), expected, None);
            }
            for step in found {
                self.value(&what(&step.path), expected, Some(&Value::text(step.status.as_str())));
            }
        }
        for PathExpected { path, expected } in &expect.calls {
            let calls = facts.calls.iter().filter(|call| path.matches(call)).count();
            // a question and a recipe step call nothing themselves
            let tries = || named(&facts.steps, path).iter().map(|step| step.attempts as usize).sum();
            let calls = if calls > 0 { calls } else { tries() };
            self.value(&format!("calls.{}", path.as_str()), expected, Some(&Value::from(calls as f64)));
        }
        for (path, place) in &expect.never {
            let started = facts.started.iter().find(|started| path.matches(started));
            if let Some(started) = started {
                let actual = format!("`{started}` started");
                self.report(format!("never.{}", path.as_str()), "not started", actual, Some(*place));
            }
        }
        self.order(&expect.order);
    }

    /// Each step starts after the one before it in the list.
    fn order(&mut self, order: &[(StepPattern, Place)]) {
        let started = &self.facts.started;
        let mut from = 0;
        let mut last: Option<&str> = None;
        for (path, place) in order {
            let next = started.iter().skip(from).position(|started| path.matches(started));
            if let Some(at) = next {
                from += at + 1;
                last = Some(path.as_str());
                continue;
            }
            let before = started.iter().any(|started| path.matches(started));
            let expected = match last {
                Some(last) => format!("`{}` starts after `{last}`", path.as_str()),
                None => format!("`{}` starts", path.as_str()),
            };
            let actual = match before {
                true => format!("it started before; the order was {}", started.join(", ")),
                false => format!("it did not start; the order was {}", started.join(", ")),
            };
            self.report("order", expected, actual, Some(*place));
            return;
        }
    }

    fn texts(&mut self, expect: &Expectations) {
        let facts = self.facts;
        for PathExpected { path, expected } in &expect.prompts {
            let prompts = facts.prompts.iter().filter(|(step, _)| path.matches(step));
            let prompts: Vec<Value> = prompts.map(|(_, prompt)| Value::text(prompt.as_str())).collect();
            let all: Vec<&Value> = prompts.iter().collect();
            if !expected.matcher.holds_for_one(&all) {
                let actual = match prompts.as_slice() {
                    [] => "no prompt".to_owned(),
                    [one] => shown(Some(one)),
                    several => several.iter().map(|one| shown(Some(one))).collect::<Vec<_>>().join("\nand "),
                };
                let what = format!("prompts.{}", path.as_str());
                self.report(what, expected.matcher.to_string(), actual, Some(expected.place));
            }
        }
        let lines: Vec<String> = facts.commands.iter().map(|argv| argv.join(" ")).collect();
        for (pattern, place) in &expect.commands.never {
            if let Some(at) = lines.iter().position(|line| text_fits(pattern, line)) {
                let expected = format!("no call of `{pattern}`");
                self.report("commands.never", expected, quoted_argv(&facts.commands[at]), Some(*place));
            }
        }
        for (pattern, place) in &expect.commands.contains {
            if !lines.iter().any(|line| text_fits(pattern, line)) {
                let expected = format!("a call of `{pattern}`");
                self.report("commands.contains", expected, all_calls(&facts.commands), Some(*place));
            }
        }
        if let Some(expected) = &expect.commands.length {
            let count = Value::from(lines.len() as f64);
            if !expected.matcher.holds(Some(&count)) {
                let actual = format!("{}: {}", lines.len(), all_calls(&facts.commands));
                self.report("commands.length", expected.matcher.to_string(), actual, Some(expected.place));
            }
        }
    }

    fn files(&mut self, expect: &Expectations) {
        let facts = self.facts;
        for (path, expected) in &expect.files {
            let found = facts.files.iter().find(|(known, _)| known == path);
            let actual = found.map_or(FileFact::Absent, |(_, fact)| fact.clone());
            self.value(&format!("files.{path}"), expected, actual.to_value().as_ref());
        }
        if let Some(expected) = &expect.changed {
            let mut changed: Vec<&str> = facts.changed.iter().map(String::as_str).collect();
            changed.sort_unstable();
            let changed = Value::list(changed.into_iter().map(Value::text).collect());
            let sorted = Expected { matcher: sorted(&expected.matcher), place: expected.place };
            self.value("changed", &sorted, Some(&changed));
        }
    }
}

/// An expected list of paths in any order is the sorted one; one path alone is a list of one.
fn sorted(matcher: &Matcher) -> Matcher {
    let texts = match matcher {
        Matcher::Equals(Value::List(items)) => items.iter().map(|item| item.render().into_owned()).collect(),
        Matcher::Equals(Value::Text(one)) => vec![one.to_string()],
        _ => return matcher.clone(),
    };
    let mut texts: Vec<String> = texts;
    texts.sort();
    Matcher::Equals(Value::list(texts.into_iter().map(Value::text).collect()))
}

/// The steps that a path names: the step itself if the result has it, otherwise all that fit.
fn named<'a>(steps: &'a [StepFact], path: &StepPattern) -> Vec<&'a StepFact> {
    let exact: Vec<&StepFact> = steps.iter().filter(|step| step.path == path.as_str()).collect();
    match exact.is_empty() {
        false => exact,
        true => steps.iter().filter(|step| path.matches(&step.path)).collect(),
    }
}

/// The value at a path of the context: `review.verdict`, `plan.files[0]`.
fn read_path(context: &Map, path: &str) -> Option<Value> {
    if let Some(value) = context.get(path) {
        return Some(value.clone());
    }
    // names may have dots, so the longest known beginning is the name
    let ends = path.match_indices(['.', '[']).map(|(at, _)| at).collect::<Vec<_>>();
    let (at, mut value) =
        ends.into_iter().rev().find_map(|at| Some((at, context.get(&path[..at])?.clone())))?;
    for segment in segments(&path[at..])? {
        value = match (&value, &segment) {
            (Value::Map(members), Segment::Key(key)) => members.get(key)?.clone(),
            (Value::List(_), Segment::Index(_)) => match value.step(&segment) {
                Value::Null => return None,
                found => found,
            },
            _ => return None,
        };
    }
    Some(value)
}

fn segments(rest: &str) -> Option<Vec<Segment>> {
    let mut found = Vec::new();
    let mut rest = rest;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix('[') {
            let (index, after) = inner.split_once(']')?;
            let key = index.trim_matches(['\'', '"']);
            found.push(index.parse().map_or_else(|_| Segment::Key(key.to_owned()), Segment::Index));
            rest = after;
        } else {
            let name = rest.strip_prefix('.')?;
            let end = name.find(['.', '[']).unwrap_or(name.len());
            found.push(Segment::Key(name[..end].to_owned()));
            rest = &name[end..];
        }
    }
    Some(found)
}

fn shown(actual: Option<&Value>) -> String {
    actual.map_or_else(|| "absent".to_owned(), Value::to_json)
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim()
}

fn quoted_argv(argv: &[String]) -> String {
    Value::list(argv.iter().map(|argument| Value::text(argument.as_str())).collect()).to_json()
}

fn all_calls(commands: &[Vec<String>]) -> String {
    match commands {
        [] => "no calls".to_owned(),
        calls => calls.iter().map(|argv| quoted_argv(argv)).collect::<Vec<_>>().join(" "),
    }
}
