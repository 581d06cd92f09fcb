//! Going on with a run: what is kept, what is done again, and what a person has to choose.

use std::{collections::HashSet, path::PathBuf};

use engine::{Event, RunStatus, StepStatus, event::RunResumed, frame::Frame};
use recipe::{
    check::Loader,
    graph::{self, Link},
    plan::{Plan, Unit},
};

use super::{
    Job, RunError, Runs, Shown,
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
        end_orphans(&run, resume.host.grace);
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
        let remembered;
        let (loader, recording) = match &resume.edited {
            Some((_, recording)) => (*recording as &dyn Loader, Some(*recording)),
            None => {
                remembered = Remembered::open(&folder.sources(generation), Some(resume.loader))
                    .map_err(OpenError::from)?;
                (&remembered as &dyn Loader, None)
            }
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
            loader,
            recording,
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
            let Some((frame, at)) = shown.state.locate(&path) else { continue };
            if shown.state.frames[frame].unit.steps[at].idempotent {
                continue;
            }
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

/// Steps that an edited recipe changes, and what depends on them.
fn changed(shown: &Shown, plan: &Plan) -> Vec<String> {
    let mut rerun: HashSet<String> = shown.lost.keys().cloned().collect();
    changed_in(shown, shown.state.root(), plan.root(), &mut rerun);
    let mut paths: Vec<String> = rerun.into_iter().collect();
    paths.sort();
    paths
}

fn changed_in(shown: &Shown, old: &Frame, new: &Unit, rerun: &mut HashSet<String>) {
    let path = |id: &str| if old.path.is_empty() { id.to_owned() } else { format!("{}/{id}", old.path) };
    let edges = graph::edges(new);
    let mut again: HashSet<usize> = HashSet::new();
    for (at, step) in new.steps.iter().enumerate() {
        let before = old.index_of(&step.id);
        let is_changed = before.is_some_and(|index| old.unit.steps[index].digest != step.digest);
        let did_run = before.is_some_and(|index| old.steps[index].status.is_done());
        // a new step does what later steps may read
        let is_new = before.is_none();
        let follows =
            edges.iter().any(|edge| edge.to == at && edge.link != Link::Order && again.contains(&edge.from));
        if is_changed || is_new || follows || rerun.contains(&path(&step.id)) {
            again.insert(at);
            if did_run {
                rerun.insert(path(&step.id));
            }
            continue;
        }
        let child = before.and_then(|index| old.steps[index].frame);
        if let Some(child) = child {
            nested_changes(shown, child, step, rerun);
        }
    }
    let _ = StepStatus::Pending;
}

fn nested_changes(shown: &Shown, child: usize, step: &recipe::plan::Step, rerun: &mut HashSet<String>) {
    use recipe::plan::{StepKind, Target};
    let StepKind::Nested { target: Target::Known { .. }, .. } = &step.kind else { return };
    let frame = &shown.state.frames[child];
    if let Some(unit) = shown.plan.units.iter().find(|unit| unit.path == frame.unit.path) {
        changed_in(shown, frame, unit, rerun);
    }
}
