//! The usage of agents: one ledger for all agents of a process, including those still running. Never stops one.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use engine::run::{
    budget::{self, Limit, LiveUsage},
    cause::Exhausted,
    event::Usage,
};
use recipe::plan::Budget;
use tokio::time::Instant;

/// The usage of every agent of this process so far.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<Vec<Spent>>);

/// The usage of one agent.
#[derive(Debug)]
struct Spent {
    path: String,
    usage: Usage,
    /// When it started; absent once it has ended.
    since: Option<Instant>,
}

/// A call that is being charged.
#[derive(Clone, Copy, Debug)]
pub struct Account(usize);

impl Ledger {
    /// Opens the account of a call, which counts as an agent call from now on.
    pub fn open(&self, path: &str) -> Account {
        let mut all = self.lock();
        let usage = Usage { runs: 1, ..Usage::default() };
        all.push(Spent { path: path.to_owned(), usage, since: Some(Instant::now()) });
        Account(all.len() - 1)
    }

    /// Records the usage of a call so far.
    pub fn charge(&self, account: Account, usage: &Usage) {
        if let Some(spent) = self.lock().get_mut(account.0) {
            spent.usage = usage.clone();
        }
    }

    /// Closes the account of a call that has ended.
    pub fn close(&self, account: Account, usage: &Usage) {
        if let Some(spent) = self.lock().get_mut(account.0) {
            spent.usage = usage.clone();
            spent.since = None;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Spent>> {
        // a thread that panicked leaves valid numbers
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveUsage for Ledger {
    fn below(&self, prefix: &str) -> (Usage, u32) {
        let (mut total, mut working) = (Usage::default(), 0);
        for spent in self.lock().iter().filter(|spent| spent.path.starts_with(prefix)) {
            total.add(&spent.usage);
            if let Some(since) = spent.since {
                total.seconds += since.elapsed().as_secs_f64() - spent.usage.seconds;
                working += 1;
            }
        }
        (total, working)
    }
}

/// Returns when the minutes must be checked again; never returns without a limit on them.
pub async fn patience(limits: &[Limit], ledger: &Ledger) {
    let time = budget::patience(limits, ledger).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    match time {
        // always pause: a clock that is slightly behind would cause a busy loop
        Some(time) => tokio::time::sleep(time.max(Duration::from_millis(10))).await,
        None => std::future::pending().await,
    }
}

/// The budget of a resume that raises reached limits enough. It is that of the whole run, so the usage of the whole run
/// counts.
pub fn raise(exhausted: &[Exhausted], used: &Usage) -> Option<Budget> {
    let mut raised = Budget::default();
    for limit in exhausted {
        match *limit {
            Exhausted::Usd(usd) => {
                let enough = enough(usd, used.cost_usd.unwrap_or(0.0))?;
                raised.usd = Some(raised.usd.map_or(enough, |known| known.max(enough)));
            }
            Exhausted::Tokens(tokens) => {
                let enough = enough(tokens as f64, used.tokens().unwrap_or(0) as f64)? as u64;
                raised.tokens = raised.tokens.max(Some(enough));
            }
            Exhausted::AgentRuns(runs) => {
                let enough = enough(runs as f64, used.runs as f64)? as u64;
                raised.agent_runs = raised.agent_runs.max(Some(enough));
            }
            Exhausted::Minutes(minutes) => {
                let enough = enough(minutes, used.seconds / 60.0)?;
                raised.minutes = Some(raised.minutes.map_or(enough, |known| known.max(enough)));
            }
        }
    }
    Some(raised)
}

/// Twice a limit, doubled until it exceeds the usage.
fn enough(limit: f64, spent: f64) -> Option<f64> {
    // a budget of 0 would stay 0
    let mut enough = Some(limit * 2.0).filter(|number| *number > 0.0).unwrap_or(1.0);
    while enough <= spent && enough.is_finite() {
        enough *= 2.0;
    }
    // no finite number exceeds the reported usage
    enough.is_finite().then_some(enough)
}

#[cfg(test)]
mod tests {
    use engine::run::budget::{exceeded, used_up};

    use super::*;

    fn spent(cost: f64, tokens: u64) -> Usage {
        Usage { cost_usd: Some(cost), input_tokens: Some(tokens), runs: 1, ..Usage::default() }
    }

    #[test]
    fn limits_count_what_is_below_them() {
        let ledger = Ledger::default();
        let (a, b) = (ledger.open("a"), ledger.open("n/b"));
        ledger.close(a, &spent(1.0, 100));
        ledger.charge(b, &spent(0.5, 50));
        let limit = |prefix: &str, budget: Budget| {
            let limit = Limit { prefix: prefix.to_owned(), budget, before: Usage::default() };
            let limits = [limit];
            (used_up(&limits, &ledger).is_some(), exceeded(&limits, &ledger).is_some())
        };
        for (prefix, budget, expected) in [
            ("", Budget { usd: Some(1.5), ..Budget::default() }, (true, false)),
            ("", Budget { usd: Some(1.4), ..Budget::default() }, (true, true)),
            ("", Budget { usd: Some(2.0), ..Budget::default() }, (false, false)),
            ("n/", Budget { usd: Some(0.6), ..Budget::default() }, (false, false)),
            ("n/", Budget { tokens: Some(50), ..Budget::default() }, (true, false)),
            ("", Budget { agent_runs: Some(2), ..Budget::default() }, (true, false)),
            ("", Budget { agent_runs: Some(3), ..Budget::default() }, (false, false)),
            ("", Budget { minutes: Some(1.0), ..Budget::default() }, (false, false)),
            ("", Budget { minutes: Some(0.0), ..Budget::default() }, (true, true)),
            ("", Budget::default(), (false, false)),
        ] {
            assert_eq!(limit(prefix, budget), expected, "{prefix} {budget:?}");
        }
    }

    #[test]
    fn a_used_up_budget_says_how_to_raise_it() {
        let used = Usage {
            runs: 5,
            cost_usd: Some(1.0),
            input_tokens: Some(4000),
            seconds: 90.0,
            ..Usage::default()
        };
        use Exhausted::{AgentRuns, Minutes, Tokens, Usd};
        let unused = &Usage::default();
        let budget = |usd, tokens, agent_runs, minutes| Budget { usd, tokens, agent_runs, minutes };
        for (exhausted, used, raised) in [
            (&[AgentRuns(3)][..], unused, budget(None, None, Some(6), None)),
            (&[Usd(0.5)], unused, budget(Some(1.0), None, None, None)),
            (&[Tokens(1000)], unused, budget(None, Some(2000), None, None)),
            (&[Minutes(1.5)], unused, budget(None, None, None, Some(3.0))),
            (&[AgentRuns(0)], unused, budget(None, None, Some(1), None)),
            // double would be reached as well
            (&[AgentRuns(1)], &used, budget(None, None, Some(8), None)),
            (&[Usd(0.5)], &used, budget(Some(2.0), None, None, None)),
            (&[Tokens(1000)], &used, budget(None, Some(8000), None, None)),
            (&[Minutes(0.5)], &used, budget(None, None, None, Some(2.0))),
            (&[AgentRuns(1), Usd(0.5), AgentRuns(9)], &used, budget(Some(2.0), None, Some(18), None)),
        ] {
            assert_eq!(raise(exhausted, used), Some(raised), "{exhausted:?}");
        }
        let endless = Usage { cost_usd: Some(f64::INFINITY), ..Usage::default() };
        assert_eq!(raise(&[Usd(0.5)], &endless), None);
    }

    #[test]
    fn what_earlier_processes_used_counts() {
        let budget = Budget { agent_runs: Some(2), ..Budget::default() };
        let before = Usage { runs: 2, ..Usage::default() };
        let limit = Limit { prefix: String::new(), budget, before };
        assert_eq!(used_up(&[limit], &Ledger::default()), Some(vec![Exhausted::AgentRuns(2)]));
    }
}
