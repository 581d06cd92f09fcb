//! The rules of the diagnosis, one table for each. The corpus shows that real failures are explained; these tables
//! pin what decides.

use engine::run::cause::{AgentFailure, Refusal};
use engine::run::next::{Advice, Next};
use engine::{
    Outcome,
    failure::{
        Actions, AgentTrouble, Class, Confidence, Diagnosis, Facts, KnownBy, MAX_QUOTE, Obstacle, Producer,
        Signal, StepType, advice, diagnose, fingerprint,
    },
};

fn exit(command: &str, code: i32, stderr: &str, stdout: &str) -> Facts {
    Facts {
        outcome: Some(Outcome::Exit(code)),
        command: command.to_owned(),
        stderr: stderr.to_owned(),
        stdout: stdout.to_owned(),
        ..Facts::default()
    }
}

/// Class, confidence and evidence as `what: quote @ place`.
fn told(found: &Diagnosis) -> Vec<String> {
    let head = format!("{} {:?}", found.class.as_str(), found.confidence);
    let signals =
        found.signals.iter().map(|signal| format!("{}: {} @ {}", signal.what, signal.quote, signal.at));
    std::iter::once(head).chain(signals).collect()
}

/// Advice as text, with the action after it.
fn spelled(advice: &[Advice]) -> Vec<String> {
    let one = |advice: &Advice| match &advice.next {
        Some(Next::Written(next)) => format!("{}: {next}", advice.text),
        _ => advice.text.clone(),
    };
    advice.iter().map(one).collect()
}

#[test]
fn the_next_steps_name_actions_that_are_given() {
    let some = |text: &str| Some(text.to_owned());
    let action = |text: &str| Some(Next::Written(text.to_owned()));
    let commands = Actions {
        resume: action("R"),
        resume_edited: action("E"),
        logs: action("L"),
        plan: action("P"),
        validate: action("V"),
        doctor: action("D"),
        start: action("S"),
    };
    let without_logs = Actions { logs: None, ..commands.clone() };
    let (logs, go_on) = ("read its full output: L", ["then resume: R", "start again: S"]);
    let go_on_edited = ["then resume: E", "start again: S"];
    for (facts, commands, expected) in [
        (Obstacle::InvalidRecipe, &commands, [&["check the recipe: V"], &go_on_edited[..]].concat()),
        (Obstacle::Deadlock, &commands, [&["check the recipe: V"], &go_on_edited[..]].concat()),
        (Obstacle::WorkdirDirty, &commands, [&[logs], &go_on[..]].concat()),
        (Obstacle::WorkdirDirty, &without_logs, go_on.to_vec()),
    ] {
        let facts = Facts { obstacle: Some(facts), ..Facts::default() };
        let steps = spelled(&advice(&diagnose(&facts), "s", commands));
        assert_eq!(steps[1..], expected, "{facts:?}");
    }
    let missing = Facts { missing_program: some("x"), ..exit("x", 127, "", "") };
    for (facts, commands, expected) in [
        (missing.clone(), &commands, vec![logs]),
        (missing, &without_logs, vec!["see which programs are here: D"]),
        (exit("test -f a", 1, "", ""), &commands, vec![logs, "see which steps a resume would run again: P"]),
        (Facts { interrupted: true, ..exit("x", 1, "", "") }, &commands, vec![]),
        (exit("./x", 1, "", ""), &commands, vec![logs]),
    ] {
        let steps = spelled(&advice(&diagnose(&facts), "s", commands));
        assert_eq!(steps[1..], [&expected[..], &go_on].concat(), "{facts:?}");
    }
}

#[test]
fn the_first_step_says_what_was_seen() {
    let first = |facts: &Facts| advice(&diagnose(facts), "s", &Actions::default()).swap_remove(0).text;
    let named = Facts { missing_env: vec!["A".to_owned(), "B".to_owned()], ..Facts::default() };
    assert!(first(&named).ends_with("`env.files` names (A, B)"), "{}", first(&named));
    let said = exit("x", 127, "bash: line 1: x: command not found", "");
    assert!(first(&said).ends_with("(bash: line 1: x: command not found)"), "{}", first(&said));
    let silent = Facts { obstacle: Some(Obstacle::InvalidRecipe), ..Facts::default() };
    assert!(first(&silent).ends_with("at `s`"), "{}", first(&silent));
}

