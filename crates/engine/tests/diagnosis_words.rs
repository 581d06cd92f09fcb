//! The words by which steps and agents say what is wrong around them, the names in them, and how they are quoted.

use engine::run::cause::AgentFailure;
use engine::{
    Outcome,
    failure::{
        Actions, AgentTrouble, Before, Class, Confidence, Diagnosis, Facts, Producer, StepType, advice,
        diagnose,
    },
};

fn exit(command: &str, code: i32, stderr: &str) -> Facts {
    Facts {
        outcome: Some(Outcome::Exit(code)),
        command: command.to_owned(),
        stderr: stderr.to_owned(),
        ..Facts::default()
    }
}

fn ended_by(signal: i32, command: &str) -> Facts {
    Facts { outcome: Some(Outcome::Signal(signal)), command: command.to_owned(), ..Facts::default() }
}

/// `class confidence`.
fn told(found: &Diagnosis) -> String {
    let confidence = match found.confidence {
        Confidence::High => "high",
        Confidence::Medium => "medium",
        Confidence::Low => "low",
    };
    format!("{} {confidence}", found.class.as_str())
}

#[track_caller]
fn check(facts: &Facts, expected: &str) {
    let found = diagnose(facts);
    assert_eq!(told(&found), expected, "{:?} {:?} {:?}", facts.command, facts.stderr, found.signals);
}

#[test]
fn the_plainest_words_are_enough() {
    for (class, texts) in [
        (
            "environment.network medium",
            &[
                "connection refused",
                "Connection refused",
                "CONNECTION REFUSED",
                "error: connection refused",
                "connection refused: localhost:5432",
                "fatal: connection refused by 10.0.0.1",
                "The connection to the server db:1 was refused",
                "DNS lookup failed",
                "DNS resolution failed for x",
                "network unreachable",
                "Network is unreachable",
                "Host unreachable",
                "host is unreachable",
                "getaddrinfo failed",
                "ENOTFOUND",
                "ENETUNREACH",
                "\u{1b}[31mconnection refused\u{1b}[0m",
            ][..],
        ),
        (
            "environment.disk medium",
            &["ENOSPC", "write failed: ENOSPC", "disk full", "database or disk is full", "No space left"],
        ),
        (
            "environment.memory medium",
            &[
                "Out of memory",
                "out of memory",
                "ENOMEM",
                "oom-killer",
                "fatal error: out of memory allocating heap arena",
                "terminate called after throwing an instance of 'std::bad_alloc'",
                "std::bad_alloc",
                "MemoryError",
                "memory allocation of 8 bytes failed",
            ],
        ),
        ("environment.rate_limit medium", &["rate limiting: try again later", "5-hour limit reached"]),
        ("environment.workdir_dirty medium", &["npm error Git working directory not clean."]),
        (
            "environment.stale_state medium",
            &["fatal: It seems that there is already a rebase-merge directory, and"],
        ),
        ("validation_strategy medium", &["flag provided but not defined: -foo"]),
    ] {
        for text in texts {
            check(&exit("./x", 1, text), class);
        }
    }
}

#[test]
fn words_of_other_things_are_not() {
    for text in [
        "rate limiting step in chemistry",
        "The test \"handles 429 Too Many Requests\" passed",
        "should return 401 Unauthorized when logged out ... ok",
        "  ✓ survives a connection refused",
        "ok 3 connection refused",
        "not ok 3 connection refused",
        "test net::out of memory ... FAILED",
        "The connection to the theme was refused by reviewers",
        "reads pages out of memory-mapped files",
        "Error: ENOSPC: System limit for number of file watchers reached",
        "test_connection_refused",
        "Killed",
    ] {
        check(&exit("./x", 1, text), "unknown low");
    }
}

#[test]
fn a_process_that_was_killed_is_told_by_its_code_and_the_word() {
    for (facts, expected) in [
        (exit("./x", 137, "Killed"), "environment.memory medium"),
        (Facts { stderr: "Killed".to_owned(), ..ended_by(9, "./x") }, "environment.memory medium"),
        (exit("./x", 137, "job killed by user"), "unknown low"),
        (exit("./x", 137, ""), "unknown low"),
        (exit("./x", 137, "skilled"), "unknown low"),
    ] {
        check(&facts, expected);
    }
}

