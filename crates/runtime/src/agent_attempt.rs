//! One attempt at an agent step: a program is asked, watched while it works, and its answer judged.
//!
//! A result that was seen is not an exit, an exit is not a success, and silence is not death: each is looked at
//! by itself.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use engine::{
    Outcome,
    event::{Ended, Usage},
};
use recipe::plan::{JsonMode, Step};
use tokio::sync::{Notify, mpsc, watch};

use crate::{
    activity::Activity,
    agents::{self, AgentEvent, AgentFailure, CustomProgram, Program, Reader, Request},
    attempt::{
        Command, Finished, Go, Progress, number, read_json, reference, signal_words, spawn_report, stopped,
    },
    folder::{FolderError, make_dir, write_new},
    process::{self, Exit, Launch, Marker, Stdin},
    values,
};

/// How long a program that has given its result may take to end itself.
const AFTER_RESULT: Duration = Duration::from_secs(10);

/// How agents are run.
#[derive(Clone, Debug, Default)]
pub struct AgentSettings {
    /// Program of steps that do not name one.
    pub program: String,
    /// The launcher, if programs are started through one.
    pub launcher: Option<String>,
    /// Programs that a configuration file describes.
    pub custom: Vec<CustomProgram>,
    /// What happens on a rate limit.
    pub rate: RateLimits,
    /// What agents may use up, from the command line.
    pub budget: recipe::plan::Budget,
}

/// What happens when an agent's service asks to slow down.
#[derive(Clone, Debug, PartialEq)]
pub struct RateLimits {
    /// How often it is tried again.
    pub max_retries: u64,
    /// Seconds before the first time.
    pub base_delay: f64,
    /// Longest wait in seconds.
    pub max_delay: f64,
    /// Model of one last attempt.
    pub fallback_model: Option<String>,
}

impl Default for RateLimits {
    fn default() -> RateLimits {
        RateLimits { max_retries: 5, base_delay: 60.0, max_delay: 600.0, fallback_model: None }
    }
}

impl RateLimits {
    /// Seconds before retry number `retry`, counted from 1.
    pub fn delay(&self, retry: u64) -> f64 {
        (self.base_delay * 2f64.powi(retry.saturating_sub(1).min(60) as i32)).min(self.max_delay)
    }
}

/// What agents may still use up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Left {
    /// Dollars.
    pub usd: Option<f64>,
    /// Tokens.
    pub tokens: Option<u64>,
    /// Seconds of work.
    pub seconds: Option<f64>,
}

/// A question to an agent, ready to be asked.
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
    /// Name of the program.
    pub program: String,
    /// How the program is called.
    pub settings: AgentSettings,
    /// The question, footer not included.
    pub prompt: String,
    /// Who the agent is.
    pub system_prompt: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Its environment.
    pub env: BTreeMap<OsString, OsString>,
    /// Its directory.
    pub cwd: PathBuf,
    /// Files of the attempt, relative to the run's folder.
    pub dir: PathBuf,
    /// Seconds after which it is ended.
    pub timeout: Option<f64>,
    /// Seconds of silence after which it is ended.
    pub idle_timeout: Option<f64>,
    /// How long it has to end itself.
    pub grace: Duration,
    /// Whether the user is root.
    pub user: agents::User,
    /// Whether changed files are staged.
    pub auto_stage: bool,
    /// Whether and how its answer must be JSON.
    pub json_retries: u64,
    /// What it may use up.
    pub left: Left,
}

/// How one call of a program came out.
struct Call {
    outcome: Outcome,
    result: Result<String, String>,
    usage: Usage,
}

