//! Reads a program's standard output as it arrives, in pieces of any size and in bounded memory, and returns the
//! outcome of the call at the end. Does not know any particular program.

use engine::run::outcome::KnownBy;
use serde_json::Value;

use super::answer::{AgentOutcome, AgentText, NEWLINES};
use super::bounded_text::{BoundedText, LongLine};
use super::call_state::{CallState, LINE, shorten};
use super::custom::CustomReader;
use super::{AgentEvent, AgentFailure, Usage, error_line, limits};
use crate::store::values::cut_mark;

/// How a program's process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramEnded {
    /// It exited by itself.
    Exit(i32),
    /// A signal that was not ours ended it.
    Signal(i32),
    /// We ended it, because it did not exit after its final result: the result counts.
    AfterResult,
}

/// Reads the output of one call.
#[derive(Debug)]
pub struct Reader {
    dialect: Dialect,
    draft: CallState,
    /// The incomplete last line.
    line: Vec<u8>,
    /// Used instead of `line` for a long line.
    long: Option<LongLine>,
    /// The rest of this line is too long and is skipped.
    skipping: bool,
    /// A line that may have been an event was skipped.
    dropped: bool,
    /// The bytes that were cut out of the last long texts.
    cuts: Vec<u64>,
    /// Everything so far, while there was no event.
    plain: BoundedText,
    /// At least one event of the program was seen.
    structured: bool,
}

#[derive(Debug)]
enum Dialect {
    Described(CustomReader),
    Plain,
}

impl Reader {
    pub(super) fn described(program: CustomReader) -> Reader {
        Reader::with(Dialect::Described(program))
    }

    /// For an unknown program: its whole output is the answer.
    pub fn plain() -> Reader {
        Reader::with(Dialect::Plain)
    }

    fn with(dialect: Dialect) -> Reader {
        Reader {
            dialect,
            draft: CallState::default(),
            line: Vec::new(),
            long: None,
            skipping: false,
            dropped: false,
            cuts: Vec::new(),
            plain: BoundedText::default(),
            structured: false,
        }
    }

