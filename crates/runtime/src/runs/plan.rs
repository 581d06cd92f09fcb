//! What a resume would do. Never does it.

use engine::{
    RunStatus,
    failure::{Actions, Responsibility},
    resume::{self, Blame, Blames, Effects, Interrupted, Request, ResumePlan, Resumer},
    run::{
        event::Question,
        next::{Advice, Next, ResumeChoice},
    },
};
use recipe::value::Map;

use super::{
    OpenedRun, ResumeError, Runs,
    dynamic_recipe::NextRecipe,
    resume::{Resume, asks_agents},
    resume_error::named,
};
use crate::report::diagnose::FailedRun;

impl Runs {
    /// Completed steps with agents that a resume without options would run again, or one from a step.
    pub fn agents_done_again(&self, run: &str, from: Option<&str>) -> Vec<String> {
        let shown = self.find(run).ok().and_then(|folder| self.open(folder).ok());
        let Some(shown) = shown else { return Vec::new() };
        shown.agents_again(&shown.plain_plan(from))
    }
}

impl OpenedRun {
    /// The plan of a resume without options, or from a step.
    fn plain_plan(&self, from: Option<&str>) -> ResumePlan {
        let NextRecipe { plan, late, .. } = self.same();
        resume::plan(&Request {
            knowledge: &self.knowledge,
            state: &self.state,
            before: &self.plan,
            plan: &plan,
            late: &late,
            given: &Map::new(),
            remains: &self.remains(),
            resumer: Resumer::Person { producers: resume::Producers::Linked },
            blames: &blames(self),
            from,
            effects: Effects::Once,
            interrupted: Interrupted::Ask,
        })
    }

    /// The choices of a person, if a resume has stopped for a decision.
    pub(super) fn choices(&self) -> Vec<Advice> {
        let run = &self.header.run_id;
        let said = self.state.finished.as_ref().filter(|finished| finished.status == RunStatus::Waiting);
        match said.and_then(|finished| finished.asks) {
            Some(Question::Interrupted) => about_interrupted(&self.state.undecided_steps(), run),
            Some(Question::Effects) => about_effects(&self.plain_plan(None).blocked_effects, run),
            None => Vec::new(),
        }
    }

    /// The digest of a plan for this run as it was opened. It changes with the plan, with the recipes, and
    /// with every new event.
    pub(crate) fn plan_digest(&self, plan: &ResumePlan, resume: &Resume<'_>) -> String {
        let recipes = resume.edited.as_ref().map_or(&self.plan, |(plan, _)| plan);
        let recipes: Vec<&String> = recipes.units.iter().map(|unit| &unit.digest).collect();
        let run = (&self.header.run_id, self.records.len());
        let text = serde_json::to_vec(&(run, plan, &plan.redo, recipes));
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
    pub(super) fn plan_with(
        &self,
        resume: &Resume<'_>,
        next: &NextRecipe,
    ) -> Result<ResumePlan, ResumeError> {
        let unknown = |step: &String| ResumeError::NoStep {
            run: self.header.run_id.clone(),
            step: step.clone(),
            instances: self.state.instances_of(step),
        };
        let named = |step: &String| {
            self.state.named(step).filter(|_| !step.starts_with('/')).ok_or_else(|| unknown(step))
        };
        let from = resume.from.as_ref().map(named).transpose()?;
        Ok(resume::plan(&Request {
            knowledge: &self.knowledge,
            state: &self.state,
            before: &self.plan,
            given: &resume.given,
            plan: &next.plan,
            late: &next.late,
            remains: &self.remains(),
            resumer: resume.resumer,
            blames: &blames(self),
            from: from.as_deref(),
            effects: resume.effects,
            interrupted: resume.interrupted,
        }))
    }
}

/// The choices for interrupted steps; one choice holds for all of them.
fn about_interrupted(steps: &[String], run: &str) -> Vec<Advice> {
    let choice =
        |text: &str, how: ResumeChoice| Advice::with(text, Next::Resume { run: run.to_owned(), how });
    let (look, again, out) = match steps {
        [] => return Vec::new(),
        [step] => (
            format!("check how far `{step}` got before it was interrupted"),
            "run it again",
            "or leave it out",
        ),
        steps => (
            format!("check how far each of {} got before it was interrupted", named(steps)),
            "run all of them again",
            "or leave all of them out",
        ),
    };
    vec![
        Advice::new(look),
        choice(again, ResumeChoice { rerun_interrupted: true, ..ResumeChoice::default() }),
        choice(out, ResumeChoice { skip_interrupted: true, ..ResumeChoice::default() }),
        choice("or see the plan", ResumeChoice { plan: true, ..ResumeChoice::default() }),
    ]
}

fn about_effects(steps: &[String], run: &str) -> Vec<Advice> {
    if steps.is_empty() {
        return Vec::new();
    }
    let how = ResumeChoice { rerun_effects: true, ..ResumeChoice::default() };
    vec![
        Advice::new(format!("to continue, completed side effects would run again: {}", steps.join(", "))),
        Advice::with("allow it", Next::Resume { run: run.to_owned(), how }),
    ]
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
    let found = crate::report::diagnose::failure(&failed, |_| Actions::default());
    let (Some(found), Some((first, _))) = (found, shown.state.root_cause()) else { return Blames::new() };
    let beside = found.diagnosis.beside.into_iter().map(|beside| (beside.step, beside.bucket));
    let all = std::iter::once((first, found.diagnosis.bucket)).chain(beside);
    all.map(|(step, bucket)| (step, blame(bucket))).collect()
}

fn blame(bucket: Responsibility) -> Blame {
    match bucket {
        Responsibility::Work => Blame::Work,
        _ => Blame::Other,
    }
}

/// What a person should know about steps that a plan keeps.
pub(super) fn notes_about_kept(plan: &ResumePlan, run: &str) -> Vec<Advice> {
    let mut notes = Vec::new();
    if !plan.kept_producers.is_empty() {
        let text = format!(
            "not re-run, though later steps may depend on a new result: {}. To re-run",
            plan.kept_producers.join(", ")
        );
        let how = ResumeChoice { rerun_producers: true, ..ResumeChoice::default() };
        notes.push(Advice::with(text, Next::Resume { run: run.to_owned(), how }));
    }
    if let Some(kept) = &plan.kept_after_cleanup {
        let text = format!("{}. To run them again", kept.message());
        notes.push(Advice::with(text, Next::Resume { run: run.to_owned(), how: kept.choice() }));
    }
    notes
}
