//! The report about auto-fix: attempts, rewritten fields, and the place of the original.

use testkit::TestEnv;

/// A world whose repair agent fixes the broken command in this file.
fn world(file: &str) -> TestEnv {
    let repair = format!("sed -i 's/git verzion/git version/' {file}");
    TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), &repair)
}

const BROKEN: &str =
    "# mine\nname: r\nsteps:\n  - {id: a, command: echo a}\n  - {id: b, command: git verzion}\n";

#[test]
fn a_fixed_run_reports_the_rewritten_fields() {
    let nested = "name: p\nsteps: [{id: n, recipe: r}]\n";
    for (recipe, flags, changed) in [
        ("r.yaml", &["--auto-fix"][..], "changed `command` of step `b`"),
        ("r.yaml", &["--auto-fix", "--quiet"], "changed `command` of step `b`"),
        ("p.yaml", &["--auto-fix"], "in `r.yaml`: changed `command` of step `b`"),
    ] {
        let env = world("r.yaml").file("r.yaml", BROKEN).file("p.yaml", nested);
        let output = env.run([recipe].iter().chain(flags).copied());
        assert_eq!(output.code, 0, "{}", output.all());
        let shown = env.run(["show", "last"]);
        let file = env.path("r.yaml").canonicalize().unwrap();
        let original = env.run_dir().join("repairs/1/original.yaml");
        for text in [&output.stdout, &shown.stdout] {
            for part in [
                "auto-fix: completed after 2 attempts".to_owned(),
                format!("; repaired: {changed}"),
                format!("auto-fix rewrote `{}`: {changed}", file.display()),
                format!("as it was before: {}", original.display()),
            ] {
                assert!(text.contains(&part), "{recipe} {flags:?}: {part}\n{text}");
            }
        }
        assert_eq!(std::fs::read_to_string(original).unwrap(), BROKEN);
        let result = env.run(["show", "last", "--output-format", "json"]).json();
        let repair = &result["auto_fix"]["attempts"][0]["repair"];
        assert_eq!(
            (&repair["summary"], repair["file"].as_str()),
            (&changed.into(), file.to_str()),
            "{repair}"
        );
    }
}

#[test]
fn a_run_without_repair_does_not_mention_auto_fix() {
    let env = world("r.yaml").file("r.yaml", "name: r\nsteps: [{id: a, command: echo a}]\n");
    let output = env.run(["r.yaml", "--auto-fix"]);
    assert_eq!(output.code, 0);
    assert!(!output.all().contains("auto-fix"), "{}", output.all());
}

#[test]
fn a_repair_agent_that_is_named_and_missing_stops_the_run_before_it_begins() {
    let recipe = "name: r\nsteps: [{id: a, command: 'touch ran; git verzion'}]\n";
    let env = world("r.yaml").file("r.yaml", recipe);
    let named = ["--auto-fix", "--repair-agent", "no-such-agent"];
    let output = env.run(["r.yaml", "--output-format", "json"].iter().chain(&named).copied());
    assert_eq!((output.code, env.path("ran").exists()), (5, false), "{}", output.all());
    let result = output.json();
    assert_eq!(
        (&result["outcome"], &result["diagnosis"]["class"]),
        (&"blocked".into(), &"environment.missing_binary".into())
    );
    assert!(result["failure"]["error"].to_string().contains("`--repair-agent`"), "{result}");
    // without auto-fix the repair agent is not asked
    assert_eq!(env.run(["r.yaml", "--repair-agent", "no-such-agent"]).code, 1);
    std::fs::remove_file(env.path("ran")).unwrap();
    let resumed = env.run(["resume", "last"].iter().chain(&named).copied());
    assert_eq!((resumed.code, env.path("ran").exists()), (5, false), "{}", resumed.all());
    assert!(resumed.stderr.contains("no-such-agent"), "{}", resumed.all());
}

/// Makes a file unwritable, or writable again, also for root; whether that is possible here.
fn lock(env: &TestEnv, how: &str) -> bool {
    env.shell(&format!("chattr {how}i r.yaml")).code == 0
}

