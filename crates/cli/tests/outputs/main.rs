//! The most read outputs of the program, word for word. `UPDATE_EXPECT=1` writes them again.

mod commands;
mod results;
mod runs;

use expect_test::Expect;
use testkit::{TestEnv, dedent};

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