#[test]
fn what_a_check_prints_is_its_own_unless_it_could_not_work() {
    let printed = |command: &str, stdout: &str| Facts { stdout: stdout.to_owned(), ..exit(command, 1, "") };
    let full = "E   OSError: [Errno 28] No space left on device";
    for (command, stdout, expected) in [
        ("pytest", "connection refused", "verification high"),
        ("pytest", "Error: getaddrinfo ENOTFOUND registry.npmjs.org", "environment.network medium"),
        ("pytest", "getaddrinfo ENOTFOUND a.test\n1 failed", "verification high"),
        ("pytest", "\u{1b}[31m1 failed\u{1b}[0m\ngetaddrinfo ENOTFOUND a.test", "verification high"),
        ("pytest", full, "environment.disk medium"),
        ("pytest", &format!("{full}\n1 failed in 0.1s"), "environment.disk medium"),
        ("pytest tests/test_disk.py", &format!("{full}\n1 failed"), "verification high"),
        ("pytest", &format!("{full}\nFAILED t.py::test_full_disk\n1 failed"), "verification high"),
        ("pytest", &format!("E assert '{}' == ''\n1 failed", full.trim()), "verification high"),
        ("pytest", "out of memory\n1 failed", "verification high"),
        // what was found in a file is the file's
        ("! grep 'out of memory' app.log", "out of memory", "verification high"),
        ("diff a b", "> No space left on device", "verification high"),
        // a step that checks nothing is asked on standard error first
        ("./x", "connection refused", "environment.network medium"),
    ] {
        check(&printed(command, stdout), expected);
    }
    let both = Facts { stdout: "DNS lookup failed".to_owned(), ..exit("./x", 1, "bad template") };
    check(&both, "unknown low");
}

#[test]
fn programs_that_fetch_say_it_by_their_exit_code() {
    for (command, code, expected) in [
        ("curl -s http://127.0.0.1:1/", 7, "environment.network high"),
        ("curl -sf https://a.example/x -o x", 6, "environment.network high"),
        ("curl -s https://a.example/", 28, "environment.network high"),
        ("curl -s https://a.example/", 35, "environment.network high"),
        ("wget -q https://a.example/", 4, "environment.network high"),
        ("cd x && curl -s https://a.example/ > y", 7, "environment.network high"),
        ("set -e; curl -s https://a.example/ > y; tar xf y", 7, "environment.network medium"),
        ("set -e; curl -s https://a.example/ > y; ./work", 7, "unknown low"),
        ("curl -s https://a.example/; echo done; exit 7", 7, "unknown low"),
        ("curl -s https://a.example/", 22, "unknown low"),
        ("curl -s https://a.example/", 4, "unknown low"),
        ("wget -q https://a.example/", 7, "unknown low"),
        ("./fetch", 7, "unknown low"),
        ("curl -s https://a.example/ || true; ./work", 7, "unknown low"),
    ] {
        check(&exit(command, code, ""), expected);
    }
    // a server that the agent before was to provide
    for (command, stderr, expected) in [
        ("curl -s http://localhost:3000/", "", "verification medium"),
        ("curl -s $URL", "curl: (7) Failed to connect to localhost port 1", "verification medium"),
        ("./ask http://localhost:3000/", "connection refused", "verification medium"),
        ("curl -s https://a.example/", "", "environment.network high"),
    ] {
        check(&Facts { producer: Producer::Before, ..exit(command, 7, stderr) }, expected);
    }
}

