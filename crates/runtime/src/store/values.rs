//! Turns the output of a step into the value that the context keeps, and restores values from the journal.
//!
//! Memory is bounded whatever a step prints: the value is capped, and the file has everything.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    os::unix::{ffi::OsStrExt, fs::FileExt},
    path::Path,
    sync::Arc,
};

use engine::{
    failure::Before,
    run::event::{OutputRef, Stored},
};
use recipe::{
    digest::{sha256, sha256_from},
    value::Value,
};

use crate::{
    os::files,
    store::folder::{FolderError, sync_dir, write_new},
};

/// The most bytes of a step's output that the context keeps.
pub const VALUE_CAP: u64 = 10_000_000;
/// Largest value that is stored in the journal itself.
const INLINE_CAP: usize = 8 * 1024;
/// Largest output that gets a digest.
const DIGEST_CAP: u64 = 16 * 1024 * 1024;

/// The output of a step, as far as it is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// The text, without trailing newlines.
    pub text: String,
    /// Bytes that were cut out of the middle.
    pub cut: Option<u64>,
    /// The place of a NUL byte.
    pub nul: Option<usize>,
}

/// Room for the text at a cut.
const MARK_ROOM: u64 = 100;

/// Reads a file from an offset, without moving the offset that it shares with its writer.
struct Bytes<'a> {
    file: &'a File,
    offset: u64,
}

impl Read for Bytes<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

/// Reads an output file into a value.
pub fn capture(file: &File) -> io::Result<Captured> {
    capture_of(file, file.metadata()?.len())
}

/// The same of a file whose size is known.
pub(crate) fn capture_of(file: &File, size: u64) -> io::Result<Captured> {
    files::point("output.read")?;
    if size == 0 {
        return Ok(Captured::default());
    }
    if size <= VALUE_CAP {
        let mut bytes = Vec::with_capacity(size as usize + 1);
        Bytes { file, offset: 0 }.read_to_end(&mut bytes)?;
        return Ok(captured(bytes, size));
    }
    let half = VALUE_CAP / 2;
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    Bytes { file, offset: 0 }.take(half).read_to_end(&mut head)?;
    Bytes { file, offset: size - half }.take(half).read_to_end(&mut tail)?;
    Ok(of_ends(head, tail, size))
}

/// The value from only the beginning and the end of an output.
pub(crate) fn of_ends(head: Vec<u8>, tail: Vec<u8>, size: u64) -> Captured {
    shortened(&text_of(head), &without_newlines(text_of(tail)), size)
}

/// The value from complete bytes.
pub(crate) fn captured(bytes: Vec<u8>, size: u64) -> Captured {
    let nul = bytes.iter().position(|byte| *byte == 0);
    let text = without_newlines(text_of(bytes));
    // bytes that are not text take more room as text than in the file
    match text.len() as u64 > VALUE_CAP {
        true => Captured { nul, ..shortened(&text, &text, size) },
        false => Captured { text, cut: None, nul },
    }
}

/// The text at the place of a cut.
pub(crate) fn cut_mark(cut: u64) -> String {
    format!("\n[… {cut} bytes cut here; the step's log has everything …]\n")
}

/// The beginning of one text and the end of another, with a text between them about the missing bytes.
fn shortened(head: &str, tail: &str, size: u64) -> Captured {
    let half = ((VALUE_CAP - MARK_ROOM) / 2) as usize;
    let head_end = (0..=half.min(head.len())).rev().find(|at| head.is_char_boundary(*at));
    let tail_start = (tail.len().saturating_sub(half)..=tail.len()).find(|at| tail.is_char_boundary(*at));
    let (head, tail) = (&head[..head_end.unwrap_or(0)], &tail[tail_start.unwrap_or(tail.len())..]);
    let cut = size.saturating_sub((head.len() + tail.len()) as u64).max(1);
    let text = format!("{head}{}{tail}", cut_mark(cut));
    let nul = text.find('\0');
    Captured { text, cut: Some(cut), nul }
}

