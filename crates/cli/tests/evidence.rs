//! The evidence of a run: started processes, inputs, outputs, and commands that work.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its world has failed")]

use serde_json::{Value as Json, json};
use testkit::{Output, TestEnv, until};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

fn show(env: &TestEnv) -> Json {
    env.run(["show", "last", "--evidence", "--output-format", "json"]).json()
}

fn names(process: &Json) -> Vec<String> {
    let names = process["env_names"].as_array().cloned().unwrap_or_default();
    names.iter().filter_map(Json::as_str).map(str::to_owned).collect()
}

const TWO: &str = "name: two
context: {who: nobody}
steps:
  - {id: a, command: 'echo {{who}}', env: {OF_A: '1'}, output: said}
  - {id: b, command: 'echo {{said}}', env: {OF_B: '2'}}
";

#[test]
fn an_exit_code_that_counts_as_success_is_reported_unchanged() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
    let output = env.json("name: r\nsteps: [{id: s, command: exit 3, exit_codes: {3: ok}}]\n", &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.step("s")["exit_code"], 3, "{}", output.all());
    assert_eq!(output.json()["evidence"]["attempts"][0]["exit_code"], 3, "{}", output.all());
}

#[test]
fn processes_have_the_names_of_their_environment_and_no_value() {
    let env = env().env("OUTER_NAME", "outer-value-4711");
    let output = env.json(TWO, &[]);
    let spawned = show(&env)["evidence"]["spawned"].clone();
    let (a, b) = (names(&spawned[0]), names(&spawned[1]));
    for (names, own, other) in [(&a, "OF_A", "OF_B"), (&b, "OF_B", "OF_A")] {
        for name in ["PATH", "OUTER_NAME", "RECIPE_VAR_who", "RECIPE_CONTEXT_FILE", "RECIPE_RUNNER_RUN", own]
        {
            assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
        }
        assert!(!names.iter().any(|known| known == other), "{other}: {names:?}");
    }
    assert!(b.contains(&"RECIPE_VAR_said".to_owned()) && !a.contains(&"RECIPE_VAR_said".to_owned()));
    assert!(!output.stdout.contains("outer-value-4711"));
    assert_eq!(output.json()["evidence"]["spawned"], Json::Null, "only who asks gets them");
}

#[test]
fn names_stay_right_after_a_resume() {
    let recipe = "name: r\nsteps:\n  - {id: a, command: 'true', env: {OF_A: x}}\n  - {id: b, command: '[ -e ok ]', env: {OF_B: x}}\n";
    let env = env();
    assert_eq!(env.json(recipe, &[]).code, 1);
    env.write("ok", "");
    assert_eq!(env.run(["resume", "last"]).code, 0);
    let spawned = show(&env)["evidence"]["spawned"].clone();
    let last = names(&spawned[2]);
    assert!(last.contains(&"OF_B".to_owned()) && last.contains(&"PATH".to_owned()), "{spawned}");
    assert!(!last.contains(&"OF_A".to_owned()));
}

/// Input digests of the steps `a` and `b` for this value of `who`.
fn digests(recipe: &str, who: &str) -> [Json; 2] {
    let output = env().json(recipe, &["--set", &format!("who={who}")]);
    ["a", "b"].map(|step| output.step(step)["input_digest"].clone())
}

#[test]
fn the_input_digest_changes_with_the_inputs() {
    for (reads, is_read) in [
        ("command: 'echo {{who}}'", true),
        ("command: echo $WHO", true),
        ("command: echo $RECIPE_VAR_who", true),
        ("command: 'echo x', condition: 'who != \"z\"'", true),
        ("command: 'echo x', env: {X: '{{who}}'}", true),
        ("command: 'echo x', working_dir: './{{who}}/..'", true),
        ("command: echo who", false),
    ] {
        let recipe = format!(
            "name: r\ncontext: {{who: x}}\nsteps:\n  - {{id: a, command: mkdir -p one two}}\n  - {{id: b, {reads}}}\n"
        );
        let (one, two) = (digests(&recipe, "one"), digests(&recipe, "two"));
        assert_eq!(one, digests(&recipe, "one"), "{reads}");
        assert_eq!(one[0], two[0], "{reads}");
        assert_eq!(one[1] != two[1], is_read, "{reads}");
        assert_eq!(one[1].as_str().map(str::len), Some(64));
    }
}

