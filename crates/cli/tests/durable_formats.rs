//! Runs that earlier versions of the program stored: they open, and a resume continues them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends by panicking")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use testkit::TestEnv;

/// The stored run of a format, in a world of its own; with its folder and its header.
fn golden(format: &str) -> (TestEnv, PathBuf, String) {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format);
    let run = env.state().join("runs/20260101-000000-000gold");
    copy(&source, &run);
    let header = fs::read_to_string(run.join("run.json")).unwrap();
    fs::write(run.join("run.json"), header.replace("/golden/work", &env.dir().display().to_string()))
        .unwrap();
    (env, run, header)
}

/// What earlier versions wrote must be read for ever.
#[test]
fn a_run_of_format_one_opens_and_goes_on() {
    let (env, run, header) = golden("format-1");
    let shown = env.run(["show", "20260101", "--output-format", "json"]);
    assert_eq!(shown.code, 0, "{}", shown.all());
    let shown = shown.json();
    assert_eq!(shown["status"], "failed");
    assert_eq!(shown["context"]["a"], "va");
    assert_eq!(shown["step_results"][1]["steps"][0]["status"], "completed");
    env.write("go", "");
    let output = env.run(["resume", "20260101", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.json()["context"]["end"], "va vk 20000");
    assert_eq!(env.read("ledger"), "end\n");
    let resumed = fs::read_to_string(run.join("run.json")).unwrap();
    assert!(resumed.contains("\"format\": 2"), "it has records of format 2 now: {resumed}");
    assert_eq!(env.run(["show", "20260101", "--output-format", "json"]).json()["status"], "completed");
    fs::write(run.join("run.json"), header.replace("\"format\": 1", "\"format\": 9")).unwrap();
    let output = env.run(["show", "20260101"]);
    assert_eq!(output.code, 8);
    assert!(output.stderr.contains("use a newer recipe-runner-rs"), "{}", output.all());
    assert_eq!(env.run(["resume", "20260101"]).code, 8);
}

/// Words of other tools are errors now; a run that began when they were warnings keeps its recipe.
#[test]
fn a_run_whose_recipe_breaks_a_later_rule_opens_and_goes_on() {
    let (env, run, _) = golden("format-1");
    let source = run.join("sources/00-r.yaml");
    let text = fs::read_to_string(&source).unwrap();
    let text = text.replace("name: golden\n", "name: golden\non: push\n");
    fs::write(&source, text.replace("  - id: end\n", "  - id: end\n    if: main\n")).unwrap();
    let shown = env.run(["show", "20260101", "--output-format", "json"]);
    assert_eq!((shown.code, &shown.json()["status"]), (0, &"failed".into()), "{}", shown.all());
    env.write("go", "");
    fs::copy(&source, env.path("r.yaml")).unwrap();
    fs::copy(run.join("sources/01-child.yaml"), env.path("child.yaml")).unwrap();
    for refused in [vec!["r.yaml"], vec!["resume", "20260101", "--recipe", "r.yaml"]] {
        let refused = env.run(refused);
        assert_eq!(refused.code, 2, "{}", refused.all());
        assert!(refused.all().contains("a recipe has no field `on`"), "{}", refused.all());
    }
    let output = env.run(["resume", "20260101", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.json()["context"]["end"], "va vk 20000");
}

/// A run whose steps failed for causes of every kind that needs no agent, and that was then resumed.
#[test]
fn a_run_of_format_two_opens_and_goes_on() {
    let (env, run, header) = golden("format-2");
    assert!(header.contains("\"format\": 2"), "{header}");
    let journal = fs::read_to_string(run.join("events.jsonl")).unwrap();
    for cause in
        ["directory", "value", "nul", "unready", "recipe_not_found", "condition", "not_json", "named"]
    {
        assert!(journal.contains(&format!("\"{cause}\":")), "no step shows {cause}");
    }
    let shown = env.run(["show", "20260101", "--output-format", "json"]);
    assert_eq!(shown.code, 0, "{}", shown.all());
    let shown = shown.json();
    let errors: Vec<String> = shown["step_results"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|step| format!("{}: {} {}", step["step_id"], step["outcome"], step["error"]).replace('"', ""))
        .collect();
    expect_test::expect_file!["golden/format-2.txt"].assert_eq(&errors.join("\n"));
    env.write("go", "");
    let output = env.run(["resume", "20260101", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.json()["context"]["end"], "went");
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}
