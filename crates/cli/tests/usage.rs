//! The command line itself: mistakes, their exit codes, and their messages.

use testkit::TestEnv;

const HELLO: &str = "name: hello\nsteps:\n  - id: greet\n    command: echo hi\n";

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs")).file("hello.yaml", HELLO)
}

#[test]
fn a_program_that_asked_for_json_gets_json_for_its_mistakes_too() {
    let env = env();
    for (line, error) in [
        ("resume last --output-format json --nonsense", "unexpected argument '--nonsense' found"),
        ("answer --output-format=json", "the following required arguments were not provided:"),
        ("resume last --skip-interrupted --rerun-interrupted --format json", "cannot be used with"),
        ("hello.yaml --max-parallel 0 --output-format json", "invalid value '0'"),
    ] {
        let output = env.run(line.split(' '));
        assert_eq!(output.code, 2, "{line}: {}", output.all());
        let json = output.json();
        assert_eq!(json["exit_code"], 2, "{json}");
        assert!(json["error"].as_str().unwrap_or_default().contains(error), "{line}: {json}");
        assert!(output.stderr.contains("error"), "{line}: {}", output.all());
    }
    let text = env.run(["resume", "last", "--nonsense"]);
    assert_eq!((text.code, text.stdout.as_str()), (2, ""), "{}", text.all());
}

#[test]
fn mistakes_have_their_exit_codes_and_words() {
    let env = env()
        .file("list.json", "[1]")
        .file("dir/x.yaml", HELLO)
        .file("also.yaml/x", "")
        .file("bad.yaml", "name: x");
    for (line, code, part) in [
        ("--dry-run", 4, "no recipe given"),
        ("validate", 4, "no recipe given"),
        ("explain", 4, "no recipe given"),
        ("run", 4, "no recipe given"),
        ("nowhere", 3, "recipe `nowhere` not found"),
        ("nowhere.yaml", 3, "not found"),
        ("run nowhere", 3, "not found"),
        ("explain nowhere", 3, "not found"),
        ("helo -R .", 3, "did you mean `hello`?"),
        ("lst", 3, "did you mean the command `list`?"),
        ("dir", 3, "that is a directory"),
        ("nowhere -R dir", 3, "\n    dir\n"),
        ("bad.yaml", 2, "error"),
        ("run bad.yaml", 2, "error[no-steps]"),
        ("explain bad.yaml", 2, "error[no-steps]"),
        ("bad.yaml --dry-run", 2, "error[no-steps]"),
        ("hello.yaml --set novalue", 4, "`--set novalue` is not of the form KEY=VALUE"),
        ("hello.yaml -c =x", 4, "KEY=VALUE"),
        ("validate hello.yaml --set x", 4, "KEY=VALUE"),
        ("hello.yaml --context-file nowhere.json", 4, "cannot be read"),
        ("hello.yaml --context-file list.json", 4, "it must be a map of names and values, but it is a list"),
        ("hello.yaml --output-format xml", 2, "xml"),
        ("hello.yaml --format xml", 2, "xml"),
        ("hello.yaml --unknown", 2, "--unknown"),
        ("hello.yaml extra.yaml", 2, "unexpected argument `extra.yaml`\n  a run takes one recipe"),
        ("hello.yaml last", 2, "unexpected argument `last`\n  did you mean `recipe-runner-rs resume last`?"),
        ("validte hello.yaml", 2, "unexpected argument `hello.yaml`\n  did you mean the command `validate`?"),
        ("resmue last", 2, "unexpected argument `last`\n  did you mean the command `resume`?"),
        ("resmue --plan last", 2, "\ndid you mean the command `resume`?"),
        ("resum last", 2, "did you mean the command `resume`?"),
        ("resum", 3, "resume"),
        ("help resum", 2, "did you mean `recipe-runner-rs help resume`?"),
        ("also.yaml", 3, "that is a directory; name a file in it, or add it with `-R`\n  looked in:"),
        ("hello.yaml --max-parallel 0", 2, "--max-parallel"),
        ("hello.yaml --max-parallel -1", 2, "expected a whole number from 1"),
        ("hello.yaml --max-agents -1", 2, "expected a whole number from 1"),
        ("hello.yaml --step-timeout -1", 2, "expected a time above 0"),
        ("hello.yaml --step-timeout -0.5", 2, "expected a time above 0"),
        ("hello.yaml --budget-usd -1", 2, "from 0 to"),
        ("hello.yaml --budget-minutes -1", 2, "from 0 to"),
        ("hello.yaml --budget-tokens -1", 2, "invalid value '-1' for '--budget-tokens"),
        ("hello.yaml --budget-agent-runs -1", 2, "invalid value '-1' for '--budget-agent-runs"),
        ("runs -n -1", 2, "invalid value '-1' for '--limit"),
        ("prune --keep -1", 2, "invalid value '-1' for '--keep"),
        ("prune --older-than -1", 2, "from 0 to"),
        ("hello.yaml --step-timeout x", 2, "--step-timeout"),
        ("hello.yaml --step-timeout 1h30", 2, "the last number of `1h30` has no unit"),
        ("hello.yaml --step-timeout 1e20", 2, "at most 1000000000000"),
        ("hello.yaml --budget-usd nan", 2, "from 0 to"),
        ("hello.yaml --budget-minutes inf", 2, "from 0 to"),
        ("hello.yaml --recovery maybe", 2, "--recovery"),
        ("list extra", 2, "extra"),
        ("completions", 2, "SHELL"),
        ("manifest", 2, "Usage"),
    ] {
        let output = env.run(line.split_whitespace());
        assert_eq!(output.code, code, "`{line}`\n{}", output.all());
        assert!(output.stderr.contains(part), "`{line}`: expected {part}\n{}", output.all());
        assert_eq!(output.stdout, "", "`{line}`");
        assert!(
            output.stderr.to_lowercase().contains("error") || output.stderr.contains("Usage"),
            "`{line}`"
        );
    }
}

