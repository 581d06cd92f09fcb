//! What a recipe that failed has done and must not do again.

use engine::{Event, Outcome, StepStatus, run::event::RunResumed};

use crate::{
    folding::ended,
    run::{Run, parallel},
};

const ONCE: &str = ", idempotent: false";
const PUSH: &str = ", effects: [push]";

/// A recipe with `a`, and `n` which runs `leaf` with `k` and `l`; `fails` fails, `more` is said of steps by their ids.
fn run(fails: &'static str, more: &[(&str, &str)]) -> Run {
    let said = |id: &str| more.iter().find(|(step, _)| *step == id).map_or("", |(_, more)| *more);
    let step = |id: &str, what: &str| format!("- {{id: {id}, {what}{}}}\n", said(id));
    let below = format!(
        "name: mid\nsteps:\n{}{}---\nname: leaf\nsteps:\n{}{}",
        step("a", "command: x"),
        step("n", "recipe: leaf"),
        step("k", "command: x"),
        step("l", "command: x"),
    );
    let text = "name: top\nsteps:\n- {id: m, recipe: mid, retry: 3}\n- {id: z, command: x}\n";
    let mut run = Run::new(text, below.leak(), parallel(4), &[]);
    run.fails = vec![fails];
    run.go();
    run
}

#[track_caller]
fn check(fails: &'static str, more: &[(&str, &str)], expected: &[&str]) {
    let run = run(fails, more);
    let frame = run.state.step("m").and_then(|step| step.frame).unwrap();
    assert_eq!(run.state.done_for_good(frame).done, expected, "{fails} {more:?}");
}

#[test]
fn effects_that_are_done_are_done_for_good() {
    check("m/n/l", &[], &[]);
    check("m/n/l", &[("a", ONCE)], &["m/a"]);
    check("m/n/l", &[("a", PUSH), ("k", ONCE)], &["m/a", "m/n/k"]);
    // the recipe around it says it for all that is in it, once it is done
    check("", &[("n", ONCE), ("k", ONCE)], &["m/n"]);
    check("m/n/l", &[("n", ONCE), ("k", ONCE)], &["m/n/k"]);
}

#[test]
fn what_failed_by_itself_or_was_not_reached_is_not_done() {
    check("m/a", &[("a", ONCE), ("k", PUSH)], &[]);
    check("m/n/l", &[("l", PUSH)], &[]);
    check("m/n/l", &[("l", ONCE)], &[]);
    check("m/n/k", &[("l", ONCE)], &[]);
}

#[test]
fn what_was_ended_half_way_may_be_done() {
    for (outcome, more, expected) in [
        (Outcome::TimedOut(1.0), ONCE, &["m/a"][..]),
        (Outcome::Cancelled, ONCE, &["m/a"]),
        (Outcome::TimedOut(1.0), PUSH, &[]),
        (Outcome::Exit(1), ONCE, &[]),
    ] {
        let below = format!("name: mid\nsteps:\n- {{id: a, command: x{more}}}\n");
        let mut run = Run::new("name: top\nsteps:\n- {id: m, recipe: mid}\n", below.leak(), parallel(4), &[]);
        run.begin("m", 1);
        run.enter("m", "mid");
        run.begin("m/a", 1);
        run.finish("m/a", StepStatus::Failed, ended(outcome.clone()));
        assert_eq!(run.state.done_for_good(1).half_done, expected, "{outcome:?} {more}");
    }
}

/// `m/n/k` was done before the run was resumed, which does `m/a` again.
fn resumed(more: &[(&str, &str)]) -> Run {
    let mut run = run("m/n/l", more);
    let resumed = RunResumed { pid: 1, rerun: vec!["m/a".to_owned()], ..RunResumed::default() };
    run.record(Event::RunResumed(resumed), None);
    run.begin("m", 2);
    run.enter("m", "mid");
    run.begin("m/a", 2);
    run.finish("m/a", StepStatus::Failed, ended(Outcome::Exit(1)));
    run
}

#[test]
fn effects_from_before_a_resume_are_done_for_good() {
    for (more, expected) in [
        (&[][..], &[][..]),
        (&[("a", PUSH)], &[]),
        (&[("k", PUSH)], &["m/n/k"]),
        (&[("k", ONCE)], &["m/n/k"]),
        (&[("l", ONCE)], &[]),
    ] {
        let run = resumed(more);
        let frame = run.state.step("m").and_then(|step| step.frame).unwrap();
        assert_eq!(run.state.done_for_good(frame).done, expected, "{more:?}");
        assert!(run.state.done_for_good(frame).half_done.is_empty(), "{more:?}");
    }
}

#[test]
fn another_attempt_at_a_recipe_keeps_nothing_from_before_a_resume() {
    let mut run = resumed(&[]);
    assert_eq!(run.state.root().ran, 1);
    let (path, ended) = ("m".to_owned(), ended(Outcome::Nested));
    run.record(Event::AttemptFailed { path, attempt: 2, ended, retry_in_ms: 0 }, None);
    // it did run
    assert_eq!(run.state.root().ran, 2);
    run.begin("m", 3);
    run.enter("m", "mid");
    run.trace.clear();
    run.fails.clear();
    run.go();
    assert_eq!(run.trace.join(" "), "+m/a -m/a +m/n +m/n/k -m/n/k +m/n/l -m/n/l -m/n -m +z -z end");
}
