//! Being told to stop, by a signal or by another process. Never ends a process itself.

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Driver, Notice};
use crate::attempt::Go;

/// Why a run was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// SIGINT.
    Interrupt,
    /// SIGTERM or SIGHUP.
    Terminate,
    /// Another process asked for it.
    Cancel,
}

impl Driver<'_> {
    pub(super) fn halt(&mut self, halt: Halt) {
        let halt = match halt {
            Halt::Cancel if !self.cancel_requested() => return,
            halt => halt,
        };
        let why = match halt {
            Halt::Interrupt => "interrupted: ending what is running",
            Halt::Terminate => "told to terminate: ending what is running",
            Halt::Cancel => "cancelled: ending what is running",
        };
        self.reporter.notice(Notice::Stopping { why });
        self.halt.get_or_insert(halt);
        for gate in self.gates.values() {
            let _ = gate.send(Go::Stop);
        }
    }

    /// Whether another process left a request to cancel in the inbox.
    fn cancel_requested(&self) -> bool {
        self.folder.as_ref().is_some_and(|folder| folder.inbox().join("cancel").exists())
    }
}

/// The signals that concern a run.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
    request: Signal,
}

impl Signals {
    pub(super) fn new() -> std::io::Result<Signals> {
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
            request: signal(SignalKind::user_defined1())?,
        })
    }

    pub(super) async fn next(&mut self) -> Halt {
        tokio::select! {
            _ = self.interrupt.recv() => Halt::Interrupt,
            _ = self.terminate.recv() => Halt::Terminate,
            _ = self.hangup.recv() => Halt::Terminate,
            _ = self.request.recv() => Halt::Cancel,
        }
    }
}
