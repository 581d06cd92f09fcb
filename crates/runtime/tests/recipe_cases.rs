//! Test cases of recipes: what stubs, faults and the test clock do to a real run.

use std::{path::PathBuf, time::Instant};

use engine::Event;
use recipe::{
    source::Sources,
    test_file::{self, TestFile},
};
use runtime::{
    recipe_tests::{CaseEnd, CaseError, CaseFace, CaseJob, CaseRun, perform},
    report::RunResult,
    requests::RequestError,
};
use serde_json::{Value as Json, json};

fn result(result: &RunResult) -> Json {
    serde_json::to_value(result).unwrap()
}

fn failure(error: &RequestError) -> (u8, String) {
    (9, error.to_string())
}

/// A folder with a recipe, its sub-recipes and a test file.
struct Place {
    dir: tempfile::TempDir,
    file: TestFile,
}

impl Place {
    /// `files` are recipes beside `r.yaml`.
    fn new(recipe: &str, cases: &str, files: &[(&str, &str)]) -> Place {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [("r.yaml", recipe)].iter().chain(files) {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let mut sources = Sources::default();
        let number = sources.add("r.test.yaml", cases);
        let read = test_file::read(&sources, number);
        let problems: Vec<&String> = read.diagnostics.iter().map(|problem| &problem.message).collect();
        let file = read.file.unwrap_or_else(|| panic!("{problems:?}\n{cases}"));
        Place { dir, file }
    }

    fn job(&self, number: usize) -> CaseJob {
        let root = self.dir.path().canonicalize().unwrap();
        let fixture = self.file.fixture.as_ref();
        CaseJob {
            recipe: root.join("r.yaml"),
            fixture: fixture.and_then(|fixture| Some(root.join(fixture.dir.as_ref()?))),
            git: fixture.is_some_and(|fixture| fixture.git),
            case: self.file.cases[number].clone(),
            scratch: tempfile::Builder::new()
                .prefix("scratch")
                .tempdir()
                .unwrap()
                .keep()
                .canonicalize()
                .unwrap(),
            path: std::env::var_os("PATH").unwrap(),
            tag: format!("{}-{number}", root.display()),
            built_in: Vec::new(),
            program: None,
            recipe_dirs: Vec::new(),
        }
    }

    fn run(&self, number: usize) -> CaseRun {
        let face = CaseFace { result, failure, built_in: Vec::new };
        perform(&self.job(number), &face, &mut |_| {})
    }
}

/// Performs one case of a recipe without sub-recipes.
fn run(recipe: &str, case: &str) -> CaseRun {
    let cases = format!("cases:\n- name: one\n{case}");
    Place::new(recipe, &cases, &[]).run(0)
}

fn ended(run: &CaseRun) -> &Json {
    match &run.ended {
        Some(CaseEnd::Result(result)) => result,
        other => panic!("{other:?} {:?}", run.errors),
    }
}

fn step<'a>(run: &'a CaseRun, id: &str) -> &'a Json {
    let steps = ended(run)["step_results"].as_array().unwrap();
    steps.iter().find(|step| step["step_id"] == id).unwrap_or_else(|| panic!("no {id} in {steps:#?}"))
}

const TWO: &str = "name: r\nsteps:\n- {id: ask, prompt: 'Say {{x}}', context: {}}\n- {id: use, command: 'echo got {{ask}}'}\n";

