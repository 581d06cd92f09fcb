//! Scripts and tasks by their names: some change the world outside, some check; none is dropped or emptied.

use super::{plan, verdict};

/// Commands that change the world outside, one in each line.
const EFFECTS: &str = include_str!("../../src/knowledge/tests/effect_commands.txt");

/// Commands that only check, one in each line.
const CHECKS: &str = include_str!("../../src/knowledge/tests/check_commands.txt");

fn recipe(before: &str, command: &str, other: &str) -> String {
    format!(
        "name: r\nsteps:\n  - {{id: a, command: echo a}}\n  - {{id: b, command: {other}}}\n  - {{id: c, {before}}}\n  \
         - {{id: s, {command}}}\n"
    )
}

/// The codes of a repair that mends `b` and makes `s` something else.
fn judged(before: &str, old: &str, new: &str) -> &'static str {
    let (old, new) = (recipe(before, old, "git frobnicate"), recipe(before, new, "git status"));
    verdict(&plan(&old, 9), &plan(&new, 9), "b")
}

/// What a command may not become.
fn check_kept(before: &str, command: &str) {
    let own = format!("command: {command:?}");
    for new in ["true", ":", "exit 0", "echo ok", "# nothing"] {
        assert_ne!(judged(before, &own, &format!("command: {new:?}")), "", "{command} -> {new}");
    }
    for new in [
        format!("command: {:?}", format!("{command} || true")),
        format!("command: {:?}", format!("{command}; true")),
        format!("command: {:?}", format!("# {command}")),
        format!("command: {:?}", format!("echo '{}'", command.replace('\'', ""))),
        format!("{own}, condition: 'false'"),
        format!("{own}, when_tags: [never]"),
        format!("{own}, continue_on_error: true"),
    ] {
        assert_ne!(judged(before, &own, &new), "", "{command} -> {new}");
    }
    let old = plan(&recipe(before, &own, "git frobnicate"), 9);
    let gone: String = recipe(before, &own, "git status")
        .lines()
        .filter(|line| !line.contains("id: s,"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_ne!(verdict(&old, &plan(&gone, 9), "b"), "", "{command} is gone");
}

#[test]
fn scripts_that_act_or_check_are_kept() {
    for command in EFFECTS.lines().chain(CHECKS.lines()) {
        check_kept("command: echo c", command);
    }
}

#[test]
fn what_comes_right_after_an_agent_is_kept() {
    for command in [
        "python3 -c \"pass\"",
        "./inspect.sh",
        "cat out.txt",
        "ls out",
        "node index.js",
        "date",
        "wc -l out.txt",
    ] {
        check_kept("prompt: Write out.txt", command);
    }
    for (old, new) in
        [("cat out.txt", "cat ./out.txt"), ("./inspect.sh", "bash ./inspect.sh"), ("echo x", "true")]
    {
        let (old, new) = (format!("command: {old:?}"), format!("command: {new:?}"));
        assert_ne!(judged("prompt: Write", &old, &new), "refused", "{old} -> {new}");
    }
}

#[test]
fn a_failed_script_that_checks_may_be_mended() {
    let judge = |old: &str, new: &str| {
        let recipe = |command: &str| recipe("command: echo c", &format!("command: {command:?}"), "echo b");
        verdict(&plan(&recipe(old), 9), &plan(&recipe(new), 9), "s")
    };
    for (old, new) in [
        ("bash test/run.sh", "bash tests/run.sh"),
        ("./run-tests.sh", "bash ./run-tests.sh"),
        ("./run-tests.sh", "./scripts/run-tests.sh"),
        ("./run-tests.sh", "chmod +x run-tests.sh && ./run-tests.sh"),
        ("./run-test.sh", "./run-tests.sh"),
        ("python tests/run.py", "python3 tests/run.py"),
        ("./check.sh --bogus", "./check.sh"),
        ("sh check.sh", "bash check.sh"),
        ("node --tests", "node --test"),
        ("./verify.sh report.txt", "./verify.sh report.md"),
        ("cd sub; ./check.sh", "set -e; cd sub; ./check.sh"),
    ] {
        assert_ne!(judge(old, new), "refused", "{old} -> {new}");
    }
    for (old, new) in [
        ("./run-tests.sh", "true"),
        ("./run-tests.sh", "./run-tests.sh || true"),
        ("./run-tests.sh", "./run-tests.sh --skip slow"),
        ("./run-tests.sh", "! ./run-tests.sh"),
        ("./run-tests.sh", "echo 'exit 0' > run-tests.sh; bash run-tests.sh"),
        ("./run-tests.sh", "test -f run-tests.sh"),
        ("./run-tests.sh", "bash -n run-tests.sh"),
        ("bash tests/run.sh", "ls tests"),
        ("./check.sh a b", "./check.sh a"),
        ("./check.sh", "./build.sh"),
    ] {
        assert_ne!(judge(old, new), "", "{old} -> {new}");
    }
}
