//! Values that do not fit into an environment, as private files that scripts read.
//!
//! A value of the context is written once, however many steps refer to it, and its file is removed with the value.
//! Never syncs: after a crash the files are written again.

use std::{
    cell::RefCell,
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Weak},
};

use crate::{
    os::files,
    store::folder::{FolderError, make_dir},
};

/// The files of one run.
#[derive(Debug)]
pub struct LargeFiles {
    dir: PathBuf,
    held: RefCell<Vec<LargeFile>>,
    next: RefCell<u64>,
}

#[derive(Debug)]
struct LargeFile {
    text: Weak<str>,
    path: PathBuf,
    written: (i64, i64, u64),
}

impl LargeFiles {
    /// No files yet; they will be in this folder.
    pub fn new(dir: PathBuf) -> LargeFiles {
        LargeFiles { dir, held: RefCell::default(), next: RefCell::default() }
    }

    /// The file with a text; a file that a step has changed is not reused. A text that only this attempt has gets a
    /// file in `private`.
    pub fn hold(&self, text: &Arc<str>, private: &Path) -> Result<PathBuf, FolderError> {
        self.let_go();
        if Arc::strong_count(text) == 1 {
            make_dir(private)?;
            let path = private.join(format!("value-{}", self.number()));
            return write(&path, text).map(|_| path.clone()).map_err(FolderError::at("write", &path));
        }
        let is_same = |held: &&LargeFile| std::ptr::addr_eq(held.text.as_ptr(), Arc::as_ptr(text));
        let known = self.held.borrow().iter().find(is_same).map(|held| (held.path.clone(), held.written));
        if let Some((path, written)) = known
            && stamp(&path).is_ok_and(|now| now == written)
        {
            return Ok(path);
        }
        make_dir(&self.dir)?;
        let path = self.dir.join(self.number().to_string());
        let written = write(&path, text).map_err(FolderError::at("write", &path))?;
        self.held.borrow_mut().push(LargeFile { text: Arc::downgrade(text), path: path.clone(), written });
        Ok(path)
    }

    fn number(&self) -> u64 {
        *self.next.borrow_mut() += 1;
        *self.next.borrow()
    }

    /// Removes the files of values that no longer exist: a weak reference alone still takes their memory.
    fn let_go(&self) {
        self.held.borrow_mut().retain(|held| {
            let is_used = held.text.strong_count() > 0;
            if !is_used {
                files::discard_file(&held.path);
            }
            is_used
        });
    }
}

impl Drop for LargeFiles {
    fn drop(&mut self) {
        if *self.next.borrow() > 0 && files::point("large.remove").is_ok() {
            files::discard_dir(&self.dir);
        }
    }
}

fn write(path: &Path, text: &str) -> io::Result<(i64, i64, u64)> {
    files::point("large.write")?;
    files::discard_file(path);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    if text.ends_with('\n') {
        // the shell drops trailing newlines of what it reads
        file.write_all(b".")?;
    }
    stamp(path)
}

fn stamp(path: &Path) -> io::Result<(i64, i64, u64)> {
    let meta = fs::metadata(path)?;
    Ok((meta.mtime(), meta.mtime_nsec(), meta.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &LargeFiles, private: &Path, text: &Arc<str>, expected: &str) -> PathBuf {
        let path = files.hold(text, private).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), expected);
        path
    }

    #[test]
    fn a_text_is_written_once_and_again_only_if_its_file_was_altered() {
        let home = tempfile::tempdir().unwrap();
        let (files, private) = (LargeFiles::new(home.path().join("large")), home.path().join("private"));
        let text: Arc<str> = Arc::from("value\n");
        let context = Arc::clone(&text);
        let path = check(&files, &private, &text, "value\n.");
        assert_eq!(check(&files, &private, &context, "value\n."), path);
        fs::write(&path, "something else").unwrap();
        assert_ne!(check(&files, &private, &text, "value\n."), path);
    }

    #[test]
    fn files_go_with_their_values() {
        let home = tempfile::tempdir().unwrap();
        let (files, private) = (LargeFiles::new(home.path().join("large")), home.path().join("private"));
        let text: Arc<str> = Arc::from("value");
        let context = Arc::clone(&text);
        let path = check(&files, &private, &text, "value");
        drop((text, context));
        let own = check(&files, &private, &Arc::from("of one attempt"), "of one attempt");
        assert!(!path.exists());
        assert!(own.starts_with(&private));
        drop(files);
        assert!(!home.path().join("large").exists() && own.exists());
    }
}
