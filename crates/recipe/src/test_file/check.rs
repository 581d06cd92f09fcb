//! A test file beside its recipe: every path, name and word that it uses must exist there.
//!
//! Never runs a case: a misspelt path would make a test that proves nothing.

mod expect;
mod stubs;

use super::{
    CaseAnswer, CaseReply, StepPattern, TestCase, TestFile,
    paths::{Led, Lost, Paths},
    read::settled,
};
use crate::{
    diagnostic::{Code, Diagnostic, Severity, did_you_mean},
    plan::{AskStep, Plan, Step, StepKind},
    source::Place,
};

/// The words that results use, which the recipe language does not know.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    /// The status of a run.
    pub run_statuses: Vec<&'static str>,
    /// The status of a step.
    pub step_statuses: Vec<&'static str>,
    /// The outcome of a run.
    pub outcomes: Vec<&'static str>,
    /// How far a goal is reached.
    pub goals: Vec<&'static str>,
    /// The classes of failures.
    pub classes: Vec<&'static str>,
}

/// The problems of a test file with its recipe.
pub fn check(file: &TestFile, plan: &Plan, vocabulary: &Vocabulary) -> Vec<Diagnostic> {
    let paths = Paths::new(plan);
    let mut checker = CaseChecker { plan, paths, vocabulary, diagnostics: Vec::new() };
    for case in &file.cases {
        checker.case(case);
    }
    settled(checker.diagnostics)
}

struct CaseChecker<'a> {
    plan: &'a Plan,
    paths: Paths<'a>,
    vocabulary: &'a Vocabulary,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> CaseChecker<'a> {
    fn report(&mut self, problem: Diagnostic) {
        self.diagnostics.push(problem);
    }

    fn case(&mut self, case: &TestCase) {
        for (name, place) in &case.input_places {
            self.input(name, *place);
        }
        self.stubs(case);
        for answer in &case.answers {
            self.answer(answer);
        }
        for kill in &case.kill {
            let pattern = StepPattern::new(&kill.at);
            if !pattern.is_exact() {
                let message = format!("`{}` is a pattern, and `kill` needs one step", kill.at);
                self.report(Diagnostic::new(Code::BadPattern, kill.place, message).label("not one step"));
            }
            self.find(&pattern, kill.place);
        }
        self.expectations(case);
    }

    /// What a path leads to; reports it if it leads nowhere.
    fn find(&mut self, pattern: &StepPattern, place: Place) -> Option<Led<'a>> {
        match self.paths.find(pattern) {
            Ok(led) => Some(led),
            Err(Lost { message, meant, help }) => {
                let problem = Diagnostic::new(Code::UnknownStep, place, message);
                self.report(match meant {
                    Some(meant) => problem
                        .label(format!("did you mean `{meant}`?"))
                        .help(format!("did you mean `{meant}`? {help}")),
                    None => problem.label("no such step").help(help),
                });
                None
            }
        }
    }

    /// Reports a value for a name that looks like a misspelt one. Other names may be read by commands alone.
    fn input(&mut self, name: &str, place: Place) {
        let root = name.split('.').next().unwrap_or(name);
        let units = || self.plan.units.iter();
        let is_known =
            units().any(|unit| unit.names.iter().chain(unit.expected()).any(|known| known == root));
        if is_known || self.paths.is_open() {
            return;
        }
        let declared: Vec<String> = units().flat_map(|unit| unit.expected()).cloned().collect();
        if let Some(meant) = did_you_mean(root, declared.iter().map(String::as_str)) {
            let message = format!("the recipe has no input `{root}`");
            let problem = Diagnostic::new(Code::UnknownSetting, place, message).severity(Severity::Error);
            self.report(problem.label(format!("did you mean `{meant}`?")));
        }
    }

    fn answer(&mut self, answer: &CaseAnswer) {
        let steps = match self.find(&answer.path, answer.place) {
            Some(Led::Step(step)) => vec![step],
            Some(Led::Several(steps)) => steps,
            Some(Led::Open) | None => return,
        };
        let asks: Vec<(&Step, &AskStep)> =
            steps.iter().filter_map(|step| Some((*step, step.kind.as_ask()?))).collect();
        if asks.is_empty() {
            let word = steps.first().map_or("", |step| step.kind.word());
            let message = format!("`{}` asks no question: it is a {word} step", answer.path.as_str());
            let problem =
                Diagnostic::new(Code::Contradiction, answer.place, message).label("not an ask step");
            self.report(problem.help("write the answer of an agent or a command under `stubs`"));
        }
        for (step, ask) in asks {
            self.answer_to(answer, step, ask);
        }
    }

    fn answer_to(&mut self, answer: &CaseAnswer, step: &Step, ask: &AskStep) {
        let (choice, fields) = match &answer.reply {
            CaseReply::Timeout => {
                if step.timeout.is_none() && !ask.has("timeout") {
                    let message = format!("the question of `{}` has no `timeout` that could pass", step.id);
                    let problem = Diagnostic::new(Code::Contradiction, answer.place, message);
                    self.report(
                        problem.label("no timeout").help("add `timeout:` to the step, or choose an answer"),
                    );
                }
                return;
            }
            CaseReply::Choice { choice, fields } => (choice, fields),
        };
        if !ask.has(choice) {
            let list: Vec<String> = ask.choices.iter().map(|known| format!("`{known}`")).collect();
            let problem = Diagnostic::new(
                Code::UnknownWord,
                answer.place,
                format!("`{choice}` is not a choice of `{}`", step.id),
            );
            let meant = did_you_mean(choice, ask.choices.iter().map(String::as_str));
            let label = meant.map_or("not a choice".to_owned(), |meant| format!("did you mean `{meant}`?"));
            self.report(problem.label(label).help(format!("the choices are {}", list.join(", "))));
        }
        let known = || ask.fields.iter().map(|field| field.name.as_str()).chain(["comment"]);
        for field in fields.keys().filter(|field| !known().any(|name| name == *field)) {
            let message = format!("the question of `{}` has no field `{field}`", step.id);
            let problem = Diagnostic::new(Code::UnknownWord, answer.place, message);
            let label = did_you_mean(field, known());
            let label = label.map_or("no such field".to_owned(), |meant| format!("did you mean `{meant}`?"));
            self.report(problem.label(label));
        }
    }

    /// The problem that a name of the context has, if the recipe never gives it a value.
    fn unknown_name(&self, name: &str, case: &TestCase, place: Place) -> Option<Diagnostic> {
        let root = name.split(['.', '[']).next().unwrap_or(name);
        let passed = self.plan.units.iter().flat_map(|unit| &unit.steps).flat_map(|step| match &step.kind {
            StepKind::Nested { overrides, .. } => overrides.iter().map(|(name, _)| name.as_str()).collect(),
            _ => Vec::new(),
        });
        let own = self
            .plan
            .units
            .iter()
            .flat_map(|unit| unit.names.iter().chain(unit.rules.iter().map(|(name, _)| name)));
        let known: Vec<&str> =
            own.map(String::as_str).chain(passed).chain(case.inputs.keys().map(String::as_str)).collect();
        if self.paths.is_open() || known.iter().any(|known| *known == root || *known == name) {
            return None;
        }
        let problem =
            Diagnostic::new(Code::UndefinedVariable, place, format!("the recipe has no value `{root}`"))
                .severity(Severity::Error);
        Some(match did_you_mean(root, known.iter().copied()) {
            Some(meant) => problem.label(format!("did you mean `{meant}`?")),
            None => problem
                .label("no such value")
                .help("name a variable of the recipe, or the `output` of a step"),
        })
    }
}
