//! A run knows the recipe that it works with, also after a resume brought another one, and names it from anywhere.
#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use engine::Event;
use serde_json::{Value as Json, json};
use testkit::{Output, TestEnv};

/// A world with an agent program that repairs a recipe whose check cannot work.
fn world() -> TestEnv {
    TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), "sed -i 's/git verzion/git version/' r.yaml")
}

/// A recipe whose check is this command.
fn recipe(check: &str) -> String {
    format!("name: r\nsteps:\n  - {{id: a, command: echo a}}\n  - {{id: b, command: '{check}'}}\n")
}

const BROKEN: &str = "git verzion";

/// Runs the program in a directory.
fn at(env: &TestEnv, dir: &str, command: &str) -> Output {
    std::fs::create_dir_all(env.path(dir)).unwrap();
    env.shell(&format!("cd '{dir}' && \"$RUNNER\" {command}"))
}

fn digest(env: &TestEnv, file: &str) -> String {
    recipe::digest::sha256(env.read(file).as_bytes())
}

fn show(env: &TestEnv) -> Json {
    env.run(["show", "last", "--output-format", "json"]).json()
}

fn path(env: &TestEnv, file: &str) -> String {
    env.path(file).canonicalize().unwrap().to_string_lossy().into_owned()
}

/// The evidence names this file, with what stands in it, and repeats the run with it.
fn check_evidence(env: &TestEnv, file: &str) {
    let evidence = show(env)["evidence"].clone();
    assert_eq!(evidence["recipe_path"], path(env, file), "{evidence}");
    assert_eq!(evidence["recipe_digest"], digest(env, file), "{evidence}");
    let repro = evidence["repro_command"].as_str().unwrap();
    assert!(repro.starts_with(&format!("recipe-runner-rs {} ", path(env, file))), "{repro}");
}

#[test]
fn evidence_is_about_the_recipe_that_a_resume_brought() {
    let env = world().file("r.yaml", recipe(BROKEN)).file("d/e.yaml", recipe("true"));
    assert_eq!(env.run(["r.yaml"]).code, 1);
    check_evidence(&env, "r.yaml");
    assert!(show(&env)["evidence"]["began_with"].is_null());
    let output = at(&env, "d", "resume last --recipe e.yaml");
    assert_eq!(output.code, 0, "{}", output.all());
    check_evidence(&env, "d/e.yaml");
    let evidence = show(&env)["evidence"].clone();
    assert_eq!(evidence["began_with"]["recipe_digest"], digest(&env, "r.yaml"));
    let resume = &evidence["resumes"][0];
    assert_eq!(resume["recipe_digest"], digest(&env, "d/e.yaml"), "{resume}");
    assert_eq!(resume["recipe_path"], path(&env, "d/e.yaml"), "{resume}");
    assert!(env.run(["show", "last"]).stdout.contains(&format!("r ({})", path(&env, "d/e.yaml"))));
}

