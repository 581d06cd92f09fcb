//! Asking an agent for a better recipe, and judging what it brings.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use engine::{
    Event, Outcome,
    event::{RepairBegan, Usage},
    guard,
};
use recipe::{
    check::{Given, Loaded, Loader, check},
    diagnostic::Severity,
    digest::sha256,
    plan::{JsonMode, Plan, Step},
};
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, mpsc, watch};

use super::{AutoFixError, RepairReport, Report, answer, desk::Desk, surface::Snapshot};
use crate::{
    agent_attempt::{AgentSettings, AgentTask, run_agent},
    agents::User,
    attempt::Go,
    budget::{self, Ledger},
    drive::Halt,
    folder::{FolderError, RunFolder, make_dir, write_new},
    guardian::Beside,
    host::Host,
    report::RunResult,
};

/// Something that a repair would make worse.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Regression {
    /// Which kind.
    pub code: String,
    /// The step.
    pub step: Option<String>,
    /// In words.
    pub detail: String,
}

/// A repair that was accepted.
pub(super) struct Repair {
    pub(super) loaded: Loaded,
    pub(super) plan: Plan,
}

/// What became of a proposal.
pub(super) enum Verdict {
    /// It is taken.
    Accepted(Box<Repair>),
    /// It is not.
    Refused,
    /// Somebody asked to stop before there was one.
    Stopped(Halt),
}

/// Asks for repairs.
pub(super) struct Repairer<'a> {
    pub(super) folder: &'a RunFolder,
    pub(super) recipe_file: &'a Path,
    pub(super) plan: &'a Plan,
    pub(super) agents: &'a AgentSettings,
    pub(super) host: &'a Host,
    pub(super) loader: &'a dyn Loader,
    pub(super) program: Option<&'a str>,
    /// What the run's agents have used up so far.
    pub(super) spent: Usage,
}

/// How long a repair may take.
const REPAIR_SECONDS: f64 = 1800.0;

