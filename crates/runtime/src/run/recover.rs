//! Recovery: asks an agent to finish the work of a failed sub-recipe.

use std::sync::Arc;

use engine::{
    Event, Outcome, StepStatus,
    run::{
        cause, decide,
        event::{Ended, Usage},
        frame::FrameId,
        message::budget_used_up,
        outcome::StopCause,
    },
};
use recipe::{
    plan::{JsonMode, Recoverer, Step, StepKind},
    value::Value,
};

use super::{DriveError, Driver, TaskDone, Waiting, start_agent::AgentRequest};
use crate::{
    machine::{preflight, programs},
    run::recovery::{self, Verdict},
    steps::{
        agent::attempt::run_once,
        shell::attempt::{Finished, read_json},
    },
    store::folder::Recovery,
};

/// Why a recovery failed, and its usage.
pub(super) struct Refusal {
    pub(super) message: String,
    pub(super) usage: Option<Usage>,
}

impl Driver<'_> {
    /// Whether an agent may recover the recipe of a step if it fails.
    pub(super) fn is_offered(&self, step: &Step) -> bool {
        let StepKind::Nested { recovery, .. } = &step.kind else { return false };
        match self.options.recovery {
            Recovery::Off => false,
            Recovery::Declared => *recovery,
            Recovery::Always => true,
        }
    }

    /// Handles a recipe step whose context its recipe does not accept. If an agent may recover it, the recipe is still
    /// entered and stopped at once, so that it ends like every recipe that fails.
    pub(super) fn refuse_entry(&mut self, path: &str, refusal: cause::Refusal) -> Result<(), DriveError> {
        let Some((frame, at)) = self.state.locate(path) else { return Ok(()) };
        let step = Arc::clone(&self.state.frames[frame].unit.steps[at]);
        let unit = self.is_offered(&step).then(|| self.target(path, frame, &step).ok()).flatten();
        let Some(unit) = unit else { return self.nested_failed(path, refusal) };
        let (path, error) = (path.to_owned(), refusal.to_string());
        self.record(Event::RecipeEntered { path: path.clone(), unit: unit.path.clone() }, None)?;
        self.record(Event::RecipeStopped { path, error, cause: StopCause::Refused(refusal) }, None)
    }

    /// Announces that an agent has to finish the work of a sub-recipe; the agent is asked when it is its turn.
    pub(super) fn start_recovery(&mut self, path: &str, id: FrameId) -> Result<(), DriveError> {
        self.closing.insert(id);
        let name = decide::called(&self.state, id);
        let failed = match recovery::failed_steps(&self.state.frames[id]) {
            steps if steps.is_empty() => String::new(),
            steps => format!(" (step '{}')", steps.join(", ")),
        };
        let message = format!("Sub-recipe '{name}' failed{failed}. Attempting agent recovery.");
        self.note(path, format!("warning: {message}"))?;
        if let Some(preflight::Problem { text: problem, .. }) = self.recoverer_problem(id) {
            let message = format!("Cannot attempt agent recovery: no adapter configured: {problem}");
            return self.take_recovery(path, id, Verdict::NotRecovered(message), None);
        }
        if !self.may_start_agent() {
            self.waiting_agents.push_back(Waiting::Recovery { path: path.to_owned(), frame: id });
            return Ok(());
        }
        self.ask_for_recovery(path, id)
    }

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
        let (name, chosen) = programs::choice(self.recoverer(id).program.as_deref(), &self.agents);
        programs::problem(&name, chosen, &self.agents, &self.host)
    }

    pub(super) fn ask_for_recovery(&mut self, path: &str, id: FrameId) -> Result<(), DriveError> {
        let Some((frame, at)) = self.state.frames[id].parent else { return Ok(()) };
        let step = &Arc::clone(&self.state.frames[frame].unit.steps[at]);
        let name = decide::called(&self.state, id);
        let attempt = self.state.frames[frame].steps[at].attempt;
        let recoverer = self.recoverer(id);
        let model = recoverer.model.map(|model| model.render(&self.state.frames[frame]));
        let question = AgentRequest {
            prompt: recovery::prompt(&self.state, id, &self.mask),
            system_prompt: None,
            model: model.filter(|model| !model.is_empty()),
            program: recoverer.program,
            timeout: step.timeout_beside(self.options.step_timeout),
            idle_timeout: None,
            auto_stage: false,
            json_retries: 0,
        };
        let cwd = self.base_dir(id);
        let mut task = match self.question(path, attempt, frame, at, step, cwd, question)? {
            Ok(task) => task,
            Err(exhausted) => {
                let message = format!(
                    "Agent recovery invocation failed for sub-recipe '{name}': {}",
                    budget_used_up(&exhausted)
                );
                return self.take_recovery(path, id, Verdict::NotRecovered(message), None);
            }
        };
        // the step's JSON mode and exit codes are about its recipe, not about the agent's answer
        let (json, exit_codes) = (JsonMode::Text, Vec::new());
        task.step = Arc::new(Step { json, exit_codes, ..Step::clone(step) });
        let wake = self.watch(path, &task.dir.join("stdout"))?;
        let go = self.gate(path);
        let progress = self.progress.0.clone();
        let (path, mode) = (path.to_owned(), self.options.recovery);
        self.running_agents.insert(path.clone());
        self.tasks.spawn(async move {
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

    /// The answer of a recovery as the value of its step, by the step's JSON mode.
    fn read_recovered(&self, path: &str, answer: String) -> Finished {
        let mut finished = Finished::ok();
        match self.state.locate(path) {
            Some((frame, at)) => {
                read_json(&self.state.frames[frame].unit.steps[at], answer, "recipe", &mut finished);
            }
            None => finished.value = Some(Value::from(answer)),
        }
        finished
    }

    pub(super) fn take_recovery(
        &mut self,
        path: &str,
        id: FrameId,
        verdict: Verdict,
        usage: Option<Usage>,
    ) -> Result<(), DriveError> {
        self.gates.remove(path);
        self.end_output(path, None);
        self.agent_is_done(path)?;
        let attempt = self.state.step(path).map_or(0, |step| step.attempt);
        let mut ended = Ended::new(Outcome::Ok, None);
        ended.usage = usage.clone();
        if let Some((frame, _)) = self.state.locate(path) {
            self.note_unknown_cost(frame, path, &ended)?;
        }
        match verdict {
            // a resume asks again
            Verdict::Stopped if self.halt.is_some() => Ok(()),
            Verdict::Stopped => {
                self.closing.remove(&id);
                let message = "Agent recovery was stopped with the recipe around it".to_owned();
                self.nested_close_failed(path, id, Some(Refusal { message, usage }))
            }
            Verdict::NotRecovered(message) => {
                self.note(path, format!("warning: {message}"))?;
                self.closing.remove(&id);
                self.nested_close_failed(path, id, Some(Refusal { message, usage }))
            }
            Verdict::Recovered(answer) => {
                let finished = self.read_recovered(path, answer);
                if finished.ended.outcome != Outcome::Ok && !finished.degraded {
                    let message = finished.ended.error.unwrap_or_default();
                    return self.take_recovery(path, id, Verdict::NotRecovered(message), usage);
                }
                let name = decide::called(&self.state, id);
                let step = path.rsplit('/').next().unwrap_or(path);
                self.note(path, format!("Agent recovery succeeded for sub-recipe '{name}' (step '{step}')"))?;
                self.closing.remove(&id);
                let value = finished.value.unwrap_or_default();
                ended.value = self.store(path, attempt, Some(&value))?;
                let status = if finished.degraded { StepStatus::Degraded } else { StepStatus::Completed };
                (ended.outcome, ended.error) = (finished.ended.outcome, finished.ended.error);
                let event =
                    Event::StepFinished { path: path.to_owned(), attempt, status, ended, recovered: true };
                self.record(event, Some(value))
            }
        }
    }

    /// Records a note about a step, with secrets masked: it is shown as it is.
    pub(super) fn note(&mut self, path: &str, message: String) -> Result<(), DriveError> {
        let message = self.mask.text(&message).into_owned();
        self.record(Event::Noted { path: Some(path.to_owned()), message }, None)
    }
}
