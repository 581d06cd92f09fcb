//! How much an agent may tell those who watch. Never holds anything back for later: what is too much is left out.

use tokio::time::Instant;

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
