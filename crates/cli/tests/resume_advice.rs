//! The messages of a resume: kept steps, re-run steps, and the choices.

use testkit::TestEnv;

const CHECKED: &str = "\
name: checked
steps:
  - {id: first, command: echo first}
  - {id: write, prompt: Write something good.}
  - {id: check, command: 'test {{write}} = good'}
";

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// A world whose agent counts how often it is asked.
fn with_agent() -> TestEnv {
    let env = env()
        .file("checked.yaml", CHECKED)
        .file(".recipe-runner.yaml", "agent: mine\nagents: [{name: mine, command: ./agent.sh}]");
    env.write("agent.sh", "#!/bin/bash\necho >> asked\ncat answer\n");
    env.write("answer", "bad");
    assert_eq!(env.shell("chmod +x agent.sh").code, 0);
    env
}

fn asked(env: &TestEnv) -> usize {
    std::fs::read_to_string(env.path("asked")).unwrap_or_default().lines().count()
}

#[test]
fn a_resume_reports_the_kept_steps() {
    let recipe = "name: three\nsteps: [{id: a, command: 'true'}, {id: b, command: 'true'}, {id: c, command: test -e ok}]";
    let env = env().file("three.yaml", recipe);
    assert_eq!(env.run(["three.yaml"]).code, 1);
    let output = env.shell("touch ok; \"$RUNNER\" resume last");
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(
        output.stderr.contains("[recipe three] resumed: 2 of 3 steps already done\n"),
        "{}",
        output.all()
    );
}

#[test]
fn a_failed_check_offers_to_keep_the_agents_work() {
    let env = with_agent();
    let failed = env.run(["checked.yaml"]);
    assert_eq!(failed.code, 1, "{}", failed.all());
    let line = failed
        .stderr
        .lines()
        .find_map(|line| line.trim().strip_prefix("keep the agent's work: "))
        .unwrap_or_default();
    assert!(line.ends_with(" --from check"), "{}", failed.all());
    assert!(failed.stderr.contains("    (a plain resume re-runs: write)\n"), "{}", failed.all());
    let command = line.replace("recipe-runner-rs", "\"$RUNNER\"");
    assert_eq!(env.shell(&command).code, 1);
    assert_eq!(asked(&env), 1, "the answer was kept");
    env.write("answer", "good");
    let again = env.run(["resume", "last"]);
    assert_eq!((again.code, asked(&env)), (0, 2), "{}", again.all());
    assert!(again.stderr.contains("resumed: 1 of 3 steps already done; re-runs: write"), "{}", again.all());
}

#[test]
fn a_refused_question_is_not_an_error() {
    let env = with_agent().env("SHELL", "/bin/bash").env("TERM", "dumb");
    assert_eq!(env.run(["checked.yaml"]).code, 1);
    let output = env.shell("script -qec '\"$RUNNER\" resume last' /dev/null </dev/null");
    assert_eq!((output.code, asked(&env)), (6, 1), "{}", output.all());
    for text in ["This will re-run completed steps: write", "Continue? [y/N] ", "Nothing changed. "] {
        assert!(output.stdout.contains(text), "{}", output.all());
    }
    assert!(!output.stdout.contains("error"), "{}", output.all());
}

#[test]
fn no_choice_is_offered_if_no_agent_would_rerun() {
    let env = env().file("a.yaml", "name: a\nsteps: [{id: b, command: test -e nothing}]");
    let failed = env.run(["a.yaml"]);
    assert_eq!(failed.code, 1);
    assert!(!failed.stderr.contains("keep the agent's work"), "{}", failed.all());
}

#[test]
fn no_choice_is_offered_if_only_the_failed_step_would_rerun() {
    let recipe = "name: l\nsteps: [{id: b, prompt: x, repeat: {max: 2, until: \"b == 'never'\"}}]\n";
    let failed = with_agent().file("l.yaml", recipe).run(["l.yaml"]);
    assert_eq!(failed.code, 1, "{}", failed.all());
    assert!(failed.stderr.contains("until was not reached in 2 iterations"), "{}", failed.all());
    assert!(!failed.stderr.contains("keep the agent's work"), "{}", failed.all());
}