#[test]
fn evidence_says_what_and_where() {
    let ended = |facts: Facts| told(&diagnose(&facts));
    assert_eq!(
        ended(exit("test -f a", 1, "one\ntwo\n\n", "three")),
        [
            "verification High",
            "plain failure: exit 1 @ outcome",
            "the command is a check: test -f a @ command",
            "last line: two @ stderr:2"
        ]
    );
    assert_eq!(
        ended(Facts { is_check: true, ..exit("./x", 1, " \n", "three\n") }),
        [
            "verification High",
            "plain failure: exit 1 @ outcome",
            "declared as a check: ./x @ recipe",
            "last line: three @ stdout:1"
        ]
    );
    assert_eq!(
        ended(Facts { producer: Producer::Before, ..exit("./x", 1, "", "") }),
        [
            "verification Medium",
            "plain failure: exit 1 @ outcome",
            "comes right after an agent: ./x @ recipe"
        ]
    );
    assert_eq!(
        ended(exit("./x", 3, "a\nb", "")),
        ["unknown Low", "exit code: exit 3 @ outcome", "last line: b @ stderr:2"]
    );
    assert_eq!(
        ended(exit("./x", 1, "No space left on device\nNo space left on device\nNo space left on device\nNo space left on device", ""))
            .len(),
        5
    );
    let signal = |number, detail: &str| Facts {
        outcome: Some(Outcome::Signal(number)),
        detail: detail.to_owned(),
        command: "./x".to_owned(),
        ..Facts::default()
    };
    assert_eq!(ended(signal(6, "")), ["unknown Low", "ended by a signal: signal 6 @ outcome"]);
    assert_eq!(ended(signal(6, "SIGABRT")), ["unknown Low", "ended by a signal: SIGABRT @ outcome"]);
    assert_eq!(ended(signal(15, "")), ["interrupted Medium", "ended by a signal: signal 15 @ outcome"]);
    let refused =
        Facts { outcome: Some(Outcome::Refused(Refusal::Other("no".to_owned()))), ..Facts::default() };
    assert_eq!(ended(refused.clone()), ["unknown Low"]);
    let refused = Facts { detail: "no".to_owned(), ..refused };
    assert_eq!(ended(refused), ["unknown Low", "the runner's own message: no @ outcome"]);
}

#[test]
fn whose_lines_are_believed() {
    let refused = "curl: (7) Failed to connect to 10.0.0.1: Connection refused";
    let said = "connect ECONNREFUSED 10.0.0.1:80";
    let network = |facts: Facts| diagnose(&facts).class == Class::Network;
    assert!(network(exit("./x", 1, said, "")));
    assert!(!network(exit("pytest", 1, said, "")));
    assert!(network(exit("pytest", 1, refused, "")));
    assert!(!network(exit("pytest", 1, &format!("{refused}\n1 failed, 2 passed"), "")));
    assert!(!network(Facts { is_check: true, ..exit("./x", 1, said, "") }));
    assert!(network(exit("./x", 1, "", said)));
    assert!(!network(exit("./x", 1, "something else", said)));
    assert!(!network(Facts { is_check: true, ..exit("./x", 1, "", said) }));
    // a check stays one, whatever kind of step it is
    assert!(!network(Facts { is_check: true, step_type: StepType::Recipe, ..exit("./x", 1, "", said) }));
    assert!(!network(Facts { outcome: Some(Outcome::Ok), ..exit("./x", 1, said, "") }));
    assert!(!network(Facts { outcome: Some(Outcome::Signal(6)), ..exit("./x", 1, "", said) }));
    for host in ["localhost", "127.0.0.1", "0.0.0.0", "[::1]"] {
        let own = exit("./x", 1, &format!("connect ECONNREFUSED {host}:80"), "");
        assert!(network(own.clone()), "{host}");
        assert!(!network(Facts { producer: Producer::Before, ..own }), "{host}");
        let printed = exit("./x", 1, "", &format!("connect ECONNREFUSED {host}:80"));
        assert!(!network(Facts { producer: Producer::Before, ..printed }), "{host}");
    }
    assert!(network(Facts {
        producer: Producer::Before,
        ..exit("./x", 1, "connect ECONNREFUSED acme.dev:80", "")
    }));
}

#[test]
fn a_service_is_believed_by_its_result_and_quoted_by_its_words() {
    let asked = |trouble, known, stderr: &str| Facts {
        outcome: Some(Outcome::Agent(AgentFailure::TooLarge)),
        step_type: StepType::Agent,
        agent_failure: Some("so".to_owned()),
        agent_trouble: Some(trouble),
        trouble_by: known,
        stderr: stderr.to_owned(),
        ..Facts::default()
    };
    let said = "connect ECONNREFUSED 10.0.0.1:80\n401 Unauthorized";
    let what = "the agent's service refuses the login";
    for (known, stderr, expected) in [
        (KnownBy::Result, said, ["environment.credentials High", "so @ agent"]),
        (KnownBy::Words, said, ["environment.credentials Medium", "401 Unauthorized @ stderr:2"]),
        (KnownBy::Words, "", ["environment.credentials Medium", "so @ agent"]),
    ] {
        let found = told(&diagnose(&asked(AgentTrouble::Credentials, known, stderr)));
        assert_eq!(found, [expected[0].to_owned(), format!("{what}: {}", expected[1])]);
    }
    // it has answered: what it says is about the request
    let refused = diagnose(&asked(AgentTrouble::Request, KnownBy::Result, said));
    assert_eq!((refused.class, refused.secondary), (Class::Unknown, vec![]));
}

