//! Work and its proof: what is checked, what is repeated, and what a resume makes of it.

use engine::{
    Event, Halt, Outcome, StepStatus,
    run::{
        actions::Happening,
        ensure::{CheckEnd, RuleCheck},
        event::RunResumed,
    },
};
use recipe::plan::EnsureKind;

use crate::{driving::Driven, run::parallel};

const NOTHING: [&str; 0] = [];

fn file(met: bool) -> RuleCheck {
    let (expected, found) = ("a file".to_owned(), "something".to_owned());
    RuleCheck { rule: EnsureKind::File, met, expected, found }
}

fn checked(run: &mut Driven, path: &str, met: bool) -> Vec<String> {
    ended(run, path, CheckEnd::Checked { checks: vec![file(met)], secret: Vec::new(), notes: Vec::new() })
}

fn ended(run: &mut Driven, path: &str, end: CheckEnd) -> Vec<String> {
    let attempt = run.state.step(path).map_or(0, |step| step.attempt);
    run.happen(Happening::EnsureChecked { path: path.to_owned(), attempt, end })
}

fn due(run: &mut Driven, path: &str) -> Vec<String> {
    run.happen(Happening::RetryDue { path: path.to_owned() })
}

fn resume(run: &mut Driven) -> Vec<String> {
    run.record(Event::RunResumed(RunResumed::default()), None);
    run.advance();
    run.begun()
}

#[test]
fn a_step_ends_after_its_rules_are_checked() {
    let text = "name: top\nsteps:\n- {id: a, command: x, ensure: [{file: f}, {condition: a == 'v'}]}\n- {id: b, command: x}\n";
    let mut run = Driven::new(text, "", parallel(1));
    assert_eq!(run.begun(), ["start a 1"]);
    assert_eq!(run.end("a", Outcome::Ok), ["worked a 1", "check a 1"]);
    assert_eq!(run.state.root().context.get("a"), None, "its value has not flowed");
    assert_eq!(checked(&mut run, "a", true), ["completed a", "start b 1"]);
    let rules = run.state.step("a").unwrap().ended.as_ref().unwrap().ensure.clone();
    assert_eq!(
        rules.iter().map(|rule| (rule.rule, rule.met)).collect::<Vec<_>>(),
        [(EnsureKind::File, true), (EnsureKind::Condition, true)]
    );
}

#[test]
fn work_that_failed_is_not_checked() {
    let text = "name: top\nsteps:\n- {id: a, command: x, ensure: [{file: f}]}\n";
    let mut run = Driven::new(text, "", parallel(1));
    run.begun();
    assert_eq!(run.end("a", Outcome::Exit(1)), ["failed a", "finish"]);
}

#[test]
fn an_unmet_rule_repeats_the_step_and_then_fails_it() {
    let text = "name: top\nsteps:\n- {id: a, prompt: x, ensure: [{file: f}], ensure_retries: 2, retry: {max_attempts: 2, delay: 1}}\n";
    let mut run = Driven::new(text, "", parallel(1));
    run.begun();
    run.end("a", Outcome::Ok);
    assert_eq!(checked(&mut run, "a", false), ["wait a 0 []"]);
    assert_eq!(run.state.unproven["a"].failed, [file(false)], "the next attempt is told");
    assert_eq!(due(&mut run, "a"), ["start a 2"]);
    // other failures have their own count, and do not hide the rules
    assert_eq!(run.end("a", Outcome::Exit(1)), ["wait a 1000 []"]);
    assert_eq!(run.state.unproven["a"].failed, [file(false)]);
    assert_eq!(due(&mut run, "a"), ["start a 3"]);
    run.end("a", Outcome::Ok);
    assert_eq!(checked(&mut run, "a", false), ["wait a 0 []"]);
    due(&mut run, "a");
    run.end("a", Outcome::Ok);
    assert_eq!(checked(&mut run, "a", false), ["failed a", "finish"]);
    assert_eq!(run.error("a"), "agent step failed: ensure: file: expected a file; found something");
    assert!(run.state.unproven.is_empty());
}

#[test]
fn a_condition_that_does_not_hold_names_the_values_that_it_read() {
    let text = "name: top\nsteps:\n- {id: a, command: x, ensure: [{condition: a == 'w' and b_token}]}\n";
    let mut run = Driven::new(text, "", parallel(1));
    run.end("a", Outcome::Ok);
    let end = CheckEnd::Checked { checks: Vec::new(), secret: Vec::new(), notes: Vec::new() };
    assert_eq!(ended(&mut run, "a", end).last().map(String::as_str), Some("finish"));
    let expected = "bash step failed: ensure: condition: expected `a == 'w' and b_token`; found `a` is `v`, `b_token` is not defined";
    assert_eq!(run.error("a"), expected);
    let mut run = Driven::new(text, "", parallel(1));
    run.end("a", Outcome::Ok);
    ended(
        &mut run,
        "a",
        CheckEnd::Checked { checks: Vec::new(), secret: vec!["a".to_owned()], notes: Vec::new() },
    );
    assert!(run.error("a").contains("`a` is a secret"), "{}", run.error("a"));
}

