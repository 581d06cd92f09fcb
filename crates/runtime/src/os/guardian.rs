//! The guardian: a small process that outlives a killed runner for as long as it takes to end what is left of its run.
//!
//! It waits at a pipe that only the runner holds. When the pipe closes without a word, the runner has died. It never
//! polls, never reads anything of the run before it has to act, never writes into the journal, and never touches a
//! run that another process has taken.

use std::{
    convert::Infallible,
    ffi::OsString,
    future::{Future, pending},
    io::{self, Write},
    os::unix::process::CommandExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use super::process;

/// How long something has to run before a guardian is worth its price.
const LASTING: Duration = Duration::from_secs(1);
/// What the runner says when there is nothing left to guard.
pub(crate) const DONE: &[u8] = b"done";
/// How long a guardian that was told so may take to end.
const GOODBYE: Duration = Duration::from_secs(2);

/// How a program is started as a guardian: the folder of the run is added to its arguments, and it has to call `runs::guard`.
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
            // the write fails if the guardian was killed
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
