//! Asks an agent for a better recipe, and judges the proposal.

mod prompt;

use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use engine::{
    Event,
    run::{
        budget,
        event::{RepairBegan, Usage},
        message::budget_used_up,
        outcome::AgentTrouble,
    },
};
use recipe::{
    check::Loader,
    digest::sha256,
    plan::{JsonMode, Plan, Step},
};
use tokio::sync::{Notify, mpsc, watch};

use super::{
    Attempt, AutoFixError, Loop, Regression, RepairReport, Report, answer,
    between_attempts::BetweenAttempts,
    budget::Budget,
    changes, judge,
    target_recipe::{Replaced, Subject},
    work::Prepared,
    workspace_snapshot::{Place, WorkspaceSnapshot},
};
use crate::{
    agents::{AgentSettings, User},
    machine::host::Host,
    os::{environment::Environment, guardian::GuardianProcess},
    report::RunResult,
    run::Halt,
    steps::{
        agent::{
            attempt::{AgentTask, run_once},
            ledger::Ledger,
        },
        shell::attempt::StopSignal,
    },
    store::{
        folder::{FolderError, RunFolder, make_dir, write_new},
        sources::Remembered,
    },
};

/// A repair that was accepted.
pub(super) struct Repair {
    pub(super) subject: Subject,
    pub(super) text: Arc<[u8]>,
}

/// The result of a proposal.
pub(super) enum Verdict {
    /// It is accepted, with this text.
    Accepted(Arc<[u8]>),
    /// It is refused.
    Refused,
    /// There is no proposal: the agent's service does not work.
    Unasked,
    /// It is good, but could not be written into the recipe.
    Unwritten,
    /// A stop was requested before there was a proposal.
    Stopped(Halt),
}

/// Asks for repairs.
struct Repairer<'a> {
    folder: &'a RunFolder,
    subject: &'a Subject,
    /// The requested recipe.
    recipe_file: &'a Path,
    /// The plan that the run used.
    plan: &'a Plan,
    /// The folder of its sources.
    sources: PathBuf,
    agents: &'a AgentSettings,
    host: &'a Host,
    loader: &'a dyn Loader,
    program: Option<&'a str>,
    /// The usage of the run's agents so far.
    spent: Usage,
}

/// The code for a good repair that could not be written into its recipe.
pub(super) const NOT_WRITTEN: &str = "not_written";
/// How long a repair may take.
const REPAIR_SECONDS: f64 = 1800.0;

impl Loop<'_> {
    /// Asks the repair agent; a refused proposal is sent back once.
    pub(super) fn repair(
        &self,
        desk: &mut BetweenAttempts<'_>,
        budget: &Budget,
        report: &mut Report,
        result: &RunResult,
    ) -> Result<Prepared, AutoFixError> {
        let opened = self.runs.open(desk.folder.clone())?;
        let Some(subject) = Subject::find(&opened, &self.recipe_file)? else {
            return Ok(Prepared::Over("the recipe has no file that could be repaired".to_owned()));
        };
        // do not pay for a repair that cannot be saved
        if let Err(error) = OpenOptions::new().append(true).open(&subject.file) {
            let file = subject.file.display();
            return Ok(Prepared::Over(format!("the recipe `{file}` cannot be written: {error}")));
        }
        let mut repairer = Repairer {
            folder: desk.folder,
            subject: &subject,
            recipe_file: &self.recipe_file,
            plan: &opened.plan,
            sources: opened.sources_dir(),
            agents: &self.agents,
            host: &self.host,
            loader: self.loader,
            program: self.policy.repair_agent.as_deref(),
            spent: result.usage.clone().unwrap_or_default(),
        };
        let mut refused: Option<RepairReport> = None;
        loop {
            let (proposal, verdict) = repairer.propose(desk, report, result, refused.as_ref())?;
            if let Some(attempt) = report.attempts.last_mut() {
                attempt.repair = Some(proposal.clone());
            }
            match verdict {
                Verdict::Accepted(text) => {
                    return Ok(Prepared::StopSignal(Some(Box::new(Repair { subject, text }))));
                }
                Verdict::Stopped(halt) => return Ok(Prepared::Told(halt)),
                Verdict::Unasked | Verdict::Unwritten => return Ok(Prepared::Over(proposal.summary)),
                Verdict::Refused if refused.is_some() => {
                    let reason = format!("the repair was refused twice: {}", proposal.summary);
                    return Ok(Prepared::Over(reason));
                }
                // a refused repair counts as an attempt
                Verdict::Refused if !budget.take()? => {
                    let reason =
                        format!("the repair was refused, and no attempt is left: {}", proposal.summary);
                    return Ok(Prepared::Over(reason));
                }
                Verdict::Refused => {
                    if let Some(last) = report.attempts.last().cloned() {
                        report.attempts.push(Attempt { attempt: last.attempt + 1, repair: None, ..last });
                    }
                    refused = Some(proposal);
                }
            }
        }
    }
}

