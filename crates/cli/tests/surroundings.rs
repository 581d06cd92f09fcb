//! What the runner finds around it: no `HOME`, blocked signals, directories that it may not use.

use std::time::{Duration, Instant};

use testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"))
}

/// The beginning of a command line that has no rights of its own; the tests may run as root.
const NOBODY: &str = "setpriv --reuid 12345 --regid 12345 --clear-groups";

fn can_be_nobody(env: &TestEnv) -> bool {
    env.shell(&format!("chmod 755 .. . && {NOBODY} true")).code == 0
}

#[test]
fn the_home_directory_is_looked_up_if_home_is_not_set() {
    let env = env().file("r.yaml", "name: r\nsteps: [{id: s, command: 'echo $HOME'}]\n");
    let known = env.shell("getent passwd \"$(id -u)\" | cut -d: -f6").stdout.trim().to_owned();
    if known.is_empty() {
        eprintln!("skipped: this user has no entry among the users");
        return;
    }
    for unset in ["env -u HOME", "env HOME="] {
        let output = env.shell(&format!("{unset} \"$RUNNER\" r.yaml --output-format json"));
        assert_eq!((output.code, output.value("s")), (0, known.clone().into()), "{unset} {}", output.all());
    }
}

#[test]
fn blocked_signals_are_handled_and_not_inherited() {
    let env = env().file(
        "r.yaml",
        "name: r\nsteps:\n- {id: s, command: grep SigBlk /proc/self/status}\n- {id: t, command: 'echo x >began; sleep 60'}\n",
    );
    let block = "use POSIX; sigprocmask(SIG_BLOCK, POSIX::SigSet->new(1..31)); exec @ARGV";
    if env.shell("perl -MPOSIX -e 1").code != 0 {
        eprintln!("skipped: there is no perl");
        return;
    }
    let mut command = env.command("perl".as_ref());
    command.args(["-e", block, env!("CARGO_BIN_EXE_recipe-runner-rs"), "r.yaml", "--output-format", "json"]);
    let started = env.start(command);
    env.wait_for("began");
    let asked = Instant::now();
    started.signal("TERM");
    let output = started.wait();
    assert_eq!(output.code, 143, "{}", output.all());
    assert!(asked.elapsed() < Duration::from_secs(20), "{}", output.all());
    assert_eq!(output.value("s"), "SigBlk:\t0000000000000000", "{}", output.all());
}

#[test]
fn exit_codes_are_known_where_ends_of_children_are_ignored() {
    let env = env().file("r.yaml", "name: r\nsteps: [{id: s, command: exit 3}]\n");
    if env.shell("perl -e 1").code != 0 {
        eprintln!("skipped: there is no perl");
        return;
    }
    let mut command = env.command("perl".as_ref());
    let ignore = "$SIG{CHLD} = 'IGNORE'; exec @ARGV";
    command.args(["-e", ignore, env!("CARGO_BIN_EXE_recipe-runner-rs"), "r.yaml", "--output-format", "json"]);
    let output = env.start(command).wait();
    assert_eq!((output.code, output.step("s")["exit_code"].clone()), (1, 3.into()), "{}", output.all());
}

#[test]
fn a_state_directory_that_cannot_be_read_is_not_an_empty_one() {
    let env = env().file("plain", "no directory");
    if !can_be_nobody(&env) {
        eprintln!("skipped: the rights cannot be given up here");
        return;
    }
    assert_eq!(
        env.shell("mkdir -p closed/runs && chmod 700 closed closed/runs && mkdir open && chmod 777 open")
            .code,
        0
    );
    for verb in ["runs", "health", "show last", "logs last", "resume last", "cancel last", "prune --keep 0"] {
        for dir in ["closed", "plain"] {
            for format in ["text", "json"] {
                let output = env.shell(&format!(
                    "{NOBODY} \"$RUNNER\" {verb} --state-dir {dir} --output-format {format}"
                ));
                assert_eq!(output.code, 8, "{verb} {dir} {}", output.all());
                assert!(output.stderr.contains("cannot read `"), "{verb} {dir} {}", output.all());
                assert!(format == "text" || output.json().is_object(), "{verb} {dir} {}", output.all());
            }
        }
    }
    let output = env.shell("\"$RUNNER\" runs --state-dir nowhere --output-format json");
    assert_eq!((output.code, output.json()), (0, serde_json::json!([])));
}

