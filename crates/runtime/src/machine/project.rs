//! The files of a project in a directory, for [`engine::project`]. Never runs anything.

use std::{
    fs,
    path::{Path, PathBuf},
};

use engine::project::{Project, ProjectFiles};

/// A file with more bytes says nothing about a project.
const LARGEST: u64 = 4 << 20;

/// The project in a directory.
pub fn look(dir: &Path) -> Project {
    engine::project::look(&ProjectFolder(dir.to_owned()))
}

/// A directory with a project.
#[derive(Clone, Debug)]
pub struct ProjectFolder(pub PathBuf);

impl ProjectFiles for ProjectFolder {
    fn text(&self, path: &str) -> Option<String> {
        let file = self.0.join(path);
        let is_small = fs::metadata(&file).is_ok_and(|facts| facts.is_file() && facts.len() <= LARGEST);
        if is_small { fs::read_to_string(file).ok() } else { None }
    }

    fn is_file(&self, path: &str) -> bool {
        self.0.join(path).is_file()
    }

    fn is_folder(&self, path: &str) -> bool {
        self.0.join(path).is_dir()
    }

    fn is_program(&self, path: &str) -> bool {
        super::programs::is_program(&self.0.join(path))
    }
}