#[test]
fn what_was_said_is_shown_even_if_it_decides_nothing() {
    let found = diagnose(&exit("./x", 1, "so", "connect ECONNREFUSED 10.0.0.1:80"));
    let places: Vec<&str> = found.signals.iter().map(|signal| signal.at.as_str()).collect();
    assert_eq!((found.class, places), (Class::Unknown, vec!["outcome", "stderr:1", "stdout:1"]));
}

#[test]
fn json_is_owed_by_agents_and_by_commands() {
    for (step_type, class) in [(StepType::Agent, Class::AgentDrift), (StepType::Bash, Class::Verification)] {
        let facts = Facts {
            outcome: Some(Outcome::NotJson { problem: String::new() }),
            step_type,
            ..Facts::default()
        };
        assert_eq!(diagnose(&facts).class, class);
    }
}

#[test]
fn causes_come_before_consequences() {
    let both =
        exit("./x", 1, "connect ECONNREFUSED 10.0.0.1:80\nNo space left on device\n401 Unauthorized", "");
    let found = diagnose(&both);
    assert_eq!(found.class, Class::Disk);
    assert_eq!(found.secondary, [Class::Network, Class::Credentials]);
    assert_eq!(found.signals[0].at, "stderr:2");
}

#[test]
fn programs_that_are_not_there() {
    let subject = |code, stderr: &str| {
        let found = diagnose(&exit("./x", code, stderr, ""));
        found.class == Class::MissingBinary
    };
    for (code, stderr, expected) in [
        (127, "bash: line 1: frob: command not found", true),
        (1, "bash: line 1: frob: command not found", true),
        (127, "sh: 1: frob: not found", true),
        (1, "page: not found", false),
        (127, "bash: ./frob: No such file or directory", true),
        (1, "bash: in.txt: No such file or directory", false),
        (1, "cat: in.txt: No such file or directory", false),
        (127, "cat: in.txt: No such file or directory", false),
        (1, "/usr/bin/env: ‘frob’: No such file or directory", true),
        (1, "env: frob: No such file or directory", true),
        (2, "make: frob: No such file or directory\nmake: *** [all] Error 127", true),
        (2, "make: frob: No such file or directory\nmake: *** [all] Error 1", false),
        (2, "frob: No such file or directory\nError 127", false),
        (1, "exec: \"frob\": executable file not found in $PATH", true),
        (1, "error: linker `cc` not found", true),
        (1, "error: linker `cc` failed", false),
        (1, "Error: spawn frob ENOENT", true),
        (1, "Error: open frob ENOENT", false),
        (1, "Error: spawn frob EACCES", false),
        (1, "File subprocess.py\nFileNotFoundError: [Errno 2] No such file or directory: 'frob'", true),
        (1, "File subprocess.py\nFileNotFoundError: [Errno 2] No such file or directory: 'a/frob'", false),
        (1, "FileNotFoundError: [Errno 2] No such file or directory: 'frob'", false),
    ] {
        assert_eq!(subject(code, stderr), expected, "{code} {stderr}");
    }
    let long = "x".repeat(80);
    assert!(!subject(1, &format!("{long}: command not found")));
    assert!(subject(1, &format!("{}: command not found", &long[1..])));
    // nobody said it, but the command is nowhere
    let absent = |name: &str| Facts { absent_program: Some(name.to_owned()), ..exit("x", 127, "", "") };
    let (found, local) = (diagnose(&absent("frob")), absent("./made.sh"));
    assert_eq!((found.class, found.confidence), (Class::MissingBinary, Confidence::Medium));
    assert_eq!(diagnose(&Facts { outcome: Some(Outcome::Exit(1)), ..absent("frob") }).class, Class::Unknown);
    assert_ne!(diagnose(&Facts { producer: Producer::Before, ..local }).class, Class::MissingBinary);
    // a script that the agent before should have written is its work
    let local = exit("./made.sh", 127, "bash: line 1: ./made.sh: No such file or directory", "");
    assert_eq!(diagnose(&local).confidence, Confidence::High);
    assert_ne!(diagnose(&Facts { producer: Producer::Before, ..local }).confidence, Confidence::High);
    for name in ["frob", "/opt/frob"] {
        let facts = exit(name, 127, &format!("bash: line 1: {name}: command not found"), "");
        let found = diagnose(&Facts { producer: Producer::Before, ..facts });
        assert_eq!((found.class, found.confidence), (Class::MissingBinary, Confidence::High), "{name}");
    }
}

