//! The log of an agent as people read it: what it said, each use of a tool with the gist of its result, and the end.
//!
//! Finds out by itself which program printed the events. What is no event is shown as it is.

use std::path::Path;

use super::{AgentEvent, CustomProgram, Program, Reader, Usage, call_state::preview};
use crate::store::values;

/// The bytes at the end of a file that are read for its last lines.
const TAIL: u64 = 256 * 1024;

/// Turns the output of an agent program into lines for people, as it arrives.
pub struct Transcript {
    /// The programs that may have printed it.
    candidates: Vec<Program>,
    /// The reader of the program whose events they are, once that is known.
    reader: Option<Reader>,
    /// The incomplete last line.
    line: Vec<u8>,
    /// Text that arrives in pieces.
    pieces: String,
    /// Tools in use: the id of the use, and its words.
    open: Vec<ToolUse>,
    has_spoken: bool,
}

struct ToolUse {
    id: Option<String>,
    words: String,
    is_edit: bool,
}

impl Transcript {
    /// A transcript of one of the known programs, or of one of these.
    pub fn among(custom: &[CustomProgram]) -> Transcript {
        let described =
            custom.iter().filter(|program| !program.events.is_empty()).cloned().map(Program::from);
        // the rules of `claude` fit some events of others too
        let mut names: Vec<&str> = Program::known_names().collect();
        names.sort_by_key(|name| *name == "claude");
        let known = names.into_iter().filter_map(|name| Program::named(name, &[]));
        Transcript {
            candidates: described.chain(known).collect(),
            reader: None,
            line: Vec::new(),
            pieces: String::new(),
            open: Vec::new(),
            has_spoken: false,
        }
    }

    /// Takes the next bytes, cut at any place; returns the lines that are complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut lines = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.read_line(&line, &mut lines);
            }
        }
        lines
    }

    /// The last lines, after all output was fed.
    pub fn end(mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.read_line(&line, &mut lines);
        }
        self.end_pieces(&mut lines);
        for tool in std::mem::take(&mut self.open) {
            lines.push(if tool.is_edit { tool.words } else { format!("{} → no result", tool.words) });
            self.has_spoken = true;
        }
        let Some(reader) = self.reader else { return lines };
        let end = ending(reader.usage());
        if !self.has_spoken
            && let Some(answer) = reader.partial()
        {
            lines.extend(answer.lines().map(str::to_owned));
        }
        lines.push(end);
        lines
    }

    fn read_line(&mut self, line: &[u8], lines: &mut Vec<String>) {
        let is_event = line.trim_ascii_start().first() == Some(&b'{');
        if self.reader.is_none() && is_event {
            let recognizes = |program: &Program| program.reader().recognizes(line);
            self.reader = self.candidates.iter().find(|program| recognizes(program)).map(Program::reader);
        }
        match &mut self.reader {
            Some(reader) if is_event => {
                let mut events = Vec::new();
                reader.feed(line, &mut events);
                if !line.ends_with(b"\n") {
                    reader.feed(b"\n", &mut events);
                }
                events.into_iter().for_each(|event| self.take(event, lines));
            }
            _ => {
                let text = String::from_utf8_lossy(line);
                lines.push(text.trim_end_matches(['\n', '\r']).to_owned());
            }
        }
    }

    fn take(&mut self, event: AgentEvent, lines: &mut Vec<String>) {
        if let AgentEvent::Piece { text } = event {
            return self.pieces.push_str(&text);
        }
        self.end_pieces(lines);
        match event {
            AgentEvent::Text { text } => self.say(&text, lines),
            AgentEvent::Tool { name, detail, id, is_edit } => {
                let words = format!("▸ {}", format!("{name} {detail}").trim_end());
                self.open.push(ToolUse { id, words, is_edit });
            }
            AgentEvent::ToolEnded { id, gist, has_failed } => {
                let is_it = |tool: &ToolUse| id.is_some() && tool.id == id;
                let at = self.open.iter().position(is_it).unwrap_or(0);
                if at < self.open.len() {
                    let tool = self.open.remove(at);
                    self.has_spoken = true;
                    lines.push(match (tool.is_edit, has_failed) {
                        // the numbers of lines say it
                        (true, false) => tool.words,
                        (_, true) => format!("{} → failed: {gist}", tool.words),
                        (false, false) => format!("{} → {gist}", tool.words),
                    });
                }
            }
            AgentEvent::Retrying { message } => lines.push(format!("model call tried again: {message}")),
            AgentEvent::Piece { .. } | AgentEvent::Model { .. } | AgentEvent::Session { .. } => {}
        }
    }

    fn end_pieces(&mut self, lines: &mut Vec<String>) {
        let text = std::mem::take(&mut self.pieces);
        self.say(&text, lines);
    }

    fn say(&mut self, text: &str, lines: &mut Vec<String>) {
        if !text.trim().is_empty() {
            self.has_spoken = true;
            lines.extend(text.trim_end().lines().map(str::to_owned));
        }
    }
}

/// The last line: what the call took, as far as that is known.
fn ending(usage: &Usage) -> String {
    let count = |number: Option<u64>, noun: &str| {
        number.map(|number| format!("{number} {noun}{}", if number == 1 { "" } else { "s" }))
    };
    let tokens = match (usage.input_tokens, usage.output_tokens) {
        (None, None) => None,
        (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
    };
    let parts = [
        count(usage.turns, "turn"),
        count(tokens, "token"),
        usage.cost_usd.map(|cost| format!("${cost:.4}")),
        usage.model.clone(),
    ];
    let known: Vec<String> = parts.into_iter().flatten().collect();
    match known.is_empty() {
        true => "end (usage not reported)".to_owned(),
        false => format!("end: {}", known.join(", ")),
    }
}

/// The gist of a tool's result: its only line, or its last one and how many there are.
pub(super) fn gist(output: &str) -> String {
    let lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    match lines.as_slice() {
        [] => "no output".to_owned(),
        [only] => preview(only),
        [.., last] => format!("… {} ({} lines)", preview(last), lines.len()),
    }
}

/// The last lines of a transcript that is in a file.
pub fn tail(file: &Path, lines: usize, custom: &[CustomProgram]) -> Vec<String> {
    let text = values::tail(file, usize::MAX, TAIL);
    // the first line may be cut
    let whole = text
        .split_once('\n')
        .filter(|_| text.len() as u64 + 1 >= TAIL)
        .map_or(text.as_str(), |(_, rest)| rest);
    let mut transcript = Transcript::among(custom);
    let mut all = transcript.feed(whole.as_bytes());
    all.extend(transcript.end());
    let from = all.len().saturating_sub(lines);
    all.split_off(from)
}
