//! Fingerprints of secrets: they are recognised in the output of a run when their values are no longer known.
//!
//! Never stores a value, nor enough of one to guess the rest.

use std::{collections::BTreeMap, fs, io, ops::Range, path::Path};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    os::files,
    store::folder::{FolderError, sync_dir, to_json, write_new},
};

const FILE: &str = "secrets.json";
/// The fingerprints of a run's secrets.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Fingerprints {
    /// Random, so that equal secrets of two runs have different fingerprints.
    salt: String,
    secrets: Vec<Fingerprint>,
}

/// One secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Fingerprint {
    bytes: usize,
    /// 16 bits only: enough to skip nearly every place, too few to compute a short secret from them.
    rolling: u16,
    sha256: String,
}

impl Fingerprints {
    /// The fingerprints in the folder of a run; none if the run has no file.
    pub fn load(folder: &Path) -> Result<Fingerprints, FolderError> {
        let path = folder.join(FILE);
        match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Fingerprints::default()),
            Err(error) => Err(FolderError::at("read", &path)(error)),
            Ok(text) => {
                serde_json::from_slice(&text).map_err(|error| FolderError::at("read", &path)(error.into()))
            }
        }
    }

    /// Adds secrets to the folder of a run. Waits for the disk if one of them is new. Gives the fingerprints of other
    /// secrets.
    pub(super) fn keep(folder: &Path, secrets: &[String]) -> Result<Fingerprints, FolderError> {
        let mut kept = Fingerprints::load(folder)?;
        if kept.salt.is_empty() {
            kept.salt = random_salt();
        }
        let given: Vec<Fingerprint> =
            secrets.iter().map(|secret| kept.fingerprint(secret.as_bytes())).collect();
        let (known, others): (Vec<_>, Vec<_>) =
            kept.secrets.iter().cloned().partition(|secret| given.contains(secret));
        if known.len() < given.len() {
            let all = others.iter().cloned().chain(given).collect();
            Fingerprints { salt: kept.salt.clone(), secrets: all }.save(folder)?;
        }
        Ok(Fingerprints { secrets: others, ..kept })
    }

    fn save(&self, folder: &Path) -> Result<(), FolderError> {
        let (path, new) = (folder.join(FILE), folder.join("secrets.json.new"));
        write_new(&new, &to_json(self).map_err(FolderError::at("write", &path))?)?;
        files::rename(&new, &path).map_err(FolderError::at("replace", &path))?;
        sync_dir(folder)
    }

    /// Whether it has no secret.
    pub(super) fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Length of the longest secret.
    pub(super) fn longest(&self) -> usize {
        self.secrets.iter().map(|secret| secret.bytes).max().unwrap_or(0)
    }

    /// The places of secrets in these bytes.
    pub(super) fn places(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut by_length: BTreeMap<usize, Vec<&Fingerprint>> = BTreeMap::new();
        self.secrets.iter().for_each(|secret| by_length.entry(secret.bytes).or_default().push(secret));
        let mut places = Vec::new();
        for (length, secrets) in
            by_length.into_iter().filter(|(length, _)| (1..=bytes.len()).contains(length))
        {
            let is_one = |(at, rolling): &(usize, u16)| {
                secrets.iter().any(|secret| {
                    secret.rolling == *rolling && secret.sha256 == self.digest(&bytes[*at..at + length])
                })
            };
            let found = windows(bytes, length, self.base()).filter(is_one);
            places.extend(found.map(|(at, _)| at..at + length));
        }
        places
    }

    fn fingerprint(&self, secret: &[u8]) -> Fingerprint {
        let rolling = windows(secret, secret.len(), self.base()).next().map_or(0, |(_, rolling)| rolling);
        Fingerprint { bytes: secret.len(), rolling, sha256: self.digest(secret) }
    }

    fn digest(&self, secret: &[u8]) -> String {
        format!("{:x}", Sha256::new().chain_update(&self.salt).chain_update(secret).finalize())
    }

    /// The base of the rolling hash: an odd number.
    fn base(&self) -> u64 {
        let digest = Sha256::digest(&self.salt);
        digest.iter().take(8).fold(0, |base, byte| base << 8 | u64::from(*byte)) | 1
    }
}

/// Each part of this length with its place and its rolling hash.
fn windows(bytes: &[u8], length: usize, base: u64) -> impl Iterator<Item = (usize, u16)> {
    let highest = (0..length).fold(1_u64, |power, _| power.wrapping_mul(base));
    let mut hash = 0_u64;
    let roll = move |(at, byte): (usize, &u8)| {
        hash = hash.wrapping_mul(base).wrapping_add(u64::from(*byte) + 1);
        if let Some(left) = at.checked_sub(length) {
            hash = hash.wrapping_sub((u64::from(bytes[left]) + 1).wrapping_mul(highest));
        }
        (at + 1).checked_sub(length).map(|start| (start, (hash >> 48) as u16))
    };
    bytes.iter().enumerate().filter_map(roll)
}

fn random_salt() -> String {
    let mut random = [0; 16];
    // a salt that is not random is still better than none
    let _ = rustix::rand::getrandom(&mut random[..], rustix::rand::GetRandomFlags::empty());
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_by_their_fingerprints() {
        let dir = tempfile::tempdir().expect("a folder");
        let secrets = ["hush-hush".to_owned(), "väinämöinen".to_owned(), "abcd".to_owned()];
        let others = Fingerprints::keep(dir.path(), &secrets).expect("written");
        assert!(others.is_empty());
        let stored = fs::read_to_string(dir.path().join(FILE)).expect("a file");
        assert!(!secrets.iter().any(|secret| stored.contains(secret)), "{stored}");
        let kept = Fingerprints::load(dir.path()).expect("readable");
        assert_eq!((kept.longest(), kept.is_empty()), (14, false));
        let text = "say hush-hush, hush-hus and väinämöinenabcd";
        let found: Vec<&str> = kept.places(text.as_bytes()).into_iter().map(|place| &text[place]).collect();
        assert_eq!(found, ["abcd", "hush-hush", "väinämöinen"]);
        assert!(kept.places(b"abc").is_empty());
    }

    #[test]
    fn a_second_process_adds_to_the_fingerprints_of_the_first() {
        let dir = tempfile::tempdir().expect("a folder");
        for secret in ["first-one", "second-one"] {
            Fingerprints::keep(dir.path(), &[secret.to_owned()]).expect("written");
        }
        let others = Fingerprints::keep(dir.path(), &["first-one".to_owned()]).expect("nothing new");
        assert_eq!(others.places(b"first-one second-one").first(), Some(&(10..20)));
        let kept = Fingerprints::load(dir.path()).expect("readable");
        assert_eq!(kept.places(b"first-one second-one").len(), 2);
        assert!(Fingerprints::load(&dir.path().join("none")).expect("no file").is_empty());
    }
}
