//! The folder of a run with all its files, private to the user.
//!
//! `run.json · sources/ · events.jsonl · log.jsonl · lock · inbox/ · steps/<path>/<attempt>/…`

mod batch;
mod header;
mod options;
mod request;

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::fs::{FlockOperation, flock, statvfs};
use serde::Serialize;

pub(crate) use batch::Batch;
pub use header::Header;
pub use options::{AgentChoice, Options, Recovery, Switches, TagFilter};
pub use request::{
    AskOptions, Beside, Questions, RepairReview, RequestOptions, StoredInput, StoredRequest, store_inputs,
};

use crate::os::{files, held_lock::HeldLock, process};

/// Version of `run.json`: that of the journal beside it.
pub use engine::run::event::FORMAT;

/// A file of a run's folder that could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} `{}`: {source}", path.display())]
pub struct FolderError {
    /// What was attempted.
    pub action: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

impl FolderError {
    /// Makes a conversion for `map_err`.
    pub(crate) fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FolderError {
        let path = path.to_owned();
        move |source| FolderError { action, path, source }
    }
}

/// The directory that relative paths of a run start from: where it was started. The path of its recipe and the absolute
/// path of the file tell which one that is.
pub(crate) fn base<'f>(file: &'f Path, path: &Path) -> Option<&'f Path> {
    let is_below = path.is_relative() && file.ends_with(path);
    file.ancestors().nth(path.components().count()).filter(|_| is_below)
}

