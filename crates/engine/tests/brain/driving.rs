//! A driver without processes: it takes the actions of the engine, and reports what a test wants to have happened.

use engine::{
    Event, Halt, Outcome, Record, RunSettings, RunState, StepStatus,
    run::{
        actions::{Action, Happening, HookKind, RecoveryAnswer, StepEnd},
        attempt::AttemptResult,
        decide,
        event::Usage,
        react::react,
        recipe_step::Recovery,
        retry::RateLimits,
        slots::unbegun_agents,
        step::step,
    },
};
use jiff::Timestamp;
use recipe::{
    plan::{Plan, StepKind, Target},
    value::Value,
};

use crate::run::{parallel, plan};

/// An agent whose service is rate limited.
fn rate_limited() -> Outcome {
    Outcome::RateLimited { message: "slow down".to_owned(), tries: 0 }
}

/// A run, and a line for each action that it asked for.
pub(crate) struct Driven {
    pub(crate) plan: Plan,
    pub(crate) state: RunState,
    trace: Vec<String>,
    seq: u64,
}

impl Driven {
    pub(crate) fn new(text: &str, child: &'static str, settings: RunSettings) -> Driven {
        let plan = plan(text, child);
        let state = RunState::new(&plan, settings);
        Driven { plan, state, trace: Vec::new(), seq: 0 }.advanced()
    }

    pub(crate) fn record(&mut self, event: Event, value: Option<Value>) {
        self.seq += 1;
        let record = Record { seq: self.seq, at: Timestamp::UNIX_EPOCH, event };
        self.state.apply(&self.plan, &record, value);
    }

    pub(crate) fn happen(&mut self, happening: Happening) -> Vec<String> {
        let actions = react(&self.plan, &mut self.state, happening);
        self.perform(actions);
        self.advance();
        std::mem::take(&mut self.trace)
    }

    pub(crate) fn advance(&mut self) {
        for round in 0.. {
            assert!(round < 100, "the engine does not come to rest: {:?}", self.trace);
            let actions = step(&self.plan, &mut self.state);
            let is_last = matches!(actions.as_slice(), [] | [Action::Finish]);
            self.perform(actions);
            if is_last {
                return;
            }
        }
    }

    fn advanced(mut self) -> Driven {
        self.advance();
        self
    }

    pub(crate) fn begun(&mut self) -> Vec<String> {
        std::mem::take(&mut self.trace)
    }

