//! The plan of a resume, to look at and to approve. Never changes the run.

use std::path::PathBuf;

use engine::{
    RunStatus,
    resume::{Interrupted, ResumePlan},
};

use super::{Listener, RequestError, ResumeRequest};
use crate::{
    machine::local::LocalMachine,
    runs::{OpenedRun, Runs},
    store::secrets::Mask,
};

/// The plan of a resume.
pub struct PlannedResume {
    request: ResumeRequest,
    /// The plan.
    pub plan: ResumePlan,
    /// Its digest.
    pub digest: String,
    /// Completed agent steps that would run again; empty if the resume would stop before.
    pub agents_again: Vec<String>,
    /// The run.
    pub run: String,
    /// The recipe of the run, with a name valid in any directory.
    pub recipe: String,
    /// Recipe files that have changed since the run began, and whose old version it uses.
    pub changed: Vec<PathBuf>,
    /// The secrets of the run.
    pub mask: Mask,
}

impl PlannedResume {
    /// The request to carry out exactly this plan.
    pub fn approved(self) -> ResumeRequest {
        ResumeRequest { plan_digest: Some(self.digest), ..self.request }
    }
}

impl Runs {
    /// Plans a resume.
    pub fn plan_resume(
        &self,
        request: &ResumeRequest,
        machine: &LocalMachine,
        listener: &mut dyn Listener,
    ) -> Result<PlannedResume, RequestError> {
        self.with_ready(request, machine, listener, |ready, _| {
            let (opened, mut resume) = (ready.opened, ready.resume);
            // a completed run does not change, so `from` has no effect
            resume.from = resume.from.filter(|_| opened.status != RunStatus::Completed);
            let plan = opened.resume_plan(&resume)?;
            let agents_again = match would_go_on(&opened, &plan, resume.interrupted) {
                true => opened.agents_again(&plan),
                false => Vec::new(),
            };
            Ok(PlannedResume {
                request: request.clone(),
                digest: opened.plan_digest(&plan, &resume),
                plan,
                agents_again,
                run: opened.folder.id(),
                recipe: opened.recipe.name(),
                changed: if resume.edited.is_none() { opened.changed_recipes() } else { Vec::new() },
                mask: opened.mask,
            })
        })
    }
}

/// Whether a resume would carry out its plan, and not refuse first.
fn would_go_on(opened: &OpenedRun, plan: &ResumePlan, interrupted: Interrupted) -> bool {
    let is_decided = interrupted != Interrupted::Ask || opened.state.undecided_steps().is_empty();
    opened.status != RunStatus::Completed
        && opened.folder.owner().is_none()
        && opened.header.working_dir.is_dir()
        && is_decided
        && plan.blocked_effects.is_empty()
}
