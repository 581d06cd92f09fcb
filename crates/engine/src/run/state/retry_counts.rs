//! How often a step was tried since it last came to an end, over all resumes. Never decides whether it is tried
//! again.

use super::RunState;
use crate::run::{event::Ended, outcome::Outcome};

/// Attempts at a step that failed and were to be followed by another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tries {
    /// Because the service of an agent asked to slow down.
    pub rate_limited: u64,
    /// For any other reason.
    pub failed: u64,
}

impl RunState {
    /// How often a step was tried in vain so far; what was interrupted does not count.
    pub fn tries(&self, path: &str) -> Tries {
        self.tries.get(path).copied().unwrap_or_default()
    }

    /// Remembers an attempt that failed.
    pub(super) fn count_failure(&mut self, path: &str, attempt: u32, ended: &Ended) {
        self.last_failed.insert(path.to_owned(), attempt);
        self.failures.entry(path.to_owned()).or_default().push(ended.clone());
    }

    /// Whether this attempt is known to have failed: a step that ends while it waits for its next attempt ends as its
    /// last one did.
    pub(super) fn has_failed(&self, path: &str, attempt: u32) -> bool {
        self.last_failed.get(path) == Some(&attempt) && attempt > 0
    }

    pub(super) fn count_try(&mut self, path: &str, ended: &Ended) {
        // what is below begins anew with the recipe around it
        let below = format!("{path}/");
        self.tries.retain(|known, _| !known.starts_with(&below));
        let tries = self.tries.entry(path.to_owned()).or_default();
        match ended.outcome {
            Outcome::Cancelled => {}
            Outcome::RateLimited => tries.rate_limited += 1,
            _ => tries.failed += 1,
        }
    }
}
