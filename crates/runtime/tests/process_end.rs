//! Ending trees of processes: nothing of them is alive afterwards, and nobody waits longer than needed.
#![cfg(target_os = "linux")]

mod process;

use std::fs;
use std::time::{Duration, Instant};

use process::{GRACE, Place, is_alive};
use runtime::os::process::{Exit, Filter, Marker, Survivor, end_marked, start, survivors};

const LONG: Duration = Duration::from_secs(10);

fn commands(survivors: &[Survivor]) -> Vec<&str> {
    survivors.iter().map(|survivor| survivor.command.as_str()).collect()
}

#[tokio::test]
async fn whoever_ends_when_asked_is_not_waited_for() {
    let place = Place::new();
    let mut running = place.shell("quick", "sleep 60 & echo $! > $D/pid; wait");
    let pid = place.pid("pid").await;
    let started = Instant::now();
    let ended = running.end(LONG).await;
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    assert_eq!(ended.exit, Some(Exit::Signal(15)));
    assert_eq!((ended.swept.ended.len(), ended.swept.killed.len(), ended.swept.left.len()), (2, 0, 0));
    assert!(!is_alive(pid));
}

#[tokio::test]
async fn whoever_traps_the_request_is_killed() {
    let place = Place::new();
    let mut running = place.shell("trap", "trap '' TERM; echo $$ > $D/pid; while :; do sleep 0.05; done");
    let pid = place.pid("pid").await;
    let started = Instant::now();
    let ended = running.end(GRACE).await;
    assert!(started.elapsed() >= GRACE && started.elapsed() < Duration::from_secs(5));
    assert_eq!(ended.exit, Some(Exit::Signal(9)));
    assert!(ended.swept.killed.iter().any(|survivor| survivor.id.pid == pid));
    assert!(survivors(&Filter::run(&place.run)).is_empty());
}

#[tokio::test]
async fn the_last_words_of_a_trap_are_heard() {
    let place = Place::new();
    let script =
        "trap 'sleep 0.1; echo cleaned; exit 5' TERM; echo $$ > $D/pid; while :; do sleep 0.02; done";
    let mut running = place.shell("cleanup", script);
    place.pid("pid").await;
    let ended = running.end(LONG).await;
    assert_eq!(ended.exit, Some(Exit::Code(5)));
    assert_eq!(place.stdout(), "cleaned\n");
}

#[tokio::test]
async fn a_shell_does_not_go_on_when_its_child_is_ended() {
    let place = Place::new();
    let mut running = place.shell("next", "echo $$ > $D/pid; sleep 60; echo went-on");
    place.pid("pid").await;
    running.end(LONG).await;
    assert_eq!(place.stdout(), "");
}

#[tokio::test]
async fn a_grandchild_in_its_own_session_that_ignores_the_request_is_killed_too() {
    let place = Place::new();
    let inner = "trap \"\" TERM; echo $$ > $D/inner; while :; do sleep 0.05; done";
    let mut running = place.shell("session", &format!("trap '' TERM; setsid bash -c '{inner}' & wait"));
    let inner = place.pid("inner").await;
    let ended = running.end(GRACE).await;
    assert!(ended.swept.killed.iter().any(|survivor| survivor.id.pid == inner));
    assert!(ended.swept.is_clean() && !is_alive(inner));
}

