//! One call of an agent program: starts it, watches it while it works, and reads its answer.
//!
//! A result is not an exit, an exit is not a success, and silence does not mean that the program is dead: each is
//! checked separately.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use engine::{
    Outcome,
    run::{
        budget,
        event::Usage,
        outcome::{AgentTrouble, KnownBy},
    },
};
use recipe::syntax::{ExitMeaning, PermissionLevel};
use tokio::{
    sync::{Notify, mpsc, watch},
    time::Instant,
};

use crate::{
    agents::{self, AgentText, Reader},
    os::process::{self, Exit, Launch, Running},
    steps::{
        agent::{
            activity::Activity,
            attempt::AgentTask,
            conversation::Said,
            end::{End, by_exit_code, cut_short, failure_outcome, failure_text},
            ledger::{self, Account},
            news::{News, describe},
            prepare::{PreparedCall, prepare},
        },
        performer::Performance,
        shell::attempt::{Progress, StopSignal, drained, stopped},
        spawn::{SpawnContext, spawn_report},
    },
    store::{folder::FolderError, values},
};

/// The result of one call of a program.
#[derive(Debug)]
pub struct Call {
    /// The outcome.
    pub outcome: Outcome,
    /// The answer, or the reason why there is no answer.
    pub result: Result<AgentText, String>,
    /// What the agent said or printed before it failed to answer.
    pub partial: Option<AgentText>,
    /// Its usage.
    pub usage: Usage,
    /// The problem of the agent's service, if that is why there is no answer.
    pub trouble: Option<AgentTrouble>,
    /// The evidence for that problem.
    pub trouble_by: KnownBy,
    /// Tools that the agent was not allowed to use.
    pub denied: Vec<String>,
    /// The exit code of a program that ended by itself.
    pub code: Option<i32>,
}

impl Call {
    /// A call without an answer, for a reason unrelated to the agent's service.
    pub(crate) fn without_answer(outcome: Outcome, error: String, usage: Usage) -> Call {
        Call {
            outcome,
            result: Err(error),
            partial: None,
            usage,
            trouble: None,
            trouble_by: KnownBy::Result,
            denied: Vec::new(),
            code: None,
        }
    }
}

/// The gate that a call obeys, and where it reports its progress.
pub(crate) struct CallControl {
    pub(crate) wake: Arc<Notify>,
    pub(crate) go: watch::Receiver<StopSignal>,
    pub(crate) progress: mpsc::UnboundedSender<Progress>,
}

impl CallControl {
    /// Waits; returns whether the run was stopped meanwhile.
    pub(crate) async fn pause(&mut self, seconds: f64) -> bool {
        let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        tokio::select! {
            biased;
            () = tokio::time::sleep(time) => false,
            () = stopped(&mut self.go) => true,
        }
    }

    /// Reports what an agent is doing.
    pub(crate) fn tell(&self, path: &str, what: String) {
        // fails only when the run is over
        let _ = self.progress.send(Progress::Activity { path: path.to_owned(), what });
    }

    /// Records a note about a step at once.
    pub(crate) fn note(&self, path: &str, message: String) {
        // fails only when the run is over
        let _ = self.progress.send(Progress::Noted { path: path.to_owned(), message });
    }
}

/// Calls the program once; `asked` is the number of earlier calls in the same attempt.
pub(crate) async fn ask(
    task: &AgentTask,
    said: Said<'_>,
    asked: u64,
    account: Account,
    watch: &mut CallControl,
) -> Result<Call, FolderError> {
    // stopped while a hook ran, or before this task first ran: start nothing
    let told = watch.go.borrow().clone();
    if told != StopSignal::None {
        return Ok(not_begun(task, account, Outcome::Cancelled, told.not_begun()));
    }
    let prepared = match prepare(task, said, asked)? {
        Ok(prepared) => prepared,
        Err((outcome, error)) => return Ok(not_begun(task, account, outcome, error)),
    };
    let answer_file = prepared.answer_file.clone();
    let call = match Session::start(task, prepared, account, watch)? {
        Ok(session) => session.listen(answer_file, watch).await,
        Err(call) => call,
    };
    task.ledger.close(account, &call.usage);
    Ok(call)
}

/// A call that started no program.
fn not_begun(task: &AgentTask, account: Account, outcome: Outcome, error: String) -> Call {
    let usage = used(&agents::Usage::default(), task, Instant::now(), 0);
    task.ledger.close(account, &usage);
    Call::without_answer(outcome, error, usage)
}

