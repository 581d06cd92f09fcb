//! Single rules of the diagnosis, fingerprints and advice.

use super::*;
use crate::run::{
    cause::{
        AgentFailure, ExceededLimit, MissingProgram, Need, Problem, Refusal, StartFailure, StartFailureKind,
    },
    event::Ended,
    next::Next,
};

fn failed(command: &str, code: i32, stderr: &str) -> Facts {
    Facts {
        outcome: Some(Outcome::Exit(code)),
        command: command.to_owned(),
        stderr: stderr.to_owned(),
        ..Facts::default()
    }
}

fn same(left: &str, right: &str) -> bool {
    let print = |text: &str| fingerprint("gate", Class::Verification, &failed("./gate", 1, text));
    print(left) == print(right)
}

#[test]
fn typed_facts_are_certain_and_text_never_is() {
    for (facts, class, confidence) in [
        (failed("grep -q x f", 1, ""), Class::Verification, Confidence::High),
        (
            failed("nope", 127, "bash: line 1: nope: command not found"),
            Class::MissingBinary,
            Confidence::High,
        ),
        (failed("./x", 1, "Error: connect ECONNREFUSED 10.0.0.1:80"), Class::Network, Confidence::Medium),
        (failed("./x", 1, "whatever"), Class::Unknown, Confidence::Low),
    ] {
        let found = diagnose(&facts);
        assert_eq!((found.class, found.confidence), (class, confidence), "{facts:?}");
        assert_eq!(found.uncertain, class == Class::Unknown);
    }
}

#[test]
fn quotes_are_short_and_say_where_they_stand() {
    let stderr = format!("first\nfatal: unable to access: Could not resolve host: {}", "é".repeat(500));
    let found = diagnose(&failed("git fetch", 128, &stderr));
    assert_eq!(found.signals[0].at, "stderr:2");
    assert!(found.signals.iter().all(|signal| signal.quote.chars().count() <= MAX_QUOTE));
}

#[test]
fn words_are_whole() {
    for (text, phrase, expected) in [
        ("status 429", "429", true),
        ("issue 4290", "429", false),
        ("test_connection_refused", "connection refused", false),
        ("connection refused.", "connection refused", true),
        ("é429é", "429", false),
        ("", "429", false),
    ] {
        assert_eq!(text::has_words(text, phrase), expected, "{text}");
    }
}

#[test]
fn fingerprints_ignore_what_changes_by_itself() {
    for (left, right) in [
        ("attempt 1 failed after 3.2s", "attempt 7 failed after 14.0s"),
        ("attempt-1: pid 4711", "attempt-2: pid 93"),
        ("2026-01-02T03:04:05Z boom", "2027-11-12T13:14:15Z boom"),
        ("[12:30:01] boom", "[09:00:59] boom"),
        ("cannot open /tmp/run.a8f/x.txt", "cannot open /tmp/run.zz1/x.txt"),
        (
            "request 3f2504e0-4f89-11d3-9a0c-0305e82c3301 failed",
            "request 6fa459ea-ee8a-3ca4-894e-db77e160355e failed",
        ),
        ("commit 4517e12 is bad", "commit 9abc001 is bad"),
        ("took 300ms", "took 12ms"),
        ("(3/7) tests failed", "(5/7) tests failed"),
        ("\u{1b}[31mboom\u{1b}[0m", "boom"),
        ("at 0x7ffee3", "at 0x55aa10"),
        ("run 20260102-030405-a1b2c3d failed", "run 20270405-060708-zzzzzzz failed"),
        ("see /r/20260102-030405-a1b2c3d/log", "see /r/20270405-060708-zzzzzzz/log"),
        ("Sun Nov 15 16:19:17 UTC 2026: boom", "Mon Dec  7 06:09:01 UTC 2026: boom"),
        ("[Wed, 04 Mar 2026] boom", "[Thu, 05 Feb 2026] boom"),
        ("finished in 350ms", "finished in 2m 3s"),
        ("request id req_011CabcDEF", "request id req_999XYZabc"),
        ("Nov 15 04:19:17 AM boom", "Nov 15 04:19:17 PM boom"),
        ("a  b", "a b"),
    ] {
        assert!(same(left, right), "{left} / {right}: {} / {}", normalize(left), normalize(right));
    }
}

