//! One process that is to end: signals reach only this process, and its end wakes us.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, getpid, kill_process, pidfd_open, pidfd_send_signal};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::sleep;

use super::table::Row;
use crate::os::process::{ProcessId, Survivor};

/// How often to check where the kernel does not notify us.
const POLL: Duration = Duration::from_millis(50);

/// The strongest signal that a process got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Pressure {
    None,
    Asked,
    Killed,
    /// The system does not let us signal it.
    Refused,
}

/// One process that is to end.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) survivor: Survivor,
    pub(super) pressure: Pressure,
    group: i32,
    is_stopped: bool,
    pid: Pid,
    handle: Option<AsyncFd<OwnedFd>>,
}

impl Target {
    /// `None` for processes that must never be signalled, and for one that has ended meanwhile.
    ///
    /// The handle is opened before the identity is compared, so it cannot mean a process that got the number later.
    pub(super) fn new(row: &Row, survivor: Survivor) -> Option<Self> {
        let pid = Pid::from_raw(survivor.id.pid).filter(|pid| *pid != Pid::INIT && *pid != getpid())?;
        let handle = pidfd_open(pid, PidfdFlags::NONBLOCK).ok();
        if !is_alive(survivor.id) {
            return None;
        }
        let handle = handle.and_then(watch);
        let (group, is_stopped) = (row.group, row.state == b'T');
        Some(Self { survivor, pressure: Pressure::None, group, is_stopped, pid, handle })
    }

    pub(super) fn id(&self) -> ProcessId {
        self.survivor.id
    }

    pub(super) fn is_alive(&self) -> bool {
        is_alive(self.id())
    }

    /// Signals exactly this process, and remembers the strongest signal.
    pub(super) fn press(&mut self, signal: Signal, pressure: Pressure) {
        let sent = self.send(signal);
        self.pressure = if sent == Err(Errno::PERM) { Pressure::Refused } else { pressure };
    }

    /// Whether it was in one of these groups when they were signalled, and so got the signal; one that has moved to its
    /// own session since the scan did not.
    pub(super) fn shares(&self, groups: &[i32]) -> bool {
        groups.contains(&self.group) && Row::read(self.id().pid).is_none_or(|row| row.group == self.group)
    }

    /// Continues a stopped process: otherwise it could not even end.
    pub(super) fn resume(&self) {
        if self.is_stopped {
            // Has no effect on a process that has ended or belongs to another user.
            let _ = self.send(Signal::CONT);
        }
    }

    fn send(&self, signal: Signal) -> Result<(), Errno> {
        match &self.handle {
            Some(handle) => match pidfd_send_signal(handle.get_ref(), signal) {
                // some sandboxes allow opening a handle but not using it
                Err(Errno::NOSYS) if self.is_alive() => kill_process(self.pid, signal),
                sent => sent,
            },
            None if self.is_alive() => kill_process(self.pid, signal),
            None => Err(Errno::SRCH),
        }
    }

    /// Waits until it has ended; a zombie has.
    pub(super) async fn gone(&self) {
        if let Some(handle) = &self.handle
            && handle.readable().await.is_ok()
        {
            return;
        }
        while self.is_alive() {
            sleep(POLL).await;
        }
    }
}

#[expect(deprecated, reason = "the replacement is unsafe; an `OwnedFd` keeps what it demands")]
fn watch(handle: OwnedFd) -> Option<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(handle, Interest::READABLE).ok()
}

/// See [`ProcessId::is_alive`].
pub(in crate::os::process) fn is_alive(id: ProcessId) -> bool {
    Row::read(id.pid).is_some_and(|row| row.id == id && row.is_alive())
}

/// See [`crate::os::process::is_running`].
pub(in crate::os::process) fn is_running(pid: i32) -> bool {
    Row::read(pid).is_some_and(|row| row.is_alive())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(id: ProcessId) -> Option<Target> {
        let row = Row::read(1).unwrap();
        Target::new(&row, Survivor { id, command: String::new(), step: None })
    }

    #[tokio::test]
    async fn a_reused_number_is_never_a_target() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let id = Row::read(child.id() as i32).unwrap().id;
        let earlier = ProcessId { start_time: id.start_time - 1, ..id };
        assert!(id.is_alive() && !earlier.is_alive());
        assert!(target(earlier).is_none());
        assert!(target(id).is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(target(id).is_none());
    }

    #[tokio::test]
    async fn we_and_init_are_never_targets() {
        assert!(target(ProcessId::current()).is_none());
        assert!(target(Row::read(1).unwrap().id).is_none());
    }
}
