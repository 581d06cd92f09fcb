//! Properties over random recipes: a run that is stopped after any event and resumed ends as an undisturbed one,
//! nothing that was done is done again, and the state is nothing but a fold of the events.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends by panicking")]

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use engine::{
    Event, Outcome, Record, RunSettings, RunState, RunStatus, StepStatus,
    run::{
        decide::{self, Decision, decide},
        event::{Ended, FORMAT, RunFinished, RunResumed, RunStarted},
        frame::FrameId,
    },
};
use jiff::Timestamp;
use recipe::{
    agent_ref::AgentRef,
    check::{Given, LoadError, Loaded, Loader, check},
    plan::{Plan, StepKind, Target},
    value::Value,
};

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

struct Files(HashMap<String, String>);

impl Loader for Files {
    fn recipe(&self, name: &str, _: &str) -> Result<Loaded, LoadError> {
        let text = self.0.get(name).ok_or(LoadError::NotFound { searched: Vec::new() })?;
        Ok(Loaded { path: name.to_owned(), bytes: Arc::from(text.as_bytes()) })
    }

    fn agent(&self, _: &AgentRef, _: &str) -> Option<Arc<str>> {
        None
    }

    fn recipe_names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A random recipe; `below` are recipes that it may run.
fn recipe(dice: &mut Dice, name: &str, below: &[&str]) -> String {
    let mut text = format!("name: {name}\ncontext: {{base: b}}\nsteps:\n");
    let count = 1 + dice.roll(5);
    for n in 0..count {
        text.push_str(&format!("  - id: {name}{n}\n"));
        match below {
            [] => text.push_str("    command: echo\n"),
            _ if dice.roll(3) == 0 => {
                let child = below[dice.roll(below.len() as u64) as usize];
                text.push_str(&format!("    recipe: {child}\n    context: {{given: '{{{{base}}}}{n}'}}\n"));
            }
            _ => text.push_str("    command: echo\n"),
        }
        if dice.roll(3) == 0 {
            text.push_str(&format!("    parallel_group: g{}\n", n / 2));
        }
        if dice.roll(4) == 0 {
            text.push_str("    continue_on_error: true\n");
        }
        if n > 0 && dice.roll(5) == 0 {
            text.push_str(&format!("    depends_on: [{name}0]\n"));
        }
        if n > 0 && dice.roll(4) == 0 {
            text.push_str(&format!("    condition: \"'x' not in {name}0\"\n"));
        }
    }
    text
}

fn plan(seed: u64) -> Plan {
    let mut dice = Dice(seed * 7919 + 1);
    let files = Files(HashMap::from([
        ("leaf".to_owned(), recipe(&mut dice, "leaf", &[])),
        ("mid".to_owned(), recipe(&mut dice, "mid", &["leaf"])),
    ]));
    // a dependency must not stand in the same group: such recipes are rolled again
    for _ in 0..50 {
        let text = recipe(&mut dice, "top", &["leaf", "mid"]);
        let root = Loaded { path: "top".to_owned(), bytes: Arc::from(text.as_bytes()) };
        if let Some(plan) = check(root, &files, &Given::default()).plan {
            return plan;
        }
    }
    let text = "name: top\nsteps:\n  - id: a\n    command: echo\n";
    let root = Loaded { path: "top".to_owned(), bytes: Arc::from(text.as_bytes()) };
    check(root, &files, &Given::default()).plan.unwrap()
}

/// A run in memory, with workers that follow a script: the same step with the same context always gives the same.
struct Run<'a> {
    plan: &'a Plan,
    state: RunState,
    records: Vec<(Record, Option<Value>)>,
    working: Vec<(String, u32)>,
    closing: HashSet<FrameId>,
    retried: HashSet<String>,
    dice: Dice,
    limit: usize,
}

