//! Repairs that no rule decides: a second agent or a person decides, or they are refused.

use serde_json::{Value as Json, json};
use testkit::{Output, TestEnv};

const BROKEN: &str = "name: r
steps:
  - {id: one, command: echo one >> ledger}
  - {id: check, command: 'grep --no-such-option x ledger'}
  - {id: two, command: echo two >> ledger}
";

fn fixed() -> String {
    BROKEN.replace("--no-such-option x", "-q one")
}

/// A world whose agent repairs the recipe. Called as a reviewer, it answers with this.
fn world(opinion: &str) -> TestEnv {
    let script = format!(
        "case \"$P\" in *'another agent proposes'*) cat <<'EOF'\n{opinion}\nEOF\n;; *) cat <<'EOF'\n{}EOF\n;; esac",
        fixed()
    );
    let agents = "agents:\n- {name: second, command: claude, answer: stdout}\n";
    TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), &script)
        .file("r.yaml", BROKEN)
        .file(".recipe-runner.yaml", agents)
}

fn fix(env: &TestEnv, more: &[&str]) -> Output {
    env.run(["r.yaml", "--auto-fix", "--output-format", "json"].iter().chain(more).copied())
}

fn repair(output: &Output) -> Json {
    output.json()["auto_fix"]["attempts"][0]["repair"].clone()
}

/// What happened to the command of `check`.
fn change(output: &Output) -> Json {
    repair(output)["changes"][0].clone()
}

#[test]
fn a_changed_check_waits_for_a_person_who_takes_it() {
    let env = world("");
    let output = fix(&env, &[]);
    let result = output.json();
    assert_eq!((output.code, &result["status"]), (6, &json!("waiting")), "{}", output.all());
    assert_eq!(
        change(&output),
        json!({"what": "command", "step": "check", "verdict": "ask", "rule": "check_changed", "decided_by": "rule"})
    );
    assert_eq!((env.read("r.yaml"), env.read("ledger")), (BROKEN.into(), "one\n".into()));
    let candidate = repair(&output)["candidate"].as_str().unwrap().to_owned();
    assert_eq!(std::fs::read_to_string(candidate).unwrap(), fixed());
    let accept = result["auto_fix"]["escalation"]["options"].as_array().unwrap().iter();
    assert!(accept.map(|option| option.as_str().unwrap()).any(|option| option.ends_with("--accept-repair")));
    let shown = env.run(["show", "last"]);
    assert!(shown.all().contains("to decide: `check`: the command: the step is a check"), "{}", shown.all());
    let taken = env.run(["resume", "last", "--accept-repair", "--output-format", "json"]);
    assert_eq!(taken.code, 0, "{}", taken.all());
    assert_eq!((env.read("r.yaml"), env.read("ledger")), (fixed(), "one\ntwo\n".into()));
    let again = env.run(["resume", "last", "--accept-repair"]);
    assert_eq!(again.code, 7, "{}", again.all());
}

#[test]
fn a_recipe_that_has_changed_since_is_not_overwritten() {
    let env = world("");
    assert_eq!(fix(&env, &[]).code, 6);
    env.write("r.yaml", format!("# mine\n{BROKEN}"));
    let refused = env.run(["resume", "last", "--accept-repair"]);
    assert_eq!(refused.code, 7, "{}", refused.all());
    assert!(refused.stderr.contains("has changed since the repair was proposed"), "{}", refused.all());
    assert_eq!(env.read("r.yaml"), format!("# mine\n{BROKEN}"));
}

#[test]
fn without_questions_the_repair_is_refused() {
    let env = world("");
    let output = fix(&env, &["--accept-repairs", "refuse"]);
    assert_eq!((output.code, &output.json()["status"]), (1, &json!("failed")), "{}", output.all());
    let change = change(&output);
    assert_eq!((&change["verdict"], &change["decided_by"]), (&json!("refused"), &json!("policy")));
    assert_eq!(env.read("r.yaml"), BROKEN);
    assert_eq!(env.run(["resume", "last", "--accept-repair"]).code, 7);
}

#[test]
fn a_second_agent_can_accept_a_repair_but_only_clearly() {
    let env = world("{\"weaker\": false, \"why\": \"it looks for the same word\"}");
    let output = fix(&env, &["--review-agent", "second"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let decided = json!({"agent": {"name": "second", "why": "it looks for the same word"}});
    let found = change(&output);
    assert_eq!((&found["verdict"], &found["decided_by"]), (&json!("accepted"), &decided));
    assert_eq!((env.read("r.yaml"), env.read("ledger")), (fixed(), "one\ntwo\n".into()));
    let shown = env.run(["show", "last"]);
    assert!(
        shown.all().contains("the step is a check (`second`: it looks for the same word)"),
        "{}",
        shown.all()
    );
    let asked = env.read("~/asked-2");
    assert!(asked.contains("--no-such-option x") && asked.contains("-q one"), "{asked}");
    for opinion in ["{\"weaker\": true, \"why\": \"no\"}", "It is fine.", "{\"weaker\": false}"] {
        let env = world(opinion);
        let output = fix(&env, &["--review-agent", "second"]);
        assert_eq!(
            (output.code, &repair(&output)["waiting"]),
            (6, &json!(true)),
            "{opinion}: {}",
            output.all()
        );
        assert_eq!(env.read("r.yaml"), BROKEN);
    }
}

#[test]
fn an_agent_does_not_review_its_own_repair() {
    for arguments in [["--repair-agent", "second"].as_slice(), &["--agent-binary", "second"]] {
        let env = world("");
        let output = fix(&env, &[arguments, &["--review-agent", "second"]].concat());
        assert_eq!(output.code, 2, "{}", output.all());
        assert!(output.all().contains("cannot review its own repair"), "{}", output.all());
        assert!(!env.path("ledger").exists());
    }
}

#[test]
fn a_repair_that_cannot_be_used_now_waits_as_before() {
    let env = world("");
    assert_eq!(fix(&env, &[]).code, 6);
    for (more, code) in [(["--plan-digest", "other"], 7), (["--from", "nowhere"], 4)] {
        let refused = env.run(["resume", "last", "--accept-repair"].iter().chain(&more).copied());
        assert_eq!(refused.code, code, "{more:?}: {}", refused.all());
        assert_eq!(env.read("r.yaml"), BROKEN, "{more:?}");
    }
    assert_eq!(env.run(["resume", "last", "--accept-repair"]).code, 0);
    assert_eq!(env.read("r.yaml"), fixed());
}

#[test]
fn a_proposal_that_changed_after_its_review_is_not_taken() {
    let env = world("");
    let output = fix(&env, &[]);
    let candidate = repair(&output)["candidate"].as_str().unwrap().to_owned();
    std::fs::write(&candidate, fixed().replace("echo two", "echo three")).unwrap();
    let refused = env.run(["resume", "last", "--accept-repair"]);
    assert_eq!(refused.code, 7, "{}", refused.all());
    assert!(refused.all().contains("has changed since it was reviewed"), "{}", refused.all());
    assert_eq!(env.read("r.yaml"), BROKEN);
}

#[test]
fn a_resume_keeps_the_policy_for_questions() {
    let env = world("");
    assert_eq!(fix(&env, &["--accept-repairs", "refuse"]).code, 1);
    let resumed = env.run(["resume", "last", "--auto-fix"]);
    assert_eq!(resumed.code, 1, "{}", resumed.all());
    let asked = env.run(["resume", "last", "--auto-fix", "--accept-repairs", "ask"]);
    assert_eq!(asked.code, 6, "{}", asked.all());
}
