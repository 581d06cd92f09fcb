//! The order in which a failure is explained: typed facts, then text in its context, then the kind of step.
//!
//! Each rule gives a complete diagnosis or none.

use super::{
    AgentTrouble, Class, Confidence, Diagnosis, Facts, FailingCommand, KnownBy, Meaning, Obstacle, Producer,
    Signal, StepType, View,
    text::{has_verdict, says_out_of_memory},
};
use crate::run::{
    cause::{AgentFailure, LoopFailure},
    outcome::Outcome,
};

/// Signals that ask a program to end.
const HANGUP: i32 = 1;
const INTERRUPT: i32 = 2;
const TERMINATE: i32 = 15;
const KILL: i32 = 9;
/// Signals that a program causes itself: ILL, TRAP, ABRT, BUS, FPE, SEGV and SYS.
const CRASHES: [i32; 7] = [4, 5, 6, 7, 8, 11, 31];
/// A shell adds this to the number of the signal that ended its command.
const BY_SIGNAL: i32 = 128;

/// Failures that typed facts alone explain.
pub(super) fn typed(facts: &Facts, view: &View) -> Option<Diagnosis> {
    by_obstacle(facts).or_else(|| by_outcome(facts, view)).or_else(|| by_agent(facts, view))
}

fn certain(class: Class, what: &str, quote: &str, at: &str) -> Diagnosis {
    Diagnosis::new(class, Confidence::High, vec![Signal::new(what, quote, at)])
}

fn by_obstacle(facts: &Facts) -> Option<Diagnosis> {
    if !facts.missing_env.is_empty() {
        let names = facts.missing_env.join(", ");
        return Some(certain(Class::MissingEnv, "required variables are not set", &names, "environment"));
    }
    if !facts.missing_values.is_empty() {
        let names = facts.missing_values.join(", ");
        let signal = Signal::new("values are not given", &names, "context").meaning(Meaning::MissingValue);
        return Some(Diagnosis::new(Class::MissingEnv, Confidence::High, vec![signal]));
    }
    if !facts.unfit_values.is_empty() {
        let names = facts.unfit_values.join(", ");
        let signal =
            Signal::new("values do not fit their types", &names, "context").meaning(Meaning::UnfitValue);
        return Some(Diagnosis::new(Class::MissingEnv, Confidence::High, vec![signal]));
    }
    let obstacle = obstacle(facts)?;
    let (class, what) = match obstacle {
        Obstacle::InvalidRecipe => (Class::Structure, "the recipe cannot be compiled"),
        Obstacle::Deadlock => (Class::Deadlock, "no step can become ready"),
        Obstacle::WorkdirDirty => (Class::WorkdirDirty, "the working directory has uncommitted changes"),
        Obstacle::StaleState => (Class::StaleState, "an earlier run left its lock"),
        Obstacle::AlreadyRunning => (Class::AlreadyRunning, "another run owns the workspace"),
        Obstacle::OutOfMemory => (Class::Memory, "the kernel ended the step for lack of memory"),
        Obstacle::NoProcesses => (Class::Memory, "the system starts no more processes"),
        Obstacle::MissingPath | Obstacle::OldDirectory => {
            (Class::MissingPath, "a required path is missing or cannot be used")
        }
        Obstacle::Unusable => (Class::Structure, "the step cannot be prepared as it is written"),
    };
    let quote = if facts.detail.is_empty() { &facts.command } else { &facts.detail };
    let at = if facts.outcome.is_some() { "outcome" } else { "preflight" };
    let meaning = match obstacle {
        Obstacle::OldDirectory => Some(Meaning::OldDirectory),
        Obstacle::NoProcesses => Some(Meaning::ProcessLimit),
        _ => None,
    };
    let signal = Signal::new(what, quote, at).meaning(meaning);
    Some(Diagnosis::new(class, Confidence::High, vec![signal]))
}

/// The obstacle: a known one, or memory that ran out according to the output of a killed step.
fn obstacle(facts: &Facts) -> Option<Obstacle> {
    let is_killed = facts.outcome == Some(Outcome::Signal(KILL));
    facts.obstacle.or_else(|| (is_killed && says_out_of_memory(facts)).then_some(Obstacle::OutOfMemory))
}

