//! A runner that was killed leaves processes behind; another one finds and ends them.
//! The test program starts itself again to be that runner.
#![cfg(target_os = "linux")]

mod process;

use std::process::{Command, Stdio};
use std::time::Duration;

use process::{Place, is_alive, wait_for_pid};
use runtime::os::process::{Filter, become_reaper, end_marked, survivors};

const SWITCH: &str = "PROCESS_TEST_RUNNER_FOLDER";
const SCRIPT: &str = "
    setsid bash -c 'trap \"\" TERM; echo $$ > $D/detached; while :; do sleep 0.05; done' &
    env -i sleep 61 & echo $! > $D/cleared
    echo $$ > $D/main; exec sleep 60";

/// The runner that will be killed; does nothing when it is run as a test.
#[tokio::test]
async fn runner() {
    let Ok(folder) = std::env::var(SWITCH) else { return };
    become_reaper();
    let place = Place { folder: folder.clone().into(), run: folder };
    let launch = place.launch("work", "/bin/bash", &["-c", SCRIPT]);
    runtime::os::process::start(launch).unwrap().wait().await;
}

#[tokio::test]
async fn what_a_killed_runner_left_is_found_and_ended() {
    let place = Place::new();
    let folder = place.folder.to_str().unwrap();
    let mut runner = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "runner"])
        .env(SWITCH, folder)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut pids = Vec::new();
    for name in ["detached", "cleared", "main"] {
        pids.push(wait_for_pid(&place.file(name)).await);
    }
    runner.kill().unwrap();
    runner.wait().unwrap();
    assert!(pids.iter().all(|pid| is_alive(*pid)));

    let filter = Filter::run(folder);
    let found: Vec<i32> = survivors(&filter).iter().map(|survivor| survivor.id.pid).collect();
    assert!(pids.iter().all(|pid| found.contains(pid)), "{pids:?} {found:?}");
    let swept = end_marked(&filter, Duration::from_millis(200)).await;
    assert!(swept.killed.iter().any(|survivor| survivor.id.pid == pids[0]));
    assert!(swept.is_clean() && pids.iter().all(|pid| !is_alive(*pid)));
    assert_eq!(survivors(&filter), []);
}
