//! Work of this process that was handed out and has not ended. A resume begins with none of it.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::run::{
    actions::HookKind, attempt::AttemptResult, ending::Halt, event::Usage, frame::FrameId, state::RunState,
};

/// The work that is under way.
#[derive(Clone, Debug, Default)]
pub(crate) struct LiveWork {
    /// Why the run was asked to stop; nothing new starts then.
    pub(crate) stop: Option<Halt>,
    /// After such a request: whether all work has ended that does not survive it.
    pub(crate) has_come_to_rest: bool,
    /// After such a request: whether `always` steps do not run either.
    pub(crate) no_cleanup: bool,
    /// Cleanup steps of an earlier process that were cut off and must not run again.
    pub(crate) abandoned: HashSet<String>,
    /// Sub-recipes that have ended and whose end is not recorded yet.
    pub(crate) closing: HashSet<FrameId>,
    /// Steps with an agent at work.
    pub(crate) running_agents: HashSet<String>,
    /// Agents that wait for others to end.
    pub(crate) waiting_agents: VecDeque<WaitingAgent>,
    /// Whether a sub-recipe was stopped, so that agents which wait in it have to be dismissed.
    pub(crate) has_stopped_recipe: bool,
    /// Timeouts of recipes that were entered and in which no work has begun, by the path of the recipe step.
    pub(crate) due_limits: HashMap<String, f64>,
    /// Models for the next attempts of steps whose own model is rate limited.
    pub(crate) fallback_models: HashMap<String, String>,
    /// Steps whose `pre_step` hook was handed out.
    pub(crate) hooked: HashSet<String>,
    /// Hooks of finished steps that are to be started.
    pub(crate) due_hooks: VecDeque<(String, HookKind)>,
    /// How many frames there are of earlier processes. They come first, after the main recipe.
    pub(crate) frames_before: usize,
    /// Usage of agents before this process.
    pub(crate) used_before: Usage,
    /// The same below every recipe step, by its path.
    pub(crate) used_below_before: HashMap<String, Usage>,
    /// Programs that do not report their cost, and about which there is a note.
    pub(crate) without_cost: HashSet<String>,
    /// Iterations of loops that have to wait before they start.
    pub(crate) due_iterations: HashMap<String, IterationWait>,
    /// The last failed attempts of steps that wait for a retry.
    pub(crate) failed_attempts: HashMap<String, AttemptResult>,
}

impl LiveWork {
    /// No work, after an earlier process.
    pub(crate) fn after(state: &RunState) -> LiveWork {
        LiveWork {
            used_before: state.used.clone(),
            used_below_before: state.used_below.clone(),
            ..LiveWork::default()
        }
    }
}

/// The wait before an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IterationWait {
    /// It was handed out.
    Begun,
    /// It is over.
    Over,
}

/// An agent that waits because the maximum number of agents is at work.
#[derive(Clone, Debug)]
pub(crate) enum WaitingAgent {
    /// The agent of an agent step.
    Step {
        /// The step.
        path: String,
        /// Which attempt.
        attempt: u32,
    },
    /// The agent that has to finish the work of a sub-recipe.
    Recovery {
        /// The step that runs it.
        path: String,
        /// Its frame.
        frame: FrameId,
    },
}

impl WaitingAgent {
    pub(crate) fn path(&self) -> &str {
        let (WaitingAgent::Step { path, .. } | WaitingAgent::Recovery { path, .. }) = self;
        path
    }
}
