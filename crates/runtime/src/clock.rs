//! The one place that reads the clock, and makes the event loop that waits by it.

use std::{future::Future, io};

use jiff::{Timestamp, Unit};

/// The time now, to the millisecond.
pub fn now() -> Timestamp {
    #[cfg(test)]
    if crate::fault::is_on() {
        return crate::simulation::now();
    }
    let now = Timestamp::now();
    now.round(Unit::Millisecond).unwrap_or(now)
}

/// Brings a piece of work to its end, on an event loop of its own.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> io::Result<T> {
    let mut event_loop = tokio::runtime::Builder::new_current_thread();
    event_loop.enable_all();
    #[cfg(test)]
    if crate::fault::is_on() {
        return crate::simulation::block_on(&mut event_loop, work);
    }
    Ok(event_loop.build()?.block_on(work))
}
