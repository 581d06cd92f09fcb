//! `shell` on recipes and steps, the note about commands of several lines, and the `env` of a recipe.

use recipe::syntax::Shell;

use crate::shelf::{check_files, expect, expect_files, told, unit, with_field, with_step};

const LINES: &str = "command: |\n  a\n  b";

#[test]
fn d4_a_step_takes_its_shell_from_the_recipe_unless_it_sets_one() {
    let yaml = "name: r\nshell: strict\nsteps: [{id: a, command: x}, {id: b, command: x, shell: bash}]\n";
    let found = unit(yaml);
    assert_eq!(
        (found.shell, found.steps[0].shell, found.steps[1].shell),
        (Shell::Strict, Shell::Strict, Shell::Bash)
    );
    let found = unit(&with_step("command: x\nshell: strict"));
    assert_eq!((found.shell, found.steps[0].shell), (Shell::Bash, Shell::Strict));
    expect(&with_step("command: x\nshell: zsh"), &["error unknown-word 5:12"]);
    expect(&with_step("prompt: x\nshell: strict"), &["warning no-effect 5:12"]);
    let base = "name: b\nshell: strict\nsteps: [{id: a, command: x}]\n";
    expect_files(&[("r.yaml", "name: r\nextends: base\n"), ("base.yaml", base)], &[], &[]);
}

#[test]
fn d4_commands_of_several_lines_are_noted_once_for_a_recipe() {
    expect(&with_step(LINES), &["note ignored-lines 4:14"]);
    let twice = with_step(LINES) + "  - id: t\n    command: |\n      a\n      b\n";
    expect(&twice, &["note ignored-lines 4:14"]);
    for quiet in [
        with_step(&format!("{LINES}\nshell: bash")),
        with_step(&format!("{LINES}\nshell: strict")),
        with_step(LINES) + "shell: bash\n",
        with_step(LINES) + "shell: strict\n",
        with_step("command: |\n  set -e\n  a\n  b"),
        with_step("command: |\n  set -euo pipefail\n  a\n  b"),
        with_step("command: |\n  set -o errexit\n  a\n  b"),
        with_step("command: |\n  # a comment\n  b"),
        with_step("command: |\n  a \\\n    b"),
        with_step("command: |\n  a &&\n  b"),
        with_step("command: |\n  cat <<E\n  a\n  E"),
        with_step("command: |\n  for a in b; do\n    c\n  done"),
        with_step("command: a; b"),
        with_step("prompt: |\n  a\n  b"),
    ] {
        expect(&quiet, &[]);
    }
}

#[test]
fn d4_the_note_is_not_affected_by_strict() {
    let checked = check_files(&[("r.yaml", &with_step(LINES))], &[]).strict();
    assert!(checked.plan.is_some());
    assert_eq!(told(&checked), ["note ignored-lines 4:14"]);
}

#[test]
fn d6_the_env_of_a_recipe_has_required_files_or_set() {
    for env in ["{A: 1}", "{}", "{A: 1, B: 2}"] {
        expect(&with_field(&format!("env: {env}")), &["error missing-field 5:6"]);
    }
    for env in ["{required: [A]}", "{files: [.env]}", "{set: {A: 1}}", "{set: {A: 'x{{s}}'}}", "{set: {}}"] {
        expect(&with_field(&format!("env: {env}")), &[]);
    }
    expect(&with_field("env: {set: {A: '{{nowhere}}'}}"), &["warning undefined-variable 5:17"]);
    expect(&with_field("env: {set: {A-B: 1}}"), &["error bad-name 5:13"]);
    expect(&with_field("env: {vars: {A: 1}}"), &["error foreign-field 5:7"]);
    expect(&with_field("env: {set: [A]}"), &["error wrong-type 5:12"]);
}
