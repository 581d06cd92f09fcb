//! The only way to write to stdout and stderr.
//!
//! Never fails and never panics: a reader that went away (`… | head`) is not our problem.

use std::io::{self, Write};

use anstream::adapter::strip_str;
use runtime::mask::Mask;

use crate::environment::Environment;

/// The two outputs.
pub(crate) struct Out {
    stdout: io::BufWriter<Watched>,
    stderr: io::Stderr,
    stderr_colour: bool,
    /// Whether what steps print may be coloured.
    pub(crate) stdout_colour: bool,
    /// Whether a person looks at stdout.
    pub(crate) stdout_is_terminal: bool,
    /// Whether both outputs lead to the same place.
    is_one: bool,
    /// Whether what was last written to stdout left a line open.
    is_open: bool,
    mask: Mask,
}

impl Out {
    /// Outputs with the colours that the environment allows.
    pub(crate) fn new(environment: &Environment) -> Out {
        Out {
            stdout: io::BufWriter::new(Watched { stdout: io::stdout(), lost: None }),
            stderr: io::stderr(),
            stdout_colour: environment.stdout_colour,
            stdout_is_terminal: environment.stdout_is_terminal,
            is_one: is_one(),
            is_open: false,
            stderr_colour: environment.stderr_colour,
            mask: Mask::default(),
        }
    }

    /// Why something that was written to stdout did not arrive, if so. A reader that went away does not count.
    pub(crate) fn lost(&mut self) -> Option<io::Error> {
        drop(self.stdout.flush());
        self.stdout.get_mut().lost.take()
    }

    /// Hides these secrets in all text from now on. Bytes and JSON come masked already: only who made them knows
    /// where a value begins and ends.
    pub(crate) fn hide(&mut self, mask: &Mask) {
        self.mask = mask.clone();
    }

    /// Writes text to stdout, with a newline at its end. It begins on a line of its own.
    pub(crate) fn result(&mut self, text: &str) {
        if std::mem::take(&mut self.is_open) {
            drop(self.stdout.write_all(b"\n"));
        }
        write(&mut self.stdout, &self.mask.text(text), self.stdout_colour);
    }

    /// Writes bytes to stdout as they are, at once.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        drop(self.stdout.write_all(bytes).and_then(|()| self.stdout.flush()));
        if let Some(last) = bytes.last() {
            self.is_open = *last != b'\n';
        }
    }

    /// Writes a JSON value to stdout, indented.
    pub(crate) fn json(&mut self, value: &impl serde::Serialize) {
        drop(serde_json::to_writer_pretty(&mut self.stdout, value));
        drop(writeln!(self.stdout));
    }

    /// Writes text to stderr, with a newline at its end. What was written to stdout before comes first.
    pub(crate) fn notice(&mut self, text: &str) {
        drop(self.stdout.flush());
        if self.is_one && std::mem::take(&mut self.is_open) {
            write(&mut self.stderr, "\n", false);
        }
        write(&mut self.stderr, &self.mask.text(text), self.stderr_colour);
    }

    /// Writes to stderr what steers a terminal, as it is.
    pub(crate) fn steer(&mut self, text: &str) {
        if !text.is_empty() {
            drop(self.stderr.write_all(text.as_bytes()));
        }
    }

    /// Takes the colours out of lines for stderr if it must not have any.
    pub(crate) fn stderr_styles(&self, lines: &mut [String]) {
        if !self.stderr_colour {
            lines.iter_mut().for_each(|line| *line = strip_str(line).to_string());
        }
    }

    /// The same, unless there is nothing to say.
    pub(crate) fn notice_if_any(&mut self, text: &str) {
        if !text.is_empty() {
            self.notice(text);
        }
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        drop(self.stdout.flush());
    }
}

/// Standard output, and the first trouble with it.
struct Watched {
    stdout: io::Stdout,
    lost: Option<io::Error>,
}

impl Watched {
    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && !matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::Interrupted)
        {
            self.lost.get_or_insert_with(|| error.kind().into());
        }
        result
    }
}

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.stdout.write(bytes);
        self.note(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.stdout.flush();
        self.note(result)
    }
}

/// Whether stdout and stderr are the same file, pipe or terminal.
fn is_one() -> bool {
    match (rustix::fs::fstat(io::stdout()), rustix::fs::fstat(io::stderr())) {
        (Ok(out), Ok(err)) => (out.st_dev, out.st_ino, out.st_rdev) == (err.st_dev, err.st_ino, err.st_rdev),
        _ => false,
    }
}

fn write(stream: &mut impl Write, text: &str, colour: bool) {
    let mut line = if colour { text.to_owned() } else { strip_str(text).to_string() };
    if !text.ends_with('\n') {
        line.push('\n');
    }
    // in one piece, so that nothing of another process comes between; nobody is left to be told about a failure
    drop(stream.write_all(line.as_bytes()));
}
