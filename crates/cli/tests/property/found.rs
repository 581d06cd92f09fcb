//! What the two proofs found, each as a small case of its own. Never random.

use serde_json::{Value as Json, json};
use testkit::{Output, TestEnv};

use crate::world::{Facts, world};

fn env(files: &[(&str, &str)]) -> TestEnv {
    let program = env!("CARGO_BIN_EXE_recipe-runner-rs");
    files.iter().fold(TestEnv::new(program), |env, (name, text)| env.file(name, text))
}

fn json(env: &TestEnv, arguments: &[&str]) -> Output {
    env.run(arguments.iter().copied().chain(["--output-format", "json"]))
}

/// Runs a recipe that fails, edits it, resumes it: the values must be those of a clean run of the edited one.
fn check_edit(what: &str, files: &[(&str, &str)], edits: &[(&str, &str)], again: &str) {
    let env = env(files);
    assert_eq!(json(&env, &["r.yaml"]).code, 1, "{what}");
    edits.iter().for_each(|(name, text)| env.write(name, text));
    env.write("ledger", "");
    let resumed = json(&env, &["resume", "last", "--recipe", "r.yaml"]);
    assert_eq!(resumed.code, 0, "{what}: {}", resumed.all());
    assert_eq!(env.read("ledger").split_whitespace().collect::<Vec<_>>().join(" "), again, "{what}");
    let clean = json(&env, &["r.yaml"]);
    assert_eq!(resumed.json()["context"], clean.json()["context"], "{what}");
}

const SILENT: &str = "name: child\nsteps:\n- {id: k, command: echo k >> ledger; echo vk}\n";

#[test]
fn a_removed_step_leaves_no_value() {
    let first = "name: r\nsteps:\n- {id: gone, command: echo old}\n- {id: n, recipe: child}\n- {id: b, command: exit 3}\n";
    let edited = "name: r\nsteps:\n- {id: n, recipe: child}\n- {id: b, command: echo b >> ledger}\n";
    check_edit(
        "through a kept recipe",
        &[("r.yaml", first), ("child.yaml", SILENT)],
        &[("r.yaml", edited)],
        "b",
    );
}

#[test]
fn a_changed_default_is_seen_by_all_readers() {
    let reader = "name: child\nsteps:\n- {id: k, command: 'echo k >> ledger; echo \"$WORD\"'}\n";
    let shown = "name: child\noutput: {format: text, template: '{{word}}'}\nsteps:\n- {id: k, command: 'echo k >> ledger'}\n";
    for (what, step, child) in [
        ("by template", "{id: a, command: 'echo a >> ledger; echo {{word}}'}", SILENT),
        ("by variable", "{id: a, command: 'echo a >> ledger; echo \"$RECIPE_VAR_word\"'}", SILENT),
        ("by alias", "{id: a, command: 'echo a >> ledger; echo \"$WORD\"'}", SILENT),
        ("in a nested recipe", "{id: a, recipe: child}", reader),
        ("in the result of a nested recipe", "{id: a, recipe: child}", shown),
    ] {
        let text = |word: &str, end: &str| {
            format!("name: r\ncontext: {{word: {word}}}\nsteps:\n- {step}\n- {{id: b, command: {end}}}\n")
        };
        let again = if step.contains("recipe") { "k b" } else { "a b" };
        check_edit(
            what,
            &[("r.yaml", &text("old", "exit 3")), ("child.yaml", child)],
            &[("r.yaml", &text("new", "echo b >> ledger"))],
            again,
        );
    }
}

#[test]
fn values_that_a_sub_recipe_only_inherits_do_not_come_back() {
    let recipe = "name: r
context: {word: old}
steps:
- {id: a, command: echo new, output: word, parallel_group: g}
- {id: n, recipe: child, parallel_group: g}
- {id: b, command: 'echo {{word}}'}
";
    let output = json(&env(&[("r.yaml", recipe), ("child.yaml", SILENT)]), &["r.yaml"]);
    assert_eq!(output.value("b"), Json::from("new"), "{}", output.all());
    assert_eq!(output.json()["context"], json!({"word": "new", "k": "vk", "n": "vk", "b": "new"}));
}

#[test]
fn steps_of_an_unfinished_recipe_rerun_with_other_values() {
    let text =
        |given: &str| format!("name: r\nsteps:\n- {{id: n, recipe: child, context: {{given: {given}}}}}\n");
    let child = "name: child\nsteps:\n- {id: k, command: 'echo k >> ledger; echo {{given}}'}\n- {id: f, command: test -e go}\n";
    let files = [("r.yaml", &*text("old")), ("child.yaml", child)];
    check_edit("an override", &files, &[("r.yaml", &text("new")), ("go", "")], "k");
}

#[test]
fn an_edit_reaches_steps_that_an_interrupted_resume_had_not_come_to() {
    let text = |a: &str, b: &str| {
        format!(
            "name: r\nsteps:\n- {{id: a, command: '{a}'}}\n- {{id: b, command: echo {b}}}\n- {{id: c, command: test -e go}}\n"
        )
    };
    let env = env(&[("r.yaml", &text("echo a", "old"))]);
    assert_eq!(json(&env, &["r.yaml"]).code, 1);
    let killing = "[ -e go ] || kill -9 $PPID; echo a";
    env.write("r.yaml", text(killing, "old"));
    assert_eq!(json(&env, &["resume", "last", "--recipe", "r.yaml"]).code, 137);
    env.write("go", "");
    env.write("r.yaml", text(killing, "new"));
    let resumed = json(&env, &["resume", "last", "--recipe", "r.yaml"]);
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert_eq!(resumed.value("b"), Json::from("new"));
}