#[test]
fn variables_that_are_not_set() {
    for (stderr, expected) in [
        ("bash: A_b1: unbound variable", true),
        ("bash: _a: unbound variable", true),
        ("bash: 1a: unbound variable", false),
        ("bash: a-b: unbound variable", false),
        ("bash: A: parameter null or not set", true),
        ("./helper.sh: line 3: ISSUE_NUMBER: unbound variable", true),
        ("/opt/my tools/x.sh: line 12: TOKEN: unbound variable", true),
        ("x.sh: 3: TOKEN: parameter not set", true),
        ("zsh:3: TOKEN: parameter not set", true),
        ("TOKEN: unbound variable", false),
        ("config.toml: TOKEN: unbound variable", false),
        ("./helper.sh: line x: TOKEN: unbound variable", false),
        ("./helper.sh: line 3: TOKEN: unbound variable in a.yaml", false),
        ("KeyError: 'A_B'\n  os.environ['A_B']", true),
        ("KeyError: 'a'", false),
        ("thread 'main' panicked at src/main.rs:1:1:\nAPI_TOKEN must be set: NotPresent", true),
        ("API_TOKEN must be set", false),
        ("environment variable TOKEN is required", true),
        ("environment variable API is required", false),
        ("environment variable token is required", false),
        ("environment variable TOKENs is required", false),
        ("environment variable TOK9 is required", true),
        ("environment variable 9TOK is required", false),
        ("environment variable TF_VAR_name is required", true),
        ("ERROR: environment variable is required", false),
        ("FATAL: environment variable is required", false),
    ] {
        let found = diagnose(&exit("./x", 1, stderr, ""));
        assert_eq!(found.class == Class::MissingEnv, expected, "{stderr}");
    }
}

#[test]
fn a_check_that_says_not_set_misses_no_variable() {
    for said in [
        "version is not set in config.toml",
        "FAIL: field 'owner' is not set",
        "FAIL: field 'OWNER_NAME' is not set",
        "MAX_SIZE is not set in config.toml",
        "MAX_SIZE is not set",
        "the LOG_LEVEL setting is missing",
        "FEATURE_FLAG is undefined",
        "API_TOKEN is required",
        "please set MAX_SIZE",
        "app.yaml: environment variable LOG_LEVEL is not set",
        "environment variable LOG_LEVEL is not set in app.yaml",
    ] {
        for facts in [exit("./x", 1, said, ""), exit("./x", 1, "", said)] {
            let found = diagnose(&facts);
            assert_eq!((found.class, found.secondary), (Class::Unknown, vec![]), "{said}");
        }
    }
}

#[test]
fn quotes_are_cut_where_people_stop_reading() {
    let quoted = |count: usize| Signal::new("a", &"é".repeat(count), "b").quote.chars().count();
    assert_eq!([quoted(MAX_QUOTE - 1), quoted(MAX_QUOTE), quoted(MAX_QUOTE + 1)], [159, 160, 160]);
    assert!(!Signal::new("a", &"é".repeat(MAX_QUOTE), "b").quote.ends_with('…'));
    let far = format!("{}é No space left on device", "x".repeat(1_999));
    assert_eq!(diagnose(&exit("./x", 1, &far, "")).class, Class::Unknown);
}

#[test]
fn several_findings_are_told_as_one() {
    let found = |obstacle| diagnose(&Facts { obstacle: Some(obstacle), ..Facts::default() });
    let parts = [Obstacle::WorkdirDirty, Obstacle::StaleState, Obstacle::StaleState, Obstacle::WorkdirDirty];
    let together = Diagnosis::together(parts.map(found)).unwrap();
    assert_eq!((together.class, together.signals.len()), (Class::WorkdirDirty, 4));
    assert_eq!(together.secondary, [Class::StaleState]);
    assert_eq!(Diagnosis::together([]), None);
}

#[test]
fn fingerprints_tell_steps_classes_and_outcomes_apart() {
    let facts = exit("./x", 1, "boom", "");
    let print = |step, class, facts: &Facts| fingerprint(step, class, facts);
    let first = print("a", Class::Unknown, &facts);
    assert_eq!(first, print("a", Class::Unknown, &facts));
    assert_ne!(first, print("b", Class::Unknown, &facts));
    assert_ne!(first, print("a", Class::Network, &facts));
    assert_ne!(
        first,
        print("a", Class::Unknown, &Facts { outcome: Some(Outcome::Exit(2)), ..facts.clone() })
    );
    let timed_out = |seconds| Facts { outcome: Some(Outcome::TimedOut(seconds)), ..facts.clone() };
    assert_eq!(print("a", Class::Timeout, &timed_out(1.5)), print("a", Class::Timeout, &timed_out(2.5)));
}
