//! Entering a loop, and what a resume keeps of its instances. Never decides whether a loop is entered.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

use recipe::{plan::Plan, value::Value};

use super::RunState;
use crate::run::{
    frame::{Frame, FrameId, StepState},
    inputs,
    looped::{items_of, width_of},
    outcome::StepStatus,
    step_path::{instance, split_instance, with_brackets},
};

/// Where the items of a list were before a resume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ItemMoves {
    /// For every item of the new list, its number in the old list.
    pub from: Vec<Option<usize>>,
    /// Numbers of the old list whose items are not in the new one.
    pub vanished: Vec<usize>,
}

/// An instance of an earlier list whose item is gone.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct VanishedInstance {
    pub(crate) path: String,
    pub(crate) item: Value,
    pub(crate) has_failed: bool,
}

impl ItemMoves {
    /// Finds every item of a list in an old list. An item that is still at its place stays there.
    pub fn new(old: &[String], new: &[String]) -> ItemMoves {
        let stays = |at: usize| old.get(at).is_some_and(|digest| new.get(at) == Some(digest));
        let mut others: HashMap<&str, VecDeque<usize>> = HashMap::new();
        for (at, digest) in old.iter().enumerate().filter(|(at, _)| !stays(*at)) {
            others.entry(digest).or_default().push_back(at);
        }
        let mut find = |(at, digest): (usize, &String)| match stays(at) {
            true => Some(at),
            false => others.get_mut(digest.as_str()).and_then(VecDeque::pop_front),
        };
        let from = new.iter().enumerate().map(&mut find).collect();
        let mut vanished: Vec<usize> = others.into_values().flatten().collect();
        vanished.sort_unstable();
        ItemMoves { from, vanished }
    }
}

impl RunState {
    /// The step with a loop whose instance a name means, and the number of its instances. The instance may not exist.
    pub fn instances_of(&self, named: &str) -> Option<(String, usize)> {
        let path = with_brackets(named);
        let (looped, _) = split_instance(&path)?;
        let (id, at) = self.find(looped)?;
        let frame = self.below(id, at).map(|child| &self.frames[child])?;
        frame.looped.as_ref().map(|_| (looped.to_owned(), frame.steps.len()))
    }

    /// Opens the frame of a loop. `digests` are those of the items of a `for_each`.
    pub(super) fn enter_loop(&mut self, plan: &Plan, path: &str, digests: &[String]) {
        let Some((parent, index)) = self.locate(path) else { return };
        let outer = &self.frames[parent];
        let step = &outer.unit.steps[index];
        let width = step.each().and_then(|each| width_of(each, &outer.scope(index)).ok()).unwrap_or(1);
        let (items, count) = match (step.each(), step.repeat()) {
            (Some(each), _) => {
                let mut items = items_of(each, &outer.scope(index)).unwrap_or_default();
                items.resize(digests.len(), Value::Null);
                (items, digests.len())
            }
            (None, Some(repeat)) => (Vec::new(), if self.settings.dry_run { 1 } else { repeat.max }),
            (None, None) => return,
        };
        let mut frame = Frame::of_loop(path.to_owned(), outer, index, items, count);
        frame.looped.iter_mut().for_each(|looped| looped.width = width);
        frame.parent = Some((parent, index));
        let is_each = frame.each().is_some();
        if is_each {
            self.note_other_attempts(&mut frame);
        }
        if is_each && !self.kept.is_empty() {
            self.move_kept(plan, &mut frame);
        }
        let id = self.open(frame);
        self.frames[parent].steps[index].frame = Some(id);
        if is_each && !self.kept.is_empty() {
            for at in 0..count {
                self.adopt_step(id, at);
            }
            self.settle(id);
        }
    }

    /// Counts the attempts that were made for other items at the places where the list has changed.
    fn note_other_attempts(&self, frame: &mut Frame) {
        let Some((old, new)) =
            self.loop_before(&frame.path).and_then(|old| old.looped.as_ref()).zip(frame.looped.as_ref())
        else {
            return;
        };
        let has_changed = |at: &usize| old.digests.get(*at) != new.digests.get(*at);
        let changed: Vec<usize> = (0..frame.steps.len()).filter(has_changed).collect();
        for at in changed {
            let attempts = self.attempts.get(&frame.step_path(at)).copied();
            frame.steps[at].other_attempts = attempts.unwrap_or(0);
        }
    }

    /// The last loop over a list that a step ran before a resume.
    pub(crate) fn loop_before(&self, path: &str) -> Option<&Frame> {
        let is_it = |frame: &&Frame| frame.path == path && frame.each().is_some();
        self.frames[..self.live.frames_before].iter().rev().find(is_it)
    }

    /// Instances of an earlier list that have a result or have failed, and whose items are not in the new list.
    pub(crate) fn vanished(&self, path: &str, digests: &[String]) -> Vec<VanishedInstance> {
        let Some(frame) = self.loop_before(path) else { return Vec::new() };
        let Some(old) = &frame.looped else { return Vec::new() };
        let vanished =
            ItemMoves::new(&old.digests, digests).vanished.into_iter().map(|at| VanishedInstance {
                path: instance(path, at),
                item: old.items.get(at).cloned().unwrap_or_default(),
                has_failed: frame.steps.get(at).is_some_and(|step| step.status == StepStatus::Failed),
            });
        vanished.filter(|instance| instance.has_failed || self.kept.contains_key(&instance.path)).collect()
    }

