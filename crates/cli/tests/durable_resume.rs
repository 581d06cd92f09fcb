//! Killed anywhere, resumed: everything that was done stays done, and everything else is done once.

use std::{collections::HashMap, time::Duration};

use testkit::{Output, TestEnv, is_alive};

fn env(recipe: &str) -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs")).file("r.yaml", recipe)
}

fn resume(env: &TestEnv, more: &[&str]) -> Output {
    env.run(["resume", "last", "--output-format", "json"].iter().chain(more))
}

/// Steps that the newest run's journal calls finished.
fn completed(env: &TestEnv) -> Vec<String> {
    env.records()
        .into_iter()
        .filter(|record| {
            record.to_string().contains("\"completed\"") && record.to_string().contains("step_finished")
        })
        .filter_map(|record| find(&record, "path"))
        .collect()
}

fn find(value: &serde_json::Value, name: &str) -> Option<String> {
    match value {
        serde_json::Value::Object(map) => map
            .get(name)
            .and_then(|found| found.as_str().map(str::to_owned))
            .or_else(|| map.values().find_map(|below| find(below, name))),
        _ => None,
    }
}

/// How often a step wrote its name into the ledger.
fn ledger_lines(env: &TestEnv, path: &str) -> usize {
    let line = path.rsplit('/').next().unwrap_or(path);
    env.read("ledger").lines().filter(|other| *other == line).count()
}

/// Kills the runner after each of the delays, resumes to the end, and compares with an undisturbed run.
fn check_kills(recipe: &str, more: &[(&str, &str)], delays: impl Iterator<Item = u64>, kills: u32) {
    let world = || more.iter().fold(env(recipe), |env, (name, text)| env.file(name, text));
    let clean = world().run(["r.yaml", "--output-format", "json"]);
    assert_eq!(clean.code, 0, "{}", clean.all());
    let expected = clean.json()["context"].clone();
    for delay in delays {
        let env = world();
        let started = env.spawn(["r.yaml", "--output-format", "json"]);
        std::thread::sleep(Duration::from_millis(delay));
        started.kill();
        if env.run_ids().is_empty() {
            continue;
        }
        let mut done: HashMap<String, usize> = HashMap::new();
        for _ in 1..kills {
            for path in completed(&env) {
                let lines = ledger_lines(&env, &path);
                done.entry(path).or_insert(lines);
            }
            let started = env.spawn(["resume", "last"]);
            std::thread::sleep(Duration::from_millis(delay / 2));
            started.kill();
        }
        let output = resume(&env, &[]);
        assert_eq!(output.code, 0, "{delay}: {}", output.all());
        let result = output.json();
        assert_eq!(result["status"], "completed", "{delay}: {}", output.all());
        assert_eq!(result["context"], expected, "{delay}");
        let mut times: HashMap<String, usize> = HashMap::new();
        completed(&env).into_iter().for_each(|path| *times.entry(path).or_default() += 1);
        assert!(times.values().all(|times| *times == 1), "{delay}: {times:?}");
        // a step may have been interrupted after its line in the ledger; once it has completed, no line is added
        for (path, lines) in &done {
            assert_eq!(ledger_lines(&env, path), *lines, "{delay}: `{path}` ran again");
        }
        assert_eq!(env.survivors(), Vec::<String>::new(), "{delay}");
    }
}

#[test]
fn twelve_steps_killed_at_many_moments() {
    let mut recipe = "name: r\nsteps:\n".to_owned();
    for n in 1..=12 {
        let before = n - 1;
        recipe.push_str(&format!(
            "  - id: s{n}\n    command: echo s{n} >>ledger; echo 'v{n} {{{{s{before}}}}}'\n    output: s{n}\n"
        ));
    }
    let delays = (0..24).map(|n| 8 + (n * 37) % 190);
    check_kills(&recipe.replace("{{s0}}", ""), &[], delays, 1);
}

