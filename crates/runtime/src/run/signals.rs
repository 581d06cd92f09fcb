//! Requests to stop, by a signal or from another process. Never ends a process itself.

use std::time::Duration;

use engine::run::{actions::Happening, ending::Halt};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{DriveError, Driver, Notice};
use crate::{
    os::process,
    store::{cancel_request, folder::RunFolder},
};

/// The message for a second request to stop.
pub(crate) const TOLD_AGAIN: &str = "second signal: killing the remaining processes";

/// How often to check whether a wait is over.
const LOOK: Duration = Duration::from_millis(20);

/// Waits after a run until a condition holds or a signal asks to stop. The run has installed handlers for all of these
/// signals, so without this wait they would have no effect.
pub fn wait_unless_told(mut is_so: impl FnMut() -> bool) -> std::io::Result<Option<Halt>> {
    let event_loop = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    event_loop.block_on(async {
        let mut signals = Signals::new()?;
        while !is_so() {
            tokio::select! {
                biased;
                halt = signals.next() => if halt != Halt::Cancel { return Ok(Some(halt)) },
                () = tokio::time::sleep(LOOK) => {}
            }
        }
        Ok(None)
    })
}

/// Whether another process left a request to cancel a run in its inbox.
pub(crate) fn cancel_requested(folder: &RunFolder) -> bool {
    cancel_request::exists(folder)
}

/// How often to check the inbox: a process that cannot send a signal can only leave a request there.
pub(crate) const INBOX: Duration = Duration::from_secs(1);

/// The timer for that check.
pub(super) fn inbox() -> tokio::time::Interval {
    let mut inbox = tokio::time::interval(INBOX);
    inbox.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    inbox
}

impl Driver<'_> {
    pub(super) fn halt(&mut self, halt: Halt) -> Result<(), DriveError> {
        if halt == Halt::Cancel {
            self.take_answers()?;
            let folder = self.store.folder.as_ref().filter(|folder| cancel_requested(folder));
            // a request in the inbox is also announced by a signal
            if !folder.is_some_and(|folder| self.cleanup.is_new_request(folder)) {
                return Ok(());
            }
        }
        if self.state.halt().is_some() {
            // the user does not want to wait
            self.happen(Happening::CleanupForbidden)?;
            self.tasks.stop_all_but(Vec::new());
            self.reporter.notice(Notice::Stopping { why: TOLD_AGAIN });
            self.tasks.kill_all(&self.spec.run_id);
            return Ok(());
        }
        self.reporter.notice(Notice::Stopping { why: halt.why() });
        let no_cleanup = self.spec.options.switches.no_cleanup
            || self.store.folder.as_ref().is_some_and(cancel_request::skips_cleanup);
        if no_cleanup {
            self.happen(Happening::CleanupForbidden)?;
        }
        // `always` steps that are running continue, for a limited time
        let spared = self.state.running_cleanup();
        if !spared.is_empty() {
            self.cleanup.limit();
        }
        self.tasks.stop_all_but(spared);
        self.happen(Happening::StopRequested(halt))
    }
}

/// The signals that concern a run.
#[derive(Debug)]
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    quit: Signal,
    /// Absent under `nohup`.
    hangup: Option<Signal>,
    request: Signal,
}

impl Signals {
    pub(crate) fn new() -> std::io::Result<Signals> {
        let hangup = match process::ignores_hangup() {
            true => None,
            false => Some(signal(SignalKind::hangup())?),
        };
        // a file that reaches its size limit is an error like a full disk, and must not kill the runner
        drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?);
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            quit: signal(SignalKind::quit())?,
            hangup,
            request: signal(SignalKind::user_defined1())?,
        })
    }

    pub(crate) async fn next(&mut self) -> Halt {
        #[cfg(test)]
        if crate::os::files::is_on() {
            return crate::simulation::next_halt().await;
        }
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => Halt::Interrupt,
            _ = self.terminate.recv() => Halt::Terminate,
            _ = self.quit.recv() => Halt::Terminate,
            _ = hangup => Halt::Hangup,
            _ = self.request.recv() => Halt::Cancel,
        }
    }
}
