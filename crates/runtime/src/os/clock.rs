//! The only place that reads the clock, and makes the event loop that depends on it.
//!
//! A process reads the wall clock once and counts from there, so a clock that is set during a run cannot make a
//! duration negative or years long.

use std::{
    future::Future,
    io,
    sync::{
        OnceLock,
        atomic::{AtomicI64, Ordering},
    },
    time::{Instant, SystemTime},
};

use jiff::{SignedDuration, Timestamp, Unit};

use crate::os::{process, stage};

/// The wall clock and the uptime when this process first read the clock.
static FIRST: OnceLock<(Timestamp, SignedDuration)> = OnceLock::new();
/// Milliseconds that a resumed run is ahead of the wall clock.
static AHEAD: AtomicI64 = AtomicI64::new(0);
/// The unit of `/proc`, on every architecture.
const TICKS_PER_SECOND: f64 = 100.0;

/// The current time, to the millisecond. Never goes back.
pub fn now() -> Timestamp {
    #[cfg(test)]
    if crate::os::files::is_on() {
        return crate::simulation::now();
    }
    if let Some(now) = stage::now() {
        return now.round(Unit::Millisecond).unwrap_or(now);
    }
    let (wall, up) = FIRST.get_or_init(|| (Timestamp::now(), uptime()));
    let passed = uptime() - *up + SignedDuration::from_millis(AHEAD.load(Ordering::Relaxed));
    let now = wall.checked_add(passed).unwrap_or(*wall);
    now.round(Unit::Millisecond).unwrap_or(now)
}

/// A moment to measure a duration from. Inside the event loop, tokio's own clock does that: a simulation can move it.
pub fn instant() -> Instant {
    Instant::now()
}

/// The wall clock as it is set now, to compare with the times of files.
pub(crate) fn wall() -> SystemTime {
    SystemTime::now()
}

/// Makes the clock continue from this time at the earliest: the last record of a resumed run may be in the future,
/// because the clock was set back since.
pub(crate) fn go_on_from(last: Timestamp) {
    if stage::is_on() {
        return stage::set_clock(last);
    }
    let behind = last.as_millisecond() - now().as_millisecond();
    AHEAD.fetch_add(behind.max(0), Ordering::Relaxed);
}

/// The current time by the clock of the process that writes a run, given its last record: not before that record, and
/// not longer after it than that process has lived.
pub(crate) fn now_beside(pid: u32, last: Timestamp) -> Timestamp {
    let now = now().max(last);
    match age(pid).and_then(|age| last.checked_add(age).ok()) {
        Some(latest) if !crate::os::files::is_on() => now.min(latest),
        _ => now,
    }
}

/// How long a process has lived, if the system tells.
fn age(pid: u32) -> Option<SignedDuration> {
    let stat =
        process::proc_is_ours().then(|| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok())??;
    let began: f64 = stat.rsplit(") ").next()?.split(' ').nth(19)?.parse().ok()?;
    Some(uptime() - SignedDuration::try_from_secs_f64(began / TICKS_PER_SECOND).ok()?)
}

/// Time since boot, including sleep. It cannot be set.
#[cfg(target_os = "linux")]
fn uptime() -> SignedDuration {
    let up = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    SignedDuration::new(up.tv_sec, i32::try_from(up.tv_nsec).unwrap_or(0))
}

/// The same since this process first asked; does not include sleep.
#[cfg(not(target_os = "linux"))]
fn uptime() -> SignedDuration {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let passed = FIRST.get_or_init(Instant::now).elapsed();
    SignedDuration::try_from(passed).unwrap_or(SignedDuration::ZERO)
}

/// Runs a future to its end, on an event loop of its own.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> io::Result<T> {
    let mut event_loop = tokio::runtime::Builder::new_current_thread();
    event_loop.enable_all();
    #[cfg(test)]
    if crate::os::files::is_on() {
        return crate::simulation::block_on(&mut event_loop, work);
    }
    if !stage::is_on() {
        return Ok(event_loop.build()?.block_on(work));
    }
    Ok(event_loop.start_paused(true).build()?.block_on(async {
        stage::begin_loop();
        let done = work.await;
        stage::end_loop();
        done
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_beside_us_is_never_further_than_it_can_be() {
        let (pid, hour) = (std::process::id(), SignedDuration::from_hours(1));
        let now = now();
        let ahead = now.checked_add(hour).unwrap();
        assert_eq!(
            now_beside(pid, ahead).max(ahead).min(ahead.checked_add(hour).unwrap()),
            now_beside(pid, ahead)
        );
        let behind = now.checked_sub(hour * 1000).unwrap();
        assert!(now_beside(pid, behind) < now, "this process is not a thousand hours old");
        assert!(now_beside(pid, behind) >= behind);
        assert!(now_beside(0, behind) >= now, "nobody knows how old that one is");
    }

    #[test]
    fn a_process_is_younger_than_the_machine() {
        let age = age(std::process::id()).unwrap();
        // ticks are rounded
        assert!(age > SignedDuration::from_millis(-20) && age <= uptime(), "{age:?}");
    }
}