#[test]
fn a_step_names_the_program_that_it_misses() {
    for (command, code, stderr, expected) in [
        ("./x", 127, "foo: not found", "environment.missing_binary high"),
        ("./x", 127, "nosuchprog not found", "environment.missing_binary high"),
        ("./x", 127, "Error: jq is not installed.", "environment.missing_binary high"),
        ("./x", 127, "command not found", "unknown low"),
        ("./x", 127, "the page you want was not found, sorry", "unknown low"),
        ("./x", 1, "foo not found", "unknown low"),
        (
            "command -v foo || { echo foo not found >&2; exit 1; }",
            1,
            "foo not found",
            "environment.missing_binary medium",
        ),
        (
            "which foo || { echo foo is required >&2; exit 1; }",
            1,
            "foo is required",
            "environment.missing_binary medium",
        ),
        ("which foo || exit 1; ./x", 1, "bar is required", "unknown low"),
        (
            "./np.sh",
            126,
            "/bin/bash: line 1: ./np.sh: Permission denied",
            "environment.missing_binary medium",
        ),
        (
            "./b",
            126,
            "bash: line 1: ./b: cannot execute binary file: Exec format error",
            "environment.missing_binary medium",
        ),
        ("./np.sh", 1, "bash: line 1: ./np.sh: Permission denied", "unknown low"),
        ("./np.sh", 126, "Permission denied", "unknown low"),
    ] {
        check(&exit(command, code, stderr), expected);
    }
    // the shell knows best what ended it, and the runner what is nowhere
    let noisy = exit("./x", 127, "config not found\nbash: line 1: frob: command not found");
    assert_eq!(diagnose(&noisy).signals[1].what, "the program `frob` is not found");
    let silent = Facts { absent_program: Some("frob".to_owned()), ..exit("./x", 127, "config not found") };
    assert_eq!(diagnose(&silent).signals[1].what, "the program `frob` is not found");
    let named = diagnose(&exit("./np.sh", 126, "bash: line 1: ./np.sh: Permission denied"));
    assert_eq!(named.signals[0].what, "the program `./np.sh` cannot be executed");
    // an agent that wrote it forgot something
    let made = exit("./np.sh", 126, "bash: line 1: ./np.sh: Permission denied");
    check(&Facts { producer: Producer::Before, ..made }, "verification medium");
}

#[test]
fn a_step_names_the_variable_that_it_misses() {
    for (stderr, expected) in [
        ("missing environment variable: FOO_BAR", true),
        ("Missing environment variable FOO_BAR", true),
        ("missing required env var FOO_BAR", true),
        ("required environment variable FOO_BAR not found", true),
        ("Please set the NOPE_Q environment variable", true),
        ("Please set NOPE_Q", false),
        ("you must set the environment variable NOPEQ before that", false),
        ("MISSING_ENV_VAR: NOPE_Q", true),
        ("  - MISSING_ENV_VAR: NOPE_Q, B: set it with `export NOPE_Q=…`", true),
        ("please set MAX_SIZE to a lower number", false),
        ("please set the table", false),
        ("the environment variable FOO_BAR is fine", false),
        ("MISSING_ENV_VAR: ", false),
    ] {
        let found = diagnose(&exit("./x", 1, stderr));
        assert_eq!(found.class == Class::MissingEnv, expected, "{stderr} {:?}", found.signals);
    }
}

#[test]
fn whoever_ended_a_check_gave_no_verdict() {
    for (facts, expected) in [
        (ended_by(15, "pytest"), "interrupted medium"),
        (ended_by(2, "pytest"), "interrupted medium"),
        (ended_by(1, "test -f go || exit 1"), "interrupted medium"),
        (ended_by(9, "pytest"), "unknown low"),
        (ended_by(13, "pytest"), "unknown low"),
        (ended_by(11, "pytest"), "verification medium"),
        (ended_by(6, "pytest"), "verification medium"),
        (exit("set -e; pytest", 143, ""), "unknown low"),
        (exit("set -e; pytest", 137, ""), "unknown low"),
        (exit("set -e; pytest", 143, "1 failed"), "verification high"),
        (exit("grep -q x f || exit 143", 143, ""), "verification high"),
        (exit("pytest", 139, ""), "verification high"),
    ] {
        check(&facts, expected);
    }
    check(&ended_by(11, "./x"), "unknown low");
    assert_eq!(diagnose(&ended_by(9, "./x")).secondary, [Class::Memory]);
    let after = Facts { producer: Producer::Before, ..ended_by(15, "./x") };
    check(&after, "interrupted medium");
}

#[test]
fn the_first_advice_follows_the_evidence() {
    let first = |facts: &Facts| advice(&diagnose(facts), "s", &Actions::default()).swap_remove(0).text;
    let signal = Facts { detail: "SIGTERM (signal 15)".to_owned(), ..ended_by(15, "./x") };
    let spoke = Facts { stderr: "half way".to_owned(), ..signal.clone() };
    let stopped = Facts { interrupted: true, ..signal.clone() };
    let no_json = Facts {
        outcome: Some(Outcome::NotJson { problem: "no JSON".to_owned() }),
        detail: "no JSON".to_owned(),
        ..exit("x", 0, "")
    };
    let unable = exit("./np.sh", 126, "bash: line 1: ./np.sh: Permission denied");
    let valueless = Facts { missing_values: vec!["zed".to_owned()], ..Facts::default() };
    for (facts, expected) in [
        (&signal, "`s` was ended by SIGTERM (signal 15) while the run was alive: find the sender"),
        (&spoke, "`s` was ended by SIGTERM (signal 15) while the run was alive: find the sender"),
        (&stopped, "the run was stopped; the recipe is fine"),
        (&no_json, "`s` must print JSON and did not: fix its output (no JSON)"),
        (
            &unable,
            "make the program executable (`chmod +x`), or get one for this machine (bash: line 1: ./np.sh: Permission denied)",
        ),
        (&valueless, "pass the missing value to the recipe, in the `context` of `s` (zed)"),
    ] {
        assert_eq!(first(facts), expected);
    }
}

