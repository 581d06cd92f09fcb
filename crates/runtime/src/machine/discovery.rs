//! Finds recipes and agent files: one order of directories for `list` and for running.
//!
//! Never reads the environment (everything comes in through [`Setup`]) and never decides what a recipe means. Every
//! file has one path: its canonical one, shortened if it is below the current directory. Files next to a link to it
//! count as next to it.

mod agents;
mod catalog;
mod search;
#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use recipe::{
    agent_ref::AgentRef,
    check::{LoadError, Loaded, Loader},
};

pub use catalog::FoundRecipe;
use catalog::{Catalogs, RecipeHeader};
pub use search::read as read_bounded;

/// Prefix of the paths of recipes that are part of the program.
const BUILT_IN: &str = "built-in:";

/// The recipes of the orchestrator: they find each other before any file of the same name.
const ORCHESTRATION: [&str; 5] = [
    "smart-orchestrator",
    "orchestrator-round",
    "default-workflow",
    "develop-cycle",
    "investigation-workflow",
];

/// Everything that a [`Library`] has to know about the machine.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// The directory that relative paths of the command line start from, absolute.
    pub cwd: PathBuf,
    /// The working directory of the recipe, absolute; the same as `cwd` without `-C`.
    pub working_dir: PathBuf,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// Directories from the command line, in order.
    pub recipe_dirs: Vec<PathBuf>,
    /// More directories, separated by colons.
    pub more_dirs: Option<String>,
    /// An installation with recipes and agents, absolute.
    pub installation: Option<PathBuf>,
    /// The directory of the recipes of a package, absolute.
    pub package_dir: Option<PathBuf>,
    /// Recipes that are part of the program: name and text.
    pub built_in: Vec<(&'static str, &'static str)>,
    /// How long the listing of a directory may be reused.
    pub reuse: Duration,
}

/// All recipes and agents that can be found.
#[derive(Debug)]
pub struct Library {
    setup: Setup,
    dirs: Vec<PathBuf>,
    catalogs: Catalogs,
    /// The directories of links to files, by the files' paths.
    links: Mutex<BTreeMap<String, PathBuf>>,
}

impl Library {
    /// The library for a setup.
    pub fn new(setup: Setup) -> Library {
        let dirs = search::directories(&setup);
        let catalogs = Catalogs::new(setup.reuse);
        Library { setup, dirs, catalogs, links: Mutex::default() }
    }

    /// The search directories, in order.
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// The directories that another command line has to name to find the same recipes.
    pub fn named_dirs(&self) -> Vec<PathBuf> {
        let usual = search::directories(&Setup {
            cwd: self.setup.working_dir.clone(),
            recipe_dirs: Vec::new(),
            more_dirs: None,
            ..self.setup.clone()
        });
        let links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        let dirs = self.dirs.iter().filter(|dir| dir.is_dir());
        dirs.chain(links.values()).filter(|dir| !usual.contains(dir)).cloned().collect()
    }

    /// The requested recipe of the command line: a built-in one by its path, an existing file, or a name.
    pub fn root(&self, asked: &str) -> Result<Loaded, LoadError> {
        if let Some(built_in) = asked.strip_prefix(BUILT_IN).and_then(|name| self.built_in(name)) {
            return Ok(built_in);
        }
        let path = self.absolute(asked);
        if !asked.is_empty() && path.exists() && !path.is_dir() {
            return self.load(&path);
        }
        if search::looks_like_path(asked) {
            let below = self.setup.working_dir.join(asked);
            if below.is_file() {
                return self.load(&below);
            }
        }
        let here = search::by_stem(&self.setup.cwd, asked).filter(|_| !asked.trim().is_empty());
        let is_recipe = |file: &&PathBuf| self.catalogs.header(file).is_recipe;
        let first = here.as_ref().filter(is_recipe).filter(|_| self.in_named_dirs(asked).is_none());
        if let Some(file) = first {
            return self.load(file);
        }
        // a file that is no recipe hides none, and is named only if there is no other
        let found = self.by_name(asked, &[], Vec::new).or_else(|| here.map(|file| self.load(&file)));
        found.unwrap_or_else(|| Err(self.not_found(asked, &[], Vec::new())))
    }

    /// The recipe of this name in the directories that the command line names.
    fn in_named_dirs(&self, name: &str) -> Option<PathBuf> {
        search::of_command_line(&self.setup).iter().find_map(|dir| self.in_dir(dir, name))
    }

    /// A listed recipe, also if another one of its name is used instead.
    pub fn load_listed(&self, listed: &FoundRecipe) -> Result<Loaded, LoadError> {
        self.root(&listed.path)
    }

    /// Every recipe in the search directories, sorted by name; of two with the same name the one that is used comes
    /// first.
    pub fn list(&self) -> Vec<FoundRecipe> {
        let mut found: Vec<FoundRecipe> = Vec::new();
        for dir in &self.dirs {
            for file in self.catalogs.files(dir).iter() {
                found.push(self.found(file, &self.catalogs.header(file)));
            }
        }
        for (name, text) in &self.setup.built_in {
            let header = RecipeHeader::read(text.as_bytes());
            let path = format!("{BUILT_IN}{name}");
            found.push(FoundRecipe { is_built_in: true, ..FoundRecipe::new(path, name, &header) });
        }
        catalog::shadow(&mut found);
        found
    }

    /// The recipe files of the current directory and of its `recipes` directory, as paths for users. Other YAML files
    /// of the current directory are left out; in `recipes`, every file counts.
    pub fn project_files(&self) -> Vec<String> {
        let here = self.catalogs.files(&self.setup.cwd);
        let own = here.iter().filter(|file| self.catalogs.header(file).is_recipe);
        let below = self.catalogs.files(&self.setup.cwd.join("recipes"));
        own.chain(below.iter()).map(|file| self.display(file)).collect()
    }

