//! Recipes with `schedule: graph`: cycles, writers without an order, and steps that nothing can come after.

use std::collections::{HashSet, VecDeque};

use super::Checker;
use crate::{
    diagnostic::{Code, Diagnostic},
    graph::{self, Edge, Link, needs::MOST_EDGES},
    plan::{Plan, Step, Unit},
    syntax::{RecipeSyntax, Schedule, When},
};

impl Checker<'_> {
    /// Whether a recipe is a graph. Reports parallel groups in it.
    pub(super) fn is_graph(&mut self, recipe: &RecipeSyntax) -> bool {
        let is_graph = recipe.schedule.as_ref().is_some_and(|schedule| schedule.value == Schedule::Graph);
        let steps = recipe.steps.iter().flat_map(|steps| &steps.value).filter(|_| is_graph);
        for group in steps.filter_map(|step| step.value.shape.parallel_group.as_ref()) {
            let message = "`parallel_group` contradicts `schedule: graph`";
            self.diagnostics.push(
                Diagnostic::new(Code::Contradiction, group.place, message)
                    .label("not in a graph")
                    .help("remove it: steps that do not need each other run at the same time anyway"),
            );
        }
        is_graph
    }
}

/// The most cycles of a recipe that are reported.
const MOST_CYCLES: usize = 20;

/// Checks the graphs of all units but the first ones, which were checked `before`.
pub(super) fn check(plan: &Plan, before: usize, diagnostics: &mut Vec<Diagnostic>) {
    for unit in plan.units.iter().skip(before).filter(|unit| unit.is_graph) {
        let edges = graph::edges_in(plan, unit);
        if edges.len() >= MOST_EDGES {
            let place = unit.steps[0].place;
            let message = format!("the steps of this graph need each other in more than {MOST_EDGES} ways");
            diagnostics.push(Diagnostic::new(Code::TooComplex, place, message));
            continue;
        }
        let steps = GraphSteps { plan, unit, edges: &edges };
        steps.needs_of_cleanup(diagnostics);
        diagnostics.extend(steps.cycles().iter().map(|cycle| steps.circular(cycle)));
        steps.writers(diagnostics);
    }
}

struct GraphSteps<'a> {
    plan: &'a Plan,
    unit: &'a Unit,
    edges: &'a [Edge],
}

