//! The driver of a run in this process: its loop from the first record to the last.

use std::{collections::HashMap, sync::Arc};

use engine::{
    Event, RunState,
    run::{
        actions::{Action, Happening},
        react::react,
        step::step,
    },
};
use recipe::{plan::Plan, value::Value};

use super::{
    DriveError, Halt, Notice, Preview, Reporter, Signals,
    ask::question_due,
    audit::Audit,
    cleanup::StopCleanup,
    output::ShownOutput,
    preparer::{BaseEnvironment, Preparer},
    run_store::RunStore,
    signals,
    spec::RunSpec,
    tasks::Tasks,
};
use crate::{
    os::{clock, files, guardian::GuardianProcess, process, stage},
    steps::{agent::ledger::Ledger, shell::attempt::Progress},
    store::{
        folder::RunFolder,
        journal::Journal,
        secrets::{Mask, without_members},
    },
};

/// The parts of a driver.
pub struct Parts<'a> {
    /// The run.
    pub spec: RunSpec<'a>,
    /// Its folder; without a folder nothing is written.
    pub folder: Option<RunFolder>,
    /// Its journal.
    pub journal: Option<Journal>,
    /// Its plan.
    pub plan: Plan,
    /// Its state.
    pub state: RunState,
    /// Shows the run.
    pub reporter: &'a mut dyn Reporter,
    /// Its audit logs.
    pub audits: Vec<Audit>,
}

/// What remains of a driver.
pub struct DrivenRun {
    /// The plan of the run.
    pub plan: Plan,
    /// Its state.
    pub state: RunState,
    /// Its secrets.
    pub mask: Mask,
    /// The previews of a dry run.
    pub previews: HashMap<String, Preview>,
}

impl From<Driver<'_>> for DrivenRun {
    fn from(driver: Driver<'_>) -> DrivenRun {
        let Driver { plan, state, mask, previews, .. } = driver;
        DrivenRun { plan, state, mask, previews }
    }
}

/// Everything that a run needs.
pub struct Driver<'a> {
    pub(super) spec: RunSpec<'a>,
    pub(super) plan: Plan,
    pub(super) state: RunState,
    pub(super) store: RunStore,
    pub(super) reporter: &'a mut dyn Reporter,
    pub(super) mask: Mask,
    /// How many secrets the reporter knows.
    shown_secrets: usize,
    audits: Vec<Audit>,
    pub(super) tasks: Tasks,
    pub(super) shown: ShownOutput,
    pub(super) ledger: Arc<Ledger>,
    pub(super) environment: BaseEnvironment,
    pub(super) previews: HashMap<String, Preview>,
    /// Actions that wait until the records before them are on disk.
    pending_actions: Vec<Action>,
    /// Warnings about steps that are being prepared.
    pub(super) pending_notes: Vec<(String, String)>,
    /// Processes that were ended before the end of the run.
    pub(super) ended_processes: Vec<process::Survivor>,
    pub(super) cleanup: StopCleanup,
}

