//! Whether files changed while an agent worked, according to the file system. Never reads a file.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

/// The most entries to check.
const MOST: usize = 20_000;
/// A file that git writes on a commit or a checkout, but not when files are staged.
const HISTORY: &str = "logs/HEAD";

/// When a folder was last changed, by the clock of the file system.
pub(crate) fn moment(folder: &Path) -> Option<SystemTime> {
    fs::metadata(folder).and_then(|meta| meta.modified()).ok()
}

/// Whether anything below a directory changed since then; `None` if there are too many entries. The run's own folder,
/// the folders around it and git's internal changes do not count.
pub(crate) fn since(then: SystemTime, dir: &Path, run: &Path) -> Option<bool> {
    #[cfg(test)]
    if crate::os::files::is_on() {
        return None;
    }
    let is_new = |path: &Path| moment(path).is_some_and(|changed| changed >= then);
    let is_ours = |path: &Path| run.starts_with(path);
    if !is_ours(dir) && is_new(dir) {
        return Some(true);
    }
    let mut open: Vec<PathBuf> = vec![dir.to_owned()];
    let mut left = MOST;
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            left = left.checked_sub(1)?;
            let path = entry.path();
            let is_git = entry.file_name() == ".git";
            if is_ours(&path) || (is_git && !is_new(&path.join(HISTORY))) {
                continue;
            }
            let kind = entry.file_type();
            // checks the link itself, not its target
            let changed = entry.metadata().and_then(|meta| meta.modified());
            if is_git || changed.is_ok_and(|changed| changed >= then) {
                return Some(true);
            }
            if kind.is_ok_and(|kind| kind.is_dir()) {
                open.push(path);
            }
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_changed_is_found() {
        let hour = Duration::from_secs(3600);
        for (file, run, expected) in [
            ("a", "elsewhere", true),
            ("src/deep/a", "elsewhere", true),
            (".git/logs/HEAD", "elsewhere", true),
            (".git/index", "elsewhere", false),
            (".rr/runs/1/a", ".rr/runs/1", false),
            ("src/a", ".rr/runs/1", true),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "x").unwrap();
            let now = moment(&path).unwrap();
            let run = dir.path().join(run);
            assert_eq!(since(now - hour, dir.path(), &run), Some(expected), "{file}");
            assert_eq!(since(now + hour, dir.path(), &run), Some(false), "{file}");
        }
    }
}