impl GraphSteps<'_> {
    fn step(&self, at: usize) -> &Step {
        &self.unit.steps[at]
    }

    /// Reports ordinary steps that need a step which runs after all of them.
    fn needs_of_cleanup(&self, diagnostics: &mut Vec<Diagnostic>) {
        let mut report = |step: &Step, needed: &str, why: String| {
            let message = format!("step `{}` {why}, which runs after all others", step.id);
            diagnostics.push(
                Diagnostic::new(Code::LaterStep, step.place, message)
                    .label("runs earlier")
                    .help(format!("remove `when` from `{needed}`, or do not use it here")),
            );
        };
        let written = graph::needs::Written::new(self.unit, Some(self.plan));
        let is_last = |at: &usize| self.step(*at).when != When::Ok;
        for step in self.unit.steps.iter().filter(|step| step.when == When::Ok) {
            for needed in step.depends_on.iter().filter(|at| is_last(at)) {
                let id = &self.step(*needed).id;
                report(step, id, format!("depends on `{id}`"));
            }
            for name in written.read_by(step) {
                let writers = written.writers.get(&name).map(Vec::as_slice).unwrap_or_default();
                let is_declared = self.unit.expected().any(|declared| *declared == name);
                if let Some(last) = writers.iter().rev().find(|_| !is_declared && writers.iter().all(is_last))
                {
                    let id = &self.step(*last).id;
                    report(step, id, format!("reads `{name}` of `{id}`"));
                }
            }
        }
    }

    /// Cycles that have no step in common, at most [`MOST_CYCLES`] of them.
    fn cycles(&self) -> Vec<Vec<Edge>> {
        let mut edges = self.edges.to_vec();
        let mut found = Vec::new();
        while let Some(cycle) = self.cycle(&edges).filter(|_| found.len() < MOST_CYCLES) {
            let steps: HashSet<usize> = cycle.iter().map(|edge| edge.to).collect();
            edges.retain(|edge| !steps.contains(&edge.from) && !steps.contains(&edge.to));
            found.push(cycle);
        }
        found
    }

    /// The edges of a cycle, if there is one, each after the one that it leads to.
    fn cycle(&self, edges: &[Edge]) -> Option<Vec<Edge>> {
        let order: HashSet<usize> = graph::needs::order(self.unit.steps.len(), edges).into_iter().collect();
        let mut into: Vec<Option<&Edge>> = vec![None; self.unit.steps.len()];
        for edge in edges.iter().filter(|edge| !order.contains(&edge.from)) {
            into[edge.to].get_or_insert(edge);
        }
        // every step that cannot start needs another one that cannot: going back leads into a cycle
        let mut at = (0..self.unit.steps.len()).find(|at| !order.contains(at))?;
        let mut seen = HashSet::new();
        while seen.insert(at) {
            at = into[at]?.from;
        }
        let mut cycle = vec![into[at]?.clone()];
        while let Some(from) = cycle.last().map(|edge| edge.from).filter(|from| *from != at) {
            cycle.push(into[from]?.clone());
        }
        Some(cycle)
    }

    /// The shortest way from one step to another.
    fn path(&self, from: usize, to: usize) -> Option<Vec<&Edge>> {
        let mut came: Vec<Option<&Edge>> = vec![None; self.unit.steps.len()];
        let mut open = VecDeque::from([from]);
        let mut out: Vec<Vec<&Edge>> = vec![Vec::new(); self.unit.steps.len()];
        self.edges.iter().for_each(|edge| out[edge.from].push(edge));
        let mut seen = HashSet::from([from]);
        while let Some(at) = open.pop_front().filter(|_| !seen.contains(&to)) {
            for edge in &out[at] {
                if seen.insert(edge.to) {
                    came[edge.to] = Some(edge);
                    open.push_back(edge.to);
                }
            }
        }
        let mut path = Vec::new();
        let mut at = to;
        while at != from {
            let edge = came[at]?;
            path.push(edge);
            at = edge.from;
        }
        path.reverse();
        Some(path)
    }

    fn circular(&self, cycle: &[Edge]) -> Diagnostic {
        let why = |edge: &Edge| match (&edge.what, edge.link) {
            (Some(what), _) => format!("reads `{what}` of"),
            (None, Link::DependsOn) => "depends on".to_owned(),
            (None, _) => "comes after".to_owned(),
        };
        let ways: Vec<String> = cycle
            .iter()
            .map(|edge| format!("`{}` {} `{}`", self.step(edge.to).id, why(edge), self.step(edge.from).id))
            .collect();
        let first = cycle.iter().map(|edge| edge.to).min().unwrap_or(0);
        Diagnostic::new(
            Code::CircularNeeds,
            self.step(first).place,
            "steps need each other in a circle, so none of them can start",
        )
        .label("part of the circle")
        .help(format!("break the circle: {}", ways.join(", ")))
    }

    /// Reports variables that two steps write without an order between them.
    fn writers(&self, diagnostics: &mut Vec<Diagnostic>) {
        let order = graph::needs::order(self.unit.steps.len(), self.edges);
        // steps of a circle have no place
        let mut place = vec![usize::MAX; self.unit.steps.len()];
        order.iter().enumerate().for_each(|(position, at)| place[*at] = position);
        let written = graph::needs::Written::new(self.unit, Some(self.plan));
        let read: HashSet<String> = self.unit.steps.iter().flat_map(|step| written.read_by(step)).collect();
        let shown = self.unit.result_template().into_iter().flat_map(|template| template.names());
        let shown: HashSet<&str> = shown.map(|(path, _)| path.root.as_str()).collect();
        let mut names: Vec<_> = written.writers.iter().filter(|(_, writers)| writers.len() > 1).collect();
        names.sort();
        for (name, writers) in names {
            let is_read = read.contains(name) || shown.contains(name.as_str());
            // a name that only flows back from sub-recipes matters if the recipe reads it
            let is_meant = |at: &&usize| is_read || self.step(**at).store.as_ref() == Some(name);
            let mut writers: Vec<usize> = writers.iter().filter(is_meant).copied().collect();
            writers.sort_by_key(|at| place[*at]);
            let is_ordered = |one, other| self.path(one, other).is_some() || self.path(other, one).is_some();
            let unordered = writers.windows(2).find(|pair| !is_ordered(pair[0], pair[1]));
            if let Some(pair) = unordered {
                diagnostics.extend([(pair[0], pair[1]), (pair[1], pair[0])].map(|(one, other)| {
                    let (id, other) = (&self.step(one).id, &self.step(other).id);
                    let message = format!("`{id}` and `{other}` both write `{name}`, in no order");
                    Diagnostic::new(Code::UnorderedWriters, self.step(one).place, message)
                        .label(format!("writes `{name}`"))
                        .help(format!(
                            "give one of them another `output`, or add `depends_on: [{other}]` to `{id}`"
                        ))
                }));
            }
        }
    }
}
