//! Which command of a script its failure is put down to: a check speaks only where nothing else can have failed.

use engine::{
    Outcome,
    failure::{Confidence, Facts, Producer, diagnose},
};

fn failed(command: &str, code: i32, stderr: &str) -> Facts {
    Facts {
        outcome: Some(Outcome::Exit(code)),
        command: command.to_owned(),
        stderr: stderr.to_owned(),
        ..Facts::default()
    }
}

#[track_caller]
fn check(facts: &Facts, expected: &str) {
    let found = diagnose(facts);
    let confidence = match found.confidence {
        Confidence::High => "high",
        Confidence::Medium => "medium",
        Confidence::Low => "low",
    };
    let told = format!("{} {confidence}", found.class.as_str());
    assert_eq!(told, expected, "{:?} {:?}", facts.command, found.signals);
}

#[test]
fn a_check_that_ends_the_script_speaks_for_it() {
    for command in [
        "[ -s a ]",
        "! grep -q BAD a",
        "cd sub && test -f a && grep -q x a",
        "set -e; ./gen; grep -q x a",
        "set -e; grep -q x a; echo fine",
        "set -e; grep -q x a; unset X; shopt -s nullglob; readonly Y=1; trap - EXIT",
        "grep -q x a || exit 1",
        "grep -q x a || exit 1; echo fine; exit 0",
        "grep -q x a || { echo none >&2; exit 1; }; echo fine",
        "grep -q x a || { echo none >&2; false; }",
        "grep -q x a && echo yes || { echo no; exit 1; }",
        "set -e; grep -q x a || { ./tell-somebody; exit 1; }",
        "if ! grep -q x a; then echo none; exit 1; fi",
        "if ! grep -q x a; then echo none; false; fi",
        "if grep -q x a; then echo yes; else echo no; exit 1; fi",
        "if grep -q BAD a; then echo bad; exit 1; fi; echo fine",
        "die() { echo \"$1\" >&2; exit 1; }; grep -q x a || die none",
        "grep -q x a; rc=$?; rm -f tmp; exit $rc",
        "set -o pipefail; pytest -q | tee log | sed s/a/b/",
        "for f in *.md; do grep -q x \"$f\" || exit 1; done",
        "trap 'rm -f t' EXIT; cmp a b; exit",
        // the code of the step is its own, not the one that stands there
        "[ -n \"$X\" ] && exit 5",
    ] {
        check(&failed(command, 1, ""), "verification high");
    }
}

#[test]
fn a_check_that_work_follows_does_not() {
    for command in [
        "test -d src || exit 1; git push origin main",
        "test -d src || exit 1\ngit push origin main",
        "set -e; test -d src; cp nosuch there",
        "[ -n \"$X\" ] && ./work",
        "[ -n \"$X\" ] || exit 1; ./work || exit 1",
        "[ -n \"$X\" ] || exit 1; ./work; exit $?",
        "[ -n \"$X\" ] || { echo no; exit 1; }; echo go; exit 1",
        "[ -n \"$X\" ] || exit 1; false",
        "[ -n \"$X\" ] && exit 1",
        "if [ -f a ]; then echo on; false; fi",
        "if [ -f a ]; then ./work || exit 1; fi",
        "if [ -f a ]; then ./work; else exit 1; fi",
        "grep -q x a || ./work",
        "grep -q x a; ./work",
        "set -e; cargo build; ./work",
        "set -euo pipefail; grep -q x a; ./work | tee log",
    ] {
        check(&failed(command, 1, ""), "unknown low");
    }
}

#[test]
fn what_was_printed_tells_whether_a_harmless_command_failed() {
    let (shown, tests) = ("test -f a && cat a", "set -e; pytest -q; ./pack");
    for (command, stderr, expected) in [
        (shown, "", "verification medium"),
        (shown, "cat: a: Permission denied", "unknown low"),
        ("set -e; grep -q x a; cd b", "bash: line 1: cd: b: Not a directory", "unknown low"),
        ("set -e; grep -q x a; python3 -c 'assert 0'", "", "verification medium"),
        (tests, "boom", "unknown low"),
        (tests, "=== 1 failed, 2 passed ===", "verification medium"),
        ("set -e; grep -q x a; ./pack", "=== 1 failed, 2 passed ===", "unknown low"),
    ] {
        check(&failed(command, 1, stderr), expected);
    }
}

#[test]
fn a_script_that_is_named_for_a_check_is_one() {
    for command in include_str!("../src/knowledge/tests/check_commands.txt").lines() {
        check(&failed(command, 1, ""), "verification high");
    }
    // it was not run at all
    check(
        &failed("./check.sh", 126, "bash: ./check.sh: Permission denied"),
        "environment.missing_binary medium",
    );
    check(&failed("./check.sh", 126, ""), "unknown low");
    let missing = "python3: can't open file '/srv/tests/run.py': [Errno 2] No such file or directory";
    check(&failed("python3 tests/run.py", 2, missing), "validation_strategy medium");
    for command in
        ["./build.sh", "./setup-tests.sh", "python3 main.py", "./checkout.sh", "source test.sh", "bash test"]
    {
        check(&failed(command, 1, ""), "unknown low");
    }
}

#[test]
fn a_failed_effect_checks_nobodys_work() {
    let after = |producer, command: &str| Facts { producer, ..failed(command, 1, "rejected") };
    for command in [
        "git push origin main",
        "[ -n \"{{notes}}\" ] || exit 1; git push origin main",
        "git push origin main && grep -q x log",
        "make deploy",
        "./publish.sh notes.md",
        "npm publish || exit 1",
        "npm run deploy",
        "python3 deploy.py",
        "docker compose push",
    ] {
        for producer in [Producer::None, Producer::Before, Producer::Product] {
            check(&after(producer, command), "unknown low");
        }
        let declared = Facts { is_check: true, ..after(Producer::Product, command) };
        check(&declared, "unknown low");
        let answer = Some("I cannot access the repository.".to_owned());
        check(&Facts { answer, ..after(Producer::Before, command) }, "unknown low");
    }
    // what only rehearses, what stays on this machine, and what others do
    for command in
        ["git push --dry-run origin main", "curl -d @a http://localhost:3000/x", "./inspect.sh", "exit 3"]
    {
        check(&Facts { ..after(Producer::Before, command) }, "verification medium");
    }
    // declared effects: every command but a check is one
    for (command, expected) in [
        ("./ship", "unknown low"),
        ("exit 1", "unknown low"),
        ("[ -s notes ] || exit 1; ./ship", "unknown low"),
        ("./ship && grep -q ok log", "unknown low"),
        ("grep -q ok log", "agent_drift high"),
    ] {
        check(&Facts { has_effects: true, ..after(Producer::Product, command) }, expected);
    }
    let tested = Facts { stderr: "1 failed".to_owned(), ..after(Producer::Product, "pytest && git push") };
    check(&tested, "agent_drift medium");
}
