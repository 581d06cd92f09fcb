//! Test files: what they say, and every mistake with its place.
#![expect(clippy::expect_used, reason = "a test that cannot set itself up fails")]

use recipe::{
    check::{self, Given},
    diagnostic::Diagnostic,
    plan::Plan,
    source::Sources,
    syntax::StepType,
    test_file::{
        self, AgentReply, BashMode, CaseReply, KillMoment, Matcher, RecipeReply, ReplyKind, Selected,
        StubCall, StubPlan, TestFile, Vocabulary, select,
    },
    value::Value,
};

use crate::shelf::{Shelf, check_files};

const RECIPE: &str = "\
name: release
context: {version: '1'}
steps:
  - id: implement
    prompt: Implement {{version}}
  - id: review
    prompt: Review
    json_schema: {type: object}
    repeat: {max: 2, until: \"review.verdict == 'ok'\"}
  - id: each
    for_each: [a, b, c]
    command: echo {{item}}
  - id: build
    recipe: build
  - id: approve
    ask: Ship?
    timeout: 60
    fields: [{name: note}]
  - id: talk
    ask: Which?
    choices: [red, blue]
  - id: ship
    command: echo
    effects: [deploy]
    output: shipped
";
const BUILD: &str = "\
name: build
steps:
  - id: compile
    command: echo
  - id: summary
    prompt: Sum up
";

fn plan() -> Plan {
    let files = [("release.yaml", RECIPE), ("build.yaml", BUILD)];
    check_files(&files, &[]).plan.expect("a valid recipe")
}

fn vocabulary() -> Vocabulary {
    Vocabulary {
        run_statuses: vec!["completed", "failed", "waiting"],
        step_statuses: vec!["completed", "failed", "skipped"],
        outcomes: vec!["ok", "failed"],
        goals: vec!["ACHIEVED"],
        classes: vec!["rate_limit", "timeout"],
    }
}

fn read(text: &str) -> (Option<TestFile>, Vec<Diagnostic>, Sources) {
    let mut sources = Sources::default();
    let id = sources.add("release.test.yaml", text);
    let reading = test_file::read(&sources, id);
    let mut diagnostics = reading.diagnostics;
    if let Some(file) = &reading.file {
        diagnostics.extend(test_file::check(file, &plan(), &vocabulary()));
    }
    diagnostics.sort_by_key(|problem| problem.place);
    (reading.file, diagnostics, sources)
}

/// The fields of a case, in one line.
fn with_case(fields: &str) -> String {
    format!(
        "cases:\n  - name: one\n{}",
        fields.lines().map(|line| format!("    {line}\n")).collect::<String>()
    )
}

fn valid(text: &str) -> TestFile {
    let (file, diagnostics, _) = read(text);
    assert_eq!(diagnostics, [], "{text}");
    file.expect("a test file")
}

/// The problems as `code line:column: label`.
fn problems(text: &str) -> Vec<String> {
    let (_, diagnostics, sources) = read(text);
    let line = |problem: &Diagnostic| {
        let at = problem.place.map(|place| sources.line_column(place));
        let at = at.map(|at| format!("{}:{}", at.line, at.column)).unwrap_or_default();
        assert!(problem.help.is_some(), "{}", problem.message);
        assert_eq!(problem.severity, recipe::diagnostic::Severity::Error, "{}", problem.message);
        format!("{} {at}: {}", problem.code.as_str(), problem.label)
    };
    diagnostics.iter().map(line).collect()
}

#[test]
fn a_whole_test_file_is_read() {
    let file = valid(
        "\
fixture: {dir: shop, git: true}
coverage: {min: 100, allow: {build.ran: needs a broken mirror}}
cases:
  - name: everything
    inputs: {version: 1.2.3}
    env: {A: b}
    files: {a.txt: text, old.txt: null}
    setup: echo
    tags: {include: [x], exclude: [y]}
    options: {recovery: always, auto_fix: 2, budget: {usd: 1}}
    stubs:
      implement: {answer: done, files: {src/a.rs: x, old: null}, patch: p, usage: {usd: 0.4}, after: 5m}
      review: [{json: {verdict: bad}}, {auto: true}]
      build/summary: {fault: rate_limit, then: {answer: fine}}
      ship: {stdout: x, stderr: y, exit: 3}
      'each[1]': {signal: SIGTERM}
      'recovery:build': {answer: recovered, optional: true}
      repair: {answer: x, optional: true}
    programs: {gh: [{args: [pr, create, '**'], stdout: url}], git: {exit: 1}}
    bash: forbid
    answers: {approve: {choice: approve, fields: {note: fine}}, talk: red}
    kill: [{at: ship, moment: finished}, {at: review}]
    timeout: 2m
    skip: not now
    expect:
      exit: 1
      steps: {'review[1]': completed, '**': {not: failed}}
      values: {review.verdict: ok, shipped: {contains: x}}
      files: {a.txt: {matches: ^t}, gone: null}
      order: [implement, review]
      never: [build/*]
      calls: {build/summary: 2}
      prompts: {implement: {contains: 1.2.3}}
      commands: {never: ['git push*'], contains: [gh *], length: 1}
      changed: [a.txt]
      snapshot: true
",
    );
    let case = &file.cases[0];
    assert_eq!(
        file.fixture.as_ref().map(|fixture| (fixture.dir.as_deref(), fixture.git)),
        Some((Some("shop"), true))
    );
    assert_eq!(file.coverage.allow[0].reason, "needs a broken mirror");
    assert_eq!((case.timeout, case.bash, case.skip.as_deref()), (120.0, BashMode::Forbid, Some("not now")));
    assert_eq!(case.files, [("a.txt".to_owned(), Some("text".to_owned())), ("old.txt".to_owned(), None)]);
    assert_eq!((case.options.recovery.as_deref(), case.options.auto_fix), (Some("always"), Some(2)));
    let replies: Vec<&ReplyKind> = case.stubs.iter().map(|stub| &stub.plan.replies()[0].kind).collect();
    assert!(matches!(replies[0], ReplyKind::Agent(AgentReply::Text(text)) if text == "done"));
    assert!(matches!(replies[1], ReplyKind::Agent(AgentReply::Json(Value::Map(_)))));
    assert!(matches!(case.stubs[1].plan, StubPlan::Each(ref list) if list[1].kind == ReplyKind::Auto));
    assert!(matches!(replies[3], ReplyKind::Bash(bash) if bash.exit == 3 && bash.stdout == "x"));
    assert!(matches!(replies[4], ReplyKind::Bash(bash) if bash.signal.as_deref() == Some("TERM")));
    assert_eq!(case.stubs[0].plan.replies()[0].after, 300.0);
    assert_eq!(case.programs.len(), 2);
    assert_eq!(
        case.answers[1].reply,
        CaseReply::Choice { choice: "red".to_owned(), fields: Default::default() }
    );
    assert_eq!(
        case.kill.iter().map(|kill| kill.moment).collect::<Vec<_>>(),
        [KillMoment::Finished, KillMoment::Started]
    );
    assert!(matches!(&case.expect.files[1].1.matcher, Matcher::Words(words) if words.absent == Some(true)));
    assert!(case.expect.snapshot.is_some());
}

#[test]
fn a_case_without_anything_has_its_defaults() {
    let file = valid("cases: [{name: bare}]");
    let case = &file.cases[0];
    assert_eq!((case.timeout, case.bash, case.skip.as_deref()), (60.0, BashMode::Real, None));
    assert!(case.expect.exit.is_none() && case.expect.place.is_some());
}

#[test]
fn the_maps_of_a_case_are_merged_over_the_defaults() {
    let file = valid(
        "\
defaults:
  inputs: {version: 1, other: 2}
  timeout: 5
  stubs: {implement: {answer: a}, review: {answer: r}, ship: {exit: 1}}
  expect: {exit: 1, steps: {ship: failed, build: completed}, values: {version: 1}}
cases:
  - name: one
    inputs: {version: 9}
    stubs: {implement: {fault: crash}, review: null}
    expect: {exit: {one_of: [0, 3]}, steps: {ship: completed}}
  - name: two
    timeout: 6
",
    );
    let [one, two] = file.cases.as_slice() else { panic!("two cases") };
    assert_eq!((one.inputs["version"].render(), one.inputs["other"].render()), ("9".into(), "2".into()));
    let keys: Vec<String> = one.stubs.iter().map(|stub| stub.key.to_string()).collect();
    assert_eq!(keys, ["implement", "ship"], "null takes a stub of the defaults away");
    assert!(
        matches!(one.stubs[0].plan.replies()[0].kind, ReplyKind::Fault(_)),
        "a stub is replaced as a whole"
    );
    assert!(matches!(one.expect.exit.as_ref().map(|exit| &exit.matcher), Some(Matcher::Words(_))));
    let steps: Vec<(&str, String)> =
        one.expect.steps.iter().map(|step| (step.path.as_str(), step.expected.matcher.to_string())).collect();
    assert_eq!(steps, [("ship", "\"completed\"".to_owned()), ("build", "\"completed\"".to_owned())]);
    assert_eq!((one.timeout, two.timeout, two.stubs.len()), (5.0, 6.0, 3));
}

#[test]
fn a3_a_misspelt_path_is_found_wherever_it_is() {
    for (fields, expected) in [
        ("stubs: {implemnt: {answer: x}}", "unknown-step 3:13: did you mean `implement`?"),
        ("stubs: {build/sumary: {answer: x}}", "unknown-step 3:13: did you mean `build/summary`?"),
        ("stubs: {summary: {answer: x}}", "unknown-step 3:13: did you mean `build/summary`?"),
        ("stubs: {'reviw[1]': {answer: x}}", "unknown-step 3:13: did you mean `review[1]`?"),
        ("stubs: {'review[2]': {answer: x}}", "unknown-step 3:13: no such step"),
        ("stubs: {'each[3]': {exit: 1}}", "unknown-step 3:13: no such step"),
        ("stubs: {'ship[0]': {exit: 1}}", "unknown-step 3:13: did you mean `ship`?"),
        ("stubs: {ship/x: {exit: 1}}", "unknown-step 3:13: no such step"),
        ("stubs: {'x*': {exit: 1}}", "unknown-step 3:13: no such step"),
        ("stubs: {'recovery:biuld': {answer: x}}", "unknown-step 3:13: did you mean `build`?"),
        ("answers: {aprove: approve}", "unknown-step 3:15: did you mean `approve`?"),
        ("kill: [{at: shp}]", "unknown-step 3:17: did you mean `ship`?"),
        ("expect: {steps: {shipp: completed}}", "unknown-step 3:22: did you mean `ship`?"),
        ("expect: {calls: {shipp: 1}}", "unknown-step 3:22: did you mean `ship`?"),
        ("expect: {prompts: {implment: x}}", "unknown-step 3:24: did you mean `implement`?"),
        ("expect: {order: [implement, shipp]}", "unknown-step 3:33: did you mean `ship`?"),
        ("expect: {never: [buil/compile]}", "unknown-step 3:22: did you mean `build/compile`?"),
        ("inputs: {versoin: 1}", "unknown-setting 3:14: did you mean `version`?"),
        ("expect: {values: {versoin: 1}}", "undefined-variable 3:23: did you mean `version`?"),
    ] {
        assert_eq!(problems(&with_case(fields)), [expected], "{fields}");
    }
}

#[test]
fn words_that_no_result_has_are_found() {
    for (fields, expected) in [
        ("expect: {steps: {ship: complted}}", "unknown-word 3:22: did you mean `completed`?"),
        ("expect: {steps: {ship: {not: {one_of: [faild]}}}}", "unknown-word 3:22: did you mean `failed`?"),
        ("expect: {status: done}", "unknown-word 3:22: unknown word"),
        ("expect: {outcome: fine}", "unknown-word 3:23: unknown word"),
        ("expect: {goal: achieved}", "unknown-word 3:20: did you mean `ACHIEVED`?"),
        ("expect: {diagnosis: ratelimit}", "unknown-word 3:25: did you mean `rate_limit`?"),
        ("answers: {approve: yes}", "unknown-word 3:15: not a choice"),
        ("answers: {talk: rad}", "unknown-word 3:15: did you mean `red`?"),
        (
            "answers: {approve: {choice: approve, fields: {nte: x}}}",
            "unknown-word 3:15: did you mean `note`?",
        ),
        ("stubs: {ship: {signal: TREM}}", "unknown-word 3:28: did you mean `TERM`?"),
        ("stubs: {implement: {fault: rate-limits}}", "unknown-word 3:32: did you mean `rate_limit`?"),
    ] {
        assert_eq!(problems(&with_case(fields)), [expected], "{fields}");
    }
}

#[test]
fn what_contradicts_the_step_or_itself_is_found() {
    for (fields, expected) in [
        ("stubs: {ship: {answer: x}}", "contradiction 3:19: does not fit"),
        ("stubs: {implement: {exit: 1}}", "contradiction 3:24: does not fit"),
        ("stubs: {implement: {files: {a: b}}}", "contradiction 3:24: does not fit"),
        ("stubs: {build: {answer: x}}", "contradiction 3:20: does not fit"),
        ("stubs: {approve: {answer: x}}", "contradiction 3:22: does not fit"),
        ("stubs: {implement: {auto: true}}", "contradiction 3:13: no schema"),
        ("stubs: {'recovery:ship': {answer: x}}", "contradiction 3:13: not a recipe step"),
        ("stubs: {'recovery:build': {exit: 1}}", "contradiction 3:13: does not fit"),
        ("stubs: {repair: {exit: 1}}", "contradiction 3:13: does not fit"),
        ("stubs: {implement: {answer: x, json: 1}}", "contradiction 3:42: contradicts"),
        ("stubs: {ship: {exit: 1, signal: TERM}}", "contradiction 3:26: contradicts"),
        ("stubs: {implement: {answer: x, then: {answer: y}}}", "contradiction 3:42: no fault before it"),
        ("stubs: {'imp*': {answer: x}, '*ent': {answer: y}}", "contradiction 3:34: which one answers?"),
        ("stubs: {'b*/compile': {answer: x}}", "contradiction 3:13: fits no step"),
        ("answers: {ship: approve}", "contradiction 3:15: not an ask step"),
        ("answers: {talk: timeout}", "contradiction 3:15: no timeout"),
        ("expect: {prompts: {ship: x}}", "contradiction 3:24: not an agent step"),
        ("stubs: {ship: {real: false}}", "no-effect 3:26: "),
        ("stubs: {ship: []}", "empty-field 3:19: empty"),
        ("expect: {exit: {}}", "empty-field 3:20: nothing is expected"),
        ("expect: {error: {matches: '('}}", "bad-regex 3:31: error: unclosed group"),
        ("expect: {files: {/etc/passwd: x}}", "bad-pattern 3:22: leads outside"),
        ("files: {a/../../b: x}", "bad-pattern 3:13: leads outside"),
        ("kill: [{at: '*'}]", "bad-pattern 3:17: not one step"),
        ("kill: [{moment: started}]", "missing-field 3:12: `at` is missing"),
        ("answers: {approve: {fields: {}}}", "missing-field 3:24: `choice` is missing"),
        ("programs: {bin/gh: []}", "bad-name 3:16: not a name"),
        ("env: {A=B: c}", "bad-name 3:11: not a name"),
        ("skip: true", "wrong-type 3:11: why?"),
        ("timeout: 0", "out-of-range 3:14: out of range"),
        ("options: {auto_fix: 11}", "out-of-range 3:25: out of range"),
        ("stubs: {ship: {exit: 256}}", "out-of-range 3:26: too large"),
        ("stubs: {ship: real}", "wrong-type 3:19: not a stub or a list of stubs"),
        ("colour: red", "unknown-field 3:5: not a known field"),
        ("expectt: {}", "field-typo 3:5: not a known field"),
    ] {
        assert_eq!(problems(&with_case(fields)), [expected], "{fields}");
    }
}

#[test]
fn the_file_around_the_cases_is_checked_too() {
    for (text, expected) in [
        ("coverage: {min: 5}", "missing-field 1:1: `cases` is missing"),
        ("", "empty-file 1:1: "),
        ("[]", "wrong-type 1:1: expected `field: value`"),
        ("cases: []", "empty-field 1:8: empty"),
        ("cases: [{inputs: {}}]", "missing-field 1:9: `name` is missing"),
        ("cases: [{name: ''}]", "missing-field 1:16: `name` is missing"),
        ("cases: [{name: a}, {name: a}]", "duplicate-name 1:27: used before"),
        ("cases: [{name: a}]\nsteps: []", "unknown-field 2:1: not a known field"),
        ("cases: [{name: a}]\ncoverage: {min: 101}", "out-of-range 2:17: too large"),
        ("cases: [{name: a}]\ncoverage: {allow: {x.ran: ''}}", "empty-field 2:20: why?"),
        ("cases: [{name: a}]\ncoverage: {allow: {x.ran: }}", "empty-field 2:20: why?"),
        ("cases: [{name: a}]\nfixture: {dir: ../x}", "bad-pattern 2:16: leads outside"),
        (
            "cases: [{name: a}, {name: b}]\ndefaults: {stubs: {x: {answer: y}}}",
            "unknown-step 2:20: no such step",
        ),
    ] {
        assert_eq!(problems(text), [expected], "{text}");
    }
}

#[test]
fn the_most_precise_stub_answers() {
    let file = valid(&with_case(
        "stubs: {'**': {exit: 1}, 'ea*': {exit: 2}, each: {exit: 3}, 'each[1]': {exit: 4}, '**/summ*': {answer: x}}",
    ));
    let stubs = &file.cases[0].stubs;
    for (path, kind, expected) in [
        ("ship", StepType::Bash, Selected::One(0)),
        ("each[0]", StepType::Bash, Selected::One(2)),
        ("each[1]", StepType::Bash, Selected::One(3)),
        ("build/summary", StepType::Agent, Selected::One(4)),
        ("implement", StepType::Agent, Selected::None),
    ] {
        assert_eq!(select(stubs, StubCall::Step(path, kind)), expected, "{path}");
    }
    assert_eq!(select(stubs, StubCall::Repair), Selected::None);
}

#[test]
fn a_stub_of_a_whole_recipe_says_how_it_ends() {
    let file = valid(
        "cases:\n  - {name: a, stubs: {build: {value: 1, context: {x: 2}}}}\n  - {name: b, stubs: {build: {fail: broken}}}\n",
    );
    let kind = |case: usize| &file.cases[case].stubs[0].plan.replies()[0].kind;
    assert!(
        matches!(kind(0), ReplyKind::Recipe(RecipeReply::Completed { value: Some(_), context }) if context.len() == 1)
    );
    assert!(matches!(kind(1), ReplyKind::Recipe(RecipeReply::Failed(text)) if text == "broken"));
}

#[test]
fn a_test_file_is_not_a_recipe() {
    let text = "cases: [{name: a}]";
    let loaded = check::Loaded { path: "d/r.test.yaml".to_owned(), bytes: text.as_bytes().into() };
    let checked = check::check(loaded, &Shelf::new(&[]), &Given::default());
    let messages: Vec<&str> = checked.diagnostics.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(messages, ["this is a test file, not a recipe"]);
    assert!(test_file::is_test_file("d/r.test.yaml") && !test_file::is_test_file(".test.yaml"));
    assert_eq!(test_file::test_file_of("r.yml"), "r.test.yaml");
    assert_eq!(test_file::recipes_of("r.test.yaml"), ["r.yaml", "r.yml"]);
}

#[test]
fn every_field_has_an_explanation_and_the_schema_knows_it() {
    let schema = test_file::schema();
    let text = schema.to_string();
    for (shape, fields) in test_file::reference() {
        for field in fields {
            assert!(!field.doc.is_empty(), "{shape}.{}", field.name);
            assert!(text.contains(&format!("\"{}\":", field.name)), "{shape}.{}", field.name);
        }
    }
}
