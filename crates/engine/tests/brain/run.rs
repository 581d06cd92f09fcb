//! A run in memory: steps print their id, or fail if they are told to. What happens is written down in order: `+a` began,
//! `-a` was done, `!a` failed, `~a` was skipped.

use std::sync::Arc;

use engine::{
    EndReason, Event, Outcome, Record, RunSettings, RunState, RunStatus, StepStatus,
    run::{
        decide::{self, Decision, decide},
        event::{Ended, RunFinished},
    },
};
use jiff::Timestamp;
use recipe::{
    agent_ref::AgentRef,
    check::{Given, LoadError, Loaded, Loader, check},
    plan::{Plan, StepKind, Target},
    value::Value,
};

/// The nested recipes, separated by `---`, each by its name; any other name means the first one.
struct Child(&'static str);

impl Loader for Child {
    fn recipe(&self, name: &str, _: &str) -> Result<Loaded, LoadError> {
        let mut texts = self.0.split("---\n");
        let named = texts.clone().find(|text| text.starts_with(&format!("name: {name}\n")));
        let text = named.or_else(|| texts.next()).unwrap_or_default();
        Ok(Loaded { path: name.to_owned(), bytes: Arc::from(text.as_bytes()) })
    }

    fn agent(&self, _: &AgentRef, _: &str) -> Option<Arc<str>> {
        None
    }

    fn recipe_names(&self) -> Vec<String> {
        Vec::new()
    }
}

pub(crate) fn plan(text: &str, child: &'static str) -> Plan {
    let root = Loaded { path: "top".to_owned(), bytes: Arc::from(text.as_bytes()) };
    let checked = check(root, &Child(child), &Given::default());
    assert!(checked.plan.is_some(), "{text}: {:?}", checked.diagnostics);
    checked.plan.unwrap()
}

/// A run whose steps print their id, or fail if `fails` names them.
pub(crate) struct Run {
    pub(crate) plan: Plan,
    pub(crate) state: RunState,
    pub(crate) trace: Vec<String>,
    working: Vec<String>,
    pub(crate) fails: Vec<&'static str>,
    /// Everything that was recorded, with the values.
    pub(crate) events: Vec<(Event, Option<Value>)>,
    seq: u64,
}

impl Run {
    pub(crate) fn new(text: &str, child: &'static str, settings: RunSettings, fails: &[&'static str]) -> Run {
        let plan = plan(text, child);
        let state = RunState::new(&plan, settings);
        Run {
            plan,
            state,
            trace: Vec::new(),
            working: Vec::new(),
            fails: fails.to_vec(),
            events: Vec::new(),
            seq: 0,
        }
    }

    pub(crate) fn record(&mut self, event: Event, value: Option<Value>) {
        self.events.push((event.clone(), value.clone()));
        self.seq += 1;
        let record = Record { seq: self.seq, at: Timestamp::UNIX_EPOCH, event };
        self.state.apply(&self.plan, &record, value);
    }

    pub(crate) fn go(&mut self) {
        for _ in 0..200 {
            match decide(&self.state, &|_| false) {
                Some(Decision::Record(event)) => {
                    self.trace.push(describe(&event));
                    self.record(*event, None);
                }
                Some(Decision::Start { path, attempt }) => self.start(path, attempt),
                Some(Decision::Close { path, frame }) => {
                    let value = decide::result(&self.state.frames[frame]);
                    let outcome = match self.state.frames[frame].is_complete() {
                        true => Outcome::Ok,
                        false => {
                            let limit = self.state.outer_limit(frame).cloned();
                            limit.map_or(Outcome::Nested, Outcome::Limit)
                        }
                    };
                    self.end(&path, outcome, value);
                }
                Some(Decision::Diagnose { path, .. }) => {
                    let class = Some(engine::failure::Class::Verification);
                    self.record(Event::CleanupBegan { path, class, stopped: None }, None);
                }
                Some(Decision::Wait { path, .. }) => return self.trace.push(format!("waits for {path}")),
                Some(Decision::End) => return self.trace.push("end".to_owned()),
                None if self.working.is_empty() => return self.trace.push("waits".to_owned()),
                None => {
                    let path = self.working.remove(0);
                    let outcome =
                        if self.fails.contains(&path.as_str()) { Outcome::Exit(1) } else { Outcome::Ok };
                    let id = path.rsplit('/').next().unwrap_or_default().to_owned();
                    self.end(&path, outcome, Some(Value::from(format!("v{id}"))));
                }
            }
        }
    }

    fn start(&mut self, path: String, attempt: u32) {
        self.trace.push(format!("+{path}"));
        self.record(Event::StepStarted { path: path.clone(), attempt, inputs: None }, None);
        let (frame, at) = self.state.locate(&path).unwrap();
        match &self.state.frames[frame].unit.steps[at].kind {
            StepKind::Nested { target: Target::Known { unit, .. }, .. } => {
                let unit = self.plan.unit(*unit).path.clone();
                self.record(Event::RecipeEntered { path, unit }, None);
            }
            _ => self.working.push(path),
        }
    }

    fn end(&mut self, path: &str, outcome: Outcome, value: Option<Value>) {
        let status = if outcome == Outcome::Ok { StepStatus::Completed } else { StepStatus::Failed };
        self.trace.push(format!("{}{path}", if outcome == Outcome::Ok { "-" } else { "!" }));
        let ended = Ended::new(outcome, None);
        let event =
            Event::StepFinished { path: path.to_owned(), attempt: 1, status, ended, recovered: false };
        self.record(event, value);
    }

    /// The run ends, and with it the processes that these steps left, if anybody looked.
    pub(crate) fn over(&mut self, status: RunStatus, ended_steps: Option<&[&str]>) {
        let reason = match status {
            RunStatus::Completed => EndReason::Completed,
            _ => EndReason::Failed,
        };
        let ended_steps = ended_steps.map(|steps| steps.iter().map(|step| (*step).to_owned()).collect());
        let finished = RunFinished { status, ended_steps, ..RunFinished::new(reason, None) };
        self.record(Event::RunFinished(finished), None);
    }

    /// The process is killed while a step is running.
    pub(crate) fn kill_in(&mut self, step: &str) {
        let is_end = |event: &Event| matches!(event, Event::StepFinished { path, .. } if path == step);
        let at = self.events.iter().position(|(event, _)| is_end(event)).unwrap();
        self.events.truncate(at);
        self.state = self.folded();
        self.working.clear();
        self.trace.clear();
    }

    /// The state that the same events give in another process.
    pub(crate) fn folded(&self) -> RunState {
        let mut state = RunState::new(&self.plan, self.state.settings.clone());
        for (seq, (event, value)) in (1..).zip(&self.events) {
            let record = Record { seq, at: Timestamp::UNIX_EPOCH, event: event.clone() };
            state.apply(&self.plan, &record, value.clone());
        }
        state
    }

    pub(crate) fn value(&self, name: &str) -> String {
        self.state.root().context.get(name).map(|value| value.render().into_owned()).unwrap_or_default()
    }
}

fn describe(event: &Event) -> String {
    match event {
        Event::StepSkipped { path, reason } => format!("~{path} {reason:?}"),
        Event::StepFinished { path, ended, .. } => {
            format!("!{path} {}", ended.error.as_deref().unwrap_or_default())
        }
        other => format!("{other:?}"),
    }
}

pub(crate) const LEAF: &str = "name: leaf\ncontext: {own: o}\nsteps:\n- {id: k, command: x}\n";

pub(crate) fn parallel(most: usize) -> RunSettings {
    RunSettings { max_parallel: most, ..RunSettings::default() }
}