impl Repairer<'_> {
    /// Asks once, and judges what comes back. Until that is over the journal says how to put the recipe back.
    pub(super) fn propose(
        &mut self,
        desk: &mut Desk<'_>,
        report: &Report,
        result: &RunResult,
        refused: Option<&RepairReport>,
    ) -> Result<(RepairReport, Verdict), AutoFixError> {
        let number = (1..).find(|n| !self.folder.path().join(format!("repairs/{n}")).exists()).unwrap_or(1);
        let dir = PathBuf::from(format!("repairs/{number}"));
        make_dir(&self.folder.path().join(&dir))?;
        let before = fs::read(self.recipe_file).map_err(FolderError::at("read", self.recipe_file))?;
        let original = dir.join("original.yaml");
        write_new(&self.folder.path().join(&original), &before)?;
        desk.record(Event::RepairBegan(RepairBegan {
            number,
            file: self.recipe_file.to_string_lossy().into_owned(),
            digest: sha256(&before),
            original: original.to_string_lossy().into_owned(),
        }))?;
        let prompt = self.prompt(report, result, refused, &before);
        let judged = self.work(desk, &dir, &before, prompt, result)?;
        let accepted = matches!(judged.1, Verdict::Accepted(_));
        desk.record(Event::RepairEnded { number, accepted })?;
        Ok(judged)
    }

    /// Lets the agent work, puts back what it changed, and judges its proposal.
    fn work(
        &mut self,
        desk: &mut Desk<'_>,
        dir: &Path,
        before: &[u8],
        prompt: String,
        result: &RunResult,
    ) -> Result<(RepairReport, Verdict), AutoFixError> {
        let working_dir = self.folder.header().map(|header| header.working_dir)?;
        let snapshot = Snapshot::take(&working_dir, self.recipe_file);
        let (asked, halt) = self.ask(desk, dir, working_dir, prompt)?;
        let edited = fs::read(self.recipe_file).ok().filter(|now| now != before);
        // whatever comes of it, the file is as it was until the repair is accepted
        if edited.is_some() || !self.recipe_file.exists() {
            write_new(self.recipe_file, before)?;
        }
        let elsewhere = snapshot.restore();
        if let Some(halt) = halt {
            let kept = edited.map(|candidate| self.keep(dir, &candidate)).transpose()?;
            let summary = "it was stopped before there was anything to judge".to_owned();
            return Ok((refusal(summary, Vec::new(), kept), Verdict::Stopped(halt)));
        }
        self.judge(asked, edited, &elsewhere, dir, before, result)
    }

    /// Keeps what was proposed as a file.
    fn keep(&self, dir: &Path, candidate: &[u8]) -> Result<String, FolderError> {
        let kept = self.folder.path().join(dir).join("candidate.yaml");
        write_new(&kept, candidate)?;
        Ok(kept.to_string_lossy().into_owned())
    }

    /// Takes a proposal if it makes nothing weaker.
    fn judge(
        &self,
        asked: Result<String, String>,
        edited: Option<Vec<u8>>,
        elsewhere: &[String],
        dir: &Path,
        before: &[u8],
        result: &RunResult,
    ) -> Result<(RepairReport, Verdict), AutoFixError> {
        let candidate = match (&asked, edited) {
            (_, Some(edited)) => Some(edited),
            (Ok(text), None) => answer::recipe_in(text).map(String::into_bytes),
            (Err(_), None) => None,
        };
        let Some(candidate) = candidate else {
            let summary = match asked {
                Ok(text) if text.trim().is_empty() => "the repair agent gave an empty answer".to_owned(),
                Ok(_) => "the repair agent's answer holds no recipe".to_owned(),
                Err(error) => format!("the repair agent failed: {error}"),
            };
            let regressions = vec![regression("no_recipe", None, &summary)];
            return Ok((refusal(summary, regressions, None), Verdict::Refused));
        };
        let kept = Some(self.keep(dir, &candidate)?);
        let mut regressions: Vec<Regression> = elsewhere
            .iter()
            .map(|file| {
                regression("outside_surface", None, &format!("it changed `{file}`, which is put back"))
            })
            .collect();
        let path = self.plan.root().path.clone();
        let loaded = Loaded { path, bytes: candidate.clone().into() };
        let checked = check(loaded.clone(), self.loader, &Given::default());
        let problems = checked.diagnostics.iter().filter(|problem| problem.severity == Severity::Error);
        regressions.extend(problems.map(|problem| regression("invalid", None, &problem.message)));
        let failed = result.failure.as_ref().map_or("", |failure| failure.step.as_str());
        if candidate == before || checked.plan.as_ref().is_some_and(|plan| is_same(self.plan, plan)) {
            regressions.push(regression("unchanged", None, "it proposes the recipe as it is"));
        }
        if let Some(plan) = &checked.plan {
            regressions.extend(around_checks(self.plan, plan));
            regressions.extend(guard::compare(self.plan, plan, failed).into_iter().map(|found| Regression {
                code: found.code.to_string(),
                step: found.step,
                detail: found.detail,
            }));
        }
        match checked.plan {
            Some(plan) if regressions.is_empty() => {
                write_new(self.recipe_file, &candidate)?;
                let summary = "the recipe was repaired".to_owned();
                let report = RepairReport { accepted: true, summary, regressions, candidate: kept };
                Ok((report, Verdict::Accepted(Box::new(Repair { loaded, plan }))))
            }
            _ => {
                let summary = regressions.first().map_or_else(String::new, |first| first.detail.clone());
                Ok((refusal(summary, regressions, kept), Verdict::Refused))
            }
        }
    }

    fn prompt(
        &self,
        report: &Report,
        result: &RunResult,
        refused: Option<&RepairReport>,
        before: &[u8],
    ) -> String {
        let failure = result.failure.as_ref();
        let tried: Vec<String> = report.attempts.iter().map(super::escalation::describe).collect();
        let refusal = refused.map(|refused| {
            let list: Vec<String> = refused
                .regressions
                .iter()
                .map(|found| {
                    format!(
                        "- {}{}: {}",
                        found.code,
                        found.step.as_ref().map(|step| format!(" ({step})")).unwrap_or_default(),
                        found.detail
                    )
                })
                .collect();
            format!(
                "\nYour last proposal was refused, because it makes the recipe weaker:\n{}\n",
                list.join("\n")
            )
        });
        format!(
            "A workflow recipe failed, and its definition seems to be the reason. Correct the recipe.\n\n\
             Recipe file: {}\nFailed step: {}\nError: {}\nClassification: {}\nEvidence:\n{}\n\nTried so far:\n{}\n{}\n\
             Rules: keep every step that does real work; do not weaken checks, timeouts, limits or conditions; do not \
             let a failing command pass; change no other file; do not commit or push anything.\n\
             Answer with the whole corrected recipe as YAML in a ```yaml block, or edit the file in place.\n\n\
             The recipe:\n```yaml\n{}\n```\n",
            self.recipe_file.display(),
            failure.map_or("", |failure| &failure.step),
            failure.map_or("", |failure| &failure.error),
            result.diagnosis.as_ref().map_or("unknown", |diagnosis| diagnosis.class.as_str()),
            evidence(result),
            tried.join("\n"),
            refusal.unwrap_or_default(),
            String::from_utf8_lossy(before),
        )
    }

    /// Asks the agent; its answer, and whether somebody asked to stop meanwhile. What it used up counts in the run.
    fn ask(
        &mut self,
        desk: &mut Desk<'_>,
        dir: &Path,
        cwd: PathBuf,
        prompt: String,
    ) -> Result<Asked, AutoFixError> {
        let Some(step) = self.plan.root().steps.first() else {
            return Ok((Err("the recipe has no steps".to_owned()), None));
        };
        let limit = budget::of_run(&self.plan.root().budget, self.agents, self.spent.clone());
        let (json, exit_codes) = (JsonMode::Text, Vec::new());
        let step = Arc::new(Step { json, json_schema: None, exit_codes, ..Step::clone(step) });
        let run_id = self.folder.id();
        let ledger: Arc<Ledger> = Arc::default();
        if let Some(what) = limit.used_up(&ledger) {
            return Ok((Err(format!("the budget is used up: {what}")), None));
        }
        let task = AgentTask {
            run: self.folder.path().to_owned(),
            env: self.host.step_env(&self.host.tree(&run_id)),
            run_id,
            path: "repair".to_owned(),
            step,
            attempt: 1,
            program: self.program.map_or_else(|| self.agents.program.clone(), str::to_owned),
            settings: self.agents.clone(),
            prompt,
            system_prompt: None,
            model: None,
            cwd,
            dir: dir.to_owned(),
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
        let mut guardian = Beside::new(self.host.guardian.clone(), Some(self.folder.path().to_owned()));
        let (gate, go) = watch::channel(Go::On);
        let (finished, halt) = desk.watch(&gate, async move {
            let (progress, _receiver) = mpsc::unbounded_channel();
            let wake = Arc::new(Notify::new());
            let ticking = Arc::clone(&wake);
            // nobody follows its output here: a slow clock lets it be read
            let clock = tokio::spawn(async move {
                loop {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    ticking.notify_one();
                }
            });
            let finished = guardian.while_it(run_agent(task, wake, go, progress)).await;
            guardian.end();
            clock.abort();
            finished
        });
        let finished = finished?;
        let usage = finished.ended.usage.unwrap_or_default();
        self.spent.add(&usage);
        desk.record(Event::AgentUsed { purpose: "repair".to_owned(), usage })?;
        let answer = match (finished.ended.outcome, finished.value) {
            (Outcome::Ok, Some(value)) => Ok(value.render().into_owned()),
            (_, _) => Err(finished.ended.error.unwrap_or_else(|| "no answer".to_owned())),
        };
        Ok((answer, halt))
    }
}

