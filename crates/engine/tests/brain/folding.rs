//! What single events do to the state: attempts, tries, usage, times, values, what was withdrawn or stopped.

use std::collections::BTreeSet;

use engine::run::cause::AgentFailure;
use engine::{
    Event, Outcome, RunSettings, StepStatus,
    run::{
        event::{Ended, NameChange, RunResumed, Spawned, Usage},
        inputs::digest,
        outcome::{KnownBy, RunStatus, SkipReason, StopCause},
        state::RetryCounts,
    },
};
use recipe::value::Value;

use crate::run::{LEAF, Run};

const RECIPE: &str = "name: top
context: {a: 1}
steps:
- {id: sub, recipe: leaf}
- {id: ask, prompt: 'do {{a}}'}
- {id: last, command: y}
";

/// A recipe below with an agent.
const CHILD: &str = "name: leaf\nsteps:\n- {id: k, prompt: x}\n- {id: l, command: x}\n";

fn run(child: &'static str) -> Run {
    Run::new(RECIPE, child, RunSettings { max_parallel: 2, ..RunSettings::default() }, &[])
}

impl Run {
    pub(crate) fn begin(&mut self, path: &str, attempt: u32) {
        self.record(
            Event::StepStarted { path: path.to_owned(), attempt, inputs: Some("i".to_owned()) },
            None,
        );
    }

    pub(crate) fn enter(&mut self, path: &str, unit: &str) {
        self.record(Event::RecipeEntered { path: path.to_owned(), unit: unit.to_owned() }, None);
    }

    fn fail_attempt(&mut self, path: &str, ended: Ended) {
        self.record(Event::AttemptFailed { path: path.to_owned(), attempt: 1, ended, retry_in_ms: 0 }, None);
    }

    pub(crate) fn finish(&mut self, path: &str, status: StepStatus, ended: Ended) {
        let path = path.to_owned();
        self.record(
            Event::StepFinished { path, attempt: 1, status, ended, recovered: false },
            Some(Value::from("v")),
        );
    }

    fn spawn(&mut self, path: &str) {
        let spawned = Spawned {
            path: path.to_owned(),
            attempt: 1,
            pid: 1,
            start_time: 1,
            argv: Vec::new(),
            cwd: String::new(),
            purpose: None,
            env: NameChange::default(),
            prompt: None,
        };
        self.record(Event::Spawned(spawned), None);
    }

    pub(crate) fn resume(&mut self) {
        let (rerun, skip) = (Vec::new(), Vec::new());
        let resumed = RunResumed { pid: 1, sources: 1, rerun, skip, ..RunResumed::default() };
        self.record(Event::RunResumed(resumed), None);
    }
}

pub(crate) fn ended(outcome: Outcome) -> Ended {
    Ended::new(outcome, None)
}

fn used(runs: u64) -> Ended {
    let usage = Usage { runs, input_tokens: Some(10 * runs), ..Usage::default() };
    Ended { usage: Some(usage), ..ended(Outcome::Agent(AgentFailure::TooLarge)) }
}

#[test]
fn attempts_are_numbered_over_everything() {
    let mut run = run(LEAF);
    assert_eq!(run.state.next_attempt("sub"), 1);
    run.begin("sub", 4);
    assert_eq!(run.state.next_attempt("sub"), 5);
    let step = run.state.step("sub").unwrap();
    assert_eq!((step.attempt, step.inputs.as_deref()), (4, Some("i")));
    assert!(step.started_at.is_some() && step.finished_at.is_none());
}

#[test]
fn tries_in_vain_are_counted_until_the_step_ends() {
    let mut run = run(CHILD);
    run.begin("sub", 1);
    run.enter("sub", "leaf");
    run.begin("sub/k", 1);
    for (outcome, rate_limited, failed) in [
        (Outcome::Exit(1), 0, 1),
        (Outcome::RateLimited { message: String::new(), tries: 0 }, 1, 1),
        (Outcome::Cancelled, 1, 1),
        (Outcome::TimedOut(1.0), 1, 2),
    ] {
        run.fail_attempt("sub/k", ended(outcome.clone()));
        let counted = RetryCounts { rate_limited, failed, ..RetryCounts::default() };
        assert_eq!(run.state.tries("sub/k"), counted, "{outcome:?}");
    }
    assert_eq!(run.state.failures["sub/k"].len(), 4);
    // what is below begins anew with the recipe around it
    run.fail_attempt("sub", ended(Outcome::Nested));
    assert_eq!(run.state.tries("sub/k"), RetryCounts::default());
    assert_eq!(run.state.tries("sub"), RetryCounts { failed: 1, ..RetryCounts::default() });
    // a step that is given up while it waits ends as its last attempt did, which is one failure
    run.finish("sub", StepStatus::Failed, ended(Outcome::Nested));
    assert_eq!(run.state.tries("sub"), RetryCounts::default());
    assert_eq!(run.state.failures["sub"].len(), 1);
}

