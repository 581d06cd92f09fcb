//! Steps that run after the end of their recipe: after a failure, a timeout, or a request to stop.

use engine::{
    Event, Halt, Outcome, RunSettings, RunStatus, StepStatus,
    run::{actions::Happening, event::RunResumed},
};

use crate::{
    driving::Driven,
    folding::ended,
    planning::{USUAL, asked},
    run::{Run, parallel},
};

#[track_caller]
fn check_trace(steps: &str, child: &'static str, fails: &[&'static str], expected: &str) -> Run {
    let mut run = Run::new(&format!("name: top\nsteps:\n{steps}"), child, parallel(4), fails);
    run.go();
    assert_eq!(run.trace.join(" "), expected, "{steps}");
    run
}

const STEPS: &str = "- {id: a, command: x}\n- {id: c, command: x, when: always}\n- {id: b, command: x}\n\
    - {id: f, command: x, when: failed}\n- {id: z, command: x}\n- {id: t, command: x, when: always}\n";

#[test]
fn only_steps_below_the_failure_clean_up() {
    check_trace(STEPS, "", &[], "+a -a +c -c +b -b ~f NothingFailed +z -z +t -t end");
    check_trace(STEPS, "", &["b"], "+a -a +c -c +b !b +f -f +t -t end");
    check_trace(STEPS, "", &["a"], "+a !a +c -c +f -f +t -t end");
    // a failed cleanup step does not stop the others
    let run = check_trace(STEPS, "", &["b", "f"], "+a -a +c -c +b !b +f !f +t -t end");
    assert_eq!(run.state.root_cause().unwrap().0, "b");
    let failed: Vec<String> = run.state.failed_cleanup().into_iter().map(|failed| failed.path).collect();
    assert_eq!(failed, ["f"]);
    // an `always` step in its place is an ordinary step
    let run = check_trace(STEPS, "", &["c"], "+a -a +c !c +f -f +t -t end");
    assert_eq!(run.state.root_cause().unwrap().0, "c");
}

