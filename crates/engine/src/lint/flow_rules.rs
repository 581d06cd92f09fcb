//! Rules about the order of edits, checks, reviews and effects.

use std::collections::HashSet;

use recipe::{
    graph::{self, patterns_meet},
    plan::{AgentPrograms, EnsureRule, Plan, Step, StepKind, Target, Unit, ValueTemplate},
    syntax::{PermissionLevel, When},
    template::Template,
};

use super::{
    LintCode, Report,
    flow::{CheckSort, FlowItem, ItemKind, flow},
    view::{StepView, UnitView},
};

/// Looks at a recipe with its sub-recipes.
pub(super) fn look(plan: &Plan, views: &[UnitView<'_>], report: &mut Report<'_>) {
    let items = flow(plan, views);
    for (at, item) in items.iter().enumerate() {
        match item.kind {
            ItemKind::Edit { is_proven } => {
                if !is_proven {
                    ungated(&items, at, report);
                }
                shape_only(&items, at, report);
            }
            ItemKind::Review => same_program(&items, at, report),
            ItemKind::Effect => unguarded(&items, at, views, report),
            ItemKind::Check(_) | ItemKind::Ask => {}
        }
    }
    for view in views {
        reviewers(view, report);
        parallel_writers(view, report);
    }
}

/// The items after one, up to the next effect or the end.
fn until_effect<'i, 'a>(items: &'i [FlowItem<'a>], at: usize) -> impl Iterator<Item = &'i FlowItem<'a>> {
    items[at + 1..].iter().take_while(|item| item.kind != ItemKind::Effect)
}

