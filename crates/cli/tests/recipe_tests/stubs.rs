//! Stubs: what needs one, who gets which answer, and what stays unused.

use crate::{failures, passes, run, status, world};

#[test]
fn a2_what_has_no_stub_is_named_with_the_lines_to_add() {
    let recipe = "name: r\nsteps:\n  - {id: ask-agent, prompt: Do it}\n  - {id: ship, command: 'touch shipped', effects: [deploy]}\n";
    let result =
        run(recipe, "cases:\n  - {name: agent}\n  - {name: effect, stubs: {ask-agent: {answer: ok}}}\n");
    assert_eq!((status(&result, "agent"), status(&result, "effect")), ("error".into(), "error".into()));
    let agent = failures(&result, "agent").join("\n");
    assert!(
        agent.contains("`ask-agent`") && agent.contains("stubs:\n") && agent.contains("ask-agent: {answer:"),
        "{agent}"
    );
    let effect = failures(&result, "effect").join("\n");
    assert!(effect.contains("`ship`") && effect.contains("stubs:\n"), "{effect}");
    let known = "name: r\nsteps:\n  - {id: push, command: 'git push origin main'}\n";
    assert_eq!(
        status(&run(known, "cases: [{name: a}]"), "a"),
        "error",
        "a command that is known as an effect"
    );
    let once = "name: r\nsteps:\n  - {id: once, command: 'touch x', idempotent: false}\n";
    assert_eq!(status(&run(once, "cases: [{name: a}]"), "a"), "error");
}

#[test]
fn a3_an_unused_stub_fails_unless_it_is_optional() {
    let recipe =
        "name: r\nsteps:\n  - {id: a, command: echo}\n  - {id: b, prompt: x, condition: \"a == 'never'\"}\n";
    let result = run(
        recipe,
        "cases:\n  - {name: unused, stubs: {b: {answer: x}}}\n  - {name: optional, stubs: {b: {answer: x, optional: true}}}\n",
    );
    assert_eq!((status(&result, "unused"), status(&result, "optional")), ("error".into(), "passed".into()));
    assert!(failures(&result, "unused")[0].contains("`b` was not used"));
}

#[test]
fn a4_a_list_answers_call_by_call() {
    let recipe = "name: r\nsteps:\n  - {id: a, prompt: x, retry: {max_attempts: 3, delay: 60}}\n";
    let result = run(
        recipe,
        "cases:\n  - {name: second, stubs: {a: [{fault: crash}, {answer: two}]}, expect: {values: {a: two}, calls: {a: 2}}}\n  - {name: third, stubs: {a: [{fault: crash}, {fault: crash}]}}\n",
    );
    assert_eq!(status(&result, "second"), "passed", "{result:#}");
    assert_eq!(status(&result, "third"), "error");
    assert!(failures(&result, "third")[0].contains("2 answers"), "{result:#}");
}

#[test]
fn a4_each_item_has_its_own_entry_also_in_parallel() {
    let recipe =
        "name: r\nsteps:\n  - {id: a, prompt: 'do {{item}}', for_each: [p, q, r, s, t], max_parallel: 4}\n";
    let tests = "cases:\n  - name: items\n    stubs: {a: [{answer: P}, {answer: Q}, {answer: R}, {answer: S}, {answer: T}]}\n    expect: {values: {a: [P, Q, R, S, T]}, calls: {a: 5, 'a[3]': 1}, prompts: {'a[4]': {contains: do t}}}\n";
    let env = world(recipe, tests);
    let output = env.run(["test", "--repeat", "100", "--output-format", "json"]);
    assert_eq!(output.code, 0, "{}", output.all());
}

#[test]
fn a8_steps_of_sub_recipes_are_stubbed_by_path() {
    let recipe = "name: r\nsteps:\n  - {id: sub, recipe: child}\n  - {id: each, for_each: '{{items}}', recipe: child}\ncontext: {items: []}\n";
    let env = world(
        recipe,
        "\
cases:
  - name: entered
    stubs: {sub/think: {answer: deep}}
    expect: {steps: {sub/think: completed, sub/say: completed}, values: {said: deep}, never: ['each[0]/think']}
  - name: not entered
    stubs: {sub: {value: 7, context: {said: other}}}
    expect: {values: {sub: 7, said: other}, never: [sub/think, sub/say], steps: {sub: completed}}
  - name: fails as a whole
    stubs: {sub: {fail: out of paper}}
    expect: {exit: 1, error: {contains: out of paper}, never: [sub/*]}
  - name: two items
    inputs: {items: [x, y]}
    stubs: {sub/think: {answer: a}, each/think: [{answer: one}, {answer: two}]}
    expect: {calls: {each/think: 2}, steps: {'each[1]/say': completed}}
",
    )
    .file("child.yaml", "name: child\nsteps:\n  - {id: think, prompt: Think}\n  - {id: say, command: 'echo {{think}}', output: said}\n");
    let output = env.run(["test"]);
    assert_eq!(output.code, 0, "{}", output.all());
}

#[test]
fn the_most_precise_key_wins() {
    let recipe =
        "name: r\nsteps:\n  - {id: review, prompt: x, repeat: {max: 2}}\n  - {id: rewrite, prompt: y}\n";
    passes(
        recipe,
        "cases:\n  - name: a\n    stubs: {'**': {answer: any, optional: true}, 're*': {answer: some}, review: {answer: first}, 'review[1]': {answer: last}}\n    expect: {values: {review: last, rewrite: some}}\n",
    );
}

#[test]
fn auto_is_the_smallest_value_of_the_schema() {
    let recipe = "name: r\nsteps:\n  - id: a\n    prompt: x\n    parse_json: true\n    json_schema: {type: object, required: [verdict, n], properties: {verdict: {enum: [ok, bad]}, n: {type: integer, minimum: 3}}}\n";
    passes(recipe, "cases: [{name: a, stubs: {a: {auto: true}}, expect: {values: {a.verdict: ok, a.n: 3}}}]");
}

#[test]
fn stubs_write_and_remove_files_and_apply_patches() {
    let recipe = "name: r\nsteps:\n  - {id: a, prompt: x}\n  - {id: b, command: cat new.txt}\n";
    let tests = "\
fixture: {git: true}
cases:
  - name: files
    files: {old.txt: old, keep.txt: \"1\\n2\\n\"}
    stubs:
      a:
        answer: done
        files: {new.txt: \"fresh\\n\", old.txt: null}
        patch: |
          --- a/keep.txt
          +++ b/keep.txt
          @@ -1,2 +1,2 @@
           1
          -2
          +3
    expect: {values: {b: fresh}, files: {old.txt: null, keep.txt: \"1\\n3\\n\"}, changed: [keep.txt, new.txt, old.txt]}
";
    passes(recipe, tests);
}