#[test]
fn a_recipe_step_reads_the_inputs_of_its_steps() {
    let parent =
        "name: p\ncontext: {who: x}\nsteps:\n  - {id: a, command: 'true'}\n  - {id: b, recipe: child}\n";
    let digest = |who: &str| {
        let env = env().file("child.yaml", "name: child\nsteps: [{id: c, command: 'echo {{who}}'}]\n");
        let output = env.json(parent, &["--set", &format!("who={who}")]);
        (output.step("b")["input_digest"].clone(), output.step("b/c")["input_digest"].clone())
    };
    let (one, two) = (digest("one"), digest("two"));
    assert!(one.0 != two.0 && one.1 != two.1);
}

#[test]
fn steps_have_digests_of_definition_inputs_and_output() {
    let recipe = "name: r\nsteps:\n  - {id: a, command: echo same}\n  - {id: b, command: echo same}\n  - {id: api_key, command: echo secret}\n  - {id: never, command: 'true', condition: 'false'}\n";
    let output = env().json(recipe, &[]);
    let field = |step: &str, field: &str| output.step(step)[field].clone();
    assert_eq!(field("a", "output_digest"), field("b", "output_digest"));
    assert_ne!(field("a", "definition_digest"), field("never", "definition_digest"));
    assert_eq!(field("api_key", "output_digest"), Json::Null, "a secret has none");
    assert_eq!(field("never", "input_digest"), Json::Null, "it read nothing");
}

#[test]
fn declared_files_are_listed_with_size_and_digest() {
    let recipe = "name: r\nsteps:\n  - {id: a, command: 'mkdir -p out; echo x > out/b.txt; echo y > out/a.txt; echo z > c.txt', produces: ['out/*.txt', c.txt, missing.txt]}\n  - {id: b, command: 'true'}\n";
    let output = env().json(recipe, &[]);
    let produced = output.step("a")["produced"].clone();
    let files: Vec<&str> =
        produced.as_array().unwrap().iter().filter_map(|file| file["file"].as_str()).collect();
    assert_eq!(files, ["c.txt", "out/a.txt", "out/b.txt"]);
    assert_eq!((&produced[0]["bytes"], produced[0]["sha256"].as_str().map(str::len)), (&json!(2), Some(64)));
    assert_eq!(output.step("b")["produced"], Json::Null);
}

/// SHA-256 of a text.
fn digest(text: &str) -> Json {
    Json::from(recipe::digest::sha256(text.as_bytes()))
}

#[test]
fn an_empty_value_has_a_digest_too() {
    let output = env().json("name: r\nsteps: [{id: a, command: '> e', produces: [e]}]\n", &[]);
    let step = output.step("a");
    for reference in [&step["stdout"], &step["stderr"], &step["produced"][0]] {
        assert_eq!((&reference["bytes"], &reference["sha256"]), (&json!(0), &digest("")), "{step}");
    }
    let attempt = output.json()["evidence"]["attempts"][0].clone();
    assert_eq!(attempt["stderr"]["sha256"], digest(""), "{attempt}");
}

