//! Auto-fix: run, look at the evidence, decide, repair or do again what was wanting, and stop in time.
//!
//! Never retries blindly, never repairs a recipe because of the environment, never accepts a weaker recipe, and
//! never goes over its budget. When it cannot go on, it says so and hands over.

pub mod answer;
pub mod budget;
mod escalation;
mod repair;
mod report;
mod surface;

use std::{path::PathBuf, time::Duration};

use engine::{
    RunStatus,
    diagnosis::{Bucket, Class},
    resume_plan::{Effects, Resumer},
};
use recipe::{check::Loader, plan::Plan};

use crate::{
    agent_attempt::AgentSettings,
    drive::{Halt, Reporter, pause},
    folder::{FolderError, Options, RunFolder},
    host::Host,
    report::RunResult,
    runs::{Beside, Interrupted, Resume, ResumeError, RunError, Runs},
    sources::Recording,
};
use budget::Budget;
use escalation::describe;
pub use repair::Regression;
use repair::{Repair, Repairer};
use report::save;
pub use report::{Attempt, Escalation, PlanSummary, RepairReport, Report, load};

/// How auto-fix is done.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Runs at most, the first one included.
    pub max_attempts: u32,
    /// The agent program that repairs.
    pub repair_agent: Option<String>,
}

/// Everything that the loop needs besides the first run.
pub struct Loop<'a> {
    /// The runs.
    pub runs: &'a Runs,
    /// How it is done.
    pub policy: Policy,
    /// How agents are run.
    pub agents: AgentSettings,
    /// The machine.
    pub host: Host,
    /// Brings recipes.
    pub loader: &'a dyn Loader,
    /// The recipe's file, which a repair may change.
    pub recipe_file: PathBuf,
    /// The plan that the first run had.
    pub plan: Plan,
    /// How many levels of producers are passed over; 0 at first.
    pub level: usize,
}

/// Why the loop itself failed.
#[derive(Debug, thiserror::Error)]
pub enum AutoFixError {
    /// The run could not go on.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A resume could not be made.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// A file failed.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// It was told to stop between two runs.
    #[error("told to stop")]
    Stopped(Halt),
}

/// Longest wait for a rate limit or the network.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// What happens next.
enum Next {
    /// The plan decides what is done again.
    Resume,
    /// The same with one more level of producers.
    Widen,
    /// The same after a wait.
    Wait(Duration),
    /// The repair agent is asked.
    Repair,
    /// Somebody else has to mend the environment.
    Blocked(String),
    /// A person has to look at it.
    Escalate(String),
}

