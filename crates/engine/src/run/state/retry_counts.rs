//! How often a step was tried since its last end, over all resumes. Never decides whether it is retried.

use super::RunState;
use crate::run::{event::Ended, outcome::Outcome};

/// Failed attempts at a step that were to be retried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetryCounts {
    /// Because the service of an agent was rate limited.
    pub rate_limited: u64,
    /// Because a rule under `ensure` was not met.
    pub unproven: u64,
    /// For any other reason.
    pub failed: u64,
}

impl RunState {
    /// The number of failed tries of a step so far; interrupted ones do not count.
    pub fn tries(&self, path: &str) -> RetryCounts {
        self.tries.get(path).copied().unwrap_or_default()
    }

    /// Counts a failed attempt.
    pub(super) fn count_failure(&mut self, path: &str, attempt: u32, ended: &Ended) {
        self.last_failed.insert(path.to_owned(), attempt);
        self.failures.entry(path.to_owned()).or_default().push(ended.clone());
    }

    /// Whether this attempt is known to have failed: a step that ends while it waits for a retry ends as its last
    /// attempt did.
    pub(super) fn has_failed(&self, path: &str, attempt: u32) -> bool {
        self.last_failed.get(path) == Some(&attempt) && attempt > 0
    }

    pub(super) fn count_try(&mut self, path: &str, ended: &Ended) {
        // steps below it start again with the recipe around them
        let below = format!("{path}/");
        self.tries.retain(|known, _| !known.starts_with(&below));
        let tries = self.tries.entry(path.to_owned()).or_default();
        match ended.outcome {
            Outcome::Cancelled => {}
            Outcome::RateLimited { .. } => tries.rate_limited += 1,
            Outcome::Ensure => tries.unproven += 1,
            _ => tries.failed += 1,
        }
    }
}
