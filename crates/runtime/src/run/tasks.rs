//! The tasks of a run: attempts, hooks, timers and sweeps, and the senders that stop them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use engine::run::{
    actions::FailedRecipe, attempt::AttemptResult, cause::Refusal, ensure::CheckEnd, event::Usage,
    frame::FrameId, recovery_answer::RecoveryVerdict, step_path::is_below,
};
use engine::{Outcome, RunState};
use jiff::Timestamp;
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
};

use super::hooks::{Hook, HookReport};
use crate::{
    os::{
        clock,
        process::{self, Filter, Survivor},
    },
    steps::{
        ensure::Baseline,
        shell::attempt::{Progress, StopSignal, duration, stopped},
    },
    store::folder::FolderError,
};

/// Running tasks.
pub(super) struct Tasks {
    pub(super) set: JoinSet<TaskDone>,
    stop_senders: BTreeMap<String, watch::Sender<StopSignal>>,
    pub(super) progress: (mpsc::UnboundedSender<Progress>, mpsc::UnboundedReceiver<Progress>),
    /// Whether tasks that start are stopped at once.
    is_stopping: bool,
    /// Steps that continue, with everything inside them, while the others are stopped.
    spared: Vec<String>,
}

/// The result of a finished task.
pub(crate) enum TaskDone {
    /// An attempt ended.
    Attempt {
        path: String,
        attempt: u32,
        hook: Option<HookReport>,
        result: Box<Result<AttemptResult, FolderError>>,
    },
    /// A hook ended.
    Hook(HookReport),
    /// The delay before a retry is over.
    Retry { path: String, ended: Vec<Survivor> },
    /// The wait before an iteration of a loop is over.
    Iteration { path: String },
    /// The processes that a failed recipe left running were ended.
    Leftovers { failed: Box<FailedRecipe>, ended: Vec<Survivor> },
    /// A sub-recipe can be entered, or cannot.
    Checked { path: String, hook: Option<HookReport>, unit: Option<String>, problem: Option<Refusal> },
    /// A question may be put: the hook before it has ended.
    MayAsk { path: String, attempt: u32, hook: Option<HookReport> },
    /// A sub-recipe timed out.
    RecipeTimeout { path: String, seconds: f64 },
    /// A recovery agent answered.
    Recovered { path: String, frame: FrameId, answer: RecoveryVerdict, usage: Option<Usage> },
    /// The rules of a step were checked.
    Ensured { path: String, attempt: u32, end: CheckEnd },
    /// Nothing has to be done.
    Nothing,
    /// The runner itself failed inside a task.
    Broken(FolderError),
}

impl Tasks {
    pub(super) fn new() -> Tasks {
        Tasks {
            set: JoinSet::new(),
            stop_senders: BTreeMap::new(),
            progress: mpsc::unbounded_channel(),
            is_stopping: false,
            spared: Vec::new(),
        }
    }

    /// A receiver that is told when the task of this key has to stop.
    pub(super) fn stop_signal(&mut self, key: &str) -> watch::Receiver<StopSignal> {
        let (sender, receiver) = watch::channel(StopSignal::None);
        if self.is_stopping && !is_within(key, &self.spared) {
            let _ = sender.send(StopSignal::Run);
        }
        self.stop_senders.insert(key.to_owned(), sender);
        receiver
    }