impl Loop<'_> {
    /// Goes on after a first run until it succeeds or a person is needed.
    pub fn run(mut self, first: RunResult, reporter: &mut dyn Reporter) -> Result<RunResult, AutoFixError> {
        let mut result = first;
        let (Some(run_id), Some(run_dir)) = (result.run_id.clone(), result.run_dir.clone()) else {
            result.auto_fix = Some(Report {
                enabled: true,
                max_attempts: self.policy.max_attempts,
                outcome: result.outcome.to_owned(),
                ..Report::default()
            });
            return Ok(result);
        };
        let folder = RunFolder::at(PathBuf::from(run_dir));
        let budget = self.budget(&folder)?;
        let mut report = load(&folder).unwrap_or_else(|| Report {
            tracking_id: result.tracking_id.clone().unwrap_or_else(|| run_id.clone()),
            ..Report::default()
        });
        // an attempt that was interrupted is the one that goes on now
        report.attempts.retain(|attempt| attempt.outcome != "interrupted");
        report.enabled = true;
        report.max_attempts = self.policy.max_attempts;
        (report.outcome, report.reason, report.escalation) = (String::new(), None, None);
        loop {
            let attempt = report.attempts.len() as u32 + 1;
            report.attempts.push(Attempt {
                attempt,
                run_id: run_id.clone(),
                outcome: result.outcome.to_owned(),
                failed_step: result.failure.as_ref().map(|failure| failure.step.clone()),
                classification: result.diagnosis.clone(),
                fingerprint: result.fingerprint.clone(),
                plan: None,
                repair: None,
            });
            save(&folder, &report)?;
            if result.status == RunStatus::Waiting {
                let reason = "a step says that a person has to look at it".to_owned();
                self.escalate(&folder, &mut report, &mut result, reason);
                break;
            }
            if !matches!(result.status, RunStatus::Failed) {
                report.outcome = result.outcome.to_owned();
                break;
            }
            let next = match self.decide(&result, &report) {
                Next::Blocked(reason) => {
                    report.outcome = "blocked".to_owned();
                    report.reason = Some(reason);
                    break;
                }
                Next::Escalate(reason) => {
                    self.escalate(&folder, &mut report, &mut result, reason);
                    break;
                }
                next => next,
            };
            if !budget.take()? {
                let reason = format!("the budget of {} runs is used up", report.max_attempts);
                self.escalate(&folder, &mut report, &mut result, reason);
                break;
            }
            let again = self.attempt_again(&folder, &budget, next, &mut report, &mut result, reporter);
            if let Err(AutoFixError::Stopped(halt)) = again {
                return self.stopped(&folder, report, result, halt);
            }
            if let Some(reason) = again? {
                self.escalate(&folder, &mut report, &mut result, reason);
                break;
            }
        }
        report.resumes = result.resumes;
        save(&folder, &report)?;
        if report.outcome == "blocked" {
            result.outcome = "blocked";
            // steps have run, whatever stops the next one
            result.exit_code = Some(1);
        }
        if let Some(escalation) = &report.escalation {
            self.runs.conclude(&folder, RunStatus::Waiting, 6, &escalation.reason)?;
        }
        result.auto_fix = Some(report);
        Ok(result)
    }

    /// Told to stop between two runs: the loop is not over, a resume goes on with it.
    fn stopped(
        &self,
        folder: &RunFolder,
        report: Report,
        mut result: RunResult,
        halt: Halt,
    ) -> Result<RunResult, AutoFixError> {
        save(folder, &report)?;
        let (code, signal) = match halt {
            Halt::Interrupt | Halt::Cancel => (130, "SIGINT"),
            Halt::Terminate => (143, "SIGTERM"),
            Halt::Hangup => (143, "SIGHUP"),
        };
        self.runs.conclude(folder, RunStatus::Interrupted, code, &format!("interrupted by {signal}"))?;
        result.status = RunStatus::Interrupted;
        result.outcome = "interrupted";
        result.exit_code = Some(code);
        result.auto_fix = Some(report);
        Ok(result)
    }

    /// The number of runs that are left, shared with runs inside of this one.
    fn budget(&self, folder: &RunFolder) -> Result<Budget, FolderError> {
        let path = self
            .host
            .var(budget::VARIABLE)
            .map_or_else(|| folder.path().join("auto-fix-budget"), PathBuf::from);
        Budget::open(&path, self.policy.max_attempts.saturating_sub(1))
    }

    /// Classifies before anything else.
    fn decide(&self, result: &RunResult, report: &Report) -> Next {
        let Some(diagnosis) = &result.diagnosis else {
            return Next::Escalate("the failure could not be classified".to_owned());
        };
        let earlier = &report.attempts[..report.attempts.len() - 1];
        let same: Vec<&Attempt> = earlier.iter().filter(|attempt| is_same_failure(attempt, result)).collect();
        let changed_since = |attempt: &Attempt| attempt.repair.as_ref().is_some_and(|repair| repair.accepted);
        if same.iter().any(|attempt| !changed_since(attempt)) && diagnosis.bucket != Bucket::Environment {
            // once, one level of producers further up
            let may_widen = self.level == 0 && diagnosis.bucket == Bucket::Work;
            return match may_widen && self.has_producers(result, 1) {
                true => Next::Widen,
                false => Next::Escalate("the same failure came twice on the same recipe".to_owned()),
            };
        }
        match diagnosis.bucket {
            Bucket::Environment => match diagnosis.class {
                Class::RateLimit | Class::Network => Next::Wait(self.wait(same.len() as u32)),
                _ => Next::Blocked(format!(
                    "{}: something outside of the recipe has to be mended first",
                    diagnosis.class.as_str()
                )),
            },
            Bucket::Recipe => Next::Repair,
            Bucket::Work if self.has_producers(result, self.level) => Next::Resume,
            Bucket::Work => Next::Repair,
            Bucket::Run | Bucket::None if earlier.iter().any(is_unexplained) => {
                Next::Escalate("nothing explains the failure, and doing it again did not help".to_owned())
            }
            Bucket::Run | Bucket::None => Next::Resume,
        }
    }

    fn wait(&self, tries: u32) -> Duration {
        let base = self.agents.rate.base_delay;
        Duration::from_secs_f64((base * 2f64.powi(tries.min(20) as i32)).min(self.agents.rate.max_delay))
            .min(LONGEST_WAIT)
    }

    fn has_producers(&self, result: &RunResult, level: usize) -> bool {
        let Some(run) = &result.run_id else { return false };
        let Ok(folder) = self.runs.find(run) else { return false };
        let resume = Resume { resumer: Resumer::Automatic { level }, ..self.resume(None) };
        let plan = self.runs.resume_plan(folder, &resume);
        plan.is_ok_and(|plan| !plan.rerun.is_empty())
    }

    fn resume<'b>(&'b self, edited: Option<(Plan, &'b Recording<'b>)>) -> Resume<'b> {
        Resume {
            interrupted: Interrupted::Ask,
            from: None,
            resumer: Resumer::Automatic { level: self.level },
            effects: Effects::Once,
            confirm: &|_| true,
            beside: Beside::Refused,
            edited,
            change: &keep_options,
            agents: self.agents.clone(),
            host: self.host.clone(),
            loader: self.loader,
        }
    }

    /// Makes the next attempt; a reason if there cannot be one.
    fn attempt_again(
        &mut self,
        folder: &RunFolder,
        budget: &Budget,
        next: Next,
        report: &mut Report,
        result: &mut RunResult,
        reporter: &mut dyn Reporter,
    ) -> Result<Option<String>, AutoFixError> {
        match next {
            Next::Wait(time) => {
                if let Some(halt) = pause::wait(time).map_err(RunError::Loop)? {
                    return Err(AutoFixError::Stopped(halt));
                }
            }
            Next::Widen => self.level = 1,
            _ => {}
        }
        let repaired = match next {
            Next::Repair => match self.repair(folder, budget, report, result)? {
                Ok(repaired) => Some(repaired),
                Err(reason) => return Ok(Some(reason)),
            },
            _ => None,
        };
        let recording = Recording::new(self.loader);
        let edited = match &repaired {
            Some(repair) => {
                recording.root(&repair.loaded);
                // checked once more through the recording, so that every source is kept with the run
                let checked =
                    recipe::check::check(repair.loaded.clone(), &recording, &recipe::check::Given::default());
                checked.plan.map(|plan| (plan, &recording))
            }
            None => None,
        };
        let resume = self.resume(edited);
        let plan = self.runs.resume_plan(folder.clone(), &resume)?;
        if let Some(attempt) = report.attempts.last_mut() {
            // what would repeat side effects is not done
            let rerun = if plan.blocked_effects.is_empty() { plan.rerun.clone() } else { Vec::new() };
            attempt.plan = Some(PlanSummary { anchor: plan.anchor.clone(), rerun });
        }
        save(folder, report)?;
        if !plan.blocked_effects.is_empty() {
            return Ok(Some(format!(
                "side effects that are done would be repeated: {}",
                plan.blocked_effects.join(", ")
            )));
        }
        *result = self.runs.resume(folder.clone(), resume, reporter)?;
        if let Some(repair) = repaired {
            self.plan = repair.plan;
        }
        Ok(None)
    }

    /// Asks the repair agent; a refused answer is fed back once.
    fn repair(
        &self,
        folder: &RunFolder,
        budget: &Budget,
        report: &mut Report,
        result: &mut RunResult,
    ) -> Result<Result<Repair, String>, AutoFixError> {
        let mut repairer = Repairer {
            folder,
            recipe_file: &self.recipe_file,
            plan: &self.plan,
            agents: &self.agents,
            host: &self.host,
            loader: self.loader,
            program: self.policy.repair_agent.as_deref(),
            spent: result.usage.clone().unwrap_or_default(),
        };
        if !self.recipe_file.is_file() {
            return Ok(Err("the recipe has no file that could be repaired".to_owned()));
        }
        let mut refused: Option<RepairReport> = None;
        loop {
            let (proposal, outcome) = repairer.propose(self.runs, report, result, refused.as_ref())?;
            result.usage = Some(repairer.spent.clone()).filter(|usage| usage.runs > 0);
            if let Some(attempt) = report.attempts.last_mut() {
                attempt.repair = Some(proposal.clone());
            }
            match outcome {
                Some(repair) => return Ok(Ok(repair)),
                None if refused.is_some() => {
                    return Ok(Err(format!("the repair was refused twice: {}", proposal.summary)));
                }
                None => {
                    // a refused repair counts as an attempt
                    if !budget.take()? {
                        return Ok(Err(format!(
                            "the repair was refused, and no attempt is left: {}",
                            proposal.summary
                        )));
                    }
                    if let Some(last) = report.attempts.last().cloned() {
                        report.attempts.push(Attempt { attempt: last.attempt + 1, repair: None, ..last });
                    }
                    refused = Some(proposal);
                }
            }
        }
    }
}

