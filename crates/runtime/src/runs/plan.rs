//! What a resume would do. Never does it.

use engine::{
    RunStatus,
    diagnosis::{Bucket, Commands},
    resume_plan::{self, Blame, Effects, Interrupted, Request, ResumePlan, Resumer},
};
use recipe::value::Map;

use super::{
    Runs, Shown,
    late::Next,
    resume::{Resume, ResumeError, asks_agents},
};

impl Runs {
    /// Completed steps with agents in them that a plain resume would do again.
    pub fn agents_done_again(&self, run: &str) -> Vec<String> {
        let shown = self.find(run).ok().and_then(|folder| self.open(folder).ok());
        let Some(shown) = shown else { return Vec::new() };
        shown.plain_plan().redo.into_iter().filter(|path| asks_agents(&shown, path)).collect()
    }
}

impl Shown {
    /// What a resume would do that says nothing else.
    fn plain_plan(&self) -> ResumePlan {
        let Next { plan, late, .. } = self.same();
        resume_plan::plan(&Request {
            state: &self.state,
            before: &self.plan,
            plan: &plan,
            late: &late,
            given: &Map::new(),
            remains: &self.remains(),
            resumer: Resumer::Person { producers: resume_plan::Producers::Linked },
            blame: blame(self),
            from: None,
            effects: Effects::Once,
            interrupted: Interrupted::Ask,
        })
    }

    /// What a person has to choose from, each as a command, where a resume has stopped for that.
    pub(super) fn choices(&self) -> Vec<String> {
        let run = &self.header.run_id;
        let said = self.state.finished.as_ref().filter(|finished| finished.status == RunStatus::Waiting);
        let Some(said) = said.and_then(|finished| finished.error.as_deref()) else { return Vec::new() };
        let is_why = |stop: ResumeError| stop.to_string() == said;
        let command = |flag: &str| self.reach.command(&format!("resume {run} {flag}"));
        let undecided = self.undecided();
        if let Some(step) = undecided.first()
            && is_why(ResumeError::Choose { run: run.clone(), step: step.clone() })
        {
            return vec![
                format!("look at what `{step}` did before it was interrupted"),
                format!("run it again: {}", command("--rerun-interrupted")),
                format!("or leave it out: {}", command("--skip-interrupted")),
            ];
        }
        let steps = self.plain_plan().blocked_effects;
        if !steps.is_empty() && is_why(ResumeError::Effects { run: run.clone(), steps: steps.clone() }) {
            let list = steps.join(", ");
            return vec![
                format!("to go on, side effects that are done would be repeated: {list}"),
                format!("allow it: {}", command("--rerun-effects")),
            ];
        }
        Vec::new()
    }

    /// What a resume would do, without doing it.
    pub fn resume_plan(&self, resume: &Resume<'_>) -> Result<ResumePlan, ResumeError> {
        self.plan_with(resume, &self.next(resume))
    }

    /// The same, where it is known what it goes on with.
    pub(super) fn plan_with(&self, resume: &Resume<'_>, next: &Next) -> Result<ResumePlan, ResumeError> {
        if let Some(step) = &resume.from
            && (self.state.locate(step).is_none() || step.starts_with('/'))
        {
            return Err(ResumeError::NoStep { run: self.header.run_id.clone(), step: step.clone() });
        }
        Ok(resume_plan::plan(&Request {
            state: &self.state,
            before: &self.plan,
            given: &resume.given,
            plan: &next.plan,
            late: &next.late,
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