impl<'a> Run<'a> {
    fn new(plan: &'a Plan, seed: u64, limit: usize) -> Run<'a> {
        let settings = RunSettings { max_parallel: 3, ..RunSettings::default() };
        Run {
            plan,
            state: RunState::new(plan, settings),
            records: Vec::new(),
            working: Vec::new(),
            closing: HashSet::new(),
            retried: HashSet::new(),
            dice: Dice(seed + 99),
            limit,
        }
    }

    fn record(&mut self, event: Event, value: Option<Value>) {
        let seq = self.records.len() as u64 + 1;
        let record = Record { seq, at: Timestamp::UNIX_EPOCH, event };
        self.state.apply(self.plan, &record, value.clone());
        self.records.push((record, value));
    }

    /// Goes on until the run is over or the limit of events is reached; says which.
    fn go(&mut self) -> bool {
        while self.records.len() < self.limit {
            let closing = &self.closing;
            match decide(&self.state, &|frame| closing.contains(&frame)) {
                Some(Decision::Record(event)) => self.record(*event, None),
                Some(Decision::Start { path, attempt }) => self.start(path, attempt),
                Some(Decision::Close { path, frame }) => self.close(path, frame),
                Some(Decision::Diagnose { path, .. }) => {
                    self.record(Event::CleanupBegan { path, class: None, stopped: None }, None);
                }
                Some(Decision::Wait { path, .. }) => unreachable!("{path} is no iteration"),
                Some(Decision::End) => {
                    self.end();
                    return true;
                }
                None => {
                    assert!(!self.working.is_empty(), "the run is stuck");
                    let at = self.dice.roll(self.working.len() as u64) as usize;
                    let (path, attempt) = self.working.swap_remove(at);
                    self.finish(path, attempt);
                }
            }
        }
        false
    }

    fn start(&mut self, path: String, attempt: u32) {
        self.record(Event::StepStarted { path: path.clone(), attempt, inputs: None }, None);
        let (frame, at) = self.state.locate(&path).unwrap();
        match &self.state.frames[frame].unit.steps[at].kind {
            StepKind::Nested { target: Target::Known { unit, .. }, .. } => {
                let unit = self.plan.unit(*unit).path.clone();
                if self.records.len() < self.limit {
                    self.record(Event::RecipeEntered { path, unit }, None);
                }
            }
            _ => self.working.push((path, attempt)),
        }
    }

    /// What a step sees decides what it gives.
    fn script(&self, path: &str) -> (u64, Value) {
        let (frame, _) = self.state.locate(path).unwrap();
        let seen: BTreeMap<String, String> = self.state.frames[frame]
            .context
            .iter()
            .map(|(name, value)| (name.clone(), value.render().into_owned()))
            .collect();
        let text = recipe::digest::sha256(format!("{path} {seen:?}").as_bytes());
        let number = u64::from_str_radix(&text[..8], 16).unwrap();
        (number, Value::from(text[..6].replace('a', "x")))
    }

    fn finish(&mut self, path: String, attempt: u32) {
        let (number, value) = self.script(&path);
        if number % 11 == 0 && self.retried.insert(path.clone()) {
            let ended = Ended::new(Outcome::Exit(1), None);
            self.record(Event::AttemptFailed { path: path.clone(), attempt, ended, retry_in_ms: 1 }, None);
            if self.records.len() < self.limit {
                self.start(path, attempt + 1);
            }
            return;
        }
        let (status, outcome) = match number % 9 {
            0 => (StepStatus::Failed, Outcome::Exit(1)),
            1 => (StepStatus::Degraded, Outcome::NotJson { problem: String::new() }),
            _ => (StepStatus::Completed, Outcome::Ok),
        };
        self.step_finished(path, attempt, status, outcome, Some(value));
    }

    fn close(&mut self, path: String, frame: FrameId) {
        let attempt = self.state.step(&path).unwrap().attempt;
        let value = decide::result(&self.state.frames[frame]);
        match self.state.frames[frame].is_complete() {
            true => self.step_finished(path, attempt, StepStatus::Completed, Outcome::Ok, value),
            false => self.step_finished(path, attempt, StepStatus::Failed, Outcome::Nested, value),
        }
    }

    fn step_finished(
        &mut self,
        path: String,
        attempt: u32,
        status: StepStatus,
        outcome: Outcome,
        value: Option<Value>,
    ) {
        let ended = Ended::new(outcome, None);
        self.record(Event::StepFinished { path, attempt, status, ended, recovered: false }, value);
    }

    fn end(&mut self) {
        let status =
            if self.state.root().failed_at.is_some() { RunStatus::Failed } else { RunStatus::Completed };
        let finished = RunFinished { status, ..RunFinished::new(engine::EndReason::Completed, None) };
        self.record(Event::RunFinished(finished), None);
    }

    /// Another process takes over: all that it has are the records.
    fn resume(mut self, limit: usize) -> Run<'a> {
        let mut next = Run::new(self.plan, self.dice.roll(1000), limit);
        for (record, value) in self.records {
            next.state.apply(next.plan, &record, value.clone());
            next.records.push((record, value));
        }
        assert_eq!(picture(&next.state), picture(&self.state), "replayed events give another state");
        let resumed = RunResumed { pid: 1, ..RunResumed::default() };
        next.record(Event::RunResumed(resumed), None);
        next
    }

