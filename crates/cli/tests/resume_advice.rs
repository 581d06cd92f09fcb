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
