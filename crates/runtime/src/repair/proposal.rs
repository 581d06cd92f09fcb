//! Asks an agent for a better recipe, and judges the proposal.

pub(super) mod prompt;

use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
    sync::Arc,
};

use engine::{
    Event,
    repair_review::{Change, DecidedBy, ReviewVerdict},
    run::event::{RepairBegan, Usage},
};
use recipe::{check::Loader, digest::sha256, plan::Plan};

use super::{
    Attempt, AutoFixError, Loop, Regression, RepairReport, Report,
    agent_call::{AgentCall, Silence},
    answer,
    between_attempts::BetweenAttempts,
    budget::Budget,
    changes, judge,
    target_recipe::{RepairTarget, Replaced},
    work::PreparedRepair,
    workspace_snapshot::{Place, WorkspaceSnapshot},
};
use crate::{
    agents::AgentSettings,
    machine::host::Host,
    report::RunResult,
    run::Halt,
    runs::OpenedRun,
    steps::performer::Performer,
    store::{
        folder::{FolderError, Questions, RunFolder, make_dir, write_new},
        sources::Remembered,
    },
};

/// A repair that was accepted.
pub(super) struct Repair {
    pub(super) subject: RepairTarget,
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
    /// A person has to decide.
    Waiting,
    /// A person would have to decide, and the user wants no questions.
    Declined,
    /// A stop was requested before there was a proposal.
    Stopped(Halt),
}

/// What came back from the repair agent.
struct Proposal {
    asked: Result<String, Silence>,
    /// The recipe, if the agent changed its file.
    edited: Option<Vec<u8>>,
    /// Forbidden changes outside the recipe.
    outside: Vec<Regression>,
    number: u32,
}

/// Asks for repairs.
pub(super) struct Repairer<'a> {
    pub(super) folder: &'a RunFolder,
    pub(super) subject: &'a RepairTarget,
    /// The requested recipe.
    pub(super) recipe_file: &'a Path,
    /// The plan that the run used.
    pub(super) plan: &'a Plan,
    /// The folder of its sources.
    pub(super) sources: PathBuf,
    pub(super) agents: &'a AgentSettings,
    pub(super) host: &'a Host,
    pub(super) loader: &'a dyn Loader,
    pub(super) program: Option<&'a str>,
    /// The usage of the run's agents so far.
    pub(super) spent: Usage,
    /// The agent program that gives a second opinion.
    pub(super) reviewer: Option<&'a str>,
    pub(super) questions: Questions,
    /// Who performs the calls of agents.
    pub(super) performer: &'a Performer,
}

/// The code for a good repair that could not be written into its recipe.
pub(super) const NOT_WRITTEN: &str = "not_written";

