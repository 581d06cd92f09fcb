//! Handing over to a person: the reason, the attempts, and the commands that make sense now.
//!
//! Never offers a command that cannot work for this run.

use engine::{
    EndReason,
    failure::Bucket,
    resume::{Producers, ResumePlan, Resumer},
};

use super::{Attempt, Escalation, Loop, proposal::NOT_WRITTEN, target_recipe::Subject, work::Work};
use crate::{
    machine::preflight,
    os::shell_word::quote,
    runs::{Conclusion, OpenError, OpenedRun, Resume},
};

impl Loop<'_> {
    /// Ends the loop and waits for a person.
    pub(super) fn escalate(&self, work: &mut Work<'_>, reason: String) -> Conclusion {
        let options = self.options(work);
        work.report.outcome = "needs_human".to_owned();
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
        Ok(self.runs.open(work.folder.clone())?.undecided())
    }

    /// The commands that make sense, the harmless ones first.
    fn options(&self, work: &Work<'_>) -> Vec<String> {
        let (run, result) = (work.folder.id(), &work.result);
        let reach = self.runs.reach();
        let mut commands = vec![reach.command(&format!("show {run}"))];
        let failed = result.failure.as_ref().filter(|failure| failure.step != preflight::STEP);
        commands.extend(failed.map(|failure| reach.step_command(&format!("logs {run}"), &failure.step)));
        let edited = format!(" --recipe {}", quote(&self.recipe_file.to_string_lossy()));
        let is_offered = work.report.attempts.last().is_some_and(is_not_in_the_run);
        let with = if is_offered { edited.as_str() } else { "" };
        let is_waiting = work.report.attempts.last().is_some_and(is_waiting);
        let accept = is_waiting.then(|| format!("resume {run} --accept-repair"));
        let mut words: Vec<String> =
            accept.into_iter().chain([format!("resume {run}{with} --plan")]).collect();
        let opened = self.runs.open(work.folder.clone()).ok();
        if opened.as_ref().is_some_and(|opened| !opened.undecided().is_empty()) {
            let choices = ["--rerun-interrupted", "--skip-interrupted"];
            words.extend(choices.map(|choice| format!("resume {run}{with} {choice}")));
            commands.extend(words.iter().map(|words| reach.command(words)));
            return commands;
        }
        let by_person = |producers| opened.as_ref().and_then(|opened| self.by_person(opened, producers));
        let plain = by_person(Producers::Linked);
        let effects = if is_offered { " --rerun-effects" } else { allow(plain.as_ref()) };
        words.push(format!("resume {run}{with}{effects}"));
        if plain.is_some_and(|plan| !plan.kept_producers.is_empty()) {
            let again = by_person(Producers::Again);
            words.push(format!("resume {run}{with} --rerun-producers{}", allow(again.as_ref())));
        }
        words.extend(
            self.unwritten(work).map(|candidate| format!("resume {run} --recipe {}", quote(candidate))),
        );
        let is_recipe = result.diagnosis.as_ref().is_some_and(|found| found.bucket == Bucket::Recipe);
        let is_repaired = work.report.attempts.iter().any(|attempt| attempt.repair.is_some());
        if !is_offered && (is_recipe || is_repaired) && self.recipe_file.is_file() {
            words.push(format!("resume {run}{edited}"));
        }
        commands.extend(words.iter().map(|words| reach.command(words)));
        commands
    }

    /// A good repair of the requested recipe that could not be written.
    fn unwritten<'w>(&self, work: &'w Work<'_>) -> Option<&'w str> {
        let repair = work.report.attempts.last()?.repair.as_ref()?;
        let is_unwritten = repair.regressions.iter().any(|found| found.code == NOT_WRITTEN);
        let opened = self.runs.open(work.folder.clone()).ok().filter(|_| is_unwritten)?;
        let subject = Subject::find(&opened, &self.recipe_file).ok()??;
        repair.candidate.as_deref().filter(|_| subject.is_root())
    }

    /// The plan of a resume by a person.
    fn by_person(&self, opened: &OpenedRun, producers: Producers) -> Option<ResumePlan> {
        let resume = Resume { resumer: Resumer::Person { producers }, ..self.resumed(None) };
        opened.resume_plan(&resume).ok()
    }
}

/// The flag that is needed to carry out a plan.
fn allow(plan: Option<&ResumePlan>) -> &'static str {
    match plan.is_some_and(|plan| !plan.blocked_effects.is_empty()) {
        true => " --rerun-effects",
        false => "",
    }
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
