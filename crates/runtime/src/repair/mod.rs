//! Auto-fix: runs, diagnoses the failure, decides, repairs the recipe or runs steps again, and stops in time.
//!
//! Never retries blindly, never repairs a recipe because of the environment, never accepts a weaker recipe, and never
//! exceeds its budget. When it cannot continue, it says so and hands over to a person.

mod agent_call;
pub mod answer;
mod between_attempts;
pub mod budget;
mod changes;
mod decide;
mod escalation;
mod git;
mod judge;
mod lineage;
mod proposal;
mod second_opinion;
mod target_recipe;
mod waiting_repair;
mod work;
mod workspace_snapshot;

use std::{ffi::OsStr, path::PathBuf};

use engine::{
    EndReason, Event, RunStatus,
    resume::{Effects, Resumer},
};
use recipe::{check::Loader, plan::Plan, value::Map};

use crate::report::auto_fix::save;
pub use crate::report::auto_fix::{
    Attempt, Escalation, PlanSummary, Regression, RepairReport, Report, load, not_wanted,
};
pub use crate::report::waiting_repair::AcceptError;
use crate::{
    agents::AgentSettings,
    machine::{host::Host, programs},
    report::RunResult,
    run::{Halt, Reporter},
    runs::{
        Beside, Conclusion, Interrupted, OpenError, OpenedRun, OwnedRun, Resume, ResumeError, RunError, Runs,
        Start,
    },
    store::{
        folder::{FolderError, Options, RepairReview, RunFolder},
        sources::Recording,
    },
};
use between_attempts::{BetweenAttempts, StopListener};
use budget::Budget;
pub use budget::{forbid, is_forbidden, prepare};
use decide::Next;
use proposal::Repair;
use target_recipe::Replaced;
pub use waiting_repair::has_waiting_repair;
pub(crate) use waiting_repair::{
    AcceptedRepair, accept_repair, ask_here, question, question_path, refuse_repair,
};
use work::{PreparedRepair, Round, Work};
pub use work::{UnfinishedLoop, unfinished};

/// The settings of auto-fix.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The maximum number of runs, including the first.
    pub max_attempts: u32,
    /// The agent program for repairs.
    pub repair_agent: Option<String>,
    /// Who decides about a repair that no rule decides.
    pub review: RepairReview,
}

/// Everything that the loop needs besides the first run.
pub(crate) struct Loop<'a> {
    /// The runs.
    pub runs: &'a Runs,
    /// Its settings.
    pub policy: Policy,
    /// How agents are started.
    pub agents: AgentSettings,
    /// The machine.
    pub host: Host,
    /// Loads recipes.
    pub loader: &'a dyn Loader,
    /// Makes the machine for a recipe: a repaired recipe may name other environment files.
    pub host_for: &'a dyn Fn(&Plan) -> Host,
    /// The recipe's file, which a repair may change.
    pub recipe_file: PathBuf,
    /// How many levels of producers to skip; 0 at first.
    pub level: usize,
    /// Whether the run stays and waits for answers.
    pub wait: bool,
}

/// Why the loop itself failed.
#[derive(Debug, thiserror::Error)]
pub enum AutoFixError {
    /// The run could not continue.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A resume failed.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// The run cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A file failed.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

impl Loop<'_> {
    /// Runs a recipe, and continues until it succeeds or a person is needed. No other process can take the run
    /// meanwhile.
    pub(crate) fn start(
        self,
        start: Start<'_>,
        reporter: &mut dyn Reporter,
    ) -> Result<RunResult, AutoFixError> {
        let ear = StopListener::new()?;
        match self.runs.start_held(start, reporter)? {
            (first, Some(hold)) => self.go_on(first, hold, ear, reporter),
            (refused, None) => Ok(self.refused(refused)),
        }
    }

    /// The same with an opened run.
    pub(crate) fn resume(
        self,
        opened: OpenedRun,
        resume: Resume<'_>,
        reporter: &mut dyn Reporter,
    ) -> Result<RunResult, AutoFixError> {
        let is_over = opened.status == RunStatus::Completed;
        let repairer = self.policy.repair_agent.as_deref().filter(|_| !is_over);
        let reviewer = self.policy.review.agent.as_deref().filter(|_| !is_over);
        let problems: Vec<_> = [
            programs::repairer(repairer, &self.agents, &self.host),
            programs::reviewer(reviewer, &self.agents, &self.host),
        ]
        .into_iter()
        .flatten()
        .collect();
        if !problems.is_empty() {
            return Ok(self.refused(self.runs.blocked_resume(&opened, &problems)));
        }
        let ear = StopListener::new()?;
        match self.runs.resume_held(opened, resume, None, reporter)? {
            (first, Some(hold)) => self.go_on(first, hold, ear, reporter),
            (refused, None) => Ok(self.refused(refused)),
        }
    }

