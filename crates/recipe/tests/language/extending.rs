//! `extends`: whose field wins, where steps go, and what cannot be extended.

use recipe::plan::StepKind;

use crate::shelf::{check_files, expect_files, told, unit_of};

const BASE: &str = "name: base\nversion: 2.0\ndescription: of base\nauthor: ann\ntags: [b]\ncontext: {a: 1, b: 2}\nrecursion: {max_depth: 3}\nhooks: {pre_step: base-pre, post_step: base-post}\ninputs: [{name: i}]\noutput: {template: \"{{one}}\"}\ndefault_step_timeout: 9\nsecrets: [a]\nenv: {required: [E]}\nbudget: {usd: 1}\ncontext_validation: {a: nonempty}\nsteps:\n  - {id: one, command: base one}\n  - {id: two, command: base two}\n";

fn commands(files: &[(&str, &str)]) -> Vec<String> {
    let unit = unit_of(files);
    let texts = unit.steps.iter().map(|step| match &step.kind {
        StepKind::Shell { command } => format!("{}={}", step.id, command.text()),
        _ => step.id.clone(),
    });
    texts.collect()
}

#[test]
fn a_child_without_steps_inherits_everything() {
    let unit = unit_of(&[("child.yaml", "extends: base\n"), ("base.yaml", BASE)]);
    assert_eq!((unit.name.as_str(), unit.version.as_str(), unit.author.as_str()), ("base", "2.0", "ann"));
    assert_eq!((unit.description.as_str(), unit.tags.len(), unit.inputs.len()), ("of base", 1, 1));
    assert_eq!(
        (unit.limits.max_depth, unit.budget.usd, unit.steps[0].timeout),
        (Some(3), Some(1.0), Some(9.0))
    );
    assert_eq!((unit.secrets.len(), unit.env.required.len(), unit.rules.len()), (1, 1, 1));
    assert!(unit.output.is_some() && unit.hooks.pre_step.is_some() && unit.hooks.post_step.is_some());
    assert_eq!(unit.steps.len(), 2);
}

#[test]
fn the_child_wins_field_by_field() {
    let child = "name: child\nextends: base\nversion: 3\ncontext: {b: 20, c: 30}\nhooks: {post_step: child-post, on_error: oops}\ntags: []\n";
    let unit = unit_of(&[("child.yaml", child), ("base.yaml", BASE)]);
    assert_eq!((unit.name.as_str(), unit.version.as_str(), unit.author.as_str()), ("child", "3", "ann"));
    let context: Vec<_> =
        unit.context.iter().map(|(name, value)| format!("{name}={}", value.render())).collect();
    assert_eq!(context, ["a=1", "b=20", "c=30"]);
    let hook = |hook: &Option<recipe::template::Template>| hook.as_ref().map(|hook| hook.text().to_owned());
    let hooks = [hook(&unit.hooks.pre_step), hook(&unit.hooks.post_step), hook(&unit.hooks.on_error)];
    assert_eq!(hooks.map(Option::unwrap_or_default), ["base-pre", "child-post", "oops"]);
    assert!(unit.tags.is_empty());
}

#[test]
fn steps_are_replaced_in_place_or_appended() {
    let child = "name: child\nextends: base\nsteps:\n  - {id: three, command: child three}\n  - {id: one, command: child one}\n";
    assert_eq!(
        commands(&[("child.yaml", child), ("base.yaml", BASE)]),
        ["one=child one", "two=base two", "three=child three"]
    );
}

#[test]
fn an_inherited_step_is_replaced_once() {
    let child = "extends: base\nsteps:\n  - {id: two, command: a}\n  - {id: two, command: b}\n  - {id: one, command: c}\n";
    expect_files(&[("c.yaml", child), ("base.yaml", BASE)], &[], &["error duplicate-id 4:10"]);
    let files = [("c.yaml", "extends: base\nsteps: []\n"), ("base.yaml", BASE)];
    assert_eq!(commands(&files), ["one=base one", "two=base two"]);
    expect_files(
        &[("c.yaml", "extends: base\nsteps: [{command: x}]\n"), ("base.yaml", BASE)],
        &[],
        &["error missing-field 2:9"],
    );
}

