//! What a person decides about a repair: asked where the person is, said in words, and finished after every crash.

use std::time::Duration;

use serde_json::{Value as Json, json};
use testkit::{Output, TestEnv, until};

const BROKEN: &str = "name: r
steps:
  - {id: one, command: echo one >> ledger}
  - {id: check, command: 'grep --no-such-option x ledger'}
  - {id: two, command: echo two >> ledger}
";
const PROGRAM: &str = env!("CARGO_BIN_EXE_recipe-runner-rs");

fn fixed() -> String {
    BROKEN.replace("--no-such-option x", "-q one")
}

/// A world whose agent repairs the recipe with this text.
fn repaired(before: &str, after: &str) -> TestEnv {
    TestEnv::scripted(PROGRAM, &format!("cat <<'EOF'\n{after}EOF"))
        .env("TERM", "xterm")
        .file("r.yaml", before)
}

fn world() -> TestEnv {
    repaired(BROKEN, &fixed())
}

/// A world with a repair that waits.
fn waits() -> TestEnv {
    let env = world();
    let output = env.run(["r.yaml", "--auto-fix"]);
    assert_eq!(output.code, 6, "{}", output.all());
    env
}

fn answer(env: &TestEnv, words: &str) -> Output {
    env.run(["answer", "last"].into_iter().chain(words.split(' ')))
}

fn waiting(env: &TestEnv) -> Vec<Json> {
    env.run(["waiting", "--output-format", "json"]).json().as_array().cloned().unwrap_or_default()
}

#[test]
fn a_process_that_dies_while_it_takes_a_repair_is_finished_by_the_next() {
    for command in ["answer last accept", "resume last --accept-repair"] {
        for delay in 0..8 {
            let env = waits();
            let started = env.spawn(command.split(' '));
            std::thread::sleep(Duration::from_millis(delay * 6));
            started.kill();
            let mut output = env.run(["resume", "last"]);
            if output.code == 6 {
                output = answer(&env, "accept");
            }
            assert_eq!(output.code, 0, "{command} {delay}: {}", output.all());
            assert_eq!(env.read("r.yaml"), fixed(), "{command} {delay}: {}", output.all());
            assert!(env.read("ledger").ends_with("two\n"), "{command} {delay}");
        }
    }
}

#[test]
fn each_write_of_an_accepted_repair_can_be_done_again() {
    for (file_is_written, report_is_written) in [(false, false), (true, false), (false, true), (true, true)] {
        let env = waits();
        assert_eq!(answer(&env, "accept --no-resume").code, 0);
        if file_is_written {
            env.write("r.yaml", fixed());
        }
        if report_is_written {
            let file = env.run_dir().join("auto-fix.json");
            let mut report: Json = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
            let repair = &mut report["attempts"][0]["repair"];
            (repair["accepted"], repair["waiting"]) = (json!(true), json!(false));
            repair["changes"][0]["verdict"] = json!("accepted");
            repair["changes"][0]["decided_by"] = json!("person");
            std::fs::write(&file, report.to_string()).unwrap();
        }
        let output = env.run(["resume", "last"]);
        assert_eq!(output.code, 0, "{file_is_written} {report_is_written}: {}", output.all());
        assert_eq!((env.read("r.yaml"), env.read("ledger")), (fixed(), "one\ntwo\n".into()));
    }
    // the file was written before the answer was recorded, and the person refuses
    let env = waits();
    env.write("r.yaml", fixed());
    assert_eq!(answer(&env, "refuse").code, 6);
    assert_eq!(env.read("r.yaml"), BROKEN);
}

#[test]
fn a_resume_without_a_decision_puts_the_question_again() {
    let env = waits();
    for _ in 0..2 {
        let output = env.run(["resume", "last"]);
        assert_eq!(output.code, 6, "{}", output.all());
        for choice in ["accept", "refuse"] {
            let command = format!("auto-fix/repair-1 {choice}");
            assert!(output.stderr.contains(&command), "{command}: {}", output.all());
        }
        assert_eq!(waiting(&env).len(), 1);
    }
    let shown = env.run(["show", "last"]);
    assert!(shown.all().contains("auto-fix/repair-1 refuse"), "{}", shown.all());
    // a person who brings another recipe has decided
    env.write("mine.yaml", BROKEN.replace("--no-such-option x", "one"));
    let output = env.run(["resume", "last", "--recipe", "mine.yaml"]);
    assert_eq!((output.code, env.read("r.yaml")), (0, BROKEN.into()), "{}", output.all());
    assert!(waiting(&env).is_empty());
}

