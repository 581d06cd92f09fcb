//! When the work of a step begins: not with the hook before it, and never twice.

use engine::{
    Event, Outcome, Record, StepStatus,
    run::{
        event::{Ended, NameChange, Spawned},
        outcome::ProgramEnd,
    },
};
use jiff::Timestamp;

use crate::{
    causes::not_started,
    run::{LEAF, Run, parallel},
};

fn started(path: &str) -> Event {
    Event::StepStarted { path: path.to_owned(), attempt: 1, inputs: None }
}

fn hook(path: &str, hook: &str) -> Event {
    Event::HookFinished { path: path.to_owned(), hook: hook.to_owned(), error: None }
}

fn spawned(purpose: Option<&str>) -> Event {
    Event::Spawned(Spawned {
        path: "a".to_owned(),
        attempt: 1,
        pid: 1,
        start_time: 1,
        argv: Vec::new(),
        cwd: String::new(),
        purpose: purpose.map(str::to_owned),
        env: NameChange::default(),
        prompt: None,
    })
}

fn failed(path: &str) -> Event {
    let (status, ended) = (StepStatus::Failed, Ended::new(not_started(), None));
    Event::StepFinished { path: path.to_owned(), attempt: 1, status, ended, recovered: false }
}

/// Events happen in the seconds 1, 2, 3 and so on; a step begins in the second that is expected.
#[track_caller]
fn check(hooks: &str, path: &str, events: &[Event], expected: i64) {
    let text = format!(
        "name: top\nhooks: {hooks}\nsteps:\n- {{id: a, command: x, parallel_group: g}}\n- {{id: n, recipe: leaf, parallel_group: g}}\n"
    );
    let mut run = Run::new(&text, LEAF, parallel(4), &[]);
    for (second, event) in (1..).zip(events) {
        let at = Timestamp::from_second(second).unwrap();
        let record = Record { seq: second.unsigned_abs(), at, event: event.clone() };
        run.state.apply(&run.plan, &record, None);
    }
    let began = run.state.step(path).and_then(|step| step.started_at);
    assert_eq!(began.map(Timestamp::as_second), Some(expected), "{hooks} {events:?}");
}

const PRE: &str = "{pre_step: x}";

#[test]
fn the_program_of_a_step_begins_its_work_after_the_hook() {
    let begun = [started("a"), spawned(Some("pre_step")), hook("a", "pre_step"), spawned(None)];
    check(PRE, "a", &begun[..3], 1);
    check(PRE, "a", &begun, 4);
    // the program of another attempt is not the first one
    check(PRE, "a", &[started("a"), spawned(None), spawned(None)], 2);
    check(PRE, "a", &[started("a"), failed("a"), spawned(None)], 1);
}

#[test]
fn a_step_without_a_hook_before_it_begins_with_its_attempt() {
    for hooks in ["{}", "{post_step: x}"] {
        check(hooks, "a", &[started("a"), spawned(None)], 1);
        check(hooks, "n", &[started("n"), hook("n", "pre_step")], 1);
    }
}

#[test]
fn a_recipe_step_begins_when_the_hook_is_over() {
    check(PRE, "n", &[started("n"), hook("n", "pre_step")], 2);
    check(PRE, "n", &[started("n"), hook("n", "pre_step"), hook("n", "pre_step")], 2);
    for other in ["post_step", "on_error"] {
        check(PRE, "n", &[started("n"), hook("n", other)], 1);
        check(PRE, "n", &[started("n"), failed("n"), hook("n", other)], 1);
        check(PRE, "a", &[started("a"), hook("a", other)], 1);
    }
}

#[test]
fn a_program_ends_with_a_code_or_by_a_signal() {
    for (end, code, signal) in [
        (ProgramEnd::Exit(0), Some(0), None),
        (ProgramEnd::Exit(3), Some(3), None),
        (ProgramEnd::Signal(9), None, Some(9)),
    ] {
        assert_eq!((end.code(), end.signal()), (code, signal), "{end:?}");
        // so is the end of a step that was told to stop
        let ended = Ended { stopped: Some(end), ..Ended::new(Outcome::Cancelled, None) };
        assert_eq!(ended.exit_code(), code, "{end:?}");
    }
}

#[test]
fn a_recipe_that_is_only_entered_again_is_not_given_up() {
    let rerun = ["a", "n/", "n/k"].map(str::to_owned).to_vec();
    assert_eq!(
        engine::run::event::RunResumed { rerun, ..engine::run::event::RunResumed::default() }.given_up(),
        ["a", "n/k"]
    );
}
