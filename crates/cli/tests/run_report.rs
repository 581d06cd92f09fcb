//! The reports of a run: the JSON result, text, progress, the audit log, dry runs, stored runs.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value as Json, json};
use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

const MIXED: &str = r#"
name: mixed
context: {greeting: hello}
steps:
  - {id: good, command: 'echo "{{greeting}} out"; echo err >&2'}
  - {id: skipped, command: 'true', condition: "greeting == 'x'"}
  - {id: shaky, command: echo words, parse_json: true}
  - {id: tolerated, command: 'echo why >&2; exit 4', continue_on_error: true}
"#;

#[test]
fn the_json_result_has_its_keys() {
    let output = env().json(MIXED, &[]);
    let json = output.json();
    for (key, expected) in [
        ("schema_version", json!(1)),
        ("recipe_name", json!("mixed")),
        ("success", json!(true)),
        ("status", json!("completed")),
        ("outcome", json!("ok")),
        ("exit_code", json!(0)),
        ("failure", Json::Null),
        ("dry_run", json!(false)),
    ] {
        assert_eq!(json[key], expected, "{key}");
    }
    assert!(json["duration"].is_number() && json["run_id"].is_string() && json["started_at"].is_string());
    assert_eq!(json["context"]["greeting"], "hello");
    let steps = json["step_results"].as_array().cloned().unwrap_or_default();
    assert_eq!(steps.len(), 4);
    for step in &steps {
        for key in ["step_id", "status", "output", "error", "duration", "type", "attempts", "started_at"] {
            assert!(step.get(key).is_some(), "{key} in {step}");
        }
        assert!(step["duration"].is_number());
    }
    let of = |at: usize, key: &str| steps[at][key].clone();
    assert_eq!(
        (of(0, "status"), of(0, "output"), of(0, "error")),
        (json!("completed"), json!("hello out"), json!(""))
    );
    assert_eq!(
        (of(1, "status"), of(1, "attempts"), of(1, "output")),
        (json!("skipped"), json!(0), json!(""))
    );
    assert_eq!(of(2, "status"), "degraded");
    assert_eq!((of(3, "status"), of(3, "exit_code")), (json!("failed"), json!(4)));
}

#[test]
fn a_failed_result_names_the_failed_step() {
    let json = env().json("name: r\nsteps: [{id: s, command: exit 9}]\n", &[]).json();
    assert_eq!((json["success"].clone(), json["exit_code"].clone()), (json!(false), json!(1)));
    assert_eq!((json["status"].clone(), json["outcome"].clone()), (json!("failed"), json!("failed")));
    assert_eq!(json["failure"]["step"], "s");
    assert!(json["failure"]["error"].as_str().is_some_and(|error| error.contains("exit code 9")));
    let run = json["run_id"].as_str().unwrap_or_default();
    assert_eq!(json["resume_command"], format!("recipe-runner-rs resume {run}"));
}

#[test]
fn json_mode_prints_one_value_whatever_happens() {
    let env = env()
        .file("bad.yaml", "name: r\nsteps: [{id: a, comand: x}]\n")
        .file("broken.yaml", "name: [")
        .file("noisy.yaml", "name: r\nsteps: [{id: a, command: 'echo {}; echo out; echo err >&2; exit 1'}]\n")
        .file("ok.yaml", "name: r\nsteps: [{id: a, command: echo hi}]\n")
        .file(
            "need.yaml",
            "name: r\ninputs: [{name: x, required: true}]\nsteps: [{id: a, command: echo hi}]\n",
        )
        .file("plain", "");
    for (line, code) in [
        ("ok.yaml", 0),
        ("noisy.yaml", 1),
        ("bad.yaml", 2),
        ("broken.yaml", 2),
        ("nowhere.yaml", 3),
        ("nowhere", 3),
        ("need.yaml", 5),
        ("ok.yaml -C nowhere", 5),
        ("ok.yaml -C plain", 5),
        ("ok.yaml --dry-run", 0),
        ("need.yaml --dry-run --set x=1", 0),
        ("ok.yaml --audit-dir plain", 8),
        ("ok.yaml --state-dir plain", 8),
        ("show nowhere", 3),
        ("logs nowhere", 3),
        ("resume nowhere", 3),
        ("cancel nowhere", 3),
        ("show last", 0),
        ("logs last", 0),
        ("runs", 0),
        ("prune --keep 100", 0),
    ] {
        for format in ["--output-format", "--format"] {
            let output = env.run(line.split(' ').chain([format, "json"]));
            assert_eq!(output.code, code, "{line}\n{}", output.all());
            let json = output.json();
            if let Some(shown) = json.get("exit_code").filter(|_| code != 0) {
                assert_eq!(shown, code, "{line}");
            }
        }
    }
}

