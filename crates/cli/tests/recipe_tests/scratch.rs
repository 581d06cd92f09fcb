//! The world of a case: its own files, home and environment, programs that stand in for others, and no network.

use crate::{failures, passes, run, status, world};

#[test]
fn a10_real_commands_change_only_the_scratch_copy() {
    let recipe = "name: r\nsteps:\n\
        - {id: write, command: 'echo new > made.txt; echo more >> given.txt; rm gone.txt; mkdir d; touch d/e'}\n\
        - {id: home, command: 'echo \"$HOME\"; touch \"$HOME/x\"'}\n\
        - {id: outside, command: 'echo \"[${TOP_SECRET:-none}] [$GIVEN]\"'}\n\
        - {id: serve, command: \"python3 -c 'import socket,threading; s=socket.socket(); s.bind((chr(49)+chr(50)+chr(55)+\\\".0.0.1\\\",0)); s.listen(); c=socket.create_connection(s.getsockname()); print(\\\"connected\\\")'\"}\n";
    let tests = "\
fixture: {dir: fix}
cases:
  - name: alone
    env: {GIVEN: yes-given}
    expect:
      files: {made.txt: new, given.txt: \"given\\nmore\\n\", gone.txt: {absent: true}, d: {absent: false}}
      changed: [d/e, given.txt, gone.txt, made.txt]
      values: {outside: '[none] [yes-given]', serve: connected, home: {not: {contains: '@HOME@'}}}
";
    let env = world(recipe, "")
        .env("TOP_SECRET", "hunter2")
        .file("fix/given.txt", "given\n")
        .file("fix/gone.txt", "x");
    env.write("r.test.yaml", tests.replace("@HOME@", &env.home().to_string_lossy()));
    let output = env.run(["test"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!(env.read("fix/given.txt"), "given\n");
    assert!(!env.path("~/x").exists());
}

#[test]
fn a11_programs_answer_by_their_arguments_and_every_call_is_known() {
    let recipe = "name: r\nsteps:\n  - {id: pr, command: 'gh pr create --title \"a b\"; gh api /x || echo no api; tool', effects: [pr]}\n";
    let programs = "programs: {gh: [{args: [pr, create, '**'], stdout: \"pr/7\\n\"}, {args: [api, '/*'], exit: 3}], tool: {stdout: t}}";
    let tests = format!(
        "cases:\n  - name: fits\n    stubs: {{pr: {{real: true}}}}\n    {programs}\n    expect: {{values: {{pr: {{contains: [pr/7, no api]}}}}, commands: {{contains: ['gh pr create *'], length: 3, never: ['git push*']}}}}\n  - name: never\n    stubs: {{pr: {{real: true}}}}\n    {programs}\n    expect: {{commands: {{never: ['gh pr create*']}}}}\n  - name: unknown\n    stubs: {{pr: {{real: true}}}}\n    programs: {{gh: [{{args: [pr]}}], tool: {{}}}}\n  - name: not replaced\n    stubs: {{pr: {{real: true}}}}\n    programs: {{tool: {{}}}}\n"
    );
    let result = run(recipe, &tests);
    assert_eq!(status(&result, "fits"), "passed", "{result:#}");
    assert_eq!(status(&result, "never"), "failed");
    assert!(
        failures(&result, "never")[0].contains(r"[\gh\,\pr\,\create\,\--title\,\a b\]"),
        "{:?}",
        failures(&result, "never")
    );
    assert_eq!(status(&result, "unknown"), "error");
    assert!(failures(&result, "unknown")[0].contains("gh pr create"), "{result:#}");
    assert_eq!(status(&result, "not replaced"), "error");
}

#[test]
fn a11_the_report_says_whether_the_network_is_isolated() {
    let recipe = "name: r\nsteps:\n  - {id: a, command: 'cat /proc/net/route | wc -l'}\n";
    let env = world(recipe, "cases: [{name: a}]");
    let text = env.run(["test"]);
    let json = env.run(["test", "--output-format", "json"]).json();
    let isolated = json["network_isolated"].as_bool().unwrap();
    assert_eq!(text.stdout.starts_with("network: not isolated\n"), !isolated, "{}", text.stdout);
    if isolated {
        passes(recipe, "cases: [{name: a, expect: {values: {a: 1}}}]");
    }
}

#[test]
fn setup_runs_before_the_case_and_its_failure_is_an_error() {
    let recipe = "name: r\nsteps:\n  - {id: a, command: cat made.txt}\n";
    let result = run(
        recipe,
        "cases:\n  - {name: good, setup: 'echo ready > made.txt', expect: {values: {a: ready}}}\n  - {name: bad, setup: 'false; echo no > made.txt'}\n",
    );
    assert_eq!(
        (status(&result, "good"), status(&result, "bad")),
        ("passed".into(), "error".into()),
        "{result:#}"
    );
}

#[test]
fn a_fixture_can_be_a_repository() {
    let recipe = "name: r\nsteps:\n  - {id: log, command: 'git log --format=\"%an %ad\" --date=iso-strict; git status --porcelain'}\n";
    let env = world(recipe, "fixture: {dir: fix, git: true}\ncases: [{name: a, files: {b.txt: b}, expect: {values: {log: {length: {not: 0}}}, changed: []}}]").file("fix/a.txt", "a");
    let output = env.run(["test", "--repeat", "2"]);
    assert_eq!(output.code, 0, "{}", output.all());
}
