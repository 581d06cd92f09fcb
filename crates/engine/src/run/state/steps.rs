//! How the steps of a recipe begin and end, and what that changes around them.

use std::{collections::HashSet, sync::Arc};

use jiff::Timestamp;
use recipe::{
    member,
    plan::{ForEach, Plan, StepKind, UnitId},
    value::{Map, Value},
};

use super::RunState;
use crate::run::{
    actions::HookKind,
    decide::is_uncertain,
    event::Ended,
    frame::{Frame, FrameId},
    outcome::{Outcome, SkipReason, StepStatus},
    ready::ReadySet,
};

/// A step that is finished.
pub(super) struct FinishedStep<'a> {
    pub(super) path: &'a str,
    pub(super) status: StepStatus,
    pub(super) ended: &'a Ended,
    pub(super) recovered: bool,
}

impl RunState {
    pub(super) fn start(&mut self, path: &str, attempt: u32, inputs: &Option<String>, at: Timestamp) {
        let Some((id, index)) = self.locate(path) else { return };
        self.attempts.insert(path.to_owned(), attempt);
        // a dry run starts no step
        let is_real = !self.settings.dry_run;
        let is_uncertain = !is_real && is_uncertain(&self.frames[id], index);
        let frame = &mut self.frames[id];
        let nested = frame.has_steps(index);
        let worked_before = nested.then(|| self.work.before_in.get(path)).flatten().copied();
        let step = &mut frame.steps[index];
        step.is_uncertain = is_uncertain;
        step.attempt = if is_real { attempt } else { 0 };
        step.inputs = inputs.as_deref().map(Arc::from);
        let first = step.status == StepStatus::Pending;
        if first {
            step.status = StepStatus::Running;
            step.started_at = is_real.then_some(at);
            (step.finished_at, step.worked_before) = (None, worked_before.unwrap_or_default());
            step.is_cleanup = frame.cleanup.is_some();
            frame.open += 1;
            frame.cleanup.iter_mut().for_each(|cleanup| cleanup.open += 1);
            frame.next = frame.next.max(index + 1);
            frame.graph.iter_mut().for_each(|graph| graph.take(index));
            self.running += usize::from(!nested);
        }
        if first && !nested {
            self.frames[id].steps[index].counted = true;
            match is_uncertain {
                true => self.count_perhaps(id),
                false => self.count(id, 1),
            }
        }
        self.settle(id);
    }

    pub(super) fn enter(&mut self, plan: &Plan, path: &str, unit_path: &str) {
        let Some((parent, index)) = self.locate(path) else { return };
        let Some(at) = plan.units.iter().position(|unit| unit.path == unit_path) else { return };
        let unit = Arc::clone(&plan.units[at]);
        let outer = &self.frames[parent];
        let StepKind::Nested { overrides, .. } = &outer.unit.steps[index].kind else { return };
        let own = self.settings.own_context(&unit);
        let is_new = |name: &&String| !outer.context.contains_key(*name);
        let introduced: HashSet<String> = own.keys().filter(is_new).cloned().collect();
        let graph = ReadySet::new(plan, &unit);
        let mut frame = Frame::new(path.to_owned(), UnitId(at as u32), unit, Map::new()).ordered(graph);
        frame.overrides = overrides.iter().map(|(name, _)| name.clone()).collect();
        frame.unknown = outer.unknown_below(index, overrides);
        frame.context = frame.unit.fitted(outer.context_below(index, own, overrides));
        let holder = |name: &String| member::holder(&frame.context, name).to_owned();
        let changed: HashSet<String> = frame.overrides.iter().map(holder).collect();
        frame.introduced = introduced.difference(&changed).cloned().collect();
        frame.below = outer.below.clone();
        for name in changed.iter().chain(frame.unit.context.keys()) {
            frame.below.remove(name);
        }
        frame.parent = Some((parent, index));
        frame.depth = outer.depth + 1;
        frame.is_uncertain = outer.steps[index].is_uncertain;
        let id = self.open(frame);
        self.frames[parent].steps[index].frame = Some(id);
    }

    pub(super) fn finish(&mut self, end: FinishedStep<'_>, value: Option<Value>, at: Timestamp) {
        let FinishedStep { path, status, ended, recovered } = end;
        let Some((id, index)) = self.locate(path) else { return };
        let value = value.or_else(|| self.loop_value(id, index));
        let dry_run = self.settings.dry_run;
        let frame = &mut self.frames[id];
        let nested = frame.has_steps(index);
        let is_loop = frame.unit.steps[index].looped.is_some();
        let hooks = &frame.unit.hooks;
        let (hook, kind) = match status {
            StepStatus::Failed => (&hooks.on_error, HookKind::OnError),
            _ => (&hooks.post_step, HookKind::PostStep),
        };
        // hooks run for every instance of a loop, not for the loop
        // waiting for a person is not failing
        let has_hook = hook.is_some() && !dry_run && !is_loop && ended.outcome != Outcome::NeedsHuman;
        let step = &mut frame.steps[index];
        let (was_open, was_running) = (step.status.is_open(), step.status == StepStatus::Running);
        step.status = status;
        step.finished_at = Some(at);
        step.value = value;
        step.recovered = recovered;
        step.ended = Some(Arc::new(ended.clone()));
        let child = step.frame;
        if was_open {
            frame.open -= 1;
            if has_hook {
                frame.hooks += 1;
                self.live.due_hooks.push_back((path.to_owned(), kind));
            } else {
                frame.end_cleanup_work(index);
            }
            self.running -= usize::from(was_running && !nested);
        } else {
            step.started_at = Some(at);
            step.is_cleanup = frame.cleanup.is_some();
            frame.next = frame.next.max(index + 1);
        }
        if let Some(child) = child {
            self.keep_instances(id, index);
            self.close(child);
        }
        self.take_cleanup_value(id, index);
        self.end_in_graph(id, index, was_open && has_hook);
        let is_stopper = |each: &ForEach| !each.keep_going || matches!(ended.outcome, Outcome::Limit(_));
        if status == StepStatus::Failed && self.frames[id].each().is_some_and(is_stopper) {
            self.frames[id].stop_instances();
        }
        self.settle(id);
    }

