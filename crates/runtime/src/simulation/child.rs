//! A simulated process: its actions over time, and its reaction to SIGTERM.

use std::{collections::VecDeque, fs::File, io::Write, sync::Arc, time::Duration};

use tokio::sync::Notify;

use crate::os::process::{Exit, Filter, Marker, ProcessId, Survivor};

/// The actions of a process, each at a time after its start.
#[derive(Clone, Debug, Default)]
pub(super) struct Script {
    pub(super) deeds: VecDeque<(Duration, Deed)>,
    pub(super) on_term: OnTerm,
    /// Whether it leaves a process behind that lives until it is ended, and how that one reacts to SIGTERM.
    pub(super) leaves: Option<OnTerm>,
    /// Whether it cannot be started at all.
    pub(super) refuses: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Deed {
    Print(Vec<u8>),
    Complain(Vec<u8>),
    /// Something that the outside world sees.
    Effect,
    End(Exit),
}

/// The reaction of a process to SIGTERM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum OnTerm {
    /// It dies.
    #[default]
    Dies,
    /// It cleans up for this long, then exits with code 0.
    CleansUp(Duration),
    /// It ignores the signal.
    Ignores,
}

/// A process.
#[derive(Debug)]
pub(super) struct Child {
    pub(super) id: ProcessId,
    pub(super) marker: Marker,
    pub(super) is_agent: bool,
    /// Whether the runner started it, and not another process.
    pub(super) is_main: bool,
    /// Which life of the runner started it.
    pub(super) life: usize,
    pub(super) started: Duration,
    pub(super) script: Script,
    pub(super) exit: Option<(Duration, Exit)>,
    pub(super) printed: Vec<u8>,
    pub(super) effects: u32,
    pub(super) stdout: Option<File>,
    pub(super) stderr: Option<File>,
    pub(super) ended: Arc<Notify>,
}

impl Child {
    pub(super) fn is_alive(&self) -> bool {
        self.exit.is_none()
    }

    /// The time of its next action.
    pub(super) fn next(&self) -> Option<Duration> {
        self.script.deeds.front().map(|(after, _)| self.started + *after).filter(|_| self.is_alive())
    }

    /// Carries out its next action. Returns whether it printed.
    pub(super) fn act(&mut self) -> bool {
        let Some((after, deed)) = self.script.deeds.pop_front() else { return false };
        match deed {
            Deed::Print(bytes) => {
                self.printed.extend_from_slice(&bytes);
                // a failed write has no reader
                let _ = self.stdout.as_mut().map(|file| file.write_all(&bytes));
                return true;
            }
            Deed::Complain(bytes) => {
                let _ = self.stderr.as_mut().map(|file| file.write_all(&bytes));
                return true;
            }
            Deed::Effect => self.effects += 1,
            Deed::End(exit) => self.end(self.started + after, exit),
        }
        false
    }

    pub(super) fn end(&mut self, at: Duration, exit: Exit) {
        self.exit = Some((at, exit));
        self.script.deeds.clear();
        (self.stdout, self.stderr) = (None, None);
        self.ended.notify_waiters();
    }

    /// Receives SIGTERM.
    pub(super) fn term(&mut self, now: Duration) {
        match self.script.on_term {
            OnTerm::Dies => self.end(now, Exit::Signal(15)),
            OnTerm::CleansUp(time) => {
                let deed = (now + time - self.started, Deed::End(Exit::Code(0)));
                self.script.deeds = VecDeque::from([deed]);
            }
            OnTerm::Ignores => {}
        }
    }

    pub(super) fn is_meant(&self, filter: &Filter) -> bool {
        self.marker.run == filter.run && filter.step.as_ref().is_none_or(|step| *step == self.marker.step)
    }

    /// The step and the attempt that it works on; `None` for a hook.
    pub(super) fn attempt(&self) -> Option<(&str, u32)> {
        let (path, attempt) = self.marker.step.rsplit_once('#')?;
        Some((path, attempt.parse().ok()?))
    }

    pub(super) fn survivor(&self) -> Survivor {
        Survivor { id: self.id, command: self.marker.step.clone(), step: Some(self.marker.step.clone()) }
    }
}
