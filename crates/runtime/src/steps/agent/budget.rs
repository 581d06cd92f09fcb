//! Limits and usage of agents: one ledger for all agents of a run, including those still running.
//!
//! Never stops anything itself: it only reports which limit is reached.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use engine::run::{cause::Exhausted, event::Usage};
use recipe::plan::Budget;
use tokio::time::Instant;

use crate::agents::AgentSettings;

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

    /// The total of all calls below a recipe, and how many of them are running.
    fn total(&self, prefix: &str) -> (Usage, u32) {
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

    fn lock(&self) -> MutexGuard<'_, Vec<Spent>> {
        // a thread that panicked leaves valid numbers
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A limit for the agents below one recipe.
#[derive(Clone, Debug)]
pub struct Limit {
    /// Prefix of the paths of its steps; empty for all.
    pub prefix: String,
    /// The limits.
    pub budget: Budget,
    /// Usage of earlier processes.
    pub before: Usage,
}

impl Limit {
    fn used(&self, ledger: &Ledger) -> (Usage, u32) {
        let (mut used, working) = ledger.total(&self.prefix);
        used.add(&self.before);
        (used, working)
    }

    /// Every limit that is reached, so that no agent may start any more.
    fn used_up(&self, ledger: &Ledger) -> Vec<Exhausted> {
        let (used, _) = self.used(ledger);
        let Budget { usd, tokens, agent_runs, minutes } = self.budget;
        exhausted(&Budget {
            agent_runs: agent_runs.filter(|runs| used.runs >= *runs),
            usd: usd.filter(|usd| used.cost_usd.unwrap_or(0.0) >= *usd),
            tokens: tokens.filter(|tokens| used.tokens().unwrap_or(0) >= *tokens),
            minutes: minutes.filter(|minutes| used.seconds >= minutes * 60.0),
        })
    }

    /// Every limit that is exceeded, so that running agents have to stop.
    fn exceeded(&self, ledger: &Ledger) -> Vec<Exhausted> {
        let (used, _) = self.used(ledger);
        let Budget { usd, tokens, minutes, .. } = self.budget;
        exhausted(&Budget {
            agent_runs: None,
            usd: usd.filter(|usd| used.cost_usd.is_some_and(|cost| cost > *usd)),
            tokens: tokens.filter(|tokens| used.tokens().is_some_and(|count| count > *tokens)),
            minutes: minutes.filter(|minutes| used.seconds >= minutes * 60.0),
        })
    }

    /// How long the running agents can continue before the minutes must be checked again.
    fn patience(&self, ledger: &Ledger) -> Option<Duration> {
        let (used, working) = self.used(ledger);
        let rest = (self.budget.minutes? * 60.0 - used.seconds).max(0.0);
        Duration::try_from_secs_f64(rest / f64::from(working.max(1))).ok()
    }
}

/// Every limit of a budget.
fn exhausted(budget: &Budget) -> Vec<Exhausted> {
    let runs = budget.agent_runs.map(Exhausted::AgentRuns);
    let usd = budget.usd.map(Exhausted::Usd);
    let tokens = budget.tokens.map(Exhausted::Tokens);
    let minutes = budget.minutes.map(Exhausted::Minutes);
    [runs, usd, tokens, minutes].into_iter().flatten().collect()
}

/// The exceeded ones of all limits.
pub fn exceeded(limits: &[Limit], ledger: &Ledger) -> Option<Vec<Exhausted>> {
    let all: Vec<Exhausted> = limits.iter().flat_map(|limit| limit.exceeded(ledger)).collect();
    (!all.is_empty()).then_some(all)
}

/// The reached ones of all limits.
pub fn used_up(limits: &[Limit], ledger: &Ledger) -> Option<Vec<Exhausted>> {
    let all: Vec<Exhausted> = limits.iter().flat_map(|limit| limit.used_up(ledger)).collect();
    (!all.is_empty()).then_some(all)
}

/// Returns when the minutes must be checked again; never returns without a limit on them.
pub async fn patience(limits: &[Limit], ledger: &Ledger) {
    match limits.iter().filter_map(|limit| limit.patience(ledger)).min() {
        // always pause: a clock that is slightly behind would cause a busy loop
        Some(time) => tokio::time::sleep(time.max(Duration::from_millis(10))).await,
        None => std::future::pending().await,
    }
}

/// The limit for all agents of a run: that of its recipe, unless the command line or a resume sets another.
pub fn of_run(declared: &Budget, agents: &AgentSettings, before: Usage) -> Limit {
    let budget = replaced(&replaced(declared, &agents.budget), &agents.raised);
    Limit { prefix: String::new(), budget, before }
}

/// The options of a resume that raise reached limits enough. The budget of a resume is that of the whole run, so the
/// usage of the whole run counts.
pub fn raise(exhausted: &[Exhausted], used: &Usage) -> Option<String> {
    let mut options: Vec<(&str, f64)> = Vec::new();
    for limit in exhausted {
        let (flag, enough) = enough(*limit, used)?;
        match options.iter_mut().find(|(known, _)| *known == flag) {
            Some((_, most)) => *most = most.max(enough),
            None => options.push((flag, enough)),
        }
    }
    let options: Vec<String> = options.iter().map(|(flag, enough)| format!("{flag} {enough}")).collect();
    Some(options.join(" "))
}

/// Twice a limit, doubled until it exceeds the usage.
fn enough(limit: Exhausted, used: &Usage) -> Option<(&'static str, f64)> {
    let (flag, number, spent) = match limit {
        Exhausted::Usd(usd) => ("--budget-usd", usd, used.cost_usd.unwrap_or(0.0)),
        Exhausted::AgentRuns(runs) => ("--budget-agent-runs", runs as f64, used.runs as f64),
        Exhausted::Tokens(tokens) => ("--budget-tokens", tokens as f64, used.tokens().unwrap_or(0) as f64),
        Exhausted::Minutes(minutes) => ("--budget-minutes", minutes, used.seconds / 60.0),
    };
    // a budget of 0 would stay 0
    let mut enough = Some(number * 2.0).filter(|number| *number > 0.0).unwrap_or(1.0);
    while enough <= spent && enough.is_finite() {
        enough *= 2.0;
    }
    // no finite number exceeds the reported usage
    enough.is_finite().then_some((flag, enough))
}

/// The budget, with values of another one in place of its own.
pub fn replaced(budget: &Budget, by: &Budget) -> Budget {
    Budget {
        usd: by.usd.or(budget.usd),
        tokens: by.tokens.or(budget.tokens),
        agent_runs: by.agent_runs.or(budget.agent_runs),
        minutes: by.minutes.or(budget.minutes),
    }
}

/// The budget without the values that another one sets.
pub fn without(budget: &Budget, other: &Budget) -> Budget {
    Budget {
        usd: budget.usd.filter(|_| other.usd.is_none()),
        tokens: budget.tokens.filter(|_| other.tokens.is_none()),
        agent_runs: budget.agent_runs.filter(|_| other.agent_runs.is_none()),
        minutes: budget.minutes.filter(|_| other.minutes.is_none()),
    }
}

#[cfg(test)]
mod tests {
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
            (!limit.used_up(&ledger).is_empty(), !limit.exceeded(&ledger).is_empty())
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
        for (exhausted, used, option) in [
            (&[AgentRuns(3)][..], unused, "--budget-agent-runs 6"),
            (&[Usd(0.5)], unused, "--budget-usd 1"),
            (&[Tokens(1000)], unused, "--budget-tokens 2000"),
            (&[Minutes(1.5)], unused, "--budget-minutes 3"),
            (&[AgentRuns(0)], unused, "--budget-agent-runs 1"),
            // double would be reached as well
            (&[AgentRuns(1)], &used, "--budget-agent-runs 8"),
            (&[Usd(0.5)], &used, "--budget-usd 2"),
            (&[Tokens(1000)], &used, "--budget-tokens 8000"),
            (&[Minutes(0.5)], &used, "--budget-minutes 2"),
            (&[AgentRuns(1), Usd(0.5), AgentRuns(9)], &used, "--budget-agent-runs 18 --budget-usd 2"),
        ] {
            assert_eq!(raise(exhausted, used).as_deref(), Some(option), "{exhausted:?}");
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
