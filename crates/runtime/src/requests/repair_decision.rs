//! The repair that a person decides about, before a run is resumed: used if it is accepted, asked about if it waits.

use engine::{
    EndReason, Event, RunStatus,
    run::{
        event::{Answered, Via},
        origin::Surface,
        question::{ACCEPT, RepairDecision},
    },
};

use super::{Listener, RequestError, ResumeRequest, Silent, resume::open_error};
use crate::{
    machine::local::{GRACE, LocalMachine},
    os::clock,
    repair::{self, AcceptError, AcceptedRepair},
    report::{RunResult, waiting_repair::usable_repair},
    runs::{Conclusion, OpenError, OpenedRun, ResumeError, Runs},
    store::folder::{AskOptions, RequestOptions, RunFolder},
};

/// What follows from the decision about a repair.
pub(super) enum Settled {
    /// The run continues, with a repair if there is one.
    Continues(Option<AcceptedRepair>),
    /// The run waits for the decision, or the repair was just refused.
    Over(Box<RunResult>),
}

impl Runs {
    /// Carries out what a person decided about the repair of a run, and asks if there is no decision yet. A person who
    /// names another recipe goes on without the repair.
    pub(super) fn settle_repair(
        &self,
        request: &ResumeRequest,
        folder: &RunFolder,
        listener: &mut dyn Listener,
    ) -> Result<Settled, RequestError> {
        let broken = |error| open_error(folder, error);
        let opened = self.open(folder.clone()).map_err(broken)?;
        if request.recipe.is_some() {
            return Ok(Settled::Continues(None));
        }
        match decision(&opened) {
            Some(RepairDecision::Accepted(answered)) => accepted(folder, &answered),
            Some(RepairDecision::Refused(answered)) => {
                repair::refuse_repair(folder, &answered).map_err(AcceptError::from)?;
                if request.accept_repair {
                    return Err(AcceptError::NoRepair(folder.id()).into());
                }
                Ok(Settled::Continues(None))
            }
            Some(RepairDecision::Open) if request.accept_repair => {
                usable_repair(folder)?;
                let answered = accepted_now(&opened, request);
                // a live process decides itself; the resume names it
                let Some(_lock) = folder.lock().map_err(OpenError::from).map_err(broken)? else {
                    return Ok(Settled::Continues(None));
                };
                self.append(folder, Event::Answered(answered.clone()), &mut Silent).map_err(broken)?;
                accepted(folder, &answered)
            }
            Some(RepairDecision::Open) => self.ask_about_repair(request, folder, listener),
            None if request.accept_repair => Err(AcceptError::NoRepair(folder.id()).into()),
            None => Ok(Settled::Continues(None)),
        }
    }

    /// Puts the question about a repair again; waits for the answer if the run stays.
    fn ask_about_repair(
        &self,
        request: &ResumeRequest,
        folder: &RunFolder,
        listener: &mut dyn Listener,
    ) -> Result<Settled, RequestError> {
        let broken = |error| open_error(folder, error);
        let Some(lock) = folder.lock().map_err(OpenError::from).map_err(broken)? else {
            return Ok(Settled::Continues(None));
        };
        let conclude = |reason, error: Option<String>| {
            self.conclude(folder, Conclusion { reason, error }, &mut Silent).map_err(broken)
        };
        let waits = Some("a repair waits for the decision of a person".to_owned());
        conclude(EndReason::Waiting, waits.clone())?;
        if !request.options.asking.wait {
            self.put_missing_question(folder).map_err(broken)?;
            return Ok(Settled::Over(Box::new(conclude(EndReason::Waiting, waits)?)));
        }
        let mut reporter = listener.reporter();
        let halt = repair::ask_here(self, folder, GRACE, &mut *reporter)?;
        drop(reporter);
        if let Some(halt) = halt {
            let result = conclude(halt.reason(), Some(halt.error().to_owned()))?;
            return Ok(Settled::Over(Box::new(result)));
        }
        match self.open(folder.clone()).map_err(broken)?.state.repair_decision() {
            Some(RepairDecision::Accepted(answered)) => {
                drop(lock);
                accepted(folder, &answered)
            }
            _ => Ok(Settled::Over(Box::new(self.end_refused(folder).map_err(broken)?))),
        }
    }

    /// Ends an auto-fix loop whose repair a person refused: the run waits for another way. The caller must own the run.
    pub(super) fn end_refused(&self, folder: &RunFolder) -> Result<RunResult, OpenError> {
        let decision = self.open(folder.clone())?.state.repair_decision();
        let mut error = None;
        if let Some(RepairDecision::Refused(answered)) = decision {
            repair::refuse_repair(folder, &answered)?;
            error = Some(format!("`{}` was refused by {}", answered.path, answered.by));
        }
        self.conclude(folder, Conclusion { reason: EndReason::Waiting, error }, &mut Silent)
    }

    /// Puts the question of a repair whose process died before it could.
    fn put_missing_question(&self, folder: &RunFolder) -> Result<(), OpenError> {
        if self.open(folder.clone())?.state.repair_decision().is_some() {
            return Ok(());
        }
        let report = repair::load(folder).unwrap_or_default();
        match repair::question(self, folder, &report)? {
            Some(question) => self.append(folder, question, &mut Silent),
            None => Ok(()),
        }
    }

    /// The result of a run that stays, if it is to stay, until its repair is decided, and continues with it.
    pub(super) fn stay_for_repair(
        &self,
        mut result: RunResult,
        asking: &AskOptions,
        machine: &LocalMachine,
        listener: &mut dyn Listener,
    ) -> Result<RunResult, RequestError> {
        while let Some(run) =
            result.run_id.clone().filter(|_| asking.wait && result.status == RunStatus::Waiting)
        {
            let folder = self.find(&run)?;
            let opened = self.open(folder.clone()).map_err(|error| open_error(&folder, error))?;
            if decision(&opened) != Some(RepairDecision::Open) {
                break;
            }
            let asking = AskOptions { wait: true, ..AskOptions::default() };
            let options = RequestOptions { asking, ..RequestOptions::default() };
            let resume = ResumeRequest { run, options, ..ResumeRequest::default() };
            match self.resume_once(&resume, machine, listener) {
                // another process was faster
                Err(RequestError::Resume(ResumeError::Owned { .. })) => break,
                resumed => result = resumed?,
            }
        }
        Ok(result)
    }
}

/// The decision about the repair of a run. A process may have died before it could put the question.
fn decision(opened: &OpenedRun) -> Option<RepairDecision> {
    let is_put = || opened.state.questions.contains_key(&repair::question_path(opened));
    let is_missing = || repair::has_waiting_repair(&opened.folder) && !is_put();
    opened.state.repair_decision().or_else(|| is_missing().then_some(RepairDecision::Open))
}

fn accepted(folder: &RunFolder, answered: &Answered) -> Result<Settled, RequestError> {
    Ok(Settled::Continues(Some(repair::accept_repair(folder, answered)?)))
}

/// The answer of a person who resumes with the repair.
fn accepted_now(opened: &OpenedRun, request: &ResumeRequest) -> Answered {
    let origin = request.origin.clone();
    Answered {
        path: repair::question_path(opened),
        choice: ACCEPT.to_owned(),
        fields: Default::default(),
        comment: None,
        by: origin.as_ref().and_then(|origin| origin.actor.clone()).unwrap_or_else(|| "unknown".to_owned()),
        via: Via::Surface(origin.as_ref().map_or(Surface::Cli, |origin| origin.surface)),
        at: clock::now(),
        digest: None,
        origin,
    }
}
