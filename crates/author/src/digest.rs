//! Digests of texts.

use sha2::{Digest as _, Sha256};

/// The digest of bytes, as 64 hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
