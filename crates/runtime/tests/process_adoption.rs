//! Orphans come back to the runner: they are put down to their step, ended with it or with the run, and reaped.
//! One test at a time: the children of the whole test program are looked at.
#![cfg(target_os = "linux")]

mod process;

use std::time::{Duration, Instant};

use process::{Place, children, is_alive};
use runtime::os::process::{Exit, Filter, Left, Running, become_reaper, end_marked, reap_adopted};
use tokio::sync::{Mutex, MutexGuard};

static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

async fn alone() -> MutexGuard<'static, ()> {
    let guard = ONE_AT_A_TIME.lock().await;
    become_reaper();
    guard
}

fn survivor_pids(running: &Running) -> Vec<i32> {
    running.survivors().iter().map(|survivor| survivor.id.pid).collect()
}

const LONG: Duration = Duration::from_secs(30);
/// Without environment, in another session, and its parent gone: only adoption is left to find it by.
const ANONYMOUS: &str =
    "env -i setsid -f bash -c 'echo $$ > pid; exec sleep 60'; while [ ! -s pid ]; do sleep 0.01; done";

#[tokio::test]
async fn a_step_that_leaves_nothing_has_no_survivors() {
    let _alone = alone().await;
    let place = Place::new();
    let mut running = place.shell("clean", "sleep 0.01 | cat");
    running.wait().await;
    assert_eq!(running.survivors(), []);
    assert_eq!(children(), Vec::<String>::new());
}

#[tokio::test]
async fn what_a_step_leaves_is_a_daemon_if_it_made_a_session_of_its_own() {
    let _alone = alone().await;
    let place = Place::new();
    let daemon = "setsid -f bash -c 'echo $$ > pid; exec sleep 60'; while [ ! -s pid ]; do sleep 0.01; done";
    for (name, command, expected) in [
        ("nothing", "true".to_owned(), Left::Nothing),
        ("server", "sleep 60 &".to_owned(), Left::Processes),
        ("pipe", "set -m; sleep 60 | cat &".to_owned(), Left::Processes),
        ("daemon", daemon.to_owned(), Left::Daemons),
        ("both", format!("sleep 60 & {daemon}"), Left::Processes),
        // who only passes on what was printed serves nobody
        ("filter", "exec > >(sleep 60; cat)".to_owned(), Left::Daemons),
        ("filters", "exec > >(sleep 60 | cat)".to_owned(), Left::Daemons),
        ("source", "sleep 60 </dev/null | cat &".to_owned(), Left::Processes),
    ] {
        let _ = std::fs::remove_file(place.file("pid"));
        let mut running = place.shell(name, &command);
        assert_eq!(running.wait().await, Exit::Code(0));
        // until all that it began is there
        let deadline = Instant::now() + LONG;
        while running.left() != expected && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(running.left(), expected, "{name}");
        running.end(LONG).await;
    }
    assert_eq!(children(), Vec::<String>::new());
}

#[tokio::test]
async fn what_a_step_printed_is_passed_on_before_it_is_over() {
    let _alone = alone().await;
    for (script, expected) in [
        ("exec > >(cat); echo said", "said\n"),
        ("exec > >(sleep 0.3; cat); echo said", "said\n"),
        ("exec > >(sed s/s/S/ | (sleep 0.3; cat)); echo said", "Said\n"),
        ("exec > >(while read -r line; do sleep 0.1; echo \"$line.\"; done); echo a; echo b", "a.\nb.\n"),
        // somebody goes on writing to it
        ("exec > >(cat); sleep 60 & echo said", "said\n"),
        // nobody waits for who has nothing to pass on
        ("sleep 60 & echo said", "said\n"),
        ("sleep 60 </dev/null | cat & echo said", "said\n"),
    ] {
        let place = Place::new();
        let mut running = place.shell("speaks", script);
        running.wait().await;
        running.drain().await;
        assert_eq!(place.stdout(), expected, "{script}");
        running.end(LONG).await;
    }
}

#[tokio::test]
async fn a_process_without_environment_is_put_down_to_its_step() {
    let _alone = alone().await;
    let place = Place::new();
    let mut running = place.shell("anonymous", ANONYMOUS);
    assert_eq!(running.wait().await, Exit::Code(0));
    let pid = place.pid("pid").await;
    assert_eq!(survivor_pids(&running), [pid]);
    let mut next = place.shell("next", "true");
    next.wait().await;
    assert_eq!(next.survivors(), []);
    assert_eq!(running.end(LONG).await.swept.ended.len(), 1);
    assert!(!is_alive(pid));
    assert_eq!(children(), Vec::<String>::new());
}

#[tokio::test]
async fn a_process_without_environment_is_found_while_its_step_runs() {
    let _alone = alone().await;
    let place = Place::new();
    let mut running = place.shell("busy", &format!("{ANONYMOUS}; sleep 60"));
    let pid = place.pid("pid").await;
    let ended = running.end(LONG).await;
    assert_eq!(ended.exit, Some(Exit::Signal(15)));
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn a_process_that_two_steps_can_have_started_lives_until_the_run_ends() {
    let _alone = alone().await;
    let place = Place::new();
    let mut other = place.shell("other", "exec sleep 60");
    let mut running = place.shell("anonymous", ANONYMOUS);
    running.wait().await;
    let pid = place.pid("pid").await;
    assert_eq!(running.survivors(), []);
    other.end(LONG).await;
    assert!(is_alive(pid));
    assert_eq!(end_marked(&Filter::run(&place.run), LONG).await.ended.len(), 1);
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn a_background_server_outlives_its_step_and_ends_with_the_run() {
    let _alone = alone().await;
    let place = Place::new();
    let mut running = place.shell("server", "setsid sleep 60 & echo $! > $D/pid");
    running.wait().await;
    let pid = place.pid("pid").await;
    assert_eq!(survivor_pids(&running), [pid]);
    drop(running);
    assert!(is_alive(pid));
    let swept = end_marked(&Filter::run(&place.run), LONG).await;
    assert_eq!(swept.ended[0].step.as_deref(), Some("server#1"));
    assert!(!is_alive(pid));
    assert_eq!(children(), Vec::<String>::new());
}

#[tokio::test]
async fn adopted_orphans_are_reaped_and_nobody_loses_a_status() {
    let _alone = alone().await;
    let place = Place::new();
    let reaper = tokio::spawn(reap_adopted());
    let mut steps: Vec<_> = (0..20)
        .map(|n| {
            place.shell(&format!("s{n}"), &format!("for i in 1 2 3; do setsid -f sleep 0.1; done; exit {n}"))
        })
        .collect();
    let mut ours = std::process::Command::new("/bin/sh").args(["-c", "exit 9"]).spawn().unwrap();
    for (n, running) in steps.iter_mut().enumerate() {
        assert_eq!(running.wait().await, Exit::Code(n as i32));
    }
    let started = Instant::now();
    while children().len() > 1 && started.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(ours.wait().unwrap().code(), Some(9));
    assert_eq!(children(), Vec::<String>::new());
    reaper.abort();
}