    fn found(&self, file: &Path, header: &RecipeHeader) -> FoundRecipe {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        FoundRecipe::new(self.display(file), &stem, header)
    }

    /// The path of a file for users: canonical, and relative if it is below the current directory.
    pub fn display(&self, path: &Path) -> String {
        let canonical = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let here = self.setup.cwd.canonicalize().unwrap_or_else(|_| self.setup.cwd.clone());
        canonical.strip_prefix(&here).unwrap_or(&canonical).to_string_lossy().into_owned()
    }

    /// The file that a path on the command line, or one from [`Library::display`], means.
    pub fn absolute(&self, path: &str) -> PathBuf {
        self.setup.cwd.join(search::expand_home(path, self.setup.home.as_deref()))
    }

    fn load(&self, path: &Path) -> Result<Loaded, LoadError> {
        let shown = self.display(path);
        self.note_link(path, &shown);
        match search::read(path) {
            Ok(bytes) => Ok(Loaded { path: shown, bytes: bytes.into() }),
            Err(error) => Err(LoadError::Unreadable { path: shown, reason: error.to_string() }),
        }
    }

    /// Remembers the directory of a link to a file.
    fn note_link(&self, path: &Path, shown: &str) {
        let named = path.parent().and_then(|dir| dir.canonicalize().ok());
        if let Some(dir) =
            named.filter(|dir| path.canonicalize().is_ok_and(|file| file.parent() != Some(dir)))
        {
            let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
            links.entry(shown.to_owned()).or_insert(dir);
        }
    }

    /// The recipe of this name: the first directory that has one wins. `above` supplies more directories only if none
    /// of these has it.
    fn by_name(
        &self,
        name: &str,
        beside: &[PathBuf],
        above: impl FnOnce() -> Vec<PathBuf>,
    ) -> Option<Result<Loaded, LoadError>> {
        if name.trim().is_empty() {
            return None;
        }
        let find = |dir: &PathBuf| self.in_dir(dir, name);
        let file = beside.iter().chain(&self.dirs).find_map(find).or_else(|| above().iter().find_map(find));
        file.map(|file| self.load(&file)).or_else(|| self.built_in(name).map(Ok))
    }

    fn in_dir(&self, dir: &Path, name: &str) -> Option<PathBuf> {
        search::by_stem(dir, name).or_else(|| {
            let files = self.catalogs.files(dir);
            files.iter().find(|file| self.catalogs.is_named(file, name)).cloned()
        })
    }

    fn built_in(&self, name: &str) -> Option<Loaded> {
        let (name, text) = self.setup.built_in.iter().find(|(known, _)| *known == name)?;
        Some(Loaded { path: format!("{BUILT_IN}{name}"), bytes: text.as_bytes().into() })
    }

    fn not_found(&self, name: &str, beside: &[PathBuf], above: Vec<PathBuf>) -> LoadError {
        let mut searched: Vec<String> = Vec::new();
        // only names of the command line are looked for in the current directory
        searched.extend(beside.is_empty().then(|| ".".to_owned()));
        for dir in beside.iter().chain(&self.dirs).chain(&above) {
            let shown = match self.display(dir) {
                here if here.is_empty() => ".".to_owned(),
                shown => shown,
            };
            if !searched.contains(&shown) {
                searched.push(shown);
            }
        }
        if search::looks_like_path(name) && beside.is_empty() {
            searched.insert(0, self.absolute(name).to_string_lossy().into_owned());
        }
        LoadError::NotFound { searched }
    }

    /// The directories that a file belongs to: that of the link to it, and its own.
    fn directories_of(&self, from: &str) -> Vec<PathBuf> {
        if from.starts_with(BUILT_IN) {
            return Vec::new();
        }
        let link = self.links.lock().unwrap_or_else(PoisonError::into_inner).get(from).cloned();
        let own = self.setup.cwd.join(from).parent().map(Path::to_path_buf);
        link.into_iter().chain(own).collect()
    }
}

impl Loader for Library {
    fn recipe(&self, name: &str, from: &str) -> Result<Loaded, LoadError> {
        let own = from.strip_prefix(BUILT_IN).filter(|from| ORCHESTRATION.contains(from));
        if let Some(loaded) = own.and_then(|_| self.built_in(name)).filter(|_| ORCHESTRATION.contains(&name))
        {
            return Ok(loaded);
        }
        let beside = self.directories_of(from);
        if search::looks_like_path(name) {
            let expanded = search::expand_home(name, self.setup.home.as_deref());
            let bases = beside.iter().chain([&self.setup.working_dir, &self.setup.cwd]);
            if let Some(file) = bases.into_iter().find_map(|base| search::as_file(&base.join(&expanded))) {
                return self.load(&file);
            }
        }
        let above = || search::above(beside.iter().chain([&self.setup.working_dir]));
        let found = self.by_name(name, &beside, above);
        found.unwrap_or_else(|| Err(self.not_found(name, &beside, above())))
    }

    fn agent(&self, reference: &AgentRef, from: &str) -> Option<Arc<str>> {
        let bases = agents::directories(&self.directories_of(from), &self.setup);
        agents::find(reference, &bases)
    }

    fn prompt_file(&self, path: &str, from: &str) -> Option<Arc<str>> {
        let mut bases = self.directories_of(from).into_iter();
        bases.find_map(|base| std::fs::read_to_string(base.join(path)).ok()).map(Arc::from)
    }

    fn recipe_names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.list().into_iter().flat_map(|found| [found.name, found.stem]).collect();
        names.sort();
        names.dedup();
        names
    }
}
