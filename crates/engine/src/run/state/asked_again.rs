//! Why agents are asked again, as the events tell: a check after their work failed, their own attempt did, or it was cut
//! off. Never decides that an agent runs again, and never words the reason.

use std::{collections::HashMap, sync::Arc};

use recipe::{plan::StepKind, value::Value};

use super::RunState;
use crate::run::{
    event::Ended,
    frame::{FrameId, StepState},
    outcome::{Outcome, StepStatus},
};

/// Why an agent is asked again.
#[derive(Clone, Debug, Default)]
pub struct AskedAgain {
    /// Steps after its work that failed.
    pub checks: Vec<FailedCheck>,
    /// The end of its own last attempt, if that failed.
    pub own: Option<Arc<Ended>>,
    /// Its last answer, or the part of it that is known.
    pub answer: Option<Value>,
    /// Whether its last attempt was cut off, and may have done half of its work.
    pub cut_off: bool,
}

/// A step that failed after the work of an agent.
#[derive(Clone, Debug)]
pub struct FailedCheck {
    /// The step.
    pub path: String,
    /// Its command with its values, if it has one.
    pub command: Option<String>,
    /// How it ended.
    pub ended: Arc<Ended>,
}

impl RunState {
    /// Why the agent of a step is asked again, if it is.
    pub fn asked_again(&self, path: &str) -> Option<&AskedAgain> {
        self.asked_again
            .get(path)
            .filter(|again| !again.checks.is_empty() || again.own.is_some() || again.cut_off)
    }

    /// Notes the end of a step: one that has done its work is not asked again.
    pub(super) fn note_end(&mut self, path: &str, status: StepStatus, ended: &Ended, value: Option<&Value>) {
        match status {
            StepStatus::Failed => self.note_own_failure(path, ended, value.cloned()),
            _ => drop(self.asked_again.remove(path)),
        }
    }

    /// Notes the failed attempt of an agent step, for its next attempt.
    pub(super) fn note_own_failure(&mut self, path: &str, ended: &Ended, answer: Option<Value>) {
        if !self.is_agent_step(path) || !is_about_work(ended) {
            return;
        }
        let again = self.asked_again.entry(path.to_owned()).or_default();
        again.own = Some(Arc::new(ended.clone()));
        again.answer = answer.or_else(|| again.answer.take());
    }

    /// Notes what failed in a sub-recipe that runs again, for its agents.
    pub(super) fn note_failed_recipe(&mut self, path: &str, recipe: FrameId, ended: &Ended) {
        let checks = match ended.outcome {
            Outcome::Ensure => {
                vec![FailedCheck { path: path.to_owned(), command: None, ended: Arc::new(ended.clone()) }]
            }
            _ => self.failed_checks(recipe),
        };
        let mut agents = HashMap::new();
        self.find_agents(recipe, &mut agents);
        self.note_checks(checks, agents);
    }

    /// Notes the checks that failed before a resume, for these finished steps that run again.
    pub(crate) fn note_failed_checks<'a>(
        &mut self,
        redone: impl Iterator<Item = (&'a String, &'a StepState)>,
    ) {
        let agents = redone.filter(|(_, step)| is_agent(step));
        let agents = agents.map(|(path, step)| (path.clone(), step.value.clone())).collect();
        self.note_checks(self.failed_checks(0), agents);
    }

    /// Notes the agents that were at work when their runner stopped.
    pub(crate) fn note_cut_off(&mut self) {
        for path in self.cut_off_steps() {
            if self.is_agent_step(&path) {
                self.asked_again.entry(path).or_default().cut_off = true;
            }
        }
    }

    fn note_checks(&mut self, checks: Vec<FailedCheck>, agents: HashMap<String, Option<Value>>) {
        for (path, answer) in agents {
            let checks: Vec<FailedCheck> =
                checks.iter().filter(|check| check.path != path).cloned().collect();
            if !checks.is_empty() {
                self.asked_again.insert(path, AskedAgain { checks, answer, ..AskedAgain::default() });
            }
        }
    }

    /// The innermost failed steps of a recipe that say something about the work before them.
    fn failed_checks(&self, recipe: FrameId) -> Vec<FailedCheck> {
        let says_something = |ended: &Ended| {
            let is_other_agent = ended.usage.is_some() && ended.outcome != Outcome::Ensure;
            is_about_work(ended) && !is_other_agent
        };
        let causes = self.causes_in(recipe).into_iter().filter(|(_, _, ended)| says_something(ended));
        let check = |(id, at, ended): (FrameId, usize, &Ended)| {
            let frame = &self.frames[id];
            let command = match &frame.unit.steps[at].kind {
                StepKind::Shell { command } => Some(command.render(&frame.scope(at))),
                _ => None,
            };
            FailedCheck { path: frame.step_path(at), command, ended: Arc::new(ended.clone()) }
        };
        causes.map(check).collect()
    }

    /// The agents that worked in a recipe and below it, with their answers.
    fn find_agents(&self, recipe: FrameId, agents: &mut HashMap<String, Option<Value>>) {
        let frame = &self.frames[recipe];
        for (at, step) in frame.steps.iter().enumerate() {
            match step.frame {
                Some(child) => self.find_agents(child, agents),
                None if is_agent(step) && step.status.is_done() => {
                    agents.insert(frame.step_path(at), step.value.clone());
                }
                None => {}
            }
        }
    }

    fn is_agent_step(&self, path: &str) -> bool {
        self.planned(path).is_some_and(|step| matches!(step.kind, StepKind::Agent(_)))
    }
}

/// Whether a finished step was the work of an agent. A sub-recipe has a frame, even if an agent finished its work.
fn is_agent(step: &StepState) -> bool {
    step.frame.is_none() && step.ended.as_ref().is_some_and(|ended| ended.usage.is_some())
}

/// Whether an end says something about the work, and not about a service, a limit or a stop.
fn is_about_work(ended: &Ended) -> bool {
    ended.trouble.is_none()
        && matches!(
            ended.outcome,
            Outcome::Exit(_)
                | Outcome::Signal(_)
                | Outcome::TimedOut(_)
                | Outcome::Idle(_)
                | Outcome::NotJson { .. }
                | Outcome::Agent(_)
                | Outcome::Ensure
                | Outcome::Rejected { .. }
        )
}