/// What an agent answered, and whether somebody asked to stop meanwhile.
type Asked = (Result<String, String>, Option<Halt>);

/// What the diagnosis rests on, and where everything else is.
fn evidence(result: &RunResult) -> String {
    let signals = result.diagnosis.iter().flat_map(|found| &found.signals);
    let lines = signals.map(|signal| format!("- {}: {} ({})", signal.what, signal.quote, signal.at));
    let folder = result.run_dir.iter().map(|dir| format!("- everything that the run kept: {dir}"));
    lines.chain(folder).collect::<Vec<_>>().join("\n")
}

/// Whether two recipes do the same.
fn is_same(before: &Plan, after: &Plan) -> bool {
    let digests = |plan: &Plan| plan.root().steps.iter().map(|step| step.digest.clone()).collect::<Vec<_>>();
    digests(before) == digests(after)
        && before.root().context == after.root().context
        && hook_texts(before) == hook_texts(after)
}

fn hook_texts(plan: &Plan) -> [Option<String>; 3] {
    let hooks = &plan.root().hooks;
    [&hooks.pre_step, &hooks.post_step, &hooks.on_error]
        .map(|hook| hook.as_ref().map(|hook| hook.text().to_owned()))
}

/// Changes that get around a check without touching it: hooks that work for it, and programs put in its way.
fn around_checks(before: &Plan, after: &Plan) -> Vec<Regression> {
    let mut found = Vec::new();
    if hook_texts(before) != hook_texts(after) {
        found.push(regression("hooks_changed", None, "it changes the hooks, which run around every check"));
    }
    for step in &after.root().steps {
        let old = before.root().steps.iter().find(|old| old.id == step.id);
        let known = |name: &str| old.is_some_and(|old| old.env.iter().any(|(known, _)| known == name));
        for (name, _) in
            step.env.iter().filter(|(name, _)| recipe::env_name::is_protected(name) && !known(name))
        {
            let detail = format!("it sets `{name}`, which decides what programs the step runs");
            found.push(regression("environment_changed", Some(&step.id), &detail));
        }
    }
    found
}

fn regression(code: &str, step: Option<&str>, detail: &str) -> Regression {
    Regression { code: code.to_owned(), step: step.map(str::to_owned), detail: detail.to_owned() }
}

fn refusal(summary: String, regressions: Vec<Regression>, candidate: Option<String>) -> RepairReport {
    RepairReport { accepted: false, summary, regressions, candidate }
}
