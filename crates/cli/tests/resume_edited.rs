//! Resuming with an edited recipe, and the commands that are printed: they do what they promise.

use serde_json::Value as Json;
use testkit::{Output, TestEnv};

/// A world with an agent program that answers `made`.
fn world() -> TestEnv {
    TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), "echo made")
}

fn json(env: &TestEnv, arguments: &[&str]) -> Output {
    env.run(arguments.iter().copied().chain(["--output-format", "json"]))
}

/// `keep`, `rerun` and `pending` of every step, as `path:action`.
fn actions(plan: &Json) -> String {
    let steps = plan["steps"].as_array().cloned().unwrap_or_default();
    let word = |step: &Json| {
        format!("{}:{}", step["path"].as_str().unwrap_or("?"), step["action"].as_str().unwrap_or("?"))
    };
    steps.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn names(list: &Json) -> String {
    let names = list.as_array().cloned().unwrap_or_default();
    names.iter().map(|name| name.as_str().unwrap_or("?").to_owned()).collect::<Vec<_>>().join(" ")
}

fn recipe(steps: &[&str]) -> String {
    let steps: String = steps.iter().map(|step| format!("  - {{{step}}}\n")).collect();
    format!("name: r\nsteps:\n{steps}")
}

const UP: &str = "id: up, command: echo 1 > art";
const UP2: &str = "id: up, command: echo 2 > art";
const MID: &str = "id: mid, command: cat art";
const GATE: &str = "id: gate, command: test -e ok";

/// What the plan says when a recipe that failed is edited: actions, where it goes on, which agents are kept.
fn check(before: &[&str], after: &[&str], expected: (&str, &str, &str)) {
    let env = world().file("r.yaml", recipe(before));
    let failed = env.run(["r.yaml"]);
    assert_eq!(failed.code, 1, "{}", failed.all());
    env.write("r.yaml", recipe(after));
    let output = json(&env, &["resume", "last", "--recipe", "r.yaml", "--plan"]);
    let plan = output.json();
    let found = (
        actions(&plan),
        plan["goes_on_at"].as_str().unwrap_or("").to_owned(),
        names(&plan["kept_producers"]),
    );
    let expected = (expected.0.to_owned(), expected.1.to_owned(), expected.2.to_owned());
    assert_eq!(found, expected, "{before:?} → {after:?}\n{}", output.all());
    let rows = actions(&plan);
    let rerun = rows.split(' ').filter_map(|row| row.strip_suffix(":rerun")).collect::<Vec<_>>().join(" ");
    assert_eq!(names(&plan["rerun"]), rerun, "the list agrees with the rows");
}

#[test]
fn steps_after_a_changed_step_are_rerun() {
    check(&[UP, MID, GATE], &[UP, MID, GATE], ("up:keep mid:keep gate:rerun", "gate", ""));
    check(&[UP, MID, GATE], &[UP2, MID, GATE], ("up:rerun mid:rerun gate:rerun", "up", ""));
    let new = "id: new, command: echo 3 > art";
    check(&[UP, MID, GATE], &[UP, new, MID, GATE], ("up:keep new:pending mid:rerun gate:rerun", "new", ""));
    let renamed = "id: check, command: test -e ok";
    check(&[UP, MID, GATE], &[UP, MID, renamed], ("up:keep mid:keep check:pending", "check", ""));
    let repaired = "id: gate, command: test -e art";
    check(&[UP, MID, GATE], &[UP, MID, repaired], ("up:keep mid:keep gate:rerun", "gate", ""));
    // what it needs is known, and that did not change
    let (a, b, free) =
        ("id: a, command: echo a", "id: b, command: echo b", "id: free, command: 'echo {{a}}'");
    let b2 = "id: b, command: echo B";
    check(&[a, b, free, GATE], &[a, b2, free, GATE], ("a:keep b:rerun free:keep gate:rerun", "b", ""));
}

#[test]
fn agents_are_not_done_again_because_of_mere_order() {
    let agent = "id: agent, prompt: work";
    check(
        &[UP, agent, MID, GATE],
        &[UP2, agent, MID, GATE],
        ("up:rerun agent:keep mid:rerun gate:rerun", "up", "agent"),
    );
    let (uses, named) = ("id: agent, prompt: 'work on {{up}}'", "id: up, command: echo 1");
    check(
        &[named, uses, GATE],
        &["id: up, command: echo 2", uses, GATE],
        ("up:rerun agent:rerun gate:rerun", "up", ""),
    );
    let env = world().file("r.yaml", recipe(&[UP, agent, MID, GATE]));
    assert_eq!(env.run(["r.yaml"]).code, 1);
    env.write("r.yaml", recipe(&[UP2, agent, MID, GATE]));
    let plan = env.run(["resume", "last", "--recipe", "r.yaml", "--plan"]).stdout;
    let run = &env.run_ids()[0];
    let file = env.path("r.yaml").canonicalize().unwrap();
    let command = format!("recipe-runner-rs resume {run} --recipe {} --rerun-producers", file.display());
    assert!(plan.contains("resumes at `up`") && plan.contains(&command), "{plan}");
    let again = json(&env, &["resume", "last", "--recipe", "r.yaml", "--plan", "--rerun-producers"]).json();
    assert_eq!(actions(&again), "up:rerun agent:rerun mid:rerun gate:rerun");
}

#[test]
fn a_failed_sub_recipe_after_a_changed_step_starts_again() {
    let child = "name: child\nsteps:\n  - {id: x, command: cat art}\n  - {id: y, command: test -e ok}\n";
    let nested = "id: n, recipe: child";
    let env = world().file("child.yaml", child).file("r.yaml", recipe(&[UP, nested]));
    assert_eq!(env.run(["r.yaml"]).code, 1);
    env.write("r.yaml", recipe(&[UP2, nested]));
    let plan = json(&env, &["resume", "last", "--recipe", "r.yaml", "--plan"]).json();
    assert_eq!(actions(&plan), "up:rerun n:rerun n/x:rerun n/y:rerun", "{plan}");
    env.write("ok", "");
    let output = json(&env, &["resume", "last", "--recipe", "r.yaml"]);
    assert_eq!((output.code, output.step("n/x")["output"].as_str()), (0, Some("2")), "{}", output.all());
}

#[test]
fn stale_values_do_not_survive_an_edit() {
    let env = world().file("r.yaml", recipe(&[UP, MID, GATE]));
    assert_eq!(env.run(["r.yaml"]).code, 1);
    env.write("ok", "");
    env.write("r.yaml", recipe(&[UP2, MID, GATE]));
    let output = json(&env, &["resume", "last", "--recipe", "r.yaml"]);
    assert_eq!((output.code, &output.value("mid")), (0, &Json::from("2")), "{}", output.all());
}

#[test]
fn steps_with_changed_inputs_are_rerun() {
    for (before, after, name, expected) in [
        (
            "inputs: [{name: v, default: one}]\nsteps:\n  - {id: a, command: 'echo \"{{v}}\"'}\n",
            "inputs: [{name: v, default: two}]\nsteps:\n  - {id: a, command: 'echo \"{{v}}\"'}\n",
            "a",
            "two",
        ),
        (
            "steps:\n  - {id: k, command: echo K}\n  - {id: a, command: echo one, output: x}\n  - {id: b, command: 'echo \"b{{k}}{{x}}\"'}\n",
            "steps:\n  - {id: k, command: echo K}\n  - {id: a, command: echo one, output: y}\n  - {id: b, command: 'echo \"b{{k}}{{x}}\"'}\n",
            "b",
            "bK",
        ),
        (
            "steps:\n  - {id: a, command: echo 1, output: v}\n  - {id: a2, command: echo 2, output: v}\n  - {id: b, command: 'echo b{{v}}'}\n",
            "steps:\n  - {id: a2, command: echo 2, output: v}\n  - {id: a, command: echo 1, output: v}\n  - {id: b, command: 'echo b{{v}}'}\n",
            "b",
            "b1",
        ),
        (
            "steps:\n  - {id: a, command: echo 1}\n  - {id: b, command: 'echo \"b{{a}}\"'}\n",
            "steps:\n  - {id: b, command: 'echo \"b{{a}}\"'}\n  - {id: a, command: echo 1}\n",
            "b",
            "b",
        ),
    ] {
        let gate = "  - {id: gate, command: test -e ok}\n";
        let env = world().file("r.yaml", format!("name: r\n{before}{gate}"));
        assert_eq!(env.run(["r.yaml"]).code, 1);
        env.write("ok", "");
        env.write("r.yaml", format!("name: r\n{after}{gate}"));
        let output = json(&env, &["resume", "last", "--recipe", "r.yaml"]);
        assert_eq!(
            (output.code, &output.value(name)),
            (0, &Json::from(expected)),
            "{after}\n{}",
            output.all()
        );
    }
}

#[test]
fn a_sub_recipe_that_reads_more_keeps_its_results() {
    let child = |more: &str| {
        format!("name: child\nsteps:\n  - {{id: push, command: 'echo p >> pushed', effects: [push]}}\n{more}")
    };
    let env = world()
        .file("child.yaml", child(""))
        .file("r.yaml", "name: r\nsteps:\n  - {id: a, command: echo 1}\n  - {id: n, recipe: child}\n  - {id: gate, command: 'test -e ok # {{n}}'}\n");
    assert_eq!(env.run(["r.yaml"]).code, 1);
    env.write("ok", "");
    env.write("child.yaml", child("  - {id: more, command: 'echo \"m{{a}}\"'}\n"));
    let output = json(&env, &["resume", "last", "--recipe", "r.yaml"]);
    assert_eq!((output.code, &output.value("more")), (0, &Json::from("m1")), "{}", output.all());
    assert_eq!(std::fs::read_to_string(env.path("pushed")).unwrap(), "p\n");
}

#[test]
fn effects_after_a_changed_step_stop_the_resume_and_hints_repeat_the_options() {
    let push = "id: push, command: echo push >> ledger, effects: [push]";
    let env = world().file("r.yaml", recipe(&[UP, push, GATE]));
    assert_eq!(env.run(["r.yaml"]).code, 1);
    env.write("ok", "");
    env.write("edited.yaml", recipe(&[UP2, push, GATE]));
    let stopped = json(&env, &["resume", "last", "--recipe", "edited.yaml"]);
    assert_eq!(stopped.code, 6, "{}", stopped.all());
    let (answer, run) = (stopped.json(), env.run_ids().remove(0));
    for (name, value) in [("run_id", run.as_str()), ("status", "waiting"), ("outcome", "needs_human")] {
        assert_eq!(answer[name], value, "{answer}");
    }
    let file = env.path("edited.yaml").canonicalize().unwrap();
    let hint = format!("recipe-runner-rs resume {run} --recipe {} --rerun-effects", file.display());
    assert!(answer["hints"].to_string().contains(&hint), "{answer}");
    assert_eq!(json(&env, &["runs"]).json()[0]["status"], "waiting");
    assert_eq!(env.read("ledger"), "push\n");
    let plain = env.run(["resume", "last"]);
    assert_eq!(plain.code, 0, "{}", plain.all());
    assert!(plain.stderr.contains(&format!("not `{}`", file.display())), "{}", plain.all());
}

#[test]
fn a_plain_resume_reports_a_changed_file() {
    let env = world().file("r.yaml", recipe(&[UP, GATE]));
    assert_eq!(env.run(["r.yaml"]).code, 1);
    let same = env.run(["resume", "last"]);
    assert!(!same.stderr.contains("--recipe"), "{}", same.all());
    env.write("r.yaml", recipe(&[UP2, GATE]));
    let other = env.run(["resume", "last"]);
    assert!(other.stderr.contains("--recipe") && other.stderr.contains("r.yaml"), "{}", other.all());
}

#[test]
fn an_interrupted_step_that_must_not_simply_run_again_waits_for_a_person() {
    let env = world().file("r.yaml", recipe(&["id: pay, command: kill -9 $PPID, idempotent: false"]));
    let _ = env.run(["r.yaml"]);
    assert_eq!(json(&env, &["runs"]).json()[0]["status"], "interrupted");
    for _ in 0..2 {
        let stopped = json(&env, &["resume", "last"]);
        assert_eq!(stopped.code, 6, "{}", stopped.all());
        let answer = stopped.json();
        assert_eq!((&answer["status"], &answer["outcome"]), (&"waiting".into(), &"needs_human".into()));
        assert_eq!(answer["run_id"], env.run_ids()[0].as_str());
        assert!(answer["error"].is_string() && answer["hints"].is_array());
    }
    assert_eq!(json(&env, &["runs"]).json()[0]["status"], "waiting");
    assert_eq!(json(&env, &["show", "last"]).json()["status"], "waiting");
    let shown = env.run(["show", "last"]);
    assert!(shown.stdout.contains("waiting"), "{}", shown.all());
    assert_eq!(env.run(["resume", "last", "--skip-interrupted"]).code, 0);
}

#[test]
fn survivors_are_ended_before_a_person_is_asked() {
    let env = world().file(
        "r.yaml",
        recipe(&["id: pay, command: 'kill -9 $PPID; sleep 2; echo late > late', idempotent: false"]),
    );
    let _ = env.run(["r.yaml"]);
    assert_eq!(env.run(["resume", "last"]).code, 6);
    std::thread::sleep(std::time::Duration::from_millis(2500));
    assert!(!env.path("late").exists(), "nothing works behind the back of who looks");
}

/// Every command about runs in a text.
fn commands(text: &str) -> Vec<String> {
    let ends = |c: char| matches!(c, '`' | '\n' | '"' | ';');
    let found = text.match_indices("recipe-runner-rs ").map(|(at, _)| &text[at..]);
    let command = |rest: &str| rest[..rest.find(ends).unwrap_or(rest.len())].trim().to_owned();
    let is_about_runs = |command: &String| {
        ["resume", "show", "logs", "cancel", "runs"]
            .iter()
            .any(|verb| command.split(' ').nth(1) == Some(verb))
    };
    found.map(command).filter(is_about_runs).collect()
}

#[test]
fn printed_commands_lead_to_where_the_runs_are() {
    let env = world().file("r.yaml", recipe(&["id: a, prompt: p", GATE]));
    let place = ["--state-dir", "my state"];
    let with = |arguments: &[&str]| env.run(arguments.iter().chain(&place).copied());
    let text = [
        with(&["r.yaml"]),
        with(&["r.yaml", "--output-format", "json"]),
        with(&["resume", "last"]),
        with(&["resume", "last", "--plan"]),
        with(&["show", "last"]),
        with(&["r.yaml", "--auto-fix=2"]),
        with(&["show", "nobody"]),
    ];
    let text: String = text.iter().map(Output::all).collect();
    let all = commands(&text);
    assert!(all.len() > 8, "{all:?}\n{text}");
    for command in all {
        assert_eq!(command.matches("--state-dir '").count(), 1, "{command}\n{text}");
        assert!(command.contains("/my state'"), "{command}");
        let tried =
            env.shell(&format!("\"$RUNNER\" {} --help > /dev/null", &command["recipe-runner-rs ".len()..]));
        assert_eq!(tried.code, 0, "{command}: {}", tried.all());
    }
}

#[test]
fn the_command_that_repeats_a_run_keeps_its_options_and_shows_no_secret() {
    let text = "name: r\ncontext: {api_key: none}\nsteps:\n  - {id: a, command: 'echo $RECIPE_VAR_api_key > seen; exit 1'}\n";
    let env = world().file("r.yaml", text).env("RECIPE_VAR_api_key", "hunter2hunter2");
    let output = json(
        &env,
        &["r.yaml", "--set", "api_key=hunter2hunter2", "--step-timeout", "7", "--exclude-tags", "x"],
    );
    let repro = output.json()["evidence"]["repro_command"].as_str().unwrap().to_owned();
    for part in ["--step-timeout 7", "--exclude-tags x", "RECIPE_VAR_api_key"] {
        assert!(repro.contains(part), "{repro}");
    }
    assert!(!repro.contains("hunter2") && !repro.contains("REDACTED"), "{repro}");
    env.write("seen", "");
    let again = env.shell(&repro.replacen("recipe-runner-rs", "\"$RUNNER\"", 1));
    assert_eq!((again.code, env.read("seen").as_str()), (1, "hunter2hunter2\n"), "{}", again.all());
}

#[test]
fn a_used_up_budget_fails_and_names_the_command_to_raise_it() {
    let steps = recipe(&["id: a, prompt: p", "id: b, prompt: p"]);
    for flags in [vec![], vec!["--auto-fix"]] {
        let env = world().file("r.yaml", &steps);
        let arguments: Vec<&str> = ["r.yaml", "--budget-agent-runs", "1"].into_iter().chain(flags).collect();
        let output = json(&env, &arguments);
        let result = output.json();
        assert_eq!(
            (output.code, &result["status"], &result["outcome"]),
            (1, &"failed".into(), &"failed".into()),
            "{}",
            output.all()
        );
        let run = &env.run_ids()[0];
        let advice = result["advice"].to_string();
        assert!(advice.contains(&format!("recipe-runner-rs resume {run} --budget-agent-runs 2")), "{advice}");
        assert_eq!(env.run(["resume", run, "--budget-agent-runs", "2"]).code, 0);
    }
}

#[test]
fn an_edited_agent_file_is_a_change_of_its_step() {
    let steps = ["id: ag, agent: arch, prompt: p", "id: other, prompt: q", GATE];
    for (text, edited, expected) in [
        ("You build.", Some("You build well."), "ag:rerun other:keep gate:rerun"),
        ("You build.", Some("You build."), "ag:keep other:keep gate:rerun"),
        ("You build.", None, "ag:rerun other:keep gate:rerun"),
    ] {
        let env = world().file("r.yaml", recipe(&steps)).file("agents/arch.md", text);
        assert_eq!(env.run(["r.yaml"]).code, 1);
        match edited {
            Some(edited) => env.write("agents/arch.md", edited),
            None => std::fs::remove_file(env.path("agents/arch.md")).unwrap(),
        }
        let output = json(&env, &["resume", "last", "--recipe", "r.yaml", "--plan"]);
        assert_eq!(actions(&output.json()), expected, "{edited:?}");
        let is_named = output.stdout.contains("the file of its agent changed");
        assert_eq!(is_named, expected.contains("ag:rerun"), "{}", output.all());
        // without the recipe, the run goes on with what it began with
        let plain = json(&env, &["resume", "last", "--plan"]).json();
        assert_eq!(actions(&plain), "ag:keep other:keep gate:rerun");
    }
}

#[test]
fn a_recipe_that_is_only_entered_again_is_not_done_again() {
    let outer = "name: o\ncontext: {x: web}\nsteps:\n  - {id: second, recipe: 'svc-{{x}}'}\n";
    let inner = "name: svc\nsteps:\n  - {id: build, command: echo built >> ledger}\n  - {id: check, command: test -f go}\n";
    let env = world()
        .file("o.yaml", outer)
        .file("svc-web.yaml", format!("{inner}  - {{id: ship, command: echo 1}}\n"));
    assert_eq!(env.run(["o.yaml"]).code, 1);
    env.write("svc-web.yaml", format!("{inner}  - {{id: ship, command: echo 2}}\n"));
    let output = env.run(["resume", "last", "--recipe", "o.yaml"]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert!(output.stderr.contains("resumed: ") && !output.all().contains("re-runs: "), "{}", output.all());
    let shown = json(&env, &["show", "last"]).json().to_string();
    assert!(!shown.contains("second/\""), "{shown}");
    assert_eq!(env.read("ledger"), "built\n");
}
