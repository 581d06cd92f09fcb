//! Reads a program's standard output as it comes, cut anywhere, in bounded memory, and says at the end what
//! the call amounted to. Knows nothing of any particular program.

use serde_json::Value;

use super::custom::CustomReader;
use super::draft::{Draft, KEPT, shorten};
use super::{AgentEvent, AgentFailure, Usage, limits};

/// Takes one JSON object into the draft; false if it is none of the program's events.
pub(super) type ReadEvent = fn(&Value, &mut Draft, &mut Vec<AgentEvent>) -> bool;

/// How a program's process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself.
    Exit(i32),
    /// By a signal that was not ours.
    Signal(i32),
    /// By us, because it had given its final result and stayed: the result stands.
    AfterResult,
}

/// What a call amounted to.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentOutcome {
    /// The answer, or why there is none.
    pub result: Result<String, AgentFailure>,
    /// What it used, as far as the program says.
    pub usage: Usage,
    /// Tools that it was not allowed to use: it may well say that all went well.
    pub denied: Vec<String>,
}

/// Reads the output of one call.
#[derive(Debug)]
pub struct Reader {
    dialect: Dialect,
    draft: Draft,
    /// The line that is not yet complete.
    line: Vec<u8>,
    /// The rest of this line is too much and is left out.
    skipping: bool,
    /// Something was left out.
    dropped: bool,
    /// Everything so far, while none of it was an event.
    plain: Vec<u8>,
    /// At least one event of the program was seen.
    structured: bool,
}

#[derive(Debug)]
enum Dialect {
    Known(ReadEvent),
    Custom(Box<CustomReader>),
    Plain,
}

impl Reader {
    pub(super) fn events(read: ReadEvent) -> Reader {
        Reader::with(Dialect::Known(read))
    }

    pub(super) fn custom(custom: CustomReader) -> Reader {
        Reader::with(Dialect::Custom(Box::new(custom)))
    }

    /// For a program that nothing is known of: its whole output is the answer.
    pub fn plain() -> Reader {
        Reader::with(Dialect::Plain)
    }

    fn with(dialect: Dialect) -> Reader {
        Reader {
            dialect,
            draft: Draft::default(),
            line: Vec::new(),
            skipping: false,
            dropped: false,
            plain: Vec::new(),
            structured: false,
        }
    }