#[test]
fn the_failure_is_a_value_of_cleanup_steps() {
    let run = check_trace(STEPS, "", &["b"], "+a -a +c -c +b !b +f -f +t -t end");
    assert_eq!(run.value("failure"), r#"{"step":"b","error":"","class":"verification"}"#);
    assert_eq!(run.value("f"), "vf");
    let run = check_trace(STEPS, "", &[], "+a -a +c -c +b -b ~f NothingFailed +z -z +t -t end");
    assert_eq!(run.value("failure"), "");
}

const INNER: &str = "name: inner\nsteps:\n- {id: k, command: x}\n- {id: u, command: x, when: failed}\n- {id: v, command: x, when: always}\n";

#[test]
fn a_sub_recipe_cleans_up_first() {
    let steps = "- {id: n, recipe: inner}\n- {id: t, command: x, when: always}\n";
    check_trace(steps, INNER, &[], "+n +n/k -n/k ~n/u NothingFailed +n/v -n/v -n +t -t end");
    let run = check_trace(steps, INNER, &["n/k"], "+n +n/k !n/k +n/u -n/u +n/v -n/v !n +t -t end");
    assert!(run.value("failure").contains(r#""step":"n/k""#), "{}", run.value("failure"));
    let inner = run.state.step("n").unwrap().frame.unwrap();
    assert_eq!(
        run.state.frames[inner].context["failure"].render(),
        r#"{"step":"k","error":"","class":"verification"}"#
    );
    // its result is not that of a cleanup step
    assert!(run.state.frames[inner].last_value().is_none());
}

#[test]
fn a_tolerated_failure_ends_nothing() {
    let steps = "- {id: a, command: x, continue_on_error: true}\n- {id: f, command: x, when: failed}\n";
    check_trace(steps, "", &["a"], "+a !a ~f NothingFailed end");
}

#[test]
fn conditions_and_dependencies_hold_in_cleanup() {
    let steps = "- {id: d, command: x}\n- {id: a, command: x}\n\
        - {id: e, command: x, when: failed, condition: \"failure.step == 'a'\"}\n\
        - {id: g, command: x, when: failed, condition: \"failure.step == 'd'\"}\n\
        - {id: h, command: x, when: failed, depends_on: [d]}\n";
    check_trace(steps, "", &["a"], "+d -d +a !a +e -e ~g Condition +h -h end");
}

#[test]
fn a_resume_runs_cleanup_steps_only_at_its_new_end() {
    let mut run = check_trace(STEPS, "", &["b"], "+a -a +c -c +b !b +f -f +t -t end");
    run.over(RunStatus::Failed, None);
    let plan = asked(&run, &run.plan, &USUAL);
    assert_eq!(plan.cleanup, ["f", "t"]);
    assert!(plan.redo.is_empty() && plan.blocked_effects.is_empty(), "{plan:?}");
    assert_eq!(plan.goes_on_at.as_deref(), Some("b"));
    let resumed = RunResumed { rerun: plan.redo, cleanup: plan.cleanup, ..RunResumed::default() };
    run.record(Event::RunResumed(resumed), None);
    (run.trace, run.fails) = (Vec::new(), Vec::new());
    run.go();
    assert_eq!(run.trace.join(" "), "+b -b ~f NothingFailed +z -z +t -t end");
}

#[test]
fn a_completed_cleanup_effect_does_not_block_a_resume() {
    let steps = "- {id: b, command: x}\n- {id: f, command: x, when: failed, effects: [deploy]}\n";
    let mut run = check_trace(steps, "", &["b"], "+b !b +f -f end");
    run.over(RunStatus::Failed, None);
    assert!(asked(&run, &run.plan, &USUAL).blocked_effects.is_empty());
}

#[test]
fn the_cleanup_of_a_tolerated_sub_recipe_is_kept_with_it() {
    let steps = "- {id: n, recipe: inner, continue_on_error: true}\n- {id: b, command: x}\n";
    let mut run = check_trace(steps, INNER, &["n/k", "b"], "+n +n/k !n/k +n/u -n/u +n/v -n/v !n +b !b end");
    run.over(RunStatus::Failed, None);
    assert_eq!(asked(&run, &run.plan, &USUAL).cleanup, Vec::<String>::new());
}

const STOP: &str = "name: top\nsteps:\n- {id: a, command: x}\n- {id: f, command: x, when: failed}\n\
    - {id: t, command: x, when: always}\n- {id: u, command: x, when: always}\n";

#[test]
fn a_stopped_run_runs_only_always_steps_once_all_work_has_ended() {
    let mut run = Driven::new(STOP, "", parallel(1));
    assert_eq!(run.begun(), ["start a 1"]);
    run.record(Driven::spawned("a"), None);
    assert!(run.happen(Happening::StopRequested(Halt::Interrupt)).is_empty());
    assert!(run.end("a", Outcome::Cancelled).is_empty());
    // the step that was stopped still counts as running, which does not keep the cleanup from starting
    assert_eq!(run.happen(Happening::CameToRest), ["start t 1"]);
    assert_eq!(run.end("t", Outcome::Exit(1)), ["failed t", "start u 1"]);
    assert_eq!(run.end("u", Outcome::Ok), ["completed u"]);
    assert_eq!(run.state.step("a").unwrap().status, StepStatus::Running);
    assert!(run.state.step("u").unwrap().is_cleanup);
}

#[test]
fn a_recipe_cleans_up_when_those_inside_it_have() {
    let text = "name: top\nsteps:\n- {id: n, recipe: leaf}\n- {id: t, command: x, when: always}\n";
    let child = "name: leaf\nsteps:\n- {id: k, command: x}\n- {id: u, command: x, when: always}\n- {id: v, command: x, when: always}\n";
    let mut run = Driven::new(text, child, parallel(4));
    run.begun();
    run.happen(Happening::StopRequested(Halt::Cancel));
    run.end("n/k", Outcome::Cancelled);
    assert_eq!(run.happen(Happening::CameToRest), ["start n/u 1"]);
    assert_eq!(run.end("n/u", Outcome::Ok), ["completed n/u", "start n/v 1"]);
    assert_eq!(run.end("n/v", Outcome::Ok), ["completed n/v", "start t 1"]);
}

#[test]
fn no_cleanup_step_starts_once_that_is_forbidden() {
    let mut run = Driven::new(STOP, "", parallel(1));
    run.begun();
    run.happen(Happening::StopRequested(Halt::Interrupt));
    run.end("a", Outcome::Cancelled);
    assert_eq!(run.happen(Happening::CameToRest), ["start t 1"]);
    assert!(run.happen(Happening::CleanupForbidden).is_empty());
    assert!(run.end("t", Outcome::Cancelled).is_empty());
}

#[test]
fn the_recipe_inside_an_always_step_goes_on_when_the_run_is_stopped() {
    let text = "name: top\nsteps:\n- {id: a, command: x}\n- {id: n, recipe: leaf, when: always}\n- {id: z, command: x}\n";
    let child = "name: leaf\nsteps:\n- {id: k, command: x}\n- {id: l, command: x}\n";
    let mut run = Driven::new(text, child, parallel(1));
    run.begun();
    assert_eq!(run.end("a", Outcome::Ok), ["completed a", "start n 1", "start n/k 1"]);
    assert!(run.happen(Happening::StopRequested(Halt::Cancel)).is_empty());
    assert_eq!(run.end("n/k", Outcome::Ok), ["completed n/k", "start n/l 1"]);
    assert_eq!(run.end("n/l", Outcome::Ok), ["completed n/l", "completed n"]);
    assert!(run.happen(Happening::CameToRest).is_empty());
}

#[test]
fn a_timeout_around_them_spares_cleanup_steps() {
    let text = "name: top\nsteps:\n- {id: n, recipe: leaf, timeout: 5}\n";
    let child = "name: leaf\nsteps:\n- {id: k, command: x}\n- {id: u, command: x, when: failed}\n- {id: v, command: x, when: always}\n";
    let mut run = Driven::new(text, child, parallel(1));
    run.begun();
    assert_eq!(run.end("n/k", Outcome::Exit(1)), ["failed n/k", "start n/u 1"]);
    let timeout = || Happening::RecipeTimedOut { path: "n".to_owned(), seconds: 5.0 };
    assert_eq!(run.happen(timeout()), ["stop below n: the timeout of `n` (5 s) fired but n/u"]);
    assert_eq!(run.end("n/u", Outcome::Ok), ["completed n/u", "start n/v 1"]);
    assert_eq!(run.end("n/v", Outcome::Ok), ["completed n/v", "failed n", "finish"]);
    // and a recipe that is stopped cleans up
    let mut run = Driven::new(text, child, RunSettings { max_parallel: 1, ..RunSettings::default() });
    run.begun();
    run.happen(timeout());
    assert_eq!(run.end("n/k", Outcome::Cancelled), ["failed n/k", "start n/u 1"]);
}

#[test]
fn the_limit_of_steps_does_not_hold_for_cleanup() {
    let text = "name: top\nrecursion: {max_total_steps: 1}\nsteps:\n- {id: a, command: x}\n- {id: b, command: x}\n- {id: f, command: x, when: failed}\n";
    let mut run = Run::new(text, "", parallel(4), &[]);
    run.go();
    assert!(run.trace.join(" ").ends_with("+f -f end"), "{:?}", run.trace);
}

#[test]
fn a_run_that_waits_for_a_person_has_not_ended() {
    let text = "name: top\nsteps:\n- {id: a, command: x}\n- {id: t, command: x, when: always}\n";
    let mut run = Driven::new(text, "", parallel(1));
    run.begun();
    assert_eq!(run.end("a", Outcome::NeedsHuman), ["failed a", "finish"]);
}

#[test]
fn a_fold_of_the_journal_gives_the_same_failure() {
    let run = check_trace(STEPS, "", &["b"], "+a -a +c -c +b !b +f -f +t -t end");
    let began = |(event, _): &&(Event, _)| matches!(event, Event::CleanupBegan { .. });
    assert_eq!(run.events.iter().filter(began).count(), 1);
    let again = run.folded();
    assert_eq!(again.root().context, run.state.root().context);
    assert_eq!(again.root().cleanup, run.state.root().cleanup);
}

#[test]
fn cleanup_in_a_tolerated_recipe_that_was_cut_short_runs_again_at_its_new_end() {
    let child = "name: leaf\nsteps:\n- {id: k, command: x}\n- {id: f, command: x, when: failed}\n";
    let text = "name: top\nsteps:\n- {id: n, recipe: leaf, continue_on_error: true}\n- {id: b, command: x}\n";
    let mut run = Run::new(text, child, parallel(4), &["n/k", "b"]);
    run.go();
    assert_eq!(run.trace.join(" "), "+n +n/k !n/k +n/f -n/f !n +b !b end");
    run.over(RunStatus::Failed, None);
    // its failure is tolerated: it is kept, with its cleanup
    assert!(asked(&run, &run.plan, &USUAL).cleanup.is_empty());
    // it was ended from outside: it runs again
    run.finish("n", StepStatus::Failed, ended(Outcome::Cancelled));
    assert_eq!(asked(&run, &run.plan, &USUAL).cleanup, ["n/f"]);
}
