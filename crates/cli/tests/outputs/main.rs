//! The most read outputs of the program, word for word. `UPDATE_EXPECT=1` writes them again.

mod commands;
mod results;
mod runs;
mod screen_commands;
mod screen_runs;

use expect_test::Expect;
use testkit::{Screen, TestEnv, dedent};

/// A world with these recipes, written as indented raw strings.
fn with(recipes: &[(&str, &str)]) -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
    recipes.iter().for_each(|(path, text)| env.write(path, dedent(text)));
    env
}

/// Compares everything that a command prints, and its exit code.
fn check(env: &TestEnv, arguments: &[&str], expected: Expect) {
    let output = env.run(arguments.iter().copied());
    expected.assert_eq(&env.stable(&output.all()));
}

/// Compares what a terminal of this size shows after a command line. The terminal breaks no line.
fn check_screen(env: &TestEnv, size: (usize, usize), line: &str, expected: Expect) {
    same_screen(env, &env.screen(size.0, size.1, line), expected);
}

/// The same for a screen that was seen before.
fn same_screen(env: &TestEnv, screen: &Screen, expected: Expect) {
    assert!(screen.broken_lines().is_empty(), "{}", screen.text());
    let tmp = env.tmp().display().to_string();
    let text = env.stable(&screen.text()).replace(&tmp, "/tmp");
    let person = text.split(" by ").nth(1).and_then(|rest| rest.split(" via ").next()).unwrap_or_default();
    let text = text.replace(&format!(" by {person} via "), " by USER via ");
    let whole_seconds = |word: &str| match word.trim_end_matches(',').strip_suffix('s') {
        Some(number) if !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()) => {
            word.replace(number, "0")
        }
        _ => word.to_owned(),
    };
    let line = |line: &str| line.split(' ').map(whole_seconds).collect::<Vec<_>>().join(" ");
    expected.assert_eq(&text.split('\n').map(line).collect::<Vec<_>>().join("\n"));
}

/// The usual size of a terminal.
const NARROW: (usize, usize) = (80, 24);
/// A large terminal.
const WIDE: (usize, usize) = (140, 40);

/// Two steps; the second one fails until a file exists.
const RELEASE: (&str, &str) = (
    "release.yaml",
    r#"
    name: release
    steps:
      - id: build
        command: echo built

      - id: publish
        command: |
          echo "no credentials" >&2
          test -e credentials
    "#,
);

/// One step that succeeds.
const HELLO: (&str, &str) = (
    "hello.yaml",
    r#"
    name: hello
    description: Greets
    context:
      who: world
    steps:
      - id: greet
        command: echo "Hello {{who}}"
    "#,
);