    /// Takes the next bytes, wherever they were cut, and appends what they tell.
    pub fn feed(&mut self, bytes: &[u8], events: &mut Vec<AgentEvent>) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.take(piece);
            if piece.ends_with(b"\n") {
                self.end_line(events);
            }
        }
    }

    /// The final result was seen: the program should exit now.
    pub fn has_result(&self) -> bool {
        self.draft.done
    }

    /// What was used so far; a call that is ended early has cost something too.
    pub fn usage(&self) -> &Usage {
        &self.draft.usage
    }

    /// The outcome, after the process has ended and all of its output was fed.
    pub fn finish(mut self, ended: Ended, stderr_tail: &str, answer_file: Option<String>) -> AgentOutcome {
        self.end_line(&mut Vec::new());
        if !self.structured {
            self.read_document();
        }
        let result = self.judge(ended, stderr_tail, answer_file);
        AgentOutcome {
            result: result.map_err(|failure| self.recognise(failure, stderr_tail)),
            usage: self.draft.usage,
            denied: self.draft.denied,
        }
    }

    fn take(&mut self, piece: &[u8]) {
        if self.skipping {
            return;
        }
        if self.line.len() + piece.len() > KEPT {
            self.skipping = true;
            self.dropped = true;
            self.line = Vec::new();
        } else {
            self.line.extend_from_slice(piece);
        }
    }

    fn end_line(&mut self, events: &mut Vec<AgentEvent>) {
        self.skipping = false;
        let mut line = std::mem::take(&mut self.line);
        if self.read_line(&line, events) {
            self.structured = true;
            self.plain = Vec::new();
        } else if !self.structured {
            self.keep(&line);
        }
        // A huge line's buffer is not held for the rest of a long call.
        line.clear();
        line.shrink_to(64 * 1024);
        self.line = line;
    }

    fn keep(&mut self, line: &[u8]) {
        if self.plain.len() + line.len() > KEPT {
            self.dropped = true;
        } else {
            self.plain.extend_from_slice(line);
        }
    }

    fn read_line(&mut self, line: &[u8], events: &mut Vec<AgentEvent>) -> bool {
        if line.trim_ascii_start().first() != Some(&b'{') {
            return false;
        }
        match serde_json::from_slice(line) {
            Ok(event) => self.read_event(&event, events),
            Err(_) => false,
        }
    }

    fn read_event(&mut self, event: &Value, events: &mut Vec<AgentEvent>) -> bool {
        let before = events.len();
        let ours = match &self.dialect {
            Dialect::Known(read) => read(event, &mut self.draft, events),
            Dialect::Custom(custom) => custom.read_event(event, &mut self.draft),
            Dialect::Plain => false,
        };
        // Whoever works again has got over the complaint; it does not explain a later end.
        let works = |event: &AgentEvent| matches!(event, AgentEvent::Tool { .. } | AgentEvent::Text { .. });
        if events[before..].iter().any(works) {
            self.draft.complaint = None;
        }
        ours
    }

    /// A result printed over several lines, perhaps after a banner, is one JSON document.
    fn read_document(&mut self) {
        let plain = std::mem::take(&mut self.plain);
        let text = String::from_utf8_lossy(&plain);
        let from_line = text.find("\n{").map(|at| &text[at + 1..]);
        let documents = [Some(text.trim()), from_line];
        for document in documents.into_iter().flatten() {
            if document.starts_with('{') && self.read_line(document.as_bytes(), &mut Vec::new()) {
                self.structured = true;
                return;
            }
        }
        drop(text);
        self.plain = plain;
    }

    fn judge(&mut self, ended: Ended, stderr: &str, file: Option<String>) -> Result<String, AgentFailure> {
        if let Some(failure) = self.draft.failure.take() {
            return Err(failure);
        }
        match ended {
            Ended::Exit(0) => self.success(stderr, file),
            Ended::AfterResult if self.draft.done => self.success(stderr, file),
            Ended::AfterResult => Err(AgentFailure::NoResult { message: self.last_words(stderr) }),
            Ended::Exit(code) => {
                let message = self.last_words(stderr);
                Err(self.classify(stderr).unwrap_or(AgentFailure::Exit { code, message }))
            }
            Ended::Signal(signal) => Err(AgentFailure::Signal { signal, message: self.last_words(stderr) }),
        }
    }

    fn success(&mut self, stderr: &str, file: Option<String>) -> Result<String, AgentFailure> {
        let from_file = file.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        if self.draft.done {
            let answer = std::mem::take(&mut self.draft.answer);
            if self.draft.overflow && from_file.is_none() {
                return Err(AgentFailure::TooLarge { limit: KEPT });
            }
            return Ok(from_file.unwrap_or_else(|| answer.trim().to_owned()));
        }
        self.unstructured_success(stderr, from_file)
    }

    fn unstructured_success(&self, stderr: &str, from_file: Option<String>) -> Result<String, AgentFailure> {
        let missing = || AgentFailure::NoResult { message: self.last_words(stderr) };
        if self.structured {
            return Err(match self.dropped {
                true => AgentFailure::TooLarge { limit: KEPT },
                false => missing(),
            });
        }
        if let Some(answer) = from_file {
            return Ok(answer);
        }
        if self.dropped {
            return Err(AgentFailure::TooLarge { limit: KEPT });
        }
        let text = String::from_utf8_lossy(&self.plain);
        match text.trim() {
            "" => Err(missing()),
            _ if self.must_be_structured() => Err(missing()),
            text => Ok(text.to_owned()),
        }
    }

    /// A configured program that answers in JSON has no plain answer to fall back on.
    fn must_be_structured(&self) -> bool {
        matches!(&self.dialect, Dialect::Custom(custom) if !custom.answers_plainly())
    }

    /// What a failed call without a structured failure says about the cause.
    fn classify(&self, stderr: &str) -> Option<AgentFailure> {
        let complaint = self.draft.complaint.as_deref();
        complaint
            .and_then(limits::from_text)
            .or_else(|| limits::from_text(stderr))
            .or_else(|| limits::from_text(&self.plain_tail()))
    }

    /// The configured words of a custom program win over ours.
    fn recognise(&self, failure: AgentFailure, stderr: &str) -> AgentFailure {
        let Dialect::Custom(custom) = &self.dialect else {
            return failure;
        };
        [stderr, &self.plain_tail(), &failure.to_string()]
            .into_iter()
            .find_map(|said| custom.recognise(said))
            .unwrap_or(failure)
    }

    fn last_words(&self, stderr: &str) -> String {
        if let Some(complaint) = &self.draft.complaint {
            return complaint.clone();
        }
        match shorten(stderr) {
            stderr if stderr.is_empty() => shorten(&self.plain_tail()),
            stderr => stderr,
        }
    }

    /// How many bytes are held, for the tests of their bound.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.line.capacity() + self.plain.capacity() + self.draft.answer.capacity()
    }

    fn plain_tail(&self) -> String {
        let from = self.plain.len().saturating_sub(4000);
        shorten(&String::from_utf8_lossy(&self.plain[from..]))
    }
}