#[test]
fn fingerprints_keep_what_differs() {
    for (left, right) in [
        ("missing section `Risks`", "missing section `Plan`"),
        ("error[E0308] mismatched", "error[E0425] mismatched"),
        ("src/a.rs:12: boom", "src/a.rs:40: boom"),
        ("cannot open out.txt", "cannot open log.txt"),
        ("test_1 failed", "test_2 failed"),
        ("May is missing", "Jun is missing"),
        ("test_utf8decoder1 failed", "test_utf8decoder2x failed"),
        ("PM is missing", "AM is missing"),
    ] {
        assert!(!same(left, right), "{left} / {right}");
    }
}

#[test]
fn variables_of_the_recipe_are_not_the_environments() {
    let mut facts = failed("./helper.sh", 1, "./helper.sh: line 3: ISSUE_NUMBER: unbound variable");
    assert_eq!(diagnose(&facts).class, Class::MissingEnv);
    let by_step = Some("find".to_owned());
    for (step, lack, class, words) in [
        (&by_step, Lack::Later, Class::Structure, "from step `find`, which does not run before `call`"),
        (&by_step, Lack::Skipped, Class::Structure, "from step `find`, which was skipped"),
        (&by_step, Lack::Failed, Class::Structure, "from step `find`, which failed"),
        (&by_step, Lack::Empty, Class::Structure, "from step `find`, which gave an empty value"),
        (&None, Lack::Empty, Class::MissingEnv, "which is empty: pass `--set issue_number=…`"),
        (&None, Lack::NotPassedOn, Class::Structure, "as in `ISSUE_NUMBER={{issue_number}} COMMAND`"),
    ] {
        let (variable, name, step) = ("ISSUE_NUMBER".to_owned(), "issue_number".to_owned(), step.clone());
        facts.providers = vec![Provider { variable, name, step, lack }];
        let found = diagnose(&facts);
        assert_eq!((found.class, found.provider.as_ref()), (class, facts.providers.first()));
        let advice = advice(&found, "call", &Actions::default());
        let first = &advice[0].text;
        assert!(first.starts_with("`ISSUE_NUMBER` comes ") && first.contains(words), "{advice:?}");
        assert!(!advice.iter().any(|advice| advice.text.contains(".env")), "{advice:?}");
    }
    // another variable belongs to the environment
    facts.stderr = "./helper.sh: line 3: OTHER_NAME: unbound variable".to_owned();
    let found = diagnose(&facts);
    assert_eq!((found.class, found.provider), (Class::MissingEnv, None));
}

#[test]
fn exhausted_retries_do_not_hide_the_cause() {
    let mut facts = failed("test -f x", 1, "");
    facts.retries_exhausted = true;
    let found = diagnose(&facts);
    assert_eq!((found.class, found.secondary), (Class::Verification, vec![Class::RetryExhausted]));
}

#[test]
fn every_class_has_advice_and_survives_json() {
    for class in Class::ALL {
        let diagnosis = Diagnosis::new(*class, Confidence::Medium, Vec::new());
        let actions = Actions { resume: Some(Next::resume("r")), ..Actions::default() };
        assert!(!advice(&diagnosis, "gate", &actions)[0].text.is_empty());
        let json = serde_json::to_string(&diagnosis).unwrap();
        assert!(json.contains(&format!("\"class\":\"{}\"", class.as_str())));
        assert_eq!(serde_json::from_str::<Diagnosis>(&json).unwrap(), diagnosis);
    }
}

#[test]
fn the_first_advice_fits_what_was_said() {
    for (class, quote, meaning, expected) in [
        (
            Class::MissingPath,
            "`/a` is gone",
            Some(Meaning::OldDirectory),
            "put the directory back, or a link to where it is now: `ln -s NEW OLD` (`/a` is gone)",
        ),
        (Class::MissingPath, "`/a` does not exist", None, "create the missing path, or name another one"),
        (Class::Memory, "no", Some(Meaning::ProcessLimit), "let other programs end, or raise the limit"),
        (Class::Memory, "no", None, "free memory"),
        (
            Class::Unknown,
            "it stops",
            Some(Meaning::AgentLimit("error_max_turns".to_owned())),
            "the agent of `p` stopped at a limit (error_max_turns): give it a smaller task",
        ),
        (
            Class::Unknown,
            "the agent says: no",
            Some(Meaning::AgentReport),
            "read the output of the agent of `p` before you try again: the agent says: no",
        ),
        (Class::Unknown, "the agent says: no", None, "cause unknown: read the output of `p`"),
    ] {
        let signals = vec![Signal::new("said", quote, "stderr:1").meaning(meaning)];
        let found = Diagnosis::new(class, Confidence::Low, signals);
        let told = advice(&found, "p", &Actions::default());
        assert!(told[0].text.starts_with(expected), "{told:?}");
    }
}

