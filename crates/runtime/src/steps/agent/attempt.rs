//! One attempt at an agent step: calls the program, judges its answer, and calls it again if needed.
//!
//! [`super::call`] starts and watches the program.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use engine::{
    Outcome,
    failure::is_hollow,
    run::{
        budget::{self, Limit},
        cause::{NulPlace, Refusal},
        event::{Ended, Usage},
        message::{budget_used_up, step_failed, tried},
        outcome::{AgentTrouble, KnownBy},
    },
};
use recipe::{
    plan::{JsonMode, Step},
    value::Value,
};
use tokio::sync::{Notify, mpsc, watch};

pub use crate::steps::agent::call::Call;
use crate::{
    agents::{self, AgentSettings, AgentText},
    os::{environment::Environment, process::StartError},
    steps::{
        agent::{
            call::{CallControl, ask},
            conversation::{Said, SessionPrompt, asked_nothing},
            file_changes,
            ledger::{Account, Ledger},
            request::AgentRequest,
            staging::{changes_before, stage},
        },
        performer::{Performer, StepCall, refused},
        shell::attempt::{AttemptResult, Progress, StopSignal, read_json, reference},
        stubs::{AgentPart, AgentRole, Script, Stubs},
    },
    store::{folder::FolderError, values},
};

/// An agent call, ready to be made.
#[derive(Debug)]
pub struct AgentTask {
    /// The run's folder.
    pub run: PathBuf,
    /// The run.
    pub run_id: String,
    /// The step.
    pub path: String,
    /// Its definition.
    pub step: Arc<Step>,
    /// The attempt.
    pub attempt: u32,
    /// Its purpose, if it is not the attempt itself.
    pub purpose: Option<&'static str>,
    /// Name of the program.
    pub program: String,
    /// Other programs, for the case that its service does not work.
    pub others: Vec<String>,
    /// What it is asked, and how.
    pub request: AgentRequest,
    /// How the program is called.
    pub settings: AgentSettings,
    /// Its environment.
    pub env: Environment,
    /// Its directory.
    pub cwd: PathBuf,
    /// Files of the attempt, relative to the run's folder.
    pub dir: PathBuf,
    /// How long it has to end by itself.
    pub grace: Duration,
    /// Whether the user is root.
    pub user: agents::User,
    /// The limits that it shares with others.
    pub limits: Vec<Limit>,
    /// The usage of all agents.
    pub ledger: Arc<Ledger>,
    /// The account of its first call, which was reserved before anything started.
    pub account: Account,
    /// Who performs its calls.
    pub(crate) performer: Performer,
    /// Its place in a loop.
    pub(crate) instance: Option<usize>,
}

impl AgentTask {
    /// What stands in for its program.
    pub(crate) fn part(&self, stubs: &Stubs, prompt: &str) -> Result<Script, StartError> {
        let (path, attempt, instance) = (self.path.clone(), self.attempt, self.instance);
        let role = AgentRole::of(self.purpose, &self.step);
        match stubs.agent(&StepCall { path, attempt, instance }, role, &self.step, prompt) {
            Ok(AgentPart::Script(script)) => Ok(script),
            Ok(AgentPart::NotInstalled) => Err(StartError::NotFound { program: self.program.clone().into() }),
            Err(reason) => Err(refused(&self.program, reason)),
        }
    }
}

/// Calls an agent, and calls it again for JSON if needed.
pub async fn run_agent(
    mut task: AgentTask,
    wake: Arc<Notify>,
    go: watch::Receiver<StopSignal>,
    progress: mpsc::UnboundedSender<Progress>,
) -> Result<AttemptResult, FolderError> {
    let mut watch = CallControl { wake, go, progress };
    let mut calls = CallsSoFar::default();
    let began = file_changes::moment(&task.run.join(&task.dir));
    let before = match task.request.auto_stage {
        true => changes_before(&task.cwd, &task.env).await,
        false => Ok(None),
    };
    // work with rules is staged when it is proven
    let is_proven_later = !task.step.ensure.is_empty();
    if let (true, Ok(Some(before))) = (is_proven_later, &before) {
        before.keep(&task.run, &task.path)?;
    }
    let (first, mut notes) = ask_in_turn(&mut task, &mut calls, &mut watch).await?;
    notes.extend(denial(&first));
    notes.extend(task.unlimited());
    let mut finished = match first.result {
        Err(error) => {
            let mut finished = failed(first.outcome, &error, first.partial, first.code);
            (finished.ended.trouble, finished.ended.trouble_by) = (first.trouble, first.trouble_by);
            finished
        }
        Ok(answer) => read_answer(&task, (answer, first.code), &mut calls, &mut watch).await?,
    };
    finished.notes.extend(notes);
    finished.ended.files_changed = changed_files(&task, &finished, began);
    let staged = finished.degraded || finished.ended.outcome == Outcome::Ok;
    match before {
        Ok(Some(before)) if staged && !is_proven_later => {
            finished.notes.extend(stage((&task.cwd, &task.env), &before, &task.path, &mut watch.go).await);
        }
        Err(why) if staged => finished.notes.push(why),
        _ => {}
    }
    finished.ended.usage = Some(calls.usage);
    finished.ended.stdout = reference(&task.run, &task.dir.join("stdout"))?;
    finished.ended.stderr = reference(&task.run, &task.dir.join("stderr"))?;
    Ok(finished)
}

