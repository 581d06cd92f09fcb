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
    let agents = "agents:\n- {name: second, command: reviewer, answer: stdout}\n- {name: twin, command: claude, answer: stdout}\n- {name: absent, command: no-such-agent, answer: stdout}\n";
    let env = TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), &script);
    assert_eq!(env.shell("cp ../bin/claude ../bin/reviewer").code, 0);
    env.file("r.yaml", BROKEN).file(".recipe-runner.yaml", agents)
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
    let decided = json!({"what": "command", "step": "check", "verdict": "accepted", "rule": "check_changed", "decided_by": "person"});
    for result in [taken.json(), env.run(["show", "last", "--output-format", "json"]).json()] {
        let fix = &result["auto_fix"];
        assert_eq!((&fix["outcome"], &fix["escalation"]), (&json!("ok"), &Json::Null), "{fix}");
        assert_eq!(fix["attempts"][0]["repair"]["changes"][0], decided);
    }
    let shown = env.run(["show", "last"]);
    let line = "accepted: `check`: the command: the step is a check (by a person)";
    assert!(shown.stdout.contains(line), "{}", shown.all());
    assert_eq!((env.read("r.yaml"), env.read("ledger")), (fixed(), "one\ntwo\n".into()));
    let again = env.run(["resume", "last", "--accept-repair"]);
    assert_eq!(again.code, 7, "{}", again.all());
}

#[test]
fn a_waiting_repair_is_shown_with_its_difference_and_its_command() {
    let env = world("");
    let output = fix(&env, &[]);
    let (result, candidate) = (output.json(), repair(&output)["candidate"].as_str().unwrap().to_owned());
    let accept = result["resume_command"].as_str().unwrap().to_owned();
    assert!(accept.contains("--accept-repair") && !accept.contains("--recipe"), "{accept}");
    let advice = result["advice"].as_array().unwrap();
    assert!(advice.contains(&json!(format!("accept it and resume: {accept}"))), "{advice:?}");
    let stored = env.run(["show", "last", "--output-format", "json"]).json();
    assert_eq!((&stored["resume_command"], &stored["advice"]), (&json!(accept), &result["advice"]));
    let shown = env.run(["show", "last"]);
    for part in [
        format!("proposal: {candidate}"),
        "-   - {id: check, command: 'grep --no-such-option x ledger'}".to_owned(),
        "+   - {id: check, command: 'grep -q one ledger'}".to_owned(),
        "auto-fix waits for your decision about a repair: changed `command` of step `check`".to_owned(),
        format!("resume:  {accept}"),
    ] {
        assert!(shown.stdout.contains(&part), "{part}: {}", shown.all());
    }
    assert!(!shown.stdout.contains("gave up"), "{}", shown.all());
    assert_eq!(
        env.shell(&accept.replacen("recipe-runner-rs", env!("CARGO_BIN_EXE_recipe-runner-rs"), 1)).code,
        0
    );
    assert_eq!(env.read("r.yaml"), fixed());
}

#[test]
fn the_decision_of_a_person_stays_in_the_result_when_the_run_fails_again() {
    let env = world("").file("r.yaml", format!("{BROKEN}  - {{id: three, command: test -e ready}}\n"));
    env.write(
        "../bin/claude",
        format!("#!/bin/bash\ncat <<'EOF'\n{}  - {{id: three, command: test -e ready}}\nEOF\n", fixed()),
    );
    assert_eq!(fix(&env, &[]).code, 6);
    let failed = env.run(["resume", "last", "--accept-repair", "--output-format", "json"]);
    assert_eq!(
        (failed.code, &failed.json()["auto_fix"]["outcome"]),
        (6, &json!("needs_human")),
        "{}",
        failed.all()
    );
    env.write("ready", "");
    let ended = env.run(["resume", "last", "--output-format", "json"]);
    assert_eq!((ended.code, change(&ended)["decided_by"].clone()), (0, json!("person")), "{}", ended.all());
}

#[test]
fn an_answer_of_a_reviewer_that_cannot_be_used_is_mentioned() {
    let env = world("It is fine.");
    let output = fix(&env, &["--review-agent", "second"]);
    let why = json!({"agent": "second", "why": "it is not the JSON object that was asked for"});
    assert_eq!((output.code, &repair(&output)["unusable_review"]), (6, &why), "{}", output.all());
    assert_eq!(change(&output)["decided_by"], "rule");
    let line = "the answer of the reviewer `second` cannot be used (it is not the JSON object that was asked for); a person decides";
    assert!(env.run(["show", "last"]).stdout.contains(line), "{}", env.run(["show", "last"]).all());
    assert_eq!(env.run(["resume", "last", "--accept-repair"]).code, 0);
    let shown = env.run(["show", "last"]);
    assert!(shown.stdout.contains("the answer of the reviewer `second`"), "{}", shown.all());
    assert!(shown.stdout.contains("(by a person)"), "{}", shown.all());
}

#[test]
fn a_reviewer_that_is_missing_is_reported_before_the_first_step() {
    let env = world("");
    let output = fix(&env, &["--review-agent", "absent"]);
    assert_eq!(output.code, 5, "{}", output.all());
    assert!(output.all().contains("`--review-agent`: agent program `no-such-agent`"), "{}", output.all());
    assert!(!env.path("ledger").exists());
    assert_eq!(env.run(["r.yaml"]).code, 1);
    let resumed = env.run(["resume", "last", "--auto-fix", "--review-agent", "absent"]);
    assert_eq!(resumed.code, 5, "{}", resumed.all());
    assert_eq!(env.script_calls(), 0);
}