/// Asks an agent, and asks again for JSON where that is wanted.
pub async fn run_agent(
    task: AgentTask,
    wake: Arc<Notify>,
    mut go: watch::Receiver<Go>,
    progress: mpsc::UnboundedSender<Progress>,
) -> Result<Finished, FolderError> {
    let deadline = task.timeout.map(|seconds| Instant::now() + Duration::from_secs_f64(seconds));
    let mut usage = Usage::default();
    let mut asked = 0;
    let mut prompt = task.prompt.clone();
    loop {
        let call = ask(&task, &prompt, asked, deadline, &wake, &mut go, &progress).await?;
        usage.add(&call.usage);
        let answer = match call.result {
            Ok(answer) => answer,
            Err(error) => {
                let mut finished = Finished::refused(call.outcome, format!("agent step failed: {error}"));
                return finish(&task, usage, &mut finished).map(|()| finished);
            }
        };
        let problem = match task.step.json {
            JsonMode::Text => None,
            _ => crate::attempt::json_value(&task.step, &answer).err(),
        };
        if let Some(problem) = problem.filter(|_| asked < task.json_retries) {
            asked += 1;
            prompt = reminder(&task.prompt, &problem);
            let what = format!("asked again for JSON: {problem}");
            let _ = progress.send(Progress::Activity { path: task.path.clone(), what });
            continue;
        }
        let mut finished = Finished {
            ended: Ended::new(Outcome::Ok, None),
            value: None,
            degraded: false,
            notes: Vec::new(),
        };
        read_json(&task.step, answer, "agent", &mut finished);
        if task.auto_stage && finished.ended.outcome == Outcome::Ok {
            finished.notes.extend(stage(&task.cwd).await);
        }
        return finish(&task, usage, &mut finished).map(|()| finished);
    }
}

fn finish(task: &AgentTask, usage: Usage, finished: &mut Finished) -> Result<(), FolderError> {
    finished.ended.usage = Some(usage);
    finished.ended.stdout = reference(&task.run, &task.dir.join("stdout"))?;
    finished.ended.stderr = reference(&task.run, &task.dir.join("stderr"))?;
    Ok(())
}

fn reminder(prompt: &str, problem: &str) -> String {
    format!(
        "{prompt}\n\nYour previous answer could not be used: {problem}.\n\
         Answer with valid JSON only: no explanation, no Markdown around it."
    )
}

/// Calls the program once.
async fn ask(
    task: &AgentTask,
    prompt: &str,
    asked: u64,
    deadline: Option<Instant>,
    wake: &Notify,
    go: &mut watch::Receiver<Go>,
    progress: &mpsc::UnboundedSender<Progress>,
) -> Result<Call, FolderError> {
    let began = Instant::now();
    let scratch = task.run.join(&task.dir).join(format!("private-{}", asked + 1));
    make_dir(&scratch)?;
    let request = Request {
        prompt: agents::add_footer(prompt),
        system_prompt: task.system_prompt.clone(),
        model: task.model.clone(),
        cwd: task.cwd.clone(),
        session: None,
        scratch: scratch.clone(),
        user: task.user,
    };
    let program = Program::named(&task.program, &task.settings.custom);
    let (binary, invocation, reader) = match (&task.settings.launcher, &program) {
        (Some(launcher), _) => (
            launcher.clone(),
            agents::launcher::invocation(&task.program, &request),
            agents::launcher::reader(program.as_ref()),
        ),
        (None, Some(program)) => {
            let named = if task.program.contains('/') { task.program.as_str() } else { program.binary() };
            (named.to_owned(), program.invocation(&request), program.reader())
        }
        (None, None) => return Ok(failed(Outcome::NotStarted, unknown_program(&task.program), began, task)),
    };
    for (path, text) in &invocation.files {
        write_new(path, text.as_bytes())?;
    }
    let mut env = task.env.clone();
    for (name, value) in &invocation.env {
        env.entry(name.into()).or_insert_with(|| value.into());
    }
    let stdin = match &invocation.stdin {
        Some(text) => {
            let file = scratch.join("prompt");
            write_new(&file, text.as_bytes())?;
            Stdin::File(file)
        }
        None => Stdin::Null,
    };
    let suffix = if asked == 0 { String::new() } else { format!("-{}", asked + 1) };
    let command = Command {
        program: binary.into(),
        args: invocation.args,
        env: env.into_iter().collect(),
        cwd: task.cwd.clone(),
        stdin,
        stdout: task.dir.join(format!("stdout{suffix}")),
        stderr: task.dir.join(format!("stderr{suffix}")),
        marker: Marker { run: task.run_id.clone(), step: format!("{}#{}", task.path, task.attempt) },
    };
    supervise(task, command, reader, invocation.answer_file, deadline, began, wake, go, progress).await
}

