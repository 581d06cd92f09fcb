//! How a process ended. Never judges whether that is a success.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::process::Signal;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// Unknown: the system lost the status.
    Lost,
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Lost,
        }
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => match signal_name(*signal) {
                "" => write!(f, "killed by signal {signal}"),
                name => write!(f, "killed by {name}"),
            },
            Self::Lost => f.write_str("ended, with an unknown status"),
        }
    }
}

const NAMES: &[(Signal, &str)] = &[
    (Signal::HUP, "SIGHUP"),
    (Signal::INT, "SIGINT"),
    (Signal::QUIT, "SIGQUIT"),
    (Signal::ILL, "SIGILL"),
    (Signal::TRAP, "SIGTRAP"),
    (Signal::ABORT, "SIGABRT"),
    (Signal::BUS, "SIGBUS"),
    (Signal::FPE, "SIGFPE"),
    (Signal::KILL, "SIGKILL"),
    (Signal::USR1, "SIGUSR1"),
    (Signal::SEGV, "SIGSEGV"),
    (Signal::USR2, "SIGUSR2"),
    (Signal::PIPE, "SIGPIPE"),
    (Signal::ALARM, "SIGALRM"),
    (Signal::TERM, "SIGTERM"),
    (Signal::CHILD, "SIGCHLD"),
    (Signal::CONT, "SIGCONT"),
    (Signal::STOP, "SIGSTOP"),
    (Signal::TSTP, "SIGTSTP"),
    (Signal::TTIN, "SIGTTIN"),
    (Signal::TTOU, "SIGTTOU"),
    (Signal::URG, "SIGURG"),
    (Signal::XCPU, "SIGXCPU"),
    (Signal::XFSZ, "SIGXFSZ"),
    (Signal::VTALARM, "SIGVTALRM"),
    (Signal::PROF, "SIGPROF"),
    (Signal::WINCH, "SIGWINCH"),
    (Signal::IO, "SIGIO"),
    (Signal::SYS, "SIGSYS"),
    #[cfg(target_os = "linux")]
    (Signal::POWER, "SIGPWR"),
];

/// The name of a signal (`SIGKILL`); empty for a signal without a name.
#[must_use]
pub fn signal_name(signal: i32) -> &'static str {
    NAMES.iter().find(|(known, _)| known.as_raw() == signal).map_or("", |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exits_are_told_in_words() {
        let check = |exit: Exit, expected: &str| assert_eq!(exit.to_string(), expected);
        check(Exit::Code(0), "exit code 0");
        check(Exit::Code(127), "exit code 127");
        check(Exit::Signal(9), "killed by SIGKILL");
        check(Exit::Signal(15), "killed by SIGTERM");
        check(Exit::Signal(11), "killed by SIGSEGV");
        check(Exit::Signal(60), "killed by signal 60");
    }
}