/// A running program.
struct Session<'a> {
    task: &'a AgentTask,
    running: Performance,
    reader: Reader,
    /// What it prints, from where this call began.
    printed: Arc<File>,
    stdout: PathBuf,
    stderr: PathBuf,
    /// The length of stderr before this call.
    said_before: u64,
    account: Account,
    began: Instant,
    /// When its result was first seen.
    answered: Option<Instant>,
    news: News,
}

impl<'a> Session<'a> {
    fn start(
        task: &'a AgentTask,
        prepared: PreparedCall,
        account: Account,
        watch: &CallControl,
    ) -> Result<Result<Session<'a>, Call>, FolderError> {
        let began = Instant::now();
        let PreparedCall { command, reader, prompt, said, .. } = prepared;
        let (stdout, stderr) = (task.run.join(&command.stdout), task.run.join(&command.stderr));
        let open = |path: &Path| process::open_output(path).map_err(FolderError::at("create", path));
        let (out, err) = (open(&stdout)?, open(&stderr)?);
        let said_before = err.metadata().map_or(0, |meta| meta.len());
        let printed = File::open(&stdout).and_then(|mut file| file.seek(SeekFrom::End(0)).map(|_| file));
        let printed = Arc::new(printed.map_err(FolderError::at("read", &stdout))?);
        let (path, attempt, purpose) = (task.path.clone(), task.attempt, task.purpose);
        let starter = SpawnContext { path, attempt, purpose, prompt };
        let report = spawn_report(&command, starter, watch.progress.clone());
        let launch = Launch {
            program: command.program,
            args: command.args,
            env: command.env,
            cwd: command.cwd,
            stdin: command.stdin,
            stdout: out,
            stderr: err.try_clone().map_err(FolderError::at("open", &stderr))?,
            kept: [Arc::clone(&printed), Arc::new(err)],
            marker: command.marker,
        };
        let started = match task.performer.stubs() {
            None => Performance::of_process(launch),
            Some(stubs) => task.part(stubs, &said).map(|script| Performance::of_stub(stubs, script, launch)),
        };
        let running = match started {
            Ok(running) => running,
            Err(error) => {
                let message = error.to_string();
                let outcome = Outcome::NotStarted(error.into());
                return Ok(Err(not_begun(task, account, outcome, message)));
            }
        };
        if let Some(process) = running.process() {
            report(process);
        }
        Ok(Ok(Session {
            task,
            running,
            reader,
            printed,
            stdout,
            stderr,
            said_before,
            account,
            began,
            answered: None,
            news: News::default(),
        }))
    }

    /// Waits for the program to end.
    async fn listen(mut self, answer_file: Option<PathBuf>, watch: &mut CallControl) -> Call {
        let mut end = self.supervise(watch).await;
        if matches!(end, End::Exited(_)) && drained(&self.running, &mut watch.go).await.is_none() {
            end = End::Stopped(watch.go.borrow().clone());
        }
        // also after an exit: processes that an agent left behind end with it
        self.running.end(self.task.grace).await;
        while self.feed(watch) == Fed::More {
            tokio::task::yield_now().await;
        }
        self.judge(end, answer_file)
    }

    async fn supervise(&mut self, watch: &mut CallControl) -> End {
        let task = self.task;
        let deadline = after(self.began, task.request.timeout);
        let printed = self.running.printed();
        let idle_timeout = task.request.idle_timeout.filter(|_| !self.running.is_busy());
        let process = self.running.process().map(Running::identity);
        let mut activity = Activity::new(process, &task.cwd, &self.stdout, &self.stderr);
        loop {
            let more = self.feed(watch) == Fed::More;
            if let Some(exhausted) = budget::exceeded(&task.limits, &*task.ledger) {
                return End::Budget(exhausted);
            }
            let patience = self.answered.map(|at| at + task.settings.result_grace);
            tokio::select! {
                biased;
                exit = self.running.wait() => return End::Exited(exit),
                () = stopped(&mut watch.go) => return End::Stopped(watch.go.borrow().clone()),
                () = sleep_until(deadline) => return End::TimedOut,
                () = sleep_until(patience) => return End::AfterResult,
                () = ledger::patience(&task.limits, &task.ledger) => {}
                idle = activity.idle(idle_timeout) => return End::Idle(idle),
                () = watch.wake.notified() => {}
                () = printed.notified() => {}
                () = tokio::task::yield_now(), if more => {}
            }
        }
    }

    /// Reads the new output of the program, up to a limit so that other tasks get their turn.
    fn feed(&mut self, watch: &CallControl) -> Fed {
        let mut buffer = vec![0; 64 * 1024];
        let mut events = Vec::new();
        let mut fed = Fed::More;
        for _ in 0..16 {
            match (&*self.printed).read(&mut buffer) {
                Ok(count) if count > 0 => self.reader.feed(&buffer[..count], &mut events),
                _ => {
                    fed = Fed::All;
                    break;
                }
            }
            for what in events.drain(..).filter_map(describe) {
                if self.news.is_due() {
                    watch.tell(&self.task.path, what);
                }
            }
        }
        if self.answered.is_none() && self.reader.has_result() {
            self.answered = Some(Instant::now());
        }
        self.task.ledger.charge(self.account, &used(self.reader.usage(), self.task, self.began, 1));
        fed
    }

    fn judge(self, end: End, answer_file: Option<PathBuf>) -> Call {
        let Session { task, began, reader, stdout, stderr, said_before, .. } = self;
        let said = values::tail_from(&stderr, said_before, 20, 8192);
        let code = match end {
            End::Exited(Exit::Code(code)) => Some(code),
            _ => None,
        };
        let meaning = code.and_then(|code| task.step.exit_meaning(code));
        // a result is paid for, so it is kept even if the program had to be ended after it
        let ended = match end {
            End::Exited(Exit::Code(_)) if meaning == Some(ExitMeaning::Ok) => agents::ProgramEnded::Exit(0),
            End::Exited(Exit::Code(code)) => agents::ProgramEnded::Exit(code),
            End::Exited(Exit::Signal(signal)) => agents::ProgramEnded::Signal(signal),
            End::Exited(Exit::Lost) => agents::ProgramEnded::Exit(-1),
            _ if reader.has_result() => agents::ProgramEnded::AfterResult,
            end => {
                let usage = used(reader.usage(), task, began, 1);
                let (outcome, error) = cut_short(end, task, &stdout, &said);
                let partial = reader.partial().or_else(|| printed(&stdout));
                return Call { partial, ..Call::without_answer(outcome, error, usage) };
            }
        };
        let answer = answer_file.and_then(|path| printed(&path));
        let outcome = reader.finish(ended, &said, answer);
        let usage = used(&outcome.usage, task, began, 1);
        let mut call = match outcome.result {
            Ok(answer) => {
                Call { result: Ok(answer), ..Call::without_answer(Outcome::Ok, String::new(), usage) }
            }
            Err(failure) => Call {
                partial: outcome.partial.or_else(|| printed(&stdout)),
                trouble: failure.trouble(),
                trouble_by: outcome.known_by,
                ..Call::without_answer(failure_outcome(&failure), failure_text(&failure), usage)
            },
        };
        (call.denied, call.code) = (outcome.denied, code);
        by_exit_code(call, code.zip(meaning))
    }
}

