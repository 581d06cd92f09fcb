//! What a power loss leaves of the files: everything that was synced, and a random part of the rest.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    os::unix::fs::MetadataExt,
    path::Path,
};

use super::chance::Chance;

/// How much of each file is synced.
#[derive(Debug, Default)]
pub(super) struct Disk {
    synced: HashMap<u64, u64>,
}

impl Disk {
    pub(super) fn note_synced(&mut self, file: &File) {
        if let Ok(meta) = file.metadata() {
            self.synced.insert(meta.ino(), meta.len());
        }
    }

    /// Removes unsynced bytes from everything below a folder. Names of synced files stay, as on every file system that
    /// journals its names.
    pub(super) fn lose_power(&mut self, dir: &Path, chance: &mut Chance) {
        let mut entries: Vec<_> = fs::read_dir(dir).into_iter().flatten().flatten().collect();
        entries.sort_by_key(|entry| entry.file_name());
        for entry in entries {
            let Ok(meta) = entry.metadata() else { continue };
            if meta.is_dir() {
                self.lose_power(&entry.path(), chance);
                continue;
            }
            // bytes that were truncated are gone, wherever the file ended before
            let safe = self.synced.get(&meta.ino()).map(|safe| (*safe).min(meta.len()));
            let kept = safe.unwrap_or(0) + chance.below(meta.len().saturating_sub(safe.unwrap_or(0)) + 1);
            match safe {
                None if chance.percent(30) => drop(fs::remove_file(entry.path())),
                _ => {
                    let file = OpenOptions::new().write(true).open(entry.path());
                    drop(file.and_then(|file| file.set_len(kept)));
                    // the remaining bytes are on disk
                    self.synced.insert(meta.ino(), kept);
                }
            }
        }
    }
}
