//! A folder for the next attempt, made while the one before it runs.
//!
//! Making files takes a file system several times longer than moving a folder into place, and while a step runs
//! there is nothing else to do. Never anything but an optimisation: without a spare folder, one is made on the spot.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    fault,
    folder::{FolderError, make_dir},
    process::open_output,
};

/// What a run keeps ready.
#[derive(Debug)]
pub(super) struct Spare {
    run: PathBuf,
    is_ready: bool,
}

impl Spare {
    pub(super) fn new(run: PathBuf) -> Spare {
        Spare { run, is_ready: false }
    }

    fn path(&self) -> PathBuf {
        self.run.join("spare")
    }

    /// Makes a folder like that of a step with one attempt: `1/stdout`, `1/stderr`.
    pub(super) fn prepare(&mut self) {
        if self.is_ready {
            return;
        }
        let dir = self.path().join("1");
        let made = make_dir(&dir).is_ok();
        let outputs = ["stdout", "stderr"].map(|name| made && open_output(&dir.join(name)).is_ok());
        self.is_ready = outputs == [true, true];
    }

    /// Makes the folder of an attempt, relative to the run.
    pub(super) fn become_attempt(&mut self, dir: &Path, attempt: u32) -> Result<(), FolderError> {
        let dir = self.run.join(dir);
        let step = dir.parent().filter(|_| attempt == 1 && self.is_ready);
        // fails where the step has a folder with something in it: then the spare one stays what it is
        let rename = |step: &Path| fault::point("spare.move").and_then(|()| fs::rename(self.path(), step));
        if step.is_some_and(|step| rename(step).is_ok()) {
            self.is_ready = false;
            return Ok(());
        }
        make_dir(&dir)
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        if self.is_ready && fault::point("spare.remove").is_ok() {
            let _ = fs::remove_dir_all(self.path());
        }
    }
}