#[test]
fn a_refused_repair_is_not_offered_again() {
    let env = waits();
    let recorded = env.run(["answer", "last", "refuse", "--no-resume", "--comment", "too weak"]);
    assert_eq!(recorded.code, 0, "{}", recorded.all());
    let shown = env.run(["show", "last"]);
    assert!(
        shown.all().contains("the repair was refused by ") && shown.all().contains(": too weak"),
        "{}",
        shown.all()
    );
    for gone in ["accept-repair", " accept", "to decide"] {
        assert!(!shown.all().contains(gone), "{gone}: {}", shown.all());
    }
    assert_eq!(env.run(["runs", "--output-format", "json"]).json()[0]["status"], "waiting");
    let resumed = env.run(["resume", "last"]);
    assert_eq!((resumed.code, env.script_calls()), (1, 1), "the loop has ended: {}", resumed.all());
}

#[test]
fn the_comment_of_an_accepted_repair_is_shown() {
    let env = waits();
    let output = env.run(["answer", "last", "accept", "--comment", "seen it"]);
    assert_eq!(output.code, 0, "{}", output.all());
    let shown = env.run(["show", "last"]);
    assert!(shown.stdout.contains("decided by ") && shown.stdout.contains(": seen it"), "{}", shown.all());
}

#[test]
fn a_repair_of_a_recipe_that_was_edited_is_not_accepted() {
    let env = waits();
    let mine = format!("# mine\n{BROKEN}");
    env.write("r.yaml", &mine);
    for _ in 0..2 {
        let refused = answer(&env, "accept");
        assert_eq!(refused.code, 7, "{}", refused.all());
        assert!(refused.stderr.contains("has changed since the repair was proposed"), "{}", refused.all());
        assert_eq!((waiting(&env).len(), env.read("r.yaml")), (1, mine.clone()), "nothing is recorded");
    }
    assert_eq!(answer(&env, "refuse").code, 6);
    assert_eq!(env.read("r.yaml"), mine);
}

#[test]
fn a_run_that_stays_waits_for_the_decision() {
    for choice in ["accept", "refuse"] {
        let env = world();
        let started = env.spawn(["r.yaml", "--auto-fix", "--wait"]);
        until("the question waits", || waiting(&env).len() == 1);
        let taken = answer(&env, choice);
        assert_eq!((taken.code, taken.stdout.contains("continues")), (0, true), "{}", taken.all());
        let output = started.wait();
        let (code, text) = if choice == "accept" { (0, fixed()) } else { (6, BROKEN.to_owned()) };
        assert_eq!((output.code, env.read("r.yaml")), (code, text), "{choice}: {}", output.all());
    }
}

#[test]
fn a_question_after_an_accepted_repair_is_put_in_the_same_way() {
    let more = "  - {id: q, ask: 'go on?'}\n  - {id: three, command: echo three >> ledger}\n";
    let env = repaired(&format!("{BROKEN}{more}"), &format!("{}{more}", fixed()));
    let started = env.spawn(["r.yaml", "--auto-fix", "--wait"]);
    for (step, choice) in [("auto-fix/repair-1", "accept"), ("q", "approve")] {
        until("the question waits", || waiting(&env).first().is_some_and(|ask| ask["step"] == step));
        assert_eq!(answer(&env, &format!("{step} {choice}")).code, 0);
    }
    let output = started.wait();
    assert_eq!((output.code, env.read("ledger")), (0, "one\ntwo\nthree\n".into()), "{}", output.all());
}

#[test]
fn a_terminal_asks_about_a_repair_and_about_what_follows() {
    let more = "  - {id: q, ask: 'go on?'}\n  - {id: three, command: echo three >> ledger}\n";
    let env = repaired(&format!("{BROKEN}{more}"), &format!("{}{more}", fixed()));
    let input = "sleep 3; echo accept; sleep 3; echo approve; sleep 2";
    let output = env.typed("$RUNNER r.yaml --auto-fix", input);
    assert!(output.stdout.contains("code 0"), "{}", output.all());
    for part in ["? auto-fix/repair-1: Use the repair of", "grep -q one ledger", "? q: go on?"] {
        assert!(output.stdout.contains(part), "{part}: {}", output.all());
    }
    assert_eq!(env.read("ledger"), "one\ntwo\nthree\n");
}

#[test]
fn auto_fix_continues_after_a_question() {
    let ask = "name: r\nsteps:\n  - {id: q, ask: 'ok?'}\n  - {id: say, command: 'grep --no-such-option x r.yaml'}\n";
    for resume in [&["answer", "last", "approve"][..], &["resume", "last"]] {
        let env = repaired(ask, &ask.replace("--no-such-option x", "-q name"));
        assert_eq!(env.run(["r.yaml", "--auto-fix"]).code, 6);
        if resume[0] == "resume" {
            assert_eq!(answer(&env, "approve --no-resume").code, 0);
        }
        let output = env.run(resume.iter().copied());
        assert_eq!(env.script_calls(), 1, "{}", output.all());
        assert!(matches!(output.code, 0 | 6), "{}", output.all());
    }
}
