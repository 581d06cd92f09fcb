//! What a repair may touch: the recipe file, and nothing else.
//!
//! Everything in the working directory is remembered before a repair and compared after it; what changed
//! elsewhere is put back.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use recipe::digest::sha256;

/// Most files that are remembered.
const MAX_FILES: usize = 20_000;
/// Most bytes that are remembered.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The files of a directory as they were.
#[derive(Debug)]
pub(super) struct Snapshot {
    root: PathBuf,
    except: PathBuf,
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// Not everything could be remembered.
    is_partial: bool,
}

impl Snapshot {
    /// Remembers the files below `root`, except for the recipe itself and what git keeps for itself.
    pub(super) fn take(root: &Path, except: &Path) -> Snapshot {
        let except = fs::canonicalize(except).unwrap_or_else(|_| except.to_owned());
        let mut snapshot =
            Snapshot { root: root.to_owned(), except, files: BTreeMap::new(), is_partial: false };
        let mut bytes = 0;
        for path in files_below(root) {
            let size = fs::metadata(&path).map_or(0, |meta| meta.len());
            bytes += size;
            if snapshot.files.len() >= MAX_FILES || bytes > MAX_BYTES {
                snapshot.is_partial = true;
                break;
            }
            if fs::canonicalize(&path).is_ok_and(|path| path == snapshot.except) {
                continue;
            }
            if let Ok(content) = fs::read(&path) {
                snapshot.files.insert(path, content);
            }
        }
        snapshot
    }

    /// Puts back what changed since; says what it was.
    pub(super) fn restore(&self) -> Vec<String> {
        let mut changed = Vec::new();
        for (path, before) in &self.files {
            let now = fs::read(path).ok();
            if now.as_ref().map(|now| sha256(now)) != Some(sha256(before)) {
                changed.push(self.name(path));
                if let Some(parent) = path.parent() {
                    let _ = fs::create_dir_all(parent);
                }
                let _ = fs::write(path, before);
            }
        }
        if !self.is_partial {
            for path in files_below(&self.root) {
                let is_recipe = fs::canonicalize(&path).is_ok_and(|path| path == self.except);
                if !self.files.contains_key(&path) && !is_recipe {
                    changed.push(self.name(&path));
                    let _ = fs::remove_file(&path);
                }
            }
        }
        changed
    }

    fn name(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }
}

fn files_below(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut queue = vec![root.to_owned()];
    while let Some(dir) = queue.pop() {
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            match kind {
                kind if kind.is_dir() && entry.file_name() != ".git" => queue.push(entry.path()),
                kind if kind.is_file() => files.push(entry.path()),
                _ => {}
            }
            if files.len() > MAX_FILES {
                return files;
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_but_the_recipe_is_put_back() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        for name in ["recipe.yaml", "kept", "changed", "gone"] {
            fs::write(root.join(name), name).unwrap();
        }
        let snapshot = Snapshot::take(root, &root.join("recipe.yaml"));
        fs::write(root.join("recipe.yaml"), "repaired").unwrap();
        fs::write(root.join("changed"), "x").unwrap();
        fs::remove_file(root.join("gone")).unwrap();
        fs::write(root.join("new"), "x").unwrap();
        let mut changed = snapshot.restore();
        changed.sort();
        assert_eq!(changed, ["changed", "gone", "new"]);
        let read = |name: &str| fs::read_to_string(root.join(name)).unwrap();
        assert_eq!(
            (read("changed"), read("gone"), read("recipe.yaml")),
            ("changed".into(), "gone".into(), "repaired".into())
        );
        assert!(!root.join("new").exists());
    }
}
