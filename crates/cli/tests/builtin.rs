//! The built-in recipes: listed, valid, and tested with a scripted agent.

use testkit::{Output, TestEnv};

const NAMES: [&str; 14] = [
    "cascade-workflow",
    "consensus-workflow",
    "debate-workflow",
    "default-workflow",
    "develop-cycle",
    "investigation-workflow",
    "n-version-workflow",
    "orchestrator-round",
    "parallel-workstreams",
    "qa-workflow",
    "quality-audit-cycle",
    "smart-orchestrator",
    "verification-workflow",
    "worktree-setup",
];

/// A repository with one commit, and an agent that is this shell script: `$prompt` is what it was asked, and
/// `$call` how often it has been asked.
fn env(agent: &str) -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
    let script = format!(
        "#!/bin/bash\nprompt=$(cat)\necho x >> \"$0.calls\"\ncall=$(grep -c x \"$0.calls\")\n{agent}\n"
    );
    env.write("~/agent", script);
    let config =
        format!("agent: test\nagents:\n  - name: test\n    command: {}\n", env.path("~/agent").display());
    env.write("~/.config/recipe-runner/config.yaml", config);
    let made = env.shell(
        "chmod +x ~/agent && git init -q . && echo one > file && git add . && \
         git -c user.name=t -c user.email=t@example.com commit -qm one",
    );
    assert_eq!(made.code, 0, "{}", made.all());
    env
}

fn calls(env: &TestEnv) -> usize {
    std::fs::read_to_string(env.path("~/agent.calls")).unwrap_or_default().lines().count()
}

/// Runs a recipe with these values and checks its exit code.
fn check(env: &TestEnv, recipe: &str, values: &[&str], code: i32) -> Output {
    let values = values.iter().flat_map(|value| ["--set", value]);
    let output = env.run([recipe].into_iter().chain(values));
    assert_eq!(output.code, code, "{recipe}\n{}", output.all());
    output
}

#[test]
fn they_are_listed_and_clean() {
    let env = env("");
    let list = env.run(["list"]);
    for name in NAMES {
        assert!(list.stdout.contains(&format!("built-in:{name}")), "{}", list.all());
        let valid = env.run(["validate", "--strict", name]);
        assert_eq!(valid.code, 0, "{}", valid.all());
    }
}

#[test]
fn outside_a_work_tree_files_are_found_and_no_agent_is_paid_for_nothing() {
    let env = env("echo done");
    assert_eq!(env.shell("rm -rf .git").code, 0);
    let output = check(&env, "verification-workflow", &["task_description=x", "verify_command=true"], 1);
    assert!(output.stderr.contains("run this inside a git work tree"), "{}", output.all());
    assert_eq!(calls(&env), 0);
    let output = env.run(["investigation-workflow", "--set", "question=why", "--output-format", "json"]);
    assert_eq!(output.value("files"), "./file", "{}", output.all());
}

#[test]
fn without_their_inputs_they_do_not_start() {
    // an empty list of tasks is done at once
    for name in NAMES.into_iter().filter(|name| *name != "parallel-workstreams") {
        let output = check(&env(""), name, &[], 5);
        assert!(
            output.stdout.contains("has no value") || output.stderr.contains("has no value"),
            "{}",
            output.all()
        );
    }
}

#[test]
fn a_recipe_of_the_same_name_comes_first() {
    let env = env("")
        .file(".claude/recipes/mine.yaml", "name: qa-workflow\nsteps: [{id: a, command: echo mine}]\n");
    assert!(check(&env, "qa-workflow", &[], 0).stdout.contains("mine"));
}

#[test]
fn a_question_is_answered() {
    let env = env("echo \"answer to: $(grep Where <<<\"$prompt\")\"");
    let output = check(&env, "qa-workflow", &["question=Where is it?"], 0);
    assert!(output.stdout.contains("answer to: Where is it?"), "{}", output.all());
    assert_eq!(calls(&env), 1);
}

#[test]
fn a_small_change_is_verified() {
    let values = ["task_description=Say two", "verify_command=grep -q two file"];
    check(&env("echo two > file; echo done"), "verification-workflow", &values, 0);
    check(&env("git rm -q --cached file; echo done"), "verification-workflow", &values, 1);
    let idle = check(&env("echo done"), "verification-workflow", &values, 1);
    assert!(idle.stderr.contains("changed nothing"), "{}", idle.all());
}

#[test]
fn an_investigation_has_three_sides() {
    let agent = |place: &str| {
        format!(
            "case $prompt in *'Three investigators'*) echo '{{\"answer\": \"'$(grep -c '^side' <<<\"$prompt\")'\", \
             \"findings\": [{{\"claim\": \"c\", \"evidence\": [{{\"kind\": \"path\", \"ref\": \"{place}\"}}]}}]}}' ;; \
             *) echo side ;; esac"
        )
    };
    let known = env(&agent("file:1"));
    let output = check(&known, "investigation-workflow", &["question=Why?"], 0);
    assert!(output.stdout.lines().any(|line| line == "3"), "{}", output.all());
    assert!(output.stdout.contains("- c (file:1)"), "{}", output.all());
    assert_eq!(calls(&known), 4);
    let invented = check(&env(&agent("nowhere.rs:1")), "investigation-workflow", &["question=Why?"], 1);
    assert!(invented.all().contains("INCONCLUSIVE"), "{}", invented.all());
}