#[test]
fn stubs_answer_for_agents_and_commands_and_no_process_starts() {
    let recipe = "name: r\nsteps:\n- {id: a, prompt: say it}\n- {id: b, command: 'exit 7'}\n- {id: c, prompt: 'after {{b}}'}\n";
    let run = run(
        recipe,
        "  stubs:\n    a: {answer: hello, files: {d/new.txt: made, old.txt: null}, usage: {usd: 0.4, input_tokens: 3}, after: 90}\n    \
         b: {stdout: \"out\\n\", exit: 0}\n    c: {json: {k: 1}}\n  files: {old.txt: old, kept.txt: kept}\n",
    );
    assert_eq!(run.errors, []);
    assert_eq!(ended(&run)["success"], true, "{:#}", ended(&run));
    assert_eq!(step(&run, "a")["output"], "hello");
    assert_eq!(step(&run, "b")["output"], "out");
    assert_eq!(step(&run, "c")["output"], "{\"k\":1}");
    assert_eq!(run.changed, ["d/new.txt", "old.txt"]);
    assert_eq!(ended(&run)["usage"]["cost_usd"], 0.4);
    // unknown is not zero
    assert_eq!(ended(&run)["usage"]["output_tokens"], Json::Null);
    assert_eq!(step(&run, "a")["duration"], 90.0);
    assert_eq!(ended(&run)["started_at"], "2026-01-01T00:00:00Z");
    assert_eq!(ended(&run)["run_id"], "20260101-000000-000aaaa");
    let prompts: Vec<_> = run.prompts().collect();
    assert!(
        prompts.len() == 2 && prompts[1].0 == "c" && prompts[1].1.starts_with("after out"),
        "{prompts:?}"
    );
    assert!(!run.events.iter().any(|record| matches!(record.event, Event::Spawned(_))));
    let Event::RunStarted(started) = &run.events[0].event else { panic!("{:?}", run.events[0]) };
    assert!(!started.performer.is_process());
    let (scratch, kept) = (run.scratch.path().to_owned(), run.scratch.work().join("kept.txt"));
    assert!(kept.exists());
    drop(run);
    assert!(!scratch.exists(), "the folder is removed");
}

#[test]
fn an_agent_without_a_stub_makes_the_case_an_error() {
    let run = run(TWO, "  inputs: {x: 1}\n");
    let [CaseError::MissingStub { path, lines, .. }] = &run.errors[..] else { panic!("{:?}", run.errors) };
    assert_eq!((path.as_str(), lines.as_str()), ("ask", "    stubs:\n      ask: {answer: done}"));
    assert_eq!(ended(&run)["success"], false);
}

#[test]
fn an_unused_stub_is_an_error_unless_it_is_optional() {
    let recipe =
        "name: r\nsteps:\n- {id: a, command: 'true', condition: 'false'}\n- {id: b, command: 'true'}\n";
    let run_ = run(recipe, "  stubs: {a: {stdout: x}}\n");
    assert_eq!(run_.errors, [CaseError::Unused { key: "a".to_owned(), number: 0 }]);
    assert_eq!(run(recipe, "  stubs: {a: {stdout: x, optional: true}}\n").errors, []);
}

#[test]
fn the_most_precise_key_wins_and_a_tie_is_an_error() {
    let recipe = "name: r\nsteps:\n- {id: abc, command: 'true'}\n- {id: abd, command: 'true'}\n";
    let stubs =
        "  stubs: {\"**\": {stdout: all, optional: true}, \"ab*\": {stdout: two}, abc: {stdout: one}}\n";
    let first = run(recipe, stubs);
    assert_eq!(
        (first.errors.len(), step(&first, "abc")["output"].as_str()),
        (0, Some("one")),
        "{:?}",
        first.errors
    );
    assert_eq!(step(&first, "abd")["output"], "two");
    let tie = run(recipe, "  stubs: {\"a*\": {stdout: x}, \"*c\": {stdout: y}, \"*d\": {stdout: z}}\n");
    assert!(matches!(&tie.errors[0], CaseError::Tie { path, .. } if path == "abc"), "{:?}", tie.errors);
}

#[test]
fn a_list_answers_call_by_call_and_then_it_is_used_up() {
    let recipe = "name: r\nsteps:\n- {id: a, command: x, retry: {max_attempts: 3, delay: 500}}\n";
    let good = run(recipe, "  stubs: {a: [{exit: 1}, {exit: 0, stdout: second}]}\n");
    assert_eq!(good.errors, []);
    assert_eq!(
        (step(&good, "a")["output"].as_str(), step(&good, "a")["attempts"].as_u64()),
        (Some("second"), Some(2))
    );
    assert!(ended(&good)["duration"].as_f64().unwrap() >= 500.0);
    let bad = run(recipe, "  stubs: {a: [{exit: 1}, {exit: 1}]}\n");
    let used_up = CaseError::UsedUp { key: "a".to_owned(), path: "a".to_owned(), entries: 2 };
    assert_eq!(bad.errors, [used_up]);
}

