//! A folder for the next attempt, made while the current one runs.
//!
//! Creating files takes several times longer than moving a folder into place, and the loop is idle while a step runs.
//! Only an optimisation: without a spare folder, the attempt folder is made directly.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use crate::{
    os::files,
    steps::output_files::{OutputFiles, in_folder},
    store::folder::{FolderError, make_dir},
};

/// The spare folder of a run, and the files that it has to remove.
#[derive(Debug)]
pub(super) struct PreparedFolder {
    run: PathBuf,
    ready: Option<OutputFiles>,
    over: Vec<PathBuf>,
    /// Attempts with private files.
    private: HashSet<PathBuf>,
}

impl PreparedFolder {
    pub(super) fn new(run: PathBuf) -> PreparedFolder {
        PreparedFolder { run, ready: None, over: Vec::new(), private: HashSet::new() }
    }

    fn path(&self) -> PathBuf {
        self.run.join("spare")
    }

    /// Does the work that can wait until the loop is idle: makes the folder of a step with one attempt (`1/stdout`,
    /// `1/stderr`), and removes the private files of finished attempts.
    pub(super) fn prepare(&mut self) {
        if self.ready.is_none() {
            let dir = self.path().join("1");
            // the outer one is never there: it has become the folder of a step
            let made = make_dir(&self.path()).and_then(|()| make_dir(&dir));
            self.ready = made.and_then(|()| OutputFiles::open(in_folder(&dir))).ok();
        }
    }

    /// Makes the folder of an attempt, relative to the run, and the files in it.
    pub(super) fn become_attempt(&mut self, dir: &Path, attempt: u32) -> Result<OutputFiles, FolderError> {
        let dir = self.run.join(dir);
        let step = dir.parent().filter(|_| attempt == 1 && self.ready.is_some());
        // fails if the folder of the step has content: then the spare folder stays as it is
        let rename =
            |step: &Path| files::point("spare.move").and_then(|()| files::rename(&self.path(), step));
        if step.is_some_and(|step| rename(step).is_ok())
            && let Some(ready) = self.ready.take()
        {
            return Ok(ready.moved_to(in_folder(&dir)));
        }
        make_dir(&dir)?;
        OutputFiles::open(in_folder(&dir))
    }

    /// Takes note of an attempt that has private files.
    pub(super) fn note_private(&mut self, attempt: &Path) {
        self.private.insert(self.run.join(attempt));
    }

    /// Takes note of an attempt that is over: its private files are of no use any more.
    pub(super) fn forget(&mut self, attempt: &Path) {
        self.over.push(self.run.join(attempt));
    }

    /// Clears away the private files of attempts that are over. For when there is nothing else to do.
    pub(super) fn clear(&mut self) {
        for attempt in self.over.drain(..) {
            if files::point("attempt.release").is_err() {
                continue;
            }
            files::discard_file(&attempt.join("context.json"));
            if self.private.remove(&attempt) {
                files::discard_dir(&attempt.join("private"));
            }
        }
    }
}

impl Drop for PreparedFolder {
    fn drop(&mut self) {
        self.clear();
        if self.ready.is_some() && files::point("spare.remove").is_ok() {
            files::discard_dir(&self.path());
        }
    }
}
