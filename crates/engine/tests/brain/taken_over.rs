//! A run whose process is gone, and that another process stops: its cleanup steps.

use engine::{Event, Halt, Outcome, StepStatus, run::actions::Happening};

use crate::{
    driving::Driven,
    run::{Run, parallel},
};

const PAIR: &str = "name: leaf\nsteps:\n- {id: k, command: x}\n- {id: l, command: x}\n";

/// The process dies, and another one stops the run.
fn stopped(run: &mut Driven) -> Vec<String> {
    run.record(Event::RunTakenOver { pid: 2 }, None);
    assert!(run.happen(Happening::StopRequested(Halt::Cancel)).is_empty());
    run.happen(Happening::CameToRest)
}

/// A run that dies in the second step of the recipe that cleans up.
fn half_cleaned(cleanup: &str, child: &'static str) -> Driven {
    let text = format!("name: top\nsteps:\n- {{id: a, command: x}}\n- {{id: c, {cleanup}, when: always}}\n");
    let mut run = Driven::new(&text, child, parallel(1));
    run.end("a", Outcome::Exit(1));
    run.end("c/k", Outcome::Ok);
    run
}

#[test]
fn a_recipe_that_cleans_up_continues_where_it_was_cut_off() {
    let mut run = half_cleaned("recipe: leaf", PAIR);
    assert_eq!(stopped(&mut run), ["start c 2", "start c/l 2"]);
    assert_eq!(run.end("c/l", Outcome::Ok), ["completed c/l", "completed c"]);
    assert_eq!(run.state.step("c/k").unwrap().status, StepStatus::Completed);
    assert_eq!(run.state.step("c/k").unwrap().attempt, 1, "finished work is not repeated");
    assert!(run.state.running_steps().is_empty());
}

#[test]
fn a_loop_that_cleans_up_continues_where_it_was_cut_off() {
    let text = "name: top\nsteps:\n- {id: a, command: x}\n\
        - {id: c, command: 'echo {{item}}', for_each: [p, q], when: always}\n";
    let mut run = Driven::new(text, "", parallel(1));
    run.end("a", Outcome::Exit(1));
    assert_eq!(run.end("c[0]", Outcome::Ok), ["completed c[0]", "start c[1] 1"]);
    assert_eq!(stopped(&mut run), ["start c[1] 2"]);
    assert_eq!(run.end("c[1]", Outcome::Ok), ["completed c[1]", "completed c"]);
}

#[test]
fn a_failed_recipe_inside_a_cleanup_step_only_cleans_up() {
    let child = "name: leaf\nsteps:\n- {id: k, command: x}\n- {id: l, command: x}\n\
        - {id: u, command: x, when: failed}\n- {id: v, command: x, when: always}\n";
    let mut run = half_cleaned("recipe: leaf", child);
    assert_eq!(run.end("c/l", Outcome::Exit(1)), ["failed c/l", "start c/u 1"]);
    assert_eq!(run.end("c/u", Outcome::Ok), ["completed c/u", "start c/v 1"]);
    assert_eq!(stopped(&mut run), ["start c 2", "start c/v 2"]);
    assert_eq!(run.end("c/v", Outcome::Ok), ["completed c/v", "failed c"]);
}

#[test]
fn cleanup_that_must_not_be_repeated_stays_cut_off() {
    const CAREFUL: &str =
        "name: leaf\nsteps:\n- {id: k, command: x}\n- {id: l, command: x, idempotent: false}\n";
    for (cleanup, child) in [("recipe: leaf", CAREFUL), ("recipe: leaf, idempotent: false", PAIR)] {
        let mut run = half_cleaned(cleanup, child);
        assert_eq!(stopped(&mut run), Vec::<String>::new(), "{cleanup}");
        assert_eq!(run.state.running_steps(), ["c/l"], "{cleanup}");
    }
    // others still clean up, also with room for one step only, and those inside it
    let text = "name: top\nsteps:\n- {id: a, command: x}\n- {id: c, recipe: leaf, when: always}\n\
        - {id: d, command: x, when: always}\n";
    let child = "name: leaf\nsteps:\n- {id: l, command: x, idempotent: false}\n- {id: m, command: x}\n\
        - {id: n, command: x, when: always}\n";
    let mut run = Driven::new(text, child, parallel(1));
    run.end("a", Outcome::Exit(1));
    assert_eq!(stopped(&mut run), ["start c/n 1"]);
    assert_eq!(run.end("c/n", Outcome::Ok), ["completed c/n", "start d 1"]);
}

#[test]
fn the_journal_of_a_run_that_was_taken_over_gives_the_same_state() {
    let text = "name: top\nsteps:\n- {id: a, command: x}\n- {id: c, recipe: leaf, when: always}\n";
    let mut run = Run::new(text, PAIR, parallel(1), &["a"]);
    run.go();
    run.kill_in("c/l");
    run.record(Event::RunTakenOver { pid: 2 }, None);
    run.go();
    assert_eq!(run.trace.join(" "), "+c +c/l -c/l -c end");
    let again = run.folded();
    for path in ["a", "c", "c/k", "c/l"] {
        let (one, other) = (run.state.step(path).unwrap(), again.step(path).unwrap());
        assert_eq!((one.status, &one.value), (other.status, &other.value), "{path}");
    }
}
