//! Killed anywhere, resumed: everything that was done stays done, and everything else is done once.

mod cancel;
mod edits;

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