#[test]
fn each_item_and_each_iteration_has_its_own_entry() {
    let each = "name: r\nsteps:\n- {id: a, for_each: [x, y, z], max_parallel: 4, command: 'no {{item}}', retry: 2}\n";
    for _ in 0..20 {
        let run =
            run(each, "  stubs: {a: [{stdout: '0'}, {stdout: '1', after: 3}, {stdout: '2', after: 1}]}\n");
        assert_eq!(run.errors, []);
        assert_eq!(ended(&run)["context"]["a"], json!(["0", "1", "2"]));
    }
    let repeat = "name: r\nsteps:\n- {id: a, repeat: {max: 3, until: \"a.v == 'ok'\", delay: 3600}, prompt: p, parse_json: true}\n";
    let repeated = run(repeat, "  stubs: {a: [{json: {v: no}}, {json: {v: ok}}]}\n");
    assert_eq!(repeated.errors, []);
    assert_eq!(ended(&repeated)["context"]["a"], json!({"v": "ok"}));
    let beyond = run(repeat, "  stubs: {a: [{json: {v: no}}]}\n");
    assert!(
        matches!(&beyond.errors[..], [CaseError::UsedUp { path, .. }] if path == "a[1]"),
        "{:?}",
        beyond.errors
    );
    let one = run(repeat, "  stubs: {\"a[0]\": {json: {v: no}}, a: {json: {v: ok}}}\n");
    assert_eq!((one.errors.len(), ended(&one)["context"]["a"].clone()), (0, json!({"v": "ok"})));
}