    /// Takes the next bytes, cut at any place, and appends their events.
    pub fn feed(&mut self, bytes: &[u8], events: &mut Vec<AgentEvent>) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.take(piece);
            if piece.ends_with(b"\n") {
                self.end_line(events);
            }
        }
    }

    /// Whether a line is an event of the program.
    pub(super) fn recognizes(mut self, line: &[u8]) -> bool {
        self.read_line(line, &mut Vec::new())
    }

    /// The final result was seen: the program should exit now.
    pub fn has_result(&self) -> bool {
        self.draft.done
    }

    /// The usage so far; a call that is ended early has a cost too.
    pub fn usage(&self) -> &Usage {
        &self.draft.usage
    }

    /// The outcome, after the process has ended and all of its output was fed.
    pub fn finish(
        mut self,
        ended: ProgramEnded,
        stderr_tail: &str,
        answer_file: Option<AgentText>,
    ) -> AgentOutcome {
        self.end();
        let (result, known_by) = match self.judge(ended, stderr_tail, answer_file) {
            Ok(answer) => (Ok(answer), KnownBy::Result),
            Err((failure, known_by)) => match self.recognise(&failure, stderr_tail) {
                Some(failure) => (Err(failure), KnownBy::Words),
                None => (Err(failure), known_by),
            },
        };
        let partial = result.is_err().then(|| self.said()).flatten();
        AgentOutcome { result, partial, known_by, usage: self.draft.usage, denied: self.draft.denied }
    }

    /// The partial answer of a call that was ended before it had a result, after all of its output was fed.
    pub fn partial(mut self) -> Option<AgentText> {
        self.end();
        self.said()
    }

    fn end(&mut self) {
        self.end_line(&mut Vec::new());
        if !self.structured {
            self.read_document();
        }
    }

    /// The text so far; `None` if there are only events without text.
    fn said(&mut self) -> Option<AgentText> {
        let said = match self.structured {
            true => std::mem::take(&mut self.draft.answer),
            false => std::mem::take(&mut self.plain),
        };
        (!said.is_empty()).then(|| self.value(said))
    }

    /// A text as a value. Bytes that were cut out before count too.
    fn value(&self, kept: BoundedText) -> AgentText {
        let mut said = AgentText::from(kept.captured());
        let before = || self.cuts.iter().copied().find(|cut| said.text.contains(&cut_mark(*cut)));
        said.cut = said.cut.or_else(before);
        said
    }

    fn take(&mut self, piece: &[u8]) {
        if !self.structured {
            self.plain.push(piece);
        }
        self.skipping |= self.long.is_none() && !may_be_event(&self.line, piece);
        if self.skipping {
            return;
        }
        match &mut self.long {
            Some(long) => long.push(piece),
            None if self.line.len() + piece.len() <= LINE => self.line.extend_from_slice(piece),
            None => self.begin_long(piece),
        }
        if self.long.as_ref().is_some_and(LongLine::is_too_long) {
            (self.skipping, self.dropped, self.long) = (true, true, None);
        }
    }

    /// Starts a line that is too long to be kept unchanged.
    fn begin_long(&mut self, piece: &[u8]) {
        let mut long = LongLine::default();
        long.push(&std::mem::take(&mut self.line));
        long.push(piece);
        self.long = Some(long);
    }

    fn end_line(&mut self, events: &mut Vec<AgentEvent>) {
        self.skipping = false;
        let mut line = std::mem::take(&mut self.line);
        if let Some(long) = self.long.take() {
            let cuts;
            (line, cuts) = long.finish();
            self.cuts.extend(cuts);
            self.cuts.drain(..self.cuts.len().saturating_sub(16));
        }
        if self.read_line(&line, events) {
            self.structured = true;
            self.plain = BoundedText::default();
        }
        // Do not keep the buffer of a huge line for the rest of a long call.
        line.clear();
        line.shrink_to(64 * 1024);
        self.line = line;
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
            Dialect::Described(program) => program.read_event(event, &mut self.draft, events),
            Dialect::Plain => false,
        };
        // The agent works again after the complaint, so the complaint does not explain a later end.
        let works = |event: &AgentEvent| {
            matches!(event, AgentEvent::Tool { .. } | AgentEvent::Text { .. } | AgentEvent::Piece { .. })
        };
        if events[before..].iter().any(works) {
            self.draft.complaint = None;
        }
        ours
    }

    /// Reads the output as one JSON document: a result over several lines, perhaps after a banner, or a list of events.
    fn read_document(&mut self) {
        if !self.plain.is_whole() {
            return;
        }
        let text = self.plain.text();
        if text.trim_start().starts_with('[')
            && let Ok(list) = serde_json::from_str::<Vec<Value>>(&text)
        {
            for event in &list {
                self.structured |= self.read_event(event, &mut Vec::new());
            }
            return;
        }
        let from_line = text.find("\n{").map(|at| &text[at + 1..]);
        let documents = [Some(text.trim()), from_line];
        for document in documents.into_iter().flatten() {
            if document.starts_with('{') && self.read_line(document.as_bytes(), &mut Vec::new()) {
                self.structured = true;
                return;
            }
        }
    }

    fn judge(
        &mut self,
        ended: ProgramEnded,
        stderr: &str,
        file: Option<AgentText>,
    ) -> Result<AgentText, (AgentFailure, KnownBy)> {
        if let Some(failure) = self.draft.failure.take() {
            return Err((failure, KnownBy::Result));
        }
        let failed = |failure| (failure, KnownBy::Result);
        match ended {
            ProgramEnded::Exit(0) => self.success(stderr, file).map_err(failed),
            ProgramEnded::AfterResult if self.draft.done => self.success(stderr, file).map_err(failed),
            ProgramEnded::AfterResult => {
                Err(failed(AgentFailure::NoResult { message: self.last_words(stderr) }))
            }
            ProgramEnded::Exit(code) => {
                let exit = || failed(AgentFailure::Exit { code, message: self.last_words(stderr) });
                Err(self.classify(stderr).unwrap_or_else(exit))
            }
            ProgramEnded::Signal(signal) => {
                Err(failed(AgentFailure::Signal { signal, message: self.last_words(stderr) }))
            }
        }
    }

    fn success(&mut self, stderr: &str, file: Option<AgentText>) -> Result<AgentText, AgentFailure> {
        let from_file =
            file.map(|said| AgentText { text: said.trim_end_matches(NEWLINES).to_owned(), ..said });
        let from_file = from_file.filter(|said| !said.trim().is_empty());
        if self.draft.done || self.draft.is_settled {
            let answer = std::mem::take(&mut self.draft.answer);
            return Ok(from_file.unwrap_or_else(|| self.value(answer)));
        }
        self.unstructured_success(stderr, from_file)
    }

    fn unstructured_success(
        &mut self,
        stderr: &str,
        from_file: Option<AgentText>,
    ) -> Result<AgentText, AgentFailure> {
        let missing = match self.dropped || !self.plain.is_whole() {
            true => AgentFailure::TooLarge,
            false => AgentFailure::NoResult { message: self.last_words(stderr) },
        };
        if self.structured {
            return Err(missing);
        }
        if let Some(answer) = from_file {
            return Ok(answer);
        }
        if self.must_be_structured() || self.breaks_off() {
            return Err(missing);
        }
        let plain = std::mem::take(&mut self.plain);
        Some(AgentText::from(plain.captured())).filter(|said| !said.trim().is_empty()).ok_or(missing)
    }

    /// Whether a configured program answers in JSON, so that plain text is not an answer.
    fn must_be_structured(&self) -> bool {
        matches!(&self.dialect, Dialect::Described(program) if !program.answers_plainly())
    }

    /// Whether the meaning of its events is known.
    fn knows_events(&self) -> bool {
        matches!(&self.dialect, Dialect::Described(program) if program.knows_events())
    }

    /// Whether the output is only the beginning of an event.
    fn breaks_off(&self) -> bool {
        let text = self.plain.text();
        let inside = text.trim_start().strip_prefix('{').unwrap_or_default().trim_start();
        self.knows_events()
            && inside.starts_with("\"type\"")
            && serde_json::from_str::<serde::de::IgnoredAny>(&text).is_err_and(|error| error.is_eof())
    }

    /// The cause of a failed call without a structured failure: an event, or an error line on stderr. Text on stdout is
    /// the agent's own and is not evidence.
    fn classify(&self, stderr: &str) -> Option<(AgentFailure, KnownBy)> {
        if let Some(failure) = self.draft.complaint.as_deref().and_then(limits::from_text) {
            return Some((failure, KnownBy::Result));
        }
        error_line::last_error(stderr).map(|failure| (failure, KnownBy::Words))
    }

    /// The configured words of a custom program take precedence over ours.
    fn recognise(&self, failure: &AgentFailure, stderr: &str) -> Option<AgentFailure> {
        let Dialect::Described(program) = &self.dialect else {
            return None;
        };
        [stderr, &self.plain_tail(), &failure.to_string()]
            .into_iter()
            .find_map(|said| program.recognise(said))
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

    /// How many bytes are held, for tests of the bound.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        let long = self.long.as_ref().map_or(0, LongLine::held);
        self.line.capacity() + long + self.plain.held() + self.draft.answer.held()
    }

    fn plain_tail(&self) -> String {
        shorten(&self.plain.end(4000))
    }
}

/// Whether a line that continues with this piece can be an event: only objects are.
fn may_be_event(line: &[u8], piece: &[u8]) -> bool {
    let begin = if line.is_empty() { piece } else { line };
    matches!(begin.trim_ascii_start().first(), Some(b'{') | None)
}
