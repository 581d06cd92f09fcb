//! What a resume does about files of kept steps that are gone, or hold something else now, and about processes that
//! they left running.

use engine::{
    Event, Outcome, RunStatus, StepStatus,
    resume::{Blame, Effects, ResumePlan, Resumer},
    run::event::{Ended, RunResumed},
};

use crate::{
    planning::{Ask, USUAL, asked, made, shown},
    run::{LEAF, Run, parallel, plan},
};

const OUT: &[(&str, &str)] = &[("mk", "out.txt")];
const ASK: Ask = Ask { blame: Blame::Other, missing: OUT, ..USUAL };

fn recipe(steps: &[&str]) -> String {
    let steps: String = steps.iter().map(|step| format!("- {{{step}}}\n")).collect();
    format!("name: top\nsteps:\n{steps}")
}

/// The plan after `g` has failed and `out.txt` of `mk` is gone.
#[track_caller]
fn check(steps: &[&str], expected: &str) {
    let text = recipe(steps);
    assert_eq!(shown(&made(&text, &text, &["g"], &ASK)), format!("{expected} at g"), "{text}");
}

const MK: &str = "id: mk, command: x, produces: [out.txt]";

#[test]
fn a_file_that_is_gone_is_made_again_for_who_reads_it() {
    check(&[MK, "id: g, command: y, reads: [out.txt]"], "*mk *g");
    check(&[MK, "id: g, command: y, reads: ['*.txt']"], "*mk *g");
    check(&[MK, "id: a, command: y", "id: g, command: y, depends_on: [mk]"], "*mk =a *g");
    // what comes later reads it too
    check(
        &[MK, "id: a, command: y", "id: g, command: y", "id: z, command: y, reads: [out.txt]"],
        "*mk =a *g .z",
    );
    // who read the old one reads the new one
    check(
        &[MK, "id: z, command: x, reads: [out.txt]", "id: g, command: 'echo {{z}}', reads: [out.txt]"],
        "*mk *z *g",
    );
    // and what it is made from
    check(
        &[
            "id: mk, command: x, produces: [out.txt]",
            "id: up, command: x, reads: [out.txt], produces: [b]",
            "id: g, command: y, reads: [b]",
        ],
        "=mk =up *g",
    );
}

#[test]
fn a_file_that_nobody_needs_may_be_gone() {
    check(&[MK, "id: a, command: cat out.txt", "id: g, command: y"], "=mk =a *g");
    check(&[MK, "id: g, command: 'echo {{mk}}'"], "=mk *g");
    // nothing says what it needs
    check(&[MK, "id: g, command: y"], "=mk *g");
    check(&[MK, "id: a, command: y", "id: g, command: 'cat out.txt {{a}}'"], "=mk =a *g");
    check(&[MK, "id: a, command: y", "id: g, command: 'cat my-out.txt out.txt.bak {{a}}'"], "=mk =a *g");
}

#[test]
fn what_is_made_again_may_need_more() {
    let text = recipe(&[
        "id: one, command: x, produces: [one.txt]",
        "id: two, command: x, reads: [one.txt], produces: [two.txt]",
        "id: g, command: y, reads: [two.txt]",
    ]);
    let ask = Ask { missing: &[("one", "one.txt"), ("two", "two.txt")], ..ASK };
    let plan = made(&text, &text, &["g"], &ask);
    assert_eq!(shown(&plan), "*one *two *g at g");
    assert_eq!(plan.steps[0].reason, "its file `one.txt` is gone, and `two` needs it");
    assert_eq!(plan.steps[1].reason, "its file `two.txt` is gone, and `g` needs it");
}

#[test]
fn an_agent_makes_something_else_and_its_readers_see_it() {
    let text = recipe(&[
        "id: mk, prompt: x, produces: [out.txt]",
        "id: a, command: 'echo {{mk}}'",
        "id: b, command: y",
        "id: g, command: y, reads: [out.txt]",
    ]);
    assert_eq!(shown(&made(&text, &text, &["g"], &ASK)), "*mk *a =b *g at g");
}

