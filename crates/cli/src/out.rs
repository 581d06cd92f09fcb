//! The only way to write to stdout and stderr.
//!
//! Never fails and never panics: a reader that went away (`… | head`) is not an error. Never waits for a reader, except
//! at the end of the program.

mod writer;

use std::{
    io,
    time::{Duration, Instant},
};

use anstream::adapter::strip_str;
use runtime::{
    os::clock,
    run::{Halt, wait_unless_told},
    store::{
        outputs::{Rest, Stream},
        secrets::Mask,
    },
};

use crate::{
    environment::Environment,
    exit::Exit,
    report::{failure::clean, step_output::Place, wrap::wrapped_lines},
};

pub(crate) use writer::Source;
use writer::{Target, Writer};

/// The longest time that writing takes when the reader keeps up.
const SOON: Duration = Duration::from_millis(100);
/// How long a stopped run waits for a reader that does not read, and for one that reads slowly.
const PATIENCE: [Duration; 2] = [Duration::from_secs(2), Duration::from_secs(10)];

/// The most bytes of delayed output of a step that are still shown after the program was asked to stop.
const STILL_SHOWN: u64 = 64 * 1024 * 1024;

/// The two outputs.
pub(crate) struct Out {
    writer: Writer,
    stderr_colour: bool,
    /// Whether the output of steps may be coloured.
    stdout_colour: bool,
    /// Whether stdout is a terminal.
    pub(crate) stdout_is_terminal: bool,
    stderr_is_terminal: bool,
    /// The width of a line in a terminal.
    width: usize,
    /// Whether both outputs go to the same place.
    is_one: bool,
    /// Whether the last output on stdout did not end its line.
    is_open: bool,
    mask: Mask,
    /// Whether a run has caught the signals that end a program.
    catches_signals: bool,
    /// Whether the program was asked to stop.
    is_hurried: bool,
    /// The signal that arrived while it waited for its readers.
    told: Option<Halt>,
}

impl Out {
    /// Outputs with the colours that the environment allows.
    pub(crate) fn new(environment: &Environment) -> Out {
        Out {
            writer: Writer::new(),
            stdout_colour: environment.stdout_colour,
            stdout_is_terminal: environment.stdout_is_terminal,
            stderr_is_terminal: environment.stderr_is_terminal,
            width: environment.width,
            is_one: is_one(),
            is_open: false,
            stderr_colour: environment.stderr_colour,
            mask: Mask::default(),
            catches_signals: false,
            is_hurried: false,
            told: None,
        }
    }

    /// The error if output on stdout was lost. A reader that went away or does not read is not an error.
    pub(crate) fn lost(&mut self) -> Option<io::Error> {
        self.settle();
        self.writer.take_lost()
    }

    /// The exit of the program if it was asked to stop while it waited for its readers.
    pub(crate) fn told(&mut self) -> Option<Exit> {
        self.settle();
        self.told.map(|halt| Exit::of(halt.reason()))
    }

    /// A run starts, which catches the signals that end a program.
    pub(crate) fn expect_signals(&mut self) {
        self.catches_signals = true;
    }

    /// The program was asked to stop: from now on it waits only briefly for its readers.
    pub(crate) fn hurry(&mut self) {
        self.is_hurried = true;
    }

    /// Whether more output of steps can be taken without waiting for a reader.
    pub(crate) fn has_room(&self) -> bool {
        self.writer.has_room()
    }

    /// Waits until there is room.
    pub(crate) fn wait_for_room(&self) {
        self.writer.wait_for_room();
    }

    /// Waits until everything is written.
    pub(crate) fn flush(&self) {
        self.writer.wait();
    }

    /// Whether stdout has no reader left.
    pub(crate) fn is_closed(&self) -> bool {
        self.writer.is_closed() || has_lost_its_reader()
    }

    /// Waits until everything is written. Gives up if a signal asks the program to stop and the reader does not read.
    fn settle(&mut self) {
        if self.writer.is_done_within(SOON) {
            return;
        }
        if !self.catches_signals {
            return self.writer.wait();
        }
        let mut told = None;
        loop {
            let mut patience = self.is_hurried.then(Patience::new);
            let halt = wait_unless_told(|| {
                self.writer.is_done_within(Duration::ZERO)
                    || patience.as_mut().is_some_and(|patience| patience.is_over(self.writer.written()))
            });
            match halt {
                Err(_) => return self.writer.wait(),
                Ok(None) => break,
                Ok(halt) => told = halt,
            }
            // a second signal means: do not wait
            if std::mem::replace(&mut self.is_hurried, true) {
                break;
            }
        }
        if !self.writer.is_done_within(Duration::ZERO) {
            self.writer.abandon();
            self.told = told;
        }
    }

    /// Hides these secrets in all text from now on. Bytes and JSON are already masked: only their producer knows where
    /// a value begins and ends.
    pub(crate) fn hide(&mut self, mask: &Mask) {
        self.mask = mask.clone();
    }

    /// Writes text for people to stdout, with a newline at its end. It begins on a new line. A terminal gets no line
    /// that is too long for it.
    pub(crate) fn result(&mut self, text: &str) {
        match self.stdout_is_terminal {
            true => self.result_as_is(&wrapped_lines(text, self.width)),
            false => self.result_as_is(text),
        }
    }