#[expect(clippy::too_many_arguments, reason = "the parts of one call, taken apart nowhere else")]
async fn supervise(
    task: &AgentTask,
    command: Command,
    mut reader: Reader,
    answer_file: Option<PathBuf>,
    deadline: Option<Instant>,
    began: Instant,
    wake: &Notify,
    go: &mut watch::Receiver<Go>,
    progress: &mpsc::UnboundedSender<Progress>,
) -> Result<Call, FolderError> {
    let (stdout, stderr) = (task.run.join(&command.stdout), task.run.join(&command.stderr));
    let open = |path: &Path| process::open_output(path).map_err(FolderError::at("create", path));
    let (out, err) = (open(&stdout)?, open(&stderr)?);
    let mut file = File::open(&stdout).map_err(FolderError::at("read", &stdout))?;
    let report = spawn_report(&command, &task.path, task.attempt, progress.clone());
    let launch = Launch {
        program: command.program,
        args: command.args,
        env: command.env,
        cwd: command.cwd,
        stdin: command.stdin,
        stdout: out,
        stderr: err,
        marker: command.marker,
    };
    let mut running = match process::start(launch) {
        Ok(running) => running,
        Err(error) => return Ok(failed(Outcome::NotStarted, error.to_string(), began, task)),
    };
    report(&running);
    let mut activity = Activity::new(running.identity(), &task.cwd, &stdout, &stderr);
    let end = loop {
        feed(&mut file, &mut reader, &task.path, progress);
        if let Some(what) = over_budget(&task.left, &usage_of(&reader, began, task)) {
            running.end(task.grace).await;
            break End::Budget(what);
        }
        let result_grace = async {
            match reader.has_result() {
                true => tokio::time::sleep(AFTER_RESULT).await,
                false => std::future::pending().await,
            }
        };
        let seconds_left = task.left.seconds.map(|seconds| began + Duration::from_secs_f64(seconds.max(0.0)));
        tokio::select! {
            biased;
            exit = running.wait() => break End::Exited(exit),
            () = stopped(go) => {
                running.end(task.grace).await;
                break End::Stopped;
            }
            () = sleep_until(deadline) => {
                running.end(task.grace).await;
                break End::TimedOut;
            }
            () = sleep_until(seconds_left) => {
                running.end(task.grace).await;
                break End::Budget("the minutes that agents may work".to_owned());
            }
            () = result_grace => {
                running.end(task.grace).await;
                break End::AfterResult;
            }
            idle = activity.idle(task.idle_timeout) => {
                running.end(task.grace).await;
                break End::Idle(idle);
            }
            () = wake.notified() => {}
        }
    };
    // what an agent leaves behind ends with it
    running.end(task.grace).await;
    feed(&mut file, &mut reader, &task.path, progress);
    let said = values::tail(&stderr, 20, 8192);
    let usage = usage_of(&reader, began, task);
    let answer = answer_file.and_then(|path| std::fs::read_to_string(path).ok());
    let had_result = reader.has_result();
    let ended = match end {
        End::Exited(Exit::Code(code)) => agents::Ended::Exit(code),
        End::Exited(Exit::Signal(signal)) => agents::Ended::Signal(signal),
        End::Exited(Exit::Lost) => agents::Ended::Exit(-1),
        End::AfterResult => agents::Ended::AfterResult,
        End::TimedOut if had_result => agents::Ended::AfterResult,
        End::TimedOut => {
            let seconds = task.timeout.unwrap_or_default();
            let error = format!("timed out after {} s{}", number(seconds), last_words(&stdout, &said));
            return Ok(Call { outcome: Outcome::TimedOut(seconds), result: Err(error), usage });
        }
        End::Idle(seconds) => {
            let error = format!(
                "no sign of life for {} s: no output, no file change, no processor time",
                number(seconds)
            );
            return Ok(Call { outcome: Outcome::Idle(seconds), result: Err(error), usage });
        }
        End::Budget(what) => {
            let error = format!("the budget is used up: {what}");
            return Ok(Call { outcome: Outcome::Budget, result: Err(error), usage });
        }
        End::Stopped => {
            return Ok(Call {
                outcome: Outcome::Cancelled,
                result: Err("stopped with the run".to_owned()),
                usage,
            });
        }
    };
    let outcome = reader.finish(ended, &said, answer);
    let usage = Usage { program: usage.program, runs: 1, seconds: usage.seconds, ..to_usage(&outcome.usage) };
    Ok(match outcome.result {
        Ok(answer) => Call { outcome: Outcome::Ok, result: Ok(answer), usage },
        Err(failure) => {
            Call { outcome: failure_outcome(&failure), result: Err(failure_text(&failure)), usage }
        }
    })
}