/// The content of a file, as a value.
fn printed(path: &Path) -> Option<AgentText> {
    let file = File::open(path).ok()?;
    values::capture(&file).ok().map(AgentText::from)
}

/// Whether all output of a program was read.
#[derive(PartialEq, Eq)]
enum Fed {
    All,
    More,
}

fn after(began: Instant, seconds: Option<f64>) -> Option<Instant> {
    let time = Duration::try_from_secs_f64(seconds?).ok()?;
    began.checked_add(time)
}

async fn sleep_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// The usage of a call so far.
fn used(usage: &agents::Usage, task: &AgentTask, began: Instant, runs: u64) -> Usage {
    Usage {
        has_several_models: false,
        program: Some(task.program.clone()),
        model: usage.model.clone(),
        session: usage.session.clone(),
        permissions: Some(task.level())
            .filter(|level| *level != PermissionLevel::Full)
            .map(|level| level.as_str().to_owned()),
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        cache_read_tokens: usage.cache_read_tokens,
        cache_write_tokens: usage.cache_write_tokens,
        cost_usd: usage.cost_usd,
        turns: usage.turns,
        runs,
        runs_without_cost: if usage.cost_usd.is_none() { runs } else { 0 },
        seconds: began.elapsed().as_secs_f64(),
    }
}