fn by_outcome(facts: &Facts, view: &View) -> Option<Diagnosis> {
    if facts.interrupted {
        return Some(certain(Class::Interrupted, "the run was stopped", &facts.detail, "outcome"));
    }
    if let Some(limit) = &facts.limit {
        return Some(certain(Class::Structure, "a limit of the recipe is exceeded", limit, "outcome"));
    }
    let says = |class, what: &str| Some(certain(class, what, &facts.detail, "outcome"));
    match facts.outcome.as_ref()? {
        Outcome::TimedOut(seconds) => {
            let quote = format!("timed out after {seconds} s");
            Some(certain(Class::Timeout, "the timeout of the step fired", &quote, "outcome"))
        }
        Outcome::Idle(seconds) => {
            let quote = format!("no activity for {seconds} s");
            Some(certain(Class::AgentOpaque, "the agent was alive and silent", &quote, "outcome"))
        }
        Outcome::RateLimited { .. } => {
            Some(service_trouble(facts, view, Class::RateLimit, "the agent's service asks to slow down"))
        }
        Outcome::Limit(_) => says(Class::Structure, "a limit of the recipe is exceeded"),
        Outcome::Condition { .. } => says(Class::Structure, "a condition cannot be evaluated"),
        Outcome::Ensure => {
            let signal = Signal::new("a rule of the step is not met", &facts.detail, "outcome");
            let signals = vec![signal.meaning(Meaning::UnmetRule)];
            Some(Diagnosis::new(Class::Verification, Confidence::High, signals))
        }
        Outcome::Loop(LoopFailure::NotReached { .. }) => {
            says(Class::Verification, "the loop did not reach its condition")
        }
        Outcome::Loop(_) => says(Class::Structure, "the loop cannot be entered"),
        Outcome::Budget(_) => says(Class::RetryExhausted, "a budget is used up"),
        Outcome::Cancelled => says(Class::Interrupted, "the run was stopped"),
        Outcome::Rejected { .. } => {
            let signal = Signal::new("a person rejected it", &facts.detail, "outcome");
            let signals = vec![signal.meaning(Meaning::Rejected)];
            Some(Diagnosis::new(Class::Verification, Confidence::High, signals))
        }
        Outcome::Lost => says(Class::Interrupted, "the runner had ended before the step"),
        // an agent that could not be asked again has not drifted
        Outcome::NotJson { .. } if facts.agent_trouble.is_some() => None,
        Outcome::NotJson { .. } if facts.step_type == StepType::Agent => {
            says(Class::AgentDrift, "the answer is not the JSON that the step requires")
        }
        Outcome::NotJson { .. } => {
            let what = "the output is not the JSON that the step requires";
            let signal = Signal::new(what, &facts.detail, "outcome").meaning(Meaning::NoJson);
            Some(Diagnosis::new(Class::Verification, Confidence::High, vec![signal]))
        }
        _ => None,
    }
}

fn by_agent(facts: &Facts, view: &View) -> Option<Diagnosis> {
    let trouble = facts.agent_trouble?;
    let what = match trouble {
        AgentTrouble::Credentials => "the agent's service refuses the login",
        AgentTrouble::RateLimit => "the agent's service asks to slow down",
        AgentTrouble::Network => "the agent's service cannot be reached",
        AgentTrouble::Service | AgentTrouble::Request => "the agent's service does not work",
    };
    Some(service_trouble(facts, view, service_class(trouble)?, what))
}

/// The class of a problem with an agent's service; `None` for a refused request.
pub(super) fn service_class(trouble: AgentTrouble) -> Option<Class> {
    match trouble {
        AgentTrouble::Credentials => Some(Class::Credentials),
        AgentTrouble::RateLimit => Some(Class::RateLimit),
        AgentTrouble::Network | AgentTrouble::Service => Some(Class::Network),
        AgentTrouble::Request => None,
    }
}