#[test]
fn an_audit_ends_after_two_rounds() {
    let values = ["check_command=grep -q good file"];
    for (agent, code, expected) in [
        ("echo good > file; echo done", 0, 1),
        ("if [ $call -ge 2 ]; then echo good > file; fi; echo tried", 0, 2),
        ("echo tried", 1, 2),
    ] {
        let env = env(agent);
        check(&env, "quality-audit-cycle", &values, code);
        assert_eq!(calls(&env), expected, "{agent}");
    }
    let clean = env("");
    check(&clean, "quality-audit-cycle", &["check_command=true"], 0);
    assert_eq!(calls(&clean), 0);
}

#[test]
fn two_of_three_decide() {
    let vote = |correct: &str, simple: &str, safe: &str| {
        let answer = |vote: &str| format!("echo '{{\"vote\": \"{vote}\", \"reason\": \"r\"}}'");
        let (a, b, c) = (answer(correct), answer(simple), answer(safe));
        format!("case $prompt in *correctness*) {a} ;; *maintain*) {b} ;; *) {c} ;; esac")
    };
    for (agent, code, part) in [
        (vote("yes", "no", "Yes"), 0, "Decision: yes"),
        (vote("no", "no", "no"), 0, "Decision: no"),
        (vote("yes", "no", "No!"), 1, ""),
        (vote("maybe", "maybe", "yes"), 1, "\"maybe\" is not one of the choices: yes, no"),
    ] {
        let output = check(&env(&agent), "consensus-workflow", &["question=Ship?"], code);
        assert!(output.all().contains(part), "{}", output.all());
    }
}

#[test]
fn a_debate_ends_with_a_verdict() {
    let agent = "case $prompt in *Judge*) echo '{\"verdict\": \"against\", \"reason\": \"too dear\"}' ;; *) echo point ;; esac";
    let env = env(agent);
    let output = check(&env, "debate-workflow", &["question=Split?"], 0);
    assert!(output.stdout.contains("Verdict: against\n\ntoo dear"), "{}", output.all());
    assert_eq!(calls(&env), 5);
}

#[test]
fn the_best_version_that_passes_is_chosen() {
    let agent = "case $prompt in
      *'Choose the one'*) echo '{\"solution\": 3, \"reason\": \"short\"}' ;;
      *) if [ \"$(basename \"$PWD\")\" != 2 ]; then echo good > file; fi; echo done ;;
    esac";
    let env = env(agent);
    let values = ["task_description=Be good", "verify_command=grep -q good file"];
    let output = check(&env, "n-version-workflow", &values, 0);
    assert!(output.stdout.contains("Solution 3: short"), "{}", output.all());
    assert_eq!(
        std::fs::read_to_string(env.path("file")).unwrap(),
        "one\n",
        "the user's own files are not touched"
    );
    let apply = output.stdout.lines().find_map(|line| line.strip_prefix("Take it:   ")).unwrap();
    assert_eq!(env.shell(apply).code, 0);
    assert_eq!(std::fs::read_to_string(env.path("file")).unwrap(), "good\n");
}

#[test]
fn no_version_and_a_wrong_choice_are_failures() {
    let values = ["task_description=Be good", "verify_command=grep -q good file"];
    let output = check(&env("echo done"), "n-version-workflow", &values, 1);
    assert!(output.stderr.contains("no solution passes"), "{}", output.all());
    let agent = "case $prompt in *'Choose the one'*) echo '{\"solution\": 9, \"reason\": \"\"}' ;; *) echo good > file; echo done ;; esac";
    check(&env(agent), "n-version-workflow", &values, 1);
}

#[test]
fn a_cascade_goes_only_as_far_as_it_must() {
    let values = ["task_description=Be good", "verify_command=grep good file"];
    for (good_at, code, level) in [(1, 0, "primary"), (2, 0, "secondary"), (3, 0, "tertiary"), (4, 1, "")] {
        let env = env(&format!("if [ $call -ge {good_at} ]; then echo good > file; fi; echo tried"));
        let output = check(&env, "cascade-workflow", &values, code);
        assert!(output.stdout.lines().any(|line| line == level) || code == 1, "{}", output.all());
        assert_eq!(calls(&env), good_at.min(3));
    }
}

#[test]
fn every_built_in_recipe_has_a_page_with_its_inputs() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
    let found = env.run(["list", "--inputs", "--output-format", "json"]).json();
    let docs = testkit::project::root().join("docs/src");
    let index = std::fs::read_to_string(docs.join("built-in.md")).unwrap();
    let built_in: Vec<_> =
        found.as_array().unwrap().iter().filter(|found| found["built_in"] == true).collect();
    assert!(built_in.len() > 5, "{found}");
    for found in built_in {
        let name = found["name"].as_str().unwrap();
        assert!(index.contains(&format!("(built-in/{name}.md)")), "{name}");
        let page = std::fs::read_to_string(docs.join(format!("built-in/{name}.md"))).unwrap();
        for input in found["inputs"].as_array().unwrap() {
            let input = input["name"].as_str().unwrap();
            assert!(page.contains(&format!("| `{input}` |")), "{name}: {input}");
        }
    }
}
