//! Steps that run after the end of their recipe (`when: failed`, `when: always`): which one is next, and what they see
//! of the failure. Starts nothing.

use recipe::{check::FAILURE, plan::Unit, syntax::When, value::Value};

use crate::{
    failure::Class,
    run::{
        decide::{Decision, consider, decide_in},
        ending::{EndReason, Halt},
        event::{Ended, Event},
        frame::{Frame, FrameId, StepState},
        outcome::{Outcome, StepStatus, StopCause},
        state::RunState,
        step_path::is_below,
    },
};

/// The cleanup of a recipe that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cleanup {
    /// Why the run was stopped, if that ended the recipe: then only `always` steps run.
    pub stopped: Option<EndReason>,
    /// Cleanup steps, and hooks after them, that are running.
    pub open: usize,
    /// Whether the run has ended after it.
    pub is_over: bool,
}

/// A cleanup step that failed.
#[derive(Clone, Debug)]
pub struct FailedCleanup<'a> {
    /// The step.
    pub path: String,
    /// How it ended.
    pub ended: &'a Ended,
}

/// A step whose work a cleanup step has undone, or tried to undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Undone {
    /// The id of the step.
    pub(crate) id: String,
    /// The id of the cleanup step.
    pub(crate) by: String,
    /// Whether the cleanup step completed. Otherwise it is unknown how much was undone.
    pub(crate) is_certain: bool,
}

impl Frame {
    /// The next step that runs after the end of the recipe. A recipe step whose question was withdrawn has begun
    /// before: a resume continues it.
    fn next_cleanup(&self, is_meant: impl Fn(When) -> bool) -> Option<usize> {
        let is_next = |at: &usize| {
            let (when, step) = (self.unit.steps[*at].when, &self.steps[*at]);
            let is_withdrawn = step.frame.is_some();
            when != When::Ok && is_meant(when) && step.status == StepStatus::Pending && !is_withdrawn
        };
        (0..self.steps.len()).find(is_next)
    }

    /// A cleanup step, or the hook after it, has ended.
    pub(crate) fn end_cleanup_work(&mut self, at: usize) {
        if let Some(cleanup) = self.cleanup.as_mut().filter(|_| self.steps[at].is_cleanup) {
            cleanup.open = cleanup.open.saturating_sub(1);
        }
    }

    /// Cleanup steps that failed and were expected to succeed.
    pub(crate) fn failed_cleanup(&self) -> impl Iterator<Item = usize> {
        (0..self.steps.len()).filter(|at| {
            let step = &self.steps[*at];
            step.is_cleanup && step.status == StepStatus::Failed && !self.may_fail(*at, step)
        })
    }
}

/// The next step of the cleanup of a recipe that has failed or timed out. A recipe that waits for a person has not come
/// to its end, and one that could not start has nothing to clean up.
pub(crate) fn next(state: &RunState, id: FrameId) -> Option<usize> {
    let frame = &state.frames[id];
    let at = frame.next_cleanup(|_| true).filter(|_| !state.settings.dry_run)?;
    let could_not_start =
        frame.stopped.as_ref().is_some_and(|stopped| matches!(stopped.cause, StopCause::Refused(_)));
    let waits = || state.cause_in(id).is_some_and(|ended| ended.outcome == Outcome::NeedsHuman);
    (!could_not_start && !waits()).then_some(at)
}

/// What happens next in a run that was asked to stop: `always` steps come to their end, and once all other work has
/// ended, those of every unfinished recipe run, the innermost recipe first.
pub(crate) fn decide_stopping(
    state: &RunState,
    reason: EndReason,
    closing: &dyn Fn(FrameId) -> bool,
) -> Option<Decision> {
    state.active.iter().rev().find_map(|id| {
        let frame = &state.frames[*id];
        if state.survives_stop(&frame.path) {
            return decide_in(state, *id, closing);
        }
        let at = frame.next_cleanup(|when| when == When::Always).filter(|_| state.live.has_come_to_rest)?;
        match &frame.cleanup {
            _ if state.cleans_up_below(*id) => None,
            Some(cleanup) if cleanup.stopped.is_some() && cleanup.open > 0 => None,
            Some(cleanup) if cleanup.stopped.is_some() => consider(state, *id, at),
            _ => {
                let path = frame.path.clone();
                let began = Event::CleanupBegan { path, class: None, stopped: Some(reason) };
                Some(Decision::Record(Box::new(began)))
            }
        }
    })
}