    fn perform(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Record(event) => self.record(*event, None),
                Action::Note { message, .. } => self.trace.push(format!("note {message}")),
                Action::FinishStep(end) => {
                    self.trace.push(format!("{} {}", end.status.as_str(), end.path));
                    let (path, attempt, status) = (end.path, end.attempt, end.status);
                    let event = Event::StepFinished {
                        path,
                        attempt,
                        status,
                        ended: end.ended,
                        recovered: end.recovered,
                    };
                    self.record(event, end.value);
                }
                Action::EndWork(end) => {
                    let StepEnd { path, attempt, status, ended, value, recovered } = *end;
                    self.trace.push(format!("worked {path} {attempt}"));
                    self.record(Event::WorkEnded { path, attempt, status, ended, recovered }, value);
                }
                Action::CheckEnsure { path, attempt } => {
                    self.trace.push(format!("check {path} {attempt}"));
                }
                Action::StartStep { path, attempt, pre_hook, model } => {
                    let hook = if pre_hook { " after its hook" } else { "" };
                    let model = model.map(|model| format!(" with {model}")).unwrap_or_default();
                    self.trace.push(format!("start {path} {attempt}{hook}{model}"));
                    self.enter(path);
                }
                Action::StartHook { path, hook } => self.trace.push(format!("{} {path}", hook.as_str())),
                Action::CloseRecipe { path, frame } => {
                    let is_done =
                        self.state.frames[frame].is_complete() && self.state.frames[frame].stopped.is_none();
                    let mut result = AttemptResult::ok();
                    result.value = decide::result(&self.state.frames[frame]);
                    let result = is_done.then(|| Box::new(result));
                    let actions =
                        react(&self.plan, &mut self.state, Happening::RecipeEnded { path, frame, result });
                    self.perform(actions);
                }
                Action::AskRecovery { path, .. } => self.trace.push(format!("recover {path}")),
                Action::WaitForRetry { path, milliseconds, leftovers } => {
                    self.trace.push(format!("wait {path} {milliseconds} {leftovers:?}"));
                }
                Action::WaitForIteration { path, due } => {
                    self.trace.push(format!("wait {path} {}", due.as_second()));
                }
                Action::LimitRecipe { path, seconds } => self.trace.push(format!("limit {path} {seconds}")),
                Action::Diagnose { path, frame } => {
                    let class = engine::failure::Class::Verification;
                    let happening = Happening::Diagnosed { path, frame, class };
                    let actions = react(&self.plan, &mut self.state, happening);
                    self.perform(actions);
                }
                Action::StopBelow { path, why, spared } => {
                    let spared =
                        if spared.is_empty() { String::new() } else { format!(" but {}", spared.join(" ")) };
                    self.trace.push(format!("stop below {path}: {why}{spared}"));
                }
                Action::EndLeftovers { leftovers, failed } => {
                    self.trace.push(format!("sweep {leftovers:?}"));
                    let actions = react(&self.plan, &mut self.state, Happening::LeftoversEnded(failed));
                    self.perform(actions);
                }
                Action::Finish => self.trace.push("finish".to_owned()),
            }
        }
    }

    /// Recipe steps are entered at once.
    fn enter(&mut self, path: String) {
        let step = self.state.planned(&path).unwrap();
        if let StepKind::Nested { target: Target::Known { unit, .. }, .. } = &step.kind {
            let unit = Some(self.plan.unit(*unit).path.clone());
            let happening = Happening::RecipeChecked { path, unit, problem: None };
            let actions = react(&self.plan, &mut self.state, happening);
            self.perform(actions);
        }
    }

    pub(crate) fn end(&mut self, path: &str, outcome: Outcome) -> Vec<String> {
        let attempt = self.state.step(path).unwrap().attempt;
        let result = match outcome {
            Outcome::Ok => AttemptResult { value: Some(Value::from("v")), ..AttemptResult::ok() },
            outcome => AttemptResult::refused(outcome, "no".to_owned()),
        };
        self.happen(Happening::AttemptEnded { path: path.to_owned(), attempt, result: Box::new(result) })
    }

    /// The process of a step has started.
    pub(crate) fn spawned(path: &str) -> Event {
        Event::Spawned(engine::run::event::Spawned {
            path: path.to_owned(),
            attempt: 1,
            pid: 1,
            start_time: 0,
            argv: Vec::new(),
            cwd: String::new(),
            purpose: None,
            env: Default::default(),
            prompt: None,
        })
    }

    pub(crate) fn error(&self, path: &str) -> String {
        self.state.step(path).unwrap().ended.as_ref().unwrap().error.clone().unwrap_or_default()
    }
}

#[test]
fn a_failed_step_is_tried_again_after_its_delay() {
    let text = "name: top\nsteps:\n- {id: a, command: x, retry: {max_attempts: 3, delay: 2, backoff: exponential}}\n";
    let mut run = Driven::new(text, "", parallel(1));
    assert_eq!(run.begun(), ["start a 1"]);
    assert_eq!(run.end("a", Outcome::Exit(1)), ["wait a 2000 []"]);
    let due = || Happening::RetryDue { path: "a".to_owned() };
    assert_eq!(run.happen(due()), ["start a 2"]);
    assert_eq!(run.end("a", Outcome::Exit(1)), ["wait a 4000 []"]);
    assert_eq!(run.happen(due()), ["start a 3"]);
    assert_eq!(run.end("a", Outcome::Exit(1)), ["failed a", "finish"]);
}