    /// The same for data, such as scripts and the output of steps: its lines stay as they are.
    pub(crate) fn result_as_is(&mut self, text: &str) {
        self.begin_line();
        let line = line(&self.mask.text(text), self.stdout_colour);
        self.writer.push(Target::Stdout, line);
    }

    /// Ends an incomplete line on stdout.
    pub(crate) fn begin_line(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.writer.push(Target::Stdout, b"\n".to_vec());
        }
    }

    /// Writes bytes to stdout unchanged.
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last() {
            self.is_open = *last != b'\n';
            self.writer.push(Target::Stdout, bytes.to_vec());
        }
    }

    /// Writes the rest of a step's output to stdout unchanged.
    pub(crate) fn rest(&mut self, rest: Rest) {
        self.is_open = !rest.ends_line();
        self.writer.push_source(Target::Stdout, Box::new(rest));
    }

    /// Whether the rest of a step's output is left out, because it is very long and the program was asked to stop;
    /// reports that.
    pub(crate) fn leaves_out(&mut self, path: &str, rest: &Rest) -> bool {
        let is_left_out = self.is_hurried && rest.size() > STILL_SHOWN;
        if is_left_out {
            let (size, step) = (rest.size(), clean(path));
            self.notice(&format!(
                "[run] the last {size} bytes that `{step}` printed are not shown; `logs` has them"
            ));
        }
        is_left_out
    }

    /// Writes whole lines that are produced when it is their turn.
    pub(crate) fn lines(&mut self, stream: Stream, lines: Source) {
        match stream {
            Stream::Stderr => self.writer.push_source(Target::Stderr, lines),
            _ => {
                self.is_open = false;
                self.writer.push_source(Target::Stdout, lines);
            }
        }
    }

    /// The place that a stream of steps goes to.
    pub(crate) fn place(&self, stream: Stream) -> Place {
        match stream {
            Stream::Stderr => Place { is_terminal: self.stderr_is_terminal, has_colour: self.stderr_colour },
            _ => Place { is_terminal: self.stdout_is_terminal, has_colour: self.stdout_colour },
        }
    }

    /// Writes a JSON value to stdout, indented.
    pub(crate) fn json(&mut self, value: &impl serde::Serialize) {
        let mut text = serde_json::to_vec_pretty(value).unwrap_or_default();
        text.push(b'\n');
        self.writer.push(Target::Stdout, text);
    }

    /// Writes text for people to stderr, with a newline at its end. Earlier output on stdout comes first. A terminal
    /// gets no line that is too long for it.
    pub(crate) fn notice(&mut self, text: &str) {
        match self.stderr_is_terminal {
            true => self.notice_as_is(&wrapped_lines(text, self.width)),
            false => self.notice_as_is(text),
        }
    }

    /// The same for output of steps: its lines stay as they are.
    pub(crate) fn notice_as_is(&mut self, text: &str) {
        if self.is_one && std::mem::take(&mut self.is_open) {
            self.writer.push(Target::Stderr, b"\n".to_vec());
        }
        let line = line(&self.mask.text(text), self.stderr_colour);
        self.writer.push(Target::Stderr, line);
    }

    /// Writes terminal control sequences to stderr unchanged.
    pub(crate) fn steer(&mut self, text: &str) {
        if !text.is_empty() {
            self.writer.push(Target::Stderr, text.as_bytes().to_vec());
        }
    }

    /// Removes colours from lines for stderr if it must not have any.
    pub(crate) fn stderr_styles(&self, lines: &mut [String]) {
        if !self.stderr_colour {
            lines.iter_mut().for_each(|line| *line = strip_str(line).to_string());
        }
    }

    /// The same, unless the text is empty.
    pub(crate) fn notice_if_any(&mut self, text: &str) {
        if !text.is_empty() {
            self.notice(text);
        }
    }
}

impl Drop for Out {
    fn drop(&mut self) {
        self.settle();
    }
}

/// How long to wait for readers after the program was asked to stop.
struct Patience {
    began: Instant,
    /// When a reader last read something.
    read: Instant,
    written: Option<u64>,
}

impl Patience {
    fn new() -> Patience {
        Patience { began: clock::instant(), read: clock::instant(), written: None }
    }

    fn is_over(&mut self, written: u64) -> bool {
        if self.written.replace(written) != Some(written) {
            self.read = clock::instant();
        }
        self.read.elapsed() >= PATIENCE[0] || self.began.elapsed() >= PATIENCE[1]
    }
}

/// Whether stdout is a pipe without a reader.
fn has_lost_its_reader() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = io::stdout();
    let mut asked = [PollFd::new(&stdout, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut asked, Some(&now)).is_ok() && asked[0].revents().contains(PollFlags::ERR)
}

/// Whether stdout and stderr are the same file, pipe or terminal.
fn is_one() -> bool {
    match (rustix::fs::fstat(io::stdout()), rustix::fs::fstat(io::stderr())) {
        (Ok(out), Ok(err)) => (out.st_dev, out.st_ino, out.st_rdev) == (err.st_dev, err.st_ino, err.st_rdev),
        _ => false,
    }
}

/// Text as a line: in one piece, so that output of another process cannot come between.
fn line(text: &str, colour: bool) -> Vec<u8> {
    let mut line = if colour { text.to_owned() } else { strip_str(text).to_string() };
    if !text.ends_with('\n') {
        line.push('\n');
    }
    line.into_bytes()
}
