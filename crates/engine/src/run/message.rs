//! The sentences about ends, for people. Code reads the outcome and its cause, never a sentence.

use std::fmt::{Display, Formatter, Result};

use super::{
    cause::{
        AgentFailure, ExceededLimit, Exhausted, LoopFailure, MissingProgram, NulPlace, Problem, Refusal,
        StartFailure, ValueProblem,
    },
    ensure::RuleCheck,
    event::Ended,
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

/// The end of a step in few words, for a screen: without the kind of the step and without quoted output.
pub fn in_short(ended: &Ended) -> String {
    let first_line = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    match &ended.outcome {
        Outcome::Exit(code) => {
            let end = if ended.is_silent() { ", no output" } else { "" };
            format!("{}{end}", exit_code(*code, ended.missing.as_ref()))
        }
        Outcome::NeedsHuman => {
            ended.exit_code().map_or_else(|| "waiting for a person".to_owned(), waiting_for_person)
        }
        Outcome::Refused(Refusal::Unready { recipe, .. }) => format!("cannot start `{recipe}`"),
        Outcome::Ensure if !ended.ensure.is_empty() => unmet_rules(&ended.ensure),
        outcome => {
            let error = ended.error.as_deref().unwrap_or("no message");
            let headings = ["bash", "agent", "ask"].map(heading);
            let own = headings.iter().find_map(|words| error.strip_prefix(words.as_str()));
            first_line(
                &own.map(str::to_owned).or_else(|| outcome.cause()).unwrap_or_else(|| error.to_owned()),
            )
        }
    }
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

/// The message about `ensure` rules that are not met.
pub fn unmet_rules(checks: &[RuleCheck]) -> String {
    let unmet: Vec<String> = checks.iter().filter(|check| !check.met).map(RuleCheck::to_string).collect();
    match unmet.as_slice() {
        [only] => format!("ensure: {only}"),
        several => {
            let list: String =
                several.iter().map(|rule| format!("\n  - {}", rule.replace('\n', "\n    "))).collect();
            format!("ensure: {} of {} rules are not met{list}", several.len(), checks.len())
        }
    }
}

impl Display for RuleCheck {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}: expected {}; found {}", self.rule.as_str(), self.expected, self.found)
    }
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
            Outcome::Loop(failure) => failure.to_string(),
            Outcome::Limit(limit) => limit.to_string(),
            Outcome::Budget(exhausted) => budget_used_up(exhausted),
            Outcome::Lost => "its exit status was lost".to_owned(),
            Outcome::Exit(code) => exit_code(*code, None),
            Outcome::Rejected { by, reason: None } => format!("rejected by {by}"),
            Outcome::Rejected { by, reason: Some(reason) } => format!("rejected by {by}: {reason}"),
            Outcome::Ok
            | Outcome::Signal(_)
            | Outcome::Nested
            | Outcome::Ensure
            | Outcome::NeedsHuman
            | Outcome::Cancelled => return None,
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
            Refusal::Stub { text } => f.write_str(text),
            Refusal::NotShown { path, why } => {
                write!(
                    f,
                    "`{path}`, which the question shows, cannot be read: {why}; a text is written as `{{text: …}}`"
                )
            }
            Refusal::Permissions { programs, level, able } => {
                f.write_str(&cannot_be_limited(programs, level, able))
            }
            Refusal::AgentArgument { program, argument } => {
                f.write_str(&contradicting_argument(program, argument))
            }
            Refusal::PromptFile { path, why } => write!(f, "prompt file `{path}` cannot be read: {why}"),
            Refusal::Other(message) => f.write_str(message),
        }
    }
}

/// The message about programs that cannot be limited to a level of permissions.
pub fn cannot_be_limited(programs: &[String], level: &str, able: &[String]) -> String {
    let list = |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let who = match able.is_empty() {
        true => "no known program can".to_owned(),
        false => format!("these programs can: {}", list(able)),
    };
    format!("{} cannot run with `permissions: {level}`; {who}", list(programs))
}

/// The message about an argument that contradicts one of the runner.
pub fn contradicting_argument(program: &str, argument: &str) -> String {
    format!("`{argument}` in `agent_args` contradicts what the runner sets for `{program}`")
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

/// The beginning of the error of a `for_each` step: how many instances failed, and which.
pub fn instances_failed(paths: &str, failed: usize, count: usize) -> String {
    format!("for_each: {failed} of {count} failed ({paths})")
}

/// The same about instances that are degraded.
pub fn instances_degraded(paths: &str, degraded: usize, count: usize) -> String {
    format!("for_each: {degraded} of {count} degraded ({paths})")
}

impl Display for LoopFailure {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            LoopFailure::NotAList { found } => write!(f, "needs a list, got {found}"),
            LoopFailure::NotACount { found } => {
                write!(f, "needs a whole number from 1 as `max_parallel`, got {found}")
            }
            LoopFailure::TooManyItems { count, max } => {
                write!(f, "has {count} items, but at most {max} are allowed: raise `max_items`")
            }
            LoopFailure::NotReached { iterations, until, values } => {
                let times = if *iterations == 1 { "iteration" } else { "iterations" };
                write!(f, "until was not reached in {iterations} {times}: `{until}` is false")?;
                let read: Vec<String> =
                    values.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                if read.is_empty() { Ok(()) } else { write!(f, " ({})", read.join(", ")) }
            }
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
