//! The work of a guardian: waits for the death of its runner, then ends the remaining processes of the run.
//!
//! It never polls, never reads the run before it has to act, never writes into the journal, and never touches a run
//! that another process has taken.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

use tokio::signal::unix::{SignalKind, signal};

use super::left_behind;
use crate::{
    os::{clock, files, guardian::DONE, process},
    store::folder::RunFolder,
};

/// How long to check whether the owner keeps the run: a dying runner does not, nor does a resume that asks first.
const TAKEN: Duration = Duration::from_secs(3);

/// Guards a run, as the program that [`Guardian`] names. Returns when its runner is done, or is dead and all processes
/// of the run have ended.
pub fn guard(run: PathBuf, grace: Duration) -> io::Result<()> {
    // fails for a group leader, which is out of reach of the terminal anyway
    let _ = rustix::process::setsid();
    if clock::block_on(async { last_words() })? == DONE {
        return Ok(());
    }
    let folder = RunFolder::at(run);
    let Some(_held) = take_over(&folder) else { return Ok(()) };
    let filter = left_behind(&folder);
    clock::block_on(process::end_marked(&filter, grace)).map(drop)
}

/// The last message of the runner before it closed the pipe. Signals for the runner are ignored from here on.
fn last_words() -> Vec<u8> {
    use SignalKind as Kind;
    for kind in [Kind::interrupt(), Kind::terminate(), Kind::hangup(), Kind::quit()] {
        // a signal with a handler does not end the process
        let _ = signal(kind);
    }
    // a new name, so that killing runners by name does not hit the guardian
    let _ = files::overwrite(Path::new("/proc/self/comm"), b"recipe-guardian");
    let mut said = Vec::new();
    let _ = io::stdin().lock().take(64).read_to_end(&mut said);
    said
}

/// Takes over the run; `None` if another process has it. While the file is held, no process can continue the run.
fn take_over(folder: &RunFolder) -> Option<Option<File>> {
    let deadline = clock::instant() + TAKEN;
    while clock::instant() < deadline {
        // a run without a folder can only be guarded by its marker, and cannot be resumed
        let held = folder.hold_back().ok();
        if folder.owner().is_none() {
            return Some(held);
        }
        drop(held);
        sleep(Duration::from_millis(20));
    }
    None
}
