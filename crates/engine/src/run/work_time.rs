//! How long processes worked on a run. The time between two of them does not count.

use jiff::{SignedDuration, Timestamp};

use crate::run::event::{Event, Record};

/// The time that was spent on a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkTime {
    /// The time of earlier processes, in milliseconds.
    before: u64,
    /// When the current process began.
    since: Option<Timestamp>,
    /// When it wrote its last record.
    last: Option<Timestamp>,
    /// Whether the next record comes from another process.
    is_paused: bool,
    /// When the work ended. Another process may have recorded the end later.
    ended: Option<Timestamp>,
}

impl WorkTime {
    /// Counts the time up to a record.
    pub fn take(&mut self, record: &Record) {
        if self.is_paused || matches!(record.event, Event::RunResumed(_)) {
            self.before = self.recorded();
            (self.since, self.ended) = (None, None);
        }
        self.since.get_or_insert(record.at);
        self.last = Some(record.at);
        self.is_paused = match &record.event {
            Event::RunFinished(finished) => {
                self.end(record.at, finished.worked_ms);
                true
            }
            // another process may record the answer to a run that has ended
            Event::Answered(_) => self.is_paused,
            _ => false,
        };
    }

    /// The run ends at this time, after this much work.
    fn end(&mut self, at: Timestamp, worked: Option<u64>) {
        self.ended = Some(at);
        if let Some(worked) = worked {
            let idle = self.recorded().saturating_sub(worked);
            let idle = SignedDuration::from_millis(i64::try_from(idle).unwrap_or(i64::MAX));
            self.ended = at.checked_sub(idle).ok();
            (self.before, self.since) = (worked, Some(at));
        }
    }

    /// When the work ended, once the run has.
    pub fn ended(&self) -> Option<Timestamp> {
        self.ended
    }

    /// The process is gone: the next record comes from another one.
    pub(crate) fn pause(&mut self) {
        self.is_paused = true;
    }

    /// The milliseconds up to the last record.
    pub fn recorded(&self) -> u64 {
        self.before + between(self.since, self.last)
    }

    /// The milliseconds up to now, for a run that a process is working on.
    pub fn until(&self, now: Timestamp) -> u64 {
        match self.is_paused {
            true => self.recorded(),
            false => self.before + between(self.since, Some(now)),
        }
    }
}

fn between(from: Option<Timestamp>, to: Option<Timestamp>) -> u64 {
    let span = from.zip(to).map_or(0, |(from, to)| to.as_millisecond() - from.as_millisecond());
    u64::try_from(span).unwrap_or(0)
}
