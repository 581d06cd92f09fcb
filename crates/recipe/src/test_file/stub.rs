//! Stubs: answers that take the place of agents, commands and sub-recipes.

use super::{Rank, StepPattern};
use crate::{
    source::Place,
    syntax::StepType,
    value::{Map, Value},
};

/// An answer for the steps that a key names.
#[derive(Clone, Debug)]
pub struct Stub {
    /// Which steps.
    pub key: StubKey,
    /// The place of the key.
    pub place: Place,
    /// The answers.
    pub plan: StubPlan,
    /// Whether it may stay unused.
    pub optional: bool,
}

/// Which steps a stub answers for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StubKey {
    /// Steps.
    Steps(StepPattern),
    /// The agent that recovers these recipe steps: `recovery:PATH`.
    Recovery(StepPattern),
    /// The agent that repairs the recipe: `repair`.
    Repair,
}

/// A call that a stub may answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StubCall<'a> {
    /// A step of this kind at this path.
    Step(&'a str, StepType),
    /// The recovery of the recipe step at this path.
    Recovery(&'a str),
    /// A repair of the recipe.
    Repair,
}

/// The stub that answers a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selected {
    /// None of them.
    None,
    /// The one with this number.
    One(usize),
    /// These two name the call equally precisely.
    Tie(usize, usize),
}

/// The stub that names a call most precisely. A key with placeholders stands only for steps that its answers fit.
pub fn select(stubs: &[Stub], call: StubCall<'_>) -> Selected {
    let named = stubs.iter().enumerate().filter_map(|(at, stub)| Some((stub.names(call)?, at)));
    let mut best: Option<(Rank, usize, Selected)> = None;
    for (rank, at) in named {
        best = match best {
            Some((known, first, _)) if known == rank => Some((known, first, Selected::Tie(first, at))),
            Some(found) if found.0 > rank => Some(found),
            _ => Some((rank, at, Selected::One(at))),
        };
    }
    best.map_or(Selected::None, |(_, _, selected)| selected)
}

impl Stub {
    /// How precisely it names a call, if it does.
    pub fn names(&self, call: StubCall<'_>) -> Option<Rank> {
        let pattern = match (&self.key, call) {
            (StubKey::Steps(pattern), StubCall::Step(path, kind)) => {
                let fits = pattern.is_exact() || self.plan.replies().iter().all(|reply| reply.fits(kind));
                pattern.matches(path).then_some(pattern).filter(|_| fits)?
            }
            (StubKey::Recovery(pattern), StubCall::Recovery(path)) => {
                pattern.matches(path).then_some(pattern)?
            }
            (StubKey::Repair, StubCall::Repair) => return Some(StepPattern::new("repair").rank()),
            _ => return None,
        };
        Some(pattern.rank())
    }
}

impl StubKey {
    /// The key of a text.
    pub fn new(text: &str) -> StubKey {
        match text.strip_prefix("recovery:") {
            Some(path) => StubKey::Recovery(StepPattern::new(path)),
            None if text == "repair" => StubKey::Repair,
            None => StubKey::Steps(StepPattern::new(text)),
        }
    }
}

impl StubReply {
    /// Whether a step of this kind can answer so.
    pub fn fits(&self, kind: StepType) -> bool {
        let fits = match self.kind {
            ReplyKind::Agent(_) | ReplyKind::Auto => kind == StepType::Agent,
            ReplyKind::Fault(_) => kind == StepType::Agent,
            ReplyKind::Bash(_) | ReplyKind::Real => kind == StepType::Bash,
            ReplyKind::Recipe(_) => kind == StepType::Recipe,
        };
        fits && self.then.as_ref().is_none_or(|then| then.fits(kind))
    }
}

/// How the calls share the answers.
#[derive(Clone, Debug, PartialEq)]
pub enum StubPlan {
    /// One answer for every call.
    Every(Box<StubReply>),
    /// One answer for each item, iteration or call.
    Each(Vec<StubReply>),
}

impl StubPlan {
    /// All answers.
    pub fn replies(&self) -> &[StubReply] {
        match self {
            StubPlan::Every(reply) => std::slice::from_ref(reply),
            StubPlan::Each(replies) => replies,
        }
    }
}

/// One answer.
#[derive(Clone, Debug, PartialEq)]
pub struct StubReply {
    /// What is answered.
    pub kind: ReplyKind,
    /// Files that it writes, relative to the directory of the step; `None` removes one.
    pub files: Vec<(String, Option<String>)>,
    /// A patch that it applies with `git apply` in the directory of the step.
    pub patch: Option<String>,
    /// What an agent reports about its cost.
    pub usage: Option<StubUsage>,
    /// Seconds that the answer takes on the test clock.
    pub after: f64,
    /// The answer to the next call, which follows a fault.
    pub then: Option<Box<StubReply>>,
    /// Its place.
    pub place: Place,
}

/// What a stub answers.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyKind {
    /// The answer of an agent.
    Agent(AgentReply),
    /// The end of a command.
    Bash(BashReply),
    /// The end of a sub-recipe that is not entered.
    Recipe(RecipeReply),
    /// What an agent program does instead of answering.
    Fault(Fault),
    /// The smallest value that satisfies the `json_schema` of the step.
    Auto,
    /// The step runs for real.
    Real,
}

/// The answer of an agent.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentReply {
    /// A text.
    Text(String),
    /// JSON.
    Json(Value),
}

/// The end of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BashReply {
    /// What it printed.
    pub stdout: String,
    /// What it printed on stderr.
    pub stderr: String,
    /// Its exit code.
    pub exit: i32,
    /// The signal that ended it, without `SIG`: `TERM`.
    pub signal: Option<String>,
}

/// The end of a sub-recipe.
#[derive(Clone, Debug, PartialEq)]
pub enum RecipeReply {
    /// It succeeds.
    Completed {
        /// The value of the step.
        value: Option<Value>,
        /// Values that flow back.
        context: Map,
    },
    /// It fails with this text.
    Failed(String),
}

/// What an agent reports about its cost; absent is not reported.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StubUsage {
    /// Dollars.
    pub usd: Option<f64>,
    /// Tokens in.
    pub input_tokens: Option<u64>,
    /// Tokens out.
    pub output_tokens: Option<u64>,
}

crate::syntax::kinds::words! {
    /// What an agent program does instead of answering.
    Fault {
        /// It runs until the timeout of the step.
        Timeout "timeout",
        /// It is silent until the idle timeout of the step.
        Idle "idle",
        /// Its service asks to slow down.
        RateLimit "rate_limit",
        /// Its service refuses the login.
        Auth "auth",
        /// Its service cannot be reached.
        Network "network",
        /// It ends with an error.
        Crash "crash",
        /// A signal ends it.
        Signal "signal",
        /// It prints something that is no answer.
        Garbage "garbage",
        /// It answers with nothing.
        Empty "empty",
        /// The program is not installed.
        Missing "missing",
        /// It says that it did the work, and did nothing.
        Lie "lie",
        /// It answers and does not end.
        HangAfterResult "hang_after_result",
    }
}

impl std::fmt::Display for StubKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StubKey::Steps(pattern) => f.write_str(pattern.as_str()),
            StubKey::Recovery(pattern) => write!(f, "recovery:{}", pattern.as_str()),
            StubKey::Repair => f.write_str("repair"),
        }
    }
}
