//! The journal of a run: an append-only file of events, and the only truth about the run.
//!
//! Every line has a checksum. A torn last line (the machine or the runner died while writing it) has no newline and is
//! dropped; any other damage is an error with file and line. Appended events are on disk when [`Journal::sync`]
//! returns, so a finished step survives a power loss, not only a killed process.

mod line;
mod reading;
mod upgrade;

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::mpsc,
};

use engine::{Event, Record};
use jiff::Timestamp;

use crate::os::files;
pub use line::write_line;
pub(crate) use reading::without_steps;
pub use reading::{Extent, look, look_on, parse, read, read_last};

/// An error of a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// It cannot be read or written.
    #[error("cannot {action} the journal `{}`: {source}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A line differs from what was written.
    #[error("the journal `{}` is damaged at line {line}: {reason}", path.display())]
    Damaged {
        path: PathBuf,
        line: usize,
        /// The damage.
        reason: String,
    },
}

/// A journal that is open for writing.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    next: u64,
    buffer: Vec<u8>,
    unsynced: bool,
    /// The folder whose names come to disk with the first records.
    names: Option<File>,
    syncer: Option<Syncer>,
    syncing: Syncing,
}

/// Whether a sync is under way.
#[derive(Debug, PartialEq, Eq)]
enum Syncing {
    No,
    Yes,
}

impl Journal {
    /// Creates the journal of a new run.
    pub fn create(path: &Path) -> Result<Journal, JournalError> {
        let file = files::point("journal.create")
            .and_then(|()| OpenOptions::new().append(true).create_new(true).mode(0o600).open(path));
        let file = file.map_err(|source| failed("create", path, source))?;
        Ok(Journal::over(file, path, 1))
    }

    fn over(file: File, path: &Path, next: u64) -> Journal {
        Journal {
            file,
            path: path.to_owned(),
            next,
            buffer: Vec::new(),
            unsynced: false,
            names: None,
            syncer: None,
            syncing: Syncing::No,
        }
    }

    /// The same journal in a run that has just got its name in this folder: name and first records come to disk
    /// together.
    pub(crate) fn published(self, path: PathBuf, folder: File) -> Journal {
        Journal { path, names: Some(folder), ..self }
    }

    /// Opens the journal of an existing run, reads its records and drops a torn last line.
    pub fn open(path: &Path) -> Result<(Journal, Vec<Record>), JournalError> {
        // a power loss right after the run was created can lose even the name of an empty journal
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)
            .map_err(|e| failed("open", path, e))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|source| failed("read", path, source))?;
        let (records, good) = parse(&bytes, path)?;
        if good < bytes.len() {
            files::point("journal.repair")
                .and_then(|()| file.set_len(good as u64))
                .map_err(|source| failed("repair", path, source))?;
            file.seek(SeekFrom::End(0)).map_err(|source| failed("repair", path, source))?;
        }
        let next = records.last().map_or(1, |record| record.seq + 1);
        Ok((Journal::over(file, path, next), records))
    }

    /// Opens a journal that was read before, if it has not changed since; torn ones are left to [`Journal::open`]. The
    /// caller must hold the lock: the answer holds only until another process writes.
    pub fn open_unchanged(path: &Path, extent: &Extent) -> Result<Option<Journal>, JournalError> {
        let file = match OpenOptions::new().append(true).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("open", path, error)),
        };
        // a journal only grows, except that a torn line is dropped
        let length = file.metadata().map_err(|source| failed("read", path, source))?.len();
        let is_same = extent.torn == 0 && extent.bytes == length;
        Ok(is_same.then(|| Journal::over(file, path, extent.next)))
    }

    /// Makes the next record of an event and queues it; [`Journal::sync`] brings it to disk.
    pub fn append(&mut self, at: Timestamp, event: Event) -> Record {
        let record = Record { seq: self.next, at, event };
        self.next += 1;
        write_line(&record, &mut self.buffer);
        record
    }

    /// Syncs everything appended so far.
    pub fn sync(&mut self) -> Result<(), JournalError> {
        self.write()?;
        if !std::mem::take(&mut self.unsynced) {
            return Ok(());
        }
        let end = self.bring_to_disk();
        self.synced(end)
    }

    fn bring_to_disk(&mut self) -> io::Result<()> {
        files::sync("journal.sync", &self.file)?;
        if let Some(folder) = &self.names {
            files::sync_names(folder)?;
            self.names = None;
        }
        Ok(())
    }

    /// What could not be brought to disk is worth another try.
    fn synced(&mut self, end: io::Result<()>) -> Result<(), JournalError> {
        self.unsynced |= end.is_err();
        end.map_err(|source| failed("sync", &self.path, source))
    }

    /// Like [`Journal::sync`], but returns at once: [`Journal::end_sync`] waits until everything is on disk.
    pub fn begin_sync(&mut self) -> Result<(), JournalError> {
        self.write()?;
        if !std::mem::take(&mut self.unsynced) {
            return Ok(());
        }
        // a simulation syncs in the same thread, as late as a disk may take
        if files::syncs_here() {
            self.syncing = Syncing::Yes;
            return Ok(());
        }
        if self.syncer.is_none() {
            let syncer = self.file.try_clone().and_then(|file| Syncer::start(file, self.names.take()));
            self.syncer = Some(syncer.map_err(|source| failed("sync", &self.path, source))?);
        }
        self.syncing = Syncing::Yes;
        let begun = self.syncer.as_ref().is_some_and(Syncer::begin);
        if begun { Ok(()) } else { Err(failed("sync", &self.path, io::ErrorKind::BrokenPipe.into())) }
    }

    /// Waits for a sync that [`Journal::begin_sync`] began, if any.
    pub fn end_sync(&mut self) -> Result<(), JournalError> {
        if std::mem::replace(&mut self.syncing, Syncing::No) == Syncing::No {
            return Ok(());
        }
        let end = match &self.syncer {
            Some(syncer) => syncer.end(),
            None => self.bring_to_disk(),
        };
        self.synced(end)
    }

    /// Hands everything appended so far to the operating system: a killed runner does not lose it, a power loss may.
    /// Records that could not be written stay queued, so that a later try continues exactly there.
    pub fn write(&mut self) -> Result<(), JournalError> {
        while !self.buffer.is_empty() {
            match files::write("journal.write", &mut self.file, &self.buffer) {
                Ok(0) => return Err(failed("write", &self.path, io::ErrorKind::WriteZero.into())),
                Ok(count) => drop(self.buffer.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(failed("write", &self.path, source)),
            }
            self.unsynced = true;
        }
        Ok(())
    }
}

