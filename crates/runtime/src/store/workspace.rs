//! One run per workspace: a recipe in a directory has at most one live run.
//!
//! A run is alive while its process holds a lock, whatever its age. The remains of a dead run are reported and left
//! alone.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use recipe::digest::sha256;
use rustix::fs::{FlockOperation, flock};

use crate::{
    os::{files, held_lock::HeldLock},
    store::folder::{FolderError, LOCK_TRIES, is_orphaned, make_dir, signature, signed_pid, write_private},
};

/// A workspace in the state directory.
#[derive(Clone, Debug)]
pub struct Workspace {
    dir: PathBuf,
    quarantine: PathBuf,
    /// Whether it belongs to one task: not even a run inside its owner may do the same.
    pub(crate) is_of_task: bool,
}

/// The live owner of a workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    pub run_id: String,
    /// Its process; 0 if it has no number here.
    pub pid: u32,
}

/// A workspace that this process has claimed. Dropping it releases the workspace.
#[derive(Debug)]
pub struct Claim {
    _lock: HeldLock,
    marker: PathBuf,
}

impl Claim {
    /// Removes the marker: the run is over.
    pub fn clear(&self) {
        if files::point("workspace.clear").is_ok() {
            files::discard_file(&self.marker);
        }
    }
}

impl Workspace {
    /// The folder for markers that were moved aside.
    pub(crate) fn quarantine(home: &Path) -> PathBuf {
        home.join("quarantine")
    }

    /// The folder for the markers of all workspaces.
    pub(crate) fn all(home: &Path) -> PathBuf {
        home.join("workspaces")
    }

    /// The workspace of a recipe in a directory.
    pub fn new(home: &Path, recipe: &Path, working_dir: &Path) -> Workspace {
        let recipe = fs::canonicalize(recipe).unwrap_or_else(|_| recipe.to_owned());
        let key = sha256(format!("{}\0{}", recipe.display(), working_dir.display()).as_bytes());
        Workspace::keyed(home, &key, false)
    }

    /// The workspace of a task of the orchestrator in a repository: other tasks run beside it.
    pub fn of_task(home: &Path, repository: &Path, task: &str) -> Workspace {
        let repository = fs::canonicalize(repository).unwrap_or_else(|_| repository.to_owned());
        Workspace::keyed(
            home,
            &sha256(format!("{}\0\0{}", repository.display(), task.trim()).as_bytes()),
            true,
        )
    }

    fn keyed(home: &Path, key: &str, is_of_task: bool) -> Workspace {
        let dir = Workspace::all(home).join(&key[..24]);
        Workspace { dir, quarantine: Workspace::quarantine(home), is_of_task }
    }

    /// Claims the workspace for a run; returns the live owner if there is one.
    pub fn claim(&self, run_id: &str) -> Result<Result<Claim, Owner>, FolderError> {
        make_dir(&self.dir)?;
        let path = self.dir.join("lock");
        let file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(&path);
        let mut file = file.map_err(FolderError::at("open", &path))?;
        let mut tries = 0..LOCK_TRIES;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(rustix::io::Errno::WOULDBLOCK) if is_orphaned(&path) && tries.next().is_some() => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(rustix::io::Errno::WOULDBLOCK) => return Ok(Err(owner(&path))),
                Err(error) => return Err(FolderError::at("lock", &path)(error.into())),
            }
        }
        let text = format!("{run_id} {}\n", signature());
        file.set_len(0)
            .and_then(|()| file.write_all(text.as_bytes()))
            .map_err(FolderError::at("write", &path))?;
        let marker = self.dir.join(run_id);
        write_private(&marker, text.as_bytes())?;
        Ok(Ok(Claim { _lock: HeldLock::new(file), marker }))
    }

    /// Runs that began here and never ended.
    pub fn stale(&self, except: &str) -> Vec<String> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        let mut runs: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name != "lock" && name != except)
            .collect();
        runs.sort();
        runs
    }

    /// Removes the marker of a run that was resumed to its end or cancelled.
    pub fn forget(&self, run_id: &str) {
        files::discard_file(&self.dir.join(run_id));
    }

    /// Moves the markers of dead runs aside; deletes nothing.
    pub fn clear_stale(&self, runs: &[String]) -> Result<(), FolderError> {
        make_dir(&self.quarantine)?;
        for run in runs {
            let (from, to) = (self.dir.join(run), self.quarantine.join(run));
            files::rename(&from, &to).map_err(FolderError::at("move", &from))?;
        }
        Ok(())
    }
}

/// The holder of the lock. It writes its name right after locking, so an empty file is read again.
fn owner(path: &Path) -> Owner {
    for _ in 0..50 {
        let text = fs::read_to_string(path).unwrap_or_default();
        if let Some((run_id, signature)) = text.trim().split_once(' ') {
            return Owner { run_id: run_id.to_owned(), pid: signed_pid(signature).unwrap_or(0) };
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Owner::default()
}
