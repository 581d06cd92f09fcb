//! Auto-fix: runs producers again, repairs the recipe within its rules, and gives up in time.

use super::*;

#[test]
fn auto_fix_runs_the_producers_again_and_passes() {
    let env = world("[ $N -ge 2 ] && echo PASS || echo FAIL").file("r.yaml", INCIDENT);
    let output = json(&env, &["r.yaml", "--auto-fix"]);
    let result = output.json();
    assert_eq!((output.code, &result["success"]), (0, &Json::Bool(true)), "{}", output.all());
    let attempts = result["auto_fix"]["attempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 2);
    assert_eq!(attempts[0]["plan"]["anchor"], "fix-a");
    assert_eq!(attempts[0]["run_id"], attempts[1]["run_id"], "one piece of work keeps its name");
    assert_eq!(ledger(&env), "prep mid gate mid gate after");
}

#[test]
fn a_dead_end_is_left_after_two_attempts() {
    let env = world("echo FAIL").file("r.yaml", INCIDENT);
    let output = json(&env, &["r.yaml", "--auto-fix=7"]);
    let result = output.json();
    assert_eq!((output.code, &result["outcome"]), (6, &Json::from("needs_human")), "{}", output.all());
    let fix = &result["auto_fix"];
    assert_eq!(fix["attempts"].as_array().unwrap().len(), 2);
    assert!(fix["escalation"]["reason"].as_str().unwrap().contains("same failure"), "{fix}");
    for command in fix["escalation"]["options"].as_array().unwrap() {
        let words = command.as_str().unwrap().split_whitespace().skip(1);
        assert_ne!(env.run(words.chain(["--help"])).code, 2, "{command}");
    }
}

#[test]
fn no_auto_fix_means_one_attempt_with_its_diagnosis() {
    let env = world("echo FAIL").file("r.yaml", INCIDENT);
    let output = json(&env, &["r.yaml", "--auto-fix", "--no-auto-fix"]);
    let result = output.json();
    assert_eq!(output.code, 1);
    assert_eq!(result["auto_fix"]["enabled"], false);
    assert!(result["diagnosis"]["class"].is_string() && result["resume_command"].is_string());
    assert_eq!(ledger(&env), "prep mid gate");
}

const BROKEN: &str = "name: r
steps:
  - {id: one, command: echo one >> ledger}
  - {id: two, command: echo two >> ledger}
  - {id: three, command: echo three >> ledger}
  - {id: check, command: 'grep --quite three ledger'}
  - {id: ship, command: echo shipped >> ledger, effects: [deploy]}
";

#[test]
fn a_repair_of_the_recipe_is_taken_if_it_makes_nothing_weaker() {
    let fixed = BROKEN.replace("grep --quite three ledger", "grep --quiet three ledger");
    let env = world(&format!("cat <<'EOF'\n```yaml\n{fixed}```\nEOF")).file("r.yaml", BROKEN);
    let output = json(&env, &["r.yaml", "--auto-fix"]);
    let result = output.json();
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(result["auto_fix"]["attempts"][0]["repair"]["accepted"], true, "{}", output.all());
    assert_eq!(ledger(&env), "one two three shipped");
    assert_eq!(std::fs::read_to_string(env.path("r.yaml")).unwrap(), fixed);
}

#[test]
fn a_stub_is_refused_with_reasons_and_the_recipe_stays() {
    let stub = "name: r\nsteps:\n  - {id: check, command: 'true'}\n";
    let env = world(&format!("cat <<'EOF'\n{stub}EOF")).file("r.yaml", BROKEN);
    let output = json(&env, &["r.yaml", "--auto-fix"]);
    let result = output.json();
    assert_eq!(output.code, 6, "{}", output.all());
    let repair = &result["auto_fix"]["attempts"][0]["repair"];
    assert_eq!(repair["accepted"], false);
    assert!(!repair["regressions"].as_array().unwrap().is_empty(), "{repair}");
    assert!(std::path::Path::new(repair["candidate"].as_str().unwrap()).exists());
    assert_eq!(std::fs::read_to_string(env.path("r.yaml")).unwrap(), BROKEN);
    assert_eq!(
        std::fs::read_to_string(env.home().join("calls")).unwrap().trim(),
        "2",
        "fed back once, then it ends"
    );
}

#[test]
fn a_repair_that_touches_other_files_is_refused_and_undone() {
    let fixed = BROKEN.replace("grep --quite three ledger", "grep --quiet three ledger");
    let env = world(&format!("echo evil > ledger; echo new > other\ncat <<'EOF'\n{fixed}EOF"))
        .file("r.yaml", BROKEN);
    let output = json(&env, &["r.yaml", "--auto-fix"]);
    assert_eq!(output.code, 6, "{}", output.all());
    assert_eq!(ledger(&env), "one two three");
    assert!(!env.path("other").exists());
}

#[test]
fn the_environment_is_never_repaired_in_the_recipe() {
    let env = world("echo should not be asked")
        .file("r.yaml", "name: r\nsteps:\n  - {id: a, command: no-such-tool-here}\n");
    let output = json(&env, &["r.yaml", "--auto-fix"]);
    let result = output.json();
    assert_eq!((output.code, &result["outcome"]), (1, &Json::from("blocked")), "{}", output.all());
    assert_eq!(result["diagnosis"]["class"], "environment.missing_binary");
    assert!(!env.home().join("calls").exists());
}

#[test]
fn the_same_dead_end_is_left_one_level_further_up_once() {
    let steps = "name: r\nsteps:\n  - {id: p0, prompt: p, output: z}\n  - {id: p1, prompt: 'p {{z}}', output: x}\n  - {id: g, command: 'grep -q PASS <<< \"{{x}}\"'}\n";
    let env = world("echo FAIL").file("r.yaml", steps);
    let result = json(&env, &["r.yaml", "--auto-fix=8"]).json();
    let attempts = result["auto_fix"]["attempts"].as_array().unwrap();
    let anchors: Vec<&str> =
        attempts.iter().filter_map(|attempt| attempt["plan"]["anchor"].as_str()).collect();
    assert_eq!(anchors, ["p1", "p0"], "{result}");
    assert_eq!((attempts.len(), &result["exit_code"]), (3, &Json::from(6)));
}

#[test]
fn repairs_that_change_nothing_or_get_around_a_check_are_refused() {
    let hooked = BROKEN.replace("name: r\n", "name: r\nhooks: {pre_step: echo x >> ledger}\n");
    let path = BROKEN.replace("three ledger'}", "three ledger', env: {PATH: ./fake}}");
    for (code, answer) in
        [("unchanged", BROKEN.to_owned()), ("hooks_changed", hooked), ("environment_changed", path)]
    {
        let env = world(&format!("cat <<'EOF'\n{answer}EOF")).file("r.yaml", BROKEN);
        let output = json(&env, &["r.yaml", "--auto-fix=6"]);
        assert_eq!(output.code, 6, "{code}: {}", output.all());
        let attempts = output.json()["auto_fix"]["attempts"].as_array().unwrap().clone();
        assert_eq!(attempts.len(), 2, "{code}: both refusals are shown");
        for attempt in attempts {
            let regressions = attempt["repair"]["regressions"].as_array().unwrap().clone();
            assert!(regressions.iter().any(|found| found["code"] == code), "{code}: {regressions:?}");
        }
    }
}
