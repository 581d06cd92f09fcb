//! Recovery: asks an agent to finish the work of a failed sub-recipe.

use std::sync::Arc;

use engine::{
    Outcome, RunState,
    run::{
        decide,
        frame::FrameId,
        message::budget_used_up,
        recovery_answer::{RecoveryVerdict, judge},
    },
};
use recipe::plan::{JsonMode, Permissions, Recoverer, Step, StepKind};

use super::{DriveError, Driver, RunSpec, recovery_prompt, start_step::StepStart, tasks::TaskDone};
use crate::{
    machine::programs,
    steps::agent::{attempt::run_once, request::AgentRequest},
};

impl Driver<'_> {
    /// Asks an agent to finish the work of a sub-recipe.
    pub(super) fn ask_for_recovery(&mut self, path: &str, id: FrameId) -> Result<(), DriveError> {
        let (recoverer, named) = recoverer(&self.state, id);
        let permissions = self.spec.permissions_in(&self.state, id);
        if let Some(problem) = recovery_problem(&self.spec, &named, permissions) {
            let message = format!("Cannot attempt agent recovery: no adapter configured: {problem}");
            return self.take_recovery(path.to_owned(), id, RecoveryVerdict::NotRecovered(message), None);
        }
        let attempt = self.state.step(path).map_or(0, |step| step.attempt);
        let Some(start) = StepStart::new(&self.state, path.to_owned(), attempt) else { return Ok(()) };
        self.state.frames[start.frame].bind(start.at);
        let name = decide::called(&self.state, id);
        let model = recoverer.model.map(|model| model.render(&self.state.frames[start.frame]));
        let prompt = recovery_prompt::prompt(&self.state, id, &self.mask);
        let timeout = start.step.timeout_beside(self.spec.options.step_timeout);
        let request = AgentRequest {
            model: model.filter(|model| !model.is_empty()),
            model_for: programs::choices(&named, &self.spec.agents).0.first().cloned(),
            programs: named,
            ..AgentRequest::new(prompt, permissions, timeout)
        };
        let cwd = self.spec.base_dir(&self.state, id);
        let mut task = match self.preparer().agent_task(&start, cwd, request)? {
            Ok(task) => task,
            Err(exhausted) => {
                let message = format!(
                    "Agent recovery invocation failed for sub-recipe '{name}': {}",
                    budget_used_up(&exhausted)
                );
                return self.take_recovery(start.path, id, RecoveryVerdict::NotRecovered(message), None);
            }
        };
        // the step's JSON mode and exit codes are about its recipe, not about the agent's answer
        let (json, exit_codes) = (JsonMode::Text, Vec::new());
        task.step = Arc::new(Step { json, exit_codes, ..Step::clone(&start.step) });
        let wake = self.shown.watch(path, &task.run.join(&task.dir).join("stdout"))?;
        let go = self.tasks.stop_signal(path);
        let progress = self.tasks.progress.0.clone();
        let (path, mode) = (path.to_owned(), self.spec.options.recovery);
        self.tasks.set.spawn(async move {
            let (call, usage) = match run_once(task, wake, go, progress).await {
                Ok(done) => done,
                Err(error) => return TaskDone::Broken(error),
            };
            let answer = match (call.outcome, call.result) {
                (Outcome::Cancelled, _) => RecoveryVerdict::Stopped,
                (_, Ok(answer)) => judge(&answer, mode, &name),
                (_, Err(error)) => RecoveryVerdict::NotRecovered(format!(
                    "Agent recovery invocation failed for sub-recipe '{name}': {error}"
                )),
            };
            TaskDone::Recovered { path, frame: id, answer, usage: Some(usage) }
        });
        Ok(())
    }
}

/// The reason why no agent can be asked, if there is one.
fn recovery_problem(spec: &RunSpec<'_>, named: &[String], permissions: Permissions) -> Option<String> {
    let missing = programs::problem_of_all(named, &spec.agents, &spec.host);
    let refused = || spec.able_programs(named, permissions).err();
    missing.map(|missing| missing.text).or_else(|| refused().map(|why| why.to_string()))
}

/// The agent that the step around a recipe names for its recovery, and its programs with the values of that step.
fn recoverer(state: &RunState, id: FrameId) -> (Recoverer, Vec<String>) {
    let Some((frame, at)) = state.frames[id].parent else { return (Recoverer::default(), Vec::new()) };
    match &state.frames[frame].unit.steps[at].kind {
        StepKind::Nested { recoverer, .. } => {
            (recoverer.clone(), recoverer.programs.named(&state.frames[frame].scope(at)))
        }
        _ => (Recoverer::default(), Vec::new()),
    }
}