fn ungated(items: &[FlowItem<'_>], at: usize, report: &mut Report<'_>) {
    let is_gate = |item: &FlowItem<'_>| matches!(item.kind, ItemKind::Check(_) | ItemKind::Ask);
    if until_effect(items, at).any(is_gate) {
        return;
    }
    let step = items[at].step.step;
    let is_judge = |item: &FlowItem<'_>| is_gate(item) || item.kind == ItemKind::Review;
    let is_after = items[..at].iter().any(is_judge) && !until_effect(items, at).any(is_judge);
    let (code, message) = match is_after {
        true => (
            LintCode::EditAfterGate,
            format!("the agent of `{}` edits after the last check or review", step.id),
        ),
        false => (LintCode::UngatedEdit, format!("no check follows the edits of the agent of `{}`", step.id)),
    };
    let help = "add `ensure` with a command, or a bash step after it that runs the tests";
    report.at_step(code, step, message, help);
}

fn shape_only(items: &[FlowItem<'_>], at: usize, report: &mut Report<'_>) {
    let mut shapes = 0;
    for item in until_effect(items, at) {
        match item.kind {
            ItemKind::Check(CheckSort::Shape) => shapes += 1,
            ItemKind::Check(_) | ItemKind::Ask | ItemKind::Review => return,
            ItemKind::Edit { .. } | ItemKind::Effect => {}
        }
    }
    if shapes > 0 {
        let step = items[at].step.step;
        let message = format!("only the form of the work of `{}` is checked, not what it does", step.id);
        let help = "run the tests, or the program itself, after the edit";
        report.at_step(LintCode::ShapeOnly, step, message, help);
    }
}

/// A review by the program that did the work.
fn same_program(items: &[FlowItem<'_>], at: usize, report: &mut Report<'_>) {
    let review = items[at].step;
    let Some(reviewer) = review.agent() else { return };
    let writers = items[..at].iter().filter(|item| matches!(item.kind, ItemKind::Edit { .. }));
    let same = writers
        .into_iter()
        .find(|item| item.step.agent().is_some_and(|writer| is_same(&writer.programs, &reviewer.programs)));
    if let Some(writer) = same {
        let who = reviewer.programs.fixed().and_then(|names| names.first().cloned());
        let who = who.map_or("the default program".to_owned(), |name| format!("`{name}`"));
        let (id, by) = (&review.step.id, &writer.step.step.id);
        let message = format!("`{id}` is a review by {who}, which also did the work of `{by}`");
        let help = "name another program for the review with `agent_binary`";
        report.at_step(LintCode::ReviewerIsWriter, review.step, message, help);
    }
}

/// Whether two steps use the same program for certain: both the first one of the same name, or both that of the run.
fn is_same(a: &AgentPrograms, b: &AgentPrograms) -> bool {
    match (a.fixed(), b.fixed()) {
        (Some(a), Some(b)) => a.first() == b.first(),
        _ => a == b,
    }
}

fn unguarded(items: &[FlowItem<'_>], at: usize, views: &[UnitView<'_>], report: &mut Report<'_>) {
    let step = items[at].step;
    let Some(words) = views.first().map(|view| &view.words().effects) else { return };
    let is_proven =
        |item: &FlowItem<'_>| !item.step.step.ensure.is_empty() && item.step.step.id != step.step.id;
    let is_check = |item: &FlowItem<'_>| matches!(item.kind, ItemKind::Check(_) | ItemKind::Ask);
    let field = if step.step.effects.is_empty() { "command" } else { "effects" };
    let what = step.effects.join(", ");
    if !items[..at].iter().any(|item| is_check(item) || is_proven(item)) {
        let message = format!("nothing is checked before the effect of `{}` ({what})", step.step.id);
        let help = "run a check in an earlier step: tests, a comparison, or a question to a person";
        report.at_field(LintCode::UnguardedEffect, (step.step, field), message, help);
        return;
    }
    let serious = step.effects.iter().find(|effect| words.needs_approval(effect));
    let is_asked = items[..at].iter().any(|item| item.kind == ItemKind::Ask);
    if let Some(serious) = serious.filter(|_| !is_asked) {
        let message = format!("no person is asked before `{}` ({serious})", step.step.id);
        let help = "add a step with `ask` before it";
        report.at_field(LintCode::UnguardedEffect, (step.step, field), message, help);
    }
}

/// Reviews that may change what they review.
fn reviewers(view: &UnitView<'_>, report: &mut Report<'_>) {
    for step in view.steps.iter().filter(|step| step.is_review) {
        let Some(agent) = step.agent() else { continue };
        let is_limited = is_read_only(view, agent) || step.is_kept_from_edits();
        if !is_limited {
            let message = format!("the review `{}` may change what it reviews", step.step.id);
            let help = "add `permissions: read-only`, or `ensure` with `unchanged`";
            report.at_step(LintCode::ReviewerEdits, step.step, message, help);
        }
    }
}

/// Whether an agent may only read: its recipe says so, or one around it.
fn is_read_only(view: &UnitView<'_>, agent: &recipe::plan::AgentStep) -> bool {
    let root = view.plan.root().limits.permissions.map(|permissions| permissions.level);
    view.permission(agent, root) == Some(PermissionLevel::ReadOnly)
}

/// Agents that edit at the same time in one directory.
fn parallel_writers(view: &UnitView<'_>, report: &mut Report<'_>) {
    let writers: Vec<usize> = (0..view.steps.len()).filter(|at| edits(view, &view.steps[*at])).collect();
    for at in &writers {
        let step = view.steps[*at].step;
        // a number that is a template is not known here
        let most = step.each().and_then(|each| match &each.max_parallel {
            ValueTemplate::Plain(value) => value.render().parse::<usize>().ok(),
            _ => None,
        });
        if let Some(most) = most.filter(|most| *most > 1 && !has_own_place(step)) {
            let message =
                format!("up to {most} instances of `{}` edit at the same time in one directory", step.id);
            let help =
                "give every instance a directory of its own with `working_dir`, or remove `max_parallel`";
            report.at_field(LintCode::ParallelWriters, (step, "max_parallel"), message, help);
        }
    }
    let before = reached(view.unit, view.plan, &writers);
    for (place, at) in writers.iter().enumerate() {
        let beside = writers[..place].iter().find(|other| {
            is_beside(view.unit, **other, *at, &before)
                && is_same_place(&view.steps[**other], &view.steps[*at])
        });
        if let Some(other) = beside {
            let (a, b) = (&view.steps[*other].step.id, view.steps[*at].step);
            let message = format!("`{a}` and `{}` edit at the same time in one directory", b.id);
            let help = "run them one after the other, or give each a `working_dir` of its own";
            report.at_step(LintCode::ParallelWriters, b, message, help);
        }
    }
}

/// Whether a step edits, itself or in its sub-recipe.
fn edits(view: &UnitView<'_>, step: &StepView<'_>) -> bool {
    let is_ok = step.step.when == When::Ok;
    match &step.step.kind {
        StepKind::Agent(agent) => {
            is_ok
                && step.asks_for_edits
                && !step.is_kept_from_edits()
                && !is_read_only(view, agent)
                && !step.is_review
        }
        StepKind::Nested { target: Target::Known { unit, .. }, overrides, .. } => {
            let words = view.words();
            let inner = view.plan.unit(*unit);
            let is_plain = overrides.iter().all(|(_, value)| value.templates().is_empty());
            is_ok
                && is_plain
                && inner.steps.iter().any(|step| {
                    let asks = super::view::agent_edits(step, words);
                    asks && step.working_dir.is_none() && inner.limits.permissions.is_none()
                })
        }
        _ => false,
    }
}

/// For a graph, the steps that come before each of these steps.
fn reached(unit: &Unit, plan: &Plan, writers: &[usize]) -> Vec<HashSet<usize>> {
    if !unit.is_graph || writers.len() < 2 {
        return Vec::new();
    }
    let edges = graph::edges_in(plan, unit);
    let mut into: Vec<Vec<usize>> = vec![Vec::new(); unit.steps.len()];
    edges.iter().for_each(|edge| into[edge.to].push(edge.from));
    let all_before = |at: usize| {
        let (mut open, mut seen) = (into[at].clone(), HashSet::new());
        while let Some(from) = open.pop() {
            if seen.insert(from) {
                open.extend(&into[from]);
            }
        }
        seen
    };
    let is_writer = |at: usize| writers.contains(&at);
    (0..unit.steps.len()).map(|at| if is_writer(at) { all_before(at) } else { HashSet::new() }).collect()
}

/// Whether two steps may run at the same time.
fn is_beside(unit: &Unit, a: usize, b: usize, before: &[HashSet<usize>]) -> bool {
    match unit.is_graph {
        true => !before[a].contains(&b) && !before[b].contains(&a),
        false => unit.steps[a].group.is_some() && unit.steps[a].group == unit.steps[b].group,
    }
}

fn is_same_place(a: &StepView<'_>, b: &StepView<'_>) -> bool {
    let dir = |step: &Step| step.working_dir.as_ref().map(|dir| dir.text().to_owned());
    let fenced = |step: &Step| -> Option<Vec<String>> {
        step.ensure.iter().find_map(|rule| match rule {
            EnsureRule::OnlyChanged(patterns) => {
                patterns.iter().map(|pattern| pattern.as_literal().map(str::to_owned)).collect()
            }
            _ => None,
        })
    };
    let is_apart = match (fenced(a.step), fenced(b.step)) {
        (Some(a), Some(b)) => !a.iter().any(|one| b.iter().any(|other| patterns_meet(one, other))),
        _ => false,
    };
    dir(a.step) == dir(b.step) && !is_apart
}

/// Whether every instance of a loop has its own directory, or its own files.
fn has_own_place(step: &Step) -> bool {
    let is_own = |template: &Template| template.names().iter().any(|(path, _)| step.is_loop_name(&path.root));
    let is_fenced = step.ensure.iter().any(|rule| match rule {
        EnsureRule::OnlyChanged(patterns) => patterns.iter().all(is_own),
        _ => false,
    });
    step.working_dir.as_ref().is_some_and(is_own) || is_fenced
}
