//! The order of search directories, and finding files in them by name.
//!
//! Never parses a file.

use std::{
    fs::File,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use recipe::test_file::is_test_file;

use super::Setup;

/// The directory of recipes in an installation or a project.
const BUNDLE: &str = "amplifier-bundle/recipes";

/// The directories of recipes in a project, relative to the working directory.
const PROJECT_DIRS: &[&str] = &[BUNDLE, "src/amplihack/amplifier-bundle/recipes", ".claude/recipes"];

/// The directory of recipes in the current directory.
const HERE: &str = "recipes";

/// All search directories: those of the command line, `recipes` here, those of the environment, of the user, of the
/// project, of installations.
pub(super) fn directories(setup: &Setup) -> Vec<PathBuf> {
    let home = setup.home.as_deref();
    let named = setup.more_dirs.as_deref().unwrap_or_default().split(':').filter(|dir| !dir.is_empty());
    let mut dirs: Vec<PathBuf> = of_command_line(setup);
    dirs.push(setup.cwd.join(HERE));
    dirs.extend(named.map(|dir| setup.cwd.join(expand_home(dir, home))));
    dirs.extend(home.map(|home| home.join(".amplihack/.claude/recipes")));
    for base in [&setup.working_dir, &setup.cwd] {
        dirs.extend(PROJECT_DIRS.iter().map(|dir| base.join(dir)));
    }
    dirs.extend(setup.installation.iter().map(|dir| dir.join(BUNDLE)));
    dirs.extend(home.map(|home| home.join(".amplihack").join(BUNDLE)));
    dirs.extend(setup.package_dir.clone());
    let mut seen = std::collections::HashSet::new();
    dirs.retain(|dir| seen.insert(dir.canonicalize().unwrap_or_else(|_| dir.clone())));
    dirs
}

/// The directories that the command line names.
pub(super) fn of_command_line(setup: &Setup) -> Vec<PathBuf> {
    let home = setup.home.as_deref();
    setup.recipe_dirs.iter().map(|dir| setup.cwd.join(home_of(dir, home))).collect()
}

/// The recipe directories of the repositories around these directories, nearest first. A directory outside a repository
/// has none.
pub(super) fn above<'a>(dirs: impl IntoIterator<Item = &'a PathBuf>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for dir in dirs.into_iter().filter_map(|dir| dir.canonicalize().ok()) {
        let to_root = dir.ancestors().position(|dir| dir.join(".git").exists());
        let parents = dir.ancestors().take(to_root.map_or(0, |at| at + 1)).map(|dir| dir.join(BUNDLE));
        found.extend(parents);
    }
    found
}

fn home_of(dir: &Path, home: Option<&Path>) -> PathBuf {
    match dir.to_str() {
        Some(text) => expand_home(text, home),
        None => dir.to_path_buf(),
    }
}

/// Replaces `~` and `~/…` by the home directory.
pub(super) fn expand_home(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix('~'), home) {
        (Some(""), Some(home)) => home.to_path_buf(),
        (Some(rest), Some(home)) if rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(path),
    }
}

/// Whether a name can only be a path.
pub(super) fn looks_like_path(name: &str) -> bool {
    name.contains('/') || is_recipe_file(Path::new(name))
}

/// Whether a file has the extension of a recipe.
pub(super) fn is_recipe_file(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml")
}

/// Whether a file can be a recipe that is found by name: test files are none.
pub(super) fn is_listed_file(path: &Path) -> bool {
    is_recipe_file(path) && !is_test_file(&path.to_string_lossy())
}

/// The file at this path, or at this path with the extension of a recipe.
pub(super) fn as_file(path: &Path) -> Option<PathBuf> {
    let mut candidates = vec![path.to_path_buf()];
    for ending in [".yaml", ".yml"] {
        let mut longer = path.as_os_str().to_owned();
        longer.push(ending);
        candidates.push(longer.into());
    }
    candidates.into_iter().find(|candidate| candidate.is_file())
}

/// The file in `dir` whose name without extension is `name`.
pub(super) fn by_stem(dir: &Path, name: &str) -> Option<PathBuf> {
    let exact = dir.join(name);
    if is_listed_file(&exact) && exact.is_file() {
        return Some(exact);
    }
    let files = [".yaml", ".yml"].map(|ending| dir.join(format!("{name}{ending}")));
    files.into_iter().find(|file| is_listed_file(file) && file.is_file())
}

/// The bytes of a recipe; of a file that is too large, only enough to detect that.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let limit = recipe::yaml::MAX_BYTES as u64 + 1;
    let mut bytes = Vec::new();
    File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
