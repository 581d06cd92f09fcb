//! From the bytes of a file to text: the size limit, and UTF-8.
//!
//! Never looks at the meaning of the text.

use crate::diagnostic::{Code, Diagnostic};

/// The largest file that is read.
pub const MAX_BYTES: usize = 1_048_576;

/// Why the bytes of a file are not a text to read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// There are too many of them.
    #[error("the file has more than {MAX_BYTES} bytes (1 MB), which is the most that is read")]
    TooLarge,
    /// They are not UTF-8.
    #[error("the file is not UTF-8 text: line {line}, column {column} holds the byte 0x{byte:02X}")]
    NotUtf8 {
        /// The line of the first bad byte, from 1.
        line: usize,
        /// The character in that line, from 1.
        column: usize,
        /// The bad byte.
        byte: u8,
    },
}

impl DecodeError {
    /// The kind of problem.
    pub fn code(&self) -> Code {
        match self {
            DecodeError::TooLarge => Code::TooLarge,
            DecodeError::NotUtf8 { .. } => Code::NotUtf8,
        }
    }

    /// As a diagnostic. It has no place, because no text exists that a place could be in.
    pub fn to_diagnostic(&self) -> Diagnostic {
        let help = match self {
            DecodeError::TooLarge => "split the file, or move large texts into files of their own",
            DecodeError::NotUtf8 { .. } => "save the file as UTF-8",
        };
        Diagnostic::nowhere(self.code(), self.to_string()).help(help)
    }
}

/// The text of a file, without a byte order mark.
pub fn decode(bytes: &[u8]) -> Result<String, DecodeError> {
    if bytes.len() > MAX_BYTES {
        return Err(DecodeError::TooLarge);
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => Err(not_utf8(bytes, error.valid_up_to())),
    }
}

fn not_utf8(bytes: &[u8], at: usize) -> DecodeError {
    let before = String::from_utf8_lossy(&bytes[..at]);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    DecodeError::NotUtf8 {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        byte: bytes.get(at).copied().unwrap_or_default(),
    }
}