#[test]
fn no_choice_is_offered_that_asks_the_agents_of_a_loop_again() {
    let round = "name: round\nsteps:\n  - {id: write, prompt: Write something good.}\n";
    let looped = "name: looped\nsteps:\n  - id: round\n    recipe: round\n    repeat: {max: 2, until: \"write == 'good'\"}\n";
    let env = with_agent().file("round.yaml", round).file("looped.yaml", looped);
    let failed = env.run(["looped.yaml"]);
    assert_eq!((failed.code, asked(&env)), (1, 2), "{}", failed.all());
    assert!(!failed.stderr.contains("keep the agent's work"), "{}", failed.all());
}

/// Deploys, fails its check, and rolls back with this field.
fn rolled_back(undoes: &str) -> TestEnv {
    let recipe = format!(
        "name: deploy\nshell: strict\nsteps:\n  - {{id: deploy, command: echo 2 > live, effects: [deploy]}}\n  \
         - {{id: smoke, command: test -e healthy}}\n  \
         - {{id: rollback, when: failed, command: echo 1 > live{undoes}}}\n"
    );
    env().file("deploy.yaml", &recipe)
}

#[test]
fn an_undone_deployment_is_deployed_again() {
    let env = rolled_back(", undoes: [deploy]");
    assert_eq!(env.run(["deploy.yaml"]).code, 1);
    let plan = env.run(["resume", "last", "--plan"]);
    assert!(plan.stdout.contains("re-run   deploy  (`rollback` undid it)\n"), "{}", plan.all());
    env.write("healthy", "");
    let resumed = env.run(["resume", "last"]);
    assert_eq!((resumed.code, env.read("live").as_str()), (0, "2\n"), "{}", resumed.all());
}

#[test]
fn a_rollback_that_does_not_say_what_it_undoes_is_named() {
    let env = rolled_back("");
    let fixed = env.run(["deploy.yaml", "--auto-fix"]);
    assert_eq!(fixed.code, 6, "auto-fix leaves the decision to a person: {}", fixed.all());
    let note = "`rollback` ran after the failure, and completed steps are kept";
    assert!(fixed.stderr.replace("\n    ", " ").contains(note), "{}", fixed.all());
    env.write("healthy", "");
    let resumed = env.run(["resume", "last"]);
    assert_eq!((resumed.code, env.read("live").as_str()), (0, "1\n"), "{}", resumed.all());
    let command = resumed.stderr.lines().find_map(|line| line.split_once("To run them again: "));
    let (said, command) = command.unwrap_or_default();
    assert!(said.contains(note) && command.ends_with(" --from deploy --rerun-effects"), "{}", resumed.all());
}

#[test]
fn a_completed_run_does_not_use_values() {
    let env = env().file("a.yaml", "name: a\ncontext: {x: 1}\nsteps: [{id: b, command: 'echo {{x}}'}]");
    assert_eq!(env.run(["a.yaml"]).code, 0);
    let resumed = env.run(["resume", "last", "--set", "x=2"]);
    assert!(resumed.stdout.contains("The given values are not used"), "{}", resumed.all());
}

#[test]
fn a_misspelt_value_of_a_resume_is_reported_as_for_a_run() {
    let recipe = "name: a\ncontext: {topic: x}\nsteps: [{id: b, command: 'test {{topic}} = y'}]";
    let env = env().file("a.yaml", recipe);
    assert_eq!(env.run(["a.yaml"]).code, 1);
    let resumed = env.run(["resume", "last", "--set", "topc=y"]);
    let warning = "the recipe has no variable `topc`; did you mean `topic`?";
    assert!(resumed.stderr.contains(warning), "{}", resumed.all());
    env.write("values.json", "{\"topc\": \"y\"}");
    let run = env.run(["a.yaml", "--context-file", "values.json"]);
    assert!(run.stderr.contains(warning), "{}", run.all());
}
