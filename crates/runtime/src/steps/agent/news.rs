//! Progress messages of an agent, and their rate. Never delays a message: excess messages are dropped.

use tokio::time::Instant;

use crate::agents::{AgentEvent, in_one_line};

/// Limits the rate of progress messages: some at once, then a few each second.
#[derive(Debug)]
pub(crate) struct News {
    left: f64,
    last: Instant,
}

impl Default for News {
    fn default() -> News {
        News { left: News::AT_ONCE, last: Instant::now() }
    }
}

impl News {
    const AT_ONCE: f64 = 50.0;
    const EACH_SECOND: f64 = 10.0;

    /// Whether another message may be sent now.
    pub(crate) fn is_due(&mut self) -> bool {
        let gained = self.last.elapsed().as_secs_f64() * News::EACH_SECOND;
        self.last = Instant::now();
        self.left = (self.left + gained).min(News::AT_ONCE);
        let due = self.left >= 1.0;
        if due {
            self.left -= 1.0;
        }
        due
    }
}

/// An event of an agent as one line, if it is worth showing.
pub(crate) fn describe(event: AgentEvent) -> Option<String> {
    match event {
        AgentEvent::Tool { name, detail, .. } => Some(format!("{name} {detail}").trim().to_owned()),
        AgentEvent::Text { text } | AgentEvent::Piece { text } => {
            Some(in_one_line(&text)).filter(|text| !text.is_empty())
        }
        AgentEvent::Model { name } => Some(format!("model {name}")),
        AgentEvent::Retrying { message } => Some(format!("its model call is tried again: {message}")),
        AgentEvent::Session { .. } | AgentEvent::ToolEnded { .. } => None,
    }
}
