//! The rules under `ensure`: what they take, what they read, and how often a step is repeated.

use recipe::{graph, plan::EnsureKind};

use crate::shelf::{expect, expect_files, unit, unit_of, with_step};

const CHILD: (&str, &str) = ("child.yaml", "name: child\nsteps: [{id: c, command: echo}]\n");

fn step(fields: &str) -> String {
    with_step(&format!("command: x\n{fields}"))
}

#[test]
fn every_kind_of_rule_is_read() {
    let rules = "ensure: [{changed: [a]}, {unchanged: [b, c/**]}, {only_changed: [d]}, {max_changed_files: 0}, {file: e}, {command: f}, {condition: s == 1}]";
    let unit = unit(&step(rules));
    let read: Vec<(EnsureKind, String)> =
        unit.steps[0].ensure.iter().map(|rule| (rule.kind(), rule.demand())).collect();
    let expected = [
        (EnsureKind::Changed, "a"),
        (EnsureKind::Unchanged, "b, c/**"),
        (EnsureKind::OnlyChanged, "d"),
        (EnsureKind::MaxChangedFiles, "0"),
        (EnsureKind::File, "e"),
        (EnsureKind::Command, "f"),
        (EnsureKind::Condition, "s == 1"),
    ];
    assert_eq!(read, expected.map(|(kind, demand)| (kind, demand.to_owned())));
}

#[test]
fn wrong_rules_are_errors() {
    for (fields, expected) in [
        ("ensure: []", "error ensure-rule 5:13"),
        ("ensure: [{}]", "error ensure-rule 5:14"),
        ("ensure: [{file: a, command: b}]", "error ensure-rule 5:14"),
        ("ensure: [{changed: []}]", "error ensure-rule 5:24"),
        ("ensure: [{command: ''}]", "error ensure-rule 5:24"),
        ("ensure: [{file: ''}]", "error bad-pattern 5:21"),
        ("ensure: [{changed: ['a/***']}]", "error bad-pattern 5:25"),
        ("ensure: [{unchanged: [/etc/passwd]}]", "error bad-pattern 5:27"),
        ("ensure: [{condition: 'a b'}]", "error condition-syntax 5:29"),
        ("ensure: [{condition: ''}]", "error condition-syntax 5:26"),
        ("ensure: [{file: '{{a b}}'}]", "error template-syntax 5:22"),
        ("ensure: [{comand: x}]", "error field-typo 5:15"),
        ("ensure: [{changed: a}]", "error wrong-type 5:24"),
        ("ensure: {file: a}", "error wrong-type 5:13"),
        ("ensure: [a]", "error wrong-type 5:14"),
        ("ensure: [{max_changed_files: -1}]", "error out-of-range 5:34"),
        ("ensure: [{max_changed_files: many}]", "error wrong-type 5:34"),
        ("ensure: [{file: a}]\nensure_retries: 1001", "error out-of-range 6:21"),
        ("ensure: [{file: a}]\nensure_retries: -1", "error out-of-range 6:21"),
        ("ensure_retries: 1", "warning no-effect 5:21"),
    ] {
        expect(&step(fields), &[expected]);
    }
    let unknown = ["error ensure-rule 5:14", "warning unknown-field 5:15"];
    expect(&step("ensure: [{owner: a}]"), &unknown);
    expect(
        &step("ensure: [{file: a, command: b}, {}]"),
        &["error ensure-rule 5:14", "error ensure-rule 5:37"],
    );
}

#[test]
fn rules_see_the_value_of_their_step_and_patterns_do_not() {
    for (fields, expected) in [
        (
            "parse_json: true\nensure: [{condition: s.n > 0}, {command: 'echo {{s}}'}, {file: '{{s.path}}'}]",
            vec![],
        ),
        ("parallel_group: g\nensure: [{condition: s}, {command: 'echo {{s}}'}]", vec![]),
        ("ensure: [{changed: ['{{s}}']}]", vec!["warning undefined-variable 5:26"]),
        ("ensure: [{command: 'echo {{nope}}'}]", vec!["warning undefined-variable 5:30"]),
        ("ensure: [{condition: optional}]", vec!["warning undefined-variable 5:26"]),
    ] {
        expect(&step(fields), &expected);
    }
    let of_recipe =
        with_step("recipe: child\nensure: [{condition: s and c}, {command: 'echo {{c}} {{s.c}}'}]");
    expect_files(&[("r.yaml", &of_recipe), CHILD], &[], &[]);
}

#[test]
fn agents_are_asked_again_once_unless_the_step_says_otherwise() {
    for (fields, expected) in [
        ("prompt: p\nensure: [{file: a}]", 1),
        ("prompt: p\nensure: [{file: a}]\nensure_retries: 0", 0),
        ("command: x\nensure: [{file: a}]", 0),
        ("command: x\nensure: [{file: a}]\nensure_retries: 3", 3),
        ("recipe: child\nensure: [{file: a}]", 0),
    ] {
        let unit = unit_of(&[("r.yaml", &with_step(fields)), CHILD]);
        assert_eq!(unit.steps[0].ensure_retries, expected, "{fields}");
    }
}

#[test]
fn the_values_of_rules_are_inputs_of_the_step() {
    let text = "name: r\ncontext: {dir: d, most: 1, mode: m}\nsteps:\n- id: s\n  command: x\n  ensure: [{file: '{{dir}}/x'}, {condition: s < most}, {command: 'test $MODE'}]\n";
    let unit = unit(text);
    assert_eq!(graph::reads(&unit.steps[0]), ["dir", "most"]);
}

#[test]
fn patterns_name_files_and_directories() {
    for (pattern, file, expected) in [
        ("src", "src/a/b", true),
        ("src/", "src/a", true),
        ("./src", "src/a", true),
        ("src/**", "src/a/b", true),
        ("src/*", "src/a", true),
        ("src/*", "src/a/b", false),
        ("src/*.c", "src/a.h", false),
        (".", "any/file", true),
        ("src", "srcs", false),
        ("../x", "../x/y", true),
        ("", "a", false),
    ] {
        assert_eq!(graph::names_file(pattern, file), expected, "{pattern} {file}");
    }
}

#[test]
fn a_question_has_no_work_to_prove() {
    expect(&with_step("ask: Go?\nensure: [{file: a}]"), &["error contradiction 5:13"]);
}
