//! The tasks of a run: attempts, hooks, timers and sweeps, and the senders that stop them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use engine::Outcome;
use engine::run::{
    actions::FailedRecipe, attempt::AttemptResult, cause::Refusal, event::Usage, frame::FrameId,
    recovery_answer::RecoveryVerdict,
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
};

use super::hooks::HookReport;
use crate::{
    os::process::{self, Filter, Survivor},
    steps::shell::attempt::{Progress, StopSignal, duration, stopped},
    store::folder::FolderError,
};

/// Running tasks.
pub(super) struct Tasks {
    pub(super) set: JoinSet<TaskDone>,
    stop_senders: BTreeMap<String, watch::Sender<StopSignal>>,
    pub(super) progress: (mpsc::UnboundedSender<Progress>, mpsc::UnboundedReceiver<Progress>),
    is_stopping: bool,
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
    /// The processes that a failed recipe left running were ended.
    Leftovers { failed: Box<FailedRecipe>, ended: Vec<Survivor> },
    /// A sub-recipe can be entered, or cannot.
    Checked { path: String, hook: Option<HookReport>, unit: Option<String>, problem: Option<Refusal> },
    /// A sub-recipe timed out.
    RecipeTimeout { path: String, seconds: f64 },
    /// A recovery agent answered.
    Recovered { path: String, frame: FrameId, answer: RecoveryVerdict, usage: Option<Usage> },
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
        }
    }

    /// A receiver that is told when the task of this key has to stop.
    pub(super) fn stop_signal(&mut self, key: &str) -> watch::Receiver<StopSignal> {
        let (sender, receiver) = watch::channel(StopSignal::None);
        if self.is_stopping {
            let _ = sender.send(StopSignal::Run);
        }
        self.stop_senders.insert(key.to_owned(), sender);
        receiver
    }

    /// Forgets a task that has ended.
    pub(super) fn forget(&mut self, key: &str) {
        self.stop_senders.remove(key);
    }

    /// Stops all tasks, and those that start later.
    pub(super) fn stop_all(&mut self) {
        self.is_stopping = true;
        for sender in self.stop_senders.values() {
            let _ = sender.send(StopSignal::Run);
        }
    }

    /// Stops the tasks inside the recipe of a step.
    pub(super) fn stop_below(&self, path: &str, why: &str) {
        let below = format!("{path}/");
        let late = StopSignal::Timeout(Arc::from(why));
        for (_, sender) in self.stop_senders.iter().filter(|(key, _)| key.starts_with(&below)) {
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
