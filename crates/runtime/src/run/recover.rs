//! Recovery: asks an agent to finish the work of a failed sub-recipe.

use std::sync::Arc;

use engine::{
    Outcome,
    run::{decide, frame::FrameId, message::budget_used_up},
};
use recipe::plan::{JsonMode, Recoverer, Step, StepKind};

use super::{
    DriveError, Driver,
    recovery::{self, Verdict},
    start_agent::AgentRequest,
    start_step::StepStart,
    tasks::TaskDone,
};
use crate::{
    machine::{preflight, programs},
    steps::agent::attempt::run_once,
};

impl Driver<'_> {
    /// The agent that the step around a recipe names for its recovery.
    fn recoverer(&self, id: FrameId) -> Recoverer {
        let Some((frame, at)) = self.state.frames[id].parent else { return Recoverer::default() };
        match &self.state.frames[frame].unit.steps[at].kind {
            StepKind::Nested { recoverer, .. } => recoverer.clone(),
            _ => Recoverer::default(),
        }
    }

    /// The reason why that agent cannot be asked, if any.
    fn recoverer_problem(&self, id: FrameId) -> Option<preflight::Problem> {
        let (name, chosen) = programs::choice(self.recoverer(id).program.as_deref(), &self.spec.agents);
        programs::problem(&name, chosen, &self.spec.agents, &self.spec.host)
    }

    /// Asks an agent to finish the work of a sub-recipe.
    pub(super) fn ask_for_recovery(&mut self, path: &str, id: FrameId) -> Result<(), DriveError> {
        if let Some(preflight::Problem { text: problem, .. }) = self.recoverer_problem(id) {
            let message = format!("Cannot attempt agent recovery: no adapter configured: {problem}");
            return self.take_recovery(path.to_owned(), id, Verdict::NotRecovered(message), None);
        }
        let attempt = self.state.step(path).map_or(0, |step| step.attempt);
        let Some(start) = StepStart::new(&self.state, path.to_owned(), attempt) else { return Ok(()) };
        let step = &start.step;
        let name = decide::called(&self.state, id);
        let recoverer = self.recoverer(id);
        let model = recoverer.model.map(|model| model.render(&self.state.frames[start.frame]));
        let request = AgentRequest {
            prompt: recovery::prompt(&self.state, id, &self.mask),
            system_prompt: None,
            model: model.filter(|model| !model.is_empty()),
            program: recoverer.program,
            timeout: step.timeout_beside(self.spec.options.step_timeout),
            idle_timeout: None,
            auto_stage: false,
            json_retries: 0,
        };
        let cwd = self.base_dir(id);
        let mut task = match self.agent_task(&start, cwd, request)? {
            Ok(task) => task,
            Err(exhausted) => {
                let message = format!(
                    "Agent recovery invocation failed for sub-recipe '{name}': {}",
                    budget_used_up(&exhausted)
                );
                return self.take_recovery(start.path, id, Verdict::NotRecovered(message), None);
            }
        };
        // the step's JSON mode and exit codes are about its recipe, not about the agent's answer
        let (json, exit_codes) = (JsonMode::Text, Vec::new());
        task.step = Arc::new(Step { json, exit_codes, ..Step::clone(&start.step) });
        let wake = self.watch(path, &task.dir.join("stdout"))?;
        let go = self.tasks.stop_signal(path);
        let progress = self.tasks.progress.0.clone();
        let (path, mode) = (path.to_owned(), self.spec.options.recovery);
        self.tasks.set.spawn(async move {
            let (call, usage) = match run_once(task, wake, go, progress).await {
                Ok(done) => done,
                Err(error) => return TaskDone::Broken(error),
            };
            let answer = match (call.outcome, call.result) {
                (Outcome::Cancelled, _) => Verdict::Stopped,
                (_, Ok(answer)) => recovery::judge(&answer, mode, &name),
                (_, Err(error)) => Verdict::NotRecovered(format!(
                    "Agent recovery invocation failed for sub-recipe '{name}': {error}"
                )),
            };
            TaskDone::Recovered { path, frame: id, answer, usage: Some(usage) }
        });
        Ok(())
    }
}
