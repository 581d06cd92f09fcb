//! Gates that run the tests which the work had to add: those named `ac_N`, at least one of them.

use super::{CHECK_TIMEOUT, FakeReply, Scene, Trial, title};
use crate::{
    brief::{Brief, Criterion, FoundCommand, ProjectKind},
    writing::{
        shell,
        step::{Role, StepDraft},
    },
};

/// How the named tests of a project are run, and how their names are seen in the output.
struct NamedTests {
    /// The command that runs only these tests and prints their names.
    command: String,
    /// An extended regular expression for the line of a named test that passed.
    passed: String,
    /// Such a line.
    sample: String,
    /// A pattern of git for files that have only tests.
    files: &'static str,
}

/// The gate of a criterion that asks for tests.
pub(super) fn gate(brief: &Brief, criterion: &Criterion, id: &str) -> StepDraft {
    let named = named_tests(&brief.project.kind, brief.project.test.as_ref(), criterion.number);
    let mut script = format!(
        "status=0\noutput=$({command} 2>&1) || status=$?\nprintf '%s\\n' \"$output\"\n\
         count=$(grep -cE {passed} <<< \"$output\" || :)\n\
         if [ \"$status\" -ne 0 ] || [ \"$count\" -eq 0 ]; then\n  \
         printf 'expected: at least one test named {name} that passes\\nactual:   %s passed, exit code %s\\n' \"$count\" \"$status\" >&2\n  \
         exit 1\nfi\n",
        command = named.command,
        passed = shell::quote(&named.passed),
        name = name(criterion.number),
    );
    if brief.project.git {
        script.push_str(&on_base(&named, criterion.number));
    }
    let trial = trial(brief, &named);
    StepDraft::new(id, Role::Gate(trial), &title(criterion))
        .yaml("timeout", CHECK_TIMEOUT)
        .body("command", &script)
}

/// The name of the tests of a criterion.
pub(crate) fn name(number: usize) -> String {
    format!("ac_{number}")
}

/// Runs the new test files on the base commit, where they must fail.
fn on_base(named: &NamedTests, number: usize) -> String {
    format!(
        "# test files of their own must fail without the work\n\
         files=$(git diff --name-only --diff-filter=d {{{{base_commit}}}} -- {pathspec}; git ls-files --others --exclude-standard -- {pathspec})\n\
         files=$(while IFS= read -r file; do if [ -n \"$file\" ] && grep -q {name} -- \"$file\"; then printf '%s\\n' \"$file\"; fi; done <<< \"$files\")\n\
         if [ -n \"$files\" ]; then\n  \
         before=$(mktemp -d)\n  trap 'rm -rf \"$before\"' EXIT\n  \
         git archive {{{{base_commit}}}} | tar -x -C \"$before\"\n  \
         tar -c -T - <<< \"$files\" | tar -x -C \"$before\"\n  \
         if (cd \"$before\" && {command}) > /dev/null 2>&1; then\n    \
         printf 'these tests pass without the work:\\n%s\\n' \"$files\" >&2\n    exit 1\n  fi\nfi\n",
        pathspec = named.files,
        name = shell::quote(&name(number)),
        command = named.command,
    )
}

const ANY_TESTS: &str = "':(glob)**/tests/**' ':(glob)**/test/**' ':(glob)**/__tests__/**' ':(glob)**/*_test.*' ':(glob)**/*.test.*' ':(glob)**/*.spec.*' ':(glob)**/test_*'";

fn named_tests(kind: &ProjectKind, test: Option<&FoundCommand>, number: usize) -> NamedTests {
    let name = name(number);
    let end = "(_[A-Za-z0-9_]*)?";
    let all = test.map_or("exit 1", |found| found.command.as_str());
    let (command, passed, sample) = match kind {
        ProjectKind::Cargo => (
            format!("cargo test {name}"),
            format!("^test (.*::)?{name}{end} \\.\\.\\. ok$"),
            format!("test {name}_works ... ok"),
        ),
        ProjectKind::Pytest => (
            format!("python3 -m pytest -v -k {name}"),
            format!("::[A-Za-z0-9_]*{name}{end}(\\[.*\\])? PASSED"),
            format!("tests/test_x.py::test_{name}_works PASSED [100%]"),
        ),
        ProjectKind::Unittest => (
            format!("python3 -m unittest -v -k {name}"),
            format!("^[A-Za-z0-9_]*{name}{end} .*\\.\\.\\. ok$"),
            format!("test_{name}_works (test_x.T) ... ok"),
        ),
        ProjectKind::Go => (
            format!("go test ./... -v -run {name}"),
            format!("^ *--- PASS: [A-Za-z0-9_/]*{name}{end} "),
            format!("--- PASS: Test_{name}_works (0.00s)"),
        ),
        ProjectKind::Npm | ProjectKind::Make | ProjectKind::Unknown => {
            (filtered(all, &name), format!("{name}([^0-9]|$)"), format!("ok 1 - {name} works"))
        }
    };
    NamedTests { command, passed, sample, files: ANY_TESTS }
}

/// The test command with the filter of a test runner that it names; all tests if none is known.
fn filtered(command: &str, name: &str) -> String {
    let option = if command.contains("jest") || command.contains("vitest") {
        format!("-t {name}")
    } else if command.contains("mocha") {
        format!("-g {name}")
    } else if command.contains("node --test") {
        format!("--test-name-pattern={name}")
    } else {
        return shell::inline(command);
    };
    let separator = if command.starts_with("npm ") { " --" } else { "" };
    format!("{}{separator} {option}", shell::inline(command))
}

fn trial(brief: &Brief, named: &NamedTests) -> Trial {
    let scene = |title: &str, stdout: String, exit: i32| {
        let reply = FakeReply { stdout, exit, ..FakeReply::default() };
        Scene::named(title).answer(brief, &named.command, reply)
    };
    let right = scene("a named test passes", format!("{}\n", named.sample), 0);
    let none = scene("there is no such test", "0 passed\n".to_owned(), 0);
    let failing = scene("a named test fails", "1 failed\n".to_owned(), 1);
    match (right, none, failing) {
        (Some(right), Some(none), Some(failing)) => Trial::Scenes { right, wrong: vec![none, failing] },
        _ => Trial::Whole,
    }
}
