//! Recipes with many steps: results stay small, warnings appear once, one line per step.

use serde_json::Value as Json;
use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// A recipe with so many steps.
fn long(steps: usize) -> String {
    let steps: String = (0..steps)
        .map(|at| format!("  - id: s{at}\n    command: |\n      echo value {at}\n      echo second line\n"))
        .collect();
    format!("name: long\nshell: bash\nsteps:\n{steps}")
}

#[test]
fn the_result_of_a_long_run_lists_no_processes() {
    let env = env();
    let output = env.json(&long(75), &["--quiet"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(output.stdout.len() < 200_000, "{} bytes", output.stdout.len());
    let evidence = output.json()["evidence"].clone();
    assert_eq!(evidence["spawned"], Json::Null, "{evidence}");
    assert_eq!(evidence["attempts"].as_array().map(Vec::len), Some(75), "{evidence}");
    let shown = env.run(["show", "last", "--output-format", "json"]).json();
    assert_eq!(shown["evidence"]["spawned"], Json::Null, "`show` gives what the run printed");
    let whole = env.run(["show", "last", "--evidence", "--output-format", "json"]).json();
    let spawned = whole["evidence"]["spawned"].as_array().cloned().unwrap_or_default();
    assert_eq!(spawned.len(), 75);
    assert!(spawned[74]["env_names"].as_array().is_some_and(|names| names.contains(&"PATH".into())));
    let text = env.run(["show", "last", "--evidence"]).stdout;
    assert!(text.contains("s74 (attempt 1, process ") && text.contains("environment names: "), "{text}");
}

#[test]
fn output_and_error_are_always_text() {
    let recipe = "
name: r
steps:
  - {id: left-out, command: echo, condition: 'false'}
  - {id: silent, command: 'true'}
  - {id: broken, command: exit 3}
  - {id: never, recipe: child}
";
    let env = env().file("child.yaml", "name: child\nsteps: [{id: inner, command: echo}]\n");
    for arguments in [&[][..], &["--dry-run"], &["--set", "x"]] {
        let json = env.json(recipe, arguments).json();
        let steps = json["step_results"].as_array().cloned().unwrap_or_default();
        let nested = steps.iter().flat_map(|step| step["steps"].as_array().cloned().unwrap_or_default());
        for step in steps.iter().cloned().chain(nested) {
            assert!(step["output"].is_string() && step["error"].is_string(), "{step}");
        }
        assert!(json["output"].is_string(), "{json}");
    }
    let shown = env.run(["show", "last", "--output-format", "json"]).json();
    assert_eq!(
        (&shown["step_results"][3]["output"], &shown["step_results"][3]["error"]),
        (&"".into(), &"".into())
    );
}

#[test]
fn a_warning_about_many_places_appears_once() {
    let recipe = "
name: r
steps:
  - {id: a, command: 'echo {{nope}}', owner: x}
  - {id: b, command: 'echo {{nope}}', owner: x}
  - {id: c, command: 'echo {{nope}} {{other}}'}
";
    let env = env().file("r.yaml", recipe);
    let report = env.run(["validate", "r.yaml"]).stderr;
    assert_eq!(report.matches("nothing defines `nope`").count(), 1, "{report}");
    assert!(report.contains("--> r.yaml:4:28") && report.contains("also at 5:28, 6:28"), "{report}");
    assert_eq!(report.matches("unknown field `owner`").count(), 1, "{report}");
    assert!(report.contains("6 warnings in r.yaml (3 different)"), "{report}");
    let json = env.run(["validate", "r.yaml", "--output-format", "json"]).json();
    assert_eq!(json["diagnostics"].as_array().map(Vec::len), Some(6), "programs get every place");
    // errors are corrected one by one
    let strict = env.run(["validate", "r.yaml", "--strict"]).stderr;
    assert_eq!(strict.matches("nothing defines `nope`").count(), 3, "{strict}");
}

#[test]
fn a_long_recipe_is_explained_with_one_line_a_step() {
    let env = env().file("long.yaml", long(75)).file("short.yaml", long(3));
    let lines = |arguments: &[&str]| env.run(arguments).stdout.lines().count();
    assert!(lines(&["explain", "long.yaml"]) <= 82, "{}", env.run(["explain", "long.yaml"]).stdout);
    assert!(lines(&["explain", "long.yaml", "--verbose"]) > 300);
    assert!(lines(&["explain", "short.yaml"]) > 12);
    let explained = env.run(["explain", "long.yaml"]).stdout;
    assert!((0..75).all(|at| explained.contains(&format!(". s{at} [bash]"))), "{explained}");
}

#[test]
fn a_dry_run_of_a_long_recipe_has_one_line_a_step() {
    let env = env().file("long.yaml", long(75));
    let short = env.run(["long.yaml", "--dry-run"]);
    assert_eq!(short.stderr, "", "the plan is the result");
    assert!(short.stdout.lines().count() <= 78, "{}", short.stdout);
    assert!((0..75).all(|at| short.stdout.contains(&format!("echo value {at}"))), "{}", short.stdout);
    let whole = env.run(["long.yaml", "--dry-run", "--verbose"]).stdout;
    assert_eq!(whole.matches("echo second line").count(), 75, "{whole}");
}

#[test]
fn the_short_form_keeps_the_notes_about_a_step() {
    let step = |at: usize| {
        format!(
            "  - id: s{at}\n    condition: probe == 'a'\n    command: |\n\n      echo value {at}\n      echo second line\n"
        )
    };
    let steps: String = (0..45).map(step).collect();
    let recipe = format!(
        "name: r\nrecursion: {{max_total_steps: 23}}\nsteps:\n  - {{id: probe, command: echo a}}\n{steps}"
    );
    let env = env().file("r.yaml", recipe);
    let plan = env.run(["r.yaml", "--dry-run"]).stdout;
    assert_eq!(plan.matches("may exceed").count(), 1, "{plan}");
    assert_eq!(plan.matches("probe == 'a'").count(), 45, "{plan}");
    assert!((0..45).all(|at| plan.contains(&format!("echo value {at} …"))), "{plan}");
    assert!(plan.lines().count() <= 50, "{plan}");
}
