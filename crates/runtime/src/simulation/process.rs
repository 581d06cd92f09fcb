//! The simulated version of [`crate::os::process`]: the same calls, on simulated processes. Without a world they use
//! the real ones.

use std::time::Duration;

use tokio::time::sleep_until;

use super::{is_on, with};
use crate::os::process::{
    EndedProcess, Exit, Filter, Launch, Left, OutputComplete, ProcessId, StartError, Survivor, Swept, running,
};

/// A child that was started.
#[derive(Debug)]
pub enum Running {
    /// By the operating system.
    Real(Box<running::Running>),
    /// By the world, under this number.
    Simulated(usize),
}

/// A child that can be started at once.
pub enum Prepared {
    /// By the operating system.
    Real(Box<running::Prepared>),
    /// By the world.
    Simulated(Box<Launch>),
}

/// Prepares a child.
pub fn prepare(launch: Launch) -> Result<Prepared, StartError> {
    match is_on() {
        true => Ok(Prepared::Simulated(Box::new(launch))),
        false => running::prepare(launch).map(Box::new).map(Prepared::Real),
    }
}

impl Prepared {
    /// Starts it.
    pub fn start(self) -> Result<Running, StartError> {
        match self {
            Prepared::Real(prepared) => prepared.start().map(Box::new).map(Running::Real),
            Prepared::Simulated(launch) => start(*launch),
        }
    }
}

/// Starts a child.
pub fn start(launch: Launch) -> Result<Running, StartError> {
    if !is_on() {
        return running::start(launch).map(Box::new).map(Running::Real);
    }
    let (program, cwd) = (launch.program.clone(), launch.cwd.clone());
    let started = with(|world| world.start(launch));
    started.map(Running::Simulated).map_err(|source| StartError::Other { program, cwd, source })
}

impl Running {
    /// The main process.
    pub fn identity(&self) -> ProcessId {
        match self {
            Running::Real(running) => running.identity(),
            Running::Simulated(at) => with(|world| world.children[*at].id),
        }
    }

    /// Waits until the main process ends.
    pub async fn wait(&mut self) -> Exit {
        match self {
            Running::Real(running) => running.wait().await,
            Running::Simulated(at) => wait(*at).await,
        }
    }

    /// Waits for processes that pass on the output of the step.
    pub async fn drain(&self) -> OutputComplete {
        match self {
            Running::Real(running) => running.drain().await,
            Running::Simulated(at) if survivors(&step_of(*at)).is_empty() => OutputComplete::Alone,
            Running::Simulated(_) => OutputComplete::Whole,
        }
    }

    /// The processes that the step left behind.
    pub fn left(&self) -> Left {
        match self {
            Running::Real(running) => running.left(),
            Running::Simulated(at) if survivors(&step_of(*at)).is_empty() => Left::Nothing,
            Running::Simulated(_) => Left::Processes,
        }
    }

    /// Ends the main process and all its descendants.
    pub async fn end(&mut self, grace: Duration) -> EndedProcess {
        match self {
            Running::Real(running) => running.end(grace).await,
            Running::Simulated(at) => {
                let swept = sweep(&step_of(*at), grace).await;
                EndedProcess { exit: with(|world| world.children[*at].exit.map(|(_, exit)| exit)), swept }
            }
        }
    }
}

fn step_of(at: usize) -> Filter {
    with(|world| {
        let child = &world.children[at];
        let step = Some(child.marker.step.clone());
        Filter { run: child.marker.run.clone(), step, groups: vec![child.id] }
    })
}

async fn wait(at: usize) -> Exit {
    loop {
        let (exit, next, ended) = with(|world| {
            world.advance();
            let child = &world.children[at];
            let next = child.next().map(|next| world.instant(next));
            (child.exit, next, child.ended.clone())
        });
        if let Some((_, exit)) = exit {
            return exit;
        }
        let due = async {
            match next {
                Some(next) => sleep_until(next).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = ended.notified() => {}
            () = due => {}
        }
    }
}

/// See [`crate::os::process::survivors`].
pub(crate) fn survivors(filter: &Filter) -> Vec<Survivor> {
    with(|world| {
        world.advance();
        world.meant(filter).map(|at| world.children[at].survivor()).collect()
    })
}

/// See [`crate::os::process::end_marked`].
pub(crate) async fn sweep(filter: &Filter, grace: Duration) -> Swept {
    let mut swept = Swept::default();
    let Some(targets) = with(|world| world.term(filter)) else { return swept };
    let deadline = tokio::time::Instant::now() + grace;
    loop {
        let next = with(|world| world.next_end(&targets));
        match next {
            None if with(|world| world.all_ended(&targets)) => break,
            Some(next) if next <= deadline => sleep_until(next).await,
            _ => {
                sleep_until(deadline).await;
                break;
            }
        }
    }
    with(|world| {
        for at in targets {
            let killed = world.kill(at);
            let survivor = world.children[at].survivor();
            if killed { &mut swept.killed } else { &mut swept.ended }.push(survivor);
        }
    });
    swept
}