#[test]
fn text_mode_keeps_results_and_progress_apart() {
    let output = env().text(MIXED, &[]);
    assert_eq!(output.code, 0);
    assert!(output.stdout.starts_with("hello out\nwords\n"), "{}", output.all());
    assert!(!output.stdout.contains("started") && !output.stdout.contains("err\n"), "{}", output.all());
    for line in [
        "[step 01/04 good] started",
        "[step 01/04 good] completed in",
        "[step 02/04 skipped] skipped",
        "[step 04/04 tolerated] failed after",
    ] {
        assert!(output.stderr.contains(line), "{line}\n{}", output.all());
    }
    let quiet = env().text(MIXED, &["--quiet"]);
    assert!(quiet.stdout.starts_with("hello out\n"));
    assert_eq!(quiet.stderr, "", "{}", quiet.all());
}

#[test]
fn progress_has_icons_and_counters_on_stderr_only() {
    for arguments in [vec!["--progress"], vec!["--progress", "--output-format", "json"]] {
        let output = env().text(&format!("{MIXED}  - {{id: last, command: exit 1}}\n"), &arguments);
        for (icon, id, counter) in [
            ("▶", "good", "1/5"),
            ("✓", "good", "1/5"),
            ("⊘", "skipped", "2/5"),
            ("⚠", "shaky", "3/5"),
            ("✗", "last", "5/5"),
        ] {
            let found = output
                .stderr
                .lines()
                .any(|line| line.contains(icon) && line.contains(id) && line.contains(counter));
            assert!(found, "{icon} {id} {counter}\n{}", output.all());
        }
        assert!(!output.stdout.contains('▶'), "{}", output.all());
    }
    let nested = env().file("child.yaml", "name: child\nsteps: [{id: inner, command: 'true'}]\n");
    let output = nested.text("name: r\nsteps: [{id: outer, recipe: child}]\n", &["--progress"]);
    assert!(output.stderr.contains("▶ outer/inner") && output.stderr.contains("✓ outer"), "{}", output.all());
}

#[test]
fn two_digit_labels_and_strange_names() {
    let steps: String = (1..=12).map(|at| format!("  - {{id: s{at}, command: 'true'}}\n")).collect();
    let output = env().text(&format!("name: r\nsteps:\n{steps}"), &[]);
    for label in ["[step 01/12 s1] started", "[step 12/12 s12] completed in"] {
        assert!(output.stderr.contains(label), "{label}\n{}", output.all());
    }
    let quoted = env()
        .json("name: 'a \"quoted\" name'\nsteps: [{id: s, command: 'true'}]\n", &["--audit-dir", "audit"]);
    assert_eq!(quoted.json()["recipe_name"], "a \"quoted\" name");
}

#[test]
fn a_long_step_gives_signs_of_life() {
    let recipe = "name: r\nsteps: [{id: slow, command: sleep 1.2}]\n";
    let output = env().env("AMPLIHACK_RECIPE_HEARTBEAT_INTERVAL_SECONDS", "0.5").text(recipe, &[]);
    let beats = output.stderr.matches("[step 01/01 slow] still running").count();
    assert!((1..=2).contains(&beats), "{}", output.all());
    for interval in ["0", "60", "nonsense"] {
        let output = env()
            .env("AMPLIHACK_RECIPE_HEARTBEAT_INTERVAL_SECONDS", interval)
            .text("name: r\nsteps: [{id: s, command: sleep 0.3}]\n", &[]);
        assert!(!output.stderr.contains("still running") && output.code == 0, "{interval}");
    }
}

#[test]
fn a_failure_shows_its_last_output_and_next_steps() {
    let recipe = "name: r\nsteps: [{id: s, command: 'for i in $(seq 1 30); do echo out$i; echo err$i >&2; done; exit 5'}]\n";
    let short = env().text(recipe, &["--quiet"]);
    let parts = [
        "error: failed at s: exit code 5 (after 0.",
        "err30",
        "recipe-runner-rs logs ",
        "recipe-runner-rs resume ",
    ];
    for part in parts {
        assert!(short.stderr.contains(part), "{part}\n{}", short.all());
    }
    assert!(!short.stderr.contains("out30") && short.stderr.lines().count() <= 12, "{}", short.all());
    let full = env().text(recipe, &["--verbose"]);
    for part in parts.into_iter().chain(["err11", "out30", "out11", "command: for i in $(seq 1 30)"]) {
        assert!(full.stderr.contains(part), "{part}\n{}", full.all());
    }
    let (_, block) = full.stderr.split_once("error: failed at s").unwrap_or_default();
    assert!(!block.contains("err10\n"), "{}", full.all());
    let short = env().env("AMPLIHACK_RECIPE_SNIPPET_LINES", "2").text(recipe, &["--quiet"]);
    assert!(short.stderr.contains("err29") && !short.stderr.contains("err28"), "{}", short.all());
}

