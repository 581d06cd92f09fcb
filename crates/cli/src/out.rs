//! The only way to write to stdout and stderr.
//!
//! Never fails and never panics: a reader that went away (`… | head`) is not our problem.

use std::io::{self, Write};

use anstream::adapter::strip_str;
use runtime::mask::Mask;

use crate::environment::Environment;

/// The two outputs.
pub(crate) struct Out {
    stdout: io::BufWriter<io::Stdout>,
    stderr: io::Stderr,
    stdout_colour: bool,
    stderr_colour: bool,
    mask: Mask,
}

impl Out {
    /// Outputs with the colours that the environment allows.
    pub(crate) fn new(environment: &Environment) -> Out {
        Out {
            stdout: io::BufWriter::new(io::stdout()),
            stderr: io::stderr(),
            stdout_colour: environment.stdout_colour,
            stderr_colour: environment.stderr_colour,
            mask: Mask::default(),
        }
    }

    /// Hides these secrets in all text from now on. Bytes and JSON come masked already: only who made them knows
    /// where a value begins and ends.
    pub(crate) fn hide(&mut self, mask: &Mask) {
        self.mask = mask.clone();
    }

    /// Writes text to stdout, with a newline at its end.
    pub(crate) fn result(&mut self, text: &str) {
        write(&mut self.stdout, &self.mask.text(text), self.stdout_colour);
    }

    /// Writes bytes to stdout as they are, at once.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        drop(self.stdout.write_all(bytes).and_then(|()| self.stdout.flush()));
    }

    /// Writes a JSON value to stdout, indented.
    pub(crate) fn json(&mut self, value: &impl serde::Serialize) {
        drop(serde_json::to_writer_pretty(&mut self.stdout, value));
        drop(writeln!(self.stdout));
    }

    /// Writes text to stderr, with a newline at its end. What was written to stdout before comes first.
    pub(crate) fn notice(&mut self, text: &str) {
        drop(self.stdout.flush());
        write(&mut self.stderr, &self.mask.text(text), self.stderr_colour);
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

fn write(stream: &mut impl Write, text: &str, colour: bool) {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    // nobody is left to be told about a failure here
    drop(match colour {
        true => write!(stream, "{text}{end}"),
        false => write!(stream, "{}{end}", strip_str(text)),
    });
}
