//! Unfinished recipes that read values which are made again around them: their steps that used the old values run again
//! too. Never looks at their failures.

use std::collections::{BTreeSet, HashSet};

use recipe::{
    graph::{self, Link},
    plan::{Step, StepKind, Target},
    template::Template,
};

use super::{
    Work,
    failure::READS,
    ways::{Graph, step_path},
};
use crate::run::frame::FrameId;

impl Work<'_> {
    /// Runs steps again inside the recipe of a step that used values of earlier steps which run again, or these names
    /// from outside.
    pub(super) fn renew(
        &mut self,
        id: FrameId,
        index: usize,
        again: &BTreeSet<usize>,
        around: &HashSet<String>,
    ) {
        let Some(graph) = self.graph(id) else { return };
        let (state, step) = (self.request.state, &graph.unit.steps[index]);
        let below = state.frames[id].index_of(&step.id).and_then(|old| state.below(id, old));
        let Some(child) = below else { return };
        if step.looped.is_some() {
            return self.reads_again(id, step);
        }
        let edges = || graph.edges.iter().filter(|edge| edge.to == index && again.contains(&edge.from));
        let by_name = edges().filter(|edge| edge.link == Link::Value);
        let mut names = from_around(&graph, index, around);
        names.extend(by_name.filter_map(|edge| edge.what.clone()));
        // these links do not say which steps inside need the files or the work
        let is_whole = edges().any(|edge| matches!(edge.link, Link::DependsOn | Link::Status | Link::Files));
        match is_whole || is_run_by(step, &names) {
            true => self.reads_again(id, step),
            false => self.renew_within(child, &handed(step, &names)),
        }
    }

    /// The same for the steps of a recipe that gets these names from outside.
    fn renew_within(&mut self, id: FrameId, names: &HashSet<String>) {
        let Some(graph) = self.graph(id).filter(|_| !names.is_empty()) else { return };
        let (state, plan) = (self.request.state, self.request.plan);
        let steps = &graph.unit.steps;
        let reads =
            |at: &usize| graph::reads_one_of(plan, &steps[*at], &from_around(&graph, *at, names)).is_some();
        let starts: Vec<usize> = (0..steps.len()).filter(reads).collect();
        let again = graph.ways().readers(&starts);
        for index in again.iter().copied() {
            match state.frames[id].index_of(&steps[index].id) {
                Some(old) if state.is_finished(id, old) => self.reads_again(id, &steps[index]),
                Some(_) => self.renew(id, index, &again, names),
                None => {}
            }
        }
    }

    fn reads_again(&mut self, id: FrameId, step: &Step) {
        let path = step_path(&self.request.state.frames[id].path, &step.id);
        self.again(path, step, READS.to_owned());
    }
}

/// The names that a step does not get from another step of its own recipe.
fn from_around(graph: &Graph, at: usize, names: &HashSet<String>) -> HashSet<String> {
    let own = graph.edges.iter().filter(|edge| edge.to == at && edge.link == Link::Value);
    let own: HashSet<&String> = own.filter_map(|edge| edge.what.as_ref()).collect();
    names.iter().filter(|name| !own.contains(name)).cloned().collect()
}

/// Whether a whole recipe depends on one of the names: through its name, its directory or its environment.
fn is_run_by(step: &Step, names: &HashSet<String>) -> bool {
    let target = match &step.kind {
        StepKind::Nested { target: Target::Dynamic { name, .. }, .. } => Some(name),
        _ => None,
    };
    let templates = step.env.iter().map(|(_, template)| template);
    templates.chain(&step.working_dir).chain(target).any(|template| reads(template, names))
}

/// The names that a recipe step passes to its recipe, as they are called there.
fn handed(step: &Step, names: &HashSet<String>) -> HashSet<String> {
    let StepKind::Nested { overrides, .. } = &step.kind else { return HashSet::new() };
    let mut handed = names.clone();
    for (name, value) in overrides {
        match value.templates().into_iter().any(|template| reads(template, names)) {
            true => handed.insert(name.clone()),
            false => handed.remove(name),
        };
    }
    handed
}

fn reads(template: &Template, names: &HashSet<String>) -> bool {
    template.names().into_iter().any(|(path, _)| path.names().any(|name| names.contains(&name)))
}
