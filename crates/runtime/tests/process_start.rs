//! Starting children: what they get, how they end, and what is said when they cannot start.
#![cfg(target_os = "linux")]

mod process;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use process::{GRACE, Place};
use runtime::os::process::{Exit, Launch, StartError, Stdin, signal_name, start};

#[tokio::test]
async fn exits() {
    let place = Place::new();
    for (script, expected) in [
        ("true", Exit::Code(0)),
        ("exit 7", Exit::Code(7)),
        ("exit 255", Exit::Code(255)),
        ("no-such-command-here", Exit::Code(127)),
        ("kill -KILL $$", Exit::Signal(9)),
        ("kill -TERM $$", Exit::Signal(15)),
        ("kill -SEGV $$", Exit::Signal(11)),
    ] {
        let mut running = place.shell("exits", script);
        assert_eq!(running.wait().await, expected, "{script}");
        assert_eq!(running.wait().await, expected, "{script}, asked again");
    }
    assert_eq!(signal_name(9), "SIGKILL");
}

#[tokio::test]
async fn output_goes_to_private_files_and_is_appended() {
    let place = Place::new();
    for word in ["one", "two"] {
        place.shell("output", &format!("echo {word}; echo {word}-error >&2")).wait().await;
    }
    assert_eq!(place.stdout(), "one\ntwo\n");
    assert_eq!(fs::read_to_string(place.file("stderr")).unwrap(), "one-error\ntwo-error\n");
    let mode = place.file("stdout").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn the_environment_is_what_was_given_and_the_marker() {
    let place = Place::new();
    let mut launch = place.launch("env", "env", &[]);
    Arc::make_mut(&mut launch.env).set("GIVEN", "a b");
    start(launch).unwrap().wait().await;
    let stdout = place.stdout();
    let mut names: Vec<&str> = stdout.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    assert_eq!(names, ["D", "GIVEN", "PATH", "RECIPE_RUNNER_RUN", "RECIPE_RUNNER_STEP"]);
    assert!(stdout.contains("RECIPE_RUNNER_STEP=env#1\n"));
}

#[tokio::test]
async fn input_is_empty_or_a_file() {
    let place = Place::new();
    place.shell("stdin", "wc -c").wait().await;
    fs::write(place.file("input"), "hello").unwrap();
    let launch = Launch { stdin: Stdin::File(place.file("input")), ..place.launch("stdin", "cat", &[]) };
    start(launch).unwrap().wait().await;
    assert_eq!(place.stdout(), "0\nhello");
}

#[tokio::test]
async fn the_child_leads_its_own_group_in_its_directory() {
    let place = Place::new();
    let mut running = place.shell("group", "ps -o pgid= -p $$ | tr -d ' '; pwd");
    running.wait().await;
    let folder = place.folder.canonicalize().unwrap();
    assert_eq!(place.stdout(), format!("{}\n{}\n", running.identity().pid, folder.display()));
}

#[tokio::test]
async fn why_a_child_cannot_start() {
    let place = Place::new();
    fs::write(place.file("script"), "#!/no/such/interpreter\n").unwrap();
    fs::set_permissions(place.file("script"), fs::Permissions::from_mode(0o700)).unwrap();
    fs::write(place.file("plain"), "").unwrap();
    let check = |launch: Launch, expected: &str| {
        let error = start(launch).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}\n{expected}");
        error
    };
    check(place.launch("bad", "no-such-program", &[]), "no such program: `no-such-program`");
    check(place.launch("bad", "/no/such/program", &[]), "no such program: `/no/such/program`");
    check(place.launch("bad", "./plain/program", &[]), "no such program: `./plain/program`");
    check(place.launch("bad", "./script", &[]), "cannot start `./script`: the interpreter");
    for cwd in ["missing", "plain"] {
        let launch = Launch { cwd: place.file(cwd), ..place.launch("bad", "/bin/true", &[]) };
        let error = check(launch, "no such directory: cannot start `/bin/true` in");
        assert!(matches!(error, StartError::NoDirectory { .. }));
    }
    let launch = Launch { stdin: Stdin::File(place.file("missing")), ..place.launch("bad", "cat", &[]) };
    check(launch, "cannot open `");
    check(
        place.launch("bad", "/bin/true", &[&"x".repeat(200_000)]),
        "cannot start `/bin/true`: its arguments",
    );
    check(place.launch("bad", "./plain", &[]), "cannot start `./plain` in");
    check(place.launch("bad", "/bin/true", &["\0"]), "cannot start `/bin/true` in");
}

#[tokio::test]
async fn a_grandchild_that_holds_the_output_delays_nobody() {
    let place = Place::new();
    let started = Instant::now();
    let mut running = place.shell("held", "sleep 60 & echo done");
    assert_eq!(running.wait().await, Exit::Code(0));
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(place.stdout(), "done\n");
    assert_eq!(running.end(GRACE).await.swept.ended.len(), 1);
}

#[tokio::test]
async fn a_hundred_children_run_side_by_side() {
    let place = Place::new();
    let started = Instant::now();
    let mut all: Vec<_> = (0..100).map(|n| place.shell(&format!("s{n}"), "sleep 0.2; echo x")).collect();
    for running in &mut all {
        assert_eq!(running.wait().await, Exit::Code(0));
    }
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert_eq!(place.stdout().len(), 200);
}

#[tokio::test]
async fn waiting_can_be_cancelled() {
    let place = Place::new();
    let mut running = place.shell("cancel", "sleep 0.1; exit 3");
    assert!(tokio::time::timeout(Duration::from_millis(1), running.wait()).await.is_err());
    assert_eq!(running.wait().await, Exit::Code(3));
}
