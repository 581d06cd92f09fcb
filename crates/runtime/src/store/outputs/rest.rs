//! Output of a finished step that the sink could not take yet. It stays in its file until it is read.
//!
//! Never passes on a known secret, nor part of one.

use std::{
    fs::File,
    ops::Range,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use crate::store::secrets::{Mask, without_members};

/// How many bytes are read at once.
const BLOCK: u64 = 64 * 1024;
/// The longest line that waits for its newline.
const LONGEST: usize = 64 * 1024;

/// The rest of a step's output, still in its file. It is read piece by piece, with secrets masked.
#[derive(Debug)]
pub struct Rest {
    path: PathBuf,
    file: Option<File>,
    part: Range<u64>,
    held: Vec<u8>,
    mask: Mask,
    /// Whether it is JSON, whose members may be secret.
    is_json: bool,
}

impl Rest {
    /// A part of a file. `held` was read before and was not passed on yet.
    pub(crate) fn new(path: &Path, part: Range<u64>, held: Vec<u8>, mask: Mask) -> Rest {
        // opened late: many may wait, and file descriptors are limited
        Rest { path: path.to_owned(), file: None, part, held, mask, is_json: false }
    }

    /// The same, of a step that prints JSON.
    pub(crate) fn of_json(self) -> Rest {
        Rest { is_json: true, ..self }
    }

    /// How many bytes of the file are left.
    pub fn size(&self) -> u64 {
        self.part.end.saturating_sub(self.part.start)
    }

    /// Whether its last byte ends a line.
    pub fn ends_line(&self) -> bool {
        let mut last = [0];
        let file = File::open(&self.path);
        file.is_ok_and(|file| file.read_exact_at(&mut last, self.part.end.saturating_sub(1)).is_ok())
            && last == *b"\n"
    }

    fn settled(&self, bytes: Vec<u8>) -> Vec<u8> {
        if self.is_json { without_members(bytes) } else { bytes }
    }

    fn read(&mut self) -> Option<Vec<u8>> {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        let mut block = vec![0; usize::try_from(self.size().min(BLOCK)).ok()?];
        let count = self.file.as_ref()?.read_at(&mut block, self.part.start).ok()?;
        block.truncate(count);
        self.part.start += count as u64;
        (count > 0).then_some(block)
    }
}

impl Iterator for Rest {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        while let Some(block) = self.read() {
            if self.mask.is_empty() && !self.is_json {
                return Some(block);
            }
            if let Some(ready) = ready(&mut self.held, &self.mask, &block) {
                return Some(self.settled(ready));
            }
        }
        let last = std::mem::take(&mut self.held);
        (!last.is_empty()).then(|| self.settled(self.mask.bytes(&last).into_owned()))
    }
}

/// The output that can be passed on when these bytes follow the held ones: only up to the last newline, so that no
/// secret is cut in two.
pub(crate) fn ready(held: &mut Vec<u8>, mask: &Mask, bytes: &[u8]) -> Option<Vec<u8>> {
    held.extend_from_slice(bytes);
    if let Some(at) = held.iter().rposition(|byte| *byte == b'\n') {
        let ready = mask.bytes(&held[..=at]).into_owned();
        held.drain(..=at);
        return Some(ready);
    }
    if held.len() <= LONGEST + mask.longest() {
        return None;
    }
    // masked before it is cut: only the beginning of a secret may be at the end
    let mut ready = mask.bytes(held).into_owned();
    *held = ready.split_off(ready.len().saturating_sub(mask.longest()));
    Some(ready)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(text: &[u8], part: Range<u64>, held: &str) -> (bool, String) {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("stdout");
        std::fs::write(&path, text).expect("a file");
        let mut mask = Mask::new(["token".to_owned()]);
        mask.learn_value("token", &recipe::value::Value::from("hush-hush"));
        let rest = Rest::new(&path, part, held.as_bytes().to_vec(), mask);
        (rest.ends_line(), String::from_utf8(rest.flatten().collect()).expect("text"))
    }

    #[test]
    fn the_rest_of_a_file_is_given_once_and_masked() {
        for (text, part, held, ends_line, expected) in [
            (&b"one\ntwo\n"[..], 4..8, "", true, "two\n"),
            (b"one\ntwo\nthree", 4..8, "", true, "two\n"),
            (b"one\ntwo", 4..7, "", false, "two"),
            (b"a hush-hush\nb\n", 7..14, "a hush-", true, "a [REDACTED]\nb\n"),
            (b"say hush-hush", 0..13, "", false, "say [REDACTED]"),
            (b"", 0..9, "held", false, "held"),
        ] {
            assert_eq!(rest(text, part, held), (ends_line, expected.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn a_secret_is_masked_wherever_blocks_are_cut() {
        let block = usize::try_from(BLOCK).expect("a size");
        for before in [block - 4, 2 * block - 13, 2 * block - 9, 2 * block - 4] {
            let mut text = vec![b'x'; before];
            text.extend_from_slice(b"hush-hush");
            text.resize(3 * block, b'x');
            let (_, shown) = rest(&text, 0..text.len() as u64, "");
            assert_eq!(shown.len(), text.len() + 1, "{before}");
            assert!(shown[before..].starts_with("[REDACTED]x"), "{before}");
        }
    }
}
