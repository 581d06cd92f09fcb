//! The recipe that a run uses now: the original one, until a resume brings another. Never reads it.

use std::path::{Path, PathBuf};

use engine::run::event::RunResumed;
use recipe::plan::Unit;

use super::canonical_recipe;
use crate::store::folder::{self, Header};

/// The recipe that a run uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentRecipe {
    /// Its absolute path, unless it is built in.
    pub file: Option<PathBuf>,
    /// The path under which the run knows it.
    pub path: String,
    /// SHA-256 of its text.
    pub digest: String,
}

impl CurrentRecipe {
    /// The recipe that a run started with.
    pub fn first(header: &Header) -> CurrentRecipe {
        CurrentRecipe {
            file: header.recipe_file.clone(),
            path: header.recipe_path.clone(),
            digest: header.recipe_digest.clone(),
        }
    }

    /// Its name for a command line in any directory.
    pub fn name(&self) -> String {
        match &self.file {
            Some(file) => file.to_string_lossy().into_owned(),
            None => canonical_recipe(&self.path),
        }
    }

    /// The directory that relative paths of its recipes start from.
    pub fn base(&self, working_dir: &Path) -> PathBuf {
        let base = self.file.as_deref().and_then(|file| folder::base(file, Path::new(&self.path)));
        base.unwrap_or(working_dir).to_owned()
    }

    /// The recipe of a resume: the same file, unless another one is named.
    pub(super) fn next(&self, root: &Unit, named: Option<&PathBuf>) -> CurrentRecipe {
        let file = named.or(self.file.as_ref()).filter(|_| !root.path.starts_with("built-in:"));
        CurrentRecipe { file: file.cloned(), path: root.path.clone(), digest: root.digest.clone() }
    }

    /// The recipe of a past resume, according to its event.
    pub(super) fn resumed(&self, root: &Unit, resumed: &RunResumed, working_dir: &Path) -> CurrentRecipe {
        let file = match &resumed.recipe_file {
            Some(file) => Some(PathBuf::from(file)),
            None if root.path == self.path => self.file.clone(),
            // older journals do not record the file
            None => Some(self.base(working_dir).join(&root.path)).filter(|file| file.is_file()),
        };
        CurrentRecipe { file, path: root.path.clone(), digest: root.digest.clone() }
    }
}