#[test]
fn evidence_is_about_a_repaired_recipe() {
    let env = world().file("r.yaml", recipe(BROKEN));
    let output = env.run(["r.yaml", "--auto-fix"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(env.read("r.yaml").contains("git version"));
    check_evidence(&env, "r.yaml");
}

#[test]
fn a_repair_after_a_resume_is_one_of_the_recipe_in_force() {
    let env = TestEnv::scripted(
        env!("CARGO_BIN_EXE_recipe-runner-rs"),
        "sed -i 's/git verzion/git version/' e.yaml r.yaml",
    );
    let env = env.file("r.yaml", recipe("exit 4")).file("e.yaml", recipe(BROKEN));
    assert_eq!(env.run(["r.yaml"]).code, 1);
    let output = env.run(["resume", "last", "--recipe", "e.yaml", "--auto-fix"]);
    assert_eq!(output.code, 0, "{}", output.all());
    check_evidence(&env, "e.yaml");
}

#[test]
fn a_resume_names_the_rerun_steps() {
    let gate = "id: gate, command: test -e ok";
    for (steps, from, expected) in [
        (format!("  - {{id: a, command: echo a}}\n  - {{{gate}}}\n"), "", json!(["gate"])),
        (format!("  - {{id: a, command: echo a}}\n  - {{{gate}}}\n"), " --from a", json!(["a", "gate"])),
        ("  - {id: n, recipe: child}\n".to_owned(), "", json!(["n", "n/gate"])),
    ] {
        let env = world()
            .file(
                "child.yaml",
                format!("name: child\nsteps:\n  - {{id: x, command: echo x}}\n  - {{{gate}}}\n"),
            )
            .file("r.yaml", format!("name: r\nsteps:\n{steps}"));
        assert_eq!(env.run(["r.yaml"]).code, 1);
        env.write("ok", "");
        let output = at(&env, ".", &format!("resume last{from}"));
        assert_eq!(output.code, 0, "{}", output.all());
        assert_eq!(show(&env)["evidence"]["resumes"][0]["rerun"], expected, "{steps}{from}");
    }
}

/// The command behind `resume:` in a text.
fn printed(output: &Output) -> String {
    let all = output.all();
    let line = all.lines().find_map(|line| line.trim().strip_prefix("resume:")).unwrap_or_default();
    line.trim().to_owned()
}

#[test]
fn printed_commands_name_the_recipe_in_force_from_anywhere() {
    let env = world().file("sub/r.yaml", recipe(BROKEN)).file("sub/e.yaml", recipe("git verzion again"));
    let first = env.run(["sub/r.yaml"]);
    let wanted = |file: &str| format!(" --recipe {}", path(&env, file));
    assert!(printed(&first).ends_with(&wanted("sub/r.yaml")), "{}", first.all());
    for (dir, command, file) in [
        ("else", "resume last", "sub/r.yaml"),
        ("sub", "resume last --recipe e.yaml", "sub/e.yaml"),
        ("else", "resume last", "sub/e.yaml"),
        (".", "show last", "sub/e.yaml"),
    ] {
        let output = at(&env, dir, command);
        let line = printed(&output);
        assert!(line.ends_with(&wanted(file)), "{dir}: {command}\n{}", output.all());
        assert!(!output.all().contains("has changed; this run"), "{dir}: {command}\n{}", output.all());
        let result = show(&env);
        assert_eq!(result["resume_command"], line.as_str(), "as the text says");
        let typed = line.replacen("recipe-runner-rs ", "", 1);
        assert_eq!(at(&env, "else", &format!("{typed} --plan")).code, 0, "{line}");
    }
    env.write("sub/e.yaml", recipe("git verzion anew"));
    let output = at(&env, "else", "resume last");
    assert!(
        output
            .stderr
            .contains(&format!("`{}` has changed; this run keeps the old version", path(&env, "sub/e.yaml"))),
        "{}",
        output.all()
    );
}

#[test]
fn a_journal_without_recipes_in_its_resumes_opens_as_before() {
    let env = world().file("r.yaml", recipe(BROKEN)).file("e.yaml", recipe("git verzion again"));
    assert_eq!(env.run(["r.yaml"]).code, 1);
    assert_eq!(env.run(["resume", "last", "--recipe", "e.yaml"]).code, 1);
    let journal = env.run_dir().join("events.jsonl");
    let mut lines = Vec::new();
    for mut record in runtime::store::journal::read(&journal).unwrap() {
        if let Event::RunResumed(resumed) = &mut record.event {
            (resumed.recipe_file, resumed.recipe_digest, resumed.again) = (None, None, Vec::new());
        }
        runtime::store::journal::write_line(&record, &mut lines);
    }
    std::fs::write(journal, lines).unwrap();
    check_evidence(&env, "e.yaml");
    assert_eq!(show(&env)["evidence"]["resumes"][0]["rerun"], json!([]));
    assert_eq!(env.run(["resume", "last"]).code, 1);
}
