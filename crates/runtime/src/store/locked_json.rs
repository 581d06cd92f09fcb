//! JSON files that several processes change: under a lock, and replaced as a whole.
//!
//! A reader never sees half a file, and a process that dies changes nothing.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
    time::Duration,
};

use rustix::fs::{FlockOperation, flock};
use serde::{Serialize, de::DeserializeOwned};

use super::folder::{FolderError, make_dir, to_json, write_new};
use crate::os::{clock, files, held_lock::HeldLock};

/// How long to wait for a lock.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// How long to wait before another try.
const BETWEEN_TRIES: Duration = Duration::from_millis(5);

/// A file `NAME.json`, with `NAME.lock` beside it.
pub(crate) struct LockedJson {
    dir: PathBuf,
    name: String,
}

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum LockedJsonError {
    /// Another process keeps the lock.
    #[error("`{}` is locked by another process for more than 10 s", .0.display())]
    Locked(PathBuf),
    /// A file or the directory cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// The result of a change.
#[derive(Debug)]
pub struct ChangedJson<T> {
    /// What the change gave.
    pub value: T,
    /// A warning about a damaged file that was moved aside.
    pub warning: Option<String>,
}

impl LockedJson {
    pub(crate) fn new(dir: PathBuf, name: &str) -> LockedJson {
        LockedJson { dir, name: name.to_owned() }
    }

    /// Its path.
    pub(crate) fn path(&self) -> PathBuf {
        self.with_ending("json")
    }

    /// What the file holds now; nothing if it cannot be read.
    pub(crate) fn look<S: DeserializeOwned>(&self) -> Option<S> {
        serde_json::from_slice(&fs::read(self.path()).ok()?).ok()
    }

    /// Changes what the file holds; it is written only if it differs. A file that is missing or damaged begins anew.
    pub(crate) fn change<S, T>(
        &self,
        empty: S,
        change: impl FnOnce(&mut S) -> T,
    ) -> Result<ChangedJson<T>, LockedJsonError>
    where
        S: Serialize + DeserializeOwned + PartialEq + Clone,
    {
        make_dir(&self.dir)?;
        let _lock = self.lock()?;
        let (before, warning) = self.load::<S>()?;
        let mut now = before.clone().unwrap_or(empty);
        let value = change(&mut now);
        if before.as_ref() != Some(&now) {
            self.replace(&now)?;
        }
        Ok(ChangedJson { value, warning })
    }

    fn with_ending(&self, ending: &str) -> PathBuf {
        self.dir.join(format!("{}.{ending}", self.name))
    }

    fn lock(&self) -> Result<HeldLock, LockedJsonError> {
        let path = self.with_ending("lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file: File = file.map_err(FolderError::at("open", &path))?;
        let deadline = clock::instant() + LONGEST_WAIT;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(HeldLock::new(file)),
                Err(rustix::io::Errno::WOULDBLOCK) if clock::instant() < deadline => {
                    std::thread::sleep(BETWEEN_TRIES);
                }
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(LockedJsonError::Locked(path)),
                Err(error) => return Err(FolderError::at("lock", &path)(error.into()).into()),
            }
        }
    }

    /// What the file holds, if it exists. A damaged file is moved aside, with a warning.
    fn load<S: DeserializeOwned>(&self) -> Result<(Option<S>, Option<String>), LockedJsonError> {
        let file = self.path();
        let text = match fs::read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((None, None)),
            Err(error) => return Err(FolderError::at("read", &file)(error).into()),
        };
        let error = match serde_json::from_slice(&text) {
            Ok(known) => return Ok((Some(known), None)),
            Err(error) => error,
        };
        let aside = self.free_name();
        files::rename(&file, &aside).map_err(FolderError::at("move", &file))?;
        let warning = format!(
            "`{}` is damaged ({error}): it is now `{}`, and a new file was begun",
            file.display(),
            aside.display()
        );
        Ok((None, Some(warning)))
    }

    fn free_name(&self) -> PathBuf {
        let mut names = (1..=u32::MAX).map(|number| self.with_ending(&format!("damaged-{number}")));
        names.find(|path| !path.exists()).unwrap_or_else(|| self.with_ending("damaged"))
    }

    fn replace(&self, now: &impl Serialize) -> Result<(), LockedJsonError> {
        let (file, new) = (self.path(), self.with_ending("new"));
        let json = to_json(now).map_err(FolderError::at("write", &file))?;
        write_new(&new, &json)?;
        files::rename(&new, &file).map_err(FolderError::at("replace", &file))?;
        Ok(())
    }
}