/// Whether files changed although the agent says that it could not reach them: then its claim is ignored.
fn changed_files(task: &AgentTask, finished: &AttemptResult, began: Option<SystemTime>) -> Option<bool> {
    let answer = finished.value.as_ref()?.render();
    is_hollow(&answer, None)?;
    file_changes::since(began?, &task.cwd, &task.run)
}

/// The end of an attempt without an answer. A tolerated failure keeps the partial output.
fn failed(outcome: Outcome, error: &str, partial: Option<AgentText>, code: Option<i32>) -> AttemptResult {
    let mut finished = AttemptResult::refused(outcome, step_failed("agent", error));
    if let Some(said) = partial.filter(|said| !said.contains('\0')) {
        finished.ended.cut_bytes = said.cut;
        finished.value = Some(Value::from(said.text));
    }
    finished.ended.note_code(code);
    finished
}

/// The warning about tools that the agent was not allowed to use; its answer may not mention them.
fn denial(call: &Call) -> Option<String> {
    let denied = call.denied.join(", ");
    (!denied.is_empty()).then(|| format!("warning: the agent was not allowed to use {denied}"))
}

/// Calls an agent once, outside the attempts of a step: to finish the work of a sub-recipe, or to repair a recipe.
pub async fn run_once(
    task: AgentTask,
    wake: Arc<Notify>,
    go: watch::Receiver<StopSignal>,
    progress: mpsc::UnboundedSender<Progress>,
) -> Result<(Call, Usage), FolderError> {
    let mut watch = CallControl { wake, go, progress };
    let mut calls = CallsSoFar::default();
    let call =
        ask_patiently(&task, Said::anew(&task.request.prompt), task.account, &mut calls, &mut watch).await?;
    Ok((call, calls.usage))
}

/// The first call of an attempt: in the conversation that is continued if that still exists, and by the next program if
/// the service of one does not work. Returns the last call, and notes about the others.
async fn ask_in_turn(
    task: &mut AgentTask,
    calls: &mut CallsSoFar,
    watch: &mut CallControl,
) -> Result<(Call, Vec<String>), FolderError> {
    let mut notes = Vec::new();
    let mut account = task.account;
    loop {
        let continued = task.request.continued.clone().filter(|_| task.has_sessions());
        let mut call = match &continued {
            Some(SessionPrompt { session, prompt }) => {
                calls.ask(task, Said { prompt, session: Some(session) }, account, watch).await?
            }
            None => calls.ask(task, Said::anew(&task.request.prompt), account, watch).await?,
        };
        if continued.is_some() && asked_nothing(&call) {
            notes.push(format!(
                "`{}` cannot continue its session, so it was asked in a new one",
                task.program
            ));
            account = task.ledger.open(&task.path);
            call = calls.ask(task, Said::anew(&task.request.prompt), account, watch).await?;
        }
        let Some(note) = task.move_on(&call) else { return Ok((call, notes)) };
        watch.note(&task.path, note);
        account = task.ledger.open(&task.path);
    }
}

/// The calls of an attempt so far.
#[derive(Default)]
struct CallsSoFar {
    /// How many there were: each has its own files.
    count: u64,
    usage: Usage,
}

impl CallsSoFar {
    async fn ask(
        &mut self,
        task: &AgentTask,
        said: Said<'_>,
        account: Account,
        watch: &mut CallControl,
    ) -> Result<Call, FolderError> {
        let call = ask(task, said, self.count, account, watch).await?;
        self.count += 1;
        self.usage.add(&call.usage);
        Ok(call)
    }
}

/// Calls the agent; waits and calls again if the service is rate limited.
async fn ask_patiently(
    task: &AgentTask,
    said: Said<'_>,
    account: Account,
    calls: &mut CallsSoFar,
    watch: &mut CallControl,
) -> Result<Call, FolderError> {
    let rate = &task.settings.rate;
    let mut account = account;
    let mut tries = 0;
    loop {
        let call = calls.ask(task, said, account, watch).await?;
        let is_last = tries >= rate.max_retries || budget::used_up(&task.limits, &*task.ledger).is_some();
        tries += 1;
        let Outcome::RateLimited { message, .. } = &call.outcome else { return Ok(call) };
        if is_last {
            let outcome = Outcome::RateLimited { message: message.clone(), tries };
            let result = call.result.map_err(|error| tried(&error, tries));
            return Ok(Call { outcome, result, ..call });
        }
        let delay = rate.delay(tries);
        watch.tell(&task.path, format!("its service asks to slow down: asked again in {delay} s"));
        if watch.pause(delay).await {
            let error = watch.go.borrow().ended();
            return Ok(Call::without_answer(Outcome::Cancelled, error, Usage::default()));
        }
        account = task.ledger.open(&task.path);
    }
}

