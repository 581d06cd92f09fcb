//! Products of kept steps, and whether the steps that will run can rely on them. Never looks at the file system itself.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use recipe::{
    graph::{self, Link},
    plan::{Step, StepKind, Unit},
};

use crate::{
    knowledge::Knowledge,
    repair_review::has_effect,
    run::{state::effects::is_for_once, step_path::around},
};

use super::{
    Entry, StepPlan, Work,
    failure::READS,
    ways::{Ways, any_within, step_path, unit_of},
};

/// Products of the steps of a run that have changed since.
#[derive(Clone, Debug, Default)]
pub struct Remains {
    /// Steps whose stored value cannot be restored.
    pub lost: HashSet<String>,
    /// Declared files that are missing, by step.
    pub missing: BTreeMap<String, Vec<String>>,
    /// Declared files that have changed, by step.
    pub altered: BTreeMap<String, Vec<String>>,
}

/// A kept step that later steps cannot rely on.
struct Unreliable {
    path: String,
    reason: String,
    /// Whether it has to write a file again.
    is_file: bool,
}

impl Work<'_> {
    /// Runs steps with lost values again: a lost value never becomes an empty text.
    pub(super) fn losses(&mut self) {
        for path in &self.request.remains.lost {
            self.reasons
                .entry(path.clone())
                .or_insert_with(|| "its stored value is missing or damaged".to_owned());
        }
    }

    /// Runs kept steps again whose products are missing. A step that runs again may need more.
    pub(super) fn rely(&mut self) {
        let deserted = self.request.state.deserted();
        if self.request.remains.missing.is_empty() && deserted.is_empty() {
            return;
        }
        while let Some(found) = self.unreliable(&self.list(), &deserted) {
            if found.is_file {
                // its file may differ now, so steps that got the old one have to run again
                self.pass_on(&found.path);
            }
            self.reasons.insert(found.path, found.reason);
        }
    }

    /// Why a finished step is kept.
    pub(super) fn done(&self, path: &str) -> String {
        match self.request.remains.altered.get(path).map(Vec::as_slice) {
            None | Some([]) => "it is done".to_owned(),
            Some([file]) => format!("it is done; `{file}` was changed since, and is kept"),
            Some([file, more @ ..]) => {
                format!("it is done; `{file}` and {} more were changed since, and are kept", more.len())
            }
        }
    }

    fn unreliable(&self, steps: &[Entry], deserted: &[String]) -> Option<Unreliable> {
        self.without_process(steps, deserted).or_else(|| self.without_file(steps))
    }

    /// Whether a step is kept and could run again. A failed step whose cleanup continues stays failed, with everything
    /// inside it.
    fn may_rerun(&self, steps: &[Entry], path: &str) -> bool {
        let mut itself_and_around = std::iter::successors(Some(path), |path| around(path));
        is_kept(steps, path) && !itself_and_around.any(|path| self.failed.contains(path))
    }

    fn without_process(&self, steps: &[Entry], deserted: &[String]) -> Option<Unreliable> {
        // the recipe does not say that the process is needed, which is no reason to repeat a side effect
        let mut kept = deserted.iter().filter(|path| self.may_rerun(steps, path) && !self.acts(path));
        let path = kept.find(|path| self.precedes_work(steps, path))?.clone();
        let reason = "the process it left running ended with the run".to_owned();
        Some(Unreliable { path, reason, is_file: false })
    }

    fn without_file(&self, steps: &[Entry]) -> Option<Unreliable> {
        let missing = &self.request.remains.missing;
        let mut kept = missing.iter().filter(|(path, _)| self.may_rerun(steps, path));
        kept.find_map(|(path, files)| {
            let (file, reader) = self.reader(steps, path, files)?;
            let reason = format!("its file `{file}` is gone, and `{reader}` needs it");
            Some(Unreliable { path: path.clone(), reason, is_file: true })
        })
    }

    /// Whether a later or parallel step will run.
    fn precedes_work(&self, steps: &[Entry], path: &str) -> bool {
        let mut named = Some(path);
        while let Some(path) = named {
            let Some((frame, unit, at)) = self.place(path) else { return false };
            let group = &unit.steps[at].group;
            let is_beside = |step: &&std::sync::Arc<Step>| group.is_some() && step.group == *group;
            let beside = unit.steps[..at].iter().rev().take_while(is_beside);
            let runs = |step: &std::sync::Arc<Step>| {
                let path = step_path(&frame, &step.id);
                steps.iter().any(|entry| entry.path == path && entry.runs())
            };
            // in a graph, any step may come after it
            let before = unit.steps[..at].iter().filter(|_| unit.is_graph);
            if beside.chain(before).chain(&unit.steps[at + 1..]).any(runs) {
                return true;
            }
            named = around(path);
        }
        false
    }

    /// A step that will run and needs one of the files of another step.
    fn reader(&self, steps: &[Entry], path: &str, files: &[String]) -> Option<(String, String)> {
        let mut named = path;
        loop {
            let (frame, unit, at) = self.place(named)?;
            let edges = graph::edges_in(self.request.plan, &unit);
            let first = if unit.is_graph { 0 } else { at + 1 };
            for (index, step) in unit.steps.iter().enumerate().skip(first).filter(|(index, _)| *index != at) {
                let reader = step_path(&frame, &step.id);
                if !steps.iter().any(|entry| entry.path == reader && entry.runs()) {
                    continue;
                }
                // a step that declares only values, or nothing, says nothing about files
                let is_linked = named == path
                    && edges.iter().any(|edge| {
                        let says_nothing = matches!(edge.link, Link::Value | Link::Status | Link::Order);
                        edge.from == at && edge.to == index && !says_nothing
                    });
                let is_read =
                    |file: &&String| any_within(self.request.plan, step, &|step| reads_file(step, file));
                if let Some(file) = files.iter().find(is_read).or_else(|| files.first().filter(|_| is_linked))
                {
                    return Some((file.clone(), reader));
                }
            }
            named = around(named)?;
        }
    }

    /// The path of the recipe of a step, that recipe in its current version, and the index of the step.
    fn place(&self, path: &str) -> Option<(String, std::sync::Arc<Unit>, usize)> {
        let state = self.request.state;
        let (id, at) = state.in_recipe(state.find(path)?);
        let frame = &state.frames[id];
        let unit = unit_of(self.request.plan, frame)?;
        let at = unit.steps.iter().position(|step| step.id == frame.unit.steps[at].id)?;
        Some((frame.path.clone(), unit, at))
    }

    fn acts(&self, path: &str) -> bool {
        self.place(path).is_some_and(|(_, unit, at)| acts(self.request.knowledge, &unit.steps[at]))
    }

    /// Runs finished steps again that used a value or a file which is made again.
    fn pass_on(&mut self, path: &str) {
        let mut named = Some(path);
        while let Some(path) = named {
            let Some((frame, unit, at)) = self.place(path) else { return };
            let edges = graph::edges_in(self.request.plan, &unit);
            let receivers: BTreeSet<usize> = Ways::new(&edges, unit.steps.len()).receivers(&[at]);
            for index in receivers.into_iter().filter(|index| *index != at) {
                let receiver = step_path(&frame, &unit.steps[index].id);
                let place = self.request.state.find(&receiver);
                if place.is_some_and(|(id, at)| self.request.state.is_finished(id, at)) {
                    self.again(receiver, &unit.steps[index], READS.to_owned());
                }
            }
            named = around(path);
        }
    }
}

/// Whether a step, or the recipe around it that is kept as a whole, is kept.
fn is_kept(steps: &[Entry], path: &str) -> bool {
    let mut named = Some(path);
    while let Some(path) = named {
        if let Some(entry) = steps.iter().find(|entry| entry.path == path) {
            return entry.action == StepPlan::Keep;
        }
        named = around(path);
    }
    false
}

/// Whether a step declares or shows a side effect.
fn acts(knowledge: &Knowledge, step: &Step) -> bool {
    let shows = match &step.kind {
        StepKind::Shell { command } => has_effect(knowledge, command.text()),
        _ => false,
    };
    shows || is_for_once(step)
}

/// Whether a step declares that it reads a file.
fn reads_file(step: &Step, file: &str) -> bool {
    step.reads.iter().any(|pattern| graph::patterns_meet(pattern, file))
}
