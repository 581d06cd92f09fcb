//! The guardian: a small process that outlives a killed runner just long enough to end the rest of its run.
//!
//! It waits at a pipe that only the runner holds. If the pipe closes without a message, the runner has died. It never
//! polls, never reads the run before it has to act, never writes into the journal, and never touches a run that another
//! process has taken.

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

/// How long a process has to run before a guardian is worth its cost.
const LASTING: Duration = Duration::from_secs(1);
/// The message of the runner when there is nothing left to guard.
pub(crate) const DONE: &[u8] = b"done";
/// How long a guardian may take to end after that message.
const GOODBYE: Duration = Duration::from_secs(2);

/// How to start a program as a guardian: the folder of the run is added to its arguments, and it has to call
/// `runs::guard`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guardian {
    pub program: PathBuf,
    /// Its name in process lists.
    pub name: OsString,
    /// Its first arguments.
    pub args: Vec<OsString>,
}

impl Guardian {
    /// Starts it with nothing but the pipe: an inherited environment would make it a process of a run, and it needs no
    /// directory and no output.
    fn start(&self, run: &PathBuf) -> io::Result<Child> {
        let mut command = Command::new(&self.program);
        command.arg0(&self.name).args(&self.args).arg(run).env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        process::spawn_unmanaged(&mut command)
    }
}

/// The guardian of a run, seen from its runner: started when a process runs long enough, and told when the run is over.
///
/// Dropping it without [`Self::end`] looks like the death of the runner: then the guardian acts.
pub(crate) struct GuardianProcess {
    order: Option<(Guardian, PathBuf)>,
    child: Option<Child>,
}

impl GuardianProcess {
    /// A guardian that is not started yet. Without a folder or a program it never starts.
    pub(crate) fn new(guardian: Option<Guardian>, folder: Option<PathBuf>) -> GuardianProcess {
        GuardianProcess { order: guardian.zip(folder), child: None }
    }

    /// Does the work, and starts a guardian as soon as a process of it runs long enough.
    pub(crate) async fn while_it<T>(&mut self, work: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            done = work => done,
            never = self.watch() => match never {},
        }
    }

    /// Starts the guardian. A run also works without one, so a failure is ignored.
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

    /// Ends the guardian: all processes of the run have ended.
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
        // does nothing if it has ended
        let _ = child.kill();
        let _ = child.wait();
        process::forget_aside(&child);
    }
}
