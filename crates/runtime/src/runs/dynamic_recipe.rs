//! The recipes that a resume uses: the main one, and those whose names became known only during the run, in their
//! current version. Never writes anything.

use std::path::{Path, PathBuf};

use engine::resume::{Entered, Late, Now, late};
use recipe::{
    check::{Given, Loader, graft},
    plan::{Plan, UnitId},
};

use super::{OpenedRun, Resume};
use crate::{
    machine::host::Host,
    run::dynamic_recipe::{warning_of, warnings},
    store::{folder::Options, sources::Remembered},
};

/// The recipes that a resume uses.
pub(super) struct NextRecipe {
    /// The recipe with everything that it reaches.
    pub(super) plan: Plan,
    /// Recipes in it whose names became known only during the run, by step.
    pub(super) late: Late,
    /// Warnings about them, with the steps that run them.
    pub(super) warnings: Vec<(String, String)>,
    /// The number of recipes without them.
    before: usize,
}

impl NextRecipe {
    /// Adds the declarations of recipes that were found late.
    pub(super) fn prepare(&self, host: &mut Host, base: &Path, working_dir: &Path) {
        host.take_in(&self.plan.units[self.before..], base, working_dir);
    }
}

impl OpenedRun {
    /// The recipes that a resume uses.
    pub(super) fn next(&self, resume: &Resume<'_>) -> NextRecipe {
        let Some((plan, loader)) = &resume.edited else { return self.same() };
        let (mut plan, before) = (plan.clone(), plan.units.len());
        let mut options = self.header.options.clone();
        (resume.change)(&mut options);
        let mut search =
            Search { known: self.all_sources(), loader: *loader, options: &options, warnings: Vec::new() };
        let late = late(&self.state, &mut plan, &mut |plan, entered| search.find(plan, entered));
        NextRecipe { plan, late, warnings: search.warnings, before }
    }

    /// The recipes that the run already has.
    pub(super) fn same(&self) -> NextRecipe {
        let mut plan = self.plan.clone();
        let late = late(&self.state, &mut plan, &mut |plan, entered| {
            let at = plan.units.iter().position(|unit| unit.path == entered.unit.path);
            at.map_or(Now::Unknown, |at| Now::Recipe(UnitId(at as u32)))
        });
        let before = plan.units.len();
        NextRecipe { plan, late, warnings: Vec::new(), before }
    }

    /// Everything that was ever loaded, the newest first.
    fn all_sources(&self) -> Vec<Remembered<'static>> {
        let generations = (0..=self.generation).rev();
        generations.filter_map(|at| Remembered::open(&self.folder.sources(at), None).ok()).collect()
    }

    /// Files that differ from the version that the run uses: its recipe first, then those that it reaches.
    pub fn changed_recipes(&self) -> Vec<PathBuf> {
        let base = self.recipe.base(&self.header.working_dir);
        let known = self.sources(None).map(|known| known.recipes()).unwrap_or_default();
        let nested = known.into_iter().map(|(path, bytes)| (base.join(path), bytes));
        let nested = nested.filter(|(file, bytes)| std::fs::read(file).is_ok_and(|now| now != **bytes));
        let mut files: Vec<PathBuf> = self.changed_recipe().into_iter().collect();
        for (file, _) in nested {
            if !files.contains(&file) {
                files.push(file);
            }
        }
        files
    }
}

/// A search for recipes by the names that they were entered by.
struct Search<'a> {
    known: Vec<Remembered<'a>>,
    loader: &'a dyn Loader,
    options: &'a Options,
    warnings: Vec<(String, String)>,
}

impl Search<'_> {
    /// The recipe that such a name means now.
    fn find(&mut self, plan: &mut Plan, entered: &Entered<'_>) -> Now {
        let name = self.known.iter().find_map(|sources| sources.name_of(&entered.unit.path));
        let Some(name) = name else { return Now::Unknown };
        let Ok(found) = self.loader.recipe(name, entered.from) else { return Now::Gone };
        let names = entered.around.context.keys().chain(&entered.handed).cloned().collect();
        let Ok(grafted) = graft(plan, found, self.loader, &Given { names, ..Given::default() }) else {
            return Now::Gone;
        };
        let warnings = warnings(&grafted);
        // the step reports the reason when it is reached
        if self.options.switches.strict && !warnings.is_empty() {
            return Now::Gone;
        }
        let warnings = warnings.iter().map(|warning| (entered.path.to_owned(), warning_of(warning)));
        self.warnings.extend(warnings);
        *plan = grafted.plan;
        Now::Recipe(grafted.unit)
    }
}