#[test]
fn groups_sub_recipes_retries_and_hooks_killed_at_many_moments() {
    let recipe = "name: r
hooks:
  post_step: sleep 0.01
steps:
  - id: one
    command: echo one >>ledger; echo 1
  - id: left
    parallel_group: g
    command: echo left >>ledger; sleep 0.02; echo l{{one}}
  - id: right
    parallel_group: g
    command: sleep 0.08; echo right >>ledger; echo r{{one}}
  - id: inner
    recipe: child
    context: {given: '{{left}}{{right}}'}
  - id: again
    command: |
      echo x >>tries
      test $(wc -l <tries) -ge 3
      echo again
    retry: {max_attempts: 9, delay: 0.02}
  - id: end
    command: echo end >>ledger; echo '{{inner}} {{deep}} {{again}}'
";
    let child = "name: child
steps:
  - id: deep
    command: echo deep >>ledger; sleep 0.02; echo d{{given}}
  - id: deeper
    command: echo deeper >>ledger; sleep 0.02; echo dd{{deep}}
";
    let delays = (0..14).map(|n| 15 + (n * 53) % 400);
    check_kills(recipe, &[("child.yaml", child)], delays.clone(), 1);
    check_kills(recipe, &[("child.yaml", child)], delays.take(7), 3);
}

