//! What a resume keeps and does again, by who resumes, what is blamed, and what was changed meanwhile.

use std::collections::BTreeMap;

use engine::resume::{
    Blame, Blames, Effects, Interrupted, Late, Producers, Remains, Request, ResumePlan, Resumer, StepPlan,
    plan,
};
use recipe::{plan::Plan, value::Value};

use crate::run::{self, LEAF, Run, parallel};

const RECIPE: &str = "name: top
context: {goal: high}
steps:
- {id: make, prompt: 'aim {{goal}}'}
- {id: note, command: 'echo {{make}}'}
- {id: other, command: x}
- {id: check, command: 'grep x {{make}}'}
";

pub(crate) const LINKED: Resumer = Resumer::Person { producers: Producers::Linked };
pub(crate) const AGAIN: Resumer = Resumer::Person { producers: Producers::Again };

/// What is asked for besides the run.
#[derive(Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) resumer: Resumer,
    pub(crate) blame: Blame,
    /// Failed steps that do not blame the work, whatever the others do.
    pub(crate) unblaming: &'static [&'static str],
    pub(crate) from: Option<&'static str>,
    pub(crate) lost: &'static [&'static str],
    /// Steps with a declared file that is gone.
    pub(crate) missing: &'static [(&'static str, &'static str)],
    /// Steps with a declared file that holds something else.
    pub(crate) altered: &'static [(&'static str, &'static str)],
    pub(crate) effects: Effects,
    pub(crate) interrupted: Interrupted,
    pub(crate) given: &'static [(&'static str, &'static str)],
}

pub(crate) const USUAL: Ask = Ask {
    resumer: LINKED,
    blame: Blame::Work,
    unblaming: &[],
    from: None,
    lost: &[],
    missing: &[],
    altered: &[],
    effects: Effects::Once,
    interrupted: Interrupted::Ask,
    given: &[],
};

fn files(of: &[(&str, &str)]) -> BTreeMap<String, Vec<String>> {
    of.iter().map(|(step, file)| ((*step).to_owned(), vec![(*file).to_owned()])).collect()
}

