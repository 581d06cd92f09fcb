//! `schema` and `completions`: texts for editors and shells.

use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

#[test]
fn the_committed_schema_is_the_printed_one() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schema/recipe.schema.json");
    let committed = std::fs::read_to_string(file).unwrap();
    let printed = env().run(["schema"]);
    assert_eq!(printed.code, 0);
    assert!(
        printed.stdout == committed,
        "write it again: cargo run -q -- schema > schema/recipe.schema.json"
    );
}

#[test]
fn the_schema_knows_the_fields() {
    let schema = env().run(["schema", "--output-format", "json"]).json();
    for field in ["name", "context", "extends", "hooks", "recursion", "steps", "inputs", "secrets"] {
        assert!(schema["properties"][field]["description"].is_string(), "{field}");
    }
}

#[test]
fn shells_learn_the_verbs() {
    let env = env();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = env.run(["completions", shell]);
        assert_eq!(output.code, 0, "{}", output.all());
        // the first three ask the program
        let learnt = if shell.ends_with("sh") { ["__complete", ""] } else { ["validate", "exclude-tags"] };
        assert!(learnt.iter().all(|word| output.stdout.contains(word)), "{shell}");
    }
    assert_eq!(env.shell("$RUNNER completions bash | bash -n").code, 0);
    assert_eq!(env.run(["completions", "bash", "--format", "json"]).json()["shell"], "bash");
}
