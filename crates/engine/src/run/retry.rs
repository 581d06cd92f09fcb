//! Whether a step is tried again, and whether a failed sub-recipe is run again from its beginning.

use recipe::{
    plan::{Plan, Step},
    syntax::RetryOn,
};

use crate::run::{
    event::Ended,
    frame::FrameId,
    outcome::Outcome,
    recipe_step,
    state::{ForGood, RunState},
};

/// What happens when the service of an agent is rate limited.
#[derive(Clone, Debug, PartialEq)]
pub struct RateLimits {
    /// The number of retries.
    pub max_retries: u64,
    /// Seconds before the first retry.
    pub base_delay: f64,
    /// Longest wait in seconds.
    pub max_delay: f64,
    /// The model for one last attempt.
    pub fallback_model: Option<String>,
}

impl Default for RateLimits {
    fn default() -> RateLimits {
        RateLimits { max_retries: 5, base_delay: 60.0, max_delay: 600.0, fallback_model: None }
    }
}

impl RateLimits {
    /// Seconds before retry number `retry`, counted from 1.
    pub fn delay(&self, retry: u64) -> f64 {
        (self.base_delay * 2f64.powi(retry.saturating_sub(1).min(60) as i32)).min(self.max_delay)
    }
}

/// Another attempt at a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Retry {
    /// Seconds until it begins.
    pub(crate) seconds: f64,
    /// The model to use instead of that of the step.
    pub(crate) model: Option<String>,
}

/// What happens to a failed recipe.
#[derive(Debug)]
pub(crate) enum RecipeRetry {
    /// It is run again.
    Again(Retry),
    /// It is not run again: it has used its attempts, or would fail in the same way.
    Never,
    /// It would be run again, but these steps of it must not be repeated.
    Forbidden(ForGood),
}

/// Whether a sub-recipe that ended like this is run again.
pub(crate) fn of_recipe(
    plan: &Plan,
    state: &RunState,
    path: &str,
    frame: FrameId,
    ended: &Ended,
) -> RecipeRetry {
    // a second dry run would find the same
    let is_over = state.is_halted(path) || state.settings.dry_run || recipe_step::is_stopped(state, path);
    if is_over || state.fails_again(plan, frame) {
        return RecipeRetry::Never;
    }
    let step = state.planned(path);
    let Some(retry) = step.and_then(|step| of_step(state, path, &step, ended)) else {
        return RecipeRetry::Never;
    };
    match state.done_for_good(frame) {
        steps if steps == ForGood::default() => RecipeRetry::Again(retry),
        steps => RecipeRetry::Forbidden(steps),
    }
}

/// The next attempt at a step that ended like this, if there is one.
pub(crate) fn of_step(state: &RunState, path: &str, step: &Step, ended: &Ended) -> Option<Retry> {
    let kind = match ended.outcome {
        Outcome::Nested => kind_inside(state, path),
        _ => kind(&ended.outcome)?,
    };
    let retry = step.retry.as_ref().filter(|retry| retry.on.contains(&kind));
    let tries = state.tries(path);
    let Some(retry) = retry else {
        // only for the agent step itself, not for a recipe step around it
        let is_limited = matches!(ended.outcome, Outcome::RateLimited { .. });
        return if is_limited { after_rate_limit(state, tries.rate_limited + 1) } else { None };
    };
    // rate limits that `retry` lists share its count
    let is_counted = retry.on.contains(&RetryOn::RateLimit);
    let tries = tries.failed + 1 + if is_counted { tries.rate_limited } else { 0 };
    (tries < retry.max_attempts).then(|| Retry { seconds: retry.delay_after(tries), model: None })
}

/// The next attempt after this many rate limits: some with growing delays, then one with another model.
fn after_rate_limit(state: &RunState, tries: u64) -> Option<Retry> {
    let limits = &state.settings.rate_limits;
    if tries <= limits.max_retries {
        return Some(Retry { seconds: limits.delay(tries), model: None });
    }
    let is_last = tries == limits.max_retries + 1;
    let model = limits.fallback_model.clone().filter(|_| is_last)?;
    Some(Retry { seconds: 0.0, model: Some(model) })
}

/// The kind of a failure inside a recipe: that of the step that failed first.
fn kind_inside(state: &RunState, path: &str) -> RetryOn {
    let frame = state.step(path).and_then(|step| step.frame);
    let cause = frame.and_then(|frame| state.cause_in(frame));
    cause.and_then(|ended| kind(&ended.outcome)).unwrap_or(RetryOn::Exit)
}

/// The kind of a failure, as `retry` names it.
pub(crate) fn kind(outcome: &Outcome) -> Option<RetryOn> {
    match outcome {
        Outcome::Exit(_)
        | Outcome::Signal(_)
        | Outcome::NotStarted(_)
        | Outcome::Agent(_)
        | Outcome::Nested => Some(RetryOn::Exit),
        Outcome::TimedOut(_) | Outcome::Idle(_) => Some(RetryOn::Timeout),
        Outcome::RateLimited { .. } => Some(RetryOn::RateLimit),
        Outcome::NotJson { .. } => Some(RetryOn::Json),
        _ => None,
    }
}

/// Why a recipe with such steps is not run again.
pub(crate) fn forbidden(steps: &ForGood, is_resumed: bool) -> String {
    let list = |steps: &[String]| steps.iter().map(|step| format!("`{step}`")).collect::<Vec<_>>().join(", ");
    let be = |steps: &[String], one: &str, many: &str| if steps.len() == 1 { one } else { many }.to_owned();
    let (done, half_done) = (&steps.done, &steps.half_done);
    let (what, then) = match half_done.is_empty() {
        true => {
            let are = be(done, "is", "are");
            (format!("{} {are} done and must not run again", list(done)), "; a resume continues after that")
        }
        false => {
            let were = be(half_done, "was stopped half-way and is", "were stopped half-way and are");
            (format!("{} {were} not idempotent", list(half_done)), "; a resume asks you what to do")
        }
    };
    format!("not retried: {what}{}", if is_resumed { then } else { "" })
}