    /// Gives kept instances the numbers of their items in the new list, and drops those whose item is gone or whose
    /// other inputs have changed.
    fn move_kept(&mut self, plan: &Plan, frame: &mut Frame) {
        let (path, Some(looped)) = (frame.path.clone(), &frame.looped) else { return };
        let path = path.as_str();
        let below: HashMap<usize, Vec<String>> = self.kept_instances(path);
        if below.is_empty() {
            return;
        }
        let Some(old) = self.loop_before(path) else { return };
        let moves = ItemMoves::new(
            old.looped.as_ref().map(|old| old.digests.as_slice()).unwrap_or_default(),
            &looped.digests,
        );
        let known = |at: usize| old.steps.get(at).and_then(|step| step.inputs.clone());
        let names = frame.unit.steps.first().map(|step| inputs::names(plan, frame, step)).unwrap_or_default();
        let is_same = |now: usize, before: usize| {
            known(before).is_some_and(|inputs| *inputs == inputs::digest_of(&names, frame, now))
        };
        let valid: HashMap<usize, usize> = (moves.from.iter().enumerate())
            .filter_map(|(now, before)| Some(((*before)?, now)))
            .filter(|(before, now)| below.contains_key(before) && is_same(*now, *before))
            .collect();
        let inputs: Vec<(usize, Option<Arc<str>>)> =
            valid.iter().map(|(before, now)| (*now, known(*before))).collect();
        let children: HashMap<usize, FrameId> =
            valid.keys().filter_map(|at| Some((*at, self.last_entered(&instance(path, *at))?))).collect();
        let mut moved: Vec<(String, StepState)> = Vec::new();
        for (before, paths) in below {
            let (from, now) = (instance(path, before), valid.get(&before));
            for kept in paths {
                let state = self.kept.remove(&kept);
                let rest = kept.strip_prefix(&from).unwrap_or_default();
                moved.extend(
                    state.zip(now).map(|(state, now)| (format!("{}{rest}", instance(path, *now)), state)),
                );
            }
        }
        self.kept.extend(moved);
        // the next resume compares them, even if this process does not reach the instance
        inputs.into_iter().for_each(|(now, inputs)| frame.steps[now].inputs = inputs);
        self.move_skipped(path, &valid);
        for (before, child) in children {
            if let Some(now) = valid.get(&before).filter(|now| **now != before) {
                self.rename(child, &instance(path, before), &instance(path, *now));
            }
        }
    }

    /// The frame of the recipe at a path that was entered last.
    fn last_entered(&self, path: &str) -> Option<FrameId> {
        self.frames.iter().rposition(|frame| frame.path == path)
    }

    /// The paths of kept steps in the instances of a loop, by the number of the instance.
    fn kept_instances(&self, path: &str) -> HashMap<usize, Vec<String>> {
        let mut found: HashMap<usize, Vec<String>> = HashMap::new();
        for kept in self.kept.keys() {
            if let Some(at) = instance_in(kept, path) {
                found.entry(at).or_default().push(kept.clone());
            }
        }
        found
    }

    fn move_skipped(&mut self, path: &str, valid: &HashMap<usize, usize>) {
        let moved = |skipped: &String| match instance_in(skipped, path) {
            None => Some(skipped.clone()),
            Some(before) => {
                let rest = skipped.strip_prefix(&instance(path, before)).unwrap_or_default();
                // an instance that was cut off has no inputs to compare, so it keeps its number
                let now = valid.get(&before).copied().unwrap_or(before);
                Some(format!("{}{rest}", instance(path, now)))
            }
        };
        let skip: HashSet<String> = self.skip.iter().filter_map(moved).collect();
        self.skip = skip;
    }

    /// Gives a frame and those below it another path.
    fn rename(&mut self, id: FrameId, from: &str, to: &str) {
        let frame = &mut self.frames[id];
        let rest = frame.path.strip_prefix(from).unwrap_or_default().to_owned();
        frame.path = format!("{to}{rest}");
        let below: Vec<FrameId> = frame.steps.iter().filter_map(|step| step.frame).collect();
        below.into_iter().for_each(|child| self.rename(child, from, to));
    }
}

/// The number of the instance of a loop that a step is, or is inside.
pub fn instance_in(step: &str, looped: &str) -> Option<usize> {
    let rest = step.strip_prefix(looped)?;
    let end = rest.find(']')? + 1;
    split_instance(&step[..looped.len() + end]).filter(|(name, _)| *name == looped).map(|(_, at)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moves(old: &str, new: &str) -> ItemMoves {
        let digests = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
        ItemMoves::new(&digests(old), &digests(new))
    }

    #[test]
    fn items_are_found_again() {
        assert_eq!(moves("abc", "abc").from, [Some(0), Some(1), Some(2)]);
        assert_eq!(moves("abc", "xabc").from, [None, Some(0), Some(1), Some(2)]);
        assert_eq!(moves("abc", "ca").from, [Some(2), Some(0)]);
        assert_eq!(moves("abc", "ca").vanished, [1]);
        assert_eq!(moves("aab", "aaa").from, [Some(0), Some(1), None], "each result is used once");
        assert_eq!(moves("", "a"), ItemMoves { from: vec![None], vanished: vec![] });
    }

    #[test]
    fn a_step_knows_its_instance() {
        assert_eq!(instance_in("a[2]/b[1]", "a"), Some(2));
        assert_eq!(instance_in("a[2]", "a"), Some(2));
        assert_eq!(instance_in("a/b[1]", "a"), None);
        assert_eq!(instance_in("ab[1]", "a"), None);
    }
}
