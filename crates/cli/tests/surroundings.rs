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
