//! The sentences about ends, for people. Code reads the outcome and its cause, never a sentence.

use std::fmt::{Display, Formatter, Result};

use super::{
    cause::{
        AgentFailure, ExceededLimit, Exhausted, MissingProgram, NulPlace, Problem, Refusal, StartFailure,
        ValueProblem,
    },
    outcome::Outcome,
};

/// The beginning of the error of a step that does not run a recipe; `kind` is the word for its kind.
pub fn heading(kind: &str) -> String {
    format!("{kind} step failed: ")
}

/// The error of a step that does not run a recipe.
pub fn step_failed(kind: &str, what: impl Display) -> String {
    format!("{}{what}", heading(kind))
}

/// The error of a step whose sub-recipe was not entered.
pub fn not_entered(recipe: &str, why: impl Display) -> String {
    format!("Sub-recipe '{recipe}' failed: [error] {why}")
}

/// The message about everything that a recipe lacks before its first step.
pub fn unready(recipe: &str, problems: &[Problem]) -> String {
    let list: Vec<String> = problems.iter().map(|problem| format!("  - {}", problem.text)).collect();
    format!("=== PRE-FLIGHT VALIDATION FAILED for '{recipe}' ===\n{}", list.join("\n"))
}

/// The exit code of a script, with the programs that it did not find.
pub fn exit_code(code: i32, missing: Option<&MissingProgram>) -> String {
    match missing {
        None => format!("exit code {code}"),
        Some(missing) => format!("exit code {code}: {missing}"),
    }
}

/// The message about a step that asks for a person with its exit code.
pub fn waiting_for_person(code: i32) -> String {
    format!("waiting for a person (exit code {code})")
}

/// The message about an agent whose service stayed rate limited, with the number of calls.
pub fn tried(error: &str, times: u64) -> String {
    match times {
        1 => format!("{error}; tried once"),
        times => format!("{error}; tried {times} times"),
    }
}

/// The used up budgets in words.
pub fn budgets(exhausted: &[Exhausted]) -> String {
    exhausted.iter().map(Exhausted::to_string).collect::<Vec<_>>().join(" and ")
}

/// The message about used up budgets.
pub fn budget_used_up(exhausted: &[Exhausted]) -> String {
    format!("the budget is used up: {}", budgets(exhausted))
}

impl Outcome {
    /// The cause of a failure in words, if the outcome carries one.
    pub fn cause(&self) -> Option<String> {
        Some(match self {
            Outcome::TimedOut(seconds) => format!("timed out after {seconds} s"),
            Outcome::Idle(seconds) => {
                format!("no activity for {seconds} s: no output, no file change, no processor time")
            }
            Outcome::NotJson { problem } => format!("parse_json failed: {problem}"),
            Outcome::RateLimited { message, tries } => {
                let error = format!("the agent is rate limited: {message}");
                if *tries == 0 { error } else { tried(&error, *tries) }
            }
            Outcome::Agent(failure) => failure.to_string(),
            Outcome::NotStarted(failure) => failure.to_string(),
            Outcome::Refused(refusal) => refusal.to_string(),
            Outcome::Condition { text, error } => format!("condition `{text}` cannot be evaluated: {error}"),
            Outcome::Limit(limit) => limit.to_string(),
            Outcome::Budget(exhausted) => budget_used_up(exhausted),
            Outcome::Lost => "its exit status was lost".to_owned(),
            Outcome::Exit(code) => exit_code(*code, None),
            Outcome::Ok | Outcome::Signal(_) | Outcome::Nested | Outcome::NeedsHuman | Outcome::Cancelled => {
                return None;
            }
        })
    }
}

