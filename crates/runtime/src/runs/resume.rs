//! Going on with a run: what is kept, what is done again, and what a person has to choose.

use std::path::PathBuf;

use engine::{Event, RunStatus, event::RunResumed};
use recipe::{check::Loader, plan::Plan};

use super::{
    Job, RunError, Runs, Shown,
    edited::changed,
    stored::{OpenError, end_orphans},
};
use crate::{
    agent_attempt::AgentSettings,
    audit::Audit,
    clock,
    drive::Reporter,
    folder::{Options, RunFolder},
    host::Host,
    journal::Journal,
    report::RunResult,
    sources::{Recording, Remembered},
};

/// What becomes of interrupted steps that say that they are not idempotent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interrupted {
    /// A person has to choose.
    #[default]
    Ask,
    /// They run again.
    Rerun,
    /// They are skipped.
    Skip,
}

/// How a run is resumed.
pub struct Resume<'a> {
    /// What becomes of interrupted steps that are not idempotent.
    pub interrupted: Interrupted,
    /// An edited recipe to go on with, and what the loader brought for it.
    pub edited: Option<(Plan, &'a Recording<'a>)>,
    /// Options that replace those of the run.
    pub change: &'a dyn Fn(&mut Options),
    /// How agents are run.
    pub agents: AgentSettings,
    /// The machine.
    pub host: Host,
    /// Brings recipes whose names become known later.
    pub loader: &'a dyn Loader,
}

/// Why a run cannot be resumed.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Another live process has it.
    #[error("run `{run}` is being worked on by process {pid}")]
    Owned {
        /// The run.
        run: String,
        /// The process.
        pid: u32,
    },
    /// It is over and succeeded.
    #[error("run `{0}` is completed: there is nothing to resume")]
    Completed(String),
    /// Steps were interrupted that must not simply run again.
    #[error("step `{step}` of run `{run}` was interrupted and says that it is not idempotent")]
    Choose {
        /// The run.
        run: String,
        /// The step.
        step: String,
    },
    /// Its directory is gone.
    #[error("working directory `{}` of run `{run}` does not exist any more", dir.display())]
    NoDirectory {
        /// The run.
        run: String,
        /// The directory.
        dir: PathBuf,
    },
    /// It could not go on.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl Runs {
    /// Goes on with a run from where it stopped.
    pub fn resume(
        &self,
        folder: RunFolder,
        resume: Resume<'_>,
        reporter: &mut dyn Reporter,
    ) -> Result<RunResult, ResumeError> {
        let run = folder.id();
        let Some(lock) = folder.lock().map_err(OpenError::from)? else {
            return Err(ResumeError::Owned { run, pid: folder.owner().unwrap_or(0) });
        };
        let (journal, records) = Journal::open(&folder.journal()).map_err(OpenError::from)?;
        let header = folder.header().map_err(OpenError::from)?;
        let shown = super::stored::fold(folder.clone(), header, records)?;
        if shown.state.finished.as_ref().is_some_and(|finished| finished.status == RunStatus::Completed) {
            return Err(ResumeError::Completed(run));
        }
        let working_dir = shown.header.working_dir.clone();
        if !working_dir.is_dir() {
            return Err(ResumeError::NoDirectory { run, dir: working_dir });
        }
        let skip = self.interrupted_steps(&shown, resume.interrupted)?;
        // whatever the old process left behind would work against the new one
        end_orphans(&shown, resume.host.grace);
        let _ = std::fs::remove_file(folder.inbox().join("cancel"));
        let old_generation = generation(&shown);
        let (plan, generation, rerun) = match &resume.edited {
            Some((plan, recording)) => {
                let generation = newest_sources(&folder) + 1;
                recording.save(&folder.sources(generation)).map_err(OpenError::from)?;
                (plan.clone(), generation, changed(&shown, plan))
            }
            None => (shown.plan.clone(), old_generation, lost(&shown)),
        };
        let mut options = shown.header.options.clone();
        (resume.change)(&mut options);
        let audit = match &options.audit_dir {
            Some(dir) => {
                Some(Audit::create(dir, &plan.root().name, &run, clock::now()).map_err(RunError::from)?)
            }
            None => None,
        };
        let first =
            Event::RunResumed(RunResumed { pid: std::process::id(), sources: generation, rerun, skip });
        let remembered =
            Remembered::open(&folder.sources(generation), Some(resume.loader)).map_err(OpenError::from)?;
        // a recipe that is found only now has to be there for the next resume too
        let continued = Recording::going_on(&remembered);
        let recording = match &resume.edited {
            Some((_, recording)) => *recording,
            None => &continued,
        };
        let mut state = shown.state;
        state.settings.max_parallel = options.max_parallel;
        state.settings.include_tags.clone_from(&options.include_tags);
        state.settings.exclude_tags.clone_from(&options.exclude_tags);
        let job = Job {
            run_id: run,
            tracking_id: shown.header.tracking_id,
            folder: Some(folder),
            journal: Some(journal),
            plan,
            state,
            options,
            host: resume.host,
            working_dir,
            loader: recording,
            recording: Some(recording),
            generation,
            audit,
            agents: resume.agents,
        };
        let result = job.run(vec![first], reporter);
        drop(lock);
        Ok(result?)
    }

    /// Interrupted steps that are to be skipped; an error if a person has to choose.
    fn interrupted_steps(&self, shown: &Shown, choice: Interrupted) -> Result<Vec<String>, ResumeError> {
        let mut skip = Vec::new();
        for path in shown.state.running_steps() {
            let Some(path) = not_idempotent(shown, &path) else { continue };
            match choice {
                Interrupted::Rerun => {}
                Interrupted::Skip => skip.push(path),
                Interrupted::Ask => {
                    return Err(ResumeError::Choose { run: shown.header.run_id.clone(), step: path });
                }
            }
        }
        Ok(skip)
    }
}

/// The step that must not simply run again: an interrupted one, or the outermost recipe step around it that says so.
fn not_idempotent(shown: &Shown, path: &str) -> Option<String> {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    ends.map(|end| &path[..end]).find_map(|path| {
        let (frame, at) = shown.state.locate(path)?;
        (!shown.state.frames[frame].unit.steps[at].idempotent).then(|| path.to_owned())
    })
}

/// The sources that a run worked with last.
fn generation(shown: &Shown) -> u32 {
    let resumed = shown.records.iter().rev().find_map(|record| match &record.event {
        Event::RunResumed(resumed) => Some(resumed.sources),
        _ => None,
    });
    resumed.unwrap_or(0)
}

fn newest_sources(folder: &RunFolder) -> u32 {
    (0..).find(|number| !folder.sources(number + 1).exists()).unwrap_or(0)
}

/// Steps whose stored value cannot be brought back: they are done again, never given an empty text instead.
fn lost(shown: &Shown) -> Vec<String> {
    let mut paths: Vec<String> = shown.lost.keys().cloned().collect();
    paths.sort();
    paths
}
