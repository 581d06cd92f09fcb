//! A copy of a recipe and of everything that it uses, for cases in which an agent may change it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use recipe::plan::Plan;

use crate::os::files;

/// Folders beside a recipe that it may use.
const BESIDE: [&str; 2] = ["agents", "prompts"];

/// Copies the recipes of a plan below a folder, with the same paths between them; returns the copy of the main one.
pub(super) fn copy(plan: &Plan, recipe: &Path, to: &Path) -> io::Result<PathBuf> {
    let sources: Vec<PathBuf> =
        plan.units.iter().filter_map(|unit| fs::canonicalize(&unit.path).ok()).collect();
    let recipe = fs::canonicalize(recipe)?;
    let top = common_folder(&recipe, &sources);
    let place = |file: &Path| to.join(file.strip_prefix(&top).unwrap_or(file));
    for file in sources.iter().chain([&recipe]) {
        let copy = place(file);
        if let Some(dir) = copy.parent() {
            files::make_dirs(dir)?;
        }
        fs::read(file).and_then(|bytes| files::overwrite(&copy, &bytes))?;
        for dir in BESIDE.iter().filter_map(|name| Some(file.parent()?.join(name))) {
            if dir.is_dir() && !place(&dir).exists() {
                files::copy_tree(&dir, &place(&dir))?;
            }
        }
    }
    Ok(place(&recipe))
}

/// The innermost folder that contains all these files.
fn common_folder(recipe: &Path, sources: &[PathBuf]) -> PathBuf {
    let mut top = recipe.parent().unwrap_or(recipe).to_owned();
    while !sources.iter().all(|file| file.starts_with(&top)) && top.pop() {}
    top
}