#[test]
fn a_recipe_that_is_tried_again_is_entered_again() {
    let mut run = run(CHILD);
    run.begin("sub", 1);
    run.enter("sub", "leaf");
    assert_eq!((run.state.active.len(), run.state.frames[1].closed), (2, false));
    run.fail_attempt("sub", ended(Outcome::Nested));
    assert_eq!((run.state.active.len(), run.state.step("sub").unwrap().frame), (1, None));
    assert!(run.state.frames[1].closed);
    run.enter("sub", "leaf");
    assert_eq!((run.state.active.len(), run.state.frames[2].depth), (2, 1));
    let path = "sub".to_owned();
    run.record(Event::StepSkipped { path, reason: SkipReason::Chosen }, None);
    assert!(run.state.frames[2].closed);
    assert!(run.state.step("sub").unwrap().finished_at.is_some());
}

#[test]
fn usage_counts_for_the_run_and_every_recipe_around() {
    let mut run = run(CHILD);
    run.begin("sub", 1);
    run.enter("sub", "leaf");
    run.begin("sub/k", 1);
    run.spawn("sub/k");
    run.fail_attempt("sub/k", used(1));
    run.spawn("sub/k");
    run.finish("sub/k", StepStatus::Completed, used(2));
    let usage = Usage { runs: 4, ..Usage::default() };
    run.record(Event::AgentUsed { purpose: "repair".to_owned(), usage }, None);
    assert_eq!((run.state.used.runs, run.state.used.input_tokens), (7, Some(30)));
    assert_eq!(run.state.used_below["sub"].runs, 3);
    // both ends were seen: nothing is lost
    run.resume();
    assert_eq!((run.state.used.runs, run.state.resumes), (7, 1));
}

#[test]
fn an_agent_whose_end_nobody_saw_has_run_too() {
    let mut run = run(CHILD);
    run.begin("sub", 1);
    run.enter("sub", "leaf");
    run.begin("sub/k", 1);
    run.spawn("sub/k");
    run.spawn("sub/k");
    run.spawn("sub");
    run.spawn("sub/l");
    run.spawn("last");
    run.resume();
    assert_eq!((run.state.used.runs, run.state.used.runs_without_cost), (3, 3));
    assert_eq!(run.state.used_below["sub"].runs, 2);
    run.resume();
    assert_eq!((run.state.used.runs, run.state.resumes), (3, 2));
}

#[test]
fn what_was_about_to_begin_can_be_withdrawn() {
    let mut run = Run::new("name: t\nsteps:\n- {id: a, command: x}\n", LEAF, RunSettings::default(), &[]);
    let withdraw = || Event::StepNotBegun { path: "a".to_owned(), attempt: 1 };
    run.begin("a", 1);
    assert_eq!((run.state.running, run.state.root().open), (1, 1));
    run.record(withdraw(), None);
    run.record(withdraw(), None);
    assert_eq!((run.state.running, run.state.root().open), (0, 0));
    let step = run.state.step("a").unwrap();
    assert_eq!((step.status, step.started_at), (StepStatus::Pending, None));
    run.begin("a", 2);
    run.finish("a", StepStatus::Completed, ended(Outcome::Ok));
    assert!(run.state.step("a").unwrap().finished_at.is_some());
    run.record(withdraw(), None);
    assert_eq!(run.state.step("a").unwrap().status, StepStatus::Completed);
}

#[test]
fn a_run_that_had_ended_can_go_on() {
    let mut run = run(LEAF);
    run.over(RunStatus::Failed, None);
    assert!(run.state.finished.is_some() && run.state.finished_at.is_some());
    run.resume();
    assert!(run.state.finished.is_none() && run.state.finished_at.is_none());
    run.over(RunStatus::Failed, None);
    run.record(Event::FixWaits { seconds: 1.0, reason: String::new() }, None);
    assert!(run.state.finished.is_none() && run.state.finished_at.is_none());
}

