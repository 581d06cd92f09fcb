//! Which steps left processes running whose end is not known, and what a resume starts again because of that.

use engine::{Outcome, RunStatus, StepStatus, resume::Blame, run::event::Ended};

use crate::{
    folding::ended,
    planning::{Ask, USUAL, asked, shown},
    run::{LEAF, Run, parallel, plan},
};

fn leave(run: &mut Run, path: &str) {
    run.finish(path, StepStatus::Completed, Ended { left_running: true, ..ended(Outcome::Ok) });
}

type Happens = fn(&mut Run);

#[test]
fn what_was_left_is_alive_until_somebody_saw_its_end() {
    let cases: [(Happens, bool); 5] = [
        (|run| run.begin("a", 2), false),
        (Run::resume, false),
        (|run| run.over(RunStatus::Failed, Some(&["a#1"])), false),
        // nobody looked
        (|run| run.over(RunStatus::Failed, None), true),
        (|run| run.begin("b", 1), true),
    ];
    for (at, (event, expected)) in cases.into_iter().enumerate() {
        let mut run = Run::new(
            "name: top\nsteps:\n- {id: a, command: x}\n- {id: b, command: x}\n",
            LEAF,
            parallel(4),
            &[],
        );
        run.begin("a", 1);
        assert!(!run.state.has_left_running());
        leave(&mut run, "a");
        assert!(run.state.has_left_running());
        event(&mut run);
        assert_eq!(run.state.has_left_running(), expected, "{at}");
    }
}

/// A program's own daemon is ended like everything else, and nobody misses it.
#[test]
fn nothing_is_started_again_for_a_daemon() {
    let endings: [Happens; 3] = [
        |_| {},
        |run| run.over(RunStatus::Failed, Some(&["n/k#1"])),
        |run| {
            run.resume();
            run.over(RunStatus::Failed, None);
        },
    ];
    for (daemons, expected) in [(false, "*n *n/k "), (true, "=n =n/k ")] {
        for end in endings {
            let text = "name: top\nsteps:\n- {id: n, recipe: leaf}\n- {id: b, command: x}\n";
            let mut run = Run::new(text, LEAF, parallel(4), &["b"]);
            run.go();
            let ended = Ended { left_running: true, left_daemons: daemons, ..ended(Outcome::Ok) };
            run.finish("n/k", StepStatus::Completed, ended);
            assert_eq!(run.state.left_running_below("n"), ["n/k#1"], "ended where the recipe fails");
            end(&mut run);
            let shown = shown(&asked(&run, &run.plan, &OTHER));
            assert!(shown.starts_with(expected), "{shown}");
        }
    }
}

#[test]
fn what_a_recipe_left_is_named_as_processes_are_marked() {
    let mut run = Run::new(
        "name: top\nsteps:\n- {id: n, recipe: leaf}\n- {id: nn, recipe: leaf}\n",
        LEAF,
        parallel(4),
        &[],
    );
    for path in ["n/k", "nn/k", "n"] {
        leave(&mut run, path);
    }
    assert_eq!(run.state.left_running_below("n"), ["n/k#1"]);
    assert_eq!(run.state.left_running_below("nn"), ["nn/k#1"]);
    assert!(run.state.left_running_below("k").is_empty());
}

const OTHER: Ask = Ask { blame: Blame::Other, ..USUAL };

/// The plan for a recipe that was edited, after a step left a process running.
#[track_caller]
fn check((steps, child): (&str, &'static str), edit: (&str, &str), srv: &str, expected: &str) {
    let text = |steps: &str| format!("name: top\nsteps:\n{steps}");
    let mut run = Run::new(&text(steps), child, parallel(4), &[]);
    run.go();
    leave(&mut run, srv);
    let now = plan(&text(&steps.replace(edit.0, edit.1)), child.replace(edit.0, edit.1).leak());
    assert_eq!(shown(&asked(&run, &now, &OTHER)), expected, "{steps}{child}");
}

#[test]
fn nothing_is_started_again_for_what_stands_before_it() {
    let edit = ("command: old", "command: new");
    let steps = "- {id: b, command: x}\n- {id: a, command: old}\n- {id: srv, command: 'echo {{b}}'}\n\
                 - {id: c, command: 'echo {{b}}'}\n";
    check((steps, LEAF), edit, "srv", "=b *a =srv =c at a");
    let last = steps.replace("- {id: c, command: 'echo {{b}}'}\n", "");
    check((&last, LEAF), edit, "srv", "=b *a =srv at a");
    // a group of its own does not stand beside what comes before it
    let alone = steps.replace("{id: srv,", "{id: srv, parallel_group: p,");
    check((&alone, LEAF), edit, "srv", "=b *a =srv =c at a");
    let beside = alone.replace("{id: a,", "{id: a, parallel_group: p,");
    check((&beside, LEAF), edit, "srv", "=b *a *srv =c at a");
    let after = "- {id: b, command: x}\n- {id: srv, command: 'echo {{b}}'}\n- {id: a, command: old}\n";
    check((after, LEAF), edit, "srv", "=b *srv *a at srv");
    // nor for a recipe that is entered again for what stands before it
    let child = "name: leaf\nsteps:\n- {id: i, command: x}\n- {id: j, command: old}\n- {id: k, command: 'echo {{i}}'}\n";
    check(("- {id: n, recipe: leaf}\n", child), edit, "n/k", "*n =n/i *n/j =n/k at n/j");
}

#[test]
fn what_a_recipe_step_left_is_started_again_too() {
    let steps = "- {id: n, recipe: leaf}\n- {id: b, command: old}\n";
    check((steps, LEAF), ("command: old", "command: new"), "n", "*n *n/k *b at n");
}

#[test]
fn what_is_gone_from_the_recipe_is_not_started_again() {
    let steps = "- {id: srv, command: x}\n- {id: b, command: old}\n";
    check(
        (steps, LEAF),
        ("- {id: srv, command: x}\n- {id: b, command: old", "- {id: b, command: new"),
        "srv",
        "*b at b",
    );
}

#[test]
fn nothing_is_started_again_inside_a_step_that_stays_failed() {
    let child = "name: leaf\nsteps:\n- {id: k, command: x}\n- {id: z, command: x}\n";
    let text = "name: top\nsteps:\n- {id: n, recipe: leaf}\n- {id: t, command: x, when: always}\n";
    let mut run = Run::new(text, child, parallel(4), &["n/z"]);
    run.go();
    run.kill_in("t");
    leave(&mut run, "n/k");
    let plan = asked(&run, &run.plan, &USUAL);
    assert!(plan.failed.contains(&"n".to_owned()), "{plan:?}");
    assert!(plan.redo.is_empty(), "{plan:?}");
}
