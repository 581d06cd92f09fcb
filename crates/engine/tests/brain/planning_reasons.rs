//! What a plan says of every step, which steps it names, and what becomes of steps that did not end.

use engine::{
    Event,
    resume::{Blame, ResumePlan, Resumer},
};

use crate::{
    planning::{AGAIN, Ask, USUAL, asked, shown},
    run::{LEAF, Run, parallel, plan},
};

const OTHER: Ask = Ask { blame: Blame::Other, ..USUAL };

fn planned(before: &str, after: &str, fails: &[&'static str], ask: &Ask) -> ResumePlan {
    let mut run = Run::new(&format!("name: top\n{before}"), LEAF, parallel(4), fails);
    run.go();
    asked(&run, &plan(&format!("name: top\n{after}"), LEAF), ask)
}

#[track_caller]
fn check_reasons(plan: &ResumePlan, expected: &[(&str, &str)]) {
    let found: Vec<(&str, &str)> =
        plan.steps.iter().map(|step| (step.path.as_str(), step.reason.as_str())).collect();
    assert_eq!(found, expected);
}

const STEPS: &str = "steps:
- {id: make, prompt: m}
- {id: note, command: 'echo {{make}}'}
- {id: other, command: x, depends_on: [note]}
- {id: skipped, command: 'echo {{make}}', condition: 'false'}
- {id: check, command: 'grep x {{make}}'}
- {id: later, command: 'echo {{make}}'}
";

const SKIPPED: (&str, &str) = ("skipped", "it was skipped; its condition is checked again");
const UNREACHED: (&str, &str) = ("later", "it was not reached");

#[test]
fn every_step_has_a_reason() {
    let plan = planned(STEPS, STEPS, &["check"], &USUAL);
    let first = [
        ("make", "`check` failed on its result"),
        ("note", "it reads a result that is made again"),
        ("other", "it reads a result that is made again"),
    ];
    check_reasons(&plan, &[&first[..], &[SKIPPED, ("check", "it failed"), UNREACHED]].concat());
    assert_eq!(plan.rerun, ["make", "note", "other", "check"]);
    assert_eq!(plan.redo, ["make", "note", "other"]);
    let edited = STEPS.replace("echo {{make}}'}\n- {id: other", "echo {{make}} now'}\n- {id: other");
    let plan = planned(STEPS, &edited.replace("grep x", "grep y"), &["check"], &OTHER);
    let first =
        [("make", "it is done"), ("note", "its definition changed"), ("other", "it depends on `note`")];
    check_reasons(&plan, &[&first[..], &[SKIPPED, ("check", "its definition changed"), UNREACHED]].concat());
    let plan = planned(STEPS, STEPS, &["check"], &Ask { from: Some("note"), ..USUAL });
    let first = [("make", "it is done"), ("note", "asked for"), ("other", "it comes after `note`")];
    check_reasons(&plan, &[&first[..], &[SKIPPED, ("check", "it failed"), UNREACHED]].concat());
}

#[test]
fn what_stands_between_is_done_again() {
    let steps = "steps:\n- {id: make, prompt: m}\n- {id: mid, command: 'echo {{make}}'}\n\
                 - {id: plain, command: x}\n- {id: check, command: 'grep {{mid}}'}\n";
    let plan = planned(steps, steps, &["check"], &USUAL);
    check_reasons(
        &plan,
        &[
            ("make", "`check` failed on its result"),
            ("mid", "it is between `make` and `check`"),
            ("plain", "it is done"),
            ("check", "it failed"),
        ],
    );
    // what follows by order alone stands between them too
    let steps = "steps:\n- {id: make, prompt: m}\n- {id: mid, command: x}\n- {id: check, command: y}\n";
    let plan = planned(steps, steps, &["check"], &Ask { resumer: AGAIN, ..USUAL });
    assert_eq!(shown(&plan), "*make *mid *check at make");
    let changed = planned(steps, &steps.replace("command: x", "command: z"), &["check"], &OTHER);
    check_reasons(
        &changed,
        &[("make", "it is done"), ("mid", "its definition changed"), ("check", "it failed")],
    );
    let changed = planned(steps, &steps.replace("prompt: m", "prompt: n"), &["check"], &OTHER);
    let after = "it comes after `make`, and its inputs are not declared";
    check_reasons(&changed, &[("make", "its definition changed"), ("mid", after), ("check", "it failed")]);
    let read = "steps:\n- {id: a, command: x}\n- {id: b, command: 'echo {{a}}'}\n- {id: c, command: y}\n";
    let changed = planned(read, &read.replace("command: x", "command: z"), &["c"], &OTHER);
    let through = "it depends on `a` through `a`";
    check_reasons(&changed, &[("a", "its definition changed"), ("b", through), ("c", "it failed")]);
}

#[test]
fn the_first_step_that_runs_is_named() {
    let steps = "steps:\n- {id: s, command: x, condition: 'false'}\n- {id: a, command: x}\n- {id: b, command: x}\n\
                 - {id: c, command: x}\n";
    for (fails, from, goes_on_at, shows) in [
        ("b", None, "b", ".s =a *b .c at b"),
        ("b", Some("a"), "a", ".s *a *b .c at a"),
        ("c", Some("a"), "a", ".s *a *b *c at a"),
    ] {
        let plan = planned(steps, steps, &[fails], &Ask { from, ..OTHER });
        assert_eq!((plan.goes_on_at.as_deref(), shown(&plan).as_str()), (Some(goes_on_at), shows));
    }
    // something before it changed: that runs first, and the work hangs on what was asked for all the same
    let edited = steps.replace("{id: a, command: x}", "{id: a, command: y}");
    let plan = planned(steps, &edited, &["c"], &Ask { from: Some("b"), ..OTHER });
    assert_eq!((plan.goes_on_at.as_deref(), plan.anchor.as_deref()), (Some("a"), Some("b")));
    let done = planned(steps, steps, &[], &OTHER);
    assert_eq!(
        (done.goes_on_at, shown(&planned(steps, steps, &[], &OTHER))),
        (None, ".s =a =b =c at nothing".to_owned())
    );
}

#[test]
fn what_was_interrupted_is_done_again_unless_that_could_do_harm() {
    let choose = "it was interrupted and is not idempotent: choose --rerun-interrupted or --skip-interrupted";
    for (step, after, sign, reason) in [
        ("command: x", "command: x", '*', "it was interrupted"),
        ("command: x", "command: y", '*', "its definition changed"),
        ("command: x, idempotent: false", "command: x, idempotent: false", '.', choose),
        ("command: x, idempotent: false", "command: y, idempotent: false", '.', choose),
    ] {
        let text = |step: &str| format!("name: top\nsteps:\n- {{id: a, {step}}}\n");
        let mut run = Run::new(&text(step), LEAF, parallel(4), &[]);
        run.record(Event::StepStarted { path: "a".to_owned(), attempt: 1, inputs: None }, None);
        let plan = asked(&run, &plan(&text(after), LEAF), &USUAL);
        assert_eq!(shown(&plan), format!("{sign}a at a"), "{step}");
        check_reasons(&plan, &[("a", reason)]);
    }
}

#[test]
fn a_failure_is_tolerated_by_the_recipe_that_it_happened_in() {
    let (strict, tolerant) = ("{id: a, command: x}", "{id: a, command: x, continue_on_error: true}");
    let steps = |first: &str| format!("steps:\n- {first}\n- {{id: b, command: x}}\n");
    let seen = |before: &str, after: &str, fails: &[&'static str], from| {
        shown(&planned(&steps(before), &steps(after), fails, &Ask { from, ..OTHER }))
    };
    assert_eq!(seen(tolerant, tolerant, &["a", "b"], None), "=a *b at b");
    assert_eq!(seen(tolerant, tolerant, &["a", "b"], Some("a")), "*a *b at a");
    assert_eq!(seen(strict, tolerant, &["a"], None), "*a .b at a");
    assert_eq!(seen(tolerant, strict, &["a", "b"], None), "*a *b at b");
}

#[test]
fn what_was_never_reached_is_not_done_again() {
    let steps = "steps:\n- {id: a, command: x}\n- {id: b, command: x}\n- {id: c, command: x}\n";
    let edited = steps.replacen("command: x", "command: y", 1);
    let plan = planned(steps, &edited, &["b"], &OTHER);
    assert_eq!((shown(&plan).as_str(), plan.redo), ("*a *b .c at b", vec!["a".to_owned()]));
    let plan = planned(steps, steps, &["b"], &Ask { from: Some("a"), ..OTHER });
    assert_eq!((shown(&plan).as_str(), plan.redo), ("*a *b .c at a", vec!["a".to_owned()]));
    let automatic = Ask { resumer: Resumer::Automatic { level: 0 }, ..OTHER };
    assert_eq!(shown(&planned(steps, steps, &["b"], &automatic)), "=a *b .c at b");
}
