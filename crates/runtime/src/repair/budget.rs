//! How many more runs auto-fix may make: one number on disk for the whole tree of runs.
//!
//! Runs inside other runs share the number, so budgets never multiply. A loop that was killed finds it unchanged.

use std::{
    cell::Cell,
    fs::{File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};

use super::Policy;
use crate::os::files;
use crate::{
    machine::host::Host,
    runs::Runs,
    store::folder::{FolderError, make_dir},
};

/// The environment variable that leads inner runs to the number.
pub const VARIABLE: &str = "RECIPE_RUNNER_AUTO_FIX_BUDGET";

/// The environment variable that forbids inner runs to repair anything.
pub const FORBIDDEN: &str = "RECIPE_RUNNER_NO_AUTO_FIX";

/// Whether the environment forbids repairs.
pub fn is_forbidden(host: &Host) -> bool {
    host.var(FORBIDDEN).is_some_and(|said| !matches!(said.trim(), "" | "0" | "false"))
}

/// Forbids everything that the run starts to repair anything.
pub fn forbid(host: &mut Host) {
    host.env.insert(FORBIDDEN.into(), "1".into());
}

/// The number on disk, and how many of these runs one loop may use.
#[derive(Clone, Debug)]
pub struct Budget {
    path: PathBuf,
    own: Cell<u32>,
}

impl Budget {
    /// The number at this path, of which a loop uses at most `runs`; creates it with this value if it is missing.
    pub fn open(path: &Path, runs: u32) -> Result<Budget, FolderError> {
        let budget = Budget { path: path.to_owned(), own: Cell::new(runs) };
        if !path.exists() {
            crate::store::folder::write_new(path, format!("{runs}\n").as_bytes())?;
        }
        Ok(budget)
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes one run from it; `false` if no run is left.
    pub fn take(&self) -> Result<bool, FolderError> {
        let mut file = self.lock()?;
        let (left, own) = (read(&mut file), self.own.get());
        if left == 0 || own == 0 {
            return Ok(false);
        }
        self.own.set(own - 1);
        let write = |file: &mut File| {
            file.seek(SeekFrom::Start(0))?;
            file.set_len(0)?;
            writeln!(file, "{}", left - 1)?;
            files::sync("budget.sync", file)
        };
        write(&mut file).map_err(FolderError::at("write", &self.path))?;
        Ok(true)
    }

    /// How many runs are left.
    pub fn left(&self) -> Result<u32, FolderError> {
        Ok(read(&mut self.lock()?))
    }

    fn lock(&self) -> Result<File, FolderError> {
        let file = OpenOptions::new().read(true).write(true).mode(0o600).open(&self.path);
        let file = file.map_err(FolderError::at("open", &self.path))?;
        flock(&file, FlockOperation::LockExclusive)
            .map_err(|error| FolderError::at("lock", &self.path)(error.into()))?;
        Ok(file)
    }
}

/// Passes the number of remaining runs on to everything that the run starts. A run inside another one shares the outer
/// number, and cannot make more runs than are left. Returns the path of the number.
pub fn prepare(
    runs: &Runs,
    policy: &mut Policy,
    known: Option<PathBuf>,
    host: &mut Host,
) -> Result<PathBuf, FolderError> {
    let inherited = host.var(VARIABLE).map(PathBuf::from).filter(|path| path.exists());
    let path = match (known, inherited) {
        (Some(path), _) => path,
        (None, Some(path)) => {
            // the current run is already counted by the outer loop
            let left = Budget::open(&path, 0)?.left()?.saturating_add(1);
            policy.max_attempts = policy.max_attempts.min(left);
            path
        }
        (None, None) => {
            let dir = runs.home().join("auto-fix");
            make_dir(&dir)?;
            dir.join(crate::runs::new_id())
        }
    };
    Budget::open(&path, policy.max_attempts.saturating_sub(1))?;
    host.env.insert(VARIABLE.into(), path.clone().into());
    Ok(path)
}

fn read(file: &mut File) -> u32 {
    let mut text = String::new();
    let _ = file.read_to_string(&mut text);
    text.trim().parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_is_taken_once_by_whoever_comes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("budget");
        let first = Budget::open(&path, 2).unwrap();
        let nested = Budget::open(&path, 9).unwrap();
        assert!(first.take().unwrap());
        assert!(nested.take().unwrap());
        assert!(!first.take().unwrap());
        assert!(!nested.take().unwrap());
    }

    #[test]
    fn a_loop_takes_no_more_than_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("budget");
        let first = Budget::open(&path, 5).unwrap();
        let nested = Budget::open(&path, 1).unwrap();
        assert!(nested.take().unwrap() && !nested.take().unwrap());
        assert_eq!((first.left().unwrap(), first.take().unwrap()), (4, true));
    }
}
