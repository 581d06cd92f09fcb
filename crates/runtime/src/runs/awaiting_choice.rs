//! A resume that needs a decision of a person: records that it waits, and names the recipe version that it uses.
//!
//! Never decides anything itself.

use std::path::PathBuf;

use engine::{
    EndReason, Event, RunStatus,
    run::{
        event::{Question, RunFinished},
        next::{Advice, Next},
    },
};

use super::{OpenError, OpenedRun, Resume, ResumeError, open::spent};
use crate::{
    os::clock,
    store::{folder::RunFolder, journal::Journal},
};

/// The file with the name of an edited recipe that a resume was given but did not use.
pub(super) fn offered(folder: &RunFolder) -> PathBuf {
    folder.path().join("offered-recipe")
}

/// A note about the recipe version that a resume uses, if the user may expect another one.
pub(super) fn text_in_force(shown: &OpenedRun, resume: &Resume<'_>) -> Option<Advice> {
    if resume.edited.is_some() {
        return None;
    }
    let run = &shown.header.run_id;
    match std::fs::read_to_string(offered(&shown.folder)) {
        Ok(file) => {
            let text = format!(
                "this run keeps its own version of the recipe, not `{file}`, which was given before. To use that one"
            );
            Some(Advice::with(text, Next::resume_with(run, &file)))
        }
        Err(_) => changed_note(run, &shown.recipe.name(), &shown.changed_recipes()),
    }
}

/// The note about recipe files that changed since the run began, if any; `recipe` is that of the run.
pub fn changed_note(run: &str, recipe: &str, files: &[PathBuf]) -> Option<Advice> {
    let names: Vec<String> = files.iter().map(|file| format!("`{}`", file.display())).collect();
    let have = if names.len() > 1 { "have" } else { "has" };
    let text =
        format!("{} {have} changed; this run keeps the old version. To use the new one", names.join(", "));
    (!names.is_empty()).then(|| Advice::with(text, Next::resume_with(run, recipe)))
}

impl ResumeError {
    /// The question to a person.
    fn question(&self) -> Option<Question> {
        match self {
            ResumeError::Choose { .. } => Some(Question::Interrupted),
            ResumeError::Effects { .. } => Some(Question::Effects),
            _ => None,
        }
    }
}

/// Records that a run waits for a decision of a person; the caller explains the choice.
pub(super) fn wait_for_person(
    shown: &OpenedRun,
    journal: &mut Journal,
    resume: &Resume<'_>,
    stop: ResumeError,
) -> ResumeError {
    if let Some((plan, _)) = &resume.edited {
        let name = shown.recipe.next(plan.root(), resume.recipe_file.as_ref()).name();
        let _ = crate::store::folder::write_new(&offered(&shown.folder), name.as_bytes());
    }
    let error = Some(stop.to_string());
    let is_said = shown.state.finished.as_ref().is_some_and(|said| {
        said.status == RunStatus::Waiting && (said.asks, &said.error) == (stop.question(), &error)
    });
    if is_said {
        return stop;
    }
    let finished = RunFinished {
        usage: spent(&shown.records),
        worked_ms: Some(shown.state.work.recorded()),
        asks: stop.question(),
        ..RunFinished::new(EndReason::Waiting, error)
    };
    journal.append(clock::now(), Event::RunFinished(finished));
    match journal.sync() {
        Ok(()) => stop,
        Err(error) => OpenError::from(error).into(),
    }
}
