//! `test --init`: a first test file that passes, and nothing overwritten.

use crate::world;

#[test]
fn a17_a_first_test_file_passes() {
    let recipe = "\
name: r
inputs:
  - {name: who, required: true}
  - {name: kind, type: choice, choices: [small, large], required: true}
  - {name: count, type: integer, required: true}
context_validation: {who: nonempty}
env: {required: [SOME_NAME]}
steps:
  - {id: look, command: 'ls -A | wc -l'}
  - {id: need, command: cat no-such-file}
  - {id: plan, prompt: 'plan for {{who}}', parse_json: true, json_schema: {type: object, required: [ok], properties: {ok: {type: boolean}}}}
  - {id: work, prompt: work, for_each: [a, b]}
  - {id: sub, recipe: child}
  - {id: approve, ask: Ship?, fields: [{name: note, required: true}]}
  - {id: push, command: git push}
";
    let env = world(recipe, "").file("child.yaml", "name: child\nsteps:\n  - {id: inner, prompt: x}\n");
    std::fs::remove_file(env.path("r.test.yaml")).unwrap();
    let made = env.run(["test", "--init", "r.yaml"]);
    assert_eq!(made.code, 0, "{}", made.all());
    assert!(made.stdout.contains("recipe-runner-rs test r.test.yaml"), "{}", made.stdout);
    let text = env.read("r.test.yaml");
    let passed = env.run(["test"]);
    assert_eq!(passed.code, 0, "{text}\n{}", passed.all());
    for part in [
        "who: example",
        "kind: small",
        "plan: {auto: true}",
        "sub/inner: {answer: done}",
        "approve: {choice: approve",
        "push:",
        "exit: 0",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let again = env.run(["test", "--init", "r"]);
    assert_eq!(again.code, 4, "{}", again.all());
    assert!(again.stderr.contains("exists and is not overwritten"), "{}", again.stderr);
    assert_eq!(env.read("r.test.yaml"), text);
    assert_eq!(env.script_calls(), 0);
    assert_eq!(env.run(["test", "--init", "no-such-recipe"]).code, 3);
}
