//! The recipe that a repair is about: the one with the failed step, in the version that the run uses.
//!
//! Never changes a file.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use recipe::{
    agent_ref::AgentRef,
    check::{Checked, Given, LoadError, Loaded, Loader, check, graft},
    digest::sha256,
    plan::{Plan, Unit},
};

use super::lineage;
use crate::{
    runs::OpenedRun,
    store::{
        folder::{self, FolderError},
        sources::Remembered,
    },
};

/// The recipe to be repaired.
pub(super) struct RepairTarget {
    /// Its file.
    pub(super) file: PathBuf,
    /// Its path in the run.
    pub(super) path: String,
    /// The requested recipe, in the version that the run uses.
    root: Loaded,
    /// Names of given values.
    given: Given,
    /// Names that the recipe found in its context.
    found: Given,
    /// The recipes that it extends, the nearest first.
    pub(super) parents: Vec<Loaded>,
    /// The file in which the failed step is defined, if that is a step of this recipe.
    pub(super) defined_in: Option<String>,
}

impl RepairTarget {
    /// The innermost recipe around the failure that has a file of its own and is unchanged since the run read it.
    pub(super) fn find(opened: &OpenedRun, recipe_file: &Path) -> Result<Option<RepairTarget>, FolderError> {
        let state = &opened.state;
        let cause = state.root_cause().and_then(|(path, _)| state.locate(&path));
        let mut frame = cause.map_or(0, |place| state.in_recipe(place).0);
        while let Some((parent, _)) = state.frames[frame].parent.map(|place| state.in_recipe(place)) {
            let unit = &state.frames[frame].unit;
            if let Some(file) = nested_file(opened, recipe_file, unit) {
                return Ok(Some(RepairTarget::new(opened, file, unit, frame)?));
            }
            frame = parent;
        }
        match recipe_file.is_file() {
            true => Ok(Some(RepairTarget::new(opened, recipe_file.to_owned(), opened.plan.root(), 0)?)),
            false => Ok(None),
        }
    }

    fn new(
        opened: &OpenedRun,
        file: PathBuf,
        unit: &Unit,
        frame: usize,
    ) -> Result<RepairTarget, FolderError> {
        let given = opened.header.given.iter().map(|(name, _)| name.clone()).collect();
        let found = opened.state.frames[frame].initial.keys().cloned().collect();
        let known = opened.sources(None)?;
        let root = known.root()?;
        let own = if unit.path == root.path { Some(root.clone()) } else { known.by_path(&unit.path) };
        Ok(RepairTarget {
            file,
            path: unit.path.clone(),
            root,
            parents: own.map(|own| lineage::parents(&own, &known)).unwrap_or_default(),
            defined_in: definition(opened, frame),
            given: Given { names: given, ..Given::default() },
            found: Given { names: found, ..Given::default() },
        })
    }

    /// Whether it is the requested recipe.
    pub(super) fn is_root(&self) -> bool {
        self.path == self.root.path
    }

    /// Checks the requested recipe with another text of this one, even if only a name that became known during the run
    /// leads to it.
    pub(super) fn check(&self, text: &Arc<[u8]>, loader: &dyn Loader) -> Checked {
        let changed = Loaded { path: self.path.clone(), bytes: Arc::clone(text) };
        let root = if self.is_root() { changed.clone() } else { self.root.clone() };
        let checked = check(root, loader, &self.given);
        let is_missing = |plan: &&Plan| unit(plan, &self.path).is_none();
        match checked.plan.as_ref().filter(is_missing).map(|plan| graft(plan, changed, loader, &self.found)) {
            None => checked,
            Some(Ok(grafted)) => Checked { plan: Some(grafted.plan), ..checked },
            Some(Err(refused)) => *refused,
        }
    }

    /// The requested recipe, with another text of this one.
    pub(super) fn root_with(&self, text: &Arc<[u8]>) -> Loaded {
        match self.is_root() {
            true => Loaded { path: self.path.clone(), bytes: Arc::clone(text) },
            false => self.root.clone(),
        }
    }
}

/// The recipe with this path in a plan.
pub(super) fn unit<'p>(plan: &'p Plan, path: &str) -> Option<&'p Arc<Unit>> {
    plan.units.iter().find(|unit| unit.path == path)
}

/// The file in which the failed step is defined, if it is a step of this frame.
fn definition(opened: &OpenedRun, frame: usize) -> Option<String> {
    let (path, _) = opened.state.root_cause()?;
    let place = opened.state.locate(&path).map(|place| opened.state.in_recipe(place));
    let (_, at) = place.filter(|(id, _)| *id == frame)?;
    let place = opened.state.frames[frame].unit.steps[at].place;
    Some(opened.plan.sources.file(place.file).path.clone())
}

/// The file of a sub-recipe; `None` if it is built in, or has changed since the run read it.
fn nested_file(opened: &OpenedRun, recipe_file: &Path, unit: &Unit) -> Option<PathBuf> {
    let here = folder::base(recipe_file, Path::new(&opened.plan.root().path));
    let file = here.unwrap_or(&opened.header.working_dir).join(&unit.path);
    let now = sha256(&fs::read(&file).ok()?);
    (now == unit.digest).then_some(file)
}

/// A loader for the versions that the run uses, except for the recipe that a repair changes.
pub(super) struct Replaced<'a> {
    known: &'a Remembered<'a>,
    changed: Option<(&'a str, Arc<[u8]>)>,
}

impl<'a> Replaced<'a> {
    pub(super) fn new(known: &'a Remembered<'a>, changed: Option<(&'a str, Arc<[u8]>)>) -> Replaced<'a> {
        Replaced { known, changed }
    }
}

impl Loader for Replaced<'_> {
    fn recipe(&self, name: &str, from: &str) -> Result<Loaded, LoadError> {
        let found = self.known.recipe(name, from)?;
        Ok(match &self.changed {
            Some((path, text)) if found.path == *path => Loaded { bytes: Arc::clone(text), ..found },
            _ => found,
        })
    }

    fn agent(&self, reference: &AgentRef, from: &str) -> Option<Arc<str>> {
        self.known.agent(reference, from)
    }

    fn prompt_file(&self, path: &str, from: &str) -> Option<Arc<str>> {
        self.known.prompt_file(path, from)
    }

    fn recipe_names(&self) -> Vec<String> {
        self.known.recipe_names()
    }
}
