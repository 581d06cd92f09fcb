//! The guardian: a small process that outlives a killed runner for as long as it takes to end what is left of its run.
//!
//! It waits at a pipe that only the runner holds. When the pipe closes without a word, the runner has died. It never
//! polls, never reads anything of the run before it has to act, never writes into the journal, and never touches a
//! run that another process has taken.

use std::{
    convert::Infallible,
    ffi::OsString,
    fs::{self, File},
    future::{Future, pending},
    io::{self, Read, Write},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use tokio::signal::unix::{SignalKind, signal};

use crate::{clock, folder::RunFolder, process, runs};

/// How long something has to run before a guardian is worth its price.
const LASTING: Duration = Duration::from_secs(1);
/// What the runner says when there is nothing left to guard.
const DONE: &[u8] = b"done";
/// How long a guardian that was told so may take to end.
const GOODBYE: Duration = Duration::from_secs(2);
/// How long to look whether whoever has the run keeps it: a dying runner does not, nor does a resume that asks first.
const TAKEN: Duration = Duration::from_secs(3);

/// How a program is started as a guardian: the folder of the run is added to its arguments, and it is to call [`keep`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guardian {
    /// The program.
    pub program: PathBuf,
    /// What it is called in lists of processes.
    pub name: OsString,
    /// Its first arguments.
    pub args: Vec<OsString>,
}

impl Guardian {
    /// It gets nothing of ours but the pipe: neither environment, which would make it a process of a run, nor
    /// directory nor output.
    fn start(&self, run: &PathBuf) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.arg0(&self.name).args(&self.args).arg(run).env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        process::start_aside(&mut command)
    }
}

/// The guardian of a run, seen from its runner: started when something lasts, and told when it is over.
///
/// Dropping it without [`Self::end`] is a death too: then the guardian acts.
pub(crate) struct Beside {
    order: Option<(Guardian, PathBuf)>,
    child: Option<Child>,
}

impl Beside {
    /// Nothing is started yet, and without a folder or a program never will be.
    pub(crate) fn new(guardian: Option<Guardian>, folder: Option<PathBuf>) -> Beside {
        Beside { order: guardian.zip(folder), child: None }
    }

    /// Does the work, with a guardian as soon as a part of it lasts.
    pub(crate) async fn while_it<T>(&mut self, work: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            done = work => done,
            never = self.watch() => match never {},
        }
    }

    /// A runner without a guardian is as good as ever: that one cannot be started is no error.
    async fn watch(&mut self) -> Infallible {
        let Some((guardian, run)) = self.order.take() else { return pending().await };
        let mut rest = LASTING;
        while !rest.is_zero() {
            tokio::time::sleep(rest).await;
            rest = process::until_lasting(LASTING);
        }
        self.child = guardian.start(&run).ok();
        pending().await
    }

    /// Nothing of the run is alive: the guardian goes, and leaves nothing behind.
    pub(crate) fn end(self) {
        let Some(mut child) = self.child else { return };
        if let Some(mut pipe) = child.stdin.take() {
            // one that somebody killed does not listen
            let _ = pipe.write_all(DONE);
        }
        let deadline = Instant::now() + GOODBYE;
        while matches!(child.try_wait(), Ok(None)) && Instant::now() < deadline {
            sleep(Duration::from_millis(1));
        }
        // nothing for one that has ended
        let _ = child.kill();
        let _ = child.wait();
        process::forget_aside(&child);
    }
}

/// Guards a run, as the program that [`Guardian`] names: returns when its runner is over, or is dead and nothing of the
/// run is alive.
pub fn keep(run: PathBuf, grace: Duration) -> io::Result<()> {
    // a group leader stays in its session: then it is out of reach of the terminal all the same
    let _ = rustix::process::setsid();
    if clock::block_on(async { last_words() })? == DONE {
        return Ok(());
    }
    let folder = RunFolder::at(run);
    let Some(_held) = take_over(&folder) else { return Ok(()) };
    let filter = runs::left_behind(&folder);
    clock::block_on(process::end_marked(&filter, grace)).map(drop)
}

/// What the runner said before it closed the pipe. Signals that mean the runner are not for us: from here on they do
/// nothing.
fn last_words() -> Vec<u8> {
    use SignalKind as Kind;
    for kind in [Kind::interrupt(), Kind::terminate(), Kind::hangup(), Kind::quit()] {
        // once somebody has listened to a signal, it does not end the process any more
        let _ = signal(kind);
    }
    // whoever kills runners by their name does not mean it either
    let _ = fs::write("/proc/self/comm", "recipe-guardian");
    let mut said = Vec::new();
    let _ = io::stdin().lock().take(64).read_to_end(&mut said);
    said
}

/// Nothing if another process has the run. While what is returned is held, nobody goes on with it.
fn take_over(folder: &RunFolder) -> Option<Option<File>> {
    let deadline = Instant::now() + TAKEN;
    while Instant::now() < deadline {
        // a run without a folder can only be guarded by its marker, and nobody can resume it
        let held = folder.hold_back().ok();
        if folder.owner().is_none() {
            return Some(held);
        }
        drop(held);
        sleep(Duration::from_millis(20));
    }
    None
}
