//! New files that are synced together. Never forgets one.

use std::{fs::File, path::PathBuf, thread};

use super::{FolderError, write_private};
use crate::os::files;

/// New private files that are written first and synced together, which takes little longer than one alone.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    files: Vec<(PathBuf, File)>,
}

impl Batch {
    /// Writes a file; [`Batch::sync`] syncs it.
    pub(crate) fn write(&mut self, path: PathBuf, bytes: &[u8]) -> Result<(), FolderError> {
        let file = write_private(&path, bytes)?;
        self.files.push((path, file));
        Ok(())
    }

    /// Waits until all of them are on disk.
    pub(crate) fn sync(self) -> Result<(), FolderError> {
        let bring = |files: &[(PathBuf, File)]| {
            files.iter().try_for_each(|(path, file)| {
                files::sync("file.sync", file).map_err(FolderError::at("write", path))
            })
        };
        // a simulation has only one thread, and a test case syncs nothing
        if files::syncs_here() || self.files.len() < 2 {
            return bring(&self.files);
        }
        let (own, others) = self.files.split_at(self.files.len().div_ceil(SYNCERS));
        thread::scope(|scope| {
            let start = |files| thread::Builder::new().spawn_scoped(scope, move || bring(files));
            let syncers: Vec<_> = others.chunks(own.len()).map(start).collect();
            let first = bring(own);
            syncers.into_iter().fold(first, |so_far, syncer| {
                // if no thread can be started, this one does the work
                let synced = syncer.ok().and_then(|syncer| syncer.join().ok());
                so_far.and(synced.unwrap_or_else(|| bring(&self.files)))
            })
        })
    }
}

/// How many files of a batch are synced at the same time.
const SYNCERS: usize = 4;