/// Judges an answer, and asks again while it has no usable JSON and retries are left.
async fn read_answer(
    task: &AgentTask,
    (mut answer, mut code): (AgentText, Option<i32>),
    calls: &mut CallsSoFar,
    watch: &mut CallControl,
) -> Result<AttemptResult, FolderError> {
    let mut finished = AttemptResult::ok();
    let mut unasked = None;
    for _ in 0..task.request.json_retries {
        let problem = match task.step.json {
            JsonMode::Text => break,
            _ => crate::steps::shell::attempt::json_value(&task.step, &answer).err(),
        };
        let Some(problem) = problem else { break };
        if let Some(exhausted) = budget::used_up(&task.limits, &*task.ledger) {
            finished.notes.push(format!("not asked again for JSON: {}", budget_used_up(&exhausted)));
            break;
        }
        watch.tell(&task.path, format!("asked again for JSON: {problem}"));
        finished.ended.asked_for_json += 1;
        let account = task.ledger.open(&task.path);
        let prompt = reminder(&task.request.prompt, &problem);
        let call = ask_once_more(task, &prompt, account, calls, watch).await?;
        finished.notes.extend(denial(&call));
        match call {
            // an empty answer does not replace the first one
            Call { result: Ok(better), .. } if better.trim().is_empty() => {
                finished.notes.push("asked again for JSON, the agent gave no answer".to_owned());
            }
            Call { result: Ok(better), code: its, .. } => (answer, code) = (better, its),
            Call {
                outcome: outcome @ (Outcome::Cancelled | Outcome::NeedsHuman),
                result: Err(error),
                partial,
                code,
                ..
            } => {
                let asked_for_json = finished.ended.asked_for_json;
                let stopped = failed(outcome, &error, partial, code);
                return Ok(AttemptResult { ended: Ended { asked_for_json, ..stopped.ended }, ..stopped });
            }
            // the first answer is kept, even without JSON, if the second call fails
            Call { result: Err(error), trouble, trouble_by, .. } => {
                finished.notes.push(format!("asking again for JSON failed: {error}"));
                unasked = Some(Unasked { error, trouble, trouble_by });
                break;
            }
        }
    }
    Ok(judged_answer(task, finished, (answer, code), unasked))
}

/// The result of an attempt with this answer. `finished` has what is known of it so far.
fn judged_answer(
    task: &AgentTask,
    mut finished: AttemptResult,
    (answer, code): (AgentText, Option<i32>),
    unasked: Option<Unasked>,
) -> AttemptResult {
    if let Some(at) = answer.find('\0') {
        let mut refused =
            AttemptResult::failed("agent", Outcome::Refused(Refusal::Nul(NulPlace::Answer(at))), "");
        refused.ended.note_code(code);
        refused.ended.asked_for_json = finished.ended.asked_for_json;
        return refused;
    }
    finished.ended.cut_bytes = answer.cut;
    finished.notes.extend(answer.cut.map(values::cut_note));
    read_json(&task.step, answer.text, "agent", &mut finished);
    finished.ended.note_code(code);
    if let Some(unasked) = unasked {
        unasked.explain(&mut finished);
    }
    finished
}

/// Asks again in the session of the last answer, so that its work is not paid for twice; in a new one if that is gone.
async fn ask_once_more(
    task: &AgentTask,
    prompt: &str,
    account: Account,
    calls: &mut CallsSoFar,
    watch: &mut CallControl,
) -> Result<Call, FolderError> {
    let session = calls.usage.session.clone().filter(|_| task.has_sessions());
    let said = Said { prompt, session: session.as_deref() };
    let call = ask_patiently(task, said, account, calls, watch).await?;
    if session.is_none() || !task.lost_its_session(&call) {
        return Ok(call);
    }
    let account = task.ledger.open(&task.path);
    ask_patiently(task, Said::anew(prompt), account, calls, watch).await
}

/// Why an agent could not be asked again for JSON.
struct Unasked {
    error: String,
    trouble: Option<AgentTrouble>,
    trouble_by: KnownBy,
}

impl Unasked {
    /// Adds this to the failure of the first answer, if that has no usable JSON.
    fn explain(self, finished: &mut AttemptResult) {
        let Some(error) = &mut finished.ended.error else { return };
        let more = format!("; asking again for JSON failed: {}", self.error);
        error.push_str(&more);
        if let Outcome::NotJson { problem } = &mut finished.ended.outcome {
            problem.push_str(&more);
        }
        (finished.ended.trouble, finished.ended.trouble_by) = (self.trouble, self.trouble_by);
    }
}

fn reminder(prompt: &str, problem: &str) -> String {
    format!(
        "{prompt}\n\nYour previous answer could not be used: {problem}.\n\
         Answer with valid JSON only: no explanation, no Markdown around it."
    )
}