#[test]
fn the_step_at_the_bottom_is_to_blame() {
    for (outcome, stopped, cause, human) in [
        (Outcome::Exit(1), false, "sub/k", false),
        (Outcome::NeedsHuman, false, "sub/k", true),
        (Outcome::NeedsHuman, true, "sub", false),
    ] {
        let mut run = run(CHILD);
        run.begin("sub", 1);
        run.enter("sub", "leaf");
        run.begin("sub/k", 1);
        if stopped {
            run.record(
                Event::RecipeStopped {
                    path: "sub".to_owned(),
                    error: "e".to_owned(),
                    cause: StopCause::Timeout,
                },
                None,
            );
        }
        assert_eq!((run.state.root_cause().is_some(), run.state.needs_human()), (false, false));
        run.finish("sub/k", StepStatus::Failed, ended(outcome));
        run.finish("sub", StepStatus::Failed, ended(Outcome::Nested));
        assert_eq!(run.state.root_cause().unwrap().0, cause);
        assert_eq!(run.state.needs_human(), human);
    }
}

#[test]
fn usage_adds_up_and_what_nobody_knows_stays_unknown() {
    let some = |number: u64| Usage {
        has_several_models: false,
        program: Some(format!("p{number}")),
        model: Some(format!("m{number}")),
        session: Some(format!("s{number}")),
        permissions: Some(format!("l{number}")),
        input_tokens: Some(number),
        output_tokens: Some(10 * number),
        cache_read_tokens: Some(3 * number),
        cache_write_tokens: Some(2 * number),
        cost_usd: Some(number as f64),
        turns: Some(number),
        runs: number,
        runs_without_cost: number,
        seconds: number as f64,
    };
    let added = |first: &Usage, second: &Usage| {
        let mut sum = first.clone();
        sum.add(second);
        sum
    };
    let Usage { program, model, session, permissions, .. } = some(2);
    let named = Usage { program, model, session, permissions, ..some(3) };
    assert_eq!(added(&some(1), &some(2)), named);
    assert_eq!(added(&some(1), &Usage::default()), some(1));
    assert_eq!(added(&Usage::default(), &some(1)), some(1));
    assert_eq!(some(1).tokens(), Some(11));
    assert_eq!(Usage { output_tokens: None, ..some(1) }.tokens(), Some(1));
    assert_eq!(Usage::default().tokens(), None);
    let json = |usage: &Usage| serde_json::to_string(usage).unwrap();
    assert_eq!(json(&Usage::default()), r#"{"runs":0,"seconds":0.0}"#);
    assert!(json(&some(1)).contains(r#""runs_without_cost":1"#));
}

#[test]
fn only_words_are_noted_as_the_source_of_a_trouble() {
    for (known, noted) in [(KnownBy::Result, false), (KnownBy::Words, true)] {
        let ended = Ended { trouble_by: known, ..ended(Outcome::Agent(AgentFailure::TooLarge)) };
        let json = serde_json::to_string(&ended).unwrap();
        assert_eq!(json.contains(r#""trouble_by":"words""#), noted, "{json}");
        assert!(noted || !json.contains("trouble_by"), "{json}");
        assert_eq!(serde_json::from_str::<Ended>(&json).unwrap(), ended);
    }
}

#[test]
fn changed_names_lead_from_one_list_to_the_next() {
    let set = |names: &[&str]| -> BTreeSet<String> { names.iter().map(|name| (*name).to_owned()).collect() };
    for (before, after) in
        [(&["a", "b"][..], &["b", "c"][..]), (&[], &["a"]), (&["a"], &[]), (&["a"], &["a"])]
    {
        let (mut followed, mut applied) = (set(before), set(before));
        let change = NameChange::follow(&mut followed, &after.iter().map(|name| (*name).into()).collect());
        change.apply(&mut applied);
        assert_eq!((&followed, &applied), (&set(after), &set(after)));
    }
    let mut run = run(LEAF);
    run.spawn("sub");
    let spawned = |env| {
        let (path, argv, cwd) = (String::new(), Vec::new(), String::new());
        let (attempt, pid, start_time, purpose, prompt) = (1, 1, 1, None, None);
        let event = Spawned { path, attempt, pid, start_time, argv, cwd, purpose, env, prompt };
        serde_json::to_string(&event).unwrap()
    };
    let change = |added: &[&str], gone: &[&str]| NameChange {
        added: set(added).into_iter().collect(),
        gone: set(gone).into_iter().collect(),
    };
    assert!(!spawned(change(&[], &[])).contains("env"));
    assert!(spawned(change(&["a"], &[])).contains(r#""env":{"added":["a"]}"#));
    assert!(spawned(change(&[], &["a"])).contains(r#""env":{"gone":["a"]}"#));
}

#[test]
fn final_is_what_nothing_more_happens_to() {
    for (status, is_final, is_done) in [
        (StepStatus::Pending, false, false),
        (StepStatus::Running, false, false),
        (StepStatus::Completed, true, true),
        (StepStatus::Degraded, true, true),
        (StepStatus::Skipped, true, false),
        (StepStatus::Failed, true, false),
    ] {
        assert_eq!((status.is_final(), status.is_done()), (is_final, is_done), "{status:?}");
    }
}

#[test]
fn inputs_have_a_digest_by_name_and_value() {
    let of = |context: &str| {
        let text = RECIPE.replace("{a: 1}", context);
        let run = Run::new(&text, LEAF, RunSettings::default(), &[]);
        digest(&run.plan, run.state.root(), 1)
    };
    assert_eq!(of("{a: 1}").len(), 64);
    assert_eq!(of("{a: 1}"), of("{a: 1, b: 2}"));
    assert_ne!(of("{a: 1}"), of("{a: 2}"));
    let by_name = |name: &str| {
        let text =
            format!("name: t\ncontext: {{x: 1, y: 1}}\nsteps:\n- {{id: s, command: 'a {{{{{name}}}}}'}}\n");
        let run = Run::new(&text, LEAF, RunSettings::default(), &[]);
        digest(&run.plan, run.state.root(), 0)
    };
    assert_ne!(by_name("x"), by_name("y"));
}

#[test]
fn a_recipe_below_sees_what_is_around_it_unless_it_is_given_something_else() {
    let text = "name: top
context: {a: 1, b: 2, c: 3}
steps:
- {id: sub, recipe: leaf, context: {b: given}}
";
    let given = [("c".to_owned(), Value::from("told"))].into_iter().collect();
    let mut run = Run::new(
        text,
        "name: leaf\ncontext: {a: own, d: own}\nsteps:\n- {id: k, command: x}\n",
        RunSettings { given, ..RunSettings::default() },
        &[],
    );
    run.begin("sub", 1);
    run.enter("sub", "leaf");
    let context = &run.state.frames[1].context;
    let value = |name: &str| context.get(name).map(|value| value.render().into_owned());
    let expected = [Some("1"), Some("given"), Some("told"), Some("own"), None];
    assert_eq!(["a", "b", "c", "d", "e"].map(value), expected.map(|text| text.map(str::to_owned)));
    assert!(run.state.frames[1].overrides.contains("b"));
    assert_eq!(run.state.frames[1].introduced.iter().collect::<Vec<_>>(), ["d"]);
}

#[test]
fn an_exit_code_is_known_by_the_outcome_or_besides() {
    for (outcome, noted, written, known) in [
        (Outcome::Ok, Some(0), None, Some(0)),
        (Outcome::Ok, Some(3), Some(3), Some(3)),
        (Outcome::Exit(4), Some(4), None, Some(4)),
        (Outcome::NotJson { problem: String::new() }, Some(0), Some(0), Some(0)),
        (Outcome::NeedsHuman, Some(3), Some(3), Some(3)),
        (Outcome::Agent(AgentFailure::TooLarge), None, None, None),
        (Outcome::Signal(9), None, None, None),
    ] {
        let mut ended = ended(outcome);
        ended.note_code(noted);
        assert_eq!((ended.code, ended.exit_code()), (written, known), "{ended:?}");
    }
}

#[test]
fn journals_name_the_exit_code_of_a_success() {
    for (line, known) in [
        (r#"{"outcome":"ok"}"#, Some(0)),
        (r#"{"outcome":"ok","code":3}"#, Some(3)),
        (r#"{"outcome":"needs_human"}"#, None),
        (r#"{"outcome":"needs_human","code":3}"#, Some(3)),
    ] {
        let ended: Ended = serde_json::from_str(line).unwrap();
        assert_eq!(ended.exit_code(), known, "{line}");
    }
}