#[test]
fn a_resume_checks_again_and_does_not_repeat_the_work() {
    let text = "name: top\nsteps:\n- {id: a, command: x, ensure: [{file: f}], ensure_retries: 1}\n";
    let mut run = Driven::new(text, "", parallel(1));
    run.begun();
    run.end("a", Outcome::Ok);
    assert!(run.state.cut_off_steps().is_empty(), "its work is not cut off");
    assert_eq!(resume(&mut run), ["check a 1"]);
    // a check that was stopped with the run is repeated too
    run.happen(Happening::StopRequested(Halt::Interrupt));
    assert_eq!(ended(&mut run, "a", CheckEnd::Stopped("stopped".to_owned())), NOTHING);
    assert_eq!(resume(&mut run), ["check a 1"]);
    assert_eq!(checked(&mut run, "a", false), ["wait a 0 []"]);
    assert_eq!(resume(&mut run), ["start a 2"], "the rules were checked: the work is repeated");
    assert_eq!(run.state.unproven["a"].failed, [file(false)]);
    assert_eq!(run.end("a", Outcome::Ok), ["worked a 2", "check a 2"]);
    assert_eq!(checked(&mut run, "a", false), ["failed a", "finish"], "repeats count over resumes");
}

#[test]
fn a_run_that_stops_after_the_work_checks_nothing() {
    let text = "name: top\nsteps:\n- {id: a, command: x, ensure: [{file: f}]}\n";
    let mut run = Driven::new(text, "", parallel(1));
    run.begun();
    run.happen(Happening::StopRequested(Halt::Interrupt));
    assert_eq!(run.end("a", Outcome::Ok), ["worked a 1"]);
    assert_eq!(resume(&mut run), ["check a 1"]);
}

#[test]
fn work_that_a_resume_gives_up_is_done_again() {
    let text = "name: top\nsteps:\n- {id: a, command: x, ensure: [{file: f}]}\n";
    let mut run = Driven::new(text, "", parallel(1));
    run.end("a", Outcome::Ok);
    let resumed = RunResumed { rerun: vec!["a".to_owned()], ..RunResumed::default() };
    run.record(Event::RunResumed(resumed), None);
    run.begun();
    run.advance();
    assert_eq!(run.begun(), ["start a 2"]);
    assert_eq!(run.state.cut_off_steps(), ["a"], "the second attempt is cut off by a crash");
}

const LEAF: &str = "name: leaf\nsteps:\n- {id: k, command: x}\n";

#[test]
fn a_recipe_is_checked_after_its_end_and_runs_again() {
    let text = "name: top\nsteps:\n- {id: n, recipe: leaf, ensure: [{file: f}, {condition: n == 'v' and k == 'v'}], ensure_retries: 1}\n";
    let mut run = Driven::new(text, LEAF, parallel(1));
    run.begun();
    assert_eq!(run.end("n/k", Outcome::Ok), ["completed n/k", "worked n 1", "check n 1"]);
    assert_eq!(checked(&mut run, "n", false), ["wait n 0 []"]);
    assert_eq!(due(&mut run, "n"), ["start n 2", "start n/k 2"]);
    assert_eq!(run.end("n/k", Outcome::Ok), ["completed n/k", "worked n 2", "check n 2"]);
    // its steps are kept by a resume, and only the rules are checked again
    assert_eq!(resume(&mut run), ["start n 3", "worked n 3", "check n 3"]);
    assert_eq!(checked(&mut run, "n", true), ["completed n", "finish"]);
    assert_eq!(run.state.step("n").unwrap().status, StepStatus::Completed);
}

#[test]
fn a_recipe_with_an_effect_is_not_repeated() {
    let leaf = "name: leaf\nsteps:\n- {id: k, command: x, effects: [push]}\n";
    let text = "name: top\nsteps:\n- {id: n, recipe: leaf, ensure: [{file: f}], ensure_retries: 1}\n";
    let mut run = Driven::new(text, leaf, parallel(1));
    run.begun();
    run.end("n/k", Outcome::Ok);
    let told = checked(&mut run, "n", false);
    assert_eq!(told[1..], ["failed n", "finish"], "{told:?}");
    assert!(told[0].starts_with("note warning: not retried: `n/k` is done"), "{told:?}");
}

#[test]
fn a_check_in_a_recipe_that_timed_out_fails_its_step() {
    let leaf = "name: leaf\nsteps:\n- {id: k, command: x, ensure: [{file: f}], ensure_retries: 3}\n";
    let text = "name: top\nsteps:\n- {id: n, recipe: leaf, timeout: 5}\n";
    let time_out = |run: &mut Driven| {
        run.happen(Happening::RecipeTimedOut { path: "n".to_owned(), seconds: 5.0 });
    };
    let mut run = Driven::new(text, leaf, parallel(1));
    run.begun();
    run.end("n/k", Outcome::Ok);
    time_out(&mut run);
    let told = ended(&mut run, "n/k", CheckEnd::Stopped("ended because it is late".to_owned()));
    assert_eq!(told, ["failed n/k", "failed n", "finish"]);
    assert_eq!(run.error("n/k"), "bash step failed: ensure: ended because it is late");
    let mut run = Driven::new(text, leaf, parallel(1));
    time_out(&mut run);
    run.begun();
    assert_eq!(run.end("n/k", Outcome::Ok), ["failed n/k", "failed n", "finish"]);
    assert!(
        run.error("n/k").contains("ensure: not checked because the timeout of `n`"),
        "{}",
        run.error("n/k")
    );
}
