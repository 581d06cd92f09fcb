//! The state directory: made private, and hidden from git. Never touches foreign files in it.

use super::Runs;
use crate::store::{
    folder::{self, make_dir},
    workspace::Workspace,
};

impl Runs {
    /// Makes the state directory. In any work tree, `git add` skips what is stored in it, secrets included. Other files
    /// in the directory are left alone.
    pub(super) fn make_home(&self) -> Result<(), folder::FolderError> {
        let parts = [self.dir(), Workspace::all(&self.home), Workspace::quarantine(&self.home)];
        let is_ours = |entry: std::fs::DirEntry| {
            parts.contains(&entry.path()) || entry.file_name().as_encoded_bytes() == b".gitignore"
        };
        let is_own = std::fs::read_dir(&self.home).map_or(true, |dir| dir.flatten().all(is_ours));
        make_dir(&self.dir())?;
        let hidden = if is_own { vec![self.home.clone()] } else { parts.to_vec() };
        for dir in hidden {
            make_dir(&dir)?;
            let ignored = dir.join(".gitignore");
            if !ignored.exists() {
                // a run does not depend on this file
                let _ = folder::write_private(&ignored, b"*\n");
            }
        }
        Ok(())
    }
}