#[test]
fn a_kept_effect_in_an_edited_sub_recipe_asks_no_question() {
    let child = |end: &str| {
        format!(
            "name: child\nsteps:\n- {{id: e, effects: [push], command: echo e >> ledger}}\n- {{id: f, command: {end}}}\n"
        )
    };
    let files =
        [("r.yaml", "name: r\nsteps:\n- {id: n, recipe: child}\n"), ("child.yaml", &*child("exit 3"))];
    check_edit("its neighbour is edited", &files, &[("child.yaml", &child("echo f >> ledger"))], "f");
}

/// A process that was just being started when the runner was killed holds its locks on for a moment.
#[test]
fn locks_that_briefly_outlive_their_owner_are_not_a_conflict() {
    let recipe = "name: r\nsteps:\n- {id: a, command: '[ -e go ] || kill -9 $PPID; echo a'}\n";
    for again in ["resume last", "r.yaml"] {
        let env = env(&[("r.yaml", recipe)]);
        assert_eq!(json(&env, &["r.yaml"]).code, 137);
        env.write("go", "");
        let held = format!(
            "for lock in \"$RECIPE_RUNNER_HOME\"/runs/*/lock \"$RECIPE_RUNNER_HOME\"/workspaces/*/lock; do flock -x \"$lock\" sleep 0.4 & done; sleep 0.1; $RUNNER {again}"
        );
        let output = env.shell(&held);
        assert_eq!(output.code, 0, "{again}: {}", output.all());
    }
}

#[test]
fn a_changed_default_of_a_sub_recipe_is_seen_in_it() {
    let child = |word: &str| {
        format!(
            "name: child\ncontext: {{word: {word}}}\nsteps:\n- {{id: k, command: 'echo k >> ledger; echo {{{{word}}}}'}}\n"
        )
    };
    let recipe =
        |end: &str| format!("name: r\nsteps:\n- {{id: n, recipe: child}}\n- {{id: b, command: {end}}}\n");
    check_edit(
        "after it was completed",
        &[("r.yaml", &recipe("exit 3")), ("child.yaml", &child("old"))],
        &[("r.yaml", &recipe("echo b >> ledger")), ("child.yaml", &child("new"))],
        "k b",
    );
}

/// An agent behind an edited step is kept over mere order, also in a recipe that was cut off before its end.
#[test]
fn an_agent_in_an_interrupted_recipe_is_not_asked_again_on_a_guess() {
    let recipe = |word: &str| {
        format!("name: r\nsteps:\n- {{id: a, command: echo {word}}}\n- {{id: n, recipe: child}}\n")
    };
    let agent = "- {id: k, prompt: 'k: vk', agent_binary: scripted, auto_stage: false}";
    for (what, end, code) in [("fails", "test -e go", 1), ("is killed", "[ -e go ] || kill -9 $PPID", 137)] {
        let env = world();
        env.write("r.yaml", recipe("old"));
        env.write("child.yaml", format!("name: child\nsteps:\n{agent}\n- {{id: f, command: '{end}'}}\n"));
        assert_eq!(json(&env, &["r.yaml"]).code, code, "{what}");
        env.write("r.yaml", recipe("new"));
        env.write("go", "");
        let resumed = json(&env, &["resume", "last", "--recipe", "r.yaml"]);
        assert_eq!(resumed.code, 0, "{what}: {}", resumed.all());
        assert_eq!(resumed.value("a"), Json::from("new"), "{what}");
        assert_eq!(env.read("ledger"), "B k\nE k\n", "{what}");
    }
}

/// A file limit can stop a write between a record and the end of its line.
#[test]
fn a_record_without_the_end_of_its_line_is_not_recorded() {
    let env = world();
    env.write("r.yaml", "name: r\nsteps:\n- {id: a, command: '. ./lib; begin a; finish a; echo va'}\n");
    assert_eq!(json(&env, &["r.yaml"]).code, 0);
    let journal = env.run_dir().join("events.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = lines.iter().position(|line| line.contains("step_finished")).unwrap();
    std::fs::write(&journal, lines[..=at].concat().trim_end()).unwrap();
    let before = Facts::read(&env).of("a");
    assert_eq!((before.started, before.completed, before.open), (1, 0, true));
    let resumed = json(&env, &["resume", "last"]);
    assert_eq!((resumed.code, resumed.value("a")), (0, Json::from("va")), "{}", resumed.all());
    let after = Facts::read(&env).of("a");
    assert_eq!((after.begun, after.started, after.completed), (2, 2, 1));
}

/// `server` runs again in every resume, and one of them dies in it before it comes to the edited recipe.
#[test]
fn a_step_that_was_done_after_an_edit_is_kept_by_a_resume_after_one_that_died_early() {
    let recipe = "name: r
steps:
- {id: server, command: 'sleep 60 > /dev/null 2>&1 & [ ! -e die ] || kill -9 $PPID'}
- {id: n, recipe: child}
";
    let child = |word: &str| {
        format!(
            "name: child\nsteps:\n- {{id: k, command: echo {word} >> ledger}}\n- {{id: f, command: test -e go}}\n"
        )
    };
    let env = env(&[("r.yaml", recipe), ("child.yaml", &child("old"))]);
    assert_eq!(json(&env, &["r.yaml"]).code, 1);
    env.write("child.yaml", child("new"));
    assert_eq!(json(&env, &["resume", "last", "--recipe", "r.yaml"]).code, 1);
    env.write("die", "");
    assert_eq!(json(&env, &["resume", "last"]).code, 137);
    std::fs::remove_file(env.path("die")).unwrap();
    env.write("go", "");
    let resumed = json(&env, &["resume", "last", "--recipe", "r.yaml"]);
    assert_eq!(resumed.code, 0, "{}", resumed.all());
    assert_eq!(env.read("ledger"), "old\nnew\n");
}