fn text_of(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

fn without_newlines(mut text: String) -> String {
    text.truncate(text.trim_end_matches('\n').len());
    text
}

/// The text after the cut, without the line that was cut in two.
pub(crate) fn after_cut(text: &str, cut: u64) -> &str {
    let tail = text.rsplit_once(&cut_mark(cut)).map_or("", |(_, tail)| tail);
    tail.split_once('\n').map_or("", |(_, whole)| whole)
}

/// The note about a shortened value.
pub(crate) fn cut_note(cut: u64) -> String {
    format!(
        "the output is larger than {VALUE_CAP} bytes: {cut} bytes in its middle are left out of the value; the log has everything"
    )
}

/// A reference to an output file.
pub fn output_ref(relative: &Path, file: &File) -> io::Result<OutputRef> {
    output_ref_of(relative, file, file.metadata()?.len())
}

/// The same to the first bytes of a file.
pub(crate) fn output_ref_of(relative: &Path, file: &File, bytes: u64) -> io::Result<OutputRef> {
    let sha256 = match bytes {
        0 => Some(sha256(&[])),
        1..=DIGEST_CAP => Some(sha256_from(&mut Bytes { file, offset: 0 }.take(bytes))?),
        _ => None,
    };
    Ok(OutputRef { file: relative.to_string_lossy().into_owned(), bytes, sha256 })
}

/// A reference to a file that a step made, by its content; to a link without a target file, by its target path.
pub fn produced_ref(dir: &Path, relative: &Path) -> Option<OutputRef> {
    let path = dir.join(relative);
    if path.is_file() {
        return output_ref(relative, &File::open(path).ok()?).ok();
    }
    let target = std::fs::read_link(path).ok()?;
    let target = target.as_os_str().as_bytes();
    let (file, bytes) = (relative.to_string_lossy().into_owned(), target.len() as u64);
    Some(OutputRef { file, bytes, sha256: Some(sha256(target)) })
}

/// Stores a value: small ones in the journal, large ones in a file of the attempt, on disk before the journal
/// speaks of it.
pub fn store(run: &Path, attempt: &Path, value: &Value) -> Result<Stored, FolderError> {
    let (name, bytes) = match value {
        Value::Text(text) if text.len() > INLINE_CAP => ("value.txt", Arc::clone(text)),
        Value::Map(_) | Value::List(_) => {
            let json = value.to_json();
            if json.len() <= INLINE_CAP {
                return Ok(Stored::Inline(value.clone()));
            }
            ("value.json", Arc::from(json))
        }
        _ => return Ok(Stored::Inline(value.clone())),
    };
    let relative = attempt.join(name);
    write_new(&run.join(&relative), bytes.as_bytes())?;
    sync_dir(&run.join(attempt))?;
    let reference = OutputRef {
        file: relative.to_string_lossy().into_owned(),
        bytes: bytes.len() as u64,
        sha256: Some(sha256(bytes.as_bytes())),
    };
    Ok(if name == "value.txt" { Stored::Text(reference) } else { Stored::Json(reference) })
}

/// Restores a stored value; an error if its file is missing or was changed.
pub fn load(run: &Path, stored: &Stored) -> Result<Value, String> {
    let (reference, is_json) = match stored {
        Stored::Inline(value) => return Ok(value.clone()),
        Stored::Text(reference) => (reference, false),
        Stored::Json(reference) => (reference, true),
    };
    let text = std::fs::read_to_string(run.join(&reference.file))
        .map_err(|error| format!("`{}` cannot be read: {error}", reference.file))?;
    if reference.sha256.as_deref() != Some(sha256(text.as_bytes()).as_str()) {
        return Err(format!("`{}` was changed after it was written", reference.file));
    }
    match is_json {
        true => Value::from_json(&text).map_err(|error| format!("`{}` is damaged: {error}", reference.file)),
        false => Ok(Value::from(text)),
    }
}

/// The last lines of a file: at most `lines` lines and `bytes` bytes.
pub fn tail(path: &Path, lines: usize, bytes: u64) -> String {
    tail_from(path, 0, lines, bytes)
}

/// The same, starting after an offset.
pub fn tail_from(path: &Path, from: u64, lines: usize, bytes: u64) -> String {
    last_lines(path, from, lines, bytes).unwrap_or_default().0
}

/// The same, and how many lines come before it.
pub fn placed_tail(path: &Path, lines: usize, bytes: u64) -> (String, Before) {
    let Ok((tail, starts)) = last_lines(path, 0, lines, bytes) else { return Default::default() };
    let counted = if starts <= MOST_COUNTED { newlines(path, starts).ok() } else { None };
    (tail, counted.map_or(Before::Many, Before::Lines))
}

/// The most bytes to count lines in: a step may have printed for hours.
const MOST_COUNTED: u64 = 32 << 20;

/// The end of a file, and its offset.
fn last_lines(path: &Path, from: u64, lines: usize, bytes: u64) -> io::Result<(String, u64)> {
    let mut file = File::open(path)?;
    let start = file.metadata()?.len().saturating_sub(bytes).max(from);
    file.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    file.take(bytes).read_to_end(&mut tail)?;
    let end = tail.iter().rposition(|byte| *byte != b'\n').map_or(0, |at| at + 1);
    let mut breaks = tail[..end].iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    let first = breaks.nth(lines.saturating_sub(1)).map_or(0, |(at, _)| at + 1);
    let text = String::from_utf8_lossy(&tail[first..end]);
    Ok((text.lines().collect::<Vec<_>>().join("\n"), start + first as u64))
}

/// How many lines end before an offset.
fn newlines(path: &Path, before: u64) -> io::Result<usize> {
    let mut file = File::open(path)?.take(before);
    let (mut buffer, mut count) = (vec![0; 64 * 1024], 0);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(count),
            read => count += buffer[..read].iter().filter(|byte| **byte == b'\n').count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_file_knows_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        for (printed, lines, bytes, tail, before) in [
            ("", 2, 100, "", 0),
            ("\n\n", 2, 100, "", 0),
            ("a", 2, 100, "a", 0),
            ("a\nb\n", 2, 100, "a\nb", 0),
            ("a\nb\nc\n\n", 2, 100, "b\nc", 1),
            ("a\r\nb\r\nc", 2, 100, "b\nc", 1),
            ("a\nbcdef\ng", 2, 5, "def\ng", 1),
        ] {
            std::fs::write(&path, printed).unwrap();
            assert_eq!(
                placed_tail(&path, lines, bytes),
                (tail.to_owned(), Before::Lines(before)),
                "{printed:?}"
            );
            assert_eq!(super::tail(&path, lines, bytes), tail, "{printed:?}");
        }
        assert_eq!(placed_tail(&dir.path().join("none"), 2, 100), (String::new(), Before::Lines(0)));
        File::create(&path).unwrap().set_len(MOST_COUNTED + 101).unwrap();
        assert_eq!(placed_tail(&path, 2, 100).1, Before::Many);
    }

    #[test]
    fn trailing_newlines_go_and_everything_else_stays() {
        for (printed, text, nul) in [
            (&b"a\n"[..], "a", None),
            (b"a\n\n\n", "a", None),
            (b"  a \n", "  a ", None),
            (b"", "", None),
            (b"a\r\n", "a\r", None),
            (b"a\xff b\n", "a\u{fffd} b", None),
            (b"a\0b", "a\0b", Some(1)),
        ] {
            let captured = captured(printed.to_vec(), printed.len() as u64);
            assert_eq!((captured.text.as_str(), captured.nul), (text, nul));
        }
    }

    #[test]
    fn no_value_is_larger_than_the_cap() {
        for (bytes, is_cut) in [
            (vec![b'a'; VALUE_CAP as usize], false),
            (vec![b'a'; VALUE_CAP as usize + 1], true),
            ("é".repeat(6_000_000).into_bytes(), true),
            (vec![0xff; 5_000_000], true),
            ([vec![b'a'; 12_000_000], vec![b'\n'; 5]].concat(), true),
        ] {
            let mut file = tempfile::tempfile().unwrap();
            std::io::Write::write_all(&mut file, &bytes).unwrap();
            let captured = capture(&file).unwrap();
            assert!(captured.text.len() as u64 <= VALUE_CAP, "{}", captured.text.len());
            assert_eq!((captured.cut.is_some(), captured.text.contains("bytes cut here")), (is_cut, is_cut));
        }
    }
}
