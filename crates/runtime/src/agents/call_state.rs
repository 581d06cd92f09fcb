//! The state of a call while its output is read: answer, usage, failure. Bounded in size, whatever the program prints.

use engine::knowledge::Knowledge;
use serde_json::Value;

use super::{AgentEvent, AgentFailure, Usage, bounded_text::BoundedText, error_line, limits};

/// The longest line that is kept unchanged.
pub(super) const LINE: usize = 8 * 1024 * 1024;

/// The outcome so far.
#[derive(Debug, Default)]
pub(super) struct CallState {
    pub(super) usage: Usage,
    /// The final message so far.
    pub(super) answer: BoundedText,
    /// The id of the last message, for programs that send it in pieces.
    message_id: String,
    /// The next text begins a new answer.
    is_new_answer: bool,
    /// The program reported that it is finished.
    pub(super) done: bool,
    /// The failure that the program reported.
    pub(super) failure: Option<AgentFailure>,
    /// The last complaint that was not final.
    pub(super) complaint: Option<String>,
    /// A step of the program has begun and not finished.
    pub(super) in_step: bool,
    /// The program never reports its end, and its text so far can be its answer.
    pub(super) is_settled: bool,
    /// Tools that it was not allowed to use, each once.
    pub(super) denied: Vec<String>,
}

impl CallState {
    /// Appends a piece of the final message.
    pub(super) fn say_more(&mut self, text: &str) {
        if std::mem::take(&mut self.is_new_answer) {
            self.answer.clear();
        }
        self.answer.push(text.as_bytes());
    }

    /// A message with this id; a new one begins a new answer. Says whether it is new.
    pub(super) fn begin_message(&mut self, id: &str) -> bool {
        let is_new = self.message_id != id;
        if is_new {
            id.clone_into(&mut self.message_id);
            self.is_new_answer = true;
        }
        is_new
    }

    /// The text so far is not the answer.
    pub(super) fn begin_answer(&mut self) {
        self.is_new_answer = true;
        self.is_settled = false;
    }

    /// The agent was not allowed to use a tool.
    pub(super) fn deny(&mut self, tool: String) {
        if !self.denied.contains(&tool) {
            self.denied.push(tool);
        }
    }

    /// The program finished with this answer, or with its text so far.
    pub(super) fn finish(&mut self, answer: Option<&str>) {
        if let Some(answer) = answer {
            self.answer.set(answer);
        }
        self.failure = None;
        self.done = true;
    }

    /// The program finished with a failure.
    pub(super) fn fail(&mut self, status: Option<u64>, message: &str) {
        let message = shorten(message);
        let status = status.and_then(|status| u16::try_from(status).ok());
        self.failure = Some(match status {
            Some(status) if status >= 400 => limits::from_status(status, message),
            _ => limits::from_text(&message).unwrap_or(AgentFailure::Reported { message }),
        });
        self.done = true;
    }

    /// The program finished with a failure whose message may be text of the model.
    pub(super) fn fail_in_words(&mut self, message: &str) {
        let message = shorten(message);
        let known = error_line::last_error(&message);
        self.failure = Some(known.unwrap_or(AgentFailure::Reported { message }));
        self.done = true;
    }

    pub(super) fn set_session(&mut self, id: Option<&str>, out: &mut Vec<AgentEvent>) {
        let Some(id) = id.filter(|id| !id.is_empty()) else {
            return;
        };
        if self.usage.session.as_deref() != Some(id) {
            self.usage.session = Some(id.to_owned());
            out.push(AgentEvent::Session { id: id.to_owned() });
        }
    }

    pub(super) fn set_model(&mut self, name: Option<&str>, out: &mut Vec<AgentEvent>) {
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return;
        };
        if self.usage.model.as_deref() != Some(name) {
            self.usage.model = Some(name.to_owned());
            out.push(AgentEvent::Model { name: name.to_owned() });
        }
    }

    /// The program reports a problem and continues.
    pub(super) fn complain(&mut self, message: &str, out: &mut Vec<AgentEvent>) {
        self.complaint = Some(shorten(message));
        out.push(AgentEvent::Retrying { message: preview(message) });
    }
}

/// Adds a number that may be unknown to a sum that may be unknown.
pub(super) fn add(sum: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        *sum = Some(sum.unwrap_or(0).saturating_add(more));
    }
}

pub(super) fn say(words: &str, out: &mut Vec<AgentEvent>) {
    if !words.trim().is_empty() {
        out.push(AgentEvent::Text { text: words.to_owned() });
    }
}

/// The target of a tool: the first of the usual fields that exists.
pub(super) fn detail(input: &Value) -> String {
    let knowledge = Knowledge::built_in();
    let names = &knowledge.phrases().tool_targets;
    names.iter().find_map(|name| input.get(name)?.as_str()).map(preview).unwrap_or_default()
}

/// One line of at most 120 characters.
pub(super) fn preview(text: &str) -> String {
    const LONGEST: usize = 120;
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let gap = usize::from(!line.is_empty());
        if gap == 1 {
            line.push(' ');
        }
        length += gap;
        for c in word.chars().filter(|c| !c.is_control()) {
            if length + 1 >= LONGEST {
                line.push('…');
                return line;
            }
            line.push(c);
            length += 1;
        }
    }
    line
}

/// An error message of limited length: its end, which usually has the cause.
pub(super) fn shorten(message: &str) -> String {
    const LONGEST: usize = 2000;
    let message = message.trim();
    let Some((from, _)) = message.char_indices().nth_back(LONGEST) else {
        return message.to_owned();
    };
    format!("…{}", message[from..].trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn previews_are_one_short_line() {
        for (text, expected) in [
            ("a\n\tb  c", "a b c".to_owned()),
            ("", String::new()),
            ("\u{1b}[31mred", "[31mred".to_owned()),
            (&"é".repeat(500), format!("{}…", "é".repeat(119))),
        ] {
            assert_eq!(preview(text), expected);
        }
    }

    #[test]
    fn long_messages_keep_their_end() {
        let long = format!("{}cause", "x".repeat(9000));
        let short = shorten(&long);
        assert!(short.starts_with('…') && short.ends_with("cause"));
        assert!(short.chars().count() <= 2002);
    }
}
