//! Steps that somebody else brought to their end, and what a resume does about them.

use engine::run::cause::AgentFailure;
use engine::{
    Event, Outcome, StepStatus,
    resume::{Blame, Interrupted},
    run::event::RunResumed,
};

use crate::{
    folding::ended,
    frames::{PLAIN, Resume, resume},
    planning::{Ask, USUAL, asked, shown},
    run::{LEAF, Run, parallel},
};

const CUT: [Outcome; 4] = [Outcome::TimedOut(1.0), Outcome::Idle(1.0), Outcome::Cancelled, Outcome::Lost];

fn run(steps: &str) -> Run {
    Run::new(&format!("name: top\nsteps:\n{steps}"), LEAF, parallel(4), &[])
}

fn fail(run: &mut Run, path: &str, outcome: Outcome) {
    run.finish(path, StepStatus::Failed, ended(outcome));
}

#[test]
fn a_step_is_cut_off_by_who_ends_it() {
    let others = [
        Outcome::Exit(1),
        Outcome::Signal(9),
        Outcome::Agent(AgentFailure::TooLarge),
        Outcome::NotJson { problem: String::new() },
    ];
    let all = CUT.into_iter().map(|cut| (cut, true)).chain(others.into_iter().map(|other| (other, false)));
    for (outcome, is_cut) in all {
        for (step, attempt, expected) in [
            ("command: x", 1, is_cut),
            // nothing of it had begun
            ("command: x", 0, false),
            ("command: x, continue_on_error: true", 1, false),
        ] {
            let mut run = run(&format!("- {{id: a, {step}}}\n"));
            if attempt > 0 {
                run.begin("a", attempt);
            }
            fail(&mut run, "a", outcome.clone());
            let found = run.state.cut_off_steps();
            assert_eq!(found.iter().any(|path| path == "a"), expected, "{outcome:?} {step} {attempt}");
            assert_eq!(found.len(), usize::from(expected), "{outcome:?} {step} {attempt}");
        }
    }
}

#[test]
fn what_is_in_flight_is_cut_off_and_what_is_done_is_not() {
    let group = "- {id: a, command: x, parallel_group: g}\n- {id: b, command: x, parallel_group: g}\n\
                 - {id: c, command: x, parallel_group: g}\n- {id: d, command: x}\n";
    let mut run = run(group);
    assert!(run.state.cut_off_steps().is_empty());
    ["a", "b", "c"].into_iter().for_each(|path| run.begin(path, 1));
    run.finish("a", StepStatus::Completed, ended(Outcome::Ok));
    fail(&mut run, "b", Outcome::Lost);
    assert_eq!(run.state.cut_off_steps(), ["c", "b"]);
}

#[test]
fn a_step_inside_is_meant_rather_than_the_recipe_around_it() {
    for (inner, outer, expected) in [
        (Outcome::TimedOut(1.0), Outcome::Nested, &["n/k"][..]),
        (Outcome::Cancelled, Outcome::TimedOut(1.0), &["n/k"]),
        (Outcome::Exit(1), Outcome::TimedOut(1.0), &["n"]),
        (Outcome::Exit(1), Outcome::Nested, &[]),
    ] {
        let mut run = run("- {id: n, recipe: leaf}\n");
        run.begin("n", 1);
        run.enter("n", "leaf");
        run.begin("n/k", 1);
        fail(&mut run, "n/k", inner.clone());
        fail(&mut run, "n", outer.clone());
        assert_eq!(run.state.cut_off_steps(), expected, "{inner:?} {outer:?}");
    }
}

#[test]
fn what_a_person_left_out_stays_left_out() {
    let mut run = run("- {id: a, command: x, idempotent: false}\n- {id: b, command: y}\n");
    run.begin("a", 1);
    let ask = Ask { blame: Blame::Other, ..USUAL };
    let how = Resume { skip: &["a"], again: &["b"], ..PLAIN };
    let (_, trace) = resume(&mut run, &how);
    assert_eq!(trace, "+b !b end");
    let plan = asked(&run, &run.plan, &ask);
    assert_eq!(shown(&plan), "=a *b at b");
    assert_eq!(plan.steps[0].reason, "you chose to skip it");
}

#[test]
fn a_person_chooses_for_what_was_cut_off_and_is_not_idempotent() {
    let choose = "it was interrupted and is not idempotent: choose --rerun-interrupted or --skip-interrupted";
    for (care, outcome, interrupted, sign, reason) in [
        (", idempotent: false", Outcome::Lost, Interrupted::Ask, '.', choose),
        (
            ", idempotent: false",
            Outcome::TimedOut(1.0),
            Interrupted::Rerun,
            '*',
            "it was interrupted, and you chose to re-run it",
        ),
        (
            ", idempotent: false",
            Outcome::Cancelled,
            Interrupted::Skip,
            '=',
            "it was interrupted, and you chose to skip it",
        ),
        (", idempotent: false", Outcome::Exit(1), Interrupted::Ask, '*', "it failed"),
        ("", Outcome::Lost, Interrupted::Ask, '*', "it failed"),
        ("", Outcome::Exit(1), Interrupted::Ask, '*', "it failed"),
    ] {
        let mut run = run(&format!("- {{id: a, command: x{care}}}\n"));
        run.begin("a", 1);
        fail(&mut run, "a", outcome.clone());
        let plan = asked(&run, &run.plan, &Ask { blame: Blame::Other, interrupted, ..USUAL });
        assert_eq!(shown(&plan), format!("{sign}a at a"), "{care} {outcome:?}");
        assert_eq!(plan.steps[0].reason, reason, "{care} {outcome:?}");
    }
}

