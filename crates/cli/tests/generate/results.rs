//! What is written and printed: files, record, commands.

use super::*;

#[test]
fn a24_the_same_spec_gives_the_same_bytes_everywhere() {
    let plain = world(SPEC);
    let other = world(SPEC)
        .file("bin/claude", "#!/bin/sh\ntouch started\n")
        .file("bin/codex", "#!/bin/sh\ntouch started\n");
    other.shell("chmod +x bin/*");
    let path = format!("{}:{}", other.path("bin").display(), std::env::var("PATH").unwrap());
    let other = other.env("PATH", &path);
    let (one, first) = json(&plain, &["SPEC.md"]);
    let (two, second) = json(&other, &["SPEC.md"]);
    assert_eq!((one.code, two.code), (0, 0), "{}{}", one.all(), two.all());
    let made = |env: &TestEnv| -> Vec<(String, Vec<u8>)> {
        files(env).into_iter().filter(|(path, _)| path.starts_with("./recipes/")).collect()
    };
    assert_eq!(made(&plain), made(&other));
    assert_eq!(made(&plain).len(), 3);
    assert!(!other.path("started").exists(), "no agent was started");
    // installed programs change notes only
    assert_ne!(first["needs"], second["needs"]);
    assert_eq!(first["id"], second["id"]);
}

#[test]
fn a25_the_output_says_that_nothing_ran_and_how_to_continue() {
    let env = world(SPEC);
    let output = env.run(["generate", "SPEC.md"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let spec = author::digest::sha256(SPEC.as_bytes());
    for words in [
        "Generated recipes/add-a-json-flag.yaml. Generating is the default: nothing was executed.",
        "add-a-json-flag@",
        &spec,
        "pipeline",
        "proof     ready",
        "Run it:   recipe-runner-rs recipes/add-a-json-flag.yaml",
        "Test it:  recipe-runner-rs test recipes/add-a-json-flag.test.yaml",
    ] {
        assert!(output.stdout.contains(words), "{words}: {}", output.all());
    }
    let runs = env.run(["runs", "--output-format", "json"]).json();
    assert_eq!(runs.as_array().map(Vec::len), Some(0), "{runs}");
    let (_, made) = json(&env, &["SPEC.md", "--force"]);
    assert!(made.get("execution").is_none() && made.get("executed").is_none(), "{made}");
    let recipe = std::fs::read(env.path("recipes/add-a-json-flag.yaml")).unwrap();
    let id = format!("add-a-json-flag@{}", &author::digest::sha256(&recipe)[..12]);
    assert_eq!(made["id"], id);
    // the printed commands work
    assert_eq!(env.run(["validate", "recipes/add-a-json-flag.yaml", "--strict"]).code, 0);
    let dry = env.run(["recipes/add-a-json-flag.yaml", "--dry-run"]);
    assert_eq!(dry.code, 0, "{}", dry.all());
}

#[test]
fn a42_the_record_has_the_digests_of_everything_that_was_read() {
    let env = world(SPEC).file("AGENTS.md", "rules\n").file("CONTRIBUTING.md", "more rules\n");
    assert_eq!(json(&env, &["SPEC.md"]).0.code, 0);
    let record = record(&env, "add-a-json-flag");
    let digest = |path: &str| author::digest::sha256(&std::fs::read(env.path(path)).unwrap());
    assert_eq!(
        (&record["spec"]["path"], &record["spec"]["sha256"]),
        (&"SPEC.md".into(), &digest("SPEC.md").into())
    );
    let rules: Vec<(&str, String)> = record["rules"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["path"].as_str().unwrap(), one["sha256"].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(rules, [("AGENTS.md", digest("AGENTS.md")), ("CONTRIBUTING.md", digest("CONTRIBUTING.md"))]);
    assert!(
        record["read"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["path"] == "Cargo.toml" && one["sha256"] == digest("Cargo.toml"))
    );
    for key in [
        "pattern",
        "targets",
        "skills",
        "tools",
        "clarifications",
        "assumptions",
        "proof",
        "criteria",
        "warnings",
    ] {
        assert!(record.get(key).is_some(), "{key}");
    }
    for key in ["name", "reason", "signals", "rejected"] {
        assert!(record["pattern"].get(key).is_some(), "{key}");
    }
    let text = record.to_string();
    assert!(!text.contains(env.dir().to_str().unwrap()), "no path of this machine");
}

#[test]
fn a50_files_are_placed_by_title_and_never_overwritten() {
    let env = world(SPEC);
    assert_eq!(json(&env, &["SPEC.md"]).0.code, 0);
    let before = files(&env);
    let (output, refused) = json(&env, &["SPEC.md"]);
    assert_eq!((output.code, refused["stage"].as_str()), (7, Some("generate")), "{}", output.all());
    let text = env.run(["generate", "SPEC.md"]).stderr;
    assert!(text.contains("--force") && text.contains("--name add-a-json-flag-2"), "{text}");
    assert_eq!(files(&env), before, "nothing changed");
    assert_eq!(json(&env, &["SPEC.md", "--name", "add-a-json-flag-2"]).0.code, 0);
    let (_, made) = json(&env, &["SPEC.md", "--out", "flows/mine.yaml"]);
    assert_eq!(
        made["files"],
        serde_json::json!(["flows/mine.yaml", "flows/mine.test.yaml", "flows/mine.generation.json"])
    );
    for wrong in [["--name", "../x"], ["--name", "a b"], ["--out", "x.json"]] {
        assert_eq!(env.run(["generate", "SPEC.md"].iter().chain(&wrong)).code, 4, "{wrong:?}");
    }
}

#[test]
fn a48_a_missing_program_stops_the_run_before_its_first_step() {
    let env = world(&format!("{SPEC}\nUse Codex to implement.\n"));
    env.write("bin/claude", "#!/bin/sh\ntouch started\n");
    env.shell("chmod +x bin/*; git init -q; git add -A; git -c user.name=a -c user.email=a@b commit -qm a");
    let (output, made) = json(&env, &["SPEC.md"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(
        made["needs"]["programs"]
            .as_array()
            .unwrap()
            .contains(&serde_json::json!({"program": "codex", "installed": false}))
    );
    let path = format!("{}:/usr/bin:/bin", env.path("bin").display());
    let run = env.env("PATH", &path).run(["recipes/add-a-json-flag.yaml", "--output-format", "json"]);
    assert_eq!(run.code, 5, "{}", run.all());
}
