//! Which stub answers, and what it does.

use super::{Place, ended, run, step};
use engine::Event;
use runtime::recipe_tests::CaseError;
use serde_json::{Value as Json, json};

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
    let agent = "name: r\nsteps:\n- {id: a, prompt: x, retry: {max_attempts: 3, delay: 5}}\n";
    let chain = run(agent, "  stubs: {a: [{fault: crash, then: {fault: empty}}, {answer: third}]}\n");
    assert_eq!(
        (chain.errors.len(), step(&chain, "a")["output"].as_str()),
        (0, Some("third")),
        "{:?}",
        chain.errors
    );
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
fn a_patch_is_applied() {
    let recipe = "name: r\nsteps:\n- {id: a, prompt: p}\n";
    let patch = "  files: {f: \"one\\ntwo\\n\"}\n  stubs:\n    a:\n      answer: x\n      patch: |\n        --- a/f\n        +++ b/f\n        @@ -1,2 +1,2 @@\n         one\n        -two\n        +three\n";
    let good = run(recipe, patch);
    assert_eq!(good.errors, []);
    assert_eq!(std::fs::read_to_string(good.scratch.work().join("f")).unwrap(), "one\nthree\n");
    let bad = run(recipe, &patch.replace("-two", "-six"));
    assert!(matches!(&bad.errors[..], [CaseError::Patch { .. }]), "{:?}", bad.errors);
}
