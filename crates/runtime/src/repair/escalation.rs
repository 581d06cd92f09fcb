//! Handing over to a person: the reason, the attempts, and the commands that make sense now.
//!
//! Never offers a command that cannot work for this run.

use engine::{
    EndReason,
    failure::Responsibility,
    resume::{Producers, ResumePlan, Resumer},
    run::{
        next::{Next, ResumeChoice},
        question::{ACCEPT, REFUSE},
    },
};

use super::{
    Attempt, Escalation, Loop, proposal::NOT_WRITTEN, question_path, target_recipe::RepairTarget, work::Work,
};
use crate::{
    machine::preflight,
    runs::{Conclusion, OpenError, OpenedRun, Resume},
};

impl Loop<'_> {
    /// Ends the loop and waits for a person.
    pub(super) fn escalate(&self, work: &mut Work<'_>, reason: String) -> Conclusion {
        let options = self.options(work);
        work.report.outcome = "needs_human".to_owned();
        work.report.paused |= work.report.waiting_repair().is_some();
        work.report.escalation = Some(Escalation {
            attempted: work.report.attempts.iter().map(crate::report::auto_fix::describe).collect(),
            diagnosis: work.result.diagnosis.clone(),
            options,
            evidence: work.result.run_dir.iter().cloned().collect(),
            reason: reason.clone(),
        });
        Conclusion { reason: EndReason::Waiting, error: Some(reason) }
    }

    /// Steps that may run again only if a person decides so.
    pub(super) fn undecided(&self, work: &Work<'_>) -> Result<Vec<String>, OpenError> {
        Ok(self.runs.open(work.folder.clone())?.state.undecided_steps())
    }

    /// Whether a question to a person failed the run.
    pub(super) fn lacks_approval(&self, work: &Work<'_>) -> Result<bool, OpenError> {
        Ok(self.runs.open(work.folder.clone())?.state.lacks_approval(0))
    }

    /// The actions that make sense, the harmless ones first.
    fn options(&self, work: &Work<'_>) -> Vec<Next> {
        let (run, result) = (work.folder.id(), &work.result);
        let mut actions = vec![Next::Show { run: run.clone() }];
        let failed = result.failure.as_ref().filter(|failure| failure.step != preflight::STEP);
        actions
            .extend(failed.map(|failure| Next::Logs { run: run.clone(), step: Some(failure.step.clone()) }));
        let file = self.recipe_file.to_string_lossy().into_owned();
        let is_offered = work.report.attempts.last().is_some_and(is_not_in_the_run);
        let with = ResumeChoice { recipe: is_offered.then(|| file.clone()), ..ResumeChoice::default() };
        let is_waiting = work.report.attempts.last().is_some_and(is_waiting);
        let accept = ResumeChoice { accept_repair: true, ..ResumeChoice::default() };
        if is_waiting {
            // a plain resume only puts the question again
            actions.push(Next::Resume { run: run.clone(), how: accept });
            let step = self.runs.open(work.folder.clone()).ok().map(|opened| question_path(&opened));
            actions.extend(step.into_iter().flat_map(|step| {
                let answer = |choice: &str| Next::Answer {
                    run: run.clone(),
                    step: step.clone(),
                    choice: choice.to_owned(),
                    fields: Vec::new(),
                };
                [answer(ACCEPT), answer(REFUSE)]
            }));
            // a person may correct the recipe instead
            let edited = ResumeChoice { recipe: Some(file), ..ResumeChoice::default() };
            actions.push(Next::Resume { run: run.clone(), how: edited });
            return actions;
        }
        let mut choices = Vec::new();
        choices.push(ResumeChoice { plan: true, ..with.clone() });
        let resume = |how| Next::Resume { run: run.clone(), how };
        let opened = self.runs.open(work.folder.clone()).ok();
        if opened.as_ref().is_some_and(|opened| !opened.state.undecided_steps().is_empty()) {
            choices.push(ResumeChoice { rerun_interrupted: true, ..with.clone() });
            choices.push(ResumeChoice { skip_interrupted: true, ..with });
            actions.extend(choices.into_iter().map(resume));
            return actions;
        }
        let by_person = |producers| opened.as_ref().and_then(|opened| self.by_person(opened, producers));
        let plain = by_person(Producers::Linked);
        let rerun_effects = is_offered || repeats_effects(plain.as_ref());
        choices.push(ResumeChoice { rerun_effects, ..with.clone() });
        let kept = plain.as_ref().and_then(|plan| plan.kept_after_cleanup.as_ref());
        choices.extend(kept.map(|kept| ResumeChoice { recipe: with.recipe.clone(), ..kept.choice() }));
        if plain.is_some_and(|plan| !plan.kept_producers.is_empty()) {
            let rerun_effects = repeats_effects(by_person(Producers::Again).as_ref());
            choices.push(ResumeChoice { rerun_producers: true, rerun_effects, ..with });
        }
        let edited = |file: &str| ResumeChoice { recipe: Some(file.to_owned()), ..ResumeChoice::default() };
        choices.extend(self.unwritten(work).map(edited));
        let is_recipe = result.diagnosis.as_ref().is_some_and(|found| found.bucket == Responsibility::Recipe);
        let is_repaired = work.report.attempts.iter().any(|attempt| attempt.repair.is_some());
        if !is_offered && (is_recipe || is_repaired) && self.recipe_file.is_file() {
            choices.push(edited(&file));
        }
        actions.extend(choices.into_iter().map(resume));
        actions
    }

    /// A good repair of the requested recipe that could not be written.
    fn unwritten<'w>(&self, work: &'w Work<'_>) -> Option<&'w str> {
        let repair = work.report.attempts.last()?.repair.as_ref()?;
        let is_unwritten = repair.regressions.iter().any(|found| found.code == NOT_WRITTEN);
        let opened = self.runs.open(work.folder.clone()).ok().filter(|_| is_unwritten)?;
        let subject = RepairTarget::find(&opened, &self.recipe_file).ok()??;
        repair.candidate.as_deref().filter(|_| subject.is_root())
    }

    /// The plan of a resume by a person.
    fn by_person(&self, opened: &OpenedRun, producers: Producers) -> Option<ResumePlan> {
        let resume = Resume { resumer: Resumer::Person { producers }, ..self.resumed(None) };
        opened.resume_plan(&resume).ok()
    }
}

/// Whether a plan would run completed side effects again.
fn repeats_effects(plan: Option<&ResumePlan>) -> bool {
    plan.is_some_and(|plan| !plan.blocked_effects.is_empty())
}

/// Whether a repair was accepted but not used: it is in the file, but not yet in the run.
fn is_not_in_the_run(attempt: &Attempt) -> bool {
    attempt.repair.as_ref().is_some_and(|repair| repair.accepted)
        && attempt.plan.as_ref().is_some_and(|plan| !plan.blocked_effects.is_empty())
}

/// Whether a repair waits for a person.
fn is_waiting(attempt: &Attempt) -> bool {
    attempt.repair.as_ref().is_some_and(|repair| repair.waiting)
}