impl Loop<'_> {
    /// Asks the repair agent; a refused proposal is sent back once.
    pub(super) fn repair(
        &self,
        desk: &mut BetweenAttempts<'_>,
        budget: &Budget,
        report: &mut Report,
        result: &RunResult,
    ) -> Result<PreparedRepair, AutoFixError> {
        let opened = self.runs.open(desk.folder.clone())?;
        let Some(subject) = RepairTarget::find(&opened, &self.recipe_file)? else {
            return Ok(PreparedRepair::Over("the recipe has no file that could be repaired".to_owned()));
        };
        // do not pay for a repair that cannot be saved
        if let Err(error) = OpenOptions::new().append(true).open(&subject.file) {
            let file = subject.file.display();
            return Ok(PreparedRepair::Over(format!("the recipe `{file}` cannot be written: {error}")));
        }
        let mut repairer = self.repairer(&opened, &subject, result);
        let mut refused: Option<RepairReport> = None;
        loop {
            let (proposal, verdict) = repairer.propose(desk, report, result, refused.as_ref())?;
            if let Some(attempt) = report.attempts.last_mut() {
                attempt.repair = Some(proposal.clone());
            }
            match verdict {
                Verdict::Accepted(text) => {
                    return Ok(PreparedRepair::StopSignal(Some(Box::new(Repair { subject, text }))));
                }
                Verdict::Stopped(halt) => return Ok(PreparedRepair::Told(halt)),
                Verdict::Unasked | Verdict::Unwritten => return Ok(PreparedRepair::Over(proposal.summary)),
                Verdict::Waiting => {
                    return Ok(PreparedRepair::Over(format!("a repair waits for you: {}", proposal.summary)));
                }
                Verdict::Declined => {
                    let reason = format!("a repair would need a person: {}", proposal.summary);
                    return Ok(PreparedRepair::Declined(reason));
                }
                Verdict::Refused if refused.is_some() => {
                    let reason = format!("the repair was refused twice: {}", proposal.summary);
                    return Ok(PreparedRepair::Over(reason));
                }
                // a refused repair counts as an attempt
                Verdict::Refused if !budget.take()? => {
                    let reason =
                        format!("the repair was refused, and no attempt is left: {}", proposal.summary);
                    return Ok(PreparedRepair::Over(reason));
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

    /// The repairer of a recipe.
    fn repairer<'a>(
        &'a self,
        opened: &'a OpenedRun,
        subject: &'a RepairTarget,
        result: &RunResult,
    ) -> Repairer<'a> {
        Repairer {
            folder: &opened.folder,
            subject,
            recipe_file: &self.recipe_file,
            plan: &opened.plan,
            sources: opened.sources_dir(),
            agents: &self.agents,
            host: &self.host,
            loader: self.loader,
            program: self.policy.repair_agent.as_deref(),
            reviewer: self.policy.review.agent.as_deref(),
            questions: self.policy.review.questions.unwrap_or_default(),
            spent: result.usage.clone().unwrap_or_default(),
            performer: self.runs.performer(),
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
        let call = AgentCall { number, dir: dir.clone(), cwd: working_dir, program: self.program, prompt };
        let (asked, halt) = self.ask(desk, call)?;
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
        self.judge(desk, Proposal { asked, edited, outside, number }, result)
    }

    /// Saves the proposal as a file.
    fn keep(&self, dir: &Path, candidate: &[u8]) -> Result<String, FolderError> {
        let kept = self.folder.path().join(dir).join("candidate.yaml");
        write_new(&kept, candidate)?;
        Ok(kept.to_string_lossy().into_owned())
    }

    /// Judges a proposal: refuses it, accepts it, or leaves the decision to a second agent or a person.
    fn judge(
        &mut self,
        desk: &mut BetweenAttempts<'_>,
        proposal: Proposal,
        result: &RunResult,
    ) -> Result<(RepairReport, Verdict), AutoFixError> {
        let Proposal { asked, edited, outside, number } = proposal;
        let dir = &repair_dir(number);
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
        let checked = self.subject.check(&candidate, &loader);
        let examined = judge::examine(desk.runs.knowledge(), self.subject, self.plan, &checked, failed);
        let mut changes = examined.changes;
        let regressions = [outside, examined.objections].concat();
        if let Some(first) = regressions.first() {
            let summary = first.detail.clone();
            return Ok((RepairReport { changes, ..refusal(summary, regressions, kept) }, Verdict::Refused));
        }
        let original = self.folder.path().join(dir).join("original.yaml");
        let before = fs::read(&original).map_err(FolderError::at("read", &original))?;
        let summary = match self.subject.is_root() {
            true => changes::describe(&before, &candidate),
            false => format!("in `{}`: {}", self.subject.path, changes::describe(&before, &candidate)),
        };
        let opinion = self.second_opinion(desk, number, &mut changes, (&before, &candidate), result)?;
        if let Some(halt) = opinion.halt {
            return Ok((refusal(summary, Vec::new(), kept), Verdict::Stopped(halt)));
        }
        let report = RepairReport {
            accepted: true,
            summary,
            changes,
            waiting: false,
            unusable_review: opinion.unusable,
            regressions: Vec::new(),
            candidate: kept,
            candidate_digest: None,
            file: Some(self.subject.file.to_string_lossy().into_owned()),
            original: Some(original.to_string_lossy().into_owned()),
            by: None,
            comment: None,
        };
        self.decide(report, candidate)
    }

    /// Writes an accepted proposal into the recipe. One with an open question waits, or is refused.
    fn decide(
        &self,
        mut report: RepairReport,
        candidate: Arc<[u8]>,
    ) -> Result<(RepairReport, Verdict), AutoFixError> {
        let is_open = |change: &&mut Change| change.verdict == ReviewVerdict::Ask;
        let open: Vec<&mut Change> = report.changes.iter_mut().filter(is_open).collect();
        if !open.is_empty() {
            report.accepted = false;
            report.waiting = self.questions == Questions::Person;
            if report.waiting {
                report.candidate_digest = Some(sha256(&candidate));
                return Ok((report, Verdict::Waiting));
            }
            for change in open {
                (change.verdict, change.decided_by) = (ReviewVerdict::Refused, DecidedBy::Policy);
            }
            report.regressions = judge::refusals(&report.changes);
            return Ok((report, Verdict::Declined));
        }
        if let Err(error) = write_new(&self.subject.file, &candidate) {
            let summary = format!("the repair could not be written into the recipe: {error}");
            let found = vec![judge::regression(NOT_WRITTEN, None, &summary)];
            let changes = report.changes;
            return Ok((
                RepairReport { changes, ..refusal(summary, found, report.candidate) },
                Verdict::Unwritten,
            ));
        }
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
}

/// The folder of a repair, relative to the run's folder.
pub(super) fn repair_dir(number: u32) -> PathBuf {
    PathBuf::from(format!("repairs/{number}"))
}

fn refusal(summary: String, regressions: Vec<Regression>, candidate: Option<String>) -> RepairReport {
    let (changes, waiting, unusable_review) = (Vec::new(), false, None);
    RepairReport {
        accepted: false,
        summary,
        changes,
        waiting,
        unusable_review,
        regressions,
        candidate,
        candidate_digest: None,
        file: None,
        original: None,
        by: None,
        comment: None,
    }
}