#[test]
fn facts_come_from_the_types_of_an_end() {
    let of = |outcome: Outcome| Facts::of_end(&Ended::new(outcome, Some("any words".to_owned())), None);
    let start = |kind| of(Outcome::NotStarted(StartFailure { kind, message: "no\nmore".to_owned() }));
    assert_eq!(
        start(StartFailureKind::ProgramNotFound("x".to_owned())).missing_program.as_deref(),
        Some("x")
    );
    assert_eq!(start(StartFailureKind::ProcessLimit).obstacle, Some(Obstacle::NoProcesses));
    assert_eq!(start(StartFailureKind::NoNullDevice).obstacle, Some(Obstacle::MissingPath));
    let other = start(StartFailureKind::Other);
    assert_eq!((other.obstacle, other.detail.as_str()), (None, "no"), "only the first line is quoted");
    let problem = |need| Problem { need, text: "say so".to_owned() };
    let needs = [Need::Value("v".to_owned()), Need::Variables(vec!["X".to_owned(), "Y".to_owned()])];
    let problems = needs.map(problem).to_vec();
    let unready = of(Outcome::Refused(Refusal::Unready { recipe: "r".to_owned(), problems }));
    assert_eq!(
        (unready.missing_values, unready.missing_env),
        (vec!["v".into()], vec!["X".into(), "Y".into()])
    );
    assert_eq!((unready.detail.as_str(), unready.obstacle), ("say so", Some(Obstacle::Unusable)));
    let directory = Refusal::Directory { path: "d".to_owned(), why: "does not exist".to_owned() };
    let ended = Ended::new(Outcome::Refused(directory), None);
    let facts = Facts::of_end(&ended, Some("sub"));
    assert_eq!(facts.obstacle, Some(Obstacle::MissingPath));
    assert_eq!(facts.detail, "Sub-recipe 'sub' failed: [error] working directory `d` does not exist");
    let limit = ExceededLimit::Depth { limit: 6 };
    assert_eq!(of(Outcome::Limit(limit.clone())).limit, Some(limit.to_string()));
    let missing = Some(MissingProgram::Named(vec!["a".to_owned(), "b".to_owned()]));
    let ended = Ended { missing, ..Ended::new(Outcome::Exit(127), None) };
    assert_eq!(Facts::of_end(&ended, None).absent_program.as_deref(), Some("a"));
    assert_eq!(of(Outcome::Exit(127)).absent_program, None);
}

#[test]
fn an_agent_that_says_why_it_failed_is_quoted() {
    let limit = AgentFailure::Limit { message: "error_max_turns".to_owned() };
    let reported = AgentFailure::Reported { message: "no".to_owned() };
    let refused = AgentFailure::Refused { status: None, message: "no".to_owned() };
    for (failure, expected) in [
        (limit, "the agent of `p` stopped at a limit (error_max_turns)"),
        (
            reported,
            "read the output of the agent of `p` before you try again: the agent reports a failure: no",
        ),
        (refused, "cause unknown: read the output of `p`"),
    ] {
        let found = diagnose(&Facts::of_end(&Ended::new(Outcome::Agent(failure), None), None));
        let told = advice(&found, "p", &Actions::default());
        assert!(told[0].text.starts_with(expected), "{told:?}");
    }
}

#[test]
fn a_killed_step_that_says_so_had_no_memory() {
    let killed = |stderr: &str| Facts {
        outcome: Some(Outcome::Signal(9)),
        stderr: stderr.to_owned(),
        ..Facts::default()
    };
    let found = diagnose(&killed("fatal: out of memory"));
    assert_eq!((found.class, found.confidence), (Class::Memory, Confidence::High));
    assert_eq!(diagnose(&killed("")).class, Class::Unknown);
}
