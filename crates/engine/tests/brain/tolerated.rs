//! What a failure that the recipe tolerates leaves behind, and what no recipe tolerates.

use engine::{
    Event, Outcome, StepStatus,
    event::{Ended, Stored},
};
use recipe::value::Value;

use crate::{
    folding::ended,
    frames::{PLAIN, resume},
    run::{LEAF, Run, parallel},
};

/// `v` has a value, and a step that may fail stores under the same name.
fn run(step: &str, fails: &[&'static str]) -> Run {
    let text = format!(
        "name: top\ncontext: {{n: 5}}\nsteps:\n- {{id: a, command: x, output: v}}\n\
         - {{id: b, {step}, output: v, continue_on_error: true}}\n- {{id: z, command: x}}\n"
    );
    Run::new(&text, LEAF, parallel(4), fails)
}

/// Ends `b` with this, and nothing that it printed.
fn fail(run: &mut Run, ended: Ended) {
    run.begin("a", 1);
    run.finish("a", StepStatus::Completed, self::ended(Outcome::Ok));
    run.begin("b", 1);
    let (path, status) = ("b".to_owned(), StepStatus::Failed);
    run.record(Event::StepFinished { path, attempt: 1, status, ended, recovered: false }, None);
}

fn value(run: &Run) -> Option<Value> {
    run.state.root().context.get("v").cloned()
}

#[test]
fn a_failure_without_a_value_leaves_empty_text_and_not_the_value_of_another_step() {
    let empty = Some(Value::from(""));
    for outcome in [Outcome::Refused, Outcome::NotStarted, Outcome::Agent, Outcome::TimedOut(1.0)] {
        let mut run = run("command: x", &["z"]);
        fail(&mut run, ended(outcome.clone()));
        assert_eq!(value(&run), empty, "{outcome:?}");
        run.go();
        assert_eq!(resume(&mut run, &PLAIN).1, "+z -z end");
        assert_eq!(value(&run), empty, "{outcome:?} after a resume");
    }
    for (step, fails) in
        [("recipe: leaf", &["b/k", "z"][..]), ("command: x, condition: \"n.lower() == 5\"", &["z"])]
    {
        let mut run = run(step, fails);
        run.go();
        assert_eq!(value(&run), empty, "{step}");
        assert_eq!(resume(&mut run, &PLAIN).1, "+z -z end");
        assert_eq!(value(&run), empty, "{step} after a resume");
    }
}

#[test]
fn a_lost_value_is_not_taken_for_empty_text() {
    let mut run = run("command: x", &[]);
    let stored = Stored::Inline(Value::from("printed"));
    fail(&mut run, Ended { value: Some(stored), ..ended(Outcome::Exit(1)) });
    assert_eq!(value(&run), Some(Value::from("v")));
}

#[test]
fn a_skipped_step_leaves_what_is_there() {
    let mut run = run("command: x, condition: \"n == 6\"", &[]);
    run.go();
    assert_eq!(value(&run), Some(Value::from("va")));
}