#[test]
fn every_flag_of_a_run_is_accepted_before_and_after_the_recipe() {
    let env = env();
    for flags in [
        "-C .",
        "--working-dir .",
        "-R .",
        "--recipe-dir .",
        "--set a=b",
        "-c a=b",
        "--dry-run",
        "--no-auto-stage",
        "--progress",
        "--include-tags a,b",
        "--exclude-tags a",
        "--audit-dir .",
        "--output-format text",
        "--format text",
        "--agent-binary claude",
        "--step-timeout 5",
        "--step-timeout 1h30m",
        "--strict",
        "--quiet",
        "--max-parallel 4",
        "--state-dir .",
        "--recovery always",
        "--recovery off",
        "--recovery declared",
    ] {
        for line in [
            format!("{flags} hello.yaml --validate-only"),
            format!("--validate-only hello.yaml {flags}"),
            format!("{flags} run hello.yaml --validate-only"),
            format!("run {flags} --validate-only hello.yaml"),
        ] {
            let output = env.run(line.split(' '));
            assert_eq!(output.code, 0, "`{line}`\n{}", output.all());
        }
    }
}

#[test]
fn help_and_version_are_answers() {
    let env = env();
    for (line, part) in [
        ("--version", "recipe-runner"),
        ("-V", "recipe-runner"),
        ("--help", "--dry-run"),
        ("-h", "--output-format"),
        ("help", "--output-format"),
        ("help resume", "--rerun-interrupted"),
        ("help manifest check", "DIR"),
        ("run --help", "--exclude-tags"),
        ("run --help", "--validate-only"),
        ("validate --help", "--strict"),
        ("--help list", "--recipe-dir"),
        ("hello.yaml --help", "--dry-run"),
        ("resume --help", "--rerun-interrupted"),
        ("manifest check --help", "DIR"),
    ] {
        let output = env.run(line.split(' '));
        assert_eq!(output.code, 0, "`{line}`\n{}", output.all());
        assert!(output.stdout.contains(part), "`{line}`: expected {part}\n{}", output.all());
    }
    let help = env.run(["--help"]).stdout;
    for verb in ["run", "validate", "explain", "list", "runs", "show", "logs", "resume", "cancel", "schema"] {
        assert!(help.contains(&format!("\n  {verb} ")), "{verb}\n{help}");
    }
    assert!(help.lines().count() <= 40, "{help}");
    assert_eq!(help, env.run(["help"]).stdout);
    let run = env.run(["help", "run"]).stdout;
    assert_eq!(run, env.run(["run", "--help"]).stdout);
    let groups = ["Run:", "Values:", "Agents:", "Limits:", "Repair:", "Output:"];
    let at: Vec<Option<usize>> =
        groups.iter().map(|group| run.lines().position(|line| line == *group)).collect();
    assert!(at.iter().all(Option::is_some), "{run}");
    assert!(!run.contains("\nOptions:\n"), "{run}");
}

