//! The time between the processes of a run, in which nothing ran. Durations leave it out.

use jiff::{SignedDuration, Timestamp};

use super::RunState;
use crate::run::event::{Event, Record};

/// The pauses of a run.
#[derive(Clone, Debug, Default)]
pub struct Pauses {
    /// When the run was last at work, as far as is known.
    last: Option<Timestamp>,
    has_ended: bool,
    idle: SignedDuration,
}

impl Pauses {
    /// Takes in the next record of the run.
    pub fn take(&mut self, record: &Record) {
        let is_end = matches!(record.event, Event::RunFinished(_));
        let is_at_work_again = match record.event {
            Event::RunResumed(_) => true,
            Event::RepairBegan(_) | Event::FixWaits { .. } | Event::RunFinished(_) => self.has_ended,
            _ => false,
        };
        if is_at_work_again {
            self.idle = self.idle_at(record.at, true);
        } else if self.has_ended {
            // an answer or a note after the end
            return;
        }
        (self.last, self.has_ended) = (Some(record.at), is_end);
    }

    /// Seconds in which no process worked on the run, until the last record.
    pub fn seconds(&self) -> f64 {
        self.idle.as_secs_f64()
    }

    fn idle_at(&self, now: Timestamp, has_ended: bool) -> SignedDuration {
        let pause = self.last.filter(|_| has_ended).map(|last| now.duration_since(last));
        self.idle + pause.unwrap_or_default().max(SignedDuration::ZERO)
    }
}

impl RunState {
    /// Seconds in which no process worked on the run: between its end, or its last record, and its resumes. The time
    /// since an end counts if the run ends again now.
    pub fn idle_seconds(&self, now: Timestamp) -> f64 {
        self.pauses.idle_at(now, self.pauses.has_ended).as_secs_f64()
    }

    /// The same until the last record.
    pub fn idle_seconds_so_far(&self) -> f64 {
        self.pauses.seconds()
    }
}
