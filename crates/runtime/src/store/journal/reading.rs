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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Bytes of whole records.
    pub(super) bytes: u64,
    /// Bytes after them that are not a record, or not yet.
    pub(super) torn: u64,
    /// Number of the next record.
    pub(super) next: u64,
    /// The format that it began with.
    format: u32,
}

impl Default for Extent {
    /// Nothing was read.
    fn default() -> Extent {
        Extent { bytes: 0, torn: 0, next: 1, format: OLDEST }
    }
}

/// Reads the records of a journal while another process may be writing it.
pub fn read(path: &Path) -> Result<Vec<Record>, JournalError> {
    let bytes = std::fs::read(path).map_err(|source| failed("read", path, source))?;
    parse(&bytes, path).map(|(records, _)| records)
}

/// The same, with the extent that was read.
pub fn look(path: &Path) -> Result<(Vec<Record>, Extent), JournalError> {
    look_on(path, Extent::default())
}

/// Reads only the records that were added since the journal was read this far.
pub fn look_on(path: &Path, read: Extent) -> Result<(Vec<Record>, Extent), JournalError> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|mut file| {
            file.seek(SeekFrom::Start(read.bytes))?;
            file.read_to_end(&mut bytes)
        })
        .map_err(|source| failed("read", path, source))?;
    parse_on(&bytes, path, read)
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
    let (records, extent) = parse_on(bytes, path, Extent::default())?;
    Ok((records, extent.bytes as usize))
}

/// The records in the bytes of a journal after those that were read already.
fn parse_on(bytes: &[u8], path: &Path, read: Extent) -> Result<(Vec<Record>, Extent), JournalError> {
    let mut records: Vec<Record> = Vec::new();
    let mut extent = Extent { torn: 0, ..read };
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let damaged = |reason: String| {
            let line = extent.next as usize;
            JournalError::Damaged { path: path.to_owned(), line, reason }
        };
        match parse_line(line, extent.format) {
            Ok(record) if record.seq != extent.next => {
                return Err(damaged(format!("found record {} instead of {}", record.seq, extent.next)));
            }
            Ok(record) => {
                if let Event::RunStarted(started) = &record.event {
                    extent.format = started.format;
                }
                records.push(record);
            }
            // a line without a newline is the last one: its writer died
            Err(_) if is_torn(line) && (extent.next > 1 || begins_a_journal(line)) => {
                extent.torn = line.len() as u64;
                break;
            }
            Err(reason) => return Err(damaged(reason)),
        }
        extent.bytes += line.len() as u64;
        extent.next += 1;
    }
    Ok((records, extent))
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
