//! What a person can do next about a failure.
//!
//! Names only the actions that it gets; never invents one.

use super::{Class, Diagnosis, Meaning, Signal};
use crate::run::next::{Advice, Next};

/// Actions that work for this run.
#[derive(Clone, Debug, Default)]
pub struct Actions {
    /// Continues the run.
    pub resume: Option<Next>,
    /// Continues it with the current version of the recipe.
    pub resume_edited: Option<Next>,
    /// Shows the output of the failed step.
    pub logs: Option<Next>,
    /// Shows the plan of a resume.
    pub plan: Option<Next>,
    /// Checks the recipe.
    pub validate: Option<Next>,
    /// Shows which programs are installed.
    pub doctor: Option<Next>,
    /// Starts again from the beginning, if nothing has run.
    pub start: Option<Next>,
}

/// The next actions, most useful first.
pub fn advice(diagnosis: &Diagnosis, step: &str, actions: &Actions) -> Vec<Advice> {
    let quotes = || diagnosis.signals.iter().filter(|signal| !signal.quote.is_empty());
    // the output says more than the exit code
    let said = quotes().find(|signal| signal.at != "outcome").or_else(|| quotes().next());
    let by_provider = diagnosis.provider.as_ref().map(|provider| provider.advice(step));
    let first = by_provider.or_else(|| by_evidence(diagnosis, step));
    let is_stopped = diagnosis.class == Class::Interrupted && first.is_none();
    let first = first.unwrap_or_else(|| first_step(diagnosis.class, step, said));
    let mut steps = vec![Advice::new(first)];
    let then = |text: &str, next: &Option<Next>| next.clone().map(|next| Advice::with(text, next));
    match diagnosis.class {
        Class::Structure | Class::Deadlock => steps.extend(then("check the recipe", &actions.validate)),
        _ if is_stopped => {}
        Class::MissingBinary if actions.logs.is_none() => {
            steps.extend(then("see which programs are here", &actions.doctor));
        }
        _ => steps.extend(then("read its full output", &actions.logs)),
    }
    if matches!(diagnosis.class, Class::Verification | Class::AgentDrift | Class::HollowSuccess) {
        steps.extend(then("see which steps a resume would run again", &actions.plan));
    }
    steps.extend(resume_action(diagnosis, actions).cloned().map(then_resume));
    steps.extend(then("start again", &actions.start));
    steps
}

/// The advice that continues the run.
pub fn then_resume(next: Next) -> Advice {
    Advice::with("then resume", next)
}

/// The action that continues the run after the advice was followed.
pub fn resume_action<'a>(diagnosis: &Diagnosis, actions: &'a Actions) -> Option<&'a Next> {
    let is_edited = match diagnosis.class {
        // a run continues with its original recipe by default
        Class::Structure | Class::Deadlock | Class::ValidationStrategy => true,
        Class::MissingEnv => lacks_value(diagnosis),
        _ => false,
    };
    actions.resume_edited.as_ref().filter(|_| is_edited).or(actions.resume.as_ref())
}

/// Whether a recipe lacks a value that it needs, or has a value that it cannot use.
fn lacks_value(diagnosis: &Diagnosis) -> bool {
    let is_lacking = |meaning: &Meaning| matches!(meaning, Meaning::MissingValue | Meaning::UnfitValue);
    diagnosis.signals.iter().any(|signal| signal.meaning.as_ref().is_some_and(is_lacking))
}

/// The advice where the evidence says more than the class.
fn by_evidence(diagnosis: &Diagnosis, step: &str) -> Option<String> {
    let signal =
        |meaning: Meaning| diagnosis.signals.iter().find(|signal| signal.meaning.as_ref() == Some(&meaning));
    match diagnosis.class {
        Class::Interrupted => signal(Meaning::EndedBySignal).map(|signal| {
            format!("`{step}` was ended by {} while the run was alive: find the sender", signal.quote)
        }),
        Class::Verification if signal(Meaning::Rejected).is_some() => {
            Some(format!("a person rejected `{step}`: change the work; a resume puts the question again"))
        }
        Class::Verification if signal(Meaning::UnmetRule).is_some() => Some(format!(
            "the work of `{step}` does not meet its `ensure` rules: fix the work, not the rules"
        )),
        Class::Verification => signal(Meaning::NoJson).map(|signal| {
            format!("`{step}` must print JSON and did not: fix its output{}", in_brackets(&signal.quote))
        }),
        Class::MissingBinary => signal(Meaning::CannotBeExecuted).map(|signal| {
            let said = in_brackets(&signal.quote);
            format!("make the program executable (`chmod +x`), or get one for this machine{said}")
        }),
        Class::MissingEnv if lacks_value(diagnosis) => diagnosis.signals.first().map(|signal| {
            format!("pass the missing value to the recipe, in the `context` of `{step}` ({})", signal.quote)
        }),
        _ => None,
    }
}