impl RunState {
    /// Whether a step is part of the cleanup of a recipe, or inside a step that is.
    pub(crate) fn is_in_cleanup(&self, id: FrameId) -> bool {
        self.lineage(id).iter().any(|frame| frame.cleanup.is_some())
    }

    /// Whether it runs after the run was stopped.
    pub(crate) fn is_after_stop(&self, id: FrameId) -> bool {
        let is_after = |frame: &&Frame| frame.cleanup.as_ref().is_some_and(|it| it.stopped.is_some());
        self.lineage(id).iter().any(is_after)
    }

    /// Whether cleanup steps of a stopped run are running in a recipe inside this one.
    fn cleans_up_below(&self, id: FrameId) -> bool {
        let is_open =
            |frame: &Frame| frame.cleanup.as_ref().is_some_and(|it| it.stopped.is_some() && it.open > 0);
        let inside = self.active.iter().filter(|inner| **inner != id);
        let mut inside = inside.map(|inner| &self.frames[*inner]);
        inside.any(|inner| is_open(inner) && is_below(&inner.path, &self.frames[id].path))
    }

    /// How many steps run at the same time as those of a recipe. Steps that were stopped with the run have not ended in
    /// the journal, so cleanup steps after a stop count only each other.
    pub(crate) fn running_beside(&self, id: FrameId) -> usize {
        match self.is_after_stop(id) {
            true => self.running_steps().iter().filter(|path| self.survives_stop(path)).count(),
            false => self.running,
        }
    }

    /// Whether a step continues when the run is stopped: it is an `always` step, or inside one.
    pub fn survives_stop(&self, path: &str) -> bool {
        let mut around = std::iter::successors(self.locate(path), |(frame, _)| self.frames[*frame].parent);
        let cleans_up = |(id, at): (FrameId, usize)| {
            let frame = &self.frames[id];
            frame.unit.steps[at].when == When::Always
                && (self.live.abandoned.is_empty() || !self.live.abandoned.contains(&frame.step_path(at)))
        };
        !self.live.no_cleanup && around.any(cleans_up)
    }

    /// The `always` steps that are running. They continue when the run is stopped, with everything inside them.
    pub fn running_cleanup(&self) -> Vec<String> {
        let frames = self.active.iter().map(|id| &self.frames[*id]);
        let steps = frames.flat_map(|frame| {
            let is_running = |at: &usize| frame.steps[*at].status == StepStatus::Running;
            let is_meant = move |at: &usize| frame.unit.steps[*at].when == When::Always && is_running(at);
            (0..frame.steps.len()).filter(is_meant).map(|at| frame.step_path(at))
        });
        steps.filter(|_| !self.live.no_cleanup).collect()
    }

    /// The request to stop the run, if there was one.
    pub fn halt(&self) -> Option<Halt> {
        self.live.stop
    }

    /// Whether all work has ended that does not survive such a request.
    pub fn has_come_to_rest(&self) -> bool {
        self.live.has_come_to_rest
    }

    /// Whether a step must not continue because the run was stopped.
    pub(crate) fn is_halted(&self, path: &str) -> bool {
        self.live.stop.is_some() && !self.survives_stop(path)
    }

    /// Whether an `always` step is running, or would run if the run were stopped now.
    pub fn has_cleanup(&self) -> bool {
        self.active.iter().map(|id| &self.frames[*id]).any(|frame| {
            let steps = frame.unit.steps.iter().zip(&frame.steps);
            steps.into_iter().any(|(step, at)| step.when == When::Always && !at.status.is_final())
        })
    }

