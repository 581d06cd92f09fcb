//! How many more runs auto-fix may make: one number for the whole tree of runs, on disk.
//!
//! Nested runs take from the same number, so budgets never multiply; a killed loop finds it where it was.

use std::{
    fs::{File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};

use super::Policy;
use crate::{
    folder::{FolderError, make_dir},
    host::Host,
    runs::Runs,
};

/// The environment variable that leads nested runs to the number.
pub const VARIABLE: &str = "RECIPE_RUNNER_AUTO_FIX_BUDGET";

/// The number on disk.
#[derive(Clone, Debug)]
pub struct Budget {
    path: PathBuf,
}

impl Budget {
    /// The number at this path; it begins with `runs` unless it exists already.
    pub fn open(path: &Path, runs: u32) -> Result<Budget, FolderError> {
        let budget = Budget { path: path.to_owned() };
        if !path.exists() {
            crate::folder::write_new(path, format!("{runs}\n").as_bytes())?;
        }
        Ok(budget)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes one run from it; `false` if none is left.
    pub fn take(&self) -> Result<bool, FolderError> {
        let mut file = self.lock()?;
        let left = read(&mut file);
        if left == 0 {
            return Ok(false);
        }
        let write = |file: &mut File| {
            file.seek(SeekFrom::Start(0))?;
            file.set_len(0)?;
            writeln!(file, "{}", left - 1)?;
            file.sync_data()
        };
        write(&mut file).map_err(FolderError::at("write", &self.path))?;
        Ok(true)
    }

    fn lock(&self) -> Result<File, FolderError> {
        let file = OpenOptions::new().read(true).write(true).mode(0o600).open(&self.path);
        let file = file.map_err(FolderError::at("open", &self.path))?;
        flock(&file, FlockOperation::LockExclusive)
            .map_err(|error| FolderError::at("lock", &self.path)(error.into()))?;
        Ok(file)
    }
}

/// Makes the number of runs that are left known to everything that the run starts; a run inside of another one
/// that has such a number takes from that. Says where it is.
pub fn prepare(
    runs: &Runs,
    policy: &Policy,
    known: Option<PathBuf>,
    host: &mut Host,
) -> Result<PathBuf, FolderError> {
    let inherited = host.var(VARIABLE).map(PathBuf::from).filter(|path| path.exists());
    let path = match known.or(inherited) {
        Some(path) => path,
        None => {
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
}