    /// Starts the work of a step, after the hook before it and after the state of its files is stored.
    pub(super) fn start<W: Future<Output = TaskDone> + Send + 'static>(
        &mut self,
        path: String,
        hook: Option<Hook>,
        baseline: Option<Baseline>,
        work: impl FnOnce(Option<HookReport>, watch::Receiver<StopSignal>) -> W + Send + 'static,
    ) {
        let go = self.stop_signal(&path);
        let progress = self.progress.0.clone();
        self.set.spawn(async move {
            let hook = match hook {
                Some(hook) => Some(hook.run(go.clone(), progress).await),
                None => None,
            };
            if let Some(baseline) = baseline
                && let Err(error) = baseline.take().await
            {
                return TaskDone::Broken(error);
            }
            work(hook, go).await
        });
    }

    /// Starts a hook after a step.
    pub(super) fn start_hook(&mut self, hook: Hook) {
        let go = self.stop_signal(&hook.key());
        let progress = self.progress.0.clone();
        self.set.spawn(async move { TaskDone::Hook(hook.run(go, progress).await) });
    }

    /// Whether certainly nothing of the run is alive. An earlier process of the same run may have left something that
    /// does not descend from this one.
    pub(super) fn are_all_gone(&self, state: &RunState) -> bool {
        state.resumes == 0 && self.set.is_empty() && process::is_alone()
    }

    /// Forgets a task that has ended.
    pub(super) fn forget(&mut self, key: &str) {
        self.stop_senders.remove(key);
    }

    /// Stops all tasks, and those that start later, except those of these steps.
    pub(super) fn stop_all_but(&mut self, spared: Vec<String>) {
        (self.is_stopping, self.spared) = (true, spared);
        for (_, sender) in self.stop_senders.iter().filter(|(key, _)| !is_within(key, &self.spared)) {
            let _ = sender.send(StopSignal::Run);
        }
    }

    /// Lets tasks start again after all of them have ended.
    pub(super) fn accept_again(&mut self) {
        self.is_stopping = false;
    }

    /// Stops the tasks inside the recipe of a step, except those of these steps.
    pub(super) fn stop_below(&self, path: &str, why: &str, spared: &[String]) {
        let late = StopSignal::Timeout(Arc::from(why));
        let is_meant = |key: &str| is_below(step_of(key), path) && !is_within(key, spared);
        for (_, sender) in self.stop_senders.iter().filter(|(key, _)| is_meant(key)) {
            // a step that is already being stopped keeps its first reason
            sender.send_if_modified(|go| match go {
                StopSignal::None => {
                    *go = late.clone();
                    true
                }
                _ => false,
            });
        }
    }

    /// Ends a step before it started.
    pub(super) fn refuse(&mut self, path: &str, attempt: u32, kind: &str, outcome: Outcome) {
        let path = path.to_owned();
        let result = Box::new(Ok(AttemptResult::failed(kind, outcome, "")));
        self.set.spawn(async move { TaskDone::Attempt { path, attempt, hook: None, result } });
    }

    /// Waits before the next attempt at a step, and ends what the last one left running.
    pub(super) fn wait_for_retry(&mut self, path: String, milliseconds: u64, leftovers: Leftovers) {
        let mut go = self.stop_signal(&path);
        self.set.spawn(async move {
            let wait = async {
                tokio::select! {
                    biased;
                    () = tokio::time::sleep(Duration::from_millis(milliseconds)) => {}
                    () = stopped(&mut go) => {}
                }
            };
            let (ended, ()) = tokio::join!(leftovers.end(), wait);
            TaskDone::Retry { path, ended }
        });
    }

    /// Waits until an iteration of a loop is due. The time is that of the clock, so that a resume waits for the rest.
    pub(super) fn wait_for_iteration(&mut self, path: String, due: Timestamp) {
        let mut go = self.stop_signal(&path);
        let wait = Duration::try_from(due.duration_since(clock::now())).unwrap_or_default();
        self.set.spawn(async move {
            tokio::select! {
                biased;
                () = tokio::time::sleep(wait) => {}
                () = stopped(&mut go) => {}
            }
            TaskDone::Iteration { path }
        });
    }

    /// Starts the timeout of a recipe step. As for every step, the hook before it does not count.
    pub(super) fn limit_recipe(&mut self, path: String, seconds: f64) {
        let mut go = self.stop_signal(&timeout_key(&path));
        self.set.spawn(async move {
            tokio::select! {
                biased;
                () = tokio::time::sleep(duration(seconds)) => TaskDone::RecipeTimeout { path, seconds },
                () = stopped(&mut go) => TaskDone::Nothing,
            }
        });
    }

    /// Ends the processes that a failed recipe left running.
    pub(super) fn end_leftovers(&mut self, leftovers: Leftovers, failed: Box<FailedRecipe>) {
        self.set.spawn(async move {
            let ended = leftovers.end().await;
            TaskDone::Leftovers { failed, ended }
        });
    }

    /// Kills all processes of the run at once.
    pub(super) fn kill_all(&mut self, run_id: &str) {
        let filter = Filter::run(run_id);
        self.set.spawn(async move {
            process::end_marked(&filter, Duration::ZERO).await;
            TaskDone::Nothing
        });
    }
}

/// Whether the task of a key belongs to one of these steps, or to a step inside one.
fn is_within(key: &str, steps: &[String]) -> bool {
    let own = step_of(key);
    steps.iter().any(|step| own == step || is_below(own, step))
}

/// The step that a key belongs to: the key of a timeout has more than its path.
fn step_of(key: &str) -> &str {
    key.split('\0').next().unwrap_or(key)
}

/// The key of the timeout of a recipe step.
pub(super) fn timeout_key(path: &str) -> String {
    format!("{path}\u{0}timeout")
}

/// Processes that failed attempts left running. Never those that a completed step left for later steps.
pub(super) struct Leftovers {
    pub(super) run_id: String,
    /// The attempts that they belong to, as they are marked: `path#attempt`.
    pub(super) attempts: Vec<String>,
    pub(super) grace: Duration,
}

impl Leftovers {
    /// Ends them; returns those that are gone.
    async fn end(self) -> Vec<Survivor> {
        let Leftovers { run_id, attempts, grace } = self;
        let mut sweeps = JoinSet::new();
        for step in attempts {
            let filter = Filter { step: Some(step), ..Filter::run(&run_id) };
            sweeps.spawn(async move { process::end_marked(&filter, grace).await });
        }
        let mut gone = Vec::new();
        while let Some(swept) = sweeps.join_next().await {
            // processes that could not be ended are searched for again at the end of the run
            gone.extend(swept.into_iter().flat_map(|swept| swept.gone().cloned().collect::<Vec<_>>()));
        }
        gone
    }
}