impl Display for Refusal {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Refusal::Directory { path, why } => write!(f, "working directory `{path}` {why}"),
            Refusal::Value { name, why } => match why {
                ValueProblem::NotANumber(value) => write!(
                    f,
                    "`{{{{{name}}}}}` is used in arithmetic, which allows only whole numbers, but its value is `{value}`"
                ),
                ValueProblem::NotAName(value) => write!(
                    f,
                    "`{{{{{name}}}}}` is used as the name of a variable, but its value `{value}` is not a name"
                ),
                ValueProblem::Nul => {
                    write!(f, "`{name}` has a NUL byte, which cannot be passed to a program")
                }
            },
            Refusal::Nul(place) => place.fmt(f),
            Refusal::Unready { recipe, problems } => f.write_str(&unready(recipe, problems)),
            Refusal::NoRecipeName { step } => {
                write!(f, "the name of the recipe that `{step}` runs is empty")
            }
            Refusal::RecipeNotFound { name, searched } => {
                write!(f, "recipe `{name}` not found; looked in {}", searched.join(", "))
            }
            Refusal::RecipeUnreadable { path, reason } => write!(f, "`{path}` cannot be read: {reason}"),
            Refusal::RecipeInvalid { name, problems } => {
                write!(f, "recipe `{name}` is invalid:\n  {}", problems.join("\n  "))
            }
            Refusal::Other(message) => f.write_str(message),
        }
    }
}

impl Display for NulPlace {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            NulPlace::Output(at) => write!(
                f,
                "the output has a NUL byte at offset {at}, so it cannot become a value; remove it, for example with `| tr -d '\\0'`"
            ),
            NulPlace::Answer(at) => {
                write!(f, "the answer has a NUL byte at offset {at}, so it cannot become a value")
            }
            NulPlace::Json => {
                f.write_str("a text in its JSON has a NUL character, so it cannot become a value")
            }
        }
    }
}

impl Display for StartFailure {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(&self.message)
    }
}

impl Display for Exhausted {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Exhausted::AgentRuns(runs) => write!(f, "{runs} agent runs"),
            Exhausted::Usd(usd) => write!(f, "${usd}"),
            Exhausted::Tokens(tokens) => write!(f, "{tokens} tokens"),
            Exhausted::Minutes(minutes) => write!(f, "{minutes} minutes"),
        }
    }
}

impl Display for ExceededLimit {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            ExceededLimit::Depth { limit } => {
                write!(f, "Maximum recipe recursion depth ({limit}) exceeded")
            }
            ExceededLimit::Steps { limit, recipe } => write!(
                f,
                "Total step limit ({limit}) exceeded: raise `recursion.max_total_steps` of `{recipe}`"
            ),
        }
    }
}

impl Display for MissingProgram {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            MissingProgram::Named(programs) => {
                let list: Vec<String> = programs.iter().map(|program| format!("`{program}`")).collect();
                let are = if list.len() == 1 { "is" } else { "are" };
                write!(f, "{} {are} not installed, or not in PATH", list.join(", "))
            }
            MissingProgram::Interpreter(script) => {
                write!(f, "the interpreter that the first line of `{script}` names is not installed")
            }
            MissingProgram::Unnamed => {
                f.write_str("a program that it needs is not installed, or not in PATH")
            }
        }
    }
}

impl Display for AgentFailure {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let status =
            |status: &Option<u16>| status.map_or_else(String::new, |status| format!(" with status {status}"));
        let after = |message: &str| match message {
            "" => String::new(),
            message => format!(": {message}"),
        };
        match self {
            AgentFailure::RateLimited { message, .. } => write!(f, "the agent is rate limited: {message}"),
            AgentFailure::Auth { message } => {
                write!(f, "the agent cannot log in: {message}; check its login or its key")
            }
            AgentFailure::Server { status: known, message } => {
                write!(f, "the agent's model service fails{}: {message}", status(known))
            }
            AgentFailure::Network { message } => {
                write!(f, "the agent cannot reach its model service: {message}")
            }
            AgentFailure::Limit { message } => write!(f, "the agent stops at a limit: {message}"),
            AgentFailure::Refused { status: known, message } => {
                write!(f, "the agent's request is refused{}: {message}", status(known))
            }
            AgentFailure::Reported { message } => write!(f, "the agent reports a failure: {message}"),
            AgentFailure::NoResult { message } => {
                write!(f, "the agent ends with exit code 0 and without a result{}", after(message))
            }
            AgentFailure::TooLarge => {
                f.write_str("the agent's answer is in more JSON than can be read at once")
            }
            AgentFailure::Exit { code, message } => {
                write!(f, "the agent ends with exit code {code}{}", after(message))
            }
            AgentFailure::Signal { signal, message } => {
                write!(f, "the agent is ended by signal {signal}{}", after(message))
            }
        }
    }
}

impl std::error::Error for AgentFailure {}
