//! Which live run works on a branch or in a directory. A claim counts while its run is alive, and never longer.

use std::{
    fs::{self, OpenOptions},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use recipe::digest::sha256;
use rustix::fs::{FlockOperation, flock};

use crate::{
    os::held_lock::HeldLock,
    store::folder::{FolderError, RunFolder, make_dir, write_private},
};

/// The claims below a state directory.
#[derive(Clone, Debug)]
pub(super) struct Claims {
    home: PathBuf,
    /// The run that claims, and the part of its work: `RUN PART`.
    claimant: String,
}

impl Claims {
    /// The claims of a part of a run. A run may work on several parts at once.
    pub(super) fn of(home: &Path, run: &str, part: &str) -> Claims {
        let part = sha256(part.as_bytes());
        Claims { home: home.to_owned(), claimant: format!("{run} {}", &part[..12]) }
    }

    /// Claims something; the result is the live run that has it already, if another one does.
    pub(super) fn claim(&self, what: &str) -> Result<Option<String>, FolderError> {
        let dir = self.home.join("claims");
        make_dir(&dir)?;
        let _lock = lock(&dir.join("lock"))?;
        let file = dir.join(&sha256(what.as_bytes())[..24]);
        let before = fs::read_to_string(&file).unwrap_or_default();
        if before.trim() == self.claimant {
            return Ok(None);
        }
        let run = before.split_whitespace().next().unwrap_or_default();
        let is_alive = |run: &str| RunFolder::at(self.home.join("runs").join(run)).owner().is_some();
        if !run.is_empty() && is_alive(run) {
            return Ok(Some(run.to_owned()));
        }
        write_private(&file, self.claimant.as_bytes())?;
        Ok(None)
    }
}

/// The lock of all claims, held for a moment.
fn lock(path: &Path) -> Result<HeldLock, FolderError> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path);
    let file = file.map_err(FolderError::at("open", path))?;
    flock(&file, FlockOperation::LockExclusive)
        .map_err(|error| FolderError::at("lock", path)(error.into()))?;
    Ok(HeldLock::new(file))
}
