//! What a failure that the recipe tolerates leaves behind, and what no recipe tolerates.

use engine::run::cause::AgentFailure;
use engine::{
    Event, Outcome, StepStatus,
    run::event::{Ended, Stored},
};
use recipe::value::Value;

use crate::{
    causes::{not_started, refused},
    folding::ended,
    frames::{PLAIN, resume},
    run::{LEAF, Run, parallel, plan},
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
    for outcome in [refused(), not_started(), Outcome::Agent(AgentFailure::TooLarge), Outcome::TimedOut(1.0)]
    {
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

/// Three levels, each with limits of its own, in which every step may fail.
#[track_caller]
fn limited(limits: [&str; 3], expected: &str) {
    let [top, mid, leaf] = limits;
    let may = "continue_on_error: true";
    let below = format!(
        "name: mid\nrecursion: {mid}\nsteps:\n- {{id: i, recipe: leaf, {may}}}\n- {{id: j, command: x, {may}}}\n---\n\
         name: leaf\nrecursion: {leaf}\nsteps:\n- {{id: k, command: x, {may}}}\n- {{id: l, command: x, {may}}}\n"
    );
    let text = format!(
        "name: top\nrecursion: {top}\nsteps:\n- {{id: m, recipe: mid, {may}}}\n- {{id: z, command: x, {may}}}\n"
    );
    let mut run = Run::new(&text, below.leak(), parallel(4), &[]);
    run.go();
    let trace = run.trace.join(" ").replace(" Maximum recipe recursion depth (0) exceeded", "=depth");
    let trace: Vec<&str> = trace.split(' ').filter(|word| word.contains(['!', '+'])).collect();
    let ends = if run.state.root().failed_at.is_some() { "failed" } else { "completed" };
    assert_eq!(format!("{} {ends}", trace.join(" ")), expected, "{limits:?}");
}

#[test]
fn a_limit_ends_the_recipe_that_has_it_whatever_its_steps_tolerate() {
    let (none, one, two) = ("{}", "{max_total_steps: 1}", "{max_total_steps: 2}");
    limited([none, none, none], "+m +m/i +m/i/k +m/i/l +m/j +z completed");
    // the limit of a recipe ends it, and who runs it may tolerate that
    limited([none, none, one], "+m +m/i +m/i/k !m/i/l !m/i +m/j +z completed");
    limited([none, one, none], "+m +m/i +m/i/k !m/i/l !m/i !m +z completed");
    limited([one, none, none], "+m +m/i +m/i/k !m/i/l !m/i !m failed");
    limited([none, two, none], "+m +m/i +m/i/k +m/i/l !m/j !m +z completed");
    limited([two, none, none], "+m +m/i +m/i/k +m/i/l !m/j !m failed");
    // of two limits the outer one counts
    limited([one, one, one], "+m +m/i +m/i/k !m/i/l !m/i !m failed");
    let flat = "{max_depth: 0}";
    // a recipe that lies too deep is merely not entered
    limited([none, flat, none], "+m !m/i=depth +m/j +z completed");
    limited([flat, none, none], "!m=depth +z completed");
}

#[test]
fn a_failure_of_its_own_is_tolerated_also_where_no_more_steps_may_run() {
    let text = "name: top\nrecursion: {max_total_steps: 1}\nsteps:\n- {id: n, recipe: leaf, continue_on_error: true}\n";
    let mut run = Run::new(text, LEAF, parallel(4), &["n/k"]);
    run.go();
    assert!(run.state.outer_limit(1).is_none());
}

#[test]
fn a_limit_that_was_raised_is_no_reason_to_keep_what_exceeded_it() {
    let text = |most: u32| {
        format!(
            "name: top\nrecursion: {{max_total_steps: {most}}}\nsteps:\n- {{id: a, command: x}}\n\
             - {{id: b, command: x, continue_on_error: true}}\n"
        )
    };
    let mut run = Run::new(&text(1), LEAF, parallel(4), &[]);
    run.go();
    run.plan = plan(&text(2), LEAF);
    assert_eq!(resume(&mut run, &PLAIN).1, "+b -b end");
}
