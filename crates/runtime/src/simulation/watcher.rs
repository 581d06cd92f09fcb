//! Watches a life of the runner from inside: everything that it reports must be on disk, in the same form.

use std::{path::PathBuf, time::Duration};

use engine::{Event, Record};

use super::{picture::picture, with};
use crate::{
    run::{Notice, Reporter},
    runs::Runs,
};

/// How closely a life is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Care {
    /// Only the reports are checked.
    Some,
    /// After every event the journal is folded again, and must give the same state.
    All,
}

pub(super) struct Watcher {
    pub(super) records: Vec<Record>,
    home: PathBuf,
    care: Care,
    is_told: bool,
}

impl Watcher {
    pub(super) fn new(home: PathBuf, care: Care) -> Watcher {
        Watcher { records: Vec::new(), home, care, is_told: false }
    }

    fn fold_again(&self, live: &engine::RunState) {
        let runs = Runs::at(self.home.clone());
        let folder = runs.find("last").expect("there is a run");
        let shown = runs.open(folder).expect("the run can be opened");
        let (live, stored) = (picture(live), picture(&shown.state));
        if live != stored {
            let differing: Vec<_> =
                live.lines().zip(stored.lines()).filter(|(a, b)| a != b).take(3).collect();
            with(|world| world.complain(format!("the journal folds to another state: {differing:#?}")));
        }
    }
}

impl Reporter for Watcher {
    fn notice(&mut self, notice: Notice<'_>) {
        match notice {
            Notice::Event { record, state, .. } => {
                with(|world| world.tell(|| format!("{:>3} {:?}", record.seq, record.event)));
                let begins = match &record.event {
                    Event::StepStarted { path, .. }
                    | Event::RecipeEntered { path, .. }
                    | Event::LoopEntered { path, .. } => Some(path),
                    _ => None,
                };
                let survives = begins.is_some_and(|path| state.survives_stop(path));
                if let Event::StepStarted { path, .. } = &record.event
                    && survives
                {
                    with(|world| world.cleanup.insert(path.clone()));
                }
                if self.is_told && begins.is_some() && !survives {
                    with(|world| world.complain(format!("after the stop: {:?}", record.event)));
                }
                if let Event::RecipeEntered { path, .. } = &record.event {
                    with(|world| world.recipes.insert(path.clone()));
                }
                self.records.push(record.clone());
                if self.care == Care::All {
                    self.fold_again(state);
                }
            }
            Notice::Stopping { .. } => self.is_told = true,
            _ => {}
        }
    }

    fn tick(&self) -> Option<Duration> {
        None
    }

    fn wants_output(&self) -> bool {
        self.care == Care::All
    }
}
