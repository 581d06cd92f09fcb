//! How the steps of a recipe begin and end, and what that changes around them.

use std::{collections::HashSet, sync::Arc};

use jiff::Timestamp;
use recipe::{
    member,
    plan::{Plan, StepKind, UnitId},
    value::{Map, Value},
};

use super::RunState;
use crate::run::{
    actions::HookKind,
    decide::is_uncertain,
    event::Ended,
    frame::{Frame, FrameId},
    outcome::{SkipReason, StepStatus},
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
        let nested = frame.is_nested(index);
        let step = &mut frame.steps[index];
        step.is_uncertain = is_uncertain;
        step.attempt = if is_real { attempt } else { 0 };
        step.inputs = inputs.as_deref().map(Arc::from);
        let first = step.status == StepStatus::Pending;
        if first {
            step.status = StepStatus::Running;
            step.started_at = is_real.then_some(at);
            frame.open += 1;
            frame.next = frame.next.max(index + 1);
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
        let mut frame = Frame::new(path.to_owned(), UnitId(at as u32), unit, Map::new());
        frame.overrides = overrides.iter().map(|(name, _)| name.clone()).collect();
        frame.unknown = outer.unknown_below(overrides);
        frame.context = outer.context_below(own, overrides);
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
        let dry_run = self.settings.dry_run;
        let frame = &mut self.frames[id];
        let nested = frame.is_nested(index);
        let hooks = &frame.unit.hooks;
        let (hook, kind) = match status {
            StepStatus::Failed => (&hooks.on_error, HookKind::OnError),
            _ => (&hooks.post_step, HookKind::PostStep),
        };
        let has_hook = hook.is_some() && !dry_run;
        let step = &mut frame.steps[index];
        let was_running = step.status == StepStatus::Running;
        step.status = status;
        step.finished_at = Some(at);
        step.value = value;
        step.recovered = recovered;
        step.ended = Some(Arc::new(ended.clone()));
        let child = step.frame;
        if was_running {
            frame.open -= 1;
            if has_hook {
                frame.hooks += 1;
                self.live.due_hooks.push_back((path.to_owned(), kind));
            }
            self.running -= usize::from(!nested);
        } else {
            step.started_at = Some(at);
            frame.next = frame.next.max(index + 1);
        }
        if let Some(child) = child {
            self.close(child);
        }
        self.settle(id);
    }

    pub(super) fn attempt_failed(&mut self, path: &str, attempt: u32, ended: &Ended) {
        self.count_usage(path, ended);
        self.count_try(path, ended);
        self.count_failure(path, attempt, ended);
        let child = self.locate(path).and_then(|(id, at)| self.frames[id].steps[at].frame.take());
        if let Some(child) = child {
            self.close(child);
            self.forget_kept(child);
        }
    }

    fn close(&mut self, id: FrameId) {
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
            self.running -= 1;
        }
    }

    pub(super) fn skip(&mut self, path: &str, reason: &SkipReason, at: Timestamp) {
        let Some((id, index)) = self.locate(path) else { return };
        let frame = &mut self.frames[id];
        let nested = frame.is_nested(index);
        let step = &mut frame.steps[index];
        if step.status == StepStatus::Running {
            frame.open -= 1;
            self.running -= usize::from(!nested);
        }
        let step = &mut self.frames[id].steps[index];
        step.status = StepStatus::Skipped;
        step.skipped = Some(reason.clone());
        step.finished_at = Some(at);
        if let Some(child) = step.frame {
            self.close(child);
        }
        let frame = &mut self.frames[id];
        frame.next = frame.next.max(index + 1);
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
            self.settle(id);
        }
    }
}