#[test]
fn links_are_listed_by_their_target() {
    let command = "mkdir o; echo x > o/f; ln -s f o/l; ln -s . o/dir; ln -s gone o/none";
    for produces in ["o/*", "o/dir, o/f, o/l, o/none"] {
        let env = env();
        let steps = format!(
            "{{id: a, command: '{command}', produces: [{produces}]}}, {{id: b, command: exit 1, reads: [{produces}]}}"
        );
        let output = env.json(&format!("name: r\nsteps: [{steps}]\n"), &[]);
        let found: Vec<(String, Json)> = output.step("a")["produced"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (one["file"].as_str().unwrap().to_owned(), one["sha256"].clone()))
            .collect();
        let wanted = [("o/dir", "."), ("o/f", "x\n"), ("o/l", "x\n"), ("o/none", "gone")];
        assert_eq!(found, wanted.map(|(file, text)| (file.to_owned(), digest(text))), "{produces}");
        let rerun =
            || env.run(["resume", "last", "--plan", "--output-format", "json"]).json()["rerun"].clone();
        assert_eq!(rerun(), json!(["b"]), "{produces}: they are as they were");
        std::fs::remove_file(env.path("o/none")).unwrap();
        assert_eq!(rerun(), json!(["a", "b"]), "{produces}: one is gone");
    }
}

#[test]
fn every_attempt_is_kept() {
    let recipe = "name: r\nsteps:\n  - {id: a, command: 'echo x >> n; [ $(wc -l < n) -ge 3 ]', retry: {max_attempts: 2, delay: 0}}\n  - {id: b, command: '[ -e ok ] || kill -9 $$'}\n";
    let env = env();
    assert_eq!(env.json(recipe, &[]).code, 1);
    assert_eq!(env.run(["resume", "last"]).code, 1);
    let result = show(&env);
    let attempts: Vec<String> = result["evidence"]["attempts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            format!(
                "{}{}:{}{}",
                one["step"].as_str().unwrap(),
                one["attempt"],
                one["exit_code"],
                one["signal"]
            )
        })
        .collect();
    assert_eq!(attempts, ["a1:1null", "a2:1null", "a3:0null", "b1:null9"]);
    assert_eq!((&result["resumes"], &result["step_results"][1]["signal"]), (&json!(1), &json!(9)));
    let resume = &result["evidence"]["resumes"][0];
    assert_eq!((&resume["by"], &resume["anchor"]), (&json!("person"), &json!("a")), "{resume}");
}

/// Runs a printed command in another directory.
fn from_elsewhere(env: &TestEnv, command: &str) -> Output {
    std::fs::create_dir_all(env.path("else where")).unwrap();
    env.shell(&format!("cd 'else where' && {}", command.replacen("recipe-runner-rs", "\"$RUNNER\"", 1)))
}

#[test]
fn the_command_that_repeats_a_run_works_from_anywhere() {
    let recipe = "name: r\ncontext: {who: x, deep: {}}\nsteps:\n  - {id: a, command: 'echo \"{{who}}\" >> said'}\n  - {id: c, recipe: child}\n  - {id: d, command: 'echo {{deep.x}} >> said', tags: [slow]}\n";
    for (what, arguments, also) in [
        ("plain", vec![], "x"),
        ("a value with spaces and quotes", vec!["--set", "who=it's a \"b\" $HOME"], "it's a \"b\" $HOME"),
        ("several lines", vec!["--set", "who=one\ntwo"], "two"),
        ("a value that begins with a dash", vec!["--set", "who=-x"], "-x"),
        ("tags", vec!["--exclude-tags", "slow"], "x"),
        ("a structure", vec!["--set", "deep={\"x\": 7}"], "7"),
        ("a file with values", vec!["--context-file", "values.json"], "from file"),
        ("options", vec!["--max-parallel", "2", "--step-timeout", "50", "--recovery", "off"], "x"),
    ] {
        let env = env()
            .file("my recipes/r.yaml", recipe)
            .file("shelf/child.yaml", "name: child\nsteps: [{id: s, command: echo child >> said}]\n")
            .file("values.json", "{\"who\": \"from file\"}")
            .file("place/x", "");
        let first = ["my recipes/r.yaml", "-R", "shelf", "-C", "place", "--output-format", "json"];
        let output = env.run(first.iter().copied().chain(arguments));
        assert_eq!(output.code, 0, "{what} {}", output.all());
        let said = std::fs::read_to_string(env.path("place/said")).unwrap();
        assert!(said.contains(also), "{what}: {said}");
        let command = output.json()["evidence"]["repro_command"].as_str().unwrap().to_owned();
        std::fs::remove_file(env.path("place/said")).unwrap();
        let again = from_elsewhere(&env, &command);
        assert_eq!(again.code, 0, "{what}: {command}\n{}", again.all());
        assert_eq!(std::fs::read_to_string(env.path("place/said")).unwrap(), said, "{what}: {command}");
    }
}

