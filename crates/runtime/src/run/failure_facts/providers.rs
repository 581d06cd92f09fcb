//! The environment variables that a recipe itself provides for a step, and why each may be missing.

use engine::{
    RunState, StepStatus,
    failure::{Lack, Provider},
    run::frame::{Frame, FrameId},
};
use recipe::{
    env_name,
    plan::{Plan, StepKind, Target},
    value::Value,
};

/// Everything that provides a variable for this step, in order of precedence: parallel steps, existing values, earlier
/// steps with the nearest first, later steps, then variables and inputs; the same for the recipes around it.
pub(super) fn providers(plan: &Plan, state: &RunState, id: FrameId, at: usize) -> Vec<Provider> {
    let mut found = Vec::new();
    let mut place = Some((id, at));
    while let Some((id, at)) = place.map(|place| state.in_recipe(place)) {
        let frame = &state.frames[id];
        let group = |at: usize| frame.unit.steps[at].group.as_ref().map(|group| group.number);
        let others = || (0..at).rev().chain(at + 1..frame.steps.len());
        // their values are in the context now, but were not when this step ran
        for from in others().filter(|from| group(at).is_some() && group(*from) == group(at)) {
            add_step(&mut found, plan, frame, from, Lack::Later);
        }
        for (name, _) in frame.context.iter().filter(|(_, value)| !is_empty(value)) {
            add(&mut found, name, None, Lack::NotPassedOn);
        }
        for from in others() {
            let lack = if from > at { Lack::Later } else { lack(frame.steps[from].status) };
            add_step(&mut found, plan, frame, from, lack);
        }
        for name in frame.unit.names.iter().chain(frame.context.keys()) {
            add(&mut found, name, None, Lack::Empty);
        }
        place = frame.parent;
    }
    found
}

fn add(found: &mut Vec<Provider>, name: &str, step: Option<String>, lack: Lack) {
    for variable in [env_name::alias(name), env_name::variable(name)].into_iter().flatten() {
        found.push(Provider { variable, name: name.to_owned(), step: step.clone(), lack });
    }
}

/// Adds the names that a step defines; those of a sub-recipe's steps are passed back.
fn add_step(found: &mut Vec<Provider>, plan: &Plan, frame: &Frame, at: usize, lack: Lack) {
    let step = &frame.unit.steps[at];
    let below = match &step.kind {
        StepKind::Nested { target: Target::Known { unit, .. }, .. } => {
            plan.units[unit.0 as usize].steps.as_slice()
        }
        _ => &[],
    };
    for name in step.store.iter().chain(below.iter().filter_map(|step| step.store.as_ref())) {
        add(found, name, Some(frame.step_path(at)), lack);
    }
}

/// Why an earlier step did not provide a value.
fn lack(status: StepStatus) -> Lack {
    match status {
        StepStatus::Pending | StepStatus::Running | StepStatus::Waiting => Lack::Later,
        StepStatus::Skipped => Lack::Skipped,
        StepStatus::Failed => Lack::Failed,
        StepStatus::Completed | StepStatus::Degraded => Lack::Empty,
    }
}

/// Whether a value is exported as empty text.
fn is_empty(value: &Value) -> bool {
    matches!(value, Value::Null) || matches!(value, Value::Text(text) if text.is_empty())
}