#[test]
fn inaccessible_directories_are_reported() {
    let env = env()
        .file("r.yaml", "name: r\nsteps: [{id: s, command: pwd}]\n")
        .file("w.yaml", "name: w\nsteps: [{id: s, command: pwd, working_dir: ../closed}]\n");
    if !can_be_nobody(&env) {
        eprintln!("skipped: the rights cannot be given up here");
        return;
    }
    assert_eq!(
        env.shell("mkdir closed open && chmod 700 closed && chmod 777 open && chmod 644 *.yaml").code,
        0
    );
    for (arguments, code, class) in [
        ("r.yaml -C closed", 5, "environment.missing_path"),
        ("w.yaml -C open", 1, "environment.missing_path"),
        ("r.yaml -C open", 0, ""),
    ] {
        let output = env.shell(&format!(
            "HOME=$PWD/open {NOBODY} \"$RUNNER\" {arguments} --state-dir open/state --output-format json"
        ));
        assert_eq!(output.code, code, "{arguments} {}", output.all());
        let said = output.all().contains("cannot be entered: permission denied");
        assert!(code == 0 || said, "{arguments} {}", output.all());
        let found = output.json()["diagnosis"]["class"].as_str().unwrap_or_default().to_owned();
        assert_eq!(found, class, "{arguments} {}", output.all());
    }
}

/// A process that `sudo` starts belongs to another user.
#[test]
fn a_process_that_cannot_be_ended_is_reported_as_alive() {
    let env = env().file(
        "as_root.c",
        "#include <unistd.h>\nint main(int n, char **v) { setuid(0); setgid(0); execvp(v[1], v + 1); return 1; }\n",
    );
    let is_root = env.shell("test $(id -u) = 0 && cc -o as_root as_root.c && chmod 4755 as_root").code == 0;
    if !is_root || !can_be_nobody(&env) || env.shell(&format!("{NOBODY} ./as_root true")).code != 0 {
        eprintln!("skipped: the tests do not run as root, or there is no C compiler");
        return;
    }
    env.write("r.yaml", "name: r\nsteps: [{id: s, command: '../as_root sleep 3217 & sleep 0.2'}]\n");
    env.write(
        "w.yaml",
        "name: w\nsteps: [{id: s, command: '../as_root sleep 3217 & echo x >began; sleep 300'}]\n",
    );
    assert_eq!(env.shell("mkdir open && chmod 777 open && chmod 644 *.yaml").code, 0);
    let runner = format!("HOME=$PWD/open {NOBODY} \"$RUNNER\"");
    let options = "-C open --state-dir open/state --output-format json";
    let output =
        env.shell(&format!("{runner} r.yaml {options}; code=$?; pkill -f '^sleep 3217'; exit $code"));
    assert_eq!(
        (output.code, &output.json()["ended_processes"]),
        (0, &serde_json::json!([])),
        "{}",
        output.all()
    );
    let left = output.json()["left_processes"].to_string();
    assert!(left.contains("(`sleep 3217`)") && output.stderr.contains("is still alive"), "{}", output.all());
    let cancelled = env.shell(&format!(
        "{runner} w.yaml {options} >/dev/null 2>&1 & until [ -e open/began ]; do sleep 0.05; done; sleep 0.3
         {runner} cancel last --state-dir open/state; code=$?; pkill -f '^sleep 3217'; wait; exit $code"
    ));
    assert_eq!(cancelled.code, 8, "{}", cancelled.all());
    assert!(cancelled.stderr.contains("some of its processes are still alive"), "{}", cancelled.all());
}

#[test]
fn a_large_value_arrives_with_any_home_and_shell_options() {
    let env = env().file(
        "r.yaml",
        "name: r\nsteps:\n- {id: big, command: head -c 300000 /dev/zero | tr '\\0' x}\n\
         - {id: use, working_dir: sub, command: 'x={{big}}; echo ${#x}'}\n",
    );
    assert_eq!(env.shell("mkdir sub").code, 0);
    for place in ["HOME=rel", "SHELLOPTS=allexport"] {
        let unset = if place.starts_with("HOME") { "-u RECIPE_RUNNER_HOME" } else { "" };
        let output = env.shell(&format!("env {unset} {place} \"$RUNNER\" r.yaml --output-format json"));
        assert_eq!((output.code, output.value("use")), (0, "300000".into()), "{place} {}", output.all());
    }
}

