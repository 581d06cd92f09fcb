//! Limits that a recipe cannot keep: found before anything runs.
//!
//! Counts only steps that must run: those without a condition, tags or a name that is a template.

use std::collections::HashMap;

use crate::{
    diagnostic::{Code, Diagnostic},
    plan::{Limits, Loop, Plan, Step, StepKind, Target, Unit, UnitId, ValueTemplate},
};

/// The least that a recipe needs; `None` if it calls itself without end.
#[derive(Clone, Copy, Debug)]
struct Needs {
    steps: u64,
    depth: u64,
}

pub(super) fn check(plan: &Plan, diagnostics: &mut Vec<Diagnostic>) {
    let mut known = HashMap::new();
    for (at, unit) in plan.units.iter().enumerate() {
        let id = UnitId(at as u32);
        let is_root = id == plan.root;
        let depth = unit.limits.max_depth.or(is_root.then_some(Limits::DEFAULT_DEPTH));
        let steps = unit.limits.max_total_steps.or(is_root.then_some(Limits::DEFAULT_STEPS));
        let needs = needs(plan, id, &mut known);
        let Some(place) = unit.steps.first().map(|step| step.place) else { continue };
        let depth_needed = needs.map_or(u64::MAX, |needs| needs.depth);
        let steps_needed = needs.map_or(0, |needs| needs.steps);
        if let Some(limit) = depth.filter(|limit| depth_needed > *limit) {
            let message = match needs {
                Some(_) => format!(
                    "recipes nest {} deep below `{}`, but at most {limit} {} allowed",
                    levels(depth_needed),
                    unit.name,
                    if limit == 1 { "is" } else { "are" },
                ),
                None => format!(
                    "circular: recipes below `{}` call each other without end, but at most {} may nest",
                    unit.name,
                    levels(limit),
                ),
            };
            diagnostics.push(Diagnostic::new(Code::LimitExceeded, place, message).help(
                "the step that goes too deep will fail; raise `recursion.max_depth` or add a `condition`",
            ));
        }
        if let Some(limit) = steps.filter(|limit| steps_needed > *limit) {
            let message = format!(
                "at least {steps_needed} {} in `{}`, but at most {limit} {} allowed",
                if steps_needed == 1 { "step runs" } else { "steps run" },
                unit.name,
                if limit == 1 { "is" } else { "are" },
            );
            diagnostics.push(
                Diagnostic::new(Code::LimitExceeded, place, message)
                    .help("the step over the limit will fail; raise `recursion.max_total_steps`"),
            );
        }
    }
}

fn levels(number: u64) -> String {
    if number == 1 { "1 level".to_owned() } else { format!("{number} levels") }
}

fn needs(plan: &Plan, id: UnitId, known: &mut HashMap<UnitId, Option<Needs>>) -> Option<Needs> {
    if let Some(needs) = known.get(&id) {
        return *needs;
    }
    // a recipe that reaches itself again has no finite size
    known.insert(id, None);
    let found = unit_needs(plan, plan.unit(id), known);
    known.insert(id, found);
    found
}

fn unit_needs(plan: &Plan, unit: &Unit, known: &mut HashMap<UnitId, Option<Needs>>) -> Option<Needs> {
    let mut total = Needs { steps: 0, depth: 0 };
    let certain = |step: &&std::sync::Arc<crate::plan::Step>| {
        step.condition.is_none() && step.tags.is_empty() && step.depends_on.is_empty()
    };
    for step in unit.steps.iter().filter(certain) {
        let times = least_times(step);
        match &step.kind {
            // it may have no instance at all
            _ if times == 0 => {}
            StepKind::Nested { target: Target::Known { unit, .. }, .. } => {
                let below = needs(plan, *unit, known)?;
                total.steps = total.steps.saturating_add(below.steps.saturating_mul(times));
                total.depth = total.depth.max(below.depth + 1);
            }
            StepKind::Nested { .. } => total.depth = total.depth.max(1),
            _ => total.steps = total.steps.saturating_add(times),
        }
    }
    Some(total)
}

/// How often a step runs at least.
fn least_times(step: &Step) -> u64 {
    match &step.looped {
        None => 1,
        Some(Loop::Each(each)) => match &each.list {
            ValueTemplate::List(items) => items.len() as u64,
            _ => 0,
        },
        Some(Loop::Repeat(repeat)) => {
            if repeat.until.is_some() {
                1
            } else {
                repeat.max as u64
            }
        }
    }
}