impl<'a> Driver<'a> {
    /// A driver; must be made inside a tokio runtime.
    pub fn new(parts: Parts<'a>) -> Driver<'a> {
        let Parts { spec, folder, journal, plan, mut state, reporter, audits } = parts;
        let mut mask = Mask::default().of_run(&spec.run_id);
        plan.units.iter().for_each(|unit| mask.learn_unit(unit));
        mask.learn_variables(&spec.host.named);
        state.frames.iter().for_each(|frame| mask.learn_frame(frame));
        let environment = BaseEnvironment::new(&spec, folder.as_ref().map(RunFolder::path));
        let settings = &mut state.settings;
        // with few file descriptors a run is slower, but does not fail
        settings.max_parallel = settings.max_parallel.min(process::max_children());
        settings.max_agents = Some(spec.host.most_agents(spec.options.max_agents));
        settings.rate_limits = spec.agents.rate.clone();
        settings.recovery = spec.options.recovery;
        settings.budgets = spec.agents.budgets();
        settings.answers.clone_from(&spec.options.asking.answers);
        settings.stays = spec.options.asking.wait;
        Driver {
            spec,
            plan,
            state,
            store: RunStore::new(folder, journal),
            reporter,
            mask,
            shown_secrets: 0,
            audits,
            tasks: Tasks::new(),
            shown: ShownOutput::new(),
            ledger: Arc::default(),
            environment,
            previews: HashMap::new(),
            pending_actions: Vec::new(),
            pending_notes: Vec::new(),
            ended_processes: Vec::new(),
            cleanup: StopCleanup::default(),
        }
    }

    /// Runs to the end, or until a stop is requested. `first` are the events to begin with.
    pub async fn run(&mut self, first: Vec<Event>) -> Result<(), DriveError> {
        process::become_reaper();
        let folder = self.store.folder.as_ref().map(|folder| folder.path().to_owned());
        let mut guardian = GuardianProcess::new(self.spec.host.guardian.clone(), folder);
        let lived = guardian.while_it(self.live(first)).await;
        guardian.end();
        lived
    }

    async fn live(&mut self, first: Vec<Event>) -> Result<(), DriveError> {
        let mut signals = Signals::new().map_err(DriveError::Signals)?;
        if let Some(folder) = &self.store.folder {
            self.mask.keep(folder.path())?;
        }
        for event in first {
            self.record(event, None)?;
        }
        // ending processes takes its time; without it, the last record brings the others to disk
        let worked =
            self.work(&mut signals).await.and_then(|()| match self.tasks.are_all_gone(&self.state) {
                true => Ok(()),
                false => self.store.settle(),
            });
        if let Err(error) = worked {
            // try to save finished work now and again after the processes have ended
            self.store.try_to_sync();
            self.tasks.stop_all_but(Vec::new());
            process::end_marked(&process::Filter::run(&self.spec.run_id), self.spec.host.grace).await;
            self.tasks.set.abort_all();
            self.store.try_to_sync();
            return Err(error);
        }
        self.finish(&mut signals).await
    }

    async fn work(&mut self, signals: &mut Signals) -> Result<(), DriveError> {
        let mut ticks = self.reporter.tick().map(tokio::time::interval);
        if let Some(ticks) = &mut ticks {
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            ticks.tick().await;
        }
        // a run without a process is cancelled by one that only stops it
        if self.store.folder.as_ref().is_some_and(signals::cancel_requested) {
            self.halt(Halt::Cancel)?;
        }
        let mut inbox = signals::inbox();
        let reaper = process::reap_adopted();
        tokio::pin!(reaper);
        loop {
            if self.advance()? {
                return Ok(());
            }
            if self.state.halt().is_some() && self.tasks.set.is_empty() {
                match self.begin_cleanup()? {
                    true => continue,
                    false => return Ok(()),
                }
            }
            let tick = async {
                match &mut ticks {
                    Some(ticks) => drop(ticks.tick().await),
                    None => std::future::pending().await,
                }
            };
            let deadline = self.state.next_deadline();
            tokio::select! {
                biased;
                halt = signals.next() => self.halt(halt)?,
                () = StopCleanup::time_is_up(self.cleanup.until()) => self.end_cleanup()?,
                Some(progress) = self.tasks.progress.1.recv() => self.take_progress(progress)?,
                Some(done) = self.tasks.set.join_next() => self.take(done)?,
                () = self.shown.outputs.changed() => self.shown.forward(self.reporter, &self.mask),
                () = question_due(deadline), if self.state.halt().is_none() => {
                    self.happen(Happening::QuestionsDue { now: clock::now() })?;
                }
                _ = inbox.tick(), if self.state.halt().is_none() && !files::is_on() && !stage::is_on() => self.halt(Halt::Cancel)?,
                () = tick => self.reporter.notice(Notice::Tick { state: &self.state }),
                _ = &mut reaper => {}
            }
        }
    }

    /// Carries out actions until the engine has to wait; returns whether the run has ended.
    fn advance(&mut self) -> Result<bool, DriveError> {
        loop {
            let actions = step(&self.plan, &mut self.state);
            if matches!(actions.as_slice(), [Action::Finish]) {
                return Ok(true);
            }
            let is_waiting = actions.is_empty();
            self.accept(actions)?;
            if is_waiting && self.pending_actions.is_empty() {
                // nothing more to do for now: finished work must not wait for the next step to be safe on disk
                self.store.settle()?;
                return Ok(false);
            }
            if is_waiting {
                self.perform_pending()?;
            }
        }
    }

    /// Reports a happening to the engine.
    pub(super) fn happen(&mut self, happening: Happening) -> Result<(), DriveError> {
        let actions = react(&self.plan, &mut self.state, happening);
        self.accept(actions)
    }

    /// Writes records at once, and keeps the other actions until these are on disk.
    fn accept(&mut self, actions: Vec<Action>) -> Result<(), DriveError> {
        for action in actions {
            match action {
                Action::Record(_) | Action::Note { .. } | Action::FinishStep(_) | Action::EndWork(_) => {
                    self.perform(action)?;
                }
                _ => self.pending_actions.push(action),
            }
        }
        Ok(())
    }

    /// Syncs the records and prepares the actions in the meantime, then carries out the actions.
    fn perform_pending(&mut self) -> Result<(), DriveError> {
        if self.pending_actions.iter().all(|action| action.only_records(&self.state)) {
            return self.prepare_pending();
        }
        self.store.begin_sync()?;
        // processes are started by tasks, and no task runs before this function has returned
        let prepared = self.prepare_pending();
        if let Err(error) = self.store.end_sync() {
            self.tasks.set.abort_all();
            return Err(error);
        }
        prepared
    }

    fn prepare_pending(&mut self) -> Result<(), DriveError> {
        for action in std::mem::take(&mut self.pending_actions) {
            self.perform(action)?;
            self.show_secrets();
            for (path, warning) in std::mem::take(&mut self.pending_notes) {
                self.note(&path, &warning)?;
            }
        }
        Ok(())
    }

    /// Appends an event to the journal, applies it to the state, and notifies the reporter.
    pub(super) fn record(&mut self, event: Event, value: Option<Value>) -> Result<(), DriveError> {
        let record = self.store.append(clock::now(), event)?;
        if let Some(value) = &value {
            learn_secret(&mut self.mask, &self.state, &record.event, value);
        }
        self.mask.learn_answer(&self.state, &record.event);
        self.state.apply(&self.plan, &record, value);
        if let Event::RecipeEntered { path, .. } = &record.event
            && let Some(frame) = self.state.step(path).and_then(|step| step.frame)
        {
            self.mask.learn_frame(&self.state.frames[frame]);
        }
        if let Event::LoopEntered { path, .. } = &record.event {
            self.mask.learn_items(&self.state, path);
        }
        if let Event::RunResumed(_) = &record.event {
            self.mask.learn_frame(self.state.root());
        }
        for audit in &mut self.audits {
            audit.record(&record.event, &self.state, &self.mask)?;
        }
        self.show_secrets();
        self.reporter.notice(Notice::Event { record: &record, state: &self.state, mask: &self.mask });
        Ok(())
    }

    /// Records a note about a step, with secrets masked: it is shown as it is.
    pub(super) fn note(&mut self, path: &str, message: &str) -> Result<(), DriveError> {
        let message = self.mask.quotation(message).into_owned();
        self.record(Event::Noted { path: Some(path.to_owned()), message, next: None }, None)
    }

    /// What steps are prepared from.
    pub(super) fn preparer(&mut self) -> Preparer<'_, 'a> {
        Preparer {
            spec: &self.spec,
            state: &self.state,
            store: &mut self.store,
            mask: &mut self.mask,
            environment: &mut self.environment,
            ledger: &self.ledger,
            notes: &mut self.pending_notes,
        }
    }

    /// Tells the reporter which values must not be shown.
    fn show_secrets(&mut self) {
        if self.shown_secrets != self.mask.len() {
            self.shown_secrets = self.mask.len();
            self.reporter.notice(Notice::Secrets { mask: &self.mask });
        }
    }

    fn take_progress(&mut self, progress: Progress) -> Result<(), DriveError> {
        match progress {
            Progress::Spawned(started) => {
                let spawned = started.recorded(&mut self.environment.names);
                self.record(Event::Spawned(spawned), None)?;
                // the step runs now, and there is nothing else to do
                self.store.prepared.clear();
                if self.state.has_more() {
                    self.store.prepared.prepare();
                }
            }
            Progress::Activity { path, what } => {
                let what = without_members(self.mask.quotation(&what).into_owned().into_bytes());
                let what = String::from_utf8_lossy(&what);
                self.reporter.notice(Notice::Activity { path: &path, what: &what });
            }
            Progress::Noted { path, message } => self.note(&path, &message)?,
        }
        Ok(())
    }
}

/// Masks the value of a step from now on, if the step makes a secret.
fn learn_secret(mask: &mut Mask, state: &RunState, event: &Event, value: &Value) {
    if let Event::StepFinished { path, .. } | Event::WorkEnded { path, .. } = event
        && let Some(step) = state.planned(path)
    {
        mask.learn_result(&step, value);
    }
}
