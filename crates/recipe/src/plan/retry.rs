//! Further attempts at a step: how many, and when.

use crate::syntax::{Backoff, RetryOn};

/// What happens when an attempt fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// Attempts in all.
    pub max_attempts: u64,
    /// Seconds before the second one.
    pub delay: f64,
    /// How the delay grows.
    pub backoff: Backoff,
    /// Longest delay in seconds.
    pub max_delay: f64,
    /// Which failures are tried again.
    pub on: Vec<RetryOn>,
}

impl Retry {
    /// Seconds to wait after failed attempt number `attempt`, counted from 1.
    pub fn delay_after(&self, attempt: u64) -> f64 {
        let factor = match self.backoff {
            Backoff::Fixed => 1.0,
            Backoff::Exponential => 2f64.powi(attempt.saturating_sub(1).min(60) as i32),
        };
        (self.delay * factor).min(self.max_delay)
    }
}
