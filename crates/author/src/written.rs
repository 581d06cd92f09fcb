//! What comes of a brief: files, and which steps prove which criterion.

use serde::Serialize;

use crate::{
    brief::Brief,
    cases,
    writing::{Outline, step::RecipeDraft},
};

/// The files of a recipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The recipe first, then the recipes of its tracks, and its tests last.
    pub files: Vec<WrittenFile>,
    /// The steps that prove each criterion.
    pub steps: Vec<CriterionSteps>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFile {
    /// Relative to the project, with `/`.
    pub path: String,
    pub text: String,
}

/// The steps that prove one criterion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CriterionSteps {
    pub criterion: usize,
    /// Paths of steps.
    pub steps: Vec<String>,
}

/// Writes the recipe of a brief and its tests.
pub fn write(brief: &Brief) -> Written {
    let outline = Outline::of(brief);
    let mut files: Vec<WrittenFile> = outline.recipes.iter().map(file_of).collect();
    let tests = cases::text(brief, &outline);
    files.push(WrittenFile { path: format!("recipes/{}.test.yaml", brief.name), text: tests });
    Written { files, steps: outline.proofs }
}

/// The file of a recipe.
pub(crate) fn file_of(recipe: &RecipeDraft) -> WrittenFile {
    WrittenFile { path: format!("recipes/{}.yaml", recipe.name), text: recipe.text() }
}

impl Written {
    /// The recipes, without their tests.
    pub fn recipes(&self) -> &[WrittenFile] {
        self.files.split_last().map(|(_, recipes)| recipes).unwrap_or_default()
    }
}