    /// Cleanup steps that failed, over all recipes of the run, in the order of the recipes.
    pub fn failed_cleanup(&self) -> Vec<FailedCleanup<'_>> {
        let mut found = Vec::new();
        self.find_failed_cleanup(0, &mut found);
        found
    }

    fn find_failed_cleanup<'a>(&'a self, id: FrameId, found: &mut Vec<FailedCleanup<'a>>) {
        let frame = &self.frames[id];
        for (at, step) in frame.steps.iter().enumerate() {
            step.frame.iter().for_each(|child| self.find_failed_cleanup(*child, found));
            let is_failed = step.is_cleanup && step.status == StepStatus::Failed && !frame.may_fail(at, step);
            if let Some(ended) = step.ended.as_deref().filter(|_| is_failed) {
                found.push(FailedCleanup { path: frame.step_path(at), ended });
            }
        }
    }

    /// The steps of a recipe that its cleanup undid, as the recipe said then, or says now.
    pub(crate) fn undone_in(&self, id: FrameId, now: &Unit) -> Vec<Undone> {
        let was = &self.frames[id].unit;
        let mut found = Vec::new();
        for (at, step) in was.steps.iter().enumerate() {
            let status = self.standing(id, at).filter(|it| it.is_cleanup).map(|it| it.status);
            let is_certain = status.is_some_and(StepStatus::is_done);
            if !is_certain && !matches!(status, Some(StepStatus::Failed | StepStatus::Running)) {
                continue;
            }
            let undone = undone_by(was, &step.id).chain(undone_by(now, &step.id));
            found.extend(undone.map(|id| Undone { id: id.to_owned(), by: step.id.clone(), is_certain }));
        }
        found
    }

    /// The cleanup steps of a recipe begin.
    pub(crate) fn begin_cleanup(&mut self, path: &str, class: Option<Class>, stopped: Option<EndReason>) {
        let Some(id) = self.by_path.get(path).copied() else { return };
        // a run that waited for a person can be cancelled without a resume
        (self.finished, self.finished_at) = (None, None);
        // a recipe that failed before the run was stopped keeps its failure
        if self.frames[id].cleanup.is_none() {
            let failure = self.failure_seen(id, class, stopped);
            let frame = &mut self.frames[id];
            frame.below.remove(FAILURE);
            frame.log.push(FAILURE.to_owned());
            frame.context.insert(FAILURE.to_owned(), failure);
        }
        self.frames[id].cleanup = Some(Cleanup { stopped, open: 0, is_over: false });
        // loops that were cut short have not ended
        self.frames[id].open_steps().into_iter().for_each(|at| self.keep_instances(id, at));
        self.adopt_cleanup(id);
    }

    /// Takes over the cleanup steps that an earlier process finished, and those that a person chose to skip.
    fn adopt_cleanup(&mut self, id: FrameId) {
        for at in 0..self.frames[id].steps.len() {
            let frame = &self.frames[id];
            let path = frame.step_path(at);
            let is_next =
                frame.unit.steps[at].when != When::Ok && frame.steps[at].status == StepStatus::Pending;
            // an `always` step that ran in its place belongs to the run before its end
            let has_run = self.kept.get(&path).is_some_and(|step| step.is_cleanup);
            if is_next && (has_run || self.skip.contains(&path)) && self.adopt_step(id, at) {
                self.take_cleanup_value(id, at);
            }
        }
    }

    /// The failed steps of recipes whose cleanup was cut off, and the cleanup steps that failed in them.
    pub fn failures_in_cleanup(&self) -> Vec<String> {
        let cleaning = self.active.iter().filter(|id| self.is_cleaning(**id)).map(|id| &self.frames[*id]);
        let failed = cleaning.flat_map(|frame| {
            let has_failed = |at: &usize| has_failed(frame, *at, &frame.steps[*at]);
            (0..frame.steps.len()).filter(has_failed).map(|at| frame.step_path(at))
        });
        // those that an earlier resume kept and did not reach
        let stays_failed = |path: &String, step: &StepState| {
            self.find(path).is_some_and(|(id, at)| has_failed(&self.frames[id], at, step))
        };
        let kept = self.kept.iter().filter(|(path, step)| stays_failed(path, step));
        failed.chain(kept.map(|(path, _)| path.clone())).collect()
    }

    /// Whether a recipe has failed, and its cleanup has begun and not come to its end.
    fn is_cleaning(&self, id: FrameId) -> bool {
        let frame = &self.frames[id];
        let has_begun = frame.cleanup.is_some() || self.cleaning.contains(&frame.path);
        let is_over = frame.cleanup.as_ref().is_some_and(|cleanup| cleanup.is_over);
        let is_left = |at: usize| frame.unit.steps[at].when != When::Ok && !frame.steps[at].status.is_final();
        let waits = self.finished.as_ref().is_some_and(|finished| finished.reason == EndReason::Waiting);
        let is_open = id != 0 || (!waits && !is_over) || (0..frame.steps.len()).any(is_left);
        // a person decides about a failed step that may have done half of its work
        let is_undecided =
            |at: usize| frame.is_fatal(at) && self.is_cut_off(id, at) && !frame.unit.steps[at].idempotent;
        let has_failed = frame.failed_at.is_some() && frame.stopped.is_none();
        has_begun && has_failed && is_open && !(0..frame.steps.len()).any(is_undecided)
    }

    /// The run has come to its end, and its cleanup with it.
    pub(crate) fn end_cleanup(&mut self, reason: EndReason) {
        if reason == EndReason::Failed {
            self.frames[0].cleanup.iter_mut().for_each(|cleanup| cleanup.is_over = true);
        }
    }

    /// The failure of a recipe as its cleanup steps see it. Steps are named by their path from the recipe.
    fn failure_seen(&self, id: FrameId, class: Option<Class>, stopped: Option<EndReason>) -> Value {
        let frame = &self.frames[id];
        let class = if stopped.is_some() { Some(Class::Interrupted) } else { class };
        let (step, error) = match stopped {
            Some(reason) => (String::new(), stop_words(reason).to_owned()),
            None => self.failure_in(id),
        };
        let below = format!("{}/", frame.path);
        let step = step.strip_prefix(&below).unwrap_or(&step);
        let class = class.unwrap_or(Class::Unknown).as_str();
        let parts = [("step", step), ("error", error.as_str()), ("class", class)];
        let json = parts.into_iter().map(|(name, text)| (name.to_owned(), text.into()));
        Value::from(serde_json::Value::Object(json.collect()))
    }

    /// The step that ended a recipe, and its error. If the recipe timed out, that is the step that was running.
    pub(crate) fn failure_in(&self, id: FrameId) -> (String, String) {
        let frame = &self.frames[id];
        if let Some(stopped) = &frame.stopped {
            let cut_short = self.cut_short_in_frame(id).into_iter().next();
            return (cut_short.unwrap_or_default(), stopped.error.clone());
        }
        let Some((path, ended)) = self.first_cause_in(id) else { return Default::default() };
        (path, ended.error.clone().unwrap_or_default())
    }
}

/// The steps that a step of a recipe says it undoes.
fn undone_by<'a>(unit: &'a Unit, id: &str) -> impl Iterator<Item = &'a str> {
    let step = unit.steps.iter().find(|step| step.id == id);
    let undoes = step.and_then(|step| step.undoes.as_ref()).into_iter().flatten();
    undoes.map(|at| unit.steps[*at].id.as_str())
}

/// Whether a step failed, and nothing tolerates that.
fn has_failed(frame: &Frame, at: usize, step: &StepState) -> bool {
    step.status == StepStatus::Failed && !frame.may_fail(at, step)
}

/// Why a run was stopped, in words.
fn stop_words(reason: EndReason) -> &'static str {
    match reason {
        EndReason::Cancelled => "the run was cancelled",
        EndReason::Terminated => "the run was terminated",
        _ => "the run was interrupted",
    }
}
