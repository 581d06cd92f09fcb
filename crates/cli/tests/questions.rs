//! Steps that ask a person: what waits, who answers, and what no crash can lose or repeat.

use std::time::Duration;

use serde_json::Value as Json;
use testkit::{TestEnv, until};

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs")).env("TERM", "xterm").env("SHELL", "/bin/bash")
}

const APPROVE: &str = "name: r\ncontext: {version: '1.4'}\nsteps:\n\
    - {id: build, command: 'echo x >> built; echo built {{version}}'}\n\
    - id: approve\n  ask: Publish {{version}}?\n  show: [notes.md, '{{build}}']\n\
    \x20 fields: [{name: reason}, {name: count, type: integer}]\n\
    - {id: publish, condition: \"approve.choice == 'approve'\", command: 'echo x >> published; echo {{approve.count}} {{approve.by}} {{approve.via}}'}\n";

fn asking() -> TestEnv {
    env().file("r.yaml", APPROVE).file("notes.md", "one\n")
}

#[test]
fn a_run_waits_and_an_answer_continues_it() {
    let env = asking();
    let output = env.run(["r.yaml", "--output-format", "json"]);
    let json = output.json();
    assert_eq!(
        (output.code, json["status"].as_str(), json["exit_code"].as_u64()),
        (6, Some("waiting"), Some(6))
    );
    assert_eq!(output.step("approve")["status"], "waiting");
    assert_eq!(json["asks"][0]["question"], "Publish 1.4?");
    assert_eq!(env.run(["runs", "--output-format", "json"]).json()[0]["status"], "waiting");
    let asked = &env.waiting()[0];
    assert_eq!((&asked["step"], &asked["digest"]), (&Json::from("approve"), &json["asks"][0]["digest"]));
    assert!(asked["command"].as_str().is_some_and(|command| command.contains(" approve approve")), "{asked}");
    assert!(output.stderr.contains("recipe-runner-rs answer"), "{}", output.all());

    let done = env.answer("approve --set count=3 --set reason=fine");
    assert_eq!(done.code, 0, "{}", done.all());
    assert!(done.stdout.contains("3 ") && done.stdout.contains(" cli\n"), "{}", done.all());
    assert_eq!((env.read("built"), env.read("published")), ("x\n".into(), "x\n".into()));
    assert!(env.waiting().is_empty());
    let show = env.run(["show", "last", "--output-format", "json"]);
    let value: Json =
        serde_json::from_str(show.step("approve")["output"].as_str().unwrap_or("")).unwrap_or_default();
    assert_eq!(
        (&value["choice"], &value["reason"], &value["count"]),
        (&"approve".into(), &"fine".into(), &3.into())
    );
    let answered = env.records().into_iter().find_map(|record| record["event"].get("answered").cloned());
    assert_eq!(answered.unwrap_or_default()["origin"]["surface"], "cli");

    let again = env.answer("reject");
    assert_eq!(again.code, 7, "{}", again.all());
    assert!(again.stderr.contains("already answered: `approve` by "), "{}", again.all());
    assert_eq!(env.events("answered"), 1);
}

#[test]
fn a_wrong_answer_is_refused_with_all_its_problems_and_records_nothing() {
    let env = asking();
    env.run(["r.yaml"]);
    let before = env.records().len();
    for (words, problems) in [
        ("aprove", &["did you mean `approve`?"][..]),
        (
            "maybe --set count=x --set foo=1",
            &["`maybe` is not one", "no field `foo`", "must be a whole number"],
        ),
        ("nope approve", &["has no question `nope`"]),
        ("approve --set count", &["FIELD=VALUE"]),
    ] {
        let output = env.answer(words);
        assert_eq!(output.code, 2, "{words}: {}", output.all());
        for problem in problems {
            assert!(output.stderr.contains(problem), "{words}: {problem}: {}", output.all());
        }
    }
    assert_eq!(env.records().len(), before);
    let json = env.answer("maybe --output-format json");
    assert_eq!((json.code, json.json()["taken"].clone()), (2, false.into()), "{}", json.all());
    // wrong words are refused first, also if the question is answered
    assert_eq!(env.answer("approve").code, 0);
    assert_eq!(env.answer("maybe").code, 2);
    assert_eq!(env.run(["answer", "nothing", "approve"]).code, 3);
}

