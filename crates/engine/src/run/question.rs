//! Questions to people: when they are put, which answers fit, and what an answer means for its step.

mod judge;
mod repair;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use recipe::{
    input_type::is_empty,
    plan::{AskStep, OnTimeout, Step, StepKind},
    value::{Map, Value},
};
use serde::{Deserialize, Serialize};

use crate::run::{
    actions::Action,
    attempt::AttemptResult,
    event::{Answered, Event, QuestionPut, Via},
    frame::{Frame, FrameId},
    live::IterationWait,
    message::step_failed,
    outcome::{Outcome, StepStatus},
    react::finish,
    recipe_step,
    state::{RunState, is_at_or_below},
    step::finish_unbegun,
    step_path::is_below,
};
pub use judge::{AnswerDraft, AnswerProblem, AnswerRefusal, ChangedContent, check_answer, judge};
pub use repair::{ACCEPT, REFUSE, RepairDecision, is_repair, repair_path};

/// The name under which a timeout answers.
const TIMEOUT: &str = "timeout";

/// A question that a run has put.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedQuestion {
    /// The question as it was put last.
    pub put: QuestionPut,
    /// When it was put for the first time.
    pub since: Timestamp,
    /// What became of it.
    pub status: QuestionStatus,
}

impl AskedQuestion {
    /// Its answer.
    pub fn answer(&self) -> Option<&Answered> {
        match &self.status {
            QuestionStatus::Answered(answered) => Some(answered),
            QuestionStatus::Closed(answered) => answered.as_deref(),
            QuestionStatus::Open | QuestionStatus::Withdrawn => None,
        }
    }

    /// Whether its time is over.
    pub fn is_overdue(&self, now: Timestamp) -> bool {
        self.put.deadline.is_some_and(|deadline| deadline <= now)
    }
}

/// What became of a question.
#[derive(Clone, Debug, PartialEq)]
pub enum QuestionStatus {
    /// It waits for an answer.
    Open,
    /// It is answered, and its step has not ended yet.
    Answered(Box<Answered>),
    /// Its step has ended, with this answer.
    Closed(Option<Box<Answered>>),
    /// Another step of its group failed: a resume puts it again.
    Withdrawn,
}

/// An answer that was given when the run was started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GivenAnswer {
    /// The choice.
    pub choice: String,
    /// The values of the fields.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub fields: Map,
    /// Who gave it.
    #[serde(default)]
    pub by: String,
}

impl RunState {
    /// Whether a step waits for the answer of a person.
    pub fn is_waiting(&self) -> bool {
        self.active.iter().any(|id| waiting_steps(&self.frames[*id]).next().is_some())
    }

    /// The questions that wait for an answer, by their paths.
    pub fn open_questions(&self) -> Vec<&AskedQuestion> {
        let open = self.questions.values().filter(|asked| asked.status == QuestionStatus::Open);
        open.filter(|asked| self.may_answer(&asked.put.path)).collect()
    }

    /// Whether a question still belongs to the recipe, and its step has not ended.
    fn may_answer(&self, path: &str) -> bool {
        is_repair(path)
            || self.find(path).is_some_and(|(frame, at)| {
                let frame = &self.frames[frame];
                matches!(frame.unit.steps[at].kind, StepKind::Ask(_)) && !frame.steps[at].status.is_final()
            })
    }

    /// When the next question is overdue.
    pub fn next_deadline(&self) -> Option<Timestamp> {
        let waiting = self.questions.values().filter(|asked| self.waits_for(&asked.put.path));
        waiting.filter_map(|asked| asked.put.deadline).min()
    }

    /// Whether a step waits for an answer now.
    pub fn waits_for(&self, path: &str) -> bool {
        self.step(path).is_some_and(|step| step.status == StepStatus::Waiting)
    }

    /// Whether an earlier process recorded an answer that no step has used yet.
    pub(crate) fn is_answered(&self, path: &str) -> bool {
        self.recorded_answer(path).is_some()
    }

    /// A question whose answer no step has used yet, and that answer.
    fn recorded_answer(&self, path: &str) -> Option<(&QuestionPut, &Answered)> {
        let asked = self.questions.get(path)?;
        match &asked.status {
            QuestionStatus::Answered(answered) => Some((&asked.put, answered)),
            _ => None,
        }
    }

    fn given_answer(&self, path: &str) -> Option<&GivenAnswer> {
        given_for(&self.settings.answers, path)
    }
}

/// The answer that was given beforehand for a question; one for a looped step holds for all its instances.
fn given_for<'a>(answers: &'a BTreeMap<String, GivenAnswer>, path: &str) -> Option<&'a GivenAnswer> {
    answers.get(path).or_else(|| answers.get(&without_instances(path)))
}