    /// The value of a step with a loop, from the instances that it had.
    fn loop_value(&self, id: FrameId, at: usize) -> Option<Value> {
        let child = self.frames[id].steps[at].frame.map(|child| &self.frames[child]);
        child.filter(|child| child.looped.is_some()).and_then(Frame::loop_value)
    }

    /// Keeps how the instances of a loop went with the step, for steps that ask.
    pub(crate) fn keep_instances(&mut self, id: FrameId, at: usize) {
        let child = self.frames[id].steps[at].frame.map(|child| &self.frames[child]);
        if let Some(instances) = child.filter(|child| child.looped.is_some()).map(Frame::instances) {
            self.frames[id].steps[at].instances = instances;
        }
    }

    pub(super) fn attempt_failed(&mut self, path: &str, attempt: u32, ended: &Ended) {
        self.count_attempt(path, attempt, ended);
        self.count_try(path, ended);
        let answer = match self.unproven.get(path) {
            Some(work) => work.value.clone(),
            None => self.live.failed_attempts.get(path).and_then(|attempt| attempt.value.clone()),
        };
        self.note_own_failure(path, ended, answer);
        self.note_unmet(path, ended);
        self.count_failure(path, attempt, ended);
        let child = self.locate(path).and_then(|(id, at)| self.frames[id].steps[at].frame.take());
        if let Some(child) = child {
            self.note_failed_recipe(path, child, ended);
            self.close(child);
            self.forget_kept(child);
            self.forget_work_time(path);
        }
    }

    pub(super) fn close(&mut self, id: FrameId) {
        self.frames[id].closed = true;
        self.active.retain(|active| *active != id);
    }

    /// Takes back the start of a step that was stopped before it began: it had no effect.
    pub(super) fn withdraw(&mut self, path: &str) {
        let Some((id, index)) = self.locate(path) else { return };
        let frame = &mut self.frames[id];
        let step = &mut frame.steps[index];
        if step.status == StepStatus::Running {
            step.status = StepStatus::Pending;
            step.started_at = None;
            frame.open -= 1;
            frame.end_cleanup_work(index);
            frame.graph.iter_mut().for_each(|graph| graph.give_back(index));
            self.running -= 1;
        }
    }

    pub(super) fn skip(&mut self, path: &str, reason: &SkipReason, at: Timestamp) {
        let Some((id, index)) = self.locate(path) else { return };
        let frame = &mut self.frames[id];
        let nested = frame.has_steps(index);
        let step = &mut frame.steps[index];
        if step.status == StepStatus::Running {
            frame.open -= 1;
            frame.end_cleanup_work(index);
            self.running -= usize::from(!nested);
        } else {
            step.is_cleanup = frame.cleanup.is_some();
        }
        let value = self.loop_value(id, index).filter(|_| !self.settings.dry_run);
        let step = &mut self.frames[id].steps[index];
        step.value = value;
        step.status = StepStatus::Skipped;
        step.skipped = Some(reason.clone());
        step.finished_at = Some(at);
        if let Some(child) = step.frame {
            self.keep_instances(id, index);
            self.close(child);
        }
        let frame = &mut self.frames[id];
        frame.next = frame.next.max(index + 1);
        self.take_cleanup_value(id, index);
        self.end_in_graph(id, index, false);
        self.settle(id);
    }

    /// Starts the work of a step; the hook before it does not count.
    pub(super) fn begin(&mut self, path: &str, at: Timestamp) {
        let Some((id, index)) = self.locate(path) else { return };
        let frame = &mut self.frames[id];
        let has_hook = frame.unit.hooks.pre_step.is_some();
        let step = &mut frame.steps[index];
        step.has_spawned = true;
        if has_hook && step.status == StepStatus::Running && !step.begun {
            (step.begun, step.started_at) = (true, Some(at));
        }
    }

    pub(super) fn hook_finished(&mut self, path: &str, hook: &str, at: Timestamp) {
        let Some((id, index)) = self.locate(path) else { return };
        if hook == "pre_step" && self.frames[id].is_nested(index) {
            self.begin(path, at);
        }
        if hook != "pre_step" {
            let frame = &mut self.frames[id];
            frame.hooks = frame.hooks.saturating_sub(1);
            frame.end_cleanup_work(index);
            if !frame.steps[index].is_cleanup {
                frame.graph.iter_mut().for_each(|graph| graph.release(index));
            }
            self.settle(id);
        }
    }
}