#[test]
fn a_recipe_that_has_changed_since_is_not_overwritten() {
    let env = world("");
    assert_eq!(fix(&env, &[]).code, 6);
    env.write("r.yaml", format!("# mine\n{BROKEN}"));
    let refused = env.run(["resume", "last", "--accept-repair"]);
    assert_eq!(refused.code, 7, "{}", refused.all());
    assert!(refused.stderr.contains("has changed since the repair was proposed"), "{}", refused.all());
    let json = env.run(["resume", "last", "--accept-repair", "--output-format", "json"]).json();
    assert_eq!((&json["exit_code"], &json["diagnosis"]), (&json!(7), &Json::Null), "{json}");
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
    for (arguments, reviewer) in [
        (["--repair-agent", "second"].as_slice(), "second"),
        (&["--agent-binary", "second"], "second"),
        (&[], "twin"),
        (&["--repair-agent", "twin"], "claude"),
    ] {
        let env = world("");
        let output = fix(&env, &[arguments, &["--review-agent", reviewer]].concat());
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

#[test]
fn a_repair_that_changes_only_words_is_called_so() {
    let env = world("").file("r.yaml", BROKEN);
    for (answer, detail) in [
        (BROKEN.replace("name: r", "name: r\ndescription: better"), "it changes only text that no step uses"),
        (BROKEN.to_owned(), "it proposes no change"),
    ] {
        env.write("../bin/claude", format!("#!/bin/bash\ncat > ~/asked\ncat <<'EOF'\n{answer}EOF\n"));
        let output = fix(&env, &["--auto-fix=3"]);
        let found = repair(&output)["regressions"][0].clone();
        assert_eq!(found["code"], "unchanged", "{}", output.all());
        assert!(found["detail"].as_str().unwrap().contains(detail), "{found}");
        let asked = env.read("~/asked");
        assert!(asked.contains("was refused:\n- unchanged") && !asked.contains("recipe weaker"), "{asked}");
    }
}

#[test]
fn a_step_that_waits_for_a_person_is_no_defeat() {
    let env = world("")
        .file("r.yaml", "name: r\nsteps: [{id: a, command: exit 3, exit_codes: {3: needs_human}}]\n");
    let output = env.run(["r.yaml", "--auto-fix"]);
    assert_eq!(output.code, 6, "{}", output.all());
    assert!(output.stderr.contains("auto-fix waits for you: a step is waiting"), "{}", output.all());
    assert!(!output.stderr.contains("gave up"), "{}", output.all());
}

fn waiting(env: &TestEnv) -> Vec<Json> {
    env.run(["waiting", "--output-format", "json"]).json().as_array().cloned().unwrap_or_default()
}

#[test]
fn a_repair_is_a_question_that_answer_accepts() {
    for record_first in [false, true] {
        let env = world("");
        assert_eq!(fix(&env, &[]).code, 6);
        let asked = waiting(&env);
        assert_eq!((asked.len(), &asked[0]["step"]), (1, &json!("auto-fix/repair-1")), "{asked:?}");
        assert_eq!(asked[0]["choices"], json!(["accept", "refuse"]));
        let run = asked[0]["run_id"].as_str().unwrap();
        let shown = env.state().join("runs").join(run).join(asked[0]["show"][0]["file"].as_str().unwrap());
        let shown = std::fs::read_to_string(shown).unwrap();
        assert!(shown.contains("--no-such-option x") && shown.contains("-q one"), "{shown}");
        assert_eq!(env.run(["answer", "last", "approve"]).code, 2);
        if record_first {
            assert_eq!(env.run(["answer", "last", "accept", "--no-resume"]).code, 0);
            assert_eq!((env.read("r.yaml"), waiting(&env).len()), (BROKEN.into(), 0));
        }
        let output = match record_first {
            true => env.run(["resume", "last"]),
            false => env.run(["answer", "last", "accept"]),
        };
        assert_eq!(output.code, 0, "{}", output.all());
        assert_eq!((env.read("r.yaml"), env.read("ledger")), (fixed(), "one\ntwo\n".into()));
        assert_eq!(env.run(["answer", "last", "accept"]).code, 7);
    }
}

#[test]
fn a_refused_repair_ends_the_loop_and_leaves_the_recipe() {
    let env = world("");
    assert_eq!(fix(&env, &[]).code, 6);
    let output = env.run(["answer", "last", "refuse", "--output-format", "json"]);
    assert_eq!((output.code, &output.json()["status"]), (6, &json!("waiting")), "{}", output.all());
    assert_eq!((env.read("r.yaml"), waiting(&env).len()), (BROKEN.into(), 0));
    let shown = env.run(["show", "last", "--output-format", "json"]);
    let change = change(&shown);
    assert_eq!(
        (&change["verdict"], &change["decided_by"]),
        (&json!("refused"), &json!("person")),
        "{change}"
    );
    assert_eq!(env.run(["answer", "last", "accept"]).code, 7);
    assert_eq!(env.run(["resume", "last", "--accept-repair"]).code, 7);
}