#[test]
fn a_rate_limit_is_waited_for_and_then_another_model_is_tried() {
    let rate_limits = RateLimits {
        max_retries: 1,
        base_delay: 3.0,
        max_delay: 9.0,
        fallback_model: Some("small".to_owned()),
    };
    let settings = RunSettings { rate_limits, ..parallel(1) };
    let mut run = Driven::new("name: top\nsteps:\n- {id: a, prompt: x}\n", "", settings);
    assert_eq!(run.begun(), ["start a 1"]);
    let due = || Happening::RetryDue { path: "a".to_owned() };
    assert_eq!(run.end("a", rate_limited()), ["wait a 3000 []"]);
    assert_eq!(run.happen(due()), ["start a 2"]);
    assert_eq!(run.end("a", rate_limited()), ["wait a 0 []"]);
    assert_eq!(run.happen(due()), ["start a 3 with small"]);
    assert_eq!(run.end("a", rate_limited()), ["failed a", "finish"]);
    assert_eq!(run.error("a"), "no; tried 3 times");
}

const AGENTS: &str = "name: top\nsteps:\n\
    - {id: a, prompt: x, parallel_group: g}\n\
    - {id: b, prompt: x, parallel_group: g}\n\
    - {id: c, prompt: x, parallel_group: g}\n";

#[test]
fn agents_wait_for_a_free_slot_in_their_order() {
    let mut run = Driven::new(AGENTS, "", RunSettings { max_agents: Some(1), ..parallel(8) });
    assert_eq!(run.begun(), ["start a 1"]);
    assert_eq!(run.end("a", Outcome::Ok), ["completed a", "start b 1"]);
    assert_eq!(run.end("b", Outcome::Ok), ["completed b", "start c 1"]);
    assert_eq!(run.end("c", Outcome::Ok), ["completed c", "finish"]);
}

#[test]
fn agents_that_wait_when_the_run_stops_have_not_begun() {
    let mut run = Driven::new(AGENTS, "", RunSettings { max_agents: Some(1), ..parallel(8) });
    run.begun();
    assert_eq!(run.happen(Happening::StopRequested(Halt::Interrupt)), Vec::<String>::new());
    // it has no process, so a resume starts it as if it had not been started
    assert_eq!(run.end("a", Outcome::Cancelled), Vec::<String>::new());
    assert_eq!(run.state.step("a").unwrap().status, StepStatus::Pending);
    for event in unbegun_agents(&mut run.state) {
        run.record(event, None);
    }
    assert!(["b", "c"].iter().all(|id| run.state.step(id).unwrap().status == StepStatus::Pending));
}

const LEAF: &str = "name: leaf\nsteps:\n- {id: k, command: x}\n- {id: l, command: x}\n";

#[test]
fn a_recipe_that_times_out_is_stopped_and_fails() {
    let text = "name: top\nsteps:\n- {id: n, recipe: leaf, timeout: 5}\n- {id: z, command: x}\n";
    let mut run = Driven::new(text, LEAF, parallel(1));
    assert_eq!(run.begun(), ["start n 1", "limit n 5", "start n/k 1"]);
    let happening = Happening::RecipeTimedOut { path: "n".to_owned(), seconds: 5.0 };
    assert_eq!(run.happen(happening), ["stop below n: the timeout of `n` (5 s) fired"]);
    assert_eq!(run.end("n/k", Outcome::Cancelled), ["failed n/k", "failed n", "finish"]);
    assert!(run.error("n").contains("timed out after 5 s"), "{}", run.error("n"));
}

#[test]
fn an_agent_that_waits_in_a_recipe_that_timed_out_is_not_started() {
    let child = "name: leaf\nsteps:\n- {id: k, prompt: x, parallel_group: g}\n- {id: l, prompt: x, parallel_group: g}\n";
    let text = "name: top\nsteps:\n- {id: n, recipe: leaf, timeout: 5}\n";
    let mut run = Driven::new(text, child, RunSettings { max_agents: Some(1), ..parallel(8) });
    assert_eq!(run.begun(), ["start n 1", "limit n 5", "start n/k 1"]);
    let happening = Happening::RecipeTimedOut { path: "n".to_owned(), seconds: 5.0 };
    assert_eq!(run.happen(happening), ["stop below n: the timeout of `n` (5 s) fired", "failed n/l"]);
    assert_eq!(run.error("n/l"), "agent step failed: not begun because the timeout of `n` (5 s) fired");
}