#[tokio::test]
async fn a_daemon_is_found_by_its_marker() {
    let place = Place::new();
    let script = "(setsid nohup sleep 60 >/dev/null 2>&1 & echo $! > $D/daemon) & wait";
    let mut running = place.shell("daemon", script);
    running.wait().await;
    let daemon = place.pid("daemon").await;
    let mut found = survivors(&Filter::run(&place.run));
    // the shell has forked it, but it may not yet have become what it is going to be
    for _ in 0..500 {
        if found.len() == 1 && found[0].command.ends_with("sleep 60") && !found[0].command.contains("setsid")
        {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        found = survivors(&Filter::run(&place.run));
    }
    assert!(found.len() == 1 && found[0].command.ends_with("sleep 60"), "{found:?}");
    assert_eq!(found[0].step.as_deref(), Some("daemon#1"));
    let swept = end_marked(&Filter::run(&place.run), LONG).await;
    assert_eq!(swept.ended.len(), 1);
    assert!(!is_alive(daemon));
}

#[tokio::test]
async fn only_the_step_that_is_meant_is_ended() {
    let place = Place::new();
    let mut one = place.shell("one", "exec sleep 60");
    let mut two = place.shell("two", "exec sleep 61");
    one.end(LONG).await;
    assert!(two.identity().is_alive());
    let filter = Filter { step: Some("two#2".into()), ..Filter::run(&place.run) };
    assert_eq!(end_marked(&filter, GRACE).await.ended, []);
    assert!(two.identity().is_alive());
    let filter = Filter { step: Some("two#1".into()), ..filter };
    assert_eq!(end_marked(&filter, LONG).await.ended.len(), 1);
    assert_eq!(two.wait().await, Exit::Signal(15));
}

#[tokio::test]
async fn a_stopped_process_ends_at_once() {
    let place = Place::new();
    let mut running = place.shell("stopped", "trap 'exit 4' TERM; echo $$ > $D/pid; kill -STOP $$; sleep 60");
    let pid = place.pid("pid").await;
    while !fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") T ") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let started = Instant::now();
    assert_eq!(running.end(LONG).await.exit, Some(Exit::Code(4)));
    assert!(started.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn a_tree_that_forks_without_end_is_ended() {
    let place = Place::new();
    let script =
        "trap '' TERM; f() { echo $BASHPID > $D/pid; sleep 0.01; f & }; f; while :; do sleep 0.05; done";
    let mut running = place.shell("forks", script);
    place.pid("pid").await;
    let ended = running.end(Duration::from_millis(100)).await;
    assert!(ended.swept.is_clean(), "{:?}", ended.swept.left);
    assert_eq!(survivors(&Filter::run(&place.run)), []);
}

#[tokio::test]
async fn a_wide_tree_is_ended_at_once() {
    let place = Place::new();
    let mut running =
        place.shell("wide", "for i in {1..60}; do setsid sleep 60 & done; echo $! > $D/pid; wait");
    place.pid("pid").await;
    let started = Instant::now();
    let swept = running.end(LONG).await.swept;
    assert_eq!((swept.left.len(), commands(&swept.killed)), (0, vec![]));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[tokio::test]
async fn ending_twice_and_ending_nothing_changes_nothing() {
    let place = Place::new();
    let mut running = place.shell("twice", "exit 2");
    running.wait().await;
    for _ in 0..2 {
        let ended = running.end(GRACE).await;
        assert_eq!((ended.exit, ended.swept.ended.len()), (Some(Exit::Code(2)), 0));
    }
    assert!(end_marked(&Filter::run("no-such-run"), GRACE).await.ended.is_empty());
}

#[tokio::test]
async fn a_recorded_group_counts_only_with_its_own_start_time() {
    let place = Place::new();
    let mut launch = place.launch("recorded", "/bin/sleep", &["60"]);
    launch.marker = Marker { run: format!("{}-other", place.run), step: "x#1".into() };
    let mut running = start(launch).unwrap();
    let mut reused = running.identity();
    reused.start_time -= 1;
    let filter = Filter { groups: vec![reused], ..Filter::run(&place.run) };
    assert_eq!(end_marked(&filter, GRACE).await.ended, []);
    assert!(running.identity().is_alive());
    let filter = Filter { groups: vec![running.identity()], ..filter };
    assert_eq!(commands(&end_marked(&filter, GRACE).await.ended), ["/bin/sleep 60"]);
    assert_eq!(running.wait().await, Exit::Signal(15));
}