    /// The result of a run that cannot begin or cannot continue: it has nothing to repair.
    fn refused(&self, mut result: RunResult) -> RunResult {
        result.auto_fix = Some(Report {
            enabled: true,
            max_attempts: self.policy.max_attempts,
            outcome: result.outcome.to_owned(),
            ..Report::default()
        });
        result
    }

    fn go_on(
        mut self,
        first: RunResult,
        hold: OwnedRun,
        ear: StopListener,
        reporter: &mut dyn Reporter,
    ) -> Result<RunResult, AutoFixError> {
        let run_id = first.run_id.clone().unwrap_or_default();
        let folder = RunFolder::at(self.runs.dir().join(&run_id));
        let mut work = Work {
            budget: self.budget(&folder)?,
            report: Report::begun(
                &folder,
                self.policy.max_attempts,
                first.tracking_id.clone().unwrap_or(run_id),
            ),
            folder,
            result: first,
            hold: Some(hold),
            ear: Some(ear),
            reporter,
        };
        let ending = match self.rounds(&mut work) {
            Ok(ending) => ending,
            Err(error) => {
                // the run needs an end in the journal, even if the loop itself failed
                let why = Some(error.to_string());
                let failed = Conclusion { reason: EndReason::Failed, error: why };
                let _ = self.runs.conclude(&work.folder, failed, work.reporter);
                return Err(error);
            }
        };
        work.report.resumes = work.result.resumes;
        save(&work.folder, &work.report)?;
        // a run that stays puts it after the loop has ended
        if !self.wait
            && let Some(question) = question(self.runs, &work.folder, &work.report)?
        {
            self.runs.append(&work.folder, question, work.reporter)?;
        }
        let mut result = self.runs.conclude(&work.folder, ending, work.reporter)?;
        if work.report.outcome == "blocked" {
            // the missing parts are not in the journal, so the last result is kept; its usage is that of the whole run
            let usage = result.usage;
            result = RunResult { outcome: "blocked", reason: Some(EndReason::Failed), usage, ..work.result };
        }
        result.auto_fix = Some(work.report);
        if let Some(hold) = work.hold {
            hold.release(result.status);
        }
        Ok(result)
    }

    /// Makes attempts until the run ends; returns its end.
    fn rounds(&mut self, work: &mut Work<'_>) -> Result<Conclusion, AutoFixError> {
        loop {
            work.note_attempt();
            save(&work.folder, &work.report)?;
            let reason = work.result.reason.unwrap_or(EndReason::Failed);
            let status = work.result.status;
            if status == RunStatus::Waiting {
                work.report.paused = !work.result.asks.is_empty();
                return Ok(self.escalate(work, "a step is waiting for a person".to_owned()));
            }
            // a person has rejected the work, or did not approve it: no repair changes that
            if status != RunStatus::Failed || self.lacks_approval(work)? {
                work.report.outcome = work.result.outcome.to_owned();
                return Ok(Conclusion { reason, error: None });
            }
            if let Some(step) = self.undecided(work)?.first() {
                let reason = format!("step `{step}` was interrupted and is not idempotent");
                return Ok(self.escalate(work, reason));
            }
            let next = match self.decide(&work.result, &work.report) {
                Next::Blocked(reason) => {
                    work.report.outcome = "blocked".to_owned();
                    work.report.reason = Some(reason);
                    return Ok(Conclusion { reason: EndReason::Failed, error: None });
                }
                Next::Spent => {
                    work.report.outcome = work.result.outcome.to_owned();
                    work.report.reason = Some("the budget of the run's agents is used up".to_owned());
                    return Ok(Conclusion { reason, error: None });
                }
                Next::Escalate(reason) => return Ok(self.escalate(work, reason)),
                next => next,
            };
            if !work.budget.take()? {
                let runs = work.report.max_attempts;
                let reason =
                    format!("the budget of {runs} run{} is used up", if runs == 1 { "" } else { "s" });
                return Ok(self.escalate(work, reason));
            }
            match self.round(work, next)? {
                Round::Again(result) => work.result = *result,
                Round::Over(reason) => return Ok(self.escalate(work, reason)),
                Round::Declined(reason) => {
                    work.report.outcome = work.result.outcome.to_owned();
                    work.report.reason = Some(reason);
                    return Ok(Conclusion { reason: EndReason::Failed, error: None });
                }
                Round::Told(halt) => return Ok(work.stop(halt)),
            }
        }
    }

    /// The number of runs that are left, shared with runs inside this one.
    fn budget(&self, folder: &RunFolder) -> Result<Budget, FolderError> {
        let path = self
            .host
            .var(budget::VARIABLE)
            .map_or_else(|| folder.path().join("auto-fix-budget"), PathBuf::from);
        Budget::open(&path, self.policy.max_attempts.saturating_sub(1))
    }