#[test]
fn a_secret_is_not_part_of_the_command_but_its_variable_is() {
    let recipe = "name: r\ncontext: {api_token: none}\nsteps: [{id: a, command: '[ \"{{api_token}}\" = hunter2hunter2 ] && touch right'}]\n";
    let env = env().env("API_TOKEN", "hunter2hunter2");
    let output = env.json(recipe, &["--set", "api_token=hunter2hunter2"]);
    assert!(!output.stdout.contains("hunter2"), "{}", output.stdout);
    let command = output.json()["evidence"]["repro_command"].as_str().unwrap().to_owned();
    std::fs::remove_file(env.path("right")).unwrap();
    assert_eq!(from_elsewhere(&env, &command).code, 0, "{command}");
    assert!(env.path("right").exists());
}

#[test]
fn commands_name_a_state_directory_of_their_own() {
    let env = env().file("r.yaml", "name: r\nsteps: [{id: 'a', command: '[ -e ok ]'}]\n");
    let output = env.run(["r.yaml", "--state-dir", "my state", "--output-format", "json"]);
    let result = output.json();
    for command in [result["resume_command"].as_str().unwrap(), &advice(&result, "logs")] {
        let state = env.path("my state");
        assert!(command.ends_with(&format!("--state-dir '{}'", state.display())), "{command}");
    }
    assert!(output.stderr.contains("logs") && !output.stderr.contains("--state-dir my"), "{}", output.stderr);
    assert_eq!(from_elsewhere(&env, &advice(&result, "logs")).code, 0);
    env.write("ok", "");
    assert_eq!(from_elsewhere(&env, result["resume_command"].as_str().unwrap()).code, 0);
}

/// The command with this verb in the advice of a result.
fn advice(result: &Json, verb: &str) -> String {
    let texts = result["advice"].as_array().cloned().unwrap_or_default();
    let wanted = format!("recipe-runner-rs {verb} ");
    let found =
        texts.iter().filter_map(Json::as_str).find_map(|text| text.find(&wanted).map(|at| &text[at..]));
    found.unwrap_or_default().to_owned()
}

#[test]
fn a_resume_finds_recipes_where_the_run_did() {
    let recipe = "name: r\ncontext: {which: child}\nsteps:\n  - {id: a, command: '[ -e ok ]'}\n  - {id: c, recipe: '{{which}}'}\n";
    let env = env()
        .file("r.yaml", recipe)
        .file("shelf/child.yaml", "name: child\nsteps: [{id: s, command: 'true'}]\n");
    let failed = env.run(["r.yaml", "-R", "shelf", "--output-format", "json"]);
    assert_eq!(failed.code, 1, "{}", failed.all());
    env.write("ok", "");
    let resumed = from_elsewhere(&env, failed.json()["resume_command"].as_str().unwrap());
    assert_eq!(resumed.code, 0, "{}", resumed.all());
}

/// Status, outcome, exit code and interruption of the run and its step `b`.
fn state(result: &Json) -> String {
    let step = &result["step_results"][1];
    format!(
        "{} {} {} / {} {} {}",
        result["status"],
        result["outcome"],
        result["exit_code"],
        step["status"],
        step["interrupted"],
        step["outcome"]
    )
    .replace('"', "")
}