/// A thread that syncs, so that the loop can do other work meanwhile. Ends with its journal.
#[derive(Debug)]
struct Syncer {
    ask: mpsc::Sender<()>,
    answer: mpsc::Receiver<io::Result<()>>,
}

impl Syncer {
    fn start(file: File, names: Option<File>) -> io::Result<Syncer> {
        let (ask, asked) = mpsc::channel();
        let (say, answer) = mpsc::channel();
        let work = move || {
            // where a file system brings names to disk with the files, they are there already
            let first = || {
                file.sync_data()?;
                names.map_or(Ok(()), |folder| folder.sync_all())
            };
            if asked.recv().is_err() || say.send(first()).is_err() {
                return;
            }
            while asked.recv().is_ok() && say.send(file.sync_data()).is_ok() {}
        };
        std::thread::Builder::new().name("journal".to_owned()).stack_size(64 * 1024).spawn(work)?;
        Ok(Syncer { ask, answer })
    }

    fn begin(&self) -> bool {
        self.ask.send(()).is_ok()
    }

    fn end(&self) -> io::Result<()> {
        self.answer.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))
    }
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> JournalError {
    JournalError::Io { action, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(dir: &Path) -> PathBuf {
        let path = dir.join("events.jsonl");
        let mut journal = Journal::create(&path).unwrap();
        for attempt in 1..=3 {
            journal.append(
                Timestamp::UNIX_EPOCH,
                Event::StepStarted { path: "a".into(), attempt, inputs: None },
            );
        }
        journal.sync().unwrap();
        path
    }

    #[test]
    fn what_was_written_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = write(dir.path());
        let records = read(&path).unwrap();
        assert_eq!(records.len(), 3);
        assert_eq!(read_last(&path), records.last().cloned());
    }

    #[test]
    fn a_torn_last_line_is_dropped_wherever_it_was_torn() {
        let dir = tempfile::tempdir().unwrap();
        let path = write(dir.path());
        let bytes = std::fs::read(&path).unwrap();
        let two = bytes.len() * 2 / 3;
        for length in two..bytes.len() {
            std::fs::write(&path, &bytes[..length]).unwrap();
            let (mut journal, records) = Journal::open(&path).unwrap();
            assert_eq!(records.len(), 2, "{length}");
            journal
                .append(Timestamp::UNIX_EPOCH, Event::Noted { path: None, message: "on".into(), next: None });
            journal.sync().unwrap();
            assert_eq!(read(&path).unwrap().len(), 3, "{length}");
        }
    }

    /// D26: following a journal costs what is new, not what is there.
    #[test]
    fn only_new_records_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = write(dir.path());
        let (_, extent) = look(&path).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let mut journal = Journal::open_unchanged(&path, &extent).unwrap().unwrap();
        journal.append(Timestamp::UNIX_EPOCH, Event::Noted { path: None, message: "on".into(), next: None });
        journal.sync().unwrap();
        // bytes that were read before are not looked at again
        let whole = std::fs::read(&path).unwrap();
        let scrambled = [vec![b'x'; bytes.len()], whole[bytes.len()..].to_vec()].concat();
        std::fs::write(&path, &scrambled).unwrap();
        let (records, further) = look_on(&path, extent).unwrap();
        assert_eq!(records.iter().map(|record| record.seq).collect::<Vec<_>>(), [4]);
        assert_eq!(look_on(&path, further).unwrap(), (Vec::new(), further));
        // an unfinished line is left for the next time
        let torn = &scrambled[..scrambled.len() - 5];
        std::fs::write(&path, torn).unwrap();
        let (none, before) = look_on(&path, extent).unwrap();
        assert!(none.is_empty());
        std::fs::write(&path, &scrambled).unwrap();
        assert_eq!(look_on(&path, before).unwrap().0.len(), 1);
        // damage in what is new is refused with its line
        std::fs::write(&path, [torn, b"!!!!\n"].concat()).unwrap();
        assert!(look_on(&path, extent).unwrap_err().to_string().contains("line 4"));
    }

    #[test]
    fn a_journal_is_opened_unchanged_only_if_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = write(dir.path());
        let bytes = std::fs::read(&path).unwrap();
        let (_, extent) = look(&path).unwrap();
        let mut journal = Journal::open_unchanged(&path, &extent).unwrap().unwrap();
        let record = journal
            .append(Timestamp::UNIX_EPOCH, Event::Noted { path: None, message: "on".into(), next: None });
        assert_eq!(record.seq, 4);
        journal.sync().unwrap();
        assert_eq!(read(&path).unwrap().len(), 4);
        assert!(Journal::open_unchanged(&path, &extent).unwrap().is_none(), "somebody has written");
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(Journal::open_unchanged(&path, &extent).unwrap().is_none(), "it is shorter");
        let (_, torn) = look(&path).unwrap();
        assert!(Journal::open_unchanged(&path, &torn).unwrap().is_none(), "its end is torn");
        std::fs::remove_file(&path).unwrap();
        assert!(Journal::open_unchanged(&path, &extent).unwrap().is_none(), "it is gone");
    }

    #[test]
    fn damage_in_the_middle_is_refused_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = write(dir.path());
        let bytes = std::fs::read(&path).unwrap();
        let mut changed = bytes.clone();
        changed[bytes.len() / 2] ^= 1;
        std::fs::write(&path, &changed).unwrap();
        let error = Journal::open(&path).unwrap_err().to_string();
        assert!(error.contains("damaged at line 2"), "{error}");
        let without_first = &bytes[bytes.len() / 3..];
        std::fs::write(&path, without_first).unwrap();
        assert!(Journal::open(&path).unwrap_err().to_string().contains("line 1"));
    }

    #[test]
    fn a_line_with_an_end_was_never_torn() {
        let dir = tempfile::tempdir().unwrap();
        let path = write(dir.path());
        let good = std::fs::read(&path).unwrap();
        let line = good.len() / 3;
        for (bytes, expected) in [
            (&b"garbage\n"[..], Err(1)),
            (b"\n", Err(1)),
            (b"garbage", Err(1)),
            (b"{\"seq\":2", Err(1)),
            (b"\0\0\0\0", Err(1)),
            (b"", Ok(0)),
            (b"{", Ok(0)),
            (b"{\"seq\":1,\"at\":\"2026", Ok(0)),
            (&good[..line - 1], Ok(0)),
            (&[&good[..line], b"garbage\n"].concat(), Err(2)),
            (&[&good[..line], b"\n"].concat(), Err(2)),
            (&[&good[..line], b"garbage"].concat(), Ok(1)),
            (&[&good[..line], b"\0\0\0\0"].concat(), Ok(1)),
        ] {
            let found = parse(bytes, &path).map(|(records, _)| records.len()).map_err(|error| match error {
                JournalError::Damaged { line, .. } => line,
                JournalError::Io { .. } => 0,
            });
            assert_eq!(found, expected, "{:?}", String::from_utf8_lossy(bytes));
        }
    }
}