#[test]
fn completed_effects_are_not_repeated_for_a_file() {
    for care in ["effects: [deploy]", "idempotent: false"] {
        let text = recipe(&[&format!("{MK}, {care}"), "id: g, command: y, reads: [out.txt]"]);
        let blocked = |effects| made(&text, &text, &["g"], &Ask { effects, ..ASK }).blocked_effects;
        assert_eq!(blocked(Effects::Once), ["mk"], "{care}");
        assert!(blocked(Effects::Again).is_empty(), "{care}");
    }
}

#[test]
fn a_file_inside_of_a_kept_recipe_is_made_again_for_who_reads_it_outside() {
    let ask = Ask { missing: &[("n/k", "out.txt")], ..ASK };
    for (last, expected) in [("y, reads: [out.txt]", "*n *n/k *g at g"), ("cat out.txt", "=n =n/k *g at g")] {
        let text = recipe(&["id: n, recipe: leaf", &format!("id: g, command: {last}")]);
        assert_eq!(shown(&made(&text, &text, &["g"], &ask)), expected);
    }
}

#[test]
fn a_recipe_may_run_itself() {
    const SELF: &str =
        "name: leaf\nsteps:\n- {id: k, command: x}\n- {id: again, recipe: leaf, condition: 'false'}\n";
    for (child, expected) in [
        (SELF.to_owned(), "=mk *g .n at g"),
        (SELF.replace("command: x", "command: x, reads: [out.txt]"), "*mk *g .n at g"),
    ] {
        let text = recipe(&[MK, "id: g, command: y", "id: n, recipe: leaf"]);
        let mut run = Run::new(&text, child.leak(), parallel(4), &["g"]);
        run.go();
        assert_eq!(shown(&asked(&run, &run.plan, &ASK)), expected);
    }
}

#[test]
fn a_file_is_not_made_again_for_what_stands_before_it() {
    let child = |command: &str| {
        format!(
            "name: leaf\nsteps:\n- {{id: i, command: x}}\n- {{id: j, command: {command}, reads: [out.txt]}}\n\
             - {{id: k, command: 'echo {{{{i}}}}', produces: [out.txt]}}\n"
        )
    };
    let text = recipe(&["id: n, recipe: leaf"]);
    let mut run = Run::new(&text, child("old").leak(), parallel(4), &[]);
    run.go();
    let now = plan(&text, child("new").leak());
    let ask = Ask { missing: &[("n/k", "out.txt")], ..ASK };
    assert_eq!(shown(&asked(&run, &now, &ask)), "*n =n/i *n/j =n/k at n/j");
}

#[test]
fn a_file_that_was_changed_is_kept_and_named() {
    let text = recipe(&[MK, "id: g, command: y, reads: [out.txt]"]);
    let ask = Ask { missing: &[], altered: OUT, ..ASK };
    for resumer in [USUAL.resumer, Resumer::Automatic { level: 0 }] {
        let plan = made(&text, &text, &["g"], &Ask { resumer, ..ask });
        assert_eq!(shown(&plan), "=mk *g at g");
        assert_eq!(plan.steps[0].reason, "it is done; `out.txt` was changed since, and is kept");
    }
}

/// How a run comes to its end.
#[derive(Clone, Copy, Debug)]
enum Death {
    /// It ended what these steps had left.
    Swept(&'static [&'static str]),
    /// Its runner was killed.
    Killed,
}

/// The plan after `srv` has left a process running and `g` has failed.
fn left(steps: &[&str], srv: &str, death: Death, ask: &Ask) -> ResumePlan {
    let text = recipe(steps);
    let mut run = Run::new(&text, LEAF, parallel(4), &["g"]);
    run.go();
    let ended = Ended { left_running: true, ..Ended::new(Outcome::Ok, None) };
    let status = StepStatus::Completed;
    // what the run in memory says about it once more, with what it left
    run.record(
        Event::StepFinished { path: srv.to_owned(), attempt: 1, status, ended, recovered: false },
        None,
    );
    if let Death::Swept(steps) = death {
        run.over(RunStatus::Failed, Some(steps));
    }
    asked(&run, &run.plan, ask)
}