enum End {
    Exited(Exit),
    AfterResult,
    TimedOut,
    Idle(f64),
    Budget(String),
    Stopped,
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

/// Reads what the program has printed since the last time.
fn feed(file: &mut File, reader: &mut Reader, path: &str, progress: &mpsc::UnboundedSender<Progress>) {
    let mut buffer = vec![0; 64 * 1024];
    let mut events = Vec::new();
    while let Ok(count) = file.read(&mut buffer) {
        if count == 0 {
            break;
        }
        reader.feed(&buffer[..count], &mut events);
    }
    for event in events {
        if let Some(what) = describe(event) {
            let _ = progress.send(Progress::Activity { path: path.to_owned(), what });
        }
    }
}

fn describe(event: AgentEvent) -> Option<String> {
    match event {
        AgentEvent::Tool { name, detail } => Some(format!("{name} {detail}").trim().to_owned()),
        AgentEvent::Text { text } => Some(text),
        AgentEvent::Model { name } => Some(format!("model {name}")),
        AgentEvent::Retrying { .. } => Some("its service asks to slow down".to_owned()),
        AgentEvent::Session { .. } => None,
    }
}

fn to_usage(usage: &agents::Usage) -> Usage {
    Usage {
        program: None,
        model: usage.model.clone(),
        session: usage.session.clone(),
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cost_usd: usage.cost_usd,
        turns: usage.turns,
        runs: 0,
        seconds: 0.0,
    }
}

fn usage_of(reader: &Reader, began: Instant, task: &AgentTask) -> Usage {
    let mut usage = to_usage(reader.usage());
    usage.program = Some(task.program.clone());
    usage.runs = 1;
    usage.seconds = began.elapsed().as_secs_f64();
    usage
}

/// What of the budget is used up, if any.
fn over_budget(left: &Left, used: &Usage) -> Option<String> {
    if let (Some(left), Some(cost)) = (left.usd, used.cost_usd)
        && cost > left
    {
        return Some("its dollars".to_owned());
    }
    if let (Some(left), Some(tokens)) = (left.tokens, used.tokens())
        && tokens > left
    {
        return Some("its tokens".to_owned());
    }
    None
}

fn failed(outcome: Outcome, error: String, began: Instant, task: &AgentTask) -> Call {
    let usage = Usage {
        program: Some(task.program.clone()),
        seconds: began.elapsed().as_secs_f64(),
        ..Usage::default()
    };
    Call { outcome, result: Err(error), usage }
}

fn failure_outcome(failure: &AgentFailure) -> Outcome {
    match failure {
        failure if failure.is_rate_limit() => Outcome::RateLimited,
        AgentFailure::Exit { code, .. } => Outcome::Exit(*code),
        AgentFailure::Signal { signal, .. } => Outcome::Signal(*signal),
        _ => Outcome::Agent,
    }
}

fn failure_text(failure: &AgentFailure) -> String {
    match failure {
        AgentFailure::Signal { signal, .. } => format!("ended by {}: {failure}", signal_words(*signal)),
        failure => failure.to_string(),
    }
}

fn last_words(stdout: &Path, said: &str) -> String {
    match said.is_empty() {
        false => format!("\nlast on stderr:\n{said}"),
        true => match values::tail(stdout, 3, 2048) {
            printed if printed.is_empty() => "; it printed nothing".to_owned(),
            printed => format!("\nlast on stdout:\n{printed}"),
        },
    }
}

/// What to say about a program that nobody knows.
pub fn unknown_program(name: &str) -> String {
    format!(
        "agent program `{name}` is not known: use one of {}, or describe it under `agents:` in `.recipe-runner.yaml`",
        Program::KNOWN.join(", ")
    )
}

/// Stages what an agent changed; says what went wrong, if anything did.
async fn stage(cwd: &Path) -> Option<String> {
    let git = |args: &'static [&'static str]| {
        let mut command = tokio::process::Command::new("git");
        command.args(args).current_dir(cwd).kill_on_drop(true);
        command.stdin(std::process::Stdio::null());
        async move { tokio::time::timeout(Duration::from_secs(60), command.output()).await }
    };
    let inside = git(&["rev-parse", "--is-inside-work-tree"]).await;
    if !matches!(inside, Ok(Ok(output)) if output.status.success() && output.stdout.starts_with(b"true")) {
        return None;
    }
    match git(&["add", "-A"]).await {
        Ok(Ok(output)) if output.status.success() => None,
        Ok(Ok(output)) => {
            Some(format!("could not stage changes: {}", String::from_utf8_lossy(&output.stderr).trim()))
        }
        Ok(Err(error)) => Some(format!("could not stage changes: {error}")),
        Err(_) => Some("could not stage changes: git took longer than 60 s".to_owned()),
    }
}
