//! Work between two attempts: every action is recorded first and reported, and can be stopped at any moment.
//!
//! Listens for signals and cancel requests from before the first attempt until the end, so that none is lost between
//! two attempts. Never decides what is done next.

use std::{collections::BTreeSet, future::Future, time::Duration};

use engine::Event;
use tokio::{
    runtime::Runtime,
    sync::{mpsc, watch},
};

use super::AutoFixError;
use crate::{
    os::process,
    run::{DriveError, Halt, INBOX, Notice, Reporter, Signals, TOLD_AGAIN, cancel_requested},
    runs::{RunError, Runs},
    steps::shell::attempt::{Progress, StopSignal},
    store::folder::RunFolder,
};

/// Listens for requests to stop.
#[derive(Debug)]
pub(super) struct StopListener {
    event_loop: Runtime,
    signals: Signals,
}

impl StopListener {
    pub(super) fn new() -> Result<StopListener, AutoFixError> {
        let event_loop = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let event_loop = event_loop.map_err(RunError::Loop)?;
        let signals = {
            let _inside = event_loop.enter();
            Signals::new().map_err(|error| RunError::Drive(DriveError::Signals(error)))?
        };
        Ok(StopListener { event_loop, signals })
    }
}

/// The next request to stop this run; a request in the inbox counts only if none was received before.
async fn told(signals: &mut Signals, folder: &RunFolder, heard: Option<Halt>) -> Halt {
    loop {
        if heard.is_none() && cancel_requested(folder) {
            return Halt::Cancel;
        }
        tokio::select! {
            biased;
            halt = signals.next() => match halt {
                Halt::Cancel if !cancel_requested(folder) => {}
                halt => return halt,
            },
            () = tokio::time::sleep(INBOX) => {}
        }
    }
}

/// The tools of the loop between two attempts.
pub(super) struct BetweenAttempts<'a> {
    pub(super) runs: &'a Runs,
    pub(super) folder: &'a RunFolder,
    pub(super) grace: Duration,
    pub(super) ear: StopListener,
    pub(super) reporter: &'a mut dyn Reporter,
}

impl BetweenAttempts<'_> {
    /// Records an event before it happens.
    pub(super) fn record(&mut self, event: Event) -> Result<(), AutoFixError> {
        Ok(self.runs.append(self.folder, event, self.reporter)?)
    }

    /// Whether a stop was requested in the meantime.
    pub(super) fn was_told(&mut self) -> Option<Halt> {
        if cancel_requested(self.folder) {
            return Some(Halt::Cancel);
        }
        // long enough to receive signals that arrived before
        self.pause(Duration::from_millis(1))
    }

    /// Waits, unless a stop is requested.
    pub(super) fn pause(&mut self, time: Duration) -> Option<Halt> {
        let (signals, folder) = (&mut self.ear.signals, self.folder);
        let halt = self.ear.event_loop.block_on(async {
            tokio::select! {
                biased;
                halt = told(signals, folder, None) => Some(halt),
                () = tokio::time::sleep(time) => None,
            }
        });
        self.tell(halt)
    }

    /// Lets an agent work until it ends or a stop is requested. A stop closes its gate and ends all processes of the
    /// run. Records the processes that are started for it.
    pub(super) fn watch<T>(
        &mut self,
        gate: &watch::Sender<StopSignal>,
        mut progress: mpsc::UnboundedReceiver<Progress>,
        agent: impl Future<Output = T>,
    ) -> Result<(T, Option<Halt>), AutoFixError> {
        let filter = process::Filter::run(self.folder.id());
        let (signals, folder, grace, runs) = (&mut self.ear.signals, self.folder, self.grace, self.runs);
        let reporter = &mut *self.reporter;
        self.ear.event_loop.block_on(async {
            tokio::pin!(agent);
            let mut halted = None;
            let mut recorded = Ok(());
            let mut names = BTreeSet::new();
            let done = loop {
                tokio::select! {
                    biased;
                    halt = told(signals, folder, halted) => match halted {
                        None => {
                            reporter.notice(Notice::Stopping { why: halt.why() });
                            halted = Some(halt);
                            let _ = gate.send(StopSignal::Run);
                        }
                        Some(_) => {
                            reporter.notice(Notice::Stopping { why: TOLD_AGAIN });
                            process::end_marked(&filter, Duration::ZERO).await;
                        }
                    },
                    Some(said) = progress.recv() => if let Progress::Spawned(started) = said {
                        let spawned = Event::Spawned(started.recorded(&mut names));
                        let appended = runs.append(folder, spawned, reporter);
                        if appended.is_err() {
                            let _ = gate.send(StopSignal::Run);
                        }
                        recorded = recorded.and(appended);
                    },
                    done = &mut agent => break done,
                }
            };
            if halted.is_some() {
                process::end_marked(&filter, grace).await;
            }
            recorded?;
            Ok((done, halted))
        })
    }

    fn tell(&mut self, halt: Option<Halt>) -> Option<Halt> {
        if let Some(halt) = halt {
            self.reporter.notice(Notice::Stopping { why: halt.why() });
        }
        halt
    }
}