const SRV: &str = "id: srv, command: x";
const OTHER: Ask = Ask { blame: Blame::Other, ..USUAL };

#[test]
fn a_process_that_ended_with_the_run_is_started_again_for_what_comes_after_it() {
    let check = |steps: &[&str], death, expected: &str| {
        let plan = left(steps, "srv", death, &OTHER);
        assert_eq!(shown(&plan), format!("{expected} at g"), "{steps:?} {death:?}");
        let reason = "the process it left running ended with the run";
        let srv = plan.steps.iter().find(|step| step.path == "srv").unwrap();
        assert_eq!(srv.reason == reason, expected.contains("*srv"), "{}", srv.reason);
    };
    let all = &[SRV, "id: a, command: y", "id: g, command: 'echo {{a}}'"];
    check(all, Death::Swept(&["srv#1"]), "*srv =a *g");
    check(all, Death::Killed, "*srv =a *g");
    // it had come to an end of its own
    check(all, Death::Swept(&[]), "=srv =a *g");
    check(all, Death::Swept(&["a#1", "srv#post_step"]), "=srv =a *g");
    // another attempt had left that one
    check(all, Death::Swept(&["srv#2"]), "=srv =a *g");
    // its value is still the same
    let read = &[SRV, "id: a, command: 'echo {{srv}}'", "id: b, command: y", "id: g, command: 'echo {{a}}'"];
    check(read, Death::Killed, "*srv =a =b *g");
    let beside = &["id: g, parallel_group: p, command: x", "id: srv, parallel_group: p, command: x"];
    check(beside, Death::Killed, "*g *srv");
}

#[test]
fn a_process_inside_of_a_kept_recipe_is_started_again() {
    let plan = left(&["id: n, recipe: leaf", "id: g, command: y"], "n/k", Death::Killed, &OTHER);
    assert_eq!(shown(&plan), "*n *n/k *g at g");
}

#[test]
fn a_process_is_known_over_resumes_until_its_step_runs_again() {
    let text = recipe(&[SRV, "id: g, command: y"]);
    let mut run = Run::new(&text, LEAF, parallel(4), &["g"]);
    run.go();
    let ended = Ended { left_running: true, ..Ended::new(Outcome::Ok, None) };
    let status = StepStatus::Completed;
    run.record(
        Event::StepFinished { path: "srv".to_owned(), attempt: 1, status, ended, recovered: false },
        None,
    );
    // a person was asked, and nobody looked
    run.over(RunStatus::Failed, None);
    assert_eq!(shown(&asked(&run, &run.plan, &OTHER)), "*srv *g at g");
    run.record(Event::RunResumed(RunResumed::default()), None);
    run.go();
    assert_eq!(shown(&asked(&run, &run.plan, &OTHER)), "*srv *g at g");
    let rerun = vec!["srv".to_owned()];
    run.record(Event::RunResumed(RunResumed { rerun, ..RunResumed::default() }), None);
    run.go();
    assert_eq!(shown(&asked(&run, &run.plan, &OTHER)), "=srv *g at g");
}

#[test]
fn completed_effects_are_not_repeated_for_a_process() {
    for srv in [
        "id: srv, command: x, effects: [deploy]",
        "id: srv, command: x, idempotent: false",
        "id: srv, command: git push",
    ] {
        let steps = [srv, "id: g, command: y"];
        let plan = left(&steps, "srv", Death::Killed, &OTHER);
        assert_eq!((shown(&plan).as_str(), plan.blocked_effects.len()), ("=srv *g at g", 0), "{srv}");
    }
}
