//! Budgets of agents: which limits an agent has, and which of them are reached.

use recipe::plan::Budget;

use crate::run::{cause::Exhausted, event::Usage, frame::FrameId, state::RunState};

/// The usage of the agents of this process, including those that are still at work.
pub trait LiveUsage {
    /// The total of all agents whose paths begin like this, and how many of them are at work.
    fn below(&self, prefix: &str) -> (Usage, u32);
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
    fn used(&self, usage: &dyn LiveUsage) -> (Usage, u32) {
        let (mut used, working) = usage.below(&self.prefix);
        used.add(&self.before);
        (used, working)
    }

    /// Every limit that is reached, so that no agent may start any more.
    fn used_up(&self, usage: &dyn LiveUsage) -> Vec<Exhausted> {
        let (used, _) = self.used(usage);
        let Budget { usd, tokens, agent_runs, minutes } = self.budget;
        exhausted(&Budget {
            agent_runs: agent_runs.filter(|runs| used.runs >= *runs),
            usd: usd.filter(|usd| used.cost_usd.unwrap_or(0.0) >= *usd),
            tokens: tokens.filter(|tokens| used.tokens().unwrap_or(0) >= *tokens),
            minutes: minutes.filter(|minutes| used.seconds >= minutes * 60.0),
        })
    }

    /// Every limit that is exceeded, so that running agents have to stop.
    fn exceeded(&self, usage: &dyn LiveUsage) -> Vec<Exhausted> {
        let (used, _) = self.used(usage);
        let Budget { usd, tokens, minutes, .. } = self.budget;
        exhausted(&Budget {
            agent_runs: None,
            usd: usd.filter(|usd| used.cost_usd.is_some_and(|cost| cost > *usd)),
            tokens: tokens.filter(|tokens| used.tokens().is_some_and(|count| count > *tokens)),
            minutes: minutes.filter(|minutes| used.seconds >= minutes * 60.0),
        })
    }

    /// How many seconds the running agents can continue before the minutes must be checked again.
    fn patience(&self, usage: &dyn LiveUsage) -> Option<f64> {
        let (used, working) = self.used(usage);
        let rest = (self.budget.minutes? * 60.0 - used.seconds).max(0.0);
        Some(rest / f64::from(working.max(1)))
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
pub fn exceeded(limits: &[Limit], usage: &dyn LiveUsage) -> Option<Vec<Exhausted>> {
    let all: Vec<Exhausted> = limits.iter().flat_map(|limit| limit.exceeded(usage)).collect();
    (!all.is_empty()).then_some(all)
}

/// The reached ones of all limits.
pub fn used_up(limits: &[Limit], usage: &dyn LiveUsage) -> Option<Vec<Exhausted>> {
    let all: Vec<Exhausted> = limits.iter().flat_map(|limit| limit.used_up(usage)).collect();
    (!all.is_empty()).then_some(all)
}

/// How many seconds may pass before the minutes must be checked again; absent without a limit on them.
pub fn patience(limits: &[Limit], usage: &dyn LiveUsage) -> Option<f64> {
    limits.iter().filter_map(|limit| limit.patience(usage)).min_by(f64::total_cmp)
}

/// Budgets that replace those of recipes.
#[derive(Clone, Copy, Debug, Default)]
pub struct GivenBudgets {
    /// Of the command line: it replaces that of the main recipe.
    pub run: Budget,
    /// Of a resume: it replaces those of all recipes.
    pub resume: Budget,
}

impl GivenBudgets {
    /// The limit for all agents of a run whose main recipe declares this budget.
    pub fn limit(&self, declared: &Budget, before: Usage) -> Limit {
        let budget = replaced(&replaced(declared, &self.run), &self.resume);
        Limit { prefix: String::new(), budget, before }
    }
}

/// The limits of agents below a frame.
pub fn limits(state: &RunState, frame: FrameId) -> Vec<Limit> {
    let given = &state.settings.budgets;
    let limit = |frame: &crate::run::frame::Frame| match frame.parent {
        None => given.limit(&frame.unit.budget, state.live.used_before.clone()),
        Some(_) => Limit {
            prefix: format!("{}/", frame.path),
            budget: without(&frame.unit.budget, &given.resume),
            before: state.live.used_below_before.get(&frame.path).cloned().unwrap_or_default(),
        },
    };
    let all = state.lineage(frame).into_iter().map(limit);
    all.filter(|limit| limit.budget != Budget::default()).collect()
}

/// The note that the cost of a program is unknown and cannot count against a budget in dollars; once per program.
pub(crate) fn unknown_cost(state: &mut RunState, path: &str, usage: Option<&Usage>) -> Option<String> {
    let usage = usage.filter(|usage| usage.runs_without_cost > 0)?;
    let (frame, _) = state.locate(path)?;
    let program = usage.program.clone().unwrap_or_default();
    let is_limited = limits(state, frame).iter().any(|limit| limit.budget.usd.is_some());
    let is_new = is_limited && state.live.without_cost.insert(program.clone());
    is_new.then(|| {
        format!(
            "`{program}` does not report its cost: the budget in dollars does not count it, so the total may exceed the budget"
        )
    })
}

/// The budget, with values of another one in place of its own.
fn replaced(budget: &Budget, by: &Budget) -> Budget {
    Budget {
        usd: by.usd.or(budget.usd),
        tokens: by.tokens.or(budget.tokens),
        agent_runs: by.agent_runs.or(budget.agent_runs),
        minutes: by.minutes.or(budget.minutes),
    }
}

/// The budget without the values that another one sets.
fn without(budget: &Budget, other: &Budget) -> Budget {
    Budget {
        usd: budget.usd.filter(|_| other.usd.is_none()),
        tokens: budget.tokens.filter(|_| other.tokens.is_none()),
        agent_runs: budget.agent_runs.filter(|_| other.agent_runs.is_none()),
        minutes: budget.minutes.filter(|_| other.minutes.is_none()),
    }
}
