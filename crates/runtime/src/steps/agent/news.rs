//! What an agent tells those who watch, and how much of it. Never holds anything back for later: what is too much is left out.

use tokio::time::Instant;

use crate::agents::AgentEvent;

/// Keeps a chatty program from flooding those who watch: some news at once, then a few each second.
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

    /// Whether another piece of news may be told now.
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

/// One piece of news in a line, if it is any.
pub(crate) fn describe(event: AgentEvent) -> Option<String> {
    match event {
        AgentEvent::Tool { name, detail } => Some(format!("{name} {detail}").trim().to_owned()),
        AgentEvent::Text { text } => Some(text),
        AgentEvent::Model { name } => Some(format!("model {name}")),
        AgentEvent::Retrying { message } => Some(format!("its model call is tried again: {message}")),
        AgentEvent::Session { .. } => None,
    }
}