#[test]
fn environment_variables_limit_the_quoted_output() {
    let recipe = "name: r\nsteps: [{id: a, command: 'seq 1001 1100 >&2; exit 1'}]\n";
    for (variable, value, lines) in [
        ("AMPLIHACK_RECIPE_SNIPPET_LINES", "3", 3),
        ("AMPLIHACK_RECIPE_SNIPPET_LINES", "50", 50),
        ("UNUSED", "", 20),
    ] {
        let output = env().env(variable, value).json(recipe, &[]);
        let error = output.step("a")["error"].as_str().unwrap_or_default().to_owned();
        assert_eq!(
            error.lines().filter(|line| line.starts_with('1')).count(),
            lines,
            "{variable}={value}: {error}"
        );
    }
}

fn audit_lines(env: &TestEnv) -> Vec<Json> {
    let mut files: Vec<_> = std::fs::read_dir(env.path("audit"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect();
    files.sort();
    let text: String = files.iter().map(|file| std::fs::read_to_string(file).unwrap_or_default()).collect();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_default()).collect()
}

#[test]
fn the_audit_log_has_a_line_for_every_step() {
    let env = env();
    let output = env.json(MIXED, &["--audit-dir", "audit"]);
    let run = output.json()["run_id"].as_str().unwrap_or_default().to_owned();
    let lines = audit_lines(&env);
    let brief: Vec<String> = lines
        .iter()
        .map(|line| format!("{} {} {}", line["step_id"], line["status"], line["output_len"]))
        .collect();
    assert_eq!(
        brief,
        [
            r#""good" "completed" 9"#,
            r#""skipped" "skipped" 0"#,
            r#""shaky" "degraded" 5"#,
            r#""tolerated" "failed" 0"#
        ]
    );
    for line in &lines {
        for key in ["step_id", "status", "duration_ms", "error", "output_len"] {
            assert!(line.get(key).is_some(), "{key} in {line}");
        }
        assert!(line["duration_ms"].is_u64());
    }
    assert_eq!(lines[0]["error"], Json::Null);
    assert!(lines[3]["error"].as_str().is_some_and(|error| error.contains("why")));
    for entry in std::fs::read_dir(env.path("audit")).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(name.starts_with("mixed-20") && name.ends_with(&format!("-{run}.jsonl")), "{name}");
        assert_eq!(entry.metadata().map(|meta| meta.permissions().mode() & 0o777).ok(), Some(0o600));
    }
}

#[test]
fn audit_logs_are_kept_apart_and_inside() {
    let env =
        env().file("recipe.yaml", "name: ../../x\nsteps: [{id: s, command: 'true'}]\n").file("deep/er/x", "");
    let output = env.shell("$RUNNER recipe.yaml --allow-concurrent --quiet --audit-dir deep/audit >/dev/null & $RUNNER recipe.yaml --allow-concurrent --quiet --audit-dir deep/audit > /dev/null; wait; ls deep/audit | wc -l; cat deep/audit/* | wc -l; ls");
    let lines: Vec<&str> = output.stdout.split_whitespace().collect();
    assert_eq!(lines, ["2", "2", "deep", "recipe.yaml"], "{}", output.all());
    env.write("plain", "");
    let ran = env.text("name: r\nsteps: [{id: s, command: touch ran}]\n", &["--audit-dir", "plain/audit"]);
    assert_eq!((ran.code, env.path("ran").exists()), (8, false), "{}", ran.all());
    assert!(ran.stderr.contains("audit"), "{}", ran.all());
}

