//! The moments at which the runner of a case is killed.

use engine::Event;
use recipe::test_file::{KillMoment, KillPoint};

use crate::run::{Notice, Reporter};

/// Watches a run, and tells when a moment has come. Each moment counts once.
pub(super) struct KillWatch<'a> {
    points: &'a [KillPoint],
    /// The moments that have come.
    done: Vec<usize>,
    /// Called with the number of a moment that has come.
    strike: &'a mut dyn FnMut(usize),
}

impl<'a> KillWatch<'a> {
    pub(super) fn new(points: &'a [KillPoint], done: &[usize], strike: &'a mut dyn FnMut(usize)) -> Self {
        KillWatch { points, done: done.to_vec(), strike }
    }

    /// The moments that have come.
    pub(super) fn into_done(self) -> Vec<usize> {
        self.done
    }
}

impl Reporter for &mut KillWatch<'_> {
    fn notice(&mut self, notice: Notice<'_>) {
        let Notice::Event { record, .. } = notice else { return };
        let is_now = |point: &KillPoint| match (&record.event, point.moment) {
            (Event::StepStarted { path, .. }, KillMoment::Started) => *path == point.at,
            (Event::StepFinished { path, .. }, KillMoment::Finished) => *path == point.at,
            _ => false,
        };
        let number = (0..self.points.len()).find(|at| !self.done.contains(at) && is_now(&self.points[*at]));
        if let Some(number) = number {
            self.done.push(number);
            (self.strike)(number);
        }
    }

    fn tick(&self) -> Option<std::time::Duration> {
        None
    }

    fn wants_output(&self) -> bool {
        false
    }
}
