//! An opened run: read, compiled and folded once, and then shown, planned with or continued.
//!
//! Never changes what is stored.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::PathBuf,
};

use engine::{Event, Record, RunState, RunStatus, knowledge::Knowledge, run::event::Usage};
use recipe::{check::Loader, plan::Plan};

use super::{CurrentRecipe, Runs, compile::compile, evidence, fold::fold};
use crate::{
    os::{clock, files},
    report::{self, RunResult, Subject},
    store::{
        folder::{self, FolderError, Header, RunFolder},
        journal::{self, Extent, Journal, JournalError},
        secrets::Mask,
        sources::Remembered,
        values,
    },
};

/// A run as it was when it was opened.
#[derive(Debug)]
pub struct OpenedRun {
    /// Its header: what was requested.
    pub header: Header,
    /// Its folder.
    pub folder: RunFolder,
    /// Its plan.
    pub plan: Plan,
    /// The recipe that it uses now.
    pub recipe: CurrentRecipe,
    /// Its state.
    pub state: RunState,
    /// Its secrets.
    pub mask: Mask,
    /// Its events.
    pub records: Vec<Record>,
    /// Its status: that of the journal, corrected by whether the runner is alive.
    pub status: RunStatus,
    /// Values that could not be restored, by step.
    pub lost: HashMap<String, String>,
    /// What is believed about programs and their words.
    pub knowledge: Knowledge,
    /// The generation of sources that it used last.
    pub(super) generation: u32,
    /// How far its journal was read.
    pub(super) extent: Extent,
}

/// Why a run cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Its folder cannot be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Its journal cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Its sources do not compile.
    #[error("the recipe stored in run `{run}` no longer compiles: {reason}")]
    Plan {
        /// The run.
        run: String,
        /// The reason.
        reason: String,
    },
    /// It was written by an unknown version of the program.
    #[error(
        "run `{run}` has format {found}, but this program knows only {known}: use a newer recipe-runner-rs"
    )]
    Format {
        /// The run.
        run: String,
        /// Its format.
        found: u32,
        /// Our format.
        known: u32,
    },
}

impl Runs {
    /// The evidence of a run, for its result.
    pub fn evidence(&self, run_id: &str) -> Option<report::evidence::Evidence> {
        let shown = self.open(self.find(run_id).ok()?).ok()?;
        Some(evidence::gather(&shown, evidence::Processes::LeftOut))
    }

    /// Opens a run to show it, plan with it or continue it.
    pub fn open(&self, folder: RunFolder) -> Result<OpenedRun, OpenError> {
        let journal = folder.journal();
        let (shown, extent) = assemble(folder, &self.variables, || match journal.exists() {
            true => journal::look(&journal),
            false => Ok((Vec::new(), Extent::default())),
        })?;
        Ok(OpenedRun { knowledge: self.knowledge.clone(), extent, ..shown })
    }

    /// Opens a run to write to it. The caller must hold the lock.
    pub(super) fn take(&self, folder: RunFolder) -> Result<(OpenedRun, Journal), OpenError> {
        let path = folder.journal();
        let open = || Journal::open(&path).map(|(journal, records)| (records, journal));
        let (shown, journal) = assemble(folder, &self.variables, open)?;
        shown.folder.mark_format(&shown.header)?;
        shown.go_on();
        Ok((OpenedRun { knowledge: self.knowledge.clone(), ..shown }, journal))
    }

    /// The same with a run that was opened before it was locked: read again only if its journal has grown since.
    pub(super) fn take_opened(&self, opened: OpenedRun) -> Result<(OpenedRun, Journal), OpenError> {
        match Journal::open_unchanged(&opened.folder.journal(), &opened.extent)? {
            Some(journal) => {
                opened.folder.mark_format(&opened.header)?;
                opened.go_on();
                Ok((OpenedRun { status: opened.status_now(), ..opened }, journal))
            }
            None => self.take(opened.folder),
        }
    }
}

/// Assembles a run from its stored files.
pub(super) fn assemble<T: Send>(
    folder: RunFolder,
    variables: &BTreeMap<String, String>,
    read: impl Fn() -> Result<(Vec<Record>, T), JournalError> + Sync,
) -> Result<(OpenedRun, T), OpenError> {
    let header = folder.header()?;
    if header.format > folder::FORMAT {
        let (run, found) = (header.run_id, header.format);
        return Err(OpenError::Format { run, found, known: folder::FORMAT });
    }
    // checked before the journal is read: a live run may be making its first attempt
    let has_attempts = folder.has_attempts();
    let (read, plan) = both(read, || compile(&folder, 0, &header));
    let ((records, rest), plan) = (read?, plan?);
    if has_attempts && !records.iter().any(|record| matches!(record.event, Event::StepStarted { .. })) {
        return Err(journal::without_steps(&folder.journal(), records.len()).into());
    }
    Ok((fold(folder, header, plan, records, variables)?, rest))
}

