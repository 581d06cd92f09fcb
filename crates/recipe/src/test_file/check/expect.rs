//! Expectations beside the recipe: paths, names of values, and words that a result can have.

use super::CaseChecker;
use crate::{
    diagnostic::{Code, Diagnostic, did_you_mean},
    plan::StepKind,
    test_file::{Expected, Matcher, PathExpected, StepPattern, TestCase, paths::Led},
    value::Value,
};

impl CaseChecker<'_> {
    pub(super) fn expectations(&mut self, case: &TestCase) {
        let expect = &case.expect;
        let words = self.vocabulary;
        for (expected, name, known) in [
            (&expect.status, "status", &words.run_statuses),
            (&expect.outcome, "outcome", &words.outcomes),
            (&expect.goal, "goal", &words.goals),
            (&expect.diagnosis, "diagnosis", &words.classes),
        ] {
            if let Some(expected) = expected {
                self.words(expected, &expected.matcher, name, known);
            }
        }
        for PathExpected { path, expected } in &expect.steps {
            self.find(path, expected.place);
            self.words(expected, &expected.matcher, "status", &words.step_statuses);
        }
        for PathExpected { path, expected } in &expect.calls {
            self.find(path, expected.place);
        }
        for PathExpected { path, expected } in &expect.prompts {
            self.prompt(path, expected);
        }
        for (path, place) in expect.order.iter().chain(&expect.never) {
            self.find(path, *place);
        }
        for (name, expected) in &expect.values {
            if let Some(problem) = self.unknown_name(name, case, expected.place) {
                self.report(problem);
            }
        }
    }

    fn prompt(&mut self, path: &StepPattern, expected: &Expected) {
        if let Some(Led::Step(step)) = self.find(path, expected.place)
            && matches!(step.kind, StepKind::Shell { .. } | StepKind::Ask(_))
        {
            let message = format!("`{}` has no prompt: it is a {} step", step.id, step.kind.word());
            let problem = Diagnostic::new(Code::Contradiction, expected.place, message);
            self.report(problem.label("not an agent step"));
        }
    }

    /// Reports words that a result never has.
    fn words(&mut self, expected: &Expected, matcher: &Matcher, name: &str, known: &[&str]) {
        match matcher {
            Matcher::Equals(value) => self.word(expected, value, name, known),
            Matcher::Words(words) => {
                for value in words.one_of.iter().flatten() {
                    self.word(expected, value, name, known);
                }
                if let Some(not) = &words.not {
                    self.words(expected, not, name, known);
                }
            }
        }
    }

    fn word(&mut self, expected: &Expected, value: &Value, name: &str, known: &[&str]) {
        let text = value.render();
        if known.is_empty() || known.contains(&text.as_ref()) {
            return;
        }
        let problem = Diagnostic::new(Code::UnknownWord, expected.place, format!("`{text}` is not a {name}"));
        let end = format!(".{text}");
        let longer = || known.iter().copied().find(|known| known.ends_with(&end));
        let meant = did_you_mean(&text, known.iter().copied()).or_else(longer);
        let label = meant.map_or("unknown word".to_owned(), |meant| format!("did you mean `{meant}`?"));
        let list: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
        self.report(problem.label(label).help(format!("use one of {}", list.join(", "))));
    }
}