/// The folder of one run.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// The folder at this path, which may not exist.
    pub fn at(path: PathBuf) -> RunFolder {
        RunFolder { path }
    }

    /// Creates the folder of a new run.
    pub(crate) fn create(
        path: PathBuf,
        header: &Header,
        files: &mut Batch,
    ) -> Result<RunFolder, FolderError> {
        let folder = RunFolder { path };
        for dir in [folder.path.clone(), folder.inbox(), folder.steps()] {
            make_dir(&dir)?;
        }
        let file = folder.path.join("run.json");
        let json = to_json(header).map_err(FolderError::at("write", &file))?;
        files.write(file, &json)?;
        Ok(folder)
    }

    /// Whether it contains a run.
    pub fn is_run(&self) -> bool {
        self.path.join("run.json").exists()
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run's id.
    pub fn id(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The request of the run.
    pub fn header(&self) -> Result<Header, FolderError> {
        let path = self.path.join("run.json");
        let text = fs::read(&path).map_err(FolderError::at("read", &path))?;
        serde_json::from_slice(&text).map_err(|error| FolderError::at("read", &path)(error.into()))
    }

    /// Marks a run of an older format as one of this format: it gets records that older programs cannot read.
    pub(crate) fn mark_format(&self, header: &Header) -> Result<(), FolderError> {
        if header.format == FORMAT {
            return Ok(());
        }
        let (file, new) = (self.path.join("run.json"), self.path.join("run.json.new"));
        let header = Header { format: FORMAT, ..header.clone() };
        let json = to_json(&header).map_err(FolderError::at("write", &file))?;
        write_new(&new, &json)?;
        files::rename(&new, &file).map_err(FolderError::at("replace", &file))?;
        sync_dir(&self.path)
    }

    /// The journal's file.
    pub fn journal(&self) -> PathBuf {
        self.path.join("events.jsonl")
    }

    /// The audit log inside the folder, if the run has one.
    pub fn log(&self) -> PathBuf {
        self.path.join("log.jsonl")
    }

    /// The sources that the run started with (0) or was resumed with (1, 2, …).
    pub fn sources(&self, generation: u32) -> PathBuf {
        match generation {
            0 => self.path.join("sources"),
            n => self.path.join(format!("sources-{n}")),
        }
    }

    /// The folder for requests of other processes.
    pub fn inbox(&self) -> PathBuf {
        self.path.join("inbox")
    }

    /// The folder for the contexts of frames while they are in use.
    pub fn contexts(&self) -> PathBuf {
        self.path.join("contexts")
    }

    /// The folder for the files of attempts.
    pub fn steps(&self) -> PathBuf {
        self.path.join("steps")
    }

    /// Whether any attempt has a folder. The first one is made after the record of its attempt is in the journal.
    pub(crate) fn has_attempts(&self) -> bool {
        fs::read_dir(self.steps()).is_ok_and(|mut entries| entries.next().is_some())
    }

    /// The folder of an attempt, relative to the run's folder.
    pub fn attempt(step: &str, attempt: u32) -> PathBuf {
        RunFolder::step(step).join(attempt.to_string())
    }

    /// The purpose of processes that check a rule, and the beginning of the names of their folders.
    pub const CHECK: &'static str = "ensure";

    /// The folder of the command that checks a rule of a step, relative to the run's folder. Rules are numbered from 1.
    pub(crate) fn check(step: &str, attempt: u32, rule: usize) -> PathBuf {
        RunFolder::attempt(step, attempt).join(format!("{}-{rule}", RunFolder::CHECK))
    }

    /// The folders of the commands that checked an attempt, each with the number of its rule.
    pub fn checks(&self, step: &str, attempt: u32) -> Vec<(usize, PathBuf)> {
        let entries = fs::read_dir(self.path.join(RunFolder::attempt(step, attempt)));
        let mut found: Vec<(usize, PathBuf)> = entries
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name().into_string().ok()?;
                let rule = name.strip_prefix(RunFolder::CHECK)?.strip_prefix('-')?.parse().ok()?;
                Some((rule, entry.path()))
            })
            .collect();
        found.sort();
        found
    }

    /// The folder of a step, relative to the run's folder.
    pub(crate) fn step(step: &str) -> PathBuf {
        Path::new("steps").join(file_name(step))
    }

    /// Gives the folder its final name in the folder of all runs: from now on the run exists, with everything that
    /// belongs to it. The name itself is not on disk yet.
    pub(crate) fn publish(self, runs: &Path, id: &str) -> Result<(RunFolder, File), FolderError> {
        let path = runs.join(id);
        let names = files::point("folder.publish")
            .and_then(|()| files::rename(&self.path, &path))
            .and_then(|()| File::open(runs))
            .map_err(FolderError::at("create", &path))?;
        Ok((RunFolder { path }, names))
    }

    /// Takes the run for this process; `None` if another live process has it.
    pub fn lock(&self) -> Result<Option<HeldLock>, FolderError> {
        process::survive_requests();
        let path = self.path.join("lock");
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file = file.map_err(FolderError::at("open", &path))?;
        for _ in 0..LOCK_TRIES {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {
                    let _ = file.set_len(0);
                    let _ = (&file).write_all(format!("{}\n", signature()).as_bytes());
                    return Ok(Some(HeldLock::new(file)));
                }
                Err(rustix::io::Errno::WOULDBLOCK) if is_owned(&file) && !is_orphaned(&path) => {
                    return Ok(None);
                }
                // another process only checks whether the run is alive, or is about to release it
                Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(Duration::from_millis(1)),
                Err(error) => return Err(FolderError::at("lock", &path)(error.into())),
            }
        }
        Ok(None)
    }

    /// Keeps new owners of the run waiting until the guardian has ended its remaining processes. Waits for another
    /// guardian.
    pub(crate) fn hold_back(&self) -> Result<File, FolderError> {
        let path = self.path.join(GUARDIAN_LOCK);
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file = file.map_err(FolderError::at("open", &path))?;
        flock(&file, FlockOperation::LockExclusive)
            .map_err(|error| FolderError::at("lock", &path)(error.into()))?;
        Ok(file)
    }

    /// Waits until no guardian ends processes of the run. A later guardian finds the run taken, so the caller must have
    /// taken it.
    pub(crate) fn await_guardian(&self) {
        if let Ok(file) = File::open(self.path.join(GUARDIAN_LOCK)) {
            let _ = flock(&file, FlockOperation::LockShared);
        }
    }

    /// The live process that owns the run; 0 if it has no number here.
    pub fn owner(&self) -> Option<u32> {
        let path = self.path.join("lock");
        let file = File::open(&path).ok()?;
        for _ in 0..LOCK_TRIES {
            if !is_owned(&file) {
                return None;
            }
            if !is_orphaned(&path) {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Some(written_pid(&path).unwrap_or(0))
    }
}

/// The lock of an active guardian, separate from that of the run, so that the guardian does not look like a runner.
const GUARDIAN_LOCK: &str = "guardian-lock";
/// How often to try a lock, once per millisecond, while others check it or a dead process still holds it.
pub(crate) const LOCK_TRIES: u32 = 1500;

/// Whether a lock belongs to a dead process. A child that was just being started when it died holds the lock until it
/// executes its program: a moment later the lock is free.
pub(crate) fn is_orphaned(lock: &Path) -> bool {
    written_pid(lock).is_some_and(|pid| !process::is_running(pid))
}

/// The text that the owner writes into a lock: its place, and its process number there.
pub(crate) fn signature() -> String {
    format!("{} {}", process::pid_namespace().unwrap_or_else(|| "unknown".to_owned()), std::process::id())
}

/// The process number at the end of a signature, if it means a process here: in another container or on another machine
/// the same number is an unrelated process.
pub(crate) fn signed_pid(text: &str) -> Option<u32> {
    let mut words = text.split_whitespace().rev();
    let pid = words.next()?.parse().ok()?;
    (words.next()? == process::pid_namespace()?).then_some(pid)
}

/// A process as text for users, from [`RunFolder::owner`].
pub fn owner_words(pid: u32) -> String {
    match pid {
        0 => "a process in another container or on another machine".to_owned(),
        pid => format!("process {pid}"),
    }
}

fn written_pid(lock: &Path) -> Option<u32> {
    signed_pid(&fs::read_to_string(lock).ok()?)
}

/// Whether a process owns the lock, and does not merely check it.
fn is_owned(lock: &File) -> bool {
    match flock(lock, FlockOperation::NonBlockingLockShared) {
        Ok(()) => {
            let _ = flock(lock, FlockOperation::Unlock);
            false
        }
        Err(_) => true,
    }
}

/// A step's path as one file name: `/` becomes `~`.
pub(crate) fn file_name(step: &str) -> String {
    let name: String = step
        .chars()
        .map(|c| match c {
            '/' => "~".to_owned(),
            '~' | '%' => format!("%{:02x}", c as u32),
            c => c.to_string(),
        })
        .collect();
    match name.len() {
        0..=200 => name,
        _ => format!("{}…{}", head(&name, 100), &recipe::digest::sha256(name.as_bytes())[..16]),
    }
}

fn head(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Makes a private folder, with its parents.
pub(crate) fn make_dir(path: &Path) -> Result<(), FolderError> {
    files::point("folder.make")
        .and_then(|()| fs::DirBuilder::new().recursive(true).mode(0o700).create(path))
        .map_err(FolderError::at("create", path))
}

/// Writes a new private file and syncs it.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> Result<(), FolderError> {
    let file = write_private(path, bytes)?;
    files::sync("file.sync", &file).map_err(FolderError::at("write", path))
}

/// Writes a new private file that is not needed after a power loss: it does not wait for the disk.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<File, FolderError> {
    let mut file = files::point("file.create")
        .and_then(|()| OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path))
        .map_err(FolderError::at("create", path))?;
    files::write_all("file.write", &mut file, bytes).map_err(FolderError::at("write", path))?;
    Ok(file)
}

/// With fewer free bytes than this, it is worth testing whether there is space.
const TIGHT: u64 = 1 << 20;

/// Whether a folder may have no space for another file.
pub(crate) fn is_tight(path: &Path) -> bool {
    statvfs(path).is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < TIGHT)
}

/// An error if a folder has no space for another file: then the output of its processes is lost.
pub(crate) fn check_room(path: &Path) -> Result<(), FolderError> {
    let probe = path.join(".room");
    let result = files::overwrite(&probe, &[b'x'; 4096]);
    files::discard_file(&probe);
    match result {
        Err(error) if is_full(&error) => Err(FolderError::at("write the output of steps to", path)(error)),
        _ => Ok(()),
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Syncs the names in a folder to disk.
pub(crate) fn sync_dir(path: &Path) -> Result<(), FolderError> {
    File::open(path).and_then(|dir| files::sync_names(&dir)).map_err(FolderError::at("sync", path))
}

/// A value as readable JSON.
pub(crate) fn to_json(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut json = serde_json::to_vec_pretty(value)?;
    json.push(b'\n');
    Ok(json)
}