#[test]
fn a_run_that_is_not_named_is_the_last_one() {
    let env = env();
    for verb in ["show", "logs", "resume", "cancel"] {
        let none = env.run([verb]);
        assert_eq!(none.code, 3, "{verb}: {}", none.all());
        assert!(none.stderr.contains("there are no runs yet"), "{verb}: {}", none.all());
    }
    env.run(["hello.yaml"]);
    env.run(["hello.yaml"]);
    let last = env.run_ids().pop().unwrap_or_default();
    for verb in ["show", "logs", "resume", "cancel"] {
        let output = env.run([verb]);
        assert_eq!(output.code, 0, "{verb}: {}", output.all());
        assert!(
            output.stderr.contains(&format!("last run of `hello`: {last}\n")),
            "{verb}: {}",
            output.all()
        );
        let named = env.run([verb, "last"]);
        assert_eq!((named.stdout, named.code), (output.stdout, 0), "{verb}");
    }
    let json = env.run(["show", "--output-format", "json"]).json();
    assert_eq!(json["run_id"], last.as_str());
}

#[test]
fn a_recipe_with_the_name_of_a_command_is_run_by_path() {
    let env = env().file("list.yaml", "name: list\nsteps: [{id: x, comand: y}]\n");
    let output = env.run(["./list.yaml"]);
    assert_eq!(output.code, 2);
    assert!(output.stderr.contains("list.yaml:2:"), "{}", output.all());
}

#[test]
fn a_refused_run_is_one_json_value() {
    let env = env().file("bad.yaml", "name: my-recipe\nsteps: [{id: x, comand: y}]\n");
    for line in ["bad.yaml --output-format json", "--format json run bad.yaml"] {
        let output = env.run(line.split(' '));
        let json = output.json();
        assert_eq!(output.code, 2);
        assert_eq!(json["recipe_name"], "my-recipe");
        assert_eq!(json["success"], false);
        assert_eq!(json["outcome"], "refused");
        assert_eq!(json["exit_code"], 2);
        assert_eq!(json["step_results"], serde_json::json!([]));
        assert_eq!(json["diagnostics"][0]["line"], 2);
        assert!(output.stderr.contains("error[field-typo]"), "{}", output.all());
    }
    let missing = env.run(["nowhere", "--output-format", "json"]);
    assert_eq!((missing.code, missing.json()["exit_code"].as_u64()), (3, Some(3)));
    assert!(missing.stderr.contains("not found"));
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let env = env();
    for line in [
        "$RUNNER schema | head -1 >/dev/null; echo ${PIPESTATUS[0]}",
        "$RUNNER schema | true; echo ${PIPESTATUS[0]}",
        "$RUNNER schema >&-; echo $?",
        "$RUNNER nowhere 2>&-; [ $? = 3 ]; echo $?",
        // it cannot be read, and the message says so
        "$RUNNER schema >/dev/full 2>/dev/null; [ $? = 8 ]; echo $?",
    ] {
        let output = env.shell(line);
        assert_eq!(output.stdout, "0\n", "{line}\n{}", output.all());
        assert!(!output.stderr.contains("panicked"), "{line}\n{}", output.all());
    }
}

#[test]
fn colour_only_where_it_is_wanted() {
    let bad = "name: x";
    let plain = env().file("bad.yaml", bad).run(["bad.yaml"]);
    assert!(!plain.stderr.contains('\u{1b}'));
    let forced = env().file("bad.yaml", bad).env("NO_COLOR", "").env("CLICOLOR_FORCE", "1").run(["bad.yaml"]);
    assert!(forced.stderr.contains('\u{1b}'), "{}", forced.all());
    let both = env().file("bad.yaml", bad).env("CLICOLOR_FORCE", "1").run(["bad.yaml"]);
    assert!(!both.stderr.contains('\u{1b}'), "NO_COLOR wins");
}

#[test]
fn a_refusal_has_the_keys_of_a_result() {
    let env =
        env().file("r.yaml", "name: r\nsteps:\n- {id: a, command: 'true'}\n").file("bad.yaml", "name: b\n");
    for (arguments, code) in [
        (&["r.yaml", "--set", "x"][..], 4),
        (&["r.yaml", "--context-file", "nowhere"], 4),
        (&["bad.yaml"], 2),
        (&["nowhere.yaml"], 3),
        (&["r.yaml", "--state-dir", "/dev/null/x"], 8),
    ] {
        let mut all = arguments.to_vec();
        all.extend(["--output-format", "json"]);
        let output = env.run(all);
        assert_eq!(output.code, code, "{}", output.all());
        let json = output.json();
        for key in [
            "schema_version",
            "recipe_name",
            "run_id",
            "success",
            "outcome",
            "exit_code",
            "duration",
            "step_results",
            "context",
            "failure",
            "error",
        ] {
            assert!(json.get(key).is_some(), "{arguments:?} lacks {key}: {json}");
        }
        assert_eq!(json["exit_code"], code);
    }
}