/// The quote in brackets, if there is one.
fn in_brackets(quote: &str) -> String {
    if quote.trim().is_empty() { String::new() } else { format!(" ({quote})") }
}

fn first_step(class: Class, step: &str, said: Option<&Signal>) -> String {
    let quote = said.map(|signal| signal.quote.as_str()).unwrap_or_default();
    let meaning = said.and_then(|signal| signal.meaning.as_ref());
    match class {
        Class::Timeout => {
            format!("find out why `{step}` took so long, or give it more time with `timeout`")
        }
        Class::AgentOpaque => {
            format!("the agent of `{step}` showed no activity: check whether it waits for an answer")
        }
        Class::MissingEnv => {
            format!(
                "set the missing value, or write it into `.env` or the files that `env.files` names{}",
                in_brackets(quote)
            )
        }
        Class::MissingBinary => {
            format!("install the missing program or put it on PATH{}", in_brackets(quote))
        }
        // a run does not move: its directory has to exist again
        Class::MissingPath if meaning == Some(&Meaning::OldDirectory) => {
            format!(
                "put the directory back, or a link to where it is now: `ln -s NEW OLD`{}",
                in_brackets(quote)
            )
        }
        Class::MissingPath => format!("create the missing path, or name another one{}", in_brackets(quote)),
        Class::Credentials => "log in again, or renew the token or key that the step uses".to_owned(),
        Class::RateLimit => "wait until the service allows more requests".to_owned(),
        Class::Network => "check that the service is up and can be reached from this machine".to_owned(),
        Class::Disk => "free some disk space".to_owned(),
        Class::Memory if meaning == Some(&Meaning::ProcessLimit) => {
            "let other programs end, or raise the limit on processes (`ulimit -u`)".to_owned()
        }
        Class::Memory => "free memory, or let the step do less at a time".to_owned(),
        Class::WorkdirDirty => "commit or stash the changes in the working directory".to_owned(),
        Class::StaleState => "make sure that the old process has ended, then remove its lock".to_owned(),
        Class::AlreadyRunning => "wait until the other process ends, or stop it".to_owned(),
        Class::Structure => format!("correct the recipe at `{step}`{}", in_brackets(quote)),
        Class::Verification => format!("`{step}` found a real problem. Fix the code, not the check"),
        Class::ValidationStrategy => {
            format!("the command of `{step}` cannot work here: correct it{}", in_brackets(quote))
        }
        Class::AgentDrift => {
            format!("the agent's work does not pass `{step}`: let it try again, or fix it by hand")
        }
        Class::HollowSuccess => {
            "give the agent access to the files it needs, then let it work again".to_owned()
        }
        Class::Deadlock => "look at `depends_on`: these steps wait for each other".to_owned(),
        Class::RetryExhausted => {
            format!("`{step}` has used all its attempts: find out why each one failed")
        }
        Class::Interrupted => "the run was stopped; the recipe is fine".to_owned(),
        Class::Unknown => without_class(step, meaning, quote),
    }
}

/// The advice for a failure without a class.
fn without_class(step: &str, meaning: Option<&Meaning>, quote: &str) -> String {
    match meaning {
        Some(Meaning::AgentLimit(limit)) => format!(
            "the agent of `{step}` stopped at a limit ({limit}): give it a smaller task, or raise its limit"
        ),
        Some(Meaning::AgentReport) => {
            format!("read the output of the agent of `{step}` before you try again: {quote}")
        }
        _ => format!("cause unknown: read the output of `{step}` before you try again"),
    }
}
