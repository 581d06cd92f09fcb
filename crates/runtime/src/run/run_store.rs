//! What a run writes: its journal, and the files that its steps read.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};

use engine::{
    Event, Outcome, Record,
    run::{
        decide,
        event::Stored,
        frame::{Frame, FrameId},
    },
};
use jiff::Timestamp;
use recipe::value::Value;

use super::{DriveError, prepared_folder::PreparedFolder};
use crate::{
    steps::shell::{
        context_file::{ContextFile, Sharing},
        script::{self, Script, ScriptError, ScriptSource},
    },
    store::{
        folder::{FolderError, RunFolder, make_dir},
        journal::Journal,
        large::LargeFiles,
        values,
    },
};

/// The folder of a run and its open files. A dry run has no folder and writes nothing.
pub(super) struct RunStore {
    pub(super) folder: Option<RunFolder>,
    journal: Option<Journal>,
    /// The number of the last record, if there is no journal.
    seq: u64,
    /// Whether a record has to be on disk before the run waits.
    is_due: bool,
    /// Whether nothing was started yet.
    is_first: bool,
    contexts: HashMap<FrameId, ContextFile>,
    pub(super) large: LargeFiles,
    pub(super) prepared: PreparedFolder,
}

impl RunStore {
    pub(super) fn new(folder: Option<RunFolder>, journal: Option<Journal>) -> RunStore {
        let dir = folder.as_ref().map(|folder| folder.path().to_owned()).unwrap_or_default();
        RunStore {
            folder,
            journal,
            seq: 0,
            is_due: false,
            is_first: true,
            contexts: HashMap::new(),
            large: LargeFiles::new(dir.join("large")),
            prepared: PreparedFolder::new(dir),
        }
    }

    /// The folder of the run; empty in a dry run.
    pub(super) fn dir(&self) -> PathBuf {
        self.folder.as_ref().map(|folder| folder.path().to_owned()).unwrap_or_default()
    }

    /// Writes an event before it is reported; the end of the run is also synced.
    pub(super) fn append(&mut self, at: Timestamp, event: Event) -> Result<Record, DriveError> {
        let record = match &mut self.journal {
            Some(journal) => {
                let record = journal.append(at, event);
                match record.event {
                    Event::RunFinished(_) => journal.sync()?,
                    // no later event syncs it
                    Event::AttemptFailed { ref ended, .. } if ended.outcome == Outcome::Cancelled => {
                        journal.sync()?;
                    }
                    _ => journal.write()?,
                }
                record
            }
            None => {
                self.seq += 1;
                Record { seq: self.seq, at, event }
            }
        };
        self.is_due |= !matches!(record.event, Event::Spawned(_) | Event::Noted { .. });
        Ok(record)
    }

    /// Brings all records to disk.
    pub(super) fn settle(&mut self) -> Result<(), DriveError> {
        match &mut self.journal {
            Some(journal) if std::mem::take(&mut self.is_due) => Ok(journal.sync()?),
            _ => Ok(()),
        }
    }

    pub(super) fn begin_sync(&mut self) -> Result<(), DriveError> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        self.is_due = false;
        // the first attempt folder is made after its record is on disk: a folder without a record counts as damage
        match std::mem::take(&mut self.is_first) {
            true => Ok(journal.sync()?),
            false => Ok(journal.begin_sync()?),
        }
    }

    pub(super) fn end_sync(&mut self) -> Result<(), DriveError> {
        match &mut self.journal {
            Some(journal) => Ok(journal.end_sync()?),
            None => Ok(()),
        }
    }

    /// Saves what can be saved when the run cannot continue.
    pub(super) fn try_to_sync(&mut self) {
        if let Some(journal) = &mut self.journal {
            let _ = journal.sync();
        }
    }

    /// Stores the value of an attempt.
    pub(super) fn store(
        &self,
        path: &str,
        attempt: u32,
        value: Option<&Value>,
    ) -> Result<Option<Stored>, FolderError> {
        let (Some(folder), Some(value)) = (&self.folder, value) else { return Ok(None) };
        let dir = RunFolder::attempt(path, attempt.max(1));
        if value.render().len() > 8192 {
            make_dir(&folder.path().join(&dir))?;
        }
        Ok(Some(values::store(folder.path(), &dir, value)?))
    }

    /// Stores the declared result of a recipe that is complete.
    pub(super) fn store_result(&self, root: &Frame) -> Result<Option<Stored>, FolderError> {
        // a recipe whose result is all that it prints may have a report of its own failure
        let is_told = root.is_complete() || (root.unit.result_only() && root.cleanup.is_some());
        if root.unit.output.is_none() || !is_told {
            return Ok(None);
        }
        let Some(value) = decide::result(root) else { return Ok(None) };
        if !root.is_complete() && value.render().trim().is_empty() {
            return Ok(None);
        }
        match &self.folder {
            Some(folder) => Ok(Some(values::store(folder.path(), Path::new("."), &value)?)),
            None => Ok(Some(Stored::Inline(value))),
        }
    }

    /// Makes the script of a command whose private files belong to a folder of the run.
    pub(super) fn script(&mut self, source: ScriptSource<'_>, dir: &Path) -> Result<Script, ScriptError> {
        let script = script::prepare(source, &self.dir().join(dir).join("private"), &self.large)?;
        if script.has_files {
            self.prepared.note_private(dir);
        }
        Ok(script)
    }

    /// Releases the private files of the commands that checked the rules of a step.
    pub(super) fn release_checks(&mut self, path: &str, attempt: u32, rules: usize) {
        for number in 1..=rules {
            self.prepared.forget(&RunFolder::check(path, attempt, number));
        }
    }

    /// Releases the private files of an attempt, which are not needed after it.
    pub(super) fn release(&mut self, path: &str, attempt: u32) {
        if self.folder.is_some() {
            self.prepared.forget(&RunFolder::attempt(path, attempt));
        }
    }

    /// Gives a process a file with the context of its recipe.
    pub(super) fn hand_out_context(
        &mut self,
        id: FrameId,
        frame: &Frame,
        to: &Path,
        sharing: Sharing,
    ) -> Result<(), FolderError> {
        let dir = self.folder.as_ref().map(RunFolder::contexts).unwrap_or_default();
        let source = dir.join(format!("{id}.json"));
        let file = match self.contexts.entry(id) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                let create = || ContextFile::create(source.clone(), frame);
                let made = match create() {
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                        make_dir(&dir)?;
                        create()
                    }
                    made => made,
                };
                entry.insert(made.map_err(FolderError::at("write", &source))?)
            }
        };
        file.hand_out(frame, to, sharing).map_err(FolderError::at("write", to))
    }

    /// Removes the context file of a recipe that has ended.
    pub(super) fn discard_context(&mut self, frame: FrameId) {
        if let Some(file) = self.contexts.remove(&frame) {
            file.discard();
        }
    }
}
