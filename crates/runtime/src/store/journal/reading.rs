//! Reading a journal while another process may be writing it. Never changes it.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
};

use engine::{Event, Record};

use super::{
    JournalError, failed,
    line::{OLDEST, parse_line},
};

/// How far a journal was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Bytes of whole records.
    pub(super) bytes: u64,
    /// Bytes after them that are not a record, or not yet.
    pub(super) torn: u64,
    /// Number of the next record.
    pub(super) next: u64,
}

/// Reads the records of a journal while another process may be writing it.
pub fn read(path: &Path) -> Result<Vec<Record>, JournalError> {
    let bytes = std::fs::read(path).map_err(|source| failed("read", path, source))?;
    parse(&bytes, path).map(|(records, _)| records)
}

/// The same, with the extent that was read.
pub fn look(path: &Path) -> Result<(Vec<Record>, Extent), JournalError> {
    let bytes = std::fs::read(path).map_err(|source| failed("read", path, source))?;
    let (records, good) = parse(&bytes, path)?;
    let extent =
        Extent { bytes: good as u64, torn: (bytes.len() - good) as u64, next: records.len() as u64 + 1 };
    Ok((records, extent))
}

/// The last record of a journal, without reading all of it.
pub fn read_last(path: &Path) -> Option<Record> {
    let mut file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    let mut want = 4096;
    loop {
        let from = size.saturating_sub(want);
        file.seek(SeekFrom::Start(from)).ok()?;
        let mut bytes = Vec::new();
        Read::by_ref(&mut file).take(want).read_to_end(&mut bytes).ok()?;
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let whole = if from == 0 { &lines[..] } else { lines.get(1..).unwrap_or_default() };
        if let Some(record) = whole.iter().rev().find_map(|line| parse_line(line, OLDEST).ok()) {
            return Some(record);
        }
        if from == 0 {
            return None;
        }
        want *= 8;
    }
}

/// The records in the bytes of a journal, and how many bytes they take.
pub fn parse(bytes: &[u8], path: &Path) -> Result<(Vec<Record>, usize), JournalError> {
    let mut records: Vec<Record> = Vec::new();
    let mut good = 0;
    let mut format = OLDEST;
    for (at, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let damaged = |reason: String| JournalError::Damaged { path: path.to_owned(), line: at + 1, reason };
        match parse_line(line, format) {
            Ok(record) if record.seq != at as u64 + 1 => {
                return Err(damaged(format!("found record {} instead of {}", record.seq, at + 1)));
            }
            Ok(record) => {
                if let Event::RunStarted(started) = &record.event {
                    format = started.format;
                }
                records.push(record);
            }
            // a line without a newline is the last one: its writer died
            Err(_) if is_torn(line) && (at > 0 || begins_a_journal(line)) => break,
            Err(reason) => return Err(damaged(reason)),
        }
        good += line.len();
    }
    Ok((records, good))
}

/// The error for a journal that lost the records of its steps, and has only this many others.
pub(crate) fn without_steps(path: &Path, records: usize) -> JournalError {
    let reason = "the records of the steps are missing, but the steps left files".to_owned();
    JournalError::Damaged { path: path.to_owned(), line: records + 1, reason }
}

fn is_torn(line: &[u8]) -> bool {
    !line.ends_with(b"\n")
}

/// Whether bytes without anything before them can be the rest of a first record. Zeros cannot: as an empty journal,
/// they would make everything run again.
fn begins_a_journal(line: &[u8]) -> bool {
    const BEGINNING: &[u8] = br#"{"seq":1,"at":""#;
    let length = line.len().min(BEGINNING.len());
    line[..length] == BEGINNING[..length]
}