#[test]
fn places_count_all_lines_and_quotes_hold_the_words() {
    let far = Facts { stderr_before: Before::Lines(40), ..exit("./x", 1, "one\nNo space left on device") };
    assert_eq!(diagnose(&far).signals[0].at, "stderr:42");
    let last = Facts { stdout_before: Before::Lines(7), stdout: "one".to_owned(), ..exit("./x", 1, "") };
    assert_eq!(diagnose(&last).signals[1].at, "stdout:8");
    let wide = |before: usize, after: usize| {
        let text = format!("{} connection refused {}", "é".repeat(before), "b".repeat(after));
        diagnose(&exit("./x", 1, &text)).signals[0].quote.clone()
    };
    for (before, after) in
        [(0, 0), (0, 500), (100, 0), (139, 0), (140, 0), (150, 0), (500, 0), (500, 50), (500, 500)]
    {
        let quote = wide(before, after);
        assert!(quote.contains("connection refused"), "{before} {after}: {quote}");
        assert!(quote.chars().count() <= 160, "{before} {after}: {quote}");
        assert_eq!(quote.contains('…'), before + after + 20 > 160, "{before} {after}: {quote}");
    }
    let coloured = diagnose(&exit("./x", 1, "\u{1b}[1;31mboom\u{1b}[0m\u{7}"));
    assert_eq!(coloured.signals[1].quote, "boom");
}

#[test]
fn an_agents_words_are_no_evidence_about_its_service() {
    for said in [
        "network unreachable",
        "5-hour limit reached ∙ resets 3am",
        "Error: 401 Unauthorized",
        "connect ECONNREFUSED 10.0.0.1:80",
        "I saw `no space left on device` in the log of the build",
    ] {
        for (failure, stderr) in [(said, ""), ("the agent ends with exit code 3", said)] {
            let found = diagnose(&agent(failure, stderr, None));
            assert_eq!((found.class, found.secondary), (Class::Unknown, vec![]), "{said}");
        }
    }
    // the trouble is a typed fact; what else its stderr speaks of is not
    let found = diagnose(&agent("so", "network unreachable\nHTTP 401", Some(AgentTrouble::Credentials)));
    assert_eq!((found.class, found.secondary), (Class::Credentials, vec![]));
}

#[test]
fn an_agent_program_says_what_it_misses_itself() {
    for (stderr, expected) in [
        ("Error: ENOSPC: no space left on device, write", "environment.disk medium"),
        ("/usr/bin/env: ‘node’: No such file or directory", "environment.missing_binary medium"),
        ("Missing required environment variable: OPENAI_API_KEY", "environment.missing_env medium"),
        ("error: unknown option '--frob'", "validation_strategy medium"),
    ] {
        check(&agent("the agent ends with exit code 1", stderr, None), expected);
    }
}

fn agent(failure: &str, stderr: &str, trouble: Option<AgentTrouble>) -> Facts {
    Facts {
        outcome: Some(Outcome::Agent(AgentFailure::TooLarge)),
        step_type: StepType::Agent,
        agent_failure: Some(failure.to_owned()),
        agent_trouble: trouble,
        stderr: stderr.to_owned(),
        ..Facts::default()
    }
}

#[test]
fn an_unknown_option_is_not_a_missing_command() {
    let found = diagnose(&exit("grep --wrong x f", 2, "grep: unrecognized option '--wrong'"));
    assert_eq!(told(&found), "validation_strategy medium");
    assert_eq!(found.signals[0].what, "the program does not take this option or argument");
    let found = diagnose(&exit("git frobnicate", 1, "git: 'frobnicate' is not a git command."));
    assert_eq!(found.signals[0].what, "the command does not exist here");
}
