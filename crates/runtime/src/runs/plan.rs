//! What a resume would do. Never does it.

use engine::{
    RunStatus,
    failure::{Bucket, Commands},
    resume::{self, Blame, Blames, Effects, Interrupted, Request, ResumePlan, Resumer},
    run::event::Question,
};
use recipe::value::Map;

use super::{
    OpenedRun, ResumeError, Runs,
    dynamic_recipe::Next,
    resume::{Resume, asks_agents},
    resume_error::named,
};
use crate::report::diagnose::FailedRun;

impl Runs {
    /// Completed steps with agents that a plain resume would run again.
    pub fn agents_done_again(&self, run: &str) -> Vec<String> {
        let shown = self.find(run).ok().and_then(|folder| self.open(folder).ok());
        let Some(shown) = shown else { return Vec::new() };
        shown.agents_again(&shown.plain_plan())
    }
}

impl OpenedRun {
    /// The plan of a resume without options.
    fn plain_plan(&self) -> ResumePlan {
        let Next { plan, late, .. } = self.same();
        resume::plan(&Request {
            state: &self.state,
            before: &self.plan,
            plan: &plan,
            late: &late,
            given: &Map::new(),
            remains: &self.remains(),
            resumer: Resumer::Person { producers: resume::Producers::Linked },
            blames: &blames(self),
            from: None,
            effects: Effects::Once,
            interrupted: Interrupted::Ask,
        })
    }

    /// The choices of a person as commands, if a resume has stopped for a decision.
    pub(super) fn choices(&self) -> Vec<String> {
        let run = &self.header.run_id;
        let said = self.state.finished.as_ref().filter(|finished| finished.status == RunStatus::Waiting);
        let command = |flag: &str| self.reach.command(&format!("resume {run} {flag}"));
        match said.and_then(|finished| finished.asks) {
            Some(Question::Interrupted) => about_interrupted(&self.undecided(), command),
            Some(Question::Effects) => about_effects(&self.plain_plan().blocked_effects, command),
            None => Vec::new(),
        }
    }

    /// The digest of a plan for this run as it was opened. It changes with the plan, and with every new event.
    pub(crate) fn plan_digest(&self, plan: &ResumePlan) -> String {
        let text = serde_json::to_vec(&(&self.header.run_id, self.records.len(), plan, &plan.redo));
        recipe::digest::sha256(&text.unwrap_or_default())
    }

    /// Completed steps with agents that a plan runs again, which costs money.
    pub(crate) fn agents_again(&self, plan: &ResumePlan) -> Vec<String> {
        plan.redo.iter().filter(|path| asks_agents(self, path)).cloned().collect()
    }

    /// The plan of a resume.
    pub(crate) fn resume_plan(&self, resume: &Resume<'_>) -> Result<ResumePlan, ResumeError> {
        self.plan_with(resume, &self.next(resume))
    }

    /// The same, with the recipes that it uses.
    pub(super) fn plan_with(&self, resume: &Resume<'_>, next: &Next) -> Result<ResumePlan, ResumeError> {
        if let Some(step) = &resume.from
            && (self.state.locate(step).is_none() || step.starts_with('/'))
        {
            return Err(ResumeError::NoStep { run: self.header.run_id.clone(), step: step.clone() });
        }
        Ok(resume::plan(&Request {
            state: &self.state,
            before: &self.plan,
            given: &resume.given,
            plan: &next.plan,
            late: &next.late,
            remains: &self.remains(),
            resumer: resume.resumer,
            blames: &blames(self),
            from: resume.from.as_deref(),
            effects: resume.effects,
            interrupted: resume.interrupted,
        }))
    }
}

/// The choices for interrupted steps; one choice holds for all of them.
fn about_interrupted(steps: &[String], command: impl Fn(&str) -> String) -> Vec<String> {
    let (again, out) = (command("--rerun-interrupted"), command("--skip-interrupted"));
    let see = format!("or see the plan: {}", command("--plan"));
    match steps {
        [] => Vec::new(),
        [step] => vec![
            format!("check how far `{step}` got before it was interrupted"),
            format!("run it again: {again}"),
            format!("or leave it out: {out}"),
            see,
        ],
        steps => vec![
            format!("check how far each of {} got before it was interrupted", named(steps)),
            format!("run all of them again: {again}"),
            format!("or leave all of them out: {out}"),
            see,
        ],
    }
}

fn about_effects(steps: &[String], command: impl Fn(&str) -> String) -> Vec<String> {
    match steps {
        [] => Vec::new(),
        steps => vec![
            format!("to continue, completed side effects would run again: {}", steps.join(", ")),
            format!("allow it: {}", command("--rerun-effects")),
        ],
    }
}

/// The diagnosis of each failure.
fn blames(shown: &OpenedRun) -> Blames {
    let failed = FailedRun {
        plan: &shown.plan,
        state: &shown.state,
        run_dir: Some(shown.folder.path()),
        mask: &shown.mask,
        knowledge: &shown.knowledge,
    };
    let found = crate::report::diagnose::failure(&failed, |_| Commands::default());
    let (Some(found), Some((first, _))) = (found, shown.state.root_cause()) else { return Blames::new() };
    let beside = found.diagnosis.beside.into_iter().map(|beside| (beside.step, beside.bucket));
    let all = std::iter::once((first, found.diagnosis.bucket)).chain(beside);
    all.map(|(step, bucket)| (step, blame(bucket))).collect()
}

fn blame(bucket: Bucket) -> Blame {
    match bucket {
        Bucket::Work => Blame::Work,
        _ => Blame::Other,
    }
}