#[test]
fn a_finished_member_of_a_group_is_safe_while_others_run() {
    let env = env("name: r
steps:
  - id: quick
    parallel_group: g
    command: echo quick >>ledger; echo q
  - id: slow
    parallel_group: g
    command: |
      sleep 0.4; echo up >up; [ -e go ] || sleep 30; echo slow
  - id: end
    command: echo '{{quick}}{{slow}}'
");
    let started = env.spawn(["r.yaml"]);
    env.wait_for("up");
    started.kill();
    env.write("go", "");
    let output = resume(&env, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("ledger"), "quick\n");
    assert_eq!(output.json()["context"]["end"], "qslow");
}

/// A recipe whose second step is up when the runner is killed, together with its guardian.
fn killed(more: &str, command: &str) -> TestEnv {
    let env = env(&format!(
        "name: r
steps:
  - id: a
    command: echo a >>ledger; echo va
  - id: b
    command: |
      echo b >>ledger
      if [ ! -e up ]; then echo up >up; {command}; fi
      echo vb
{more}  - id: c
    command: echo c >>ledger; echo '{{{{a}}}}{{{{b}}}}'
"
    ));
    let started = env.spawn(["r.yaml"]);
    env.wait_for("up");
    std::thread::sleep(Duration::from_millis(100));
    for guardian in env.guardians() {
        drop(env.shell(&format!("kill -9 {guardian}")));
    }
    started.kill();
    env
}

#[test]
fn the_orphan_of_a_killed_run_is_ended_before_its_step_runs_again() {
    for command in [
        "echo $$ >pid; sleep 30",
        "setsid sleep 30 & echo $! >pid; wait",
        "(setsid bash -c 'echo $$ >pid; sleep 30; true' &); sleep 30",
        "exec env -i bash -c 'echo $$ >pid; sleep 30; true'",
    ] {
        let env = killed("", command);
        let pid = env.wait_for("pid");
        assert!(is_alive(&pid), "{command}");
        let output = resume(&env, &[]);
        assert_eq!(output.code, 0, "{command}: {}", output.all());
        assert!(!is_alive(&pid), "{command}");
        assert_eq!(output.json()["context"]["c"], "vavb", "{command}");
        assert_eq!(env.read("ledger"), "a\nb\nb\nc\n", "{command}");
    }
}

#[test]
fn a_step_that_is_not_idempotent_waits_for_a_choice() {
    for (word, ledger, last) in
        [("run it again", "a\nb\nb\nc\n", "vavb"), ("leave it out", "a\nb\nc\n", "va")]
    {
        let env = killed("    idempotent: false\n", "sleep 30");
        let output = env.run(["resume", "last"]);
        assert_eq!(output.code, 6, "{}", output.all());
        let hint = output.stderr.lines().find(|line| line.contains(word)).unwrap();
        let command = hint.split_once("recipe-runner-rs ").unwrap().1.to_owned();
        let output = env.shell(&format!("$RUNNER {command} --output-format json"));
        assert_eq!(output.code, 0, "{word}: {}", output.all());
        assert_eq!(env.read("ledger"), ledger, "{word}");
        assert_eq!(output.json()["context"]["c"], last, "{word}");
    }
}

#[test]
fn the_choice_to_leave_a_step_out_is_remembered() {
    let env = env("name: r
steps:
  - id: b
    idempotent: false
    command: echo b >>ledger; echo up >up; sleep 30
  - id: c
    command: echo c >>ledger; [ -e go ]
");
    let started = env.spawn(["r.yaml"]);
    env.wait_for("up");
    started.kill();
    let shown = env.run(["show", "last", "--output-format", "json"]);
    let error = shown.step("b")["error"].as_str().unwrap_or_default().to_owned();
    assert!(error.contains("not idempotent, so a resume asks"), "{error}");
    assert_eq!(resume(&env, &["--skip-interrupted"]).code, 1);
    env.write("go", "");
    let plan = env.run(["resume", "last", "--plan"]);
    assert!(plan.stdout.contains("keep     b  (you chose to skip it)"), "{}", plan.all());
    let output = resume(&env, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("ledger"), "b\nc\nc\n");
}

#[test]
fn steps_kept_by_an_earlier_resume_stay_kept() {
    let big = "head -c 20000 /dev/zero | tr '\\0' x";
    let env = env(&format!(
        "name: r
steps:
  - id: big
    command: |
      echo big >>ledger; {big}; if [ -e slow ]; then echo up >up; sleep 30; fi
  - id: b
    command: echo b >>ledger; echo vb
  - id: c
    command: echo c >>ledger; [ -e go ] && echo '{{{{b}}}}'
"
    ));
    assert_eq!(env.run(["r.yaml"]).code, 1);
    std::fs::remove_file(env.run_dir().join("steps/big/1/value.txt")).unwrap();
    env.write("slow", "");
    let started = env.spawn(["resume", "last"]);
    env.wait_for("up");
    started.kill();
    std::fs::remove_file(env.path("slow")).unwrap();
    env.write("go", "");
    let output = resume(&env, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.json()["context"]["c"], "vb");
    assert_eq!(env.read("ledger").matches("b\n").count(), 1, "{}", env.read("ledger"));
}

#[test]
fn an_altered_value_is_noticed_and_made_again() {
    for damage in ["remove", "cut", "change"] {
        let env = env("name: r
steps:
  - id: big
    command: |
      echo big >>ledger; head -c 20000 /dev/zero | tr '\\0' x
  - id: c
    command: |
      [ -e go ] && printf %s '{{big}}' | wc -c
");
        assert_eq!(env.run(["r.yaml"]).code, 1);
        let file = env.run_dir().join("steps/big/1/value.txt");
        match damage {
            "remove" => std::fs::remove_file(&file).unwrap(),
            "cut" => std::fs::write(&file, "").unwrap(),
            _ => std::fs::write(&file, "y".repeat(20_000)).unwrap(),
        }
        env.write("go", "");
        let output = resume(&env, &[]);
        assert_eq!(output.code, 0, "{damage}: {}", output.all());
        assert_eq!(output.json()["context"]["c"], "20000", "{damage}");
        assert_eq!(env.read("ledger"), "big\nbig\n", "{damage}");
    }
}

#[test]
fn of_two_resumers_one_wins() {
    let env = killed("", "sleep 30");
    env.write("r.yaml", "gone");
    let two = [env.spawn(["resume", "last"]), env.spawn(["resume", "last"])];
    let outputs = two.map(testkit::Started::wait);
    let mut codes = outputs.each_ref().map(|output| output.code);
    codes.sort_unstable();
    let said = format!("{}{}", outputs[0].all(), outputs[1].all());
    assert!(codes == [0, 7] || said.contains("has already completed"), "{said}");
    assert_eq!(env.read("ledger"), "a\nb\nb\nc\n");
}

#[test]
fn a_run_that_is_alive_belongs_to_its_process() {
    let env = env(
        "name: r\nsteps:\n  - id: s\n    command: echo up >up; for i in $(seq 400); do [ -e go ] && break; sleep 0.05; done\n",
    );
    let started = env.spawn(["r.yaml"]);
    env.wait_for("up");
    let output = env.run(["resume", "last"]);
    assert_eq!(output.code, 7, "{}", output.all());
    assert_eq!(env.run(["runs", "--output-format", "json"]).json()[0]["status"], "running");
    let removed = env.run(["prune", "--keep", "0", "--output-format", "json"]);
    assert_eq!(removed.json()["removed"], serde_json::json!([]));
    env.write("go", "");
    assert_eq!(started.wait().code, 0);
    let output = env.run(["resume", "last"]);
    assert_eq!(output.code, 0);
    assert!(output.stdout.contains("has already completed"), "{}", output.all());
    assert_eq!(env.run(["prune", "--keep", "0"]).code, 0);
    assert!(env.run_ids().is_empty());
}

#[test]
fn cancelling() {
    let recipe = "name: r
steps:
  - id: s
    command: |
      setsid sleep 60 &
      echo up >up; sleep 60
";
    let env = env(recipe);
    let started = env.spawn(["r.yaml", "--output-format", "json"]);
    env.wait_for("up");
    let output = env.run(["cancel", "last"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.survivors(), Vec::<String>::new());
    let ended = started.wait();
    assert_eq!(ended.code, 130, "{}", ended.all());
    assert_eq!(ended.json()["status"], "cancelled");
    assert_eq!(env.run(["runs", "--output-format", "json"]).json()[0]["status"], "cancelled");
    let output = env.run(["cancel", "last"]);
    assert_eq!(output.code, 0);
    assert!(output.stdout.contains("has already ended"), "{}", output.all());
}

#[test]
fn cancelling_at_any_moment_after_the_start() {
    for delay in [0, 3, 6, 10, 15, 25, 40] {
        let env = env("name: r\nsteps:\n  - id: s\n    command: sleep 60\n");
        let started = env.spawn(["r.yaml"]);
        testkit::until("there is a run", || !env.run_ids().is_empty());
        std::thread::sleep(Duration::from_millis(delay));
        let output = env.run(["cancel", "last"]);
        assert_eq!(output.code, 0, "{delay}: {}", output.all());
        drop(started.wait());
        let listed = env.run(["runs", "--output-format", "json"]).json();
        assert_eq!(listed[0]["status"], "cancelled", "{delay}: {listed}");
        assert_eq!(env.survivors(), Vec::<String>::new(), "{delay}");
    }
}

#[test]
fn cancelling_a_killed_run_ends_its_orphans() {
    let env = killed("", "(setsid sleep 60 &); sleep 60");
    assert!(!env.survivors().is_empty());
    let output = env.run(["cancel", "last"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.survivors(), Vec::<String>::new());
    let shown = env.run(["show", "last", "--output-format", "json"]).json();
    assert_eq!(shown["status"], "cancelled");
}

#[test]
fn names_of_runs() {
    let env = env("name: r\nsteps:\n  - id: s\n    command: 'true'\n");
    for verb in ["show", "resume", "cancel", "logs"] {
        assert_eq!(env.run([verb, "last"]).code, 3, "{verb}");
        assert_eq!(env.run([verb, "nothing"]).code, 3, "{verb}");
        assert_eq!(env.run([verb, "../x"]).code, 3, "{verb}");
    }
    env.run(["r.yaml"]);
    env.run(["r.yaml"]);
    let ids = env.run_ids();
    assert_eq!(env.run(["show", &ids[0]]).code, 0);
    assert_eq!(env.run(["show", &ids[0][..ids[0].len() - 1]]).code, 0);
    let output = env.run(["show", "20"]);
    assert_eq!(output.code, 3);
    assert!(output.stderr.contains("`20` matches 2 runs"), "{}", output.all());
    let shown = env.run(["show", "last", "--output-format", "json"]).json();
    assert_eq!(shown["run_id"], ids[1].as_str());
}

#[test]
fn a_plain_resume_uses_the_recipes_as_they_were() {
    let child = "name: child\nsteps:\n  - id: k\n    command: '[ -e go ] && echo {{a}}k'\n";
    let recipe = "name: r\nsteps:\n  - id: a\n    command: echo a\n  - id: n\n    recipe: child\n";
    for change in ["remove", "change"] {
        let env = env(recipe).file("child.yaml", child);
        assert_eq!(env.run(["r.yaml"]).code, 1);
        for file in ["r.yaml", "child.yaml"] {
            match change {
                "remove" => std::fs::remove_file(env.path(file)).unwrap(),
                _ => env.write(file, "not: [a recipe"),
            }
        }
        env.write("go", "");
        let output = resume(&env, &[]);
        assert_eq!(output.code, 0, "{change}: {}", output.all());
        assert_eq!(output.json()["context"]["n"], "ak", "{change}");
    }
}

/// A recipe found by name only in a resume is there for the next resume too.
#[test]
fn recipes_found_later_are_kept_too() {
    let recipe = "name: r
steps:
  - id: a
    command: '[ -e go ] && echo child'
  - id: n
    recipe: '{{a}}'
  - id: c
    command: '[ -e more ] && echo {{n}}'
";
    let child = "name: child\nsteps:\n  - id: k\n    command: echo k >>ledger; echo k\n";
    let env = env(recipe).file("child.yaml", child);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    env.write("go", "");
    assert_eq!(resume(&env, &[]).code, 1);
    std::fs::remove_file(env.path("child.yaml")).unwrap();
    env.write("more", "");
    let output = resume(&env, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(output.json()["context"]["c"], "k");
    assert_eq!(env.read("ledger"), "k\n");
}

/// Runs, edits, resumes; the ledger shows which steps ran after the edit.
fn check_edit(edits: &[(&str, &str, &str)], expected: &str) {
    let recipe = "name: r
context: {mode: old}
steps:
  - id: a
    command: echo a >>ledger; echo va
  - id: uses_a
    command: echo uses_a >>ledger; echo '{{a}}'
  - id: alone
    command: echo alone >>ledger; echo x
  - id: n
    recipe: child
  - id: uses_n
    command: echo uses_n >>ledger; echo '{{k1}}'
  - id: moded
    command: echo moded >>ledger; echo '{{mode}}'
  - id: bad
    command: echo bad >>ledger; false
  - id: end
    command: echo end >>ledger
    depends_on: [bad]
";
    let child = "name: child
steps:
  - id: k1
    command: echo k1 >>ledger; echo vk1
  - id: k2
    command: echo k2 >>ledger; echo vk2
";
    let env = env(recipe).file("child.yaml", child);
    assert_eq!(env.run(["r.yaml"]).code, 1);
    env.write("ledger", "");
    let mut edits = edits.to_vec();
    edits.push(("r.yaml", "ledger; false", "ledger; true"));
    for (file, from, to) in edits {
        let text = env.read(file);
        assert!(text.contains(from), "{from}");
        env.write(file, text.replace(from, to));
    }
    let output = env.run(["resume", "last", "--recipe", "r.yaml", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("ledger").replace('\n', " ").trim(), expected, "{}", output.all());
}

#[test]
fn an_edited_recipe_reruns_changed_steps_and_their_dependents() {
    check_edit(&[], "bad end");
    check_edit(&[("r.yaml", "echo va", "echo VA")], "a uses_a alone k1 k2 uses_n moded bad end");
    check_edit(&[("r.yaml", "echo x", "echo y")], "alone k1 k2 uses_n moded bad end");
    check_edit(&[("child.yaml", "echo vk1", "echo VK1")], "k1 k2 uses_n moded bad end");
    check_edit(&[("child.yaml", "echo vk2", "echo VK2")], "k2 uses_n moded bad end");
    check_edit(&[("r.yaml", "mode: old", "mode: new")], "moded bad end");
    check_edit(
        &[("r.yaml", "  - id: alone\n", "  - id: new\n    command: echo new >>ledger\n  - id: alone\n")],
        "new alone k1 k2 uses_n moded bad end",
    );
    check_edit(
        &[("child.yaml", "  - id: k2\n", "  - id: k3\n    command: echo k3 >>ledger\n  - id: k2\n")],
        "k3 k2 uses_n moded bad end",
    );
}

#[test]
fn steps_after_a_failure_are_pending_again() {
    let env = env("name: r
steps:
  - id: a
    command: echo a >>ledger; [ -e go ]
    continue_on_error: true
  - id: b
    command: echo b >>ledger; [ -e go ]
  - id: c
    command: echo c >>ledger
    depends_on: [b]
");
    assert_eq!(env.run(["r.yaml"]).code, 1);
    env.write("go", "");
    let output = resume(&env, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("ledger"), "a\nb\nb\nc\n");
    assert_eq!(output.json()["step_results"][2]["status"], "completed");
}