#[test]
fn sub_recipes_are_entered_or_replaced() {
    let recipe = "name: r\nsteps:\n- {id: sub, recipe: child}\n- {id: use, command: 'echo {{sub}} {{version}} {{sub.version}}'}\n";
    let child =
        "name: child\nsteps:\n- {id: deep, prompt: go}\n- {id: v, command: echo 1, output: version}\n";
    let cases = "cases:\n- name: entered\n  stubs: {sub/deep: {answer: x}}\n\
                 - name: replaced\n  stubs: {sub: {value: done, context: {version: 2}, files: {f: x}}}\n\
                 - name: failed\n  stubs: {sub: {fail: no luck}}\n";
    let place = Place::new(recipe, cases, &[("child.yaml", child)]);
    let entered = place.run(0);
    assert_eq!(
        (entered.errors.len(), step(&entered, "use")["output"].as_str()),
        (0, Some("1 1 1")),
        "{:?}",
        entered.errors
    );
    let replaced = place.run(1);
    assert_eq!(replaced.errors, []);
    assert_eq!(step(&replaced, "use")["output"], "done 2 2");
    assert_eq!(replaced.changed, ["f"]);
    let failed = place.run(2);
    assert_eq!(failed.errors, []);
    let error = step(&failed, "sub")["error"].as_str().unwrap();
    assert!(error.contains("Sub-recipe 'child' failed") && error.contains("no luck"), "{error}");
    assert!(
        !failed.events.iter().any(
            |record| matches!(&record.event, Event::StepStarted { path, .. } if path.starts_with("sub/"))
        )
    );
}

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
        let timeout =
            if fault == "timeout" { plain.replace(", idle_timeout: 600", "") } else { plain.to_owned() };
        let run = run(&timeout, &format!("  stubs: {{a: {{fault: {fault}}}}}\n"));
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
fn auto_answers_with_the_smallest_value() {
    let recipe = "name: r\nsteps:\n- id: a\n  prompt: p\n  parse_json: true\n  json_schema: {type: object, required: [v], properties: {v: {enum: [NO_ISSUES, OK]}}}\n";
    let run = run(recipe, "  stubs: {a: {auto: true}}\n");
    assert_eq!(
        (run.errors.len(), ended(&run)["context"]["a"].clone()),
        (0, json!({"v": "OK"})),
        "{:?}",
        run.errors
    );
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
fn effects_need_a_stub_or_every_program_replaced() {
    for (step, why) in [
        ("command: 'touch did; git push'", "its command changes something outside"),
        ("command: touch did, effects: [deploy]", "`effects: [deploy]`"),
        ("command: touch did, idempotent: false", "`idempotent: false`"),
    ] {
        let recipe = format!("name: r\nsteps:\n- {{id: a, {step}}}\n");
        let refused = run(&recipe, "");
        assert!(
            matches!(&refused.errors[..], [CaseError::Effect { why: said, .. }] if said == why),
            "{step} {:?}",
            refused.errors
        );
        assert_eq!(refused.changed, Vec::<String>::new(), "{step}");
        assert_eq!(run(&recipe, "  stubs: {a: {stdout: ok}}\n").errors, [], "{step}");
    }
    let recipe = "name: r\nsteps:\n- {id: a, command: 'git push origin main && gh pr create --fill'}\n";
    let half = run(recipe, "  stubs: {a: {real: true}}\n  programs: {git: [{stdout: pushed}]}\n");
    assert!(
        matches!(&half.errors[..], [CaseError::RealProgram { missing, .. }] if missing == "`gh`"),
        "{:?}",
        half.errors
    );
    assert!(half.commands.is_empty());
    let whole = run(
        recipe,
        "  stubs: {a: {real: true}}\n  programs: {git: [{args: [push, \"**\"], stdout: pushed}], gh: [{args: [pr, create, \"**\"], stdout: \"pr/7\\n\"}]}\n",
    );
    assert_eq!(whole.errors, []);
    assert_eq!(step(&whole, "a")["output"], "pushedpr/7");
    assert_eq!(whole.commands, [vec!["git", "push", "origin", "main"], vec!["gh", "pr", "create", "--fill"]]);
    let other = run(recipe, "  stubs: {a: {real: true}}\n  programs: {git: [{args: [pull]}], gh: [{}]}\n");
    assert!(
        matches!(&other.errors[..], [CaseError::UnknownCall { argv }] if argv[1] == "push"),
        "{:?}",
        other.errors
    );
}

#[test]
fn bash_can_be_forbidden() {
    let recipe = "name: r\nsteps:\n- {id: a, command: touch did}\n";
    let run = run(recipe, "  bash: forbid\n");
    assert!(
        matches!(&run.errors[..], [CaseError::BashForbidden { path, .. }] if path == "a"),
        "{:?}",
        run.errors
    );
    assert_eq!(run.changed, Vec::<String>::new());
}

#[test]
fn real_commands_see_only_the_world_of_the_case() {
    let recipe = "name: r\nsteps:\n- {id: a, command: 'pwd; echo $HOME $TMPDIR; echo \"${MARK:-none} ${USER:-none}\"; echo x > made; cat given'}\n\
                  - {id: t, command: sleep 5, timeout: 0.2, continue_on_error: true}\n- {id: c, command: 'command -v claude || echo no agent'}\n";
    let run = run(recipe, "  env: {MARK: set}\n  files: {given: text}\n");
    assert_eq!(run.errors, []);
    let scratch = run.scratch.path().to_string_lossy().into_owned();
    let expected = format!("{scratch}/work\n{scratch}/home {scratch}/tmp\nset none\ntext");
    assert_eq!(step(&run, "a")["output"], expected);
    assert_eq!(run.changed, ["made"]);
    assert!(step(&run, "t")["error"].as_str().unwrap().contains("timed out after 0.2 s"));
    assert!(run.calls.iter().all(|call| call.stub.is_none()) && run.calls.len() == 3);
}

#[test]
fn a_fixture_is_copied_and_may_be_a_repository() {
    let recipe = "name: r\nsteps:\n- {id: a, command: 'git log --format=\"%an %aI %H\"; git status --short; rm gone; echo b > src/a; bash run.sh'}\n";
    let cases = "fixture: {dir: shop, git: true}\ncases:\n- {name: one, files: {more: m}, setup: 'echo s > by-setup'}\n- {name: two, setup: 'exit 4'}\n";
    let files = [("shop/src/a", "a"), ("shop/gone", "g"), ("shop/run.sh", "echo ran")];
    let place = Place::new(recipe, cases, &files);
    let (one, again) = (place.run(0), place.run(0));
    assert_eq!(one.errors, []);
    let output = step(&one, "a")["output"].as_str().unwrap();
    assert!(
        output.starts_with("Recipe Test 2026-01-01T00:00:00Z")
            || output.starts_with("Recipe Test 2026-01-01T00:00:00+00:00"),
        "{output}"
    );
    assert!(output.ends_with("?? by-setup\nran"), "{output}");
    assert_eq!(step(&again, "a")["output"], output, "the commit is the same each time");
    assert_eq!(one.changed, ["by-setup", "gone", "src/a"]);
    let two = place.run(1);
    assert!(matches!(&two.errors[..], [CaseError::Setup { why }] if why.contains('4')), "{:?}", two.errors);
    assert!(place.dir.path().join("shop/gone").exists());
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
    let none = run(recipe, "");
    assert_eq!((none.errors.len(), ended(&none)["status"].as_str()), (0, Some("waiting")));
    let late = run(recipe, "  answers: {q: timeout}\n");
    assert_eq!(late.errors, []);
    assert_eq!(step(&late, "q")["status"], "failed", "{:#}", ended(&late));
    assert!(ended(&late)["duration"].as_f64().unwrap() < 86_401.0);
}

#[test]
fn a_patch_is_applied() {
    let recipe = "name: r\nsteps:\n- {id: a, prompt: p}\n";
    let patch = "  files: {f: \"one\\ntwo\\n\"}\n  stubs:\n    a:\n      answer: x\n      patch: |\n        --- a/f\n        +++ b/f\n        @@ -1,2 +1,2 @@\n         one\n        -two\n        +three\n";
    let good = run(recipe, patch);
    assert_eq!(good.errors, []);
    assert_eq!(std::fs::read_to_string(good.scratch.work().join("f")).unwrap(), "one\nthree\n");
    let bad = run(recipe, &patch.replace("-two", "-six"));
    assert!(matches!(&bad.errors[..], [CaseError::Patch { .. }]), "{:?}", bad.errors);
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

#[test]
fn hooks_run_for_real() {
    let recipe = "name: r\nhooks: {pre_step: 'echo {{step_id}} >> hooks.txt'}\nsteps:\n- {id: a, prompt: p}\n- {id: b, command: 'true'}\n";
    let run = run(recipe, "  stubs: {a: {answer: x}, b: {exit: 0}}\n");
    assert_eq!(
        (run.errors.len(), run.changed.clone()),
        (0, vec!["hooks.txt".to_owned()]),
        "{:?}",
        run.errors
    );
    assert_eq!(std::fs::read_to_string(run.scratch.work().join("hooks.txt")).unwrap(), "a\nb\n");
}

#[test]
fn nothing_of_a_case_stays() {
    let place = Place::new(
        "name: r\nsteps:\n- {id: a, command: 'sleep 54321 & disown'}\n",
        "cases:\n- name: one\n",
        &[],
    );
    let before: Vec<PathBuf> =
        std::fs::read_dir(place.dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
    drop(place.run(0));
    let after: Vec<PathBuf> =
        std::fs::read_dir(place.dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
    assert_eq!(before, after);
    let all = std::process::Command::new("pgrep").args(["-f", "^sleep 54321"]).output().unwrap();
    assert!(all.stdout.is_empty(), "{}", String::from_utf8_lossy(&all.stdout));
}
