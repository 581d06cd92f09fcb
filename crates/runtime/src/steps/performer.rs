//! Who performs the attempts of a run, and what is the same about them: they are prepared, they run, and they end.
//!
//! Everything around an attempt is the same for all of them: decisions, journal, retries, rules, budgets, recovery.

use std::{sync::Arc, time::Duration};

use recipe::plan::{Step, StepKind};
use tokio::sync::Notify;

use super::stubs::{Played, Script, Stubs};
use crate::{
    os::process::{self, EndedProcess, Exit, Launch, Left, OutputComplete, Prepared, Running, StartError},
    steps::{
        output_files::OutputFiles,
        shell::attempt::{Command, SHELL},
    },
    store::folder::FolderError,
};

/// Who performs the attempts of a run.
///
/// A third kind answers from a recording: it is one more variant here, and gives a [`Script`] for each call as stubs do.
#[derive(Clone, Debug, Default)]
pub enum Performer {
    /// Processes.
    #[default]
    Process,
    /// The stubs of a test case, and processes for commands that have none.
    Stub(Arc<Stubs>),
}

/// A call of a step.
#[derive(Clone, Debug)]
pub(crate) struct StepCall {
    /// The step.
    pub(crate) path: String,
    /// Which attempt.
    pub(crate) attempt: u32,
    /// Its place in the loop that it is an instance of, or in the nearest `for_each` around it.
    pub(crate) instance: Option<usize>,
}

impl Performer {
    /// The stubs, if they perform the run.
    pub(crate) fn stubs(&self) -> Option<&Arc<Stubs>> {
        match self {
            Performer::Process => None,
            Performer::Stub(stubs) => Some(stubs),
        }
    }

    /// What a bash step does instead of starting its process; `None` if it starts it. The error says why it cannot do
    /// either.
    pub(crate) fn shell(&self, call: &StepCall, step: &Step) -> Result<Option<Script>, StartError> {
        let (Performer::Stub(stubs), StepKind::Shell { command }) = (self, &step.kind) else {
            return Ok(None);
        };
        stubs.shell(call, step, command.text()).map_err(|error| refused(SHELL, error))
    }

    /// Whether a command around a step may start its process: a hook, or a check of its work.
    pub(crate) fn admit(&self, path: &str, what: &'static str, command: &str) -> Result<(), StartError> {
        match self {
            Performer::Process => Ok(()),
            Performer::Stub(stubs) => stubs.admit(path, what, command).map_err(|error| refused(SHELL, error)),
        }
    }

    /// Prepares the command of a bash step.
    pub(crate) fn prepare(
        &self,
        script: Result<Option<Script>, StartError>,
        command: Command,
        outputs: &OutputFiles,
    ) -> Result<Result<PreparedPerformance, StartError>, FolderError> {
        let script = match script {
            Ok(script) => script,
            Err(error) => return Ok(Err(error)),
        };
        let Some((script, stubs)) = script.zip(self.stubs()) else { return command.prepare(outputs) };
        let place = (command.cwd, command.env);
        let played = Played::new(Arc::clone(stubs), script, place, Some(outputs.for_child()?));
        Ok(Ok(PreparedPerformance::Stub(Box::new(played))))
    }
}

/// The error of a start that a test case does not allow.
pub(crate) fn refused(program: &str, reason: String) -> StartError {
    StartError::Stub { program: program.into(), reason }
}

/// An attempt that can begin at once.
pub(crate) enum PreparedPerformance {
    /// As a process.
    Process(Box<Prepared>),
    /// As a stub.
    Stub(Box<Played>),
}

impl PreparedPerformance {
    /// Begins it. Must be called inside a tokio runtime.
    pub(crate) fn start(self) -> Result<Performance, StartError> {
        match self {
            PreparedPerformance::Process(prepared) => {
                prepared.start().map(Box::new).map(Performance::Process)
            }
            PreparedPerformance::Stub(played) => Ok(Performance::Stub(Box::new(played.begun()))),
        }
    }
}

/// An attempt that has begun.
pub(crate) enum Performance {
    /// A process.
    Process(Box<Running>),
    /// A stub.
    Stub(Box<Played>),
}

impl Performance {
    /// Starts the process of an agent program.
    pub(crate) fn of_process(launch: Launch) -> Result<Performance, StartError> {
        process::start(launch).map(Box::new).map(Performance::Process)
    }

    /// Begins the part of a stub that stands for a program with these output files.
    pub(crate) fn of_stub(stubs: &Arc<Stubs>, script: Script, launch: Launch) -> Performance {
        let outputs = Some([launch.stdout, launch.stderr]);
        let played = Played::new(Arc::clone(stubs), script, (launch.cwd, launch.env), outputs);
        Performance::Stub(Box::new(played.begun()))
    }

    /// Its process, if it is one.
    pub(crate) fn process(&self) -> Option<&Running> {
        match self {
            Performance::Process(running) => Some(running),
            Performance::Stub(_) => None,
        }
    }

    /// Waits until it ends. Safe to cancel and to repeat.
    pub(crate) async fn wait(&mut self) -> Exit {
        match self {
            Performance::Process(running) => running.wait().await,
            Performance::Stub(played) => played.wait().await,
        }
    }

    /// Whether it certainly works, whatever can be seen of it.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Performance::Stub(played) if played.is_busy())
    }

    /// Tells when it has printed something, if the kernel does not tell.
    pub(crate) fn printed(&self) -> Arc<Notify> {
        match self {
            Performance::Process(_) => Arc::default(),
            Performance::Stub(played) => played.printed(),
        }
    }

    /// After [`Self::wait`], waits for processes that pass on its output.
    pub(crate) async fn drain(&self) -> OutputComplete {
        match self {
            Performance::Process(running) => running.drain().await,
            Performance::Stub(_) => OutputComplete::Alone,
        }
    }

    /// The processes that it left behind, after [`Self::wait`].
    pub(crate) fn left(&self) -> Left {
        match self {
            Performance::Process(running) => running.left(),
            Performance::Stub(_) => Left::Nothing,
        }
    }

    /// Ends it.
    pub(crate) async fn end(&mut self, grace: Duration) -> EndedProcess {
        match self {
            Performance::Process(running) => running.end(grace).await,
            Performance::Stub(played) => played.end(),
        }
    }
}