#[test]
fn hooks_run_around_each_step_once() {
    let text = "name: top\nhooks: {pre_step: p, post_step: q, on_error: e}\nsteps:\n\
        - {id: a, command: x, retry: {max_attempts: 2, delay: 0}}\n- {id: b, command: x}\n";
    let mut run = Driven::new(text, "", parallel(1));
    assert_eq!(run.begun(), ["start a 1 after its hook"]);
    assert_eq!(run.end("a", Outcome::Exit(1)), ["wait a 0 []"]);
    assert_eq!(run.happen(Happening::RetryDue { path: "a".to_owned() }), ["start a 2"]);
    assert_eq!(run.end("a", Outcome::Ok), ["completed a", "post_step a"]);
    let ended = |path: &str, hook| Happening::HookEnded { path: path.to_owned(), hook, error: None };
    assert_eq!(run.happen(ended("a", HookKind::PostStep)), ["start b 1 after its hook"]);
    assert_eq!(run.end("b", Outcome::Exit(1)), ["failed b", "on_error b"]);
    assert_eq!(run.happen(ended("b", HookKind::OnError)), ["finish"]);
}

#[test]
fn a_failed_recipe_is_recovered_after_its_last_attempt() {
    let text = "name: top\nsteps:\n- {id: n, recipe: leaf, retry: {max_attempts: 2, delay: 0}}\n";
    let settings = RunSettings { recovery: Recovery::Always, ..parallel(1) };
    let mut run = Driven::new(text, LEAF, settings);
    run.begun();
    assert_eq!(run.end("n/k", Outcome::Exit(1)), ["failed n/k", "wait n 0 []"]);
    assert_eq!(run.happen(Happening::RetryDue { path: "n".to_owned() }), ["start n 2", "start n/k 2"]);
    let attempting = "note warning: Sub-recipe 'leaf' failed (step 'k'). Attempting agent recovery.";
    assert_eq!(run.end("n/k", Outcome::Exit(1)), ["failed n/k", attempting, "recover n"]);
    let frame = run.state.step("n").unwrap().frame.unwrap();
    let answer = RecoveryAnswer::Recovered(Box::new(AttemptResult::ok()));
    let usage = Some(Usage { runs: 1, ..Usage::default() });
    let happening = Happening::RecoveryAnswered { path: "n".to_owned(), frame, answer, usage };
    let recovered = "note Agent recovery succeeded for sub-recipe 'leaf' (step 'n')";
    assert_eq!(run.happen(happening), [recovered, "completed n", "finish"]);
    assert!(run.state.step("n").unwrap().recovered && run.state.used.runs == 1);
}

#[test]
fn a_recipe_that_cannot_be_entered_fails_with_the_reason() {
    let text = "name: top\nsteps:\n- {id: n, recipe: leaf}\n";
    let plan = plan(text, LEAF);
    let mut state = RunState::new(&plan, parallel(1));
    assert_eq!(step(&plan, &mut state).len(), 2);
    let problem = Some(engine::run::cause::Refusal::Other("it has no name".to_owned()));
    let happening = Happening::RecipeChecked { path: "n".to_owned(), unit: None, problem };
    let actions = react(&plan, &mut state, happening);
    let [Action::FinishStep(end)] = actions.as_slice() else { panic!("{actions:?}") };
    assert_eq!(end.ended.error.as_deref(), Some("Sub-recipe 'leaf' failed: [error] it has no name"));
}

#[test]
fn nothing_starts_once_the_run_stops() {
    let text = "name: top\nsteps:\n- {id: a, command: x, retry: {max_attempts: 3, delay: 1}}\n- {id: b, command: x}\n";
    let mut run = Driven::new(text, "", parallel(1));
    run.begun();
    run.end("a", Outcome::Exit(1));
    run.happen(Happening::StopRequested(Halt::Interrupt));
    assert_eq!(run.happen(Happening::RetryDue { path: "a".to_owned() }), Vec::<String>::new());
}
