//! The recipes in the search directories: the name, version and description of every file.
//!
//! Never fails because of a broken file: it is listed with its problem.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use recipe::{diagnostic::Severity, source::Sources, yaml};

use super::search;
use crate::os::clock;

/// A recipe that can be run by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRecipe {
    /// Its name; that of the file if the recipe has no name.
    pub name: String,
    /// The name of the file without its extension.
    pub stem: String,
    /// Its description.
    pub description: String,
    /// Its version.
    pub version: String,
    /// Its file.
    pub path: String,
    /// The file that is used instead when this name is asked for.
    pub shadowed_by: Option<String>,
    /// Why it cannot be read.
    pub problem: Option<String>,
    /// Whether it is part of the program.
    pub is_built_in: bool,
}

impl FoundRecipe {
    pub(super) fn new(path: String, stem: &str, header: &RecipeHeader) -> FoundRecipe {
        FoundRecipe {
            name: header.name.clone().unwrap_or_else(|| stem.to_owned()),
            stem: stem.to_owned(),
            description: header.description.clone(),
            version: header.version.clone(),
            path,
            shadowed_by: None,
            problem: header.problem.clone(),
            is_built_in: false,
        }
    }
}

/// Sorts by name and marks every recipe that an earlier one of the same name hides.
pub(super) fn shadow(found: &mut [FoundRecipe]) {
    let mut first: HashMap<String, String> = HashMap::new();
    for recipe in found.iter_mut() {
        match first.get(&recipe.name) {
            Some(path) => recipe.shadowed_by = Some(path.clone()),
            None => drop(first.insert(recipe.name.clone(), recipe.path.clone())),
        }
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
}

/// The fields of a recipe that users choose by.
#[derive(Clone, Debug, Default)]
pub(super) struct RecipeHeader {
    pub(super) name: Option<String>,
    pub(super) description: String,
    pub(super) version: String,
    pub(super) problem: Option<String>,
    pub(super) is_recipe: bool,
}

impl RecipeHeader {
    pub(super) fn read(bytes: &[u8]) -> RecipeHeader {
        let text = match yaml::decode(bytes) {
            Ok(text) => text,
            Err(error) => return RecipeHeader::broken(error.to_string()),
        };
        let mut sources = Sources::default();
        let file = sources.add("", text);
        let mut diagnostics = Vec::new();
        let root = yaml::parse(&sources, file, &mut diagnostics);
        let worst = diagnostics.iter().find(|diagnostic| diagnostic.severity == Severity::Error);
        let problem = worst.map(|diagnostic| match diagnostic.place {
            Some(place) => format!("line {}: {}", sources.line_column(place).line, diagnostic.message),
            None => diagnostic.message.clone(),
        });
        let Some(root) = root else { return RecipeHeader::broken(problem.unwrap_or_default()) };
        let header = RecipeHeader::of(&root);
        RecipeHeader { problem: problem.or(header.problem.clone()), ..header }
    }

    fn of(root: &yaml::Node) -> RecipeHeader {
        let field = |name: &str| match &root.get(name)?.value.kind {
            yaml::NodeKind::Scalar(scalar) if !scalar.is_null() => {
                let text = scalar.to_value().render().trim().to_owned();
                Some(text).filter(|text| !text.is_empty())
            }
            _ => None,
        };
        // YAML files of other programs may have a `name:` too
        let is_recipe = root.get("steps").is_some() || root.get("extends").is_some();
        RecipeHeader {
            name: field("name"),
            description: field("description").unwrap_or_default(),
            version: field("version").unwrap_or_else(|| "1.0".to_owned()),
            problem: (!is_recipe).then(|| "not a recipe: it has no `steps`".to_owned()),
            is_recipe,
        }
    }

    fn broken(problem: String) -> RecipeHeader {
        RecipeHeader { problem: Some(problem), ..RecipeHeader::default() }
    }
}

/// The contents of directories and files, kept for a while.
#[derive(Debug)]
pub(super) struct Catalogs {
    reuse: Duration,
    dirs: Mutex<HashMap<PathBuf, CachedAnswer<Arc<Vec<PathBuf>>>>>,
    files: Mutex<HashMap<PathBuf, CachedAnswer<Arc<Vec<u8>>>>>,
    headers: Mutex<HashMap<PathBuf, CachedAnswer<Arc<RecipeHeader>>>>,
}

type CachedAnswer<T> = (Instant, T);

impl Catalogs {
    pub(super) fn new(reuse: Duration) -> Catalogs {
        Catalogs { reuse, dirs: Mutex::default(), files: Mutex::default(), headers: Mutex::default() }
    }

    /// The recipe files of a directory, sorted by name; empty if it cannot be read.
    pub(super) fn files(&self, dir: &Path) -> Arc<Vec<PathBuf>> {
        self.keep(&self.dirs, dir, || Arc::new(recipe_files(dir)))
    }

    /// The header of a file.
    pub(super) fn header(&self, file: &Path) -> Arc<RecipeHeader> {
        self.keep(&self.headers, file, || {
            Arc::new(match search::read(file) {
                Ok(bytes) => RecipeHeader::read(&bytes),
                Err(error) => RecipeHeader::broken(error.to_string()),
            })
        })
    }

    /// Whether the recipe in this file has this name. Files that do not contain the word are not parsed.
    pub(super) fn is_named(&self, file: &Path, name: &str) -> bool {
        let bytes = self.keep(&self.files, file, || Arc::new(search::read(file).unwrap_or_default()));
        if !contains(&bytes, name.as_bytes()) {
            return false;
        }
        let header = self.header(file);
        header.is_recipe && header.name.as_deref() == Some(name)
    }

    fn keep<T: Clone>(
        &self,
        kept: &Mutex<HashMap<PathBuf, CachedAnswer<T>>>,
        key: &Path,
        make: impl FnOnce() -> T,
    ) -> T {
        let known = kept.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        if let Some((since, value)) = known
            && since.elapsed() < self.reuse
        {
            return value;
        }
        let made = make();
        let entry = (clock::instant(), made.clone());
        kept.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_path_buf(), entry);
        made
    }
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    !word.is_empty() && text.windows(word.len()).any(|window| window == word)
}

fn recipe_files(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .map(|entry| entry.path())
        .filter(|path| search::is_listed_file(path))
        // a broken link is listed as a problem; a pipe would block
        .filter(|path| path.metadata().map_or(true, |data| data.is_file()))
        .collect();
    files.sort();
    files
}
