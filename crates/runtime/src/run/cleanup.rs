//! Cleanup steps after a request to stop: the time that they have. Never decides which of them run.

use std::time::Duration;

use engine::{Event, run::actions::Happening};
use tokio::time::Instant;

use super::{DriveError, Driver};
use crate::store::{cancel_request, folder::RunFolder};

/// How long all cleanup steps together may take after a request to stop.
pub(crate) const CLEANUP_TIME: Duration = Duration::from_secs(30);

/// The cleanup after a request to stop.
#[derive(Debug, Default)]
pub(super) struct StopCleanup {
    /// When the cleanup is stopped too.
    until: Option<Instant>,
    /// The last request to cancel the run.
    request: Option<Vec<u8>>,
}

impl StopCleanup {
    /// Returns when the time for the cleanup is over; never if there is no cleanup.
    pub(super) async fn time_is_up(until: Option<Instant>) {
        match until {
            Some(until) => tokio::time::sleep_until(until).await,
            None => std::future::pending().await,
        }
    }

    /// When the cleanup is stopped too.
    pub(super) fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Limits the time of the cleanup, unless it is limited already.
    pub(super) fn limit(&mut self) {
        self.until.get_or_insert_with(|| Instant::now() + CLEANUP_TIME);
    }

    /// Whether the request to cancel the run is another one than the last time.
    pub(super) fn is_new_request(&mut self, folder: &RunFolder) -> bool {
        let request = cancel_request::bytes(folder);
        let last = std::mem::replace(&mut self.request, request);
        // a request that was being written was seen before its content
        last.is_none_or(|last| !last.is_empty() && Some(&last) != self.request.as_ref())
    }
}

impl Driver<'_> {
    /// All work has ended after a request to stop: begins the cleanup. Returns whether that happened now.
    pub(super) fn begin_cleanup(&mut self) -> Result<bool, DriveError> {
        if self.state.has_come_to_rest() {
            return Ok(false);
        }
        self.tasks.accept_again();
        self.cleanup.limit();
        self.happen(Happening::CameToRest)?;
        Ok(true)
    }

    /// The time for the cleanup is over: stops the steps that are still running.
    pub(super) fn end_cleanup(&mut self) -> Result<(), DriveError> {
        self.cleanup.until = None;
        let steps: Vec<String> = self.state.running_steps();
        let steps: Vec<String> = steps.into_iter().filter(|path| self.state.survives_stop(path)).collect();
        self.happen(Happening::CleanupForbidden)?;
        self.tasks.stop_all_but(Vec::new());
        let seconds = CLEANUP_TIME.as_secs();
        let message = format!("warning: cleanup was stopped after {seconds} s: {}", steps.join(", "));
        self.record(Event::Noted { path: None, message, next: None }, None)
    }
}