#[test]
fn a_read_only_recipe_is_found_before_the_agent_is_asked() {
    let env = world("r.yaml").file("r.yaml", BROKEN);
    if !lock(&env, "+") {
        return;
    }
    let output = env.run(["r.yaml", "--auto-fix", "--output-format", "json"]);
    assert!(lock(&env, "-"));
    let result = output.json();
    assert_eq!((output.code, env.script_calls()), (6, 0), "{}", output.all());
    assert!(result["run_id"].is_string() && result["diagnosis"].is_object(), "{result}");
    let reason = result["auto_fix"]["escalation"]["reason"].to_string();
    assert!(reason.contains("r.yaml") && reason.contains("cannot be written"), "{reason}");
}

#[test]
fn an_unwritable_repair_waits_for_a_person() {
    let repaired = BROKEN.replace("git verzion", "git version");
    let agent = format!("chattr +i r.yaml\ncat <<'END'\n```yaml\n{repaired}```\nEND");
    let env = TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), &agent).file("r.yaml", BROKEN);
    if !(lock(&env, "+") && lock(&env, "-")) {
        return;
    }
    let output = env.run(["r.yaml", "--auto-fix", "--output-format", "json"]);
    assert!(lock(&env, "-"));
    let result = output.json();
    assert_eq!((output.code, env.script_calls()), (6, 1), "{}", output.all());
    assert!(result["run_id"].is_string() && result["diagnosis"].is_object(), "{result}");
    let candidate = result["auto_fix"]["attempts"][0]["repair"]["candidate"].as_str().unwrap().to_owned();
    let options = result["auto_fix"]["escalation"]["options"].as_array().unwrap();
    let with = options.iter().filter_map(|option| option.as_str()).find(|option| option.contains(&candidate));
    let command =
        with.unwrap_or_else(|| panic!("{options:?}")).replacen("recipe-runner-rs", "\"$RUNNER\"", 1);
    assert_eq!(env.read("r.yaml"), BROKEN);
    let resumed = env.shell(&command);
    assert_eq!(resumed.code, 0, "{command}\n{}", resumed.all());
}

/// What a command prints is what `show` prints after it.
#[track_caller]
fn check_shown(env: &TestEnv, arguments: &[&str], enabled: Option<bool>) {
    let printed = env.run(arguments.iter().copied().chain(["--output-format", "json"]));
    let shown = env.run(["show", "last", "--output-format", "json"]);
    assert_eq!(printed.stdout, shown.stdout, "{arguments:?}");
    assert_eq!(printed.json()["auto_fix"]["enabled"].as_bool(), enabled, "{arguments:?}: {}", printed.all());
}

#[test]
fn show_repeats_the_report_of_auto_fix() {
    let world = || {
        let env = TestEnv::scripted(env!("CARGO_BIN_EXE_recipe-runner-rs"), "echo I cannot");
        env.file("r.yaml", BROKEN)
    };
    let (off, on) = (Some(false), Some(true));
    for steps in [
        &[(&["r.yaml", "--no-auto-fix"][..], off), (&["resume", "last"], off)][..],
        &[(&["r.yaml", "--no-auto-fix", "--auto-fix"], off), (&["resume", "last", "--auto-fix"], on)],
        &[(&["r.yaml"], None), (&["resume", "last", "--no-auto-fix"], off), (&["resume", "last"], None)],
        &[
            (&["r.yaml", "--auto-fix"], on),
            (&["resume", "last"], None),
            (&["resume", "last", "--auto-fix"], on),
        ],
        &[(&["r.yaml", "--auto-fix"], on), (&["resume", "last", "--no-auto-fix"], off)],
    ] {
        let env = world();
        for (arguments, enabled) in steps {
            check_shown(&env, arguments, *enabled);
        }
    }
    // a run inside of one that is not to be repaired
    let env = world().env("RECIPE_RUNNER_NO_AUTO_FIX", "1");
    check_shown(&env, &["r.yaml", "--auto-fix"], off);
    check_shown(&env, &["resume", "last"], off);
    let env = world().env("RECIPE_RUNNER_NO_AUTO_FIX", "1");
    check_shown(&env, &["r.yaml"], None);
    check_shown(&env, &["resume", "last", "--auto-fix"], off);
}
