//! One line of a journal: a record, and a checksum that detects changes.

use engine::{Record, run::event::FORMAT};

use super::upgrade::upgrade;

/// Length of `,"sum":"xxxxxxxx"}`.
const SUM_LENGTH: usize = 18;

/// Appends the line of a record.
pub fn write_line(record: &Record, lines: &mut Vec<u8>) {
    let start = lines.len();
    // serializing into memory cannot fail: every map of an event has text keys
    if serde_json::to_writer(&mut *lines, record).is_ok() {
        let seal = seal(&lines[start..]);
        lines.pop();
        lines.extend_from_slice(&seal);
        lines.push(b'\n');
    }
}

/// The oldest format that can be read.
pub(super) const OLDEST: u32 = 1;

/// The record of a line in a journal that began with this format, or a description of what is wrong with it.
pub(super) fn parse_line(line: &[u8], format: u32) -> Result<Record, String> {
    let line = line.strip_suffix(b"\n").ok_or("the line has no end")?;
    if line.len() < SUM_LENGTH {
        return Err("the line is too short".to_owned());
    }
    let (body, sum) = line.split_at(line.len() - SUM_LENGTH);
    if sum != seal(body.iter().chain(b"}")) {
        return Err("the checksum does not match".to_owned());
    }
    // a record ignores the checksum in it, so nothing has to be copied
    let text = std::str::from_utf8(line).map_err(|error| error.to_string())?;
    let record = match format {
        FORMAT => serde_json::from_str(text),
        _ => serde_json::from_str(text).and_then(|mut record| {
            upgrade(&mut record);
            serde_json::from_value(record)
        }),
    };
    record.map_err(|error| error.to_string())
}

/// The end of a line: the checksum of the record before it.
fn seal<'a>(record: impl IntoIterator<Item = &'a u8>) -> [u8; SUM_LENGTH] {
    let sum = checksum(record);
    let mut seal = *b",\"sum\":\"00000000\"}";
    for (at, digit) in seal[8..16].iter_mut().enumerate() {
        *digit = b"0123456789abcdef"[(sum >> (28 - 4 * at) & 0xf) as usize];
    }
    seal
}

/// FNV-1a, folded to 32 bits: detects torn and changed lines.
fn checksum<'a>(bytes: impl IntoIterator<Item = &'a u8>) -> u32 {
    let hash = bytes.into_iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash ^ (hash >> 32)) as u32
}