#[test]
fn every_process_of_a_step_knows_its_run_its_step_and_the_program() {
    // the names survive a value of the same name: an alias never sets them
    let recipe = "name: r\ncontext: {recipe_runner_run_dir: no, recipe_runner_step: no, recipe_runner_exe: no}\n\
        hooks: {pre_step: 'echo \"$RECIPE_RUNNER_RUN_DIR $RECIPE_RUNNER_STEP\" >> hooks'}\n\
        steps:\n- {id: round, recipe: inner, repeat: {until: 'True', max: 1}}\n";
    let inner = "name: inner\nsteps:\n\
        - {id: one, command: 'echo \"$RECIPE_RUNNER_RUN_DIR $RECIPE_RUNNER_STEP $RECIPE_RUNNER_EXE\"; test -e again || { touch again; exit 1; }', retry: {max_attempts: 2}}\n\
        - {id: two, prompt: go, ensure: [{command: 'test -d \"$RECIPE_RUNNER_RUN_DIR\"'}]}\n";
    let agent = "echo \"$RECIPE_RUNNER_RUN_DIR $RECIPE_RUNNER_STEP $RECIPE_RUNNER_EXE\"";
    let env = env().agent("claude", agent).file("inner.yaml", inner);
    let env = env.env("RECIPE_RUNNER_RUN_DIR", "/outside").env("RECIPE_RUNNER_STEP", "outside#1");
    let output = env.json(recipe, &[]);
    assert_eq!(output.code, 0, "{}", output.all());
    let json = output.json();
    let dir = json["run_dir"].as_str().unwrap_or_default();
    let program = env!("CARGO_BIN_EXE_recipe-runner-rs");
    assert_eq!(output.step("round[0]/one")["output"], format!("{dir} round[0]/one#2 {program}"));
    assert_eq!(output.step("round[0]/two")["output"], format!("{dir} round[0]/two#1 {program}"));
    let hooks = env.read("hooks");
    assert!(!hooks.is_empty() && hooks.lines().all(|line| line.starts_with(dir)), "{hooks}");
}

const ONLY: &str = "name: r\noutput: {template: 'the answer is {{b}}', only: true}\nsteps:\n\
    - {id: a, command: 'echo noise; echo trouble >&2; printf half'}\n- {id: b, command: echo 42}\n\
    - {id: c, prompt: go, parallel_group: g}\n- {id: d, command: echo beside, parallel_group: g}\n";

#[test]
fn stdout_can_be_kept_for_the_result_of_a_recipe() {
    let env = env().agent("claude", "echo said");
    let output = env.text(ONLY, &[]);
    assert_eq!((output.code, output.stdout.as_str()), (0, "the answer is 42\n"), "{}", output.all());
    for part in ["noise\n", "! trouble\n", "half\n", "d │ beside", "recipe 'r': completed", "run 2"] {
        assert!(output.stderr.contains(part), "{part}: {}", output.stderr);
    }
    let quiet = env.text(ONLY, &["--quiet"]);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("the answer is 42\n", ""), "{}", quiet.all());
    let json = env.json(ONLY, &[]);
    assert_eq!(json.json()["output"], "the answer is 42");
    assert!(env.run(["explain", "recipe.yaml"]).stdout.contains("Stdout: the result text alone"));
    let dry = env.text(ONLY, &["--dry-run"]);
    assert!(dry.stdout.contains("dry run"), "{}", dry.all());
    // without a template the result is the output of the last step
    let last =
        "name: r\noutput: {only: true}\nsteps: [{id: a, command: echo x}, {id: b, command: echo last}]\n";
    assert_eq!(env.text(last, &[]).stdout, "last\n");
    // a sub-recipe does not decide for the recipe around it
    env.write("inner.yaml", last);
    let around = env.text("name: r\nsteps: [{id: a, recipe: inner}]\n", &["--quiet"]);
    assert!(around.stdout.starts_with("x\nlast\n"), "{}", around.all());
}

#[test]
fn a_failed_or_resumed_run_keeps_stdout_for_the_result_too() {
    let recipe = "name: r\noutput: {template: 'result: {{b}}', only: true}\nsteps:\n\
        - {id: a, command: echo noise}\n- {id: b, command: 'echo try; test -e go'}\n";
    let env = env();
    let failed = env.text(recipe, &[]);
    assert_eq!(failed.code, 1, "{}", failed.all());
    assert!(!failed.stdout.contains("noise") && !failed.stdout.contains("failed"), "{}", failed.all());
    assert!(failed.stderr.contains("exit code 1"), "{}", failed.all());
    let blocked =
        env.shell("AMPLIHACK_SESSION_DEPTH=3 \"$RUNNER\" recipe.yaml; \"$RUNNER\" resume last > /dev/null");
    assert!(blocked.stdout.is_empty() && blocked.stderr.contains("cannot start"), "{}", blocked.all());
    env.write("go", "");
    let resumed = env.run(["resume", "last"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (0, "result: try\n"), "{}", resumed.all());
}
