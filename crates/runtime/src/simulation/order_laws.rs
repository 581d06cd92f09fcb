//! Laws about the order of steps: cleanup comes last and at most once, and only where it is meant to.

use std::collections::{BTreeMap, BTreeSet};

use engine::{
    Event, StepStatus,
    run::step_path::{is_below, split_instance},
};
use recipe::{graph, plan::Step, syntax::When};

use super::with;
use crate::runs::OpenedRun;

fn complain(what: String) {
    with(|world| world.complain(what));
}

fn recipe_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(recipe, _)| recipe)
}

fn is_at_or_below(path: &str, step: &str) -> bool {
    path == step || is_below(path, step)
}

/// Checks these laws.
pub(super) fn check(shown: &OpenedRun) {
    // recipes that clean up, with whether the run was stopped
    let mut cleaning: BTreeMap<&str, bool> = BTreeMap::new();
    let mut cleaned: BTreeSet<&str> = BTreeSet::new();
    let mut ended: BTreeSet<&str> = BTreeSet::new();
    let mut stay_failed: BTreeSet<&str> = BTreeSet::new();
    let mut timed_out: BTreeSet<&str> = BTreeSet::new();
    for record in &shown.records {
        match &record.event {
            Event::RunResumed(resumed) => {
                // a loop is entered again for an instance that runs again
                let is_redone = |path: &str| {
                    let mut redone = resumed.rerun.iter().chain(&resumed.cleanup);
                    redone.any(|step| is_at_or_below(path, step) || is_below(step, path))
                };
                ended.retain(|path| !is_redone(path));
                ended.extend(resumed.skip.iter().map(String::as_str));
                cleaning.clear();
                cleaned.retain(|path| !is_redone(path));
                stay_failed = resumed.failed.iter().map(String::as_str).collect();
            }
            Event::CleanupBegan { path, stopped, .. } => drop(cleaning.insert(path, stopped.is_some())),
            Event::RecipeStopped { path, .. } => drop(timed_out.insert(path)),
            // a recipe that timed out and was cut off in its cleanup begins anew, as in a resume
            Event::RunTakenOver { .. } => {
                let begins_anew =
                    |recipe: &str| timed_out.iter().any(|stopped| is_at_or_below(recipe, stopped));
                cleaning.retain(|recipe, _| !begins_anew(recipe));
                cleaned.retain(|step| !begins_anew(recipe_of(step)));
                ended.retain(|step| !begins_anew(recipe_of(step)));
            }
            // a retry begins the recipe of the step anew
            Event::AttemptFailed { path, .. } => {
                cleaning.retain(|recipe, _| !is_at_or_below(recipe, path));
                cleaned.retain(|step| !is_at_or_below(recipe_of(step), path));
                ended.retain(|step| !is_at_or_below(recipe_of(step), path));
                stay_failed.retain(|step| !is_at_or_below(recipe_of(step), path));
            }
            Event::StepStarted { path, .. } => {
                ended.remove(path.as_str());
                if let Some(needed) = missing_need(shown, path, &ended) {
                    complain(format!("`{path}` starts before `{needed}`, which it needs"));
                }
                if stay_failed.contains(path.as_str()) {
                    complain(format!("`{path}` starts, but its recipe only cleans up"));
                }
                if cleaned.contains(path.as_str()) {
                    complain(format!("`{path}` cleans up twice"));
                }
                // `when` belongs to the loop, not to its instances
                if split_instance(path).is_some() {
                    continue;
                }
                let Some(step) = step(shown, path) else { continue };
                let is_right = match (cleaning.get(recipe_of(path)), step.when) {
                    (None, when) => when != When::Failed,
                    (Some(false), when) => when != When::Ok,
                    (Some(true), when) => when == When::Always,
                };
                if !is_right {
                    complain(format!(
                        "`{path}` with `when: {}` starts at the wrong time",
                        step.when.as_str()
                    ));
                }
            }
            Event::StepSkipped { path, .. } => drop(ended.insert(path)),
            Event::StepFinished { path, status, .. } => {
                ended.insert(path);
                // a loop that was cut off runs its failed instances again
                let may_run_again = *status == StepStatus::Failed && split_instance(path).is_some();
                if cleaning.contains_key(recipe_of(path)) && !may_run_again {
                    cleaned.insert(path);
                }
            }
            _ => {}
        }
    }
}

/// A step of a graph that has not ended, though the starting one needs it.
fn missing_need(shown: &OpenedRun, path: &str, ended: &BTreeSet<&str>) -> Option<String> {
    let (frame, at) = shown.state.locate(path)?;
    let frame = &shown.state.frames[frame];
    if !frame.unit.is_graph || frame.unit.steps[at].when != When::Ok {
        return None;
    }
    let edges = graph::edges_in(&shown.plan, &frame.unit);
    let mut needs = edges.iter().filter(|edge| edge.to == at).map(|edge| frame.step_path(edge.from));
    needs.find(|needed| !ended.contains(needed.as_str()) && frame.steps[at].skipped.is_none())
}

fn step<'a>(shown: &'a OpenedRun, path: &str) -> Option<&'a Step> {
    let (frame, at) = shown.state.locate(path)?;
    Some(&shown.state.frames[frame].unit.steps[at])
}
