//! A resume that a person has to decide about: that it waits is written down, and which text it goes on with is said.
//!
//! Never decides anything itself.

use std::path::PathBuf;

use engine::{Event, RunStatus, event::RunFinished, resume_plan::Resumer};

use super::{
    Resume, ResumeError, Shown,
    stored::{OpenError, spent},
};
use crate::{clock, commands::quote, folder::RunFolder, journal::Journal, sources::Remembered};

/// Where the name of an edited recipe is kept that a resume was given and did not come to use.
pub(super) fn offered(folder: &RunFolder) -> PathBuf {
    folder.path().join("offered-recipe")
}

/// Which text a resume goes on with, where a person may think of another one.
pub(super) fn text_in_force(shown: &Shown, generation: u32, resume: &Resume<'_>) -> Option<String> {
    if resume.edited.is_some() || matches!(resume.resumer, Resumer::Automatic { .. }) {
        return None;
    }
    let run = &shown.header.run_id;
    let advice = |file: &str| format!("recipe-runner-rs resume {run} --recipe {}", quote(file));
    if let Ok(file) = std::fs::read_to_string(offered(&shown.folder)) {
        return Some(format!(
            "goes on with the recipe that the run has, not with `{file}`, which was given before; to use that: {}",
            advice(&file)
        ));
    }
    let file = shown.header.recipe_file.as_ref()?;
    let stored = Remembered::open(&shown.folder.sources(generation), None).ok()?.root().ok()?;
    let now = std::fs::read(file).ok()?;
    let file = file.to_string_lossy();
    (now != *stored.bytes).then(|| {
        format!(
            "goes on with the recipe that the run has; `{file}` says something else now; to use that: {}",
            advice(&file)
        )
    })
}

/// Writes down that a run waits until a person has chosen; the choice itself is the caller's to explain.
pub(super) fn wait_for_person(
    shown: &Shown,
    journal: &mut Journal,
    resume: &Resume<'_>,
    stop: ResumeError,
) -> ResumeError {
    if let Some((plan, _)) = &resume.edited {
        let _ = crate::folder::write_new(&offered(&shown.folder), plan.root().path.as_bytes());
    }
    let error = Some(stop.to_string());
    let is_said = shown
        .state
        .finished
        .as_ref()
        .is_some_and(|said| said.status == RunStatus::Waiting && said.error == error);
    if is_said {
        return stop;
    }
    let finished = RunFinished {
        status: RunStatus::Waiting,
        exit_code: 6,
        error,
        output: None,
        ended_processes: Vec::new(),
        usage: spent(&shown.records),
    };
    journal.append(clock::now(), Event::RunFinished(finished));
    match journal.sync() {
        Ok(()) => stop,
        Err(error) => OpenError::from(error).into(),
    }
}
