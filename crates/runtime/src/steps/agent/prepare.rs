//! Prepares one call of an agent program: its request, its files, and the command that starts it. Never starts it.

use std::path::PathBuf;
use std::sync::Arc;

use engine::{
    Outcome,
    run::{
        cause::{StartFailure, StartFailureKind},
        event::OutputRef,
    },
};

use crate::{
    agents::{self, Invocation, Program, Reader, Request, unknown_program},
    os::process::{Marker, Stdin},
    steps::{
        agent::{attempt::AgentTask, conversation::Said},
        shell::attempt::{Command, reference},
    },
    store::folder::{FolderError, make_dir, write_private},
};

/// A call that is ready to start.
pub(crate) struct PreparedCall {
    pub(crate) command: Command,
    pub(crate) reader: Reader,
    /// The file with the program's answer, if it is not on standard output.
    pub(crate) answer_file: Option<PathBuf>,
    /// The prompt as it is sent.
    pub(crate) prompt: Option<OutputRef>,
    /// Its text.
    pub(crate) said: String,
}

/// Why a call cannot be prepared: its outcome and the reason in words.
pub(crate) type NotPrepared = (Outcome, String);

/// Prepares a call; `asked` is the number of earlier calls in the same attempt.
pub(crate) fn prepare(
    task: &AgentTask,
    said: Said<'_>,
    asked: u64,
) -> Result<Result<PreparedCall, NotPrepared>, FolderError> {
    if task.performer.stubs().is_some() && knows_program(task) {
        return Ok(Ok(for_stub(task, said)));
    }
    let scratch = task.run.join(&task.dir).join(format!("private-{}", asked + 1));
    make_dir(&scratch)?;
    let request = Request {
        prompt: agents::add_footer(said.prompt),
        system_prompt: task.request.system_prompt.clone(),
        model: task.request.model.clone(),
        cwd: task.cwd.clone(),
        session: said.session.map(str::to_owned),
        scratch,
        user: task.user,
        tools: task.settings.tools,
        permissions: task.level(),
        more_args: task.request.args.clone(),
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
        (None, None) => {
            let message = unknown_program(&task.program);
            let failure = StartFailure { kind: StartFailureKind::Other, message: message.clone() };
            return Ok(Err((Outcome::NotStarted(failure), message)));
        }
    };
    let command = command(task, binary, &invocation, &request)?;
    let sent = task.dir.join(format!("prompt-{}.md", asked + 1));
    write_private(&task.run.join(&sent), request.prompt.as_bytes())?;
    let prompt = reference(&task.run, &sent)?;
    let answer_file = invocation.answer_file;
    Ok(Ok(PreparedCall { command, reader, answer_file, prompt, said: request.prompt }))
}

fn knows_program(task: &AgentTask) -> bool {
    task.settings.launcher.is_some() || Program::named(&task.program, &task.settings.custom).is_some()
}

/// A call that a stub answers: it reads no file, and no program is called.
fn for_stub(task: &AgentTask, said: Said<'_>) -> PreparedCall {
    let command = Command {
        program: task.program.clone().into(),
        args: Vec::new(),
        env: Arc::new(task.env.clone()),
        cwd: task.cwd.clone(),
        stdin: Stdin::Null,
        stdout: task.dir.join("stdout"),
        stderr: task.dir.join("stderr"),
        marker: marker(task),
    };
    let (reader, said) = (agents::stub_reader(), agents::add_footer(said.prompt));
    PreparedCall { command, reader, answer_file: None, prompt: None, said }
}

fn marker(task: &AgentTask) -> Marker {
    Marker { run: task.run_id.clone(), step: format!("{}#{}", task.path, task.attempt) }
}

fn command(
    task: &AgentTask,
    binary: String,
    invocation: &Invocation,
    request: &Request,
) -> Result<Command, FolderError> {
    for (path, text) in &invocation.files {
        write_private(path, text.as_bytes())?;
    }
    let mut env = task.env.clone();
    for (name, value) in &invocation.env {
        env.set_missing(name, value.as_ref());
    }
    env.extend(invocation.limiting_env.iter().map(|(name, value)| (name.clone(), value.clone())));
    let stdin = match &invocation.stdin {
        Some(text) => {
            let file = request.scratch.join("prompt");
            write_private(&file, text.as_bytes())?;
            Stdin::File(file)
        }
        None => Stdin::Null,
    };
    Ok(Command {
        program: binary.into(),
        args: invocation.args.clone(),
        env: Arc::new(env),
        cwd: task.cwd.clone(),
        stdin,
        stdout: task.dir.join("stdout"),
        stderr: task.dir.join("stderr"),
        marker: marker(task),
    })
}