    /// How often each step was finished and not failed.
    fn done(&self) -> HashMap<&str, u32> {
        let mut done = HashMap::new();
        for (record, _) in &self.records {
            if let Event::StepFinished { path, status, .. } = &record.event
                && status.is_done()
            {
                *done.entry(path.as_str()).or_default() += 1;
            }
        }
        done
    }
}

/// Everything about a state that somebody could notice, without the numbers of attempts.
fn picture(state: &RunState) -> Vec<String> {
    fn look(state: &RunState, id: FrameId, lines: &mut Vec<String>) {
        let frame = &state.frames[id];
        let context: BTreeMap<&String, String> =
            frame.context.iter().map(|(name, value)| (name, value.render().into_owned())).collect();
        lines.push(format!("{} {context:?} ran {} failed {:?}", frame.path, frame.ran, frame.failed_at));
        for (at, step) in frame.steps.iter().enumerate() {
            lines.push(format!(
                "{} {:?} {:?} {:?}",
                frame.step_path(at),
                step.status,
                step.value,
                step.skipped
            ));
            if let Some(child) = step.frame {
                assert_eq!(state.frames[child].path, frame.step_path(at));
                look(state, child, lines);
            }
        }
    }
    let mut lines = vec![format!("{:?}", state.finished.as_ref().map(|finished| finished.status))];
    look(state, 0, &mut lines);
    lines
}

fn undisturbed(plan: &Plan, seed: u64) -> Run<'_> {
    let mut run = Run::new(plan, seed, usize::MAX);
    let started = RunStarted {
        format: FORMAT,
        program: String::new(),
        run_id: "r".to_owned(),
        recipe: "top".to_owned(),
        pid: 1,
        origin: None,
        performer: engine::run::event::PerformerKind::Process,
    };
    run.record(Event::RunStarted(started), None);
    assert!(run.go());
    run
}

fn stopped(plan: &Plan, seed: u64, limit: usize) -> Run<'_> {
    let mut run = Run::new(plan, seed, limit);
    assert!(!run.go(), "it is stopped before its end");
    run
}

#[test]
fn a_run_stopped_after_any_event_ends_as_if_it_had_not_been() {
    for seed in 1..150 {
        let plan = plan(seed);
        let expected = undisturbed(&plan, seed);
        let total = expected.records.len() - 2;
        for limit in 0..total {
            let mut run = stopped(&plan, seed, limit).resume(usize::MAX);
            assert!(run.go());
            assert_eq!(picture(&run.state), picture(&expected.state), "seed {seed}, stopped after {limit}");
            assert!(run.done().values().all(|times| *times == 1), "seed {seed}, stopped after {limit}");
        }
    }
}

#[test]
fn a_run_stopped_again_and_again_ends_as_if_it_had_not_been() {
    for seed in 1..60 {
        let plan = plan(seed);
        let expected = undisturbed(&plan, seed);
        let total = expected.records.len() - 2;
        for step in 1..4 {
            let mut run = stopped(&plan, seed, step.min(total.saturating_sub(1)));
            for _ in 0..12 {
                let limit = run.records.len() + 1 + step;
                run = run.resume(limit);
                if run.go() {
                    break;
                }
            }
            if run.state.finished.is_none() {
                // short lives need not get through; a long one does
                run = run.resume(usize::MAX);
                assert!(run.go());
            }
            assert_eq!(picture(&run.state), picture(&expected.state), "seed {seed}, lives of {step}");
            assert!(run.done().values().all(|times| *times == 1), "seed {seed}, lives of {step}");
        }
    }
}

#[test]
fn a_failed_run_that_is_resumed_does_again_only_what_failed() {
    for seed in 1..150 {
        let plan = plan(seed);
        let first = undisturbed(&plan, seed);
        if first.state.root().failed_at.is_none() {
            continue;
        }
        let expected = picture(&first.state);
        let mut run = first.resume(usize::MAX);
        assert!(run.go());
        assert_eq!(picture(&run.state), expected, "seed {seed}");
        assert!(run.done().values().all(|times| *times == 1), "seed {seed}");
    }
}
