//! How long processes worked on a run, and on the steps that later processes continue. The time between two processes
//! does not count.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};

use crate::run::{
    event::{Event, Record, RunResumed},
    frame::{FrameId, StepState},
    outcome::StepStatus,
    state::{RunState, is_at_or_below},
    step_path::is_below,
};

/// The time that was spent on a run.
#[derive(Clone, Debug, Default)]
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
    /// When the steps of the last process stopped, until another process continues the run.
    stopped: Option<Timestamp>,
    /// The milliseconds that earlier processes worked on steps which have steps of their own, by path.
    pub(super) before_in: HashMap<String, u64>,
}

impl WorkTime {
    /// Counts the time up to a record.
    pub fn take(&mut self, record: &Record) {
        let is_other = matches!(record.event, Event::RunResumed(_) | Event::RunTakenOver { .. });
        if is_other {
            self.stopped = self.stopped.or(self.last);
        }
        if self.is_paused || is_other {
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
        // another process may record an answer, and the end again
        self.stopped = self.stopped.or(self.ended);
    }

    /// When the work ended, once the run has.
    pub fn ended(&self) -> Option<Timestamp> {
        self.ended
    }

    /// When the last record was written.
    pub fn last(&self) -> Option<Timestamp> {
        self.last
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

impl StepState {
    /// The time from which the duration of the step counts: its start, earlier by the time that earlier processes
    /// worked on it.
    pub fn since(&self) -> Option<Timestamp> {
        let before = SignedDuration::from_millis(i64::try_from(self.worked_before).unwrap_or(i64::MAX));
        self.started_at.and_then(|at| at.checked_sub(before).ok())
    }

    /// The seconds that it took.
    pub fn taken(&self) -> Option<f64> {
        self.taken_until(None)
    }

    /// The same for a step that has not ended, up to this time.
    pub fn taken_until(&self, now: Option<Timestamp>) -> Option<f64> {
        let took = self.since().zip(self.finished_at.or(now));
        took.map(|(from, to)| between(Some(from), Some(to)) as f64 / 1000.0)
    }
}

impl RunState {
    /// Keeps how long earlier processes worked on the recipes and loops that a resume continues.
    pub(super) fn keep_work_time(&mut self, resumed: &RunResumed) {
        let stopped = self.work.stopped.take();
        let mut before = std::mem::take(&mut self.work.before_in);
        self.find_work_time(0, stopped, &mut before);
        let again = [resumed.given_up(), resumed.cleanup.iter().map(String::as_str).collect()].concat();
        before.retain(|path, _| !again.iter().any(|step| is_at_or_below(path, step)));
        self.work.before_in = before;
    }

    /// Ends the steps that the process left running when it was gone.
    pub(super) fn end_work_time(&mut self) {
        let stopped = self.work.stopped.take();
        let mut before = std::mem::take(&mut self.work.before_in);
        self.find_work_time(0, stopped, &mut before);
        self.work.before_in = before;
        for id in self.active.clone() {
            let open = self.frames[id].steps.iter_mut().filter(|step| step.status == StepStatus::Running);
            open.for_each(|step| step.finished_at = stopped);
        }
    }

    fn find_work_time(&self, id: FrameId, stopped: Option<Timestamp>, before: &mut HashMap<String, u64>) {
        let frame = &self.frames[id];
        for (at, step) in frame.steps.iter().enumerate() {
            if let Some(child) = step.frame {
                let worked = between(step.since(), step.finished_at.or(stopped));
                before.insert(frame.step_path(at), worked);
                self.find_work_time(child, stopped, before);
            }
        }
    }

    /// All steps of a recipe begin again.
    pub(super) fn forget_work_time(&mut self, recipe: &str) {
        self.work.before_in.retain(|path, _| !is_below(path, recipe));
    }
}

fn between(from: Option<Timestamp>, to: Option<Timestamp>) -> u64 {
    let span = from.zip(to).map_or(0, |(from, to)| to.as_millisecond() - from.as_millisecond());
    u64::try_from(span).unwrap_or(0)
}