/// A path without the numbers of instances: `review[2]/approve` is `review/approve`.
pub fn without_instances(path: &str) -> String {
    let plain = |segment: &str| match segment.strip_suffix(']').and_then(|start| start.rsplit_once('[')) {
        Some((step, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => step.to_owned(),
        _ => segment.to_owned(),
    };
    path.split('/').map(plain).collect::<Vec<_>>().join("/")
}

fn waiting_steps(frame: &Frame) -> impl Iterator<Item = usize> {
    (0..frame.steps.len()).filter(|at| frame.steps[*at].status == StepStatus::Waiting)
}

/// Puts a question. If its answer is known, or its time is over, the step ends at once.
pub(crate) fn ready(state: &RunState, mut put: QuestionPut, now: Timestamp) -> Vec<Action> {
    let (path, attempt) = (put.path.clone(), put.attempt);
    if state.is_halted(&path) {
        return vec![Action::Record(Box::new(Event::StepNotBegun { path, attempt }))];
    }
    if state.live.stop.is_some() {
        // a cleanup step: its time is short, and the run waits for no person
        let error = step_failed("ask", "not asked, because the run was stopped".to_owned());
        return vec![finish(&path, attempt, AttemptResult::refused(Outcome::Cancelled, error))];
    }
    if recipe_step::is_stopped(state, &path) {
        return vec![finish_unbegun(state, &path, attempt)];
    }
    let Some((step, ask)) = asking(state, &path) else { return Vec::new() };
    let mut actions = Vec::new();
    match state.recorded_answer(&path) {
        Some((before, answered)) if before.asks_the_same(&put) => {
            return vec![finish(&path, attempt, result(&step, &ask, answered))];
        }
        Some((_, answered)) => actions.push(Action::Note { path: path.clone(), message: outdated(answered) }),
        None => {}
    }
    let since = match state.questions.get(&path) {
        Some(asked) if !matches!(asked.status, QuestionStatus::Closed(_)) => asked.since,
        _ => now,
    };
    put.deadline = step.timeout.and_then(|seconds| after(since, seconds));
    put.on_timeout = put.deadline.map(|_| ask.on_timeout.as_str().to_owned());
    let digest = Some(put.digest.clone());
    let is_late = put.deadline.is_some_and(|deadline| deadline <= now);
    let answered = match state.given_answer(&path) {
        Some(GivenAnswer { choice, fields, by }) => Some(Answered {
            path: path.clone(),
            choice: choice.clone(),
            fields: fields.clone(),
            comment: None,
            by: by.clone(),
            via: Via::Flag,
            at: now,
            digest,
            origin: None,
        }),
        None => is_late.then(|| by_timeout(&put, now)),
    };
    let record = |event: Event| Action::Record(Box::new(event));
    actions.push(record(Event::QuestionPut(put)));
    if let Some(answered) = answered {
        let result = result(&step, &ask, &answered);
        actions.extend([record(Event::Answered(answered)), finish(&path, attempt, result)]);
    }
    actions
}

/// Takes an answer that fits.
pub(crate) fn answered(state: &RunState, answered: Answered) -> Vec<Action> {
    let path = answered.path.clone();
    let Some((step, ask)) = asking(state, &path).filter(|_| state.waits_for(&path)) else {
        return Vec::new();
    };
    let attempt = state.step(&path).map_or(0, |step| step.attempt);
    let result = result(&step, &ask, &answered);
    vec![Action::Record(Box::new(Event::Answered(answered))), finish(&path, attempt, result)]
}

/// Answers every question whose time is over.
pub(crate) fn overdue(state: &RunState, now: Timestamp) -> Vec<Action> {
    let waiting = state.questions.values().filter(|asked| state.waits_for(&asked.put.path));
    let late = waiting.filter(|asked| asked.status == QuestionStatus::Open && asked.is_overdue(now));
    late.flat_map(|asked| answered(state, by_timeout(&asked.put, now))).collect()
}

/// The answer of a question whose time is over. Its fields have their defaults, and the others are `null`.
pub fn by_timeout(put: &QuestionPut, now: Timestamp) -> Answered {
    let choice = put.on_timeout.clone().unwrap_or_else(|| OnTimeout::FAIL.to_owned());
    let fields = match choice == OnTimeout::FAIL {
        true => Map::new(),
        false => put.fields.iter().map(|field| (field.name.clone(), field.default_value())).collect(),
    };
    Answered {
        path: put.path.clone(),
        choice,
        fields,
        comment: None,
        by: TIMEOUT.to_owned(),
        via: Via::Timeout,
        at: now,
        digest: Some(put.digest.clone()),
        origin: None,
    }
}

/// The note about an answer that is not used.
fn outdated(answered: &Answered) -> String {
    let Answered { choice, by, .. } = answered;
    format!(
        "warning: the answer `{choice}` by {by} is not used, because the question has changed; it is put again"
    )
}

/// Ends the questions inside a recipe that was stopped, except those of these steps.
pub(crate) fn give_up_below(state: &RunState, path: &str, why: &str, spared: &[String]) -> Vec<Action> {
    let is_spared = |path: &str| spared.iter().any(|step| is_at_or_below(path, step));
    let inside = state.questions.keys().filter(|inner| is_below(inner, path) && !is_spared(inner));
    let waiting = inside.filter(|path| state.waits_for(path));
    let give_up = |path: &String| {
        let attempt = state.step(path).map_or(0, |step| step.attempt);
        let error = step_failed("ask", format!("not answered, and {why}"));
        finish(path, attempt, AttemptResult::refused(Outcome::Cancelled, error))
    };
    waiting.map(give_up).collect()
}

/// What follows if nothing can start: a question whose group has failed is withdrawn, and a run that only waits for
/// people ends, unless it stays.
pub(crate) fn nothing_else_runs(state: &RunState) -> Option<Action> {
    if state.questions.is_empty() {
        return None;
    }
    if let Some((path, because)) = state.active.iter().rev().find_map(|id| in_vain(state, *id)) {
        return Some(Action::Record(Box::new(Event::QuestionWithdrawn { path, because })));
    }
    let ends = !state.settings.stays && state.is_waiting() && is_idle(state);
    ends.then_some(Action::Finish)
}

/// A step of a recipe that waits in vain, and the step that failed: all other steps of the level have ended, and one of
/// them ends the recipe.
fn in_vain(state: &RunState, id: FrameId) -> Option<(String, String)> {
    let frame = &state.frames[id];
    let is_over = frame.failed_at.is_some() || frame.stopped.is_some();
    if is_over || frame.has_next() || frame.hooks > 0 {
        return None;
    }
    let failed = frame.level().find(|at| frame.is_fatal(*at))?;
    let open = frame.open_steps();
    let waits = open.iter().all(|at| only_waits(state, frame, *at));
    let first = *open.first().filter(|_| waits)?;
    Some((frame.step_path(first), frame.step_path(failed)))
}

/// Whether an open step, with everything inside it, does nothing but wait for people.
fn only_waits(state: &RunState, frame: &Frame, at: usize) -> bool {
    let step = &frame.steps[at];
    let Some(inner) = step.frame else { return step.status == StepStatus::Waiting };
    if state.live.closing.contains(&inner) {
        return false;
    }
    let inner = &state.frames[inner];
    let open = inner.open_steps();
    // a loop starts its next instance only after one that waits
    let is_full = inner.width().is_some_and(|width| open.len() >= width);
    let has_more = (inner.has_next() && !is_full) || inner.hooks > 0;
    !has_more && !open.is_empty() && open.into_iter().all(|at| only_waits(state, inner, at))
}

/// Whether no work is under way.
fn is_idle(state: &RunState) -> bool {
    let live = &state.live;
    let has_agents = !live.running_agents.is_empty() || !live.waiting_agents.is_empty();
    let is_quiet = |frame: &Frame| {
        // a recipe step without a recipe is about to enter it, or waits for a retry
        let is_starting = |at: &usize| {
            let step = &frame.steps[*at];
            step.status == StepStatus::Running && step.frame.is_none()
        };
        frame.hooks == 0 && !frame.open_steps().iter().any(is_starting)
    };
    state.running == 0
        && !has_agents
        && live.closing.is_empty()
        && !live.due_iterations.values().any(|wait| *wait == IterationWait::Begun)
        && state.active.iter().all(|id| is_quiet(&state.frames[*id]))
}

/// The step of a path, if it asks a person.
fn asking(state: &RunState, path: &str) -> Option<(std::sync::Arc<Step>, Box<AskStep>)> {
    let step = state.planned(path)?;
    match &step.kind {
        StepKind::Ask(ask) => {
            let ask = ask.clone();
            Some((step, ask))
        }
        _ => None,
    }
}

/// The result of a step with this answer.
fn result(step: &Step, ask: &AskStep, answered: &Answered) -> AttemptResult {
    let seconds = step.timeout.unwrap_or_default();
    if answered.via == Via::Timeout && answered.choice == OnTimeout::FAIL {
        return AttemptResult::failed("ask", Outcome::TimedOut(seconds), " without an answer");
    }
    let mut result = AttemptResult::ok();
    if ask.fails(&answered.choice) {
        let reason = match answered.via {
            Via::Timeout => Some(format!("no answer within {seconds} s")),
            _ => reason(answered),
        };
        let outcome = Outcome::Rejected { by: answered.by.clone(), reason };
        let error = outcome.cause().unwrap_or_default();
        result = AttemptResult::refused(outcome, error);
    }
    result.value = Some(value(answered));
    result
}

/// The reason that a person gave: the field of that name, or the comment.
fn reason(answered: &Answered) -> Option<String> {
    let field = answered.fields.get("reason").filter(|value| !is_empty(value));
    field.map(|value| value.render().into_owned()).or_else(|| answered.comment.clone())
}

/// The value of a step with this answer.
fn value(answered: &Answered) -> Value {
    let mut members = Map::new();
    members.insert("choice".to_owned(), Value::from(answered.choice.as_str()));
    members.extend(answered.fields.clone());
    for (name, text) in [
        ("by", Some(answered.by.clone())),
        ("via", Some(answered.via.as_str().to_owned())),
        ("at", Some(answered.at.to_string())),
        ("comment", answered.comment.clone()),
    ] {
        members.extend(text.map(|text| (name.to_owned(), Value::from(text))));
    }
    Value::map(members)
}

/// The time so many seconds after another one; absent if it never comes.
fn after(since: Timestamp, seconds: f64) -> Option<Timestamp> {
    since.checked_add(SignedDuration::try_from_secs_f64(seconds).ok()?).ok()
}
