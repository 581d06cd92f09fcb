//! The one place that reads the clock.

use jiff::{Timestamp, Unit};

/// The time now, to the millisecond.
pub fn now() -> Timestamp {
    let now = Timestamp::now();
    now.round(Unit::Millisecond).unwrap_or(now)
}