#[test]
fn a_live_run_has_no_exit_code_and_a_dead_one_no_running_step() {
    let recipe =
        "name: r\nsteps:\n  - {id: a, command: 'true'}\n  - {id: b, command: 'touch begun; sleep 60'}\n";
    for (signal, after) in [
        ("KILL", "interrupted interrupted null / pending true lost"),
        ("TERM", "interrupted interrupted 143 / pending true cancelled"),
    ] {
        let env = env().file("r.yaml", recipe);
        let started = env.spawn(["r.yaml"]);
        until("the step begins", || env.path("begun").exists());
        assert_eq!(state(&show(&env)), "running running null / running null null");
        started.signal(signal);
        started.wait();
        let result = show(&env);
        assert_eq!(state(&result), after, "{signal}");
        assert_eq!(result["diagnosis"]["class"], "interrupted", "{signal}");
        let text = env.run(["show", "last"]);
        assert!(text.stdout.contains("■ b interrupted"), "{}", text.all());
        // the end of a process is unknown if its runner was killed
        let interrupted = &result["evidence"]["attempts"][1];
        assert_eq!(interrupted["finished_at"].is_null(), signal == "KILL", "{interrupted}");
        assert_eq!(env.run(["cancel", "last"]).code, 0);
    }
}

/// Every process of a run: `step purpose: last argument`.
fn started(result: &Json) -> Vec<String> {
    let spawned = result["evidence"]["spawned"].as_array().cloned().unwrap_or_default();
    let line = |process: &Json| {
        let argument = process["argv"].as_array().and_then(|argv| argv.last()).and_then(Json::as_str);
        assert!(process["cwd"].as_str().is_some_and(|cwd| cwd.starts_with('/')), "{process}");
        assert!(names(process).contains(&"RECIPE_RUNNER_RUN".to_owned()), "{process}");
        let purpose = process["purpose"].as_str().unwrap_or("-");
        format!("{} {purpose}: {}", process["step"].as_str().unwrap(), argument.unwrap_or_default())
    };
    spawned.iter().map(line).collect()
}

#[test]
fn hooks_are_among_the_processes_that_were_started() {
    let hooks = "hooks: {pre_step: echo before, post_step: echo after, on_error: echo wrong}";
    let env = env();
    let recipe =
        format!("name: r\n{hooks}\nsteps: [{{id: a, command: echo a}}, {{id: b, command: exit 3}}]\n");
    assert_eq!(env.json(&recipe, &[]).code, 1);
    let expected = [
        "a pre_step: echo before",
        "a -: echo a",
        "a post_step: echo after",
        "b pre_step: echo before",
        "b -: exit 3",
        "b on_error: echo wrong",
    ];
    assert_eq!(started(&show(&env)), expected);
}

#[test]
fn a_failed_hook_is_kept_and_always_reported() {
    let env = env();
    let recipe = "name: r\nhooks: {on_error: no-such-pager now}\nsteps: [{id: s, command: exit 3}]\n";
    let output = env.json(recipe, &["--quiet"]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert!(output.stderr.contains("warning: hook on_error failed: exit code 127"), "{}", output.all());
    let notes = output.json()["evidence"]["notes"].clone();
    assert_eq!((notes.as_array().map(Vec::len), &notes[0]["step"]), (Some(1), &json!("s")), "{notes}");
    assert!(notes[0]["message"].to_string().contains("hook on_error failed: exit code 127"), "{notes}");
    assert_eq!(env.run(["show", "last", "--output-format", "json"]).json()["evidence"]["notes"], notes);
    let shown = env.run(["show", "last"]).stdout;
    assert!(shown.contains("\nnotes\n  s: warning: hook on_error failed: exit code 127"), "{shown}");
}

#[test]
fn the_repair_agent_is_among_the_processes_that_were_started() {
    let repaired = "name: r\nsteps: [{id: a, command: git version}]\n";
    let env =
        TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), &format!("cat <<'EOF'\n{repaired}EOF"))
            .file("r.yaml", repaired.replace("version", "verzion"));
    let output = env.run(["r.yaml", "--auto-fix", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let lines = started(&show(&env));
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[1].starts_with("repair repair: "), "{lines:?}");
    assert_eq!((&*lines[0], &*lines[2]), ("a -: git verzion", "a -: git version"));
}