/// Reads the journal while the recipe is compiled: in a long run, both take about the same time.
fn both<A: Send, B>(read: impl Fn() -> A + Sync, compile: impl FnOnce() -> B) -> (A, B) {
    // a simulation injects its faults into one thread
    if files::is_on() {
        return (read(), compile());
    }
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new().name("journal".to_owned()).spawn_scoped(scope, &read);
        let compiled = compile();
        let read = match reader {
            Ok(reader) => reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // no thread could be started
            Err(_) => read(),
        };
        (read, compiled)
    })
}

impl OpenedRun {
    /// The result that the run printed, or its state so far.
    pub fn result(&self) -> RunResult {
        let output = self.state.finished.as_ref().and_then(|finished| finished.output.as_ref());
        let mut result = report::result(&Subject {
            plan: &self.plan,
            knowledge: &self.knowledge,
            recipe: self.recipe.name(),
            origin: self.header.origin.as_ref(),
            run_id: Some(&self.header.run_id),
            tracking_id: Some(&self.header.tracking_id),
            state: &self.state,
            mask: &self.mask,
            status: self.status,
            now: self.now(),
            previews: &HashMap::new(),
            run_dir: Some(self.folder.path().to_string_lossy().into_owned()),
            output: output.and_then(|stored| values::load(self.folder.path(), stored).ok()),
        });
        if let Some(fix) = crate::report::auto_fix::load(&self.folder).and_then(|fix| fix.in_result(&result))
        {
            crate::report::auto_fix::attach(&mut result, fix);
        }
        if self.has_no_auto_fix() {
            result = crate::report::auto_fix::not_wanted(result);
        }
        let is_blocked = |fix: &crate::report::auto_fix::Report| fix.outcome == "blocked";
        if self.status == RunStatus::Failed && result.auto_fix.as_ref().is_some_and(is_blocked) {
            result.outcome = "blocked";
        }
        result.choices = self.choices();
        result.advice.extend(result.choices.iter().cloned());
        result.evidence = Some(evidence::gather(self, evidence::Processes::LeftOut));
        result
    }

    /// The same with every process that was started.
    pub fn result_with_processes(&self) -> RunResult {
        let evidence = Some(evidence::gather(self, evidence::Processes::Listed));
        RunResult { evidence, ..self.result() }
    }

    /// Whether auto-fix was switched off when the run was last started or resumed.
    fn has_no_auto_fix(&self) -> bool {
        let said = self.records.iter().rev().find_map(|record| match &record.event {
            Event::RunResumed(resumed) => Some(resumed.no_auto_fix),
            _ => None,
        });
        said.unwrap_or(self.header.options.no_auto_fix)
    }

    /// Makes new records later than the existing ones, whatever the clock says.
    fn go_on(&self) {
        if let Some(last) = self.records.last() {
            clock::go_on_from(last.at);
        }
    }

    /// The end of its durations.
    fn now(&self) -> jiff::Timestamp {
        let last = self.records.last().map_or(self.header.created_at, |record| record.at);
        match (self.status, self.folder.owner()) {
            (RunStatus::Running, Some(pid)) => clock::now_beside(pid, last),
            _ => last,
        }
    }

    /// The folder of the sources that it used last.
    pub(crate) fn sources_dir(&self) -> PathBuf {
        self.folder.sources(self.generation)
    }

    /// These sources; `beyond` loads recipes that the run never asked for.
    pub(crate) fn sources<'a>(&self, beyond: Option<&'a dyn Loader>) -> Result<Remembered<'a>, FolderError> {
        Remembered::open(&self.sources_dir(), beyond)
    }

    /// The recipe's file, if it differs from the version that the run uses.
    pub(super) fn changed_recipe(&self) -> Option<PathBuf> {
        let file = self.recipe.file.clone()?;
        let now = recipe::digest::sha256(&fs::read(&file).ok()?);
        (now != self.plan.root().digest).then_some(file)
    }

    /// The usage of its agents.
    pub fn usage(&self) -> &Usage {
        &self.state.used
    }
}
/// The usage of the agents of a run, according to its journal.
pub(super) fn spent(records: &[Record]) -> Option<Usage> {
    let mut used = Usage::default();
    let mut worked = std::collections::HashSet::new();
    for record in records {
        let usage = match &record.event {
            Event::WorkEnded { path, attempt, ended, .. } => {
                worked.insert((path, *attempt));
                ended.usage.as_ref()
            }
            Event::StepFinished { path, attempt, ended, .. }
            | Event::AttemptFailed { path, attempt, ended, .. } => {
                ended.usage.as_ref().filter(|_| !worked.contains(&(path, *attempt)))
            }
            Event::AgentUsed { usage, .. } => Some(usage),
            _ => None,
        };
        usage.into_iter().for_each(|usage| used.count(usage));
    }
    (used.runs > 0).then(|| used.stored())
}

#[cfg(test)]
mod tests;
