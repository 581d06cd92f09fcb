//! What goes wrong in a case: faults of agents, recovery, repairs, rules, budgets and questions.

use super::{Place, ended, run, step};
use runtime::recipe_tests::CaseError;
use std::time::Instant;

#[test]
fn recovery_is_answered_by_its_own_stub() {
    let recipe = "name: r\nsteps:\n- {id: sub, recipe: child, recovery_on_failure: true}\n";
    let cases = "cases:\n- name: real failure\n  stubs: {\"recovery:sub\": {answer: \"STATUS: COMPLETE\"}}\n\
                 - name: stubbed failure\n  stubs: {sub: {fail: no luck}, \"recovery:sub\": {answer: UNRECOVERABLE}}\n\
                 - name: none\n";
    let place =
        Place::new(recipe, cases, &[("child.yaml", "name: child\nsteps:\n- {id: c, command: exit 3}\n")]);
    let recovered = place.run(0);
    assert_eq!(
        (recovered.errors.len(), step(&recovered, "sub")["recovered"].as_bool()),
        (0, Some(true)),
        "{:?}",
        recovered.errors
    );
    assert!(recovered.calls.iter().any(|call| call.path == "recovery:sub"));
    let not = place.run(1);
    assert_eq!((not.errors.len(), ended(&not)["success"].as_bool()), (0, Some(false)), "{:?}", not.errors);
    let missing = place.run(2);
    assert!(
        matches!(&missing.errors[..], [CaseError::MissingStub { lines, .. }] if lines.contains("\"recovery:sub\"")),
        "{:?}",
        missing.errors
    );
}

#[test]
fn every_fault_is_what_a_real_program_would_cause() {
    let plain = "name: r\nsteps:\n- {id: a, prompt: p, timeout: 1800, idle_timeout: 600}\n";
    let began = Instant::now();
    for (fault, status, outcome, class, error) in [
        ("timeout", "failed", "failed", "timeout", "timed out after 1800 s"),
        ("idle", "failed", "failed", "agent_opaque", "no activity for 600 s"),
        ("rate_limit", "failed", "failed", "environment.rate_limit", "tried 6 times"),
        ("auth", "failed", "failed", "environment.credentials", "invalid API key"),
        ("network", "failed", "failed", "environment.network", "connection refused"),
        ("crash", "failed", "failed", "unknown", "exit code 1"),
        ("signal", "failed", "failed", "unknown", "SIGSEGV"),
        ("empty", "failed", "failed", "unknown", "without a result"),
        ("garbage", "completed", "ok", "", ""),
        ("lie", "completed", "ok", "", ""),
        ("hang_after_result", "completed", "ok", "", ""),
    ] {
        let run = run(plain, &format!("  stubs: {{a: {{fault: {fault}}}}}\n"));
        assert_eq!(run.errors, [], "{fault}");
        let (result, step) = (ended(&run), step(&run, "a"));
        assert_eq!(step["status"], status, "{fault} {result:#}");
        assert_eq!(
            result["diagnosis"]["class"].as_str().unwrap_or_default(),
            class,
            "{fault} {:#}",
            result["diagnosis"]
        );
        assert_eq!(result["outcome"], outcome, "{fault}");
        assert!(step["error"].as_str().unwrap_or_default().contains(error), "{fault} {step:#}");
    }
    assert!(began.elapsed().as_secs() < 5, "waits are skipped: {:?}", began.elapsed());
}

#[test]
fn a_missing_program_blocks_the_run_before_its_first_step() {
    let recipe = "name: r\nsteps:\n- {id: first, command: touch began}\n- {id: a, prompt: p}\n";
    let run = run(recipe, "  stubs: {a: {fault: missing}}\n");
    assert_eq!(run.errors, []);
    assert_eq!(ended(&run)["outcome"], "blocked", "{:#}", ended(&run));
    assert_eq!(run.changed, Vec::<String>::new());
    assert!(ended(&run).to_string().contains("`claude` is not found"), "{:#}", ended(&run));
}

#[test]
fn after_a_fault_comes_the_next_answer() {
    let recipe = "name: r\nsteps:\n- {id: a, prompt: p}\n- {id: b, prompt: p, parse_json: true, parse_json_required: true}\n";
    let run = run(
        recipe,
        "  stubs:\n    a: {fault: rate_limit, then: {fault: rate_limit, then: {answer: fine}}}\n    b: {fault: garbage, then: {json: {ok: true}}}\n",
    );
    assert_eq!(run.errors, []);
    assert_eq!(
        (step(&run, "a")["output"].as_str(), step(&run, "b")["output"].as_str()),
        (Some("fine"), Some("{\"ok\":true}"))
    );
    let calls = |path: &str| run.calls.iter().filter(|call| call.path == path).count();
    assert_eq!((calls("a"), calls("b")), (3, 2));
    // 60 s, then 120 s
    assert_eq!(step(&run, "a")["duration"].as_f64().map(f64::round), Some(180.0));
}