/// The diagnosis of a problem with an agent's service: certain if its structured result says so, but not from words.
fn service_trouble(facts: &Facts, view: &View, class: Class, what: &str) -> Diagnosis {
    let said = facts.agent_failure.as_deref().unwrap_or_default();
    let quote = if facts.detail.is_empty() { said } else { &facts.detail };
    let told = Signal::new(what, quote, "agent");
    if facts.trouble_by == KnownBy::Result {
        return Diagnosis::new(class, Confidence::High, vec![told]);
    }
    let line = view.hints.iter().find(|hint| hint.class == class);
    let signal = line.map_or(told, |hint| Signal { what: what.to_owned(), ..hint.signal.clone() });
    Diagnosis::new(class, Confidence::Medium, vec![signal])
}

/// A missing program: a failed spawn, or exit 127 for a named program.
pub(super) fn missing_program(facts: &Facts, view: &View) -> Option<Diagnosis> {
    if let Some(program) = &facts.missing_program {
        let what = format!("the program `{program}` cannot be started");
        return Some(certain(Class::MissingBinary, &what, program, "outcome"));
    }
    if facts.exit_code() != Some(127) {
        return None;
    }
    let hint = view.hints.iter().find(|hint| hint.class == Class::MissingBinary);
    let subject = hint.map_or(&facts.absent_program, |hint| &hint.subject).as_deref();
    // a script that the step before should have written is missing work
    let is_local = subject.is_some_and(|name| name.contains('/') && !name.starts_with('/'));
    if is_local && facts.producer != Producer::None {
        return None;
    }
    let what = subject.map(|name| format!("the program `{name}` is not found"));
    let (shown, confidence) = match (hint, subject) {
        (Some(hint), _) => {
            let what = what.unwrap_or_else(|| hint.signal.what.clone());
            (Signal { what, meaning: None, ..hint.signal.clone() }, Confidence::High)
        }
        // no line reports it, but the script calls a program that does not exist
        (None, Some(name)) => (Signal::new(what?, name, "command"), Confidence::Medium),
        (None, None) => return None,
    };
    let signals = vec![Signal::new("exit code for a missing program", "exit 127", "outcome"), shown];
    Some(Diagnosis::new(Class::MissingBinary, confidence, signals))
}

/// Failures that trusted lines of the output explain.
pub(super) fn by_text(facts: &Facts, view: &View) -> Option<Diagnosis> {
    let believed = view.hints.iter().filter(|hint| hint.is_believed);
    let first = believed.clone().min_by_key(|hint| hint.rank)?;
    let mut signals: Vec<Signal> =
        believed.filter(|hint| hint.class == first.class).map(|hint| hint.signal.clone()).collect();
    signals.truncate(3);
    if let Some(code) = facts.exit_code() {
        signals.push(Signal::new("exit code", &format!("exit {code}"), "outcome"));
    }
    let found = Diagnosis::new(first.class, Confidence::Medium, signals);
    Some(Diagnosis { provider: first.provider.clone(), ..found })
}

/// A plain non-zero exit of a step that checks something.
pub(super) fn by_check(facts: &Facts, view: &View) -> Option<Diagnosis> {
    let ended = match facts.outcome.as_ref()? {
        Outcome::Exit(code) if is_ended_by_others(facts, *code) => return None,
        // a script without execute permission has checked nothing
        Outcome::Exit(126) if facts.producer == Producer::None => return None,
        Outcome::Exit(code) => format!("exit {code}"),
        // a check that crashes did not pass; a check that was killed has no verdict
        Outcome::Signal(signal) if view.check().is_some() && CRASHES.contains(signal) => {
            format!("signal {signal}")
        }
        _ => return None,
    };
    let crashed = facts.exit_code().is_none();
    // a refused push says nothing about the work of an agent
    if facts.step_type != StepType::Bash || view.is_effect() {
        return None;
    }
    let is_check = view.check().is_some() || facts.is_check;
    if !is_check && facts.producer == Producer::None {
        return None;
    }
    let what = if crashed { "the check crashed" } else { "plain failure" };
    let mut signals = vec![Signal::new(what, &ended, "outcome")];
    match view.check() {
        Some(check) => signals.push(Signal::new("the command is a check", check, "command")),
        None if facts.is_check => signals.push(Signal::new("declared as a check", &facts.command, "recipe")),
        None => signals.push(Signal::new("comes right after an agent", &facts.command, "recipe")),
    }
    signals.extend(last_line(facts));
    let is_sure = !crashed && (facts.is_check || matches!(view.failing, FailingCommand::Check(_)));
    let confidence = if is_sure { Confidence::High } else { Confidence::Medium };
    let diagnosis = |class| Diagnosis::new(class, confidence, signals);
    Some(match (facts.producer, is_check) {
        (Producer::Product, true) => diagnosis(Class::AgentDrift).also([Class::Verification]),
        (Producer::None, _) => diagnosis(Class::Verification),
        _ => diagnosis(Class::Verification).also([Class::AgentDrift]),
    })
}