pub(crate) fn made(before: &str, after: &str, fails: &[&'static str], ask: &Ask) -> ResumePlan {
    let mut run = Run::new(before, LEAF, parallel(4), fails);
    run.go();
    assert_eq!(run.trace.last().map(String::as_str), Some("end"), "{before}");
    asked(&run, &run::plan(after, LEAF), ask)
}

/// The plan for a run as it stands.
pub(crate) fn asked(run: &Run, after: &Plan, ask: &Ask) -> ResumePlan {
    asked_late(run, after, &Late::new(), ask)
}

/// The same, where it is known what steps run now whose recipes have templates for names.
pub(crate) fn asked_late(run: &Run, after: &Plan, late: &Late, ask: &Ask) -> ResumePlan {
    plan(&Request {
        knowledge: &engine::knowledge::Knowledge::built_in(),
        state: &run.state,
        before: &run.plan,
        plan: after,
        late,
        given: &ask.given.iter().map(|(name, value)| ((*name).to_owned(), Value::from(*value))).collect(),
        remains: &Remains {
            lost: ask.lost.iter().map(|path| (*path).to_owned()).collect(),
            missing: files(ask.missing),
            altered: files(ask.altered),
        },
        resumer: ask.resumer,
        blames: &blames(run, ask),
        from: ask.from,
        effects: ask.effects,
        interrupted: ask.interrupted,
    })
}

fn blames(run: &Run, ask: &Ask) -> Blames {
    let blame = |path: &str| if ask.unblaming.contains(&path) { Blame::Other } else { ask.blame };
    run.state.causes().into_iter().map(|(path, _)| (path.clone(), blame(&path))).collect()
}

/// The plan in one line: `=` keep, `*` again, `.` still to do.
pub(crate) fn shown(plan: &ResumePlan) -> String {
    let sign = |action| match action {
        StepPlan::Keep => '=',
        StepPlan::Rerun => '*',
        StepPlan::Pending => '.',
    };
    let steps: Vec<String> =
        plan.steps.iter().map(|step| format!("{}{}", sign(step.action), step.path)).collect();
    format!("{} at {}", steps.join(" "), plan.anchor.as_deref().unwrap_or("nothing"))
}

#[track_caller]
fn check_plan(after: &str, ask: &Ask, expected: &str) {
    assert_eq!(shown(&made(RECIPE, after, &["check"], ask)), expected);
}

#[test]
fn a_check_that_blames_the_work_has_the_work_done_again() {
    let again = "*make *note =other *check at make";
    check_plan(RECIPE, &USUAL, again);
    check_plan(
        RECIPE,
        &Ask { resumer: Resumer::Automatic { level: 0 }, blame: Blame::Other, ..USUAL },
        again,
    );
    check_plan(RECIPE, &Ask { resumer: AGAIN, blame: Blame::Other, ..USUAL }, again);
}

#[test]
fn money_is_not_spent_on_a_guess() {
    let kept = "=make =note =other *check at check";
    let ask = Ask { blame: Blame::Other, ..USUAL };
    check_plan(RECIPE, &ask, kept);
    assert_eq!(made(RECIPE, RECIPE, &["check"], &ask).kept_producers, ["make"]);
    // there is nobody further up
    check_plan(RECIPE, &Ask { resumer: Resumer::Automatic { level: 1 }, ..USUAL }, kept);
}

#[test]
fn going_on_from_a_step_does_everything_after_it_again() {
    check_plan(RECIPE, &Ask { from: Some("note"), ..USUAL }, "=make *note *other *check at note");
    check_plan(RECIPE, &Ask { from: Some("check"), ..USUAL }, "=make =note =other *check at check");
}

#[test]
fn a_lost_value_is_made_again() {
    let ask = Ask { blame: Blame::Other, lost: &["other"], ..USUAL };
    check_plan(RECIPE, &ask, "=make =note *other *check at check");
}

#[test]
fn what_was_changed_is_done_again_with_what_depends_on_it() {
    let ask = Ask { blame: Blame::Other, ..USUAL };
    let note = RECIPE.replace("echo {{make}}", "echo {{make}} now");
    // `other` says nothing about what it needs: it follows the order
    check_plan(&note, &ask, "=make *note *other *check at check");
    let made = RECIPE.replace("aim", "look");
    check_plan(&made, &ask, "*make *note *other *check at check");
    // a value that a step reads
    let goal = RECIPE.replace("high", "low");
    check_plan(&goal, &ask, "*make *note *other *check at check");
    let careful = Ask { resumer: Resumer::Automatic { level: 9 }, ..ask };
    check_plan(&note, &careful, "=make *note *other *check at check");
    // the failed step itself was repaired
    check_plan(&RECIPE.replace("grep x", "grep y"), &USUAL, "=make =note =other *check at check");
    let new = format!("{RECIPE}- {{id: more, command: x}}\n");
    check_plan(&new, &ask, "=make =note =other *check .more at check");
}

const READERS: &str = "name: top
inputs: [{name: v, default: one}]
steps:
- {id: a, command: x, output: o}
- {id: b, command: x, output: o}
- {id: c, command: 'echo {{o}}'}
- {id: d, command: 'echo {{v}} {{c}}'}
- {id: e, command: 'echo {{o}}'}
- {id: check, command: 'echo {{e}}'}
";

#[test]
fn what_reads_something_else_now_is_done_again() {
    let ask = Ask { blame: Blame::Other, ..USUAL };
    let seen = |after: &str, ask: &Ask| shown(&made(READERS, after, &["check"], ask));
    let read = "=a =b =c *d =e *check at check";
    assert_eq!(seen(&READERS.replace("one", "two"), &ask), read);
    assert_eq!(seen(READERS, &Ask { given: &[("v", "two")], ..ask }), read);
    assert_eq!(seen(READERS, &Ask { given: &[("v", "one"), ("w", "x")], ..ask }), seen(READERS, &ask));
    // the other one writes last now
    let (a, b) = ("- {id: a, command: x, output: o}\n", "- {id: b, command: x, output: o}\n");
    let swapped = READERS.replace(&format!("{a}{b}"), &format!("{b}{a}"));
    assert_eq!(seen(&swapped, &ask), "=b =a *c *d *e *check at check");
    // nobody writes it any more
    let renamed = READERS.replace(", output: o}", ", output: p}");
    assert_eq!(seen(&renamed, &ask), "*a *b *c *d *e *check at check");
    // something new stands before the repaired step
    let repaired = READERS.replace(
        "- {id: check, command: 'echo {{e}}'}",
        "- {id: new, command: x}\n- {id: check, command: y}",
    );
    assert_eq!(seen(&repaired, &ask), "=a =b =c =d =e .new *check at check");
}

#[test]
fn completed_effects_are_not_repeated_unasked() {
    let text = RECIPE.replace("{id: note,", "{id: note, effects: [deploy],");
    let blocked = |effects| made(&text, &text, &["check"], &Ask { effects, ..USUAL }).blocked_effects;
    assert_eq!(blocked(Effects::Once), ["note"]);
    assert!(blocked(Effects::Again).is_empty());
}

#[test]
fn tolerated_failures_stay_and_nested_ones_are_found() {
    let text = "name: top\nsteps:\n- {id: a, command: x, continue_on_error: true}\n- {id: n, recipe: leaf}\n\
                - {id: z, command: x}\n";
    let seen = |fails: &[&'static str]| shown(&made(text, text, fails, &USUAL));
    assert_eq!(seen(&["a", "z"]), "=a =n =n/k *z at z");
    assert_eq!(seen(&["n/k"]), "=a *n *n/k .z at n/k");
    let from = |from| shown(&made(text, text, &["z"], &Ask { from: Some(from), ..USUAL }));
    assert_eq!(from("n/k"), "=a *n *n/k *z at n/k");
    assert_eq!(from("a"), "*a *n *n/k *z at a");
}
