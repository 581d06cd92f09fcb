//! A thread that performs test cases: its clock jumps over waits while no process runs, its files are not synced, and its
//! runs have fixed ids. Every other thread works as if this module did not exist.
//!
//! Holds nothing that belongs to a whole process: several threads may perform cases at the same time.

use std::{cell::RefCell, time::Duration};

use jiff::{SignedDuration, Timestamp};
use tokio::{runtime::Handle, time::Instant};

/// When every case begins.
pub(crate) const START: Timestamp = Timestamp::constant(1_767_225_600, 0);

thread_local! {
    static STAGE: RefCell<Option<Stage>> = const { RefCell::new(None) };
}

/// What a thread that performs a case knows.
struct Stage {
    /// Distinguishes its processes from those of all other cases, whose runs have the same ids.
    tag: String,
    /// The time when the event loop began.
    base: Timestamp,
    began: Option<Instant>,
    /// Processes that run now.
    running: usize,
    /// Whether the clock of the event loop follows the real one.
    is_real: bool,
    /// Processes that were started so far.
    started: u64,
    ids: u32,
}

/// Makes this thread perform a case, until it is dropped.
pub(crate) struct OnStage(());

/// Begins a case in this thread. `tag` is used by no other case of this machine.
pub(crate) fn enter(tag: String) -> OnStage {
    let stage = Stage { tag, base: START, began: None, running: 0, is_real: false, started: 0, ids: 0 };
    STAGE.with(|cell| cell.replace(Some(stage)));
    OnStage(())
}

impl Drop for OnStage {
    fn drop(&mut self) {
        STAGE.with(|cell| cell.replace(None));
    }
}

/// Gives access to the stage of this thread, if it has one.
fn with<T>(work: impl FnOnce(&mut Stage) -> T) -> Option<T> {
    STAGE.with(|cell| cell.borrow_mut().as_mut().map(work))
}

/// Whether this thread performs a case.
pub(crate) fn is_on() -> bool {
    STAGE.with(|cell| cell.borrow().is_some())
}

/// Whether this thread performs a case that has started no process.
pub(crate) fn is_without_processes() -> bool {
    with(|stage| stage.started == 0).unwrap_or(false)
}

/// The time of the case.
pub(crate) fn now() -> Option<Timestamp> {
    with(|stage| stage.now())
}

/// Sets the clock of the case forward; outside of an event loop only.
pub(crate) fn set_clock(to: Timestamp) {
    with(|stage| stage.base = stage.now().max(to));
}

/// An id that no other run of the case has, without its time.
pub(crate) fn next_letters() -> Option<String> {
    with(|stage| {
        let number = stage.ids;
        stage.ids += 1;
        let letter =
            |place: u32| char::from(b'a' + u8::try_from(number / 26_u32.pow(place) % 26).unwrap_or(0));
        (0..4).rev().map(letter).collect()
    })
}

/// The id of a run, in the form that marks processes: other cases have runs with the same id.
pub(crate) fn marked(run: &str) -> String {
    with(|stage| format!("{run}{SEPARATOR}{}", stage.tag)).unwrap_or_else(|| run.to_owned())
}

/// The mark that means every run of a case.
pub(crate) fn every_run(tag: &str) -> String {
    format!("{SEPARATOR}{tag}")
}

/// The mark of the processes that are looked for: those of a run, or of a whole case.
pub(crate) fn wanted(run: &str) -> String {
    if run.contains(SEPARATOR) { run.to_owned() } else { marked(run) }
}

/// Whether a process with this mark is looked for.
pub(crate) fn means(wanted: &str, mark: &str) -> bool {
    wanted == mark || (wanted.starts_with(SEPARATOR) && mark.ends_with(wanted))
}

/// The run and the case of a mark.
pub(crate) fn unmarked(mark: &str) -> (&str, Option<&str>) {
    match mark.split_once(SEPARATOR) {
        Some((run, tag)) => (run, Some(tag)),
        None => (mark, None),
    }
}

/// The mark that is read from the environment of a process.
pub(crate) fn mark(run: String, tag: Option<String>) -> String {
    match tag {
        Some(tag) => format!("{run}{SEPARATOR}{tag}"),
        None => run,
    }
}

/// Between the id of a run and its case; no id has it.
const SEPARATOR: char = '@';

impl Stage {
    fn now(&self) -> Timestamp {
        let passed = match self.began {
            Some(began) if Handle::try_current().is_ok() => began.elapsed(),
            _ => Duration::ZERO,
        };
        let passed = SignedDuration::try_from(passed).unwrap_or_default();
        self.base.checked_add(passed).unwrap_or(self.base)
    }
}

/// Begins an event loop whose clock stands still until every task waits. Must be called inside it.
pub(crate) fn begin_loop() {
    with(|stage| {
        (stage.began, stage.running, stage.is_real) = (Some(Instant::now()), 0, false);
    });
}

/// Ends the event loop. Must be called inside it.
pub(crate) fn end_loop() {
    with(|stage| {
        stage.base = stage.now();
        stage.began = None;
    });
}

/// While it exists, the clock of a case follows the real one: a process runs.
#[derive(Debug)]
pub(crate) struct RealTime(());

impl RealTime {
    /// Nothing in a thread without a stage.
    pub(crate) fn begin() -> Option<RealTime> {
        with(|stage| {
            stage.started += 1;
            stage.running += 1;
            stage.follow();
            RealTime(())
        })
    }

    /// The clock follows the real one until the end of the event loop: a process stays.
    pub(crate) fn stays() {
        std::mem::forget(RealTime::begin());
    }
}

impl Drop for RealTime {
    fn drop(&mut self) {
        with(|stage| {
            stage.running = stage.running.saturating_sub(1);
            stage.follow();
        });
    }
}

impl Stage {
    /// Lets the clock run while a process runs.
    fn follow(&mut self) {
        let is_real = self.running > 0;
        if is_real == self.is_real || self.began.is_none() || Handle::try_current().is_err() {
            return;
        }
        self.is_real = is_real;
        if is_real { tokio::time::resume() } else { tokio::time::pause() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::clock;

    #[test]
    fn the_clock_jumps_only_while_no_process_runs() {
        let _stage = enter("test".to_owned());
        let began = clock::instant();
        assert_eq!(clock::now(), START);
        clock::block_on(async {
            tokio::time::sleep(Duration::from_secs(3600)).await;
            assert_eq!(clock::now(), START + SignedDuration::from_hours(1));
            let real = RealTime::begin();
            let other = RealTime::begin();
            drop(other);
            tokio::time::sleep(Duration::from_millis(30)).await;
            assert!(began.elapsed() >= Duration::from_millis(30));
            drop(real);
            tokio::time::sleep(Duration::from_secs(3600)).await;
        })
        .unwrap();
        assert!(began.elapsed() < Duration::from_secs(60));
        let hours = SignedDuration::from_hours(2);
        assert!(clock::now() >= START + hours && clock::now() < START + hours + SignedDuration::from_mins(1));
        set_clock(START);
        assert!(clock::now() >= START + hours, "it never goes back");
    }

    #[test]
    fn runs_of_a_case_have_fixed_ids() {
        let _stage = enter("test".to_owned());
        assert_eq!([next_letters(), next_letters()], [Some("aaaa".to_owned()), Some("aaab".to_owned())]);
        assert_eq!(unmarked(&marked("run")), ("run", Some("test")));
        assert!(means(&every_run("test"), &marked("run")) && !means(&every_run("est"), &marked("run")));
        drop(_stage);
        assert_eq!(unmarked(&marked("run")), ("run", None));
        assert_eq!((next_letters(), now()), (None, None));
    }
}
