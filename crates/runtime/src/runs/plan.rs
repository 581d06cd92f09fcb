//! What a resume would do. Never does it.

use engine::{
    diagnosis::{Bucket, Commands},
    resume_plan::{self, Blame, Effects, Interrupted, Request, ResumePlan, Resumer},
};
use recipe::value::Map;

use super::{
    Runs, Shown,
    resume::{Resume, ResumeError, asks_agents},
};

impl Runs {
    /// Completed steps with agents in them that a plain resume would do again.
    pub fn agents_done_again(&self, run: &str) -> Vec<String> {
        let shown = self.find(run).ok().and_then(|folder| self.open(folder).ok());
        let Some(shown) = shown else { return Vec::new() };
        let plan = resume_plan::plan(&Request {
            state: &shown.state,
            before: &shown.plan,
            plan: &shown.plan,
            given: &Map::new(),
            remains: &shown.remains(),
            resumer: Resumer::Person { producers: resume_plan::Producers::Linked },
            blame: blame(&shown),
            from: None,
            effects: Effects::Once,
            interrupted: Interrupted::Ask,
        });
        plan.redo.into_iter().filter(|path| asks_agents(&shown, path)).collect()
    }
}

impl Shown {
    /// What a resume would do, without doing it.
    pub fn resume_plan(&self, resume: &Resume<'_>) -> Result<ResumePlan, ResumeError> {
        if let Some(step) = &resume.from
            && (self.state.locate(step).is_none() || step.starts_with('/'))
        {
            return Err(ResumeError::NoStep { run: self.header.run_id.clone(), step: step.clone() });
        }
        Ok(resume_plan::plan(&Request {
            state: &self.state,
            before: &self.plan,
            given: &resume.given,
            plan: resume.edited.as_ref().map_or(&self.plan, |(plan, _)| plan),
            remains: &self.remains(),
            resumer: resume.resumer,
            blame: blame(self),
            from: resume.from.as_deref(),
            effects: resume.effects,
            interrupted: resume.interrupted,
        }))
    }
}

/// What the failure is put down to.
fn blame(shown: &Shown) -> Blame {
    let found = crate::diagnose::failure(
        &shown.plan,
        &shown.state,
        Some(shown.folder.path()),
        |_| Commands::default(),
        &shown.mask,
    );
    match found.map(|found| found.diagnosis.bucket) {
        Some(Bucket::Work) => Blame::Work,
        _ => Blame::Other,
    }
}
