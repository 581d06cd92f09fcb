//! What agents used up that worked for a run outside of its steps. Never changes how the run ended.

use engine::{
    Event, Record,
    event::{RunFinished, Usage},
};

use super::{OpenError, Runs};
use crate::{clock, folder::RunFolder, journal::Journal};

impl Runs {
    /// Writes down what an agent used up that worked for a run which is over for now; the whole run's usage.
    pub fn charge(&self, folder: &RunFolder, purpose: &str, usage: &Usage) -> Result<Usage, OpenError> {
        let mut total = usage.clone();
        let Some(lock) = folder.lock()? else { return Ok(total) };
        let (mut journal, records) = Journal::open(&folder.journal())?;
        total = records.iter().rev().find_map(finished_usage).unwrap_or_default();
        total.add(usage);
        let last = records.into_iter().next_back().map(|record| record.event);
        journal.append(clock::now(), Event::AgentUsed { purpose: purpose.to_owned(), usage: usage.clone() });
        // the run is over as it was before, at a higher price
        if let Some(Event::RunFinished(finished)) = last {
            let finished = RunFinished { usage: Some(total.clone()), ..finished };
            journal.append(clock::now(), Event::RunFinished(finished));
        }
        journal.sync()?;
        drop(lock);
        Ok(total)
    }
}

fn finished_usage(record: &Record) -> Option<Usage> {
    match &record.event {
        Event::RunFinished(finished) => finished.usage.clone(),
        _ => None,
    }
}