/// A run that dies in, or right after, a step of a recipe that must not simply run again.
fn killed(child: &'static str, dies: &[&str], fails: &[&'static str]) -> Run {
    let text = "name: top\nsteps:\n- {id: n, recipe: leaf, idempotent: false}\n- {id: z, command: x}\n";
    let mut run = Run::new(text, child, parallel(4), fails);
    run.go();
    run.kill_in(dies[0]);
    if dies.len() > 1 {
        // its end is recorded, and the next start is not
        run.finish(dies[0], StepStatus::Completed, ended(Outcome::Ok));
    }
    run
}

#[test]
fn a_recipe_in_which_nothing_was_cut_off_is_entered_again() {
    for interrupted in [Interrupted::Ask, Interrupted::Rerun, Interrupted::Skip] {
        let run = killed(
            "name: leaf\nsteps:\n- {id: k, command: x}\n- {id: l, command: x}\n",
            &["n/k", "after"],
            &[],
        );
        assert!(run.state.undecided_steps().is_empty());
        let plan = asked(&run, &run.plan, &Ask { interrupted, ..USUAL });
        assert_eq!(shown(&plan), "*n =n/k .n/l .z at n/l", "{interrupted:?}");
        assert_eq!(plan.steps[0].reason, "its recipe is entered again");
    }
    let run = killed("name: leaf\nsteps:\n- {id: k, command: x}\n- {id: l, command: x}\n", &["n/l"], &[]);
    assert_eq!(run.state.undecided_steps(), ["n"]);
    let plan = asked(&run, &run.plan, &Ask { interrupted: Interrupted::Skip, ..USUAL });
    assert_eq!(shown(&plan), "=n =n/k =n/l .z at z");
}

const CLEANS: &str = "name: leaf\nsteps:\n- {id: k, command: x}\n- {id: u, command: x, when: failed}\n\
    - {id: v, command: x, when: always}\n";

/// Resumes as a plan says.
fn go_on(run: &mut Run, interrupted: Interrupted) -> String {
    let skip = match interrupted {
        Interrupted::Skip => run.state.undecided_steps(),
        _ => Vec::new(),
    };
    let plan = asked(run, &run.plan, &Ask { interrupted, ..USUAL });
    let (rerun, cleanup, failed) = (plan.redo, plan.cleanup, plan.failed);
    let resumed = RunResumed { rerun, cleanup, failed, skip, ..RunResumed::default() };
    run.record(Event::RunResumed(resumed), None);
    run.trace.clear();
    run.go();
    run.trace.join(" ")
}

#[test]
fn cleanup_in_a_recipe_that_is_not_idempotent_continues_where_it_was() {
    // between two cleanup steps nothing is half done, so a person decides nothing
    for interrupted in [Interrupted::Ask, Interrupted::Rerun, Interrupted::Skip] {
        let mut run = killed(CLEANS, &["n/u", "after"], &["n/k"]);
        assert!(run.state.undecided_steps().is_empty());
        assert_eq!(go_on(&mut run, interrupted), "+n +n/v -n/v !n end", "{interrupted:?}");
    }
    // in a cleanup step a person decides about the recipe
    let mut run = killed(CLEANS, &["n/v"], &["n/k"]);
    assert_eq!(run.state.undecided_steps(), ["n"]);
    assert_eq!(go_on(&mut run, Interrupted::Rerun), "+n +n/v -n/v !n end");
    let mut run = killed(CLEANS, &["n/v"], &["n/k"]);
    assert_eq!(go_on(&mut run, Interrupted::Skip), "+z -z end");
}

#[test]
fn cleanup_after_a_step_that_a_person_decides_about_starts_over() {
    let child = "name: leaf\nsteps:\n- {id: k, command: x, idempotent: false}\n\
        - {id: u, command: x, when: always}\n- {id: v, command: x, when: always}\n";
    let cut = || {
        let mut run = Run::new("name: top\nsteps:\n- {id: n, recipe: leaf}\n", child, parallel(4), &[]);
        run.begin("n", 1);
        run.enter("n", "leaf");
        run.begin("n/k", 1);
        fail(&mut run, "n/k", Outcome::TimedOut(1.0));
        run.record(Event::CleanupBegan { path: "n".to_owned(), class: None, stopped: None }, None);
        run.begin("n/u", 1);
        run.finish("n/u", StepStatus::Completed, ended(Outcome::Ok));
        run
    };
    let mut run = cut();
    assert_eq!(run.state.undecided_steps(), ["n/k"]);
    assert_eq!(go_on(&mut run, Interrupted::Skip), "+n +n/u -n/u +n/v -n/v -n end");
    let mut run = cut();
    assert_eq!(go_on(&mut run, Interrupted::Rerun), "+n +n/k -n/k +n/u -n/u +n/v -n/v -n end");
}