#[test]
fn a_replaced_step_takes_nothing_from_the_old_one() {
    let base = "name: base\nsteps: [{id: one, command: x, timeout: 5}]\n";
    let child = "extends: base\nsteps: [{id: one, command: y}]\n";
    assert_eq!(unit_of(&[("child.yaml", child), ("base.yaml", base)]).steps[0].timeout, None);
}

#[test]
fn any_depth_works() {
    let grandchild = "name: c\nextends: b\nsteps: [{id: two, command: c}]\n";
    let child = "name: b\nextends: base\nsteps: [{id: two, command: b}, {id: three, command: b}]\n";
    let files = [("c.yaml", grandchild), ("b.yaml", child), ("base.yaml", BASE)];
    assert_eq!(commands(&files), ["one=base one", "two=c", "three=b"]);
}

#[test]
fn circles_are_errors_and_say_so() {
    for files in [
        vec![("a.yaml", "name: a\nextends: a\nsteps: [{id: s, command: x}]\n")],
        vec![
            ("a.yaml", "name: a\nextends: b\nsteps: [{id: s, command: x}]\n"),
            ("b.yaml", "name: b\nextends: a\nsteps: [{id: s, command: x}]\n"),
        ],
    ] {
        let checked = check_files(&files, &[]);
        assert_eq!(checked.diagnostics.len(), 1);
        assert_eq!(checked.diagnostics[0].code.as_str(), "circular-extends");
        assert!(checked.diagnostics[0].message.contains("circular"));
        assert!(checked.plan.is_none());
    }
}

#[test]
fn a_missing_parent_hides_nothing_else() {
    let child = "name: c\nextends: nowhere\nsteps:\n  - {id: a, comand: x}\n  - {id: b, command: \"{{p}}\", depends_on: [parents]}\n";
    expect_files(&[("c.yaml", child)], &[], &["error unknown-recipe 2:10", "error field-typo 4:13"]);
    expect_files(&[("c.yaml", "extends: nowhere\n")], &[], &["error unknown-recipe 1:10"]);
    expect_files(&[("c.yaml", "extends: ''\n")], &[], &["error empty-field 1:10"]);
}

#[test]
fn a_broken_parent_is_reported_in_its_own_file() {
    let base = "name: base\nsteps:\n  - {id: one, comand: x}\n";
    expect_files(
        &[("c.yaml", "extends: base\n"), ("base.yaml", base)],
        &[],
        &["error field-typo base.yaml:3:15"],
    );
}

#[test]
fn a_parent_of_two_recipes_is_reported_once() {
    let base = "name: base\nsteps:\n  - {id: one, comand: x}\n";
    let files = [
        ("main.yaml", "name: m\nextends: base\nsteps: [{id: s, recipe: other}]\n"),
        ("other.yaml", "name: o\nextends: base\n"),
        ("base.yaml", base),
    ];
    let all = told(&check_files(&files, &[]));
    assert_eq!(all, ["error field-typo base.yaml:3:15"]);
}

#[test]
fn inherited_steps_see_the_childs_context() {
    let base = "name: base\nsteps: [{id: one, command: \"{{v}}\"}]\n";
    expect_files(&[("c.yaml", "extends: base\ncontext: {v: 1}\n"), ("base.yaml", base)], &[], &[]);
    expect_files(
        &[("c.yaml", "extends: base\n"), ("base.yaml", base)],
        &[],
        &["warning undefined-variable base.yaml:2:29"],
    );
}

#[test]
fn a_child_may_depend_on_inherited_steps() {
    let child = "extends: base\nsteps: [{id: three, command: \"{{one}}\", depends_on: [two]}]\n";
    expect_files(&[("c.yaml", child), ("base.yaml", BASE)], &[], &[]);
}

#[test]
fn twenty_levels_are_fine_and_one_more_is_not() {
    let files = |levels: usize| -> Vec<(String, String)> {
        let extends = |at: usize| if at < levels { format!("extends: r{}\n", at + 1) } else { String::new() };
        let text = |at: usize| format!("name: r{at}\n{}steps: [{{id: s, command: x}}]\n", extends(at));
        (0..=levels).map(|at| (format!("r{at}.yaml"), text(at))).collect()
    };
    for (levels, expected) in [(20, vec![]), (21, vec!["error deep-recipes r20.yaml:2:10"])] {
        let texts = files(levels);
        let files: Vec<(&str, &str)> =
            texts.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        expect_files(&files, &[], &expected);
    }
}
