//! A recipe with its sub-recipes as one sequence: edits, checks, reviews, questions and effects in their order.

use std::collections::HashMap;

use recipe::{
    graph::{self, needs},
    plan::{EnsureRule, Plan, Step, StepKind, Target, UnitId},
    syntax::{PermissionLevel, When},
};

use super::view::{StepView, UnitView};

/// Something in the sequence, and the step that does it.
pub(super) struct FlowItem<'a> {
    pub(super) step: &'a StepView<'a>,
    pub(super) kind: ItemKind,
}

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    /// An agent edits files; whether rules of the step check its work.
    Edit {
        /// Whether the step has `ensure`.
        is_proven: bool,
    },
    /// Something judges the work.
    Check(CheckSort),
    /// An agent judges the work.
    Review,
    /// A person is asked.
    Ask,
    /// Something outside changes.
    Effect,
}

/// How good a check is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckSort {
    /// It judges what the code does.
    Behaviour,
    /// It judges only the form of the code.
    Shape,
    /// Its commands are not known: it may judge anything.
    Unknown,
}

/// Builds the sequence.
pub(super) struct FlowBuilder<'a> {
    plan: &'a Plan,
    views: &'a [UnitView<'a>],
    items: Vec<FlowItem<'a>>,
    around: Vec<UnitId>,
    orders: HashMap<u32, Vec<usize>>,
}

/// The most items of a sequence: recipes that are used again and again do not make it endless.
const MOST: usize = 20_000;

/// The sequence of the main recipe.
pub(super) fn flow<'a>(plan: &'a Plan, views: &'a [UnitView<'a>]) -> Vec<FlowItem<'a>> {
    let mut builder =
        FlowBuilder { plan, views, items: Vec::new(), around: Vec::new(), orders: HashMap::new() };
    builder.unit(plan.root, None);
    builder.items
}

impl<'a> FlowBuilder<'a> {
    fn unit(&mut self, id: UnitId, permission: Option<PermissionLevel>) {
        if self.around.contains(&id) || self.items.len() > MOST {
            return;
        }
        self.around.push(id);
        let view = &self.views[id.0 as usize];
        let order = self.order(id);
        for at in order {
            let step = &view.steps[at];
            if step.step.when == When::Ok {
                self.step(view, step, permission);
            }
        }
        self.around.pop();
    }

    /// The steps of a recipe in an order in which they can run.
    fn order(&mut self, id: UnitId) -> Vec<usize> {
        let (plan, unit) = (self.plan, self.plan.unit(id));
        let order = || match unit.is_graph {
            true => needs::order(unit.steps.len(), &graph::edges_in(plan, unit)),
            false => (0..unit.steps.len()).collect(),
        };
        self.orders.entry(id.0).or_insert_with(order).clone()
    }

    fn step(&mut self, view: &'a UnitView<'a>, step: &'a StepView<'a>, around: Option<PermissionLevel>) {
        let start = self.items.len();
        let mut push = |kind| self.items.push(FlowItem { step, kind });
        match &step.step.kind {
            StepKind::Shell { .. } => {
                if let Some(sort) = own_check(view, step) {
                    push(ItemKind::Check(sort));
                }
            }
            StepKind::Agent(agent) => {
                let may_edit = view.permission(agent, around) != Some(PermissionLevel::ReadOnly);
                if step.is_review {
                    push(ItemKind::Review);
                }
                let edits = step.asks_for_edits && may_edit && !step.is_kept_from_edits();
                if edits && !step.is_review {
                    push(ItemKind::Edit { is_proven: !step.step.ensure.is_empty() });
                }
            }
            StepKind::Ask(_) => push(ItemKind::Ask),
            StepKind::Nested { target: Target::Known { unit, .. }, .. } => {
                let own = view.unit.limits.permissions.map(|permissions| permissions.level);
                self.unit(*unit, own.or(around));
            }
            StepKind::Nested { .. } => push(ItemKind::Check(CheckSort::Unknown)),
        }
        for sort in proofs(view, step) {
            self.items.push(FlowItem { step, kind: ItemKind::Check(sort) });
        }
        if !step.effects.is_empty() {
            self.items.push(FlowItem { step, kind: ItemKind::Effect });
        }
        if step.step.repeat().is_some_and(|repeat| repeat.until.is_some()) {
            self.again(start);
        }
    }

    /// The checks of a loop follow its last edit: in the next iteration, or because its condition held without one.
    fn again(&mut self, start: usize) {
        let is_check =
            |item: &&FlowItem<'a>| matches!(item.kind, ItemKind::Check(_) | ItemKind::Review | ItemKind::Ask);
        let body = self.items[start..].iter();
        let last_edit = body.clone().rposition(|item| matches!(item.kind, ItemKind::Edit { .. }));
        let has_effect = body.clone().any(|item| item.kind == ItemKind::Effect);
        if last_edit.is_some() && !has_effect {
            let checks: Vec<FlowItem<'a>> =
                body.filter(is_check).map(|item| FlowItem { step: item.step, kind: item.kind }).collect();
            self.items.extend(checks);
        }
    }
}

/// How a bash step judges the work before it.
fn own_check(view: &UnitView<'_>, step: &StepView<'_>) -> Option<CheckSort> {
    let Some(script) = &step.script else { return Some(CheckSort::Unknown) };
    let verdicts: Vec<_> =
        script.commands.iter().filter(|command| command.is_verdict(view.knowledge)).collect();
    let is_behaviour = verdicts.iter().any(|command| !command.is_shape(view.knowledge));
    let is_unknown = script.commands.iter().any(|command| command.check.is_none() && !command.is_no_check);
    match () {
        () if script.cannot_fail && gives_verdict(view, step) => Some(CheckSort::Unknown),
        () if script.cannot_fail => None,
        () if is_behaviour => Some(CheckSort::Behaviour),
        () if is_unknown => Some(CheckSort::Unknown),
        () if !verdicts.is_empty() => Some(CheckSort::Shape),
        () if script.may_check() || view.knowledge.names_a_check(&step.step.id) => Some(CheckSort::Unknown),
        () => None,
    }
}

/// Whether a step prints what it found, for another step or as the result of the recipe.
fn gives_verdict(view: &UnitView<'_>, step: &StepView<'_>) -> bool {
    let branches = step.script.as_ref().is_some_and(|script| {
        let has_rest = script.list.entries.iter().any(|entry| entry.rest.len() > 1);
        has_rest || script.commands.iter().any(|command| command.is_condition)
    });
    let is_last = view.unit.result_template().is_none()
        && view.unit.steps.last().is_some_and(|last| last.id == step.step.id);
    branches && (is_last || view.is_read(step.step))
}

/// How the rules of a step judge its work. Rules about changed files say nothing about what the work is worth.
fn proofs(view: &UnitView<'_>, step: &StepView<'_>) -> Vec<CheckSort> {
    let mut sorts: Vec<CheckSort> = Vec::new();
    for rule in &step.rules {
        sorts.push(match &rule.script {
            None => CheckSort::Unknown,
            Some(script) => {
                match script.commands.iter().all(|one| one.is_shape(view.knowledge) || one.is_no_check) {
                    true if script.has_check(view.knowledge) => CheckSort::Shape,
                    _ => CheckSort::Behaviour,
                }
            }
        });
    }
    let has_condition = |step: &Step| step.ensure.iter().any(|rule| matches!(rule, EnsureRule::Condition(_)));
    sorts.extend(has_condition(step.step).then_some(CheckSort::Unknown));
    sorts
}
