//! A report about a started process, on its way to the journal. Never starts one.

use std::{collections::BTreeSet, sync::Arc};

use engine::run::{
    cause::{StartFailure, StartFailureKind},
    event::{NameChange, OutputRef, Spawned},
};
use tokio::sync::mpsc;

use crate::{
    os::{
        environment::Environment,
        process::{self, StartError},
    },
    steps::shell::attempt::{Command, Progress, shorten},
};

impl From<StartError> for StartFailure {
    fn from(error: StartError) -> StartFailure {
        let kind = match &error {
            StartError::NotFound { program } | StartError::NoInterpreter { program } => {
                StartFailureKind::ProgramNotFound(program.display().to_string())
            }
            StartError::NoRoom { .. } => StartFailureKind::ProcessLimit,
            StartError::NoNull { .. } => StartFailureKind::NoNullDevice,
            StartError::NoDirectory { .. }
            | StartError::TooLong { .. }
            | StartError::NoInput { .. }
            | StartError::Stub { .. }
            | StartError::Other { .. } => StartFailureKind::Other,
        };
        StartFailure { kind, message: error.to_string() }
    }
}

/// A process that was started.
#[derive(Debug)]
pub struct Started {
    /// The step.
    pub path: String,
    /// The attempt.
    pub attempt: u32,
    /// Its purpose, if it is not the attempt itself.
    pub purpose: Option<&'static str>,
    /// The process.
    pub id: process::ProcessId,
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Its directory.
    pub cwd: String,
    /// Its environment.
    pub env: Arc<Environment>,
    /// The prompt that it got.
    pub prompt: Option<OutputRef>,
}

impl Started {
    /// The form for the journal; `names` are those of the process before it, and are replaced by its own.
    pub(crate) fn recorded(self, names: &mut BTreeSet<String>) -> Spawned {
        let mut own = self.env.names();
        own.extend([process::RUN_VARIABLE, process::STEP_VARIABLE].map(Into::into));
        Spawned {
            path: self.path,
            attempt: self.attempt,
            pid: self.id.pid.unsigned_abs(),
            start_time: self.id.start_time,
            argv: self.argv,
            cwd: self.cwd,
            purpose: self.purpose.map(str::to_owned),
            env: NameChange::follow(names, &own),
            prompt: self.prompt,
        }
    }
}

/// The owner of a process that starts.
#[derive(Clone, Debug)]
pub struct SpawnContext {
    /// The step.
    pub path: String,
    /// The attempt.
    pub attempt: u32,
    /// Its purpose, if it is not the attempt itself.
    pub purpose: Option<&'static str>,
    /// The prompt that it gets, if it is an agent program.
    pub prompt: Option<OutputRef>,
}

/// Reports a start to the loop.
pub fn spawn_report(
    command: &Command,
    starter: SpawnContext,
    progress: mpsc::UnboundedSender<Progress>,
) -> impl FnOnce(&process::Running) + use<> {
    let program = command.program.to_string_lossy().into_owned();
    let args = command.args.iter().map(|arg| arg.to_string_lossy().into_owned());
    let argv: Vec<String> = std::iter::once(program).chain(args).map(|arg| shorten(&arg, 4096)).collect();
    let cwd = command.cwd.to_string_lossy().into_owned();
    let env = Arc::clone(&command.env);
    move |running| {
        let id = running.identity();
        let SpawnContext { path, attempt, purpose, prompt } = starter;
        // fails only when the run is over
        let _ =
            progress.send(Progress::Spawned(Started { path, attempt, purpose, id, argv, cwd, env, prompt }));
    }
}