    fn resumed<'b>(&'b self, edited: Option<(Plan, &'b Recording<'b>)>) -> Resume<'b> {
        Resume {
            interrupted: Interrupted::Ask,
            from: None,
            resumer: Resumer::Automatic { level: self.level },
            effects: Effects::Once,
            plan_digest: None,
            beside: Beside::Refused,
            given: Map::new(),
            edited,
            recipe_file: None,
            change: if self.wait { &stay } else { &keep_options },
            agents: self.agents.clone(),
            host: self.host.clone(),
            loader: self.loader,
            restore: &|_, _| Vec::new(),
            origin: None,
        }
    }

    /// The machine for a repaired recipe, with the budget of the loop.
    fn host_with(&self, plan: &Plan) -> Host {
        let mut host = (self.host_for)(plan);
        let budget = self.host.env.get_key_value(OsStr::new(budget::VARIABLE));
        host.env.extend(budget.map(|(name, path)| (name.clone(), path.clone())));
        host
    }

    /// Prepares and makes the next attempt.
    fn round(&mut self, work: &mut Work<'_>, next: Next) -> Result<Round, AutoFixError> {
        let Some(ear) = work.ear.take() else { return Ok(Round::Told(Halt::Interrupt)) };
        let mut desk = BetweenAttempts {
            runs: self.runs,
            folder: &work.folder,
            grace: self.host.grace,
            ear,
            reporter: &mut *work.reporter,
        };
        let prepared = self.prepare(&mut desk, &work.budget, &mut work.report, &work.result, &next);
        work.ear = Some(desk.ear);
        match prepared? {
            PreparedRepair::StopSignal(repaired) => self.attempt(work, repaired),
            PreparedRepair::Over(reason) => Ok(Round::Over(reason)),
            PreparedRepair::Declined(reason) => Ok(Round::Declined(reason)),
            PreparedRepair::Told(halt) => Ok(Round::Told(halt)),
        }
    }

    /// Waits or has the recipe repaired, if that is the next action.
    fn prepare(
        &mut self,
        desk: &mut BetweenAttempts<'_>,
        budget: &Budget,
        report: &mut Report,
        result: &RunResult,
        next: &Next,
    ) -> Result<PreparedRepair, AutoFixError> {
        let told = match next {
            Next::Wait(time) => {
                let class = result.diagnosis.as_ref().map_or("the environment", |found| found.class.as_str());
                let reason = format!("waiting because of {class}");
                desk.record(Event::FixWaits { seconds: time.as_secs_f64(), reason })?;
                desk.pause(*time)
            }
            _ => desk.was_told(),
        };
        match (told, next) {
            (Some(halt), _) => Ok(PreparedRepair::Told(halt)),
            (None, Next::Repair) => self.repair(desk, budget, report, result),
            (None, Next::Widen) => {
                self.level = 1;
                Ok(PreparedRepair::StopSignal(None))
            }
            (None, _) => Ok(PreparedRepair::StopSignal(None)),
        }
    }

    fn attempt(&mut self, work: &mut Work<'_>, repaired: Option<Box<Repair>>) -> Result<Round, AutoFixError> {
        let opened = self.runs.open(work.folder.clone())?;
        let remembered = opened.sources(Some(self.loader))?;
        let changed = repaired.as_ref().map(|repair| (repair.subject.path.as_str(), repair.text.clone()));
        let loader = Replaced::new(&remembered, changed);
        let recording = Recording::new(&loader);
        // checked again through the recording, so that every source is stored with the run
        let edited = repaired.as_ref().and_then(|repair| {
            recording.root(&repair.subject.root_with(&repair.text));
            repair.subject.check(&repair.text, &recording).plan
        });
        if let Some(plan) = &edited {
            self.host = self.host_with(plan);
        }
        let resume = self.resumed(edited.map(|plan| (plan, &recording)));
        let plan = opened.resume_plan(&resume)?;
        if let Some(attempt) = work.report.attempts.last_mut() {
            attempt.plan = Some(PlanSummary {
                anchor: plan.anchor.clone(),
                rerun: plan.rerun.clone(),
                blocked_effects: plan.blocked_effects.clone(),
            });
        }
        save(&work.folder, &work.report)?;
        if !plan.blocked_effects.is_empty() {
            let effects = plan.blocked_effects.join(", ");
            return Ok(Round::Over(format!("completed side effects would run again: {effects}")));
        }
        let held = work.hold.take();
        let (result, hold) = self.runs.resume_held(opened, resume, held, work.reporter)?;
        work.hold = hold;
        Ok(Round::Again(Box::new(result)))
    }
}

fn keep_options(_: &mut Options) {}

fn stay(options: &mut Options) {
    options.asking.wait = true;
}
