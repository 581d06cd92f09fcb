//! What a resume does about files of kept steps that are gone, or hold something else now.

use engine::resume_plan::{Blame, Effects, Resumer};

use crate::planning::{Ask, USUAL, made, shown};

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
    // nothing says what it needs
    check(&[MK, "id: g, command: y"], "*mk *g");
    check(&[MK, "id: a, command: y", "id: g, command: y, depends_on: [mk]"], "*mk =a *g");
    // its command shows it
    check(&[MK, "id: a, command: y", "id: g, command: 'cat out.txt {{a}}'"], "*mk =a *g");
    check(&[MK, "id: a, command: y", "id: g, command: 'cat ./d/out.txt {{a}}'"], "*mk =a *g");
    // what comes later reads it too
    check(&[MK, "id: a, command: y", "id: g, command: y", "id: z, command: cat out.txt"], "*mk =a *g .z");
    check(
        &[MK, "id: a, command: y", "id: g, command: y", "id: z, command: y, reads: [out.txt]"],
        "*mk =a *g .z",
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
    for (last, expected) in [("cat out.txt", "*n *n/k *g at g"), ("y", "=n =n/k *g at g")] {
        let text = recipe(&["id: n, recipe: leaf", &format!("id: g, command: {last}")]);
        assert_eq!(shown(&made(&text, &text, &["g"], &ask)), expected);
    }
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