#[test]
fn a_stub_that_hangs_without_a_timeout_is_an_error() {
    let run = run("name: r\nsteps:\n- {id: a, prompt: p}\n", "  stubs: {a: {fault: timeout}}\n");
    assert_eq!(run.errors, [CaseError::NeverEnds { path: "a".to_owned() }]);
}

#[test]
fn rules_are_checked_and_asked_again() {
    let recipe = "name: r\nsteps:\n- {id: a, prompt: p, ensure: [{file: out.txt}], ensure_retries: 2}\n";
    let run_ = run(recipe, "  stubs: {a: [{answer: x}, {answer: y, files: {out.txt: z}}]}\n");
    assert_eq!((run_.errors.len(), step(&run_, "a")["output"].as_str()), (0, Some("y")), "{:?}", run_.errors);
    let prompts: Vec<_> = run_.prompts().collect();
    assert!(prompts[1].1.contains("out.txt"), "{prompts:?}");
}

#[test]
fn questions_are_answered_wait_or_run_out_of_time() {
    let recipe = "name: r\nsteps:\n- {id: q, ask: Sure?, timeout: 86400, on_timeout: reject, fields: [{name: note}]}\n- {id: after, command: 'echo {{q.choice}} {{q.note}} {{q.via}}'}\n";
    let yes = run(recipe, "  answers: {q: {choice: approve, fields: {note: fine}}}\n");
    assert_eq!(
        (yes.errors.len(), step(&yes, "after")["output"].as_str()),
        (0, Some("approve fine flag")),
        "{:?}",
        yes.errors
    );
    let no = run(recipe, "  answers: {q: {choice: reject}}\n");
    assert!(step(&no, "q")["error"].as_str().unwrap().contains("rejected"), "{:#}", ended(&no));
    let glob = run(recipe, "  answers: {\"*\": {choice: approve}}\n");
    assert_eq!((glob.errors.len(), ended(&glob)["success"].as_bool()), (0, Some(true)), "{:?}", glob.ended);
    let none = run(recipe, "");
    assert_eq!((none.errors.len(), ended(&none)["status"].as_str()), (0, Some("waiting")));
    let late = run(recipe, "  answers: {q: timeout}\n");
    assert_eq!(late.errors, []);
    assert_eq!(step(&late, "q")["status"], "failed", "{:#}", ended(&late));
    assert!(ended(&late)["duration"].as_f64().unwrap() < 86_401.0);
}

#[test]
fn budgets_count_what_stubs_report() {
    let recipe = "name: r\nsteps:\n- {id: a, prompt: p}\n- {id: b, prompt: p}\n";
    let run = run(
        recipe,
        "  options: {budget: {usd: 0.5}}\n  stubs: {a: {answer: x, usage: {usd: 0.6}}, b: {answer: y, optional: true}}\n",
    );
    assert_eq!(run.errors, []);
    assert!(step(&run, "b")["error"].as_str().unwrap().contains("budget"), "{:#}", ended(&run));
}

#[test]
fn a_repair_is_answered_and_written_into_a_copy() {
    let recipe = "name: r\nsteps:\n- {id: p, prompt: make it}\n- {id: a, command: 'grep -q --quite x f'}\n";
    let repaired =
        "name: r\\nsteps:\\n- {id: p, prompt: make it}\\n- {id: a, command: 'grep -q --quiet x f'}\\n";
    let cases = format!(
        "cases:\n- name: one\n  options: {{auto_fix: 3}}\n  files: {{f: x}}\n  stubs: {{p: {{answer: y}}, repair: {{answer: \"{repaired}\"}}}}\n"
    );
    let place = Place::new(recipe, &cases, &[]);
    let run = place.run(0);
    let original = std::fs::read_to_string(place.dir.path().join("r.yaml")).unwrap();
    assert_eq!(original, recipe, "the user's recipe is not touched");
    assert!(
        run.calls.iter().any(|call| call.path == "repair"),
        "{:?} {:#}",
        run.errors,
        ended(&run)["auto_fix"]
    );
}
