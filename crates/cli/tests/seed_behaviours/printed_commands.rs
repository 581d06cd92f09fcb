//! Every command that is printed for people is one that the program takes.

use testkit::{Output, TestEnv};

use super::{env, json, with_agent};

/// The commands in a text: to the end of the line, or to the backtick where one stands before it.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines().filter(|line| !line.contains("recipe-runner-rs 0.")) {
        for (at, _) in line.match_indices("recipe-runner-rs ") {
            let rest = &line[at..];
            let end = match line[..at].ends_with('`') {
                true => rest.find('`').unwrap_or(rest.len()),
                false => rest.len(),
            };
            let command = rest[..end].trim_end_matches(['"', ',', '.']);
            // a sentence that only begins with the name, a table, a usage line
            if !command.contains("runs recipes:") && !command.contains("  ") && !command.contains(['[', '…'])
            {
                found.push(command.replace("\\\"", "\"").replace("\\'", "'"));
            }
        }
    }
    found
}

fn check(env: &TestEnv, output: &Output) -> usize {
    let found = commands(&format!("{}\n{}", output.stdout, output.stderr));
    for command in &found {
        let line = command.replacen("recipe-runner-rs", "\"$RUNNER\"", 1);
        let parsed = env.shell(&format!("{line} --help"));
        assert_eq!(parsed.code, 0, "{command}\n{}\nfrom\n{}", parsed.all(), output.all());
    }
    found.len()
}

/// Looks at a recipe's run in text and JSON, with all that can be asked about it afterwards.
fn check_run(env: &TestEnv, arguments: &[&str]) {
    let mut number = 0;
    for output in [env.run(arguments.iter().copied()), json(env, arguments)] {
        number += check(env, &output);
    }
    for more in [
        vec!["show", "last"],
        vec!["resume", "last", "--plan"],
        vec!["resume", "last"],
        vec!["show", "last", "--output-format", "json"],
    ] {
        number += check(env, &env.run(more));
    }
    assert!(number > 0, "{arguments:?}");
}

#[test]
fn of_failed_runs() {
    for steps in [
        "  - {id: s, command: exit 3}\n",
        "  - {id: s, command: test -e nothing}\n",
        "  - {id: s, command: no-such-tool}\n",
        "  - {id: s, command: sleep 30, timeout: 0.2}\n",
        "  - {id: s, command: exit 3, exit_codes: {3: needs_human}}\n",
        "  - {id: s, command: pwd, working_dir: nowhere}\n",
        "  - {id: a, prompt: p}\n  - {id: g, command: test -e nothing}\n",
        "  - {id: a, prompt: p, output: x}\n  - {id: push, command: 'echo {{x}}', effects: [push], output: y}\n  - {id: g, command: 'grep -q PASS <<< \"{{y}}\"'}\n",
    ] {
        let recipe = format!("name: r\nsteps:\n{steps}");
        let env = with_agent("echo FAIL").file("my r.yaml", recipe);
        check_run(&env, &["my r.yaml"]);
        check_run(&env, &["my r.yaml", "--auto-fix=2", "--state-dir", "other state"]);
    }
}

#[test]
fn of_refusals_and_empty_places() {
    let env = env()
        .file("typo.yaml", "name: r\nstepz: []\n")
        .file("env.yaml", "name: r\nenv: {required: [WANTED_NAME]}\nsteps: [{id: s, command: 'true'}]\n")
        .file("ok.yaml", "name: r\nsteps: [{id: s, command: 'true'}]\n");
    for arguments in [
        vec![],
        vec!["missing"],
        vec!["typo.yaml"],
        vec!["env.yaml"],
        vec!["env.yaml", "-C", "nowhere", "--set", "a=b c"],
        vec!["runs"],
        vec!["show", "20"],
        vec!["resume", "last"],
        vec!["cancel", "nothing"],
        vec!["list"],
        vec!["doctor"],
        vec!["init"],
        vec!["init"],
        vec!["health"],
        vec!["ok.yaml"],
        vec!["resume", "last"],
        vec!["cancel", "last"],
        vec!["resume", "last", "--from", "nothing"],
    ] {
        check(&env, &env.run(arguments));
    }
}

#[test]
fn of_interrupted_and_busy_runs() {
    let env = env().file(
        "r.yaml",
        "name: r\nsteps: [{id: s, command: 'touch begun; [ -e go ] || sleep 60', idempotent: false}]\n",
    );
    let started = env.spawn(["r.yaml"]);
    testkit::until("it begins", || env.path("begun").exists());
    assert!(check(&env, &env.run(["r.yaml"])) >= 3);
    assert!(check(&env, &env.run(["show", "last"])) >= 2);
    assert!(check(&env, &env.run(["resume", "last"])) >= 2);
    started.kill();
    assert!(check(&env, &env.run(["show", "last"])) >= 1);
    assert!(check(&env, &env.run(["resume", "last"])) >= 2);
    env.write("go", "");
    assert!(check(&env, &env.run(["r.yaml"])) >= 1, "it names the dead one");
    env.write("r.yaml", "name: r\nsteps: [{id: s, command: 'exit 1 # edited', idempotent: false}]\n");
    assert!(check(&env, &env.run(["resume", "last", "--plan"])) <= 9);
    let _ = env.run(["cancel", "last"]);
}