/// Whether the exit code of a shell says that its command was killed before it could give a verdict.
fn is_ended_by_others(facts: &Facts, code: i32) -> bool {
    [HANGUP, INTERRUPT, KILL, TERMINATE].contains(&(code - BY_SIGNAL))
        && !facts.exits_with(code)
        && !has_verdict(facts)
}

/// The cause that a step names only on stdout: used if nothing else explains the failure.
pub(super) fn by_plain_output(facts: &Facts, view: &View) -> Option<Diagnosis> {
    let quiet = facts.stderr.trim().is_empty() && matches!(facts.outcome, Some(Outcome::Exit(_)));
    let first = view.hints.iter().filter(|hint| quiet && hint.is_plain).min_by_key(|hint| hint.rank)?;
    let signals = ended(facts).into_iter().chain([first.signal.clone()]).collect();
    Some(Diagnosis::new(first.class, Confidence::Medium, signals))
}

pub(super) fn last_line(facts: &Facts) -> Option<Signal> {
    let streams =
        [("stderr", &facts.stderr, facts.stderr_before), ("stdout", &facts.stdout, facts.stdout_before)];
    streams.into_iter().find_map(|(stream, text, before)| {
        let (at, line) = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()).last()?;
        Some(Signal::new("last line", line, before.place(stream, at)))
    })
}

/// Its end, as evidence.
fn ended(facts: &Facts) -> Option<Signal> {
    match facts.outcome.as_ref()? {
        Outcome::Exit(code) => Some(Signal::new("exit code", &format!("exit {code}"), "outcome")),
        Outcome::Signal(number) => {
            let quote =
                if facts.detail.is_empty() { format!("signal {number}") } else { facts.detail.clone() };
            Some(Signal::new("ended by a signal", &quote, "outcome").meaning(Meaning::EndedBySignal))
        }
        _ if !facts.detail.is_empty() => {
            let meaning = match &facts.outcome {
                Some(Outcome::Agent(AgentFailure::Limit { message })) => {
                    Some(Meaning::AgentLimit(message.lines().next().unwrap_or_default().to_owned()))
                }
                Some(Outcome::Agent(AgentFailure::Reported { .. } | AgentFailure::NoResult { .. })) => {
                    Some(Meaning::AgentReport)
                }
                _ => None,
            };
            Some(Signal::new("the runner's own message", &facts.detail, "outcome").meaning(meaning))
        }
        _ => None,
    }
}

/// The diagnosis of a failure that no rule explains.
pub(super) fn unexplained(facts: &Facts, view: &View) -> Diagnosis {
    let mut signals: Vec<Signal> = ended(facts).into_iter().chain(last_line(facts)).collect();
    if let Some(Outcome::Signal(HANGUP | INTERRUPT | TERMINATE)) = facts.outcome {
        return Diagnosis::new(Class::Interrupted, Confidence::Medium, signals);
    }
    // hints that are not enough to decide are still shown
    let more = view.hints.iter().map(|hint| &hint.signal).take(2);
    signals.extend(
        more.filter(|hint| !signals.iter().any(|known| known.at == hint.at)).cloned().collect::<Vec<_>>(),
    );
    if facts.retries_exhausted {
        return Diagnosis::new(Class::RetryExhausted, Confidence::Medium, signals);
    }
    let unknown = Diagnosis::new(Class::Unknown, Confidence::Low, signals);
    let killed = matches!(facts.outcome, Some(Outcome::Signal(KILL) | Outcome::Exit(137)));
    unknown.also(killed.then_some(Class::Memory))
}