fn keep_options(_: &mut Options) {}

/// Makes the number of runs that are left known to everything that the run starts; a run inside of another one
/// that has such a number takes from that. Says where it is.
pub fn prepare(
    runs: &Runs,
    policy: &Policy,
    known: Option<PathBuf>,
    host: &mut Host,
) -> Result<PathBuf, FolderError> {
    let inherited = host.var(budget::VARIABLE).map(PathBuf::from).filter(|path| path.exists());
    let path = match known.or(inherited) {
        Some(path) => path,
        None => {
            let dir = runs.home().join("auto-fix");
            crate::folder::make_dir(&dir)?;
            dir.join(crate::runs::new_id())
        }
    };
    Budget::open(&path, policy.max_attempts.saturating_sub(1))?;
    host.env.insert(budget::VARIABLE.into(), path.clone().into());
    Ok(path)
}

/// The result of a run whose user chose to look at it in person.
pub fn not_wanted(mut result: RunResult) -> RunResult {
    result.auto_fix = Some(Report {
        enabled: false,
        reason: Some("--no-auto-fix: a person looks at it".to_owned()),
        tracking_id: result.tracking_id.clone().unwrap_or_default(),
        max_attempts: 1,
        attempts: Vec::new(),
        outcome: result.outcome.to_owned(),
        escalation: None,
        resumes: result.resumes,
    });
    result
}

/// Whether an attempt failed for a reason that only doing it again could help with.
fn is_unexplained(attempt: &Attempt) -> bool {
    let found = attempt.classification.as_ref();
    found.is_some_and(|found| matches!(found.bucket, Bucket::Run | Bucket::None))
}

fn is_same_failure(attempt: &Attempt, result: &RunResult) -> bool {
    attempt.failed_step == result.failure.as_ref().map(|failure| failure.step.clone())
        && attempt.fingerprint == result.fingerprint
}

/// The loop of a run that did not come to its end: how it is done, and where its budget is.
pub fn unfinished(folder: &RunFolder, options: &Options) -> Option<(Policy, PathBuf)> {
    let budget = options.auto_fix_budget.clone().filter(|path| path.exists())?;
    let is_over = load(folder).is_some_and(|report| !matches!(report.outcome.as_str(), "" | "interrupted"));
    let max_attempts = options.auto_fix.filter(|_| !is_over)?;
    Some((Policy { max_attempts, repair_agent: options.repair_agent.clone() }, budget))
}
