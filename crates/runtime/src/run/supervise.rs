//! The life of a run in this process, from its first record to its last, with a guardian process.
//!
//! Decides nothing about steps.

use engine::Event;

use super::{DriveError, Driver, Signals};
use crate::os::{guardian::Beside, process};

impl Driver<'_> {
    /// Runs to the end, or until a stop is requested. `first` are the events to begin with.
    pub async fn run(&mut self, first: Vec<Event>) -> Result<(), DriveError> {
        process::become_reaper();
        let folder = self.folder.as_ref().map(|folder| folder.path().to_owned());
        let mut guardian = Beside::new(self.host.guardian.clone(), folder);
        let lived = guardian.while_it(self.live(first)).await;
        guardian.end();
        lived
    }

    async fn live(&mut self, first: Vec<Event>) -> Result<(), DriveError> {
        let mut signals = Signals::new().map_err(DriveError::Signals)?;
        for event in first {
            self.record(event, None)?;
        }
        // ending processes takes its time; without it, the last record brings the others to disk
        let worked = self.work(&mut signals).await.and_then(|()| match self.is_all_gone() {
            true => Ok(()),
            false => self.settle_journal(),
        });
        if let Err(error) = worked {
            // try to save finished work now and again after the processes have ended
            self.try_to_sync();
            self.stop_everything().await;
            self.try_to_sync();
            return Err(error);
        }
        self.finish(&mut signals).await
    }

    fn try_to_sync(&mut self) {
        if let Some(journal) = &mut self.journal {
            let _ = journal.sync();
        }
    }
}