#[test]
fn changed_contents_are_shown_and_the_question_is_put_again() {
    let env = asking();
    env.run(["r.yaml"]);
    let seen = env.waiting()[0]["digest"].as_str().unwrap_or_default().to_owned();
    env.write("notes.md", "one\ntwo\n");
    let output = env.answer("approve");
    assert_eq!(output.code, 7, "{}", output.all());
    assert!(output.stderr.contains("+ two"), "{}", output.all());
    assert_eq!(env.run(["runs", "--output-format", "json"]).json()[0]["status"], "waiting");
    let now = env.waiting()[0]["digest"].as_str().unwrap_or_default().to_owned();
    assert_ne!(seen, now);
    // the surface says what the person saw
    assert_eq!(env.answer(&format!("approve --digest {seen}")).code, 7);
    assert!(!env.path("published").exists());
    let done = env.answer(&format!("approve --digest {now}"));
    assert_eq!(done.code, 0, "{}", done.all());
    assert_eq!(env.read("published"), "x\n");
}

#[test]
fn a_rejected_step_fails_and_own_choices_do_not() {
    let env = asking();
    env.run(["r.yaml"]);
    let output = env.answer("reject --comment risky");
    assert_eq!(output.code, 1, "{}", output.all());
    assert!(output.stderr.contains("rejected by ") && output.stderr.contains(": risky"), "{}", output.all());
    let own = "name: o\nsteps: [{id: q, ask: 'how?', choices: [a, reject]}, {id: z, command: 'echo {{q.choice}}'}]\n";
    let output = env.text(own, &["--set", "ask.q=reject"]);
    assert_eq!((output.code, output.stdout.contains("reject\n")), (0, true), "{}", output.all());
}

#[test]
fn a_live_run_takes_answers_from_its_inbox() {
    let env = env().file(
        "r.yaml",
        "name: r\nsteps:\n- {id: q, ask: 'ok?', parallel_group: g}\n- {id: a, command: 'touch begun; sleep 0.2', parallel_group: g}\n- {id: z, command: 'echo {{q.by}}'}\n",
    );
    let started = env.spawn(["r.yaml", "--wait"]);
    until("the question waits", || env.waiting().len() == 1);
    assert_eq!(env.answer("maybe").code, 2);
    let taken = env.answer("approve");
    assert_eq!((taken.code, taken.stdout.contains("continues")), (0, true), "{}", taken.all());
    let output = started.wait();
    assert_eq!(output.code, 0, "{}", output.all());
    assert_eq!((env.events("answered"), env.events("run_resumed")), (1, 0));
}

#[test]
fn of_many_answers_at_once_exactly_one_is_taken() {
    for wait in [false, true] {
        let env = asking();
        let started = wait.then(|| env.spawn(["r.yaml", "--wait"]));
        if started.is_none() {
            env.run(["r.yaml"]);
        }
        until("the question waits", || env.waiting().len() == 1);
        let all: Vec<_> = (0..4).map(|_| env.spawn(["answer", "last", "approve"])).collect();
        let codes: Vec<i32> = all.into_iter().map(|one| one.wait().code).collect();
        if let Some(started) = started {
            assert_eq!(started.wait().code, 0);
        }
        assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
        assert!(codes.iter().all(|code| matches!(code, 0 | 7)), "{codes:?}");
        assert_eq!((env.events("answered"), env.read("published")), (1, "x\n".into()));
    }
}

#[test]
fn a_killed_run_keeps_its_question_and_its_answer() {
    let env = asking();
    let started = env.spawn(["r.yaml", "--wait"]);
    until("the question waits", || env.waiting().len() == 1);
    started.kill();
    assert_eq!(env.waiting().len(), 1, "it still waits");
    let recorded = env.answer("approve --no-resume --set count=7");
    assert_eq!(recorded.code, 0, "{}", recorded.all());
    assert!(env.waiting().is_empty());
    assert!(!env.path("published").exists());
    assert_eq!(env.answer("reject").code, 7);
    let output = env.run(["resume", "last"]);
    assert_eq!((output.code, output.stdout.contains("7 ")), (0, true), "{}", output.all());
    assert_eq!(
        (env.read("built"), env.read("published"), env.events("answered")),
        ("x\n".into(), "x\n".into(), 1)
    );
}