impl Repairer<'_> {
    /// Asks once, and judges the answer. Until then the journal says how to restore the recipe.
    fn propose(
        &mut self,
        desk: &mut BetweenAttempts<'_>,
        report: &Report,
        result: &RunResult,
        refused: Option<&RepairReport>,
    ) -> Result<(RepairReport, Verdict), AutoFixError> {
        let number = (1..).find(|n| !self.folder.path().join(format!("repairs/{n}")).exists()).unwrap_or(1);
        let dir = repair_dir(number);
        make_dir(&self.folder.path().join(&dir))?;
        let file = &self.subject.file;
        let before = fs::read(file).map_err(FolderError::at("read", file))?;
        let original = dir.join("original.yaml");
        write_new(&self.folder.path().join(&original), &before)?;
        desk.record(Event::RepairBegan(RepairBegan {
            number,
            file: file.to_string_lossy().into_owned(),
            digest: sha256(&before),
            original: original.to_string_lossy().into_owned(),
        }))?;
        let prompt = self.prompt(report, result, refused, &before);
        let judged = self.work(desk, number, &before, prompt, result)?;
        let accepted = matches!(judged.1, Verdict::Accepted(_));
        desk.record(Event::RepairEnded { number, accepted })?;
        Ok(judged)
    }

    /// Lets the agent work, restores what it changed, and judges its proposal.
    fn work(
        &mut self,
        desk: &mut BetweenAttempts<'_>,
        number: u32,
        before: &[u8],
        prompt: String,
        result: &RunResult,
    ) -> Result<(RepairReport, Verdict), AutoFixError> {
        let dir = &repair_dir(number);
        let working_dir = self.folder.header().map(|header| header.working_dir)?;
        let file = &self.subject.file;
        let mut surface = WorkspaceSnapshot::take(&Place {
            working_dir: &working_dir,
            recipe: file,
            root: self.recipe_file,
            state: desk.runs.home(),
            home: self.host.home.as_deref(),
        });
        let (asked, halt) = self.ask(desk, number, working_dir, prompt)?;
        let edited = fs::read(file).ok().filter(|now| now != before);
        // in any case, the file stays unchanged until the repair is accepted
        let aside = self.folder.path().join(dir).join("outside");
        let outside = judge::outside(&surface.restore(&aside), &aside);
        if fs::read(file).ok().as_deref() != Some(before) {
            write_new(file, before)?;
        }
        if let Some(halt) = halt {
            let kept = edited.map(|candidate| self.keep(dir, &candidate)).transpose()?;
            let summary = "it was stopped before there was anything to judge".to_owned();
            return Ok((refusal(summary, outside, kept), Verdict::Stopped(halt)));
        }
        self.judge(asked, edited, outside, dir, result)
    }

    /// Saves the proposal as a file.
    fn keep(&self, dir: &Path, candidate: &[u8]) -> Result<String, FolderError> {
        let kept = self.folder.path().join(dir).join("candidate.yaml");
        write_new(&kept, candidate)?;
        Ok(kept.to_string_lossy().into_owned())
    }

    /// Accepts a proposal if it makes nothing weaker.
    fn judge(
        &self,
        asked: Result<String, Silence>,
        edited: Option<Vec<u8>>,
        outside: Vec<Regression>,
        dir: &Path,
        result: &RunResult,
    ) -> Result<(RepairReport, Verdict), AutoFixError> {
        let candidate = match (&asked, edited) {
            (_, Some(edited)) => Some(edited),
            (Ok(text), None) => answer::recipe_in(text).map(String::into_bytes),
            (Err(_), None) => None,
        };
        let Some(candidate) = candidate else { return self.without_recipe(asked, outside, dir) };
        let kept = Some(self.keep(dir, &candidate)?);
        let candidate: Arc<[u8]> = candidate.into();
        let failed = result.failure.as_ref().map_or("", |failure| failure.step.as_str());
        let remembered = Remembered::open(&self.sources, Some(self.loader))?;
        let loader = Replaced::new(&remembered, Some((&self.subject.path, Arc::clone(&candidate))));
        let mut regressions = outside;
        regressions.extend(judge::examine(self.subject, self.plan, &candidate, &loader, failed));
        if let Some(first) = regressions.first() {
            return Ok((refusal(first.detail.clone(), regressions, kept), Verdict::Refused));
        }
        let original = self.folder.path().join(dir).join("original.yaml");
        let before = fs::read(&original).map_err(FolderError::at("read", &original))?;
        if let Err(error) = write_new(&self.subject.file, &candidate) {
            let summary = format!("the repair could not be written into the recipe: {error}");
            let found = vec![judge::regression(NOT_WRITTEN, None, &summary)];
            return Ok((refusal(summary, found, kept), Verdict::Unwritten));
        }
        let changes = changes::describe(&before, &candidate);
        let summary = match self.subject.is_root() {
            true => changes,
            false => format!("in `{}`: {changes}", self.subject.path),
        };
        let report = RepairReport {
            accepted: true,
            summary,
            regressions,
            candidate: kept,
            file: Some(self.subject.file.to_string_lossy().into_owned()),
            original: Some(original.to_string_lossy().into_owned()),
        };
        Ok((report, Verdict::Accepted(candidate)))
    }

    /// Refuses an answer without a recipe; the answer is kept.
    fn without_recipe(
        &self,
        asked: Result<String, Silence>,
        outside: Vec<Regression>,
        dir: &Path,
    ) -> Result<(RepairReport, Verdict), AutoFixError> {
        let said = asked.as_ref().ok().filter(|text| !text.trim().is_empty());
        let kept = said.map(|text| self.keep(dir, answer::proposal_in(text).as_bytes())).transpose()?;
        let summary = match &asked {
            Ok(text) if text.trim().is_empty() => "the repair agent gave an empty answer".to_owned(),
            Ok(_) => "the repair agent's answer holds no recipe".to_owned(),
            Err(Silence::Agent(error)) => format!("the repair agent failed: {error}"),
            Err(Silence::Service(error)) => {
                let summary = format!("the repair agent cannot work: {error}");
                return Ok((refusal(summary, outside, kept), Verdict::Unasked));
            }
        };
        let mut regressions = vec![judge::regression("no_recipe", None, &summary)];
        regressions.extend(outside);
        Ok((refusal(summary, regressions, kept), Verdict::Refused))
    }

    /// Asks the agent. Returns its answer, and the stop if one was requested meanwhile. Its usage counts in the run.
    fn ask(
        &mut self,
        desk: &mut BetweenAttempts<'_>,
        number: u32,
        cwd: PathBuf,
        prompt: String,
    ) -> Result<Asked, AutoFixError> {
        let Some(step) = self.plan.root().steps.first() else {
            return Ok((Err(Silence::Agent("the recipe has no steps".to_owned())), None));
        };
        let limit = self.agents.budgets().limit(&self.plan.root().budget, self.spent.clone());
        let (json, exit_codes) = (JsonMode::Text, Vec::new());
        let step = Arc::new(Step { json, json_schema: None, exit_codes, ..Step::clone(step) });
        let run_id = self.folder.id();
        let ledger: Arc<Ledger> = Arc::default();
        if let Some(exhausted) = budget::used_up(std::slice::from_ref(&limit), &*ledger) {
            return Ok((Err(Silence::Agent(budget_used_up(&exhausted))), None));
        }
        let task = AgentTask {
            run: self.folder.path().to_owned(),
            env: Environment::shared(Arc::new(self.host.step_env(&self.host.tree(&run_id)))),
            run_id,
            path: "repair".to_owned(),
            step,
            attempt: number,
            purpose: Some("repair"),
            program: self.program.map_or_else(|| self.agents.program.clone(), str::to_owned),
            settings: self.agents.clone(),
            prompt,
            system_prompt: None,
            model: None,
            cwd,
            dir: repair_dir(number),
            timeout: Some(REPAIR_SECONDS),
            idle_timeout: None,
            grace: self.host.grace,
            user: if self.host.is_root { User::Root } else { User::Ordinary },
            auto_stage: false,
            json_retries: 0,
            limits: vec![limit],
            account: ledger.open("repair"),
            ledger,
        };
        let mut guardian =
            GuardianProcess::new(self.host.guardian.clone(), Some(self.folder.path().to_owned()));
        let (gate, go) = watch::channel(StopSignal::None);
        let (progress, told) = mpsc::unbounded_channel();
        let watched = desk.watch(&gate, told, async move {
            let wake = Arc::new(Notify::new());
            let ticking = Arc::clone(&wake);
            // its output is not followed here, so a slow timer triggers the reads
            let clock = tokio::spawn(async move {
                loop {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    ticking.notify_one();
                }
            });
            let finished = guardian.while_it(run_once(task, wake, go, progress)).await;
            guardian.end();
            clock.abort();
            finished
        });
        let (finished, halt) = watched?;
        let (call, usage) = finished?;
        self.spent.add(&usage);
        desk.record(Event::AgentUsed { purpose: "repair".to_owned(), usage })?;
        let is_elsewhere = call.trouble.is_some_and(|trouble| trouble != AgentTrouble::Request);
        let answer = match call.result {
            Ok(said) => Ok(said.text),
            Err(error) if is_elsewhere => Err(Silence::Service(error)),
            Err(error) => Err(Silence::Agent(error)),
        };
        Ok((answer, halt))
    }
}

/// The folder of a repair, relative to the run's folder.
fn repair_dir(number: u32) -> PathBuf {
    PathBuf::from(format!("repairs/{number}"))
}

/// The answer of an agent, and the stop if one was requested meanwhile.
type Asked = (Result<String, Silence>, Option<Halt>);

/// Why there is no answer.
enum Silence {
    /// The agent did not answer.
    Agent(String),
    /// Its service, or the network, does not work: there is no proposal to refuse.
    Service(String),
}

fn refusal(summary: String, regressions: Vec<Regression>, candidate: Option<String>) -> RepairReport {
    RepairReport { accepted: false, summary, regressions, candidate, file: None, original: None }
}
