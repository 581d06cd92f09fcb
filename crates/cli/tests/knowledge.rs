//! What a user adds to the built-in knowledge changes diagnoses, and mistakes in it are reported with their place.

use testkit::TestEnv;

const RECIPE: &str = "
name: fetch
steps:
  - id: fetch
    command: |
      echo 'portal: Badge expired on Monday' >&2
      exit 3
";

const BADGE: &str = "
knowledge:
  phrases:
    - class: environment.credentials
      what: the badge has expired
      any: [badge expired]
";

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

#[test]
fn a_phrase_of_the_user_explains_a_failure() {
    let env = env();
    assert_eq!(env.json(RECIPE, &[]).json()["diagnosis"]["class"], "unknown");
    env.write(".recipe-runner.yaml", BADGE);
    let result = env.json(RECIPE, &[]).json();
    assert_eq!(result["diagnosis"]["class"], "environment.credentials");
    assert_eq!(result["diagnosis"]["signals"][0]["what"], "the badge has expired");
    let run = result["run_id"].as_str().expect("a run id");
    let shown = env.run(["show", run, "--output-format", "json"]);
    assert_eq!(shown.json()["diagnosis"]["class"], "environment.credentials", "{}", shown.all());
}

#[test]
fn an_exit_code_that_the_user_explains_names_the_cause() {
    let env = env();
    let recipe = "
name: tunnel
steps:
  - id: open
    command: |
      printf '#!/bin/sh\\nexit 9\\n' > shipit
      chmod +x shipit
      ./shipit
";
    let knowledge = "
knowledge:
  programs:
    shipit: {exits: {9: {class: environment.network, what: the tunnel is closed}}}
";
    env.write(".recipe-runner.yaml", knowledge);
    let result = env.json(recipe, &[]).json();
    assert_eq!(result["diagnosis"]["class"], "environment.network", "{}", result["diagnosis"]);
}

#[test]
fn a_mistake_is_reported_with_its_line() {
    for (text, expected) in [
        (
            "knowledge:\n  programs:\n    shipit: {efects: always}\n",
            "line 3: unknown field `efects` in a program: did you mean `effects`?",
        ),
        (
            "knowledge:\n  programs:\n    shipit:\n      effects: [<where>]\n",
            "line 4: `effects`: `<where>` is not a known placeholder",
        ),
        (
            "knowledge:\n  phrases:\n    - any: [a]\n",
            "line 3: `knowledge`: phrase 1 of `phrases`: a phrase needs a `class`",
        ),
        (
            "knowledge:\n  phrases:\n    - {class: structure, any: [a]}\n\n    - class: structure\n      any: [A]\n",
            "line 5: `knowledge`: phrase 2 of `phrases`: phrases are lower case",
        ),
    ] {
        let env = env();
        env.write(".recipe-runner.yaml", text);
        let output = env.json(RECIPE, &[]);
        assert_eq!(output.code, 4, "{}", output.all());
        assert!(output.stderr.contains(expected), "{}", output.all());
    }
}

#[test]
fn a_resume_knows_the_effects_of_the_user() {
    let recipe = "name: r\nsteps:\n  - {id: up, command: ./shipit}\n  - {id: b, command: test -e ready}\n";
    for (knowledge, action) in
        [("", "rerun"), ("knowledge:\n  programs:\n    shipit: {effects: always}\n", "keep")]
    {
        let env = env();
        env.write("shipit", "#!/bin/sh\nsleep 60 > /dev/null 2>&1 &\n");
        assert_eq!(env.shell("chmod +x shipit").code, 0);
        env.write(".recipe-runner.yaml", knowledge);
        assert_eq!(env.json(recipe, &[]).code, 1);
        let plan = env.run(["resume", "last", "--plan", "--output-format", "json"]);
        assert_eq!(plan.json()["steps"][0]["action"], action, "{}", plan.all());
    }
}

#[test]
fn a_command_that_the_user_knows_to_succeed_checks_nothing() {
    let env = env().agent("claude", "result done");
    let recipe =
        "name: r\nsteps:\n  - {id: write, prompt: x}\n  - {id: tell, command: 'announce \"{{write}}\"'}\n";
    let unchecked = |env: &TestEnv| {
        drop(env.json(recipe, &[]));
        let health = env.run(["health", "--output-format", "json"]).json();
        let findings = health["recipes"][0]["findings"].as_array().cloned().unwrap_or_default();
        findings.iter().any(|found| found["kind"] == "unchecked_step")
    };
    assert!(!unchecked(&env), "an unknown command may be a check");
    env.write(".recipe-runner.yaml", "knowledge:\n  programs:\n    announce: {is: [constant]}\n");
    assert!(unchecked(&env));
}