#[test]
fn a_dry_run_walks_everything_and_does_nothing() {
    let env = env().file("child.yaml", "name: child\nhooks: {pre_step: touch ran}\nsteps:\n  - {id: inner, command: 'touch ran {{given}}'}\n");
    let recipe = r#"
name: dry
context: {v: "it's", off: ""}
hooks: {pre_step: touch ran, post_step: touch ran, on_error: touch ran}
steps:
  - {id: a, command: 'touch ran "{{v}}"', output: made}
  - {id: off, command: touch ran, condition: off}
  - {id: on, command: touch ran, condition: "v == \"it's\""}
  - {id: maybe, command: 'touch ran {{made}}', condition: "made == 'x'"}
  - {id: tagged, command: touch ran, when_tags: [t]}
  - {id: nested, recipe: child, context: {given: "to child"}}
  - {id: ask, prompt: 'think about {{v}}'}
  - {id: p1, parallel_group: g, command: touch ran}
  - {id: p2, parallel_group: g, command: touch ran}
"#;
    let output = env.json(recipe, &["--dry-run", "--exclude-tags", "t", "--audit-dir", "audit"]);
    let json = output.json();
    assert_eq!(
        (output.code, json["success"].clone(), json["dry_run"].clone()),
        (0, json!(true), json!(true)),
        "{}",
        output.all()
    );
    for step in json["step_results"].as_array().into_iter().flatten() {
        assert_eq!(step["status"], "skipped", "{step}");
    }
    let said = |path: &str| output.step(path).to_string();
    for (path, part) in [
        ("a", "dry run"),
        ("a", "touch ran \\\"it's\\\""),
        ("off", "condition"),
        ("on", "dry run"),
        ("maybe", "made == 'x'"),
        ("tagged", "tag"),
        ("nested/inner", "touch ran to child"),
        ("nested", "dry run"),
        ("ask", "think about it's"),
        ("p2", "dry run"),
    ] {
        assert!(said(path).contains(part), "{path}: {part}\n{}", said(path));
    }
    let left: Vec<String> = std::fs::read_dir(env.dir())
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !name.ends_with(".yaml"))
        .collect();
    assert_eq!(left, ["audit"]);
    assert!(
        !env.state().join("runs").exists()
            || std::fs::read_dir(env.state().join("runs")).is_ok_and(|mut runs| runs.next().is_none())
    );
    let text = env.text(recipe, &["--dry-run", "--progress"]);
    assert!(
        text.stdout.to_lowercase().contains("dry run") && text.stdout.contains("touch ran"),
        "{}",
        text.all()
    );
    assert!(text.stderr.contains('⊘'), "{}", text.all());
}

#[test]
fn stored_runs_are_listed_shown_and_removed() {
    let env = env();
    assert_eq!(env.run(["runs", "--output-format", "json"]).json(), json!([]));
    assert_eq!(env.run(["show", "last"]).code, 3);
    let first = env.json("name: one\nsteps: [{id: s, command: 'echo out; echo err >&2'}]\n", &[]).json();
    let second = env.json("name: two\nsteps: [{id: s, command: exit 3}]\n", &[]).json();
    let list = env.run(["runs", "--output-format", "json"]).json();
    let brief =
        |at: usize| format!("{} {} {}", list[at]["recipe_name"], list[at]["status"], list[at]["run_id"]);
    assert_eq!(brief(0), format!("\"two\" \"failed\" {}", second["run_id"]));
    assert_eq!(brief(1), format!("\"one\" \"completed\" {}", first["run_id"]));
    assert!(list[0]["started_at"].is_string() && list[0]["duration"].is_number());
    let id = first["run_id"].as_str().unwrap_or_default();
    for asked in [id, &id[..id.len() - 1]] {
        assert_eq!(
            env.run(["show", asked, "--output-format", "json"]).json(),
            first,
            "the same object that the run printed"
        );
    }
    assert_eq!(env.run(["show", "last", "--output-format", "json"]).json(), second);
    assert!(env.run(["runs"]).stdout.contains("two"));
    let logs = env.run(["logs", id]);
    assert!(logs.stdout.contains("out") && logs.stderr.contains("err"), "{}", logs.all());
    assert_eq!(env.run(["logs", id, "s"]).code, 0);
    assert_eq!(env.run(["logs", id, "nowhere"]).code, 3);
    assert_eq!(env.run(["show", "2"]).code, 3, "several runs begin like that");
    let done = env.run(["resume", id]);
    assert_eq!(done.code, 0, "{}", done.all());
    assert_eq!(env.run(["cancel", id]).code, 0);
    assert_eq!(env.run(["prune", "--keep", "1"]).code, 0);
    let left = env.run(["runs", "--output-format", "json"]).json();
    assert_eq!((left.as_array().map(Vec::len), left[0]["recipe_name"].clone()), (Some(1), json!("two")));
}

#[test]
fn the_run_folder_is_private() {
    let env = env();
    let json = env.json("name: r\nsteps: [{id: s, command: echo x}]\n", &[]).json();
    let output = env.shell(&format!(
        "find {} \\( -type d ! -perm 700 -o -type f ! -perm 600 \\) -print",
        json["run_dir"]
    ));
    assert_eq!(output.stdout, "", "{}", output.all());
}
