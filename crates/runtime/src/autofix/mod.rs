//! Auto-fix: run, look at the evidence, decide, repair or do again what was wanting, and stop in time.
//!
//! Never retries blindly, never repairs a recipe because of the environment, never accepts a weaker recipe, and
//! never goes over its budget. When it cannot go on, it says so and hands over.

pub mod answer;
pub mod budget;
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
    drive::Reporter,
    folder::{FolderError, Options, RunFolder},
    host::Host,
    report::RunResult,
    runs::{Beside, Interrupted, Resume, ResumeError, RunError, Runs},
    sources::Recording,
};
use budget::Budget;
pub use repair::Regression;
use repair::{Repair, Repairer};
pub use report::{Attempt, Escalation, PlanSummary, RepairReport, Report};

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
            return Ok(result);
        };
        let folder = RunFolder::at(PathBuf::from(run_dir));
        let budget = self.budget(&folder)?;
        let mut report = load(&folder).unwrap_or_else(|| Report {
            enabled: true,
            tracking_id: result.tracking_id.clone().unwrap_or_else(|| run_id.clone()),
            max_attempts: self.policy.max_attempts,
            ..Report::default()
        });
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
                escalate(&mut report, &mut result, "a step says that a person has to look at it".to_owned());
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
                    escalate(&mut report, &mut result, reason);
                    break;
                }
                next => next,
            };
            if !budget.take()? {
                let reason = format!("the budget of {} runs is used up", report.max_attempts);
                escalate(&mut report, &mut result, reason);
                break;
            }
            if let Some(reason) =
                self.attempt_again(&folder, &budget, next, &mut report, &mut result, reporter)?
            {
                escalate(&mut report, &mut result, reason);
                break;
            }
        }
        save(&folder, &report)?;
        if report.outcome == "blocked" {
            result.outcome = "blocked";
        }
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
        let same: Vec<&Attempt> = report.attempts[..report.attempts.len() - 1]
            .iter()
            .filter(|attempt| is_same_failure(attempt, result))
            .collect();
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
            Next::Wait(time) => std::thread::sleep(time),
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
            attempt.plan = Some(PlanSummary { anchor: plan.anchor.clone(), rerun: plan.rerun.clone() });
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
        result: &RunResult,
    ) -> Result<Result<Repair, String>, AutoFixError> {
        let repairer = Repairer {
            folder,
            recipe_file: &self.recipe_file,
            plan: &self.plan,
            agents: &self.agents,
            host: &self.host,
            loader: self.loader,
            program: self.policy.repair_agent.as_deref(),
        };
        let mut refused: Option<RepairReport> = None;
        loop {
            let (proposal, outcome) = repairer.propose(report, result, refused.as_ref())?;
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
    });
    result
}

fn is_same_failure(attempt: &Attempt, result: &RunResult) -> bool {
    attempt.failed_step == result.failure.as_ref().map(|failure| failure.step.clone())
        && attempt.fingerprint == result.fingerprint
}

fn escalate(report: &mut Report, result: &mut RunResult, reason: String) {
    report.outcome = "needs_human".to_owned();
    let attempted = report.attempts.iter().map(describe).collect();
    let run = result.run_id.clone().unwrap_or_default();
    report.escalation = Some(Escalation {
        reason,
        attempted,
        diagnosis: result.diagnosis.clone(),
        options: vec![
            format!("recipe-runner-rs show {run}"),
            format!("recipe-runner-rs resume {run} --plan"),
            format!("recipe-runner-rs resume {run}"),
            format!("recipe-runner-rs resume {run} --rerun-producers"),
        ],
        evidence: result.run_dir.iter().cloned().collect(),
    });
    result.outcome = "needs_human";
    result.status = RunStatus::Waiting;
    result.exit_code = 6;
}

fn describe(attempt: &Attempt) -> String {
    let step = attempt.failed_step.as_deref().unwrap_or("?");
    let class = attempt.classification.as_ref().map_or("unknown", |diagnosis| diagnosis.class.as_str());
    let repair = match &attempt.repair {
        Some(repair) if repair.accepted => format!("; repaired: {}", repair.summary),
        Some(repair) => format!("; repair refused: {}", repair.summary),
        None => String::new(),
    };
    let again = match &attempt.plan {
        Some(plan) if !plan.rerun.is_empty() => format!("; done again: {}", plan.rerun.join(", ")),
        _ => String::new(),
    };
    format!("attempt {}: step `{step}` failed ({class}){repair}{again}", attempt.attempt)
}

/// What auto-fix did in a run so far.
pub fn load(folder: &RunFolder) -> Option<Report> {
    let text = std::fs::read(folder.path().join("auto-fix.json")).ok()?;
    serde_json::from_slice(&text).ok()
}

fn save(folder: &RunFolder, report: &Report) -> Result<(), FolderError> {
    crate::folder::write_new(&folder.path().join("auto-fix.json"), &crate::folder::to_json(report))
}