#[test]
fn timeouts_count_over_resumes_and_are_judged_by_the_next_process() {
    let recipe = "name: r\nsteps:\n- {id: q, ask: 'ok?', timeout: 1, on_timeout: reject}\n- {id: z, command: 'true'}\n";
    let late = Duration::from_millis(1100);
    for judge in ["waiting", "answer last approve", "resume last"] {
        let env = env().file("r.yaml", recipe);
        assert_eq!(env.run(["r.yaml"]).code, 6);
        std::thread::sleep(late);
        let output = env.run(judge.split(' '));
        let expected = match judge {
            "waiting" => 0,
            "resume last" => 1,
            _ => 7,
        };
        assert_eq!(output.code, expected, "{judge}: {}", output.all());
        let answered = env.records().into_iter().find_map(|record| record["event"].get("answered").cloned());
        let answered = answered.unwrap_or_default();
        assert_eq!((&answered["via"], &answered["choice"]), (&"timeout".into(), &"reject".into()), "{judge}");
        let resumed = env.run(["resume", "last"]);
        if judge != "resume last" {
            assert_eq!(resumed.code, 1, "{}", resumed.all());
            assert!(
                resumed.stderr.contains("rejected by timeout: no answer within 1 s"),
                "{}",
                resumed.all()
            );
        }
    }
    let env = env();
    let fails = "name: r\nsteps: [{id: q, ask: 'ok?', timeout: 0.3}]\n";
    let output = env.text(fails, &["--wait"]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert!(output.stderr.contains("timed out after 0.3 s without an answer"), "{}", output.all());
}

#[test]
fn a_failed_group_withdraws_its_question_and_a_resume_puts_it_again() {
    let env = env()
        .file("c.yaml", "name: c\nsteps: [{id: first, command: 'echo x >> first'}, {id: i, ask: 'in?'}]\n")
        .file(
            "r.yaml",
            "name: r\nsteps:\n- {id: s, recipe: c, parallel_group: g}\n- {id: bad, command: test -e ok, parallel_group: g}\n",
        );
    let output = env.run(["r.yaml"]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert!(env.waiting().is_empty());
    assert_eq!(env.answer("s/i approve").code, 7);
    env.write("ok", "");
    let output = env.run(["resume", "last", "--output-format", "json"]);
    assert_eq!((output.code, output.step("s")["status"].clone()), (6, "waiting".into()), "{}", output.all());
    assert_eq!(env.waiting()[0]["step"], "s/i");
    assert_eq!(env.answer("approve").code, 0);
    assert_eq!(env.read("first"), "x\n");
}

#[test]
fn several_questions_are_named_and_listed_oldest_first() {
    let env = env().file(
        "r.yaml",
        "name: r\nsteps:\n- {id: b, ask: 'b?', parallel_group: g}\n- {id: a, ask: 'a?', parallel_group: g}\n- {id: z, command: 'echo x >> z'}\n",
    );
    env.run(["r.yaml"]);
    let later = "name: later\nsteps: [{id: '0', ask: 'later?'}]\n";
    env.write("later.yaml", later);
    env.run(["later.yaml", "--state-dir", "other"]);
    assert_eq!(env.waiting().len(), 2, "another state directory has its own questions");
    // a time without its last zeros comes first only without the letter after it
    let time = |ask: &Json| ask["since"].as_str().unwrap_or_default().trim_end_matches('Z').to_owned();
    let since: Vec<String> = env.waiting().iter().map(time).collect();
    assert!(since.is_sorted(), "{since:?}");
    let output = env.answer("approve");
    assert_eq!(output.code, 2, "{}", output.all());
    assert_eq!(env.answer("a approve").code, 6);
    assert_eq!(env.answer("approve").code, 0);
    assert_eq!(env.read("z"), "x\n");
}

#[test]
fn answers_given_beforehand_are_checked_before_the_first_step() {
    let env = env().file(
        "c.yaml",
        "name: c\nsteps: [{id: i, ask: 'in?', fields: [{name: n, type: integer, required: true}]}]\n",
    );
    let recipe = "name: r\nsteps:\n- {id: a, command: 'echo x >> a'}\n- {id: s, recipe: c}\n- {id: z, command: 'echo {{i.n}} {{i.via}}'}\n";
    for (sets, problem) in [
        (&["ask.nope=approve"][..], "has no question `nope`"),
        (&["ask.s/i=maybe", "ask.s/i.n=1"], "`maybe` is not one of the choices"),
        (&["ask.s/i=approve"], "the field `n` is missing"),
        (&["ask.s/i.n=1"], "has no choice"),
    ] {
        let arguments: Vec<&str> = sets.iter().flat_map(|set| ["--set", set]).collect();
        let output = env.text(recipe, &arguments);
        assert_eq!((output.code, output.stderr.contains(problem)), (4, true), "{sets:?}: {}", output.all());
    }
    assert!(!env.path("a").exists());
    let output = env.text(recipe, &["--set", "ask.s/i=approve", "--set", "ask.s/i.n=4"]);
    assert_eq!((output.code, output.stdout.contains("4 flag\n")), (0, true), "{}", output.all());
    let old = "name: r\ncontext: {ask: {x: 1}}\nsteps: [{id: a, command: 'echo got {{ask.x}}'}]\n";
    assert!(
        env.text(old, &["--set", "ask.x=5"]).stdout.contains("got 5"),
        "old recipes mean what they meant"
    );
}

#[test]
fn a_dry_run_shows_the_question_and_does_not_ask() {
    let output = asking().run(["r.yaml", "--dry-run"]);
    assert_eq!(output.code, 0, "{}", output.all());
    assert!(output.stdout.contains("would ask a person (approve, reject): Publish 1.4?"), "{}", output.all());
}

#[test]
fn secret_fields_are_masked_everywhere() {
    let env = env();
    let recipe = "name: r\nsteps:\n- {id: q, ask: 'token?', fields: [{name: pin, type: secret}]}\n- {id: z, command: 'echo got {{q.pin}}'}\n";
    assert_eq!(env.text(recipe, &[]).code, 6);
    let output = env.answer("approve --set pin=hunter22");
    assert_eq!((output.code, output.stdout.contains("got [REDACTED]")), (0, true), "{}", output.all());
    for words in ["show last --output-format json", "show last", "logs last", "runs"] {
        let output = env.run(words.split(' '));
        assert!(!output.all().contains("hunter22"), "{words}: {}", output.all());
    }
}

#[test]
fn a_missing_shown_file_fails_the_step_with_its_name() {
    let output = env().text("name: r\nsteps: [{id: q, ask: 'ok?', show: [none.md]}]\n", &[]);
    assert_eq!(output.code, 1, "{}", output.all());
    assert!(
        output.stderr.contains("`none.md`, which the question shows, cannot be read"),
        "{}",
        output.all()
    );
}

#[test]
fn a_terminal_asks_checks_and_asks_again() {
    let env = asking();
    let output = env.typed(
        "$RUNNER r.yaml",
        "sleep 1; echo maybe; sleep 0.5; echo approve; sleep 0.5; echo fine; sleep 0.5; echo x; sleep 0.5; echo 3; sleep 2",
    );
    assert!(output.stdout.contains("code 0"), "{}", output.all());
    for part in
        ["? approve: Publish 1.4?", "│ one", "`maybe` is not one of the choices", "must be a whole number"]
    {
        assert!(output.stdout.contains(part), "{part}: {}", output.all());
    }
    assert!(env.read("published").contains('x'));
    let answered = env.records().into_iter().find_map(|record| record["event"].get("answered").cloned());
    assert_eq!(answered.unwrap_or_default()["via"], "terminal");
}

#[test]
fn an_answer_from_elsewhere_takes_the_question_away() {
    let env = asking();
    let program = env!("CARGO_BIN_EXE_recipe-runner-rs");
    let answer = format!("sleep 1.5; {program} answer last approve > /dev/null; sleep 2");
    let output = env.typed("$RUNNER r.yaml", &answer);
    assert!(output.stdout.contains("code 0"), "{}", output.all());
    assert!(output.stdout.contains("answered `approve` by "), "{}", output.all());
    assert_eq!(env.read("published"), "x\n");
}

#[test]
fn mistakes_in_questions_are_reported_all_at_once() {
    let recipe = "name: r\nsteps:\n- id: a\n  ask: ''\n- id: b\n  ask: 'x?'\n  command: y\n- id: c\n  ask: 'x?'\n  choices: []\n\
        - id: d\n  ask: 'x?'\n  choices: [a, a, fail]\n  on_timeout: b\n  timeout: 3\n- id: e\n  ask: 'x?'\n  show: [{file: a, text: b}, '']\n\
        - id: f\n  ask: 'x?'\n  fields: [{name: by}, {name: k, type: choice}, {name: k}]\n- {id: g, command: x, choices: [a]}\n- {id: h, ask: 'x?', on_timeout: fail}\n";
    let env = env().file("r.yaml", recipe);
    let output = env.run(["validate", "r.yaml", "--output-format", "json"]);
    assert_eq!(output.code, 2, "{}", output.all());
    let json = output.json();
    let found: Vec<(String, String)> = json["diagnostics"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| (one["code"].as_str().unwrap_or("").to_owned(), one["line"].to_string()))
        .collect();
    for expected in [
        ("nothing-to-do", "3"),
        ("contradiction", "7"),
        ("empty-field", "10"),
        ("duplicate-name", "13"),
        ("contradiction", "13"),
        ("unknown-word", "14"),
        ("contradiction", "18"),
        ("empty-field", "18"),
        ("bad-name", "21"),
        ("missing-field", "21"),
        ("duplicate-name", "21"),
        ("no-effect", "22"),
        ("no-effect", "23"),
    ] {
        assert!(found.contains(&(expected.0.to_owned(), expected.1.to_owned())), "{expected:?}: {found:#?}");
    }
}
