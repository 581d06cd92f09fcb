//! Stubs beside their steps: each has a step, fits its kind, and does not compete with another.

use super::CaseChecker;
use crate::{
    diagnostic::{Code, Diagnostic},
    plan::{Step, StepKind},
    syntax::StepType,
    test_file::{
        ReplyKind, Selected, StepPattern, Stub, StubCall, StubKey, TestCase,
        paths::{Led, without_numbers},
        select,
    },
};

impl CaseChecker<'_> {
    pub(super) fn stubs(&mut self, case: &TestCase) {
        for stub in &case.stubs {
            match &stub.key {
                StubKey::Steps(pattern) => self.stub(stub, pattern),
                StubKey::Recovery(pattern) => self.recovery(stub, pattern),
                StubKey::Repair => self.agent_only(stub, "repair"),
            }
        }
        self.ties(&case.stubs);
    }

    fn stub(&mut self, stub: &Stub, pattern: &StepPattern) {
        match self.find(pattern, stub.place) {
            Some(Led::Step(step)) => self.fits(stub, step),
            Some(Led::Several(steps)) => {
                let fits = |step: &&Step| stub.plan.replies().iter().all(|reply| reply.fits(kind_of(step)));
                if !steps.iter().any(fits) {
                    let message = format!("no step of `{}` can answer like this", pattern.as_str());
                    let problem = Diagnostic::new(Code::Contradiction, stub.place, message);
                    self.report(problem.label("fits no step").help(KINDS));
                }
            }
            Some(Led::Open) | None => {}
        }
    }

    fn fits(&mut self, stub: &Stub, step: &Step) {
        let kind = kind_of(step);
        for reply in stub.plan.replies().iter().filter(|reply| !reply.fits(kind)) {
            let is_empty = matches!(&reply.kind, ReplyKind::Bash(bash) if *bash == Default::default());
            let message = match kind {
                StepType::Agent if is_empty => format!("the stub of agent step `{}` has no answer", step.id),
                _ => format!("the {} step `{}` cannot answer like this", step.kind.word(), step.id),
            };
            let help = match kind {
                StepType::Agent => "an agent answers with `answer`, `json`, `fault` or `auto: true`",
                StepType::Bash => {
                    "a command ends with `stdout`, `stderr`, `exit` or `signal`; `real: true` runs it"
                }
                StepType::Recipe => {
                    "a recipe step ends with `value` and `context`, or with `fail`; without a stub its steps run"
                }
                StepType::Ask => "answer a question under `answers`",
            };
            let place = if reply.place.span.start == 0 { stub.place } else { reply.place };
            self.report(
                Diagnostic::new(Code::Contradiction, place, message).label("does not fit").help(help),
            );
        }
        let wants_schema = stub.plan.replies().iter().any(|reply| reply.kind == ReplyKind::Auto);
        if wants_schema && kind == StepType::Agent && step.json_schema.is_none() {
            let message = format!("step `{}` has no `json_schema` that `auto` could satisfy", step.id);
            let problem = Diagnostic::new(Code::Contradiction, stub.place, message).label("no schema");
            self.report(problem.help("write the answer under `answer` or `json`"));
        }
    }

    fn recovery(&mut self, stub: &Stub, pattern: &StepPattern) {
        match self.find(pattern, stub.place) {
            Some(Led::Step(step)) if !matches!(step.kind, StepKind::Nested { .. }) => {
                let message = format!("step `{}` is no recipe step, so nothing recovers it", step.id);
                self.report(
                    Diagnostic::new(Code::Contradiction, stub.place, message).label("not a recipe step"),
                );
            }
            _ => self.agent_only(stub, "recovery"),
        }
    }

    fn agent_only(&mut self, stub: &Stub, what: &str) {
        if !stub.plan.replies().iter().all(|reply| reply.fits(StepType::Agent)) {
            let message = format!("an agent does the {what}, and cannot answer like this");
            let problem = Diagnostic::new(Code::Contradiction, stub.place, message).label("does not fit");
            self.report(problem.help("an agent answers with `answer`, `json` or `fault`"));
        }
    }

    /// Two keys that name one call equally precisely.
    fn ties(&mut self, stubs: &[Stub]) {
        let mut tied: Vec<(usize, usize)> = Vec::new();
        for (path, step) in self.paths.listed() {
            for call in calls(stubs, path, step) {
                let selected = match step.kind {
                    StepKind::Nested { .. } => [
                        select(stubs, StubCall::Step(&call, StepType::Recipe)),
                        select(stubs, StubCall::Recovery(&call)),
                    ],
                    _ => [select(stubs, StubCall::Step(&call, kind_of(step))), Selected::None],
                };
                tied.extend(selected.into_iter().filter_map(|selected| match selected {
                    Selected::Tie(first, second) => Some((first, second)),
                    Selected::One(_) | Selected::None => None,
                }));
            }
        }
        tied.sort_unstable();
        tied.dedup();
        for (first, second) in tied {
            let (first, second) = (&stubs[first], &stubs[second]);
            let message =
                format!("`{}` and `{}` name the same steps equally precisely", first.key, second.key);
            let problem =
                Diagnostic::new(Code::Contradiction, second.place, message).label("which one answers?");
            self.report(problem.help("make one of the keys more precise, or remove it"));
        }
    }
}

const KINDS: &str = "an agent answers with `answer`, `json`, `fault` or `auto: true`, a command with `stdout`, `stderr`, `exit` or \
                     `signal`, a recipe step with `value`, `context` or `fail`";

/// The kind of a step.
fn kind_of(step: &Step) -> StepType {
    match step.kind {
        StepKind::Shell { .. } => StepType::Bash,
        StepKind::Agent(_) => StepType::Agent,
        StepKind::Nested { .. } => StepType::Recipe,
        StepKind::Ask(_) => StepType::Ask,
    }
}

/// The path of a step, and the paths of those of its instances that a key names.
fn calls(stubs: &[Stub], path: &str, step: &Step) -> Vec<String> {
    let mut calls = vec![path.to_owned()];
    if step.looped.is_some() || path.contains('/') {
        let keys = stubs.iter().filter_map(|stub| match &stub.key {
            StubKey::Steps(pattern) | StubKey::Recovery(pattern) => Some(pattern.as_str()),
            StubKey::Repair => None,
        });
        let named =
            keys.filter(|key| key.contains('[') && !key.contains('*') && without_numbers(key) == path);
        calls.extend(named.map(str::to_owned));
    }
    calls
}
