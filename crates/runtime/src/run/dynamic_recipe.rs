//! Recipes whose names are templates: found, checked and added to the plan when they are entered. Never enters one.

use std::sync::Arc;

use engine::run::{
    cause::Refusal,
    frame::{Frame, FrameId},
    text::brief,
};
use recipe::{
    check::{Given, Grafted, LoadError, graft},
    diagnostic::{Diagnostic, Severity},
    plan::{Plan, Step, StepKind, Target, Unit, ValueTemplate},
    source::Sources,
};

use super::{Driver, RunSpec};
use crate::store::folder::RunFolder;

impl Driver<'_> {
    /// The recipe that a step runs. If its name is a template, it is found and checked now.
    pub(super) fn target(&mut self, path: &str, frame: FrameId, step: &Step) -> Result<Arc<Unit>, Refusal> {
        let StepKind::Nested { target, overrides, .. } = &step.kind else {
            return Err(Refusal::Other("it runs no recipe".to_owned()));
        };
        let (name, from) = match target {
            Target::Known { unit, .. } => return Ok(Arc::clone(self.plan.unit(*unit))),
            Target::Dynamic { name, from } => (name.render(&self.state.frames[frame]), from),
        };
        if name.trim().is_empty() {
            return Err(Refusal::NoRecipeName { step: path.to_owned() });
        }
        let grafted =
            self.spec.find_recipe(&self.plan, &self.state.frames[frame], overrides, (&name, from))?;
        let warnings = warnings(&grafted).into_iter().map(|warning| (path.to_owned(), warning_of(&warning)));
        self.pending_notes.extend(warnings);
        self.take_in(grafted).map_err(|error| Refusal::Other(error.to_string()))
    }

    /// Adds a recipe to the plan; its declarations count from now on.
    fn take_in(&mut self, grafted: Grafted) -> Result<Arc<Unit>, crate::store::folder::FolderError> {
        let new = &grafted.plan.units[self.plan.units.len()..];
        if !new.is_empty() {
            self.spec.host.take_in(new, &self.spec.base, &self.spec.working_dir);
            self.mask.learn_variables(&self.spec.host.named);
            if let Some(folder) = &self.store.folder {
                self.mask.keep(folder.path())?;
            }
            self.environment.renew(&self.spec, self.store.folder.as_ref().map(RunFolder::path));
        }
        self.plan = grafted.plan;
        if let (Some(recording), Some(folder)) = (self.spec.recording, &self.store.folder) {
            recording.save(&folder.sources(self.spec.generation))?;
        }
        Ok(Arc::clone(self.plan.unit(grafted.unit)))
    }
}

impl RunSpec<'_> {
    /// Finds and checks a recipe whose name became known now.
    fn find_recipe(
        &self,
        plan: &Plan,
        frame: &Frame,
        overrides: &[(String, ValueTemplate)],
        (name, from): (&str, &str),
    ) -> Result<Grafted, Refusal> {
        let found = self.loader.recipe(name, from).map_err(|error| match error {
            LoadError::NotFound { searched } => {
                let searched = searched.iter().map(|place| brief(place)).collect();
                Refusal::RecipeNotFound { name: brief(name), searched }
            }
            LoadError::Unreadable { path, reason } => {
                Refusal::RecipeUnreadable { path: brief(&path), reason: brief(&reason) }
            }
        })?;
        let handed = overrides.iter().map(|(name, _)| name);
        let names = frame.context.keys().chain(handed).cloned().collect();
        let given = Given { names, ..Given::default() };
        let grafted = graft(plan, found, self.loader, &given).map_err(|checked| {
            let is_told =
                |problem: &&Diagnostic| self.options.switches.strict || problem.severity == Severity::Error;
            let problems = checked.diagnostics.iter().filter(is_told);
            let problems = problems.map(|problem| placed(problem, &checked.sources)).collect();
            Refusal::RecipeInvalid { name: brief(name), problems }
        })?;
        let warnings = warnings(&grafted);
        if self.options.switches.strict && !warnings.is_empty() {
            return Err(Refusal::RecipeInvalid { name: brief(name), problems: warnings });
        }
        Ok(grafted)
    }
}

/// The warnings about a recipe that was found during the run, each with its place.
pub(crate) fn warnings(grafted: &Grafted) -> Vec<String> {
    grafted.warnings.iter().map(|warning| placed(warning, &grafted.plan.sources)).collect()
}

/// The text of a warning.
pub(crate) fn warning_of(problem: &str) -> String {
    format!("warning: {problem}")
}

/// A problem with its place, on one line.
fn placed(problem: &Diagnostic, sources: &Sources) -> String {
    let Some(place) = problem.place else { return problem.message.clone() };
    let (file, at) = (&sources.file(place.file).path, sources.line_column(place));
    format!("{file}:{}:{}: {}", at.line, at.column, problem.message)
}
