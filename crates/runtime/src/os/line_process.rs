//! A process of this program that takes lines and answers with lines. Never a process of a run.

use std::{
    ffi::OsString,
    io::{self, BufRead as _, BufReader, Write as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc,
    time::Duration,
};

use super::process;

/// A process that answers lines with lines.
#[derive(Debug)]
pub(crate) struct LineProcess {
    child: Child,
    input: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
}

/// What came of waiting for a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// A line.
    Line(String),
    /// The process has ended.
    Ended,
    /// Nothing came in time.
    Late,
}

impl LineProcess {
    /// Starts a program with an empty environment.
    pub(crate) fn start(program: &Path, name: &str, args: &[OsString]) -> io::Result<LineProcess> {
        let mut command = Command::new(program);
        command.arg0(name).args(args).env_clear().current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = process::spawn_unmanaged(&mut command)?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let (say, lines) = mpsc::channel();
        let read = move || {
            let mut output = BufReader::new(output);
            let mut line = String::new();
            while output.read_line(&mut line).is_ok_and(|count| count > 0) && line.ends_with('\n') {
                line.pop();
                if say.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("lines".to_owned()).spawn(read)?;
        Ok(LineProcess { child, input, lines })
    }

    /// Sends a line. A process that has ended takes none; [`Self::receive`] says so.
    pub(crate) fn send(&mut self, line: &str) {
        if let Some(input) = &mut self.input {
            let _ = input.write_all(format!("{line}\n").as_bytes()).and_then(|()| input.flush());
        }
    }

    /// Waits for a line.
    pub(crate) fn receive(&self, longest: Duration) -> Received {
        match self.lines.recv_timeout(longest) {
            Ok(line) => Received::Line(line),
            Err(mpsc::RecvTimeoutError::Disconnected) => Received::Ended,
            Err(mpsc::RecvTimeoutError::Timeout) => Received::Late,
        }
    }
}

impl Drop for LineProcess {
    fn drop(&mut self) {
        // it is not needed any more, whatever it does
        drop(self.input.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
        process::forget_aside(&self.child);
    }
}

/// Ends this process as if another one had killed it: nothing is cleaned up, and nothing is written.
pub(crate) fn kill_self() {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
}
