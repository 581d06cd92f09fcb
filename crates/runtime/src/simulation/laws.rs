//! Laws that hold for every run, whatever happened to it.

use std::collections::{BTreeMap, BTreeSet};

use engine::{
    EndReason, Event, Outcome, Record, RunStatus, StepStatus,
    run::{
        event::Stored,
        frame::{Frame, FrameId},
        step_path::{is_below, split_instance},
    },
};
use recipe::plan::{JsonMode, StepKind};

use super::{answers, child::Child, life::Story, order_laws, with};
use crate::{report::RunResult, runs::OpenedRun};

fn complain(what: String) {
    with(|world| world.complain(what));
}

/// Checks the laws about a whole run.
pub(super) fn check(story: &Story) {
    let Ok(folder) = story.runs().find("last") else { return };
    match story.runs().open(folder) {
        Ok(shown) => {
            nothing_is_done_twice(&shown.records);
            effects_are_not_retried(&shown);
            acts_are_recorded(&shown);
            ends_are_true(&shown);
            limits_hold(&shown);
            order_laws::check(&shown);
            answers::are_used_once(story, &shown);
        }
        Err(error) => complain(format!("the run cannot be opened: {error}")),
    }
}

/// Checks the laws about one result.
pub(super) fn check_result(story: &Story, result: &RunResult) {
    if result.reason.map(EndReason::status) != Some(result.status)
        || result.reason == Some(EndReason::Blocked)
        || result.success != (result.status == RunStatus::Completed)
    {
        complain(format!("status {:?} for the reason {:?}", result.status, result.reason));
    }
    let Ok(shown) = story.runs().find("last").map(|folder| story.runs().open(folder)) else { return };
    let shown = match shown {
        Ok(shown) => shown,
        Err(error) => return complain(format!("the run cannot be opened: {error}")),
    };
    match shown.records.last().map(|record| &record.event) {
        Some(Event::RunFinished(finished)) if Some(finished.reason) == result.reason => {}
        other => complain(format!("the result says {:?}, the journal {other:?}", result.reason)),
    }
    let mut again = shown.result();
    again.evidence = None;
    let (printed, stored) = (serde_json::to_value(result), serde_json::to_value(&again));
    let (printed, stored) = (printed.expect("JSON"), stored.expect("JSON"));
    for (name, value) in printed.as_object().expect("an object") {
        if stored.get(name) != Some(value) {
            complain(format!("`show` says {name} = {:?}, the run said {value}", stored.get(name)));
        }
    }
    if result.status == RunStatus::Completed {
        success_is_earned(&shown, 0);
    }
    let is_named =
        result.failure.is_some() || result.status == RunStatus::Completed || !result.asks.is_empty();
    if !is_named && !matches!(result.status, RunStatus::Interrupted | RunStatus::Cancelled) {
        complain(format!("{:?} without a reason", result.status));
    }
}

/// A recipe that succeeded has only steps that succeeded, were skipped for a reason, or may fail.
fn success_is_earned(shown: &OpenedRun, id: FrameId) {
    let frame = &shown.state.frames[id];
    for (at, step) in frame.steps.iter().enumerate() {
        let fine = match step.status {
            StepStatus::Completed | StepStatus::Degraded => true,
            StepStatus::Skipped => step.skipped.is_some(),
            StepStatus::Failed => !frame.is_fatal(at),
            // a loop may end before all its iterations
            StepStatus::Pending => frame.repeat().is_some(),
            StepStatus::Running | StepStatus::Waiting => false,
        };
        if !fine {
            complain(format!("success, but `{}` is {:?}", frame.step_path(at), step.status));
        }
        if let (Some(child), StepStatus::Completed, false) = (step.frame, step.status, step.recovered) {
            success_is_earned(shown, child);
        }
    }
}

fn is_redone(path: &str, rerun: &[String]) -> bool {
    // a loop that is entered again keeps the instances whose items and inputs are the same
    let is_instance = |named: &str| {
        let rest = named.strip_suffix('/').and_then(|looped| path.strip_prefix(looped));
        rest.is_some_and(|rest| rest.starts_with('['))
    };
    rerun
        .iter()
        .any(|named| named == path || is_below(path, named) || is_below(named, path) || is_instance(named))
}

/// A recipe is not retried once it has a completed step that must not run twice. A step that a person skipped does not
/// start unless a resume says so.
fn effects_are_not_retried(shown: &OpenedRun) {
    let is_for_once = |path: &str| {
        let place = shown.state.locate(path);
        let step = place.map(|(frame, at)| &shown.state.frames[frame].unit.steps[at]);
        step.is_some_and(|step| !step.idempotent || !step.effects.is_empty())
    };
    let mut done: BTreeSet<&str> = BTreeSet::new();
    let mut left_out: BTreeSet<&str> = BTreeSet::new();
    let mut cleaning: BTreeSet<&str> = BTreeSet::new();
    for record in &shown.records {
        match &record.event {
            Event::RunResumed(resumed) => {
                done.retain(|path| !is_redone(path, &resumed.rerun) && !is_redone(path, &resumed.cleanup));
                let given_up = resumed.rerun.iter().chain(&resumed.cleanup).cloned().collect::<Vec<_>>();
                left_out.retain(|path| !is_redone(path, &given_up));
                left_out.extend(resumed.skip.iter().map(String::as_str));
                cleaning.clear();
            }
            Event::StepStarted { path, .. } if left_out.contains(path.as_str()) => {
                complain(format!("`{path}` was left out and starts"));
            }
            Event::CleanupBegan { path, .. } => drop(cleaning.insert(path)),
            // a recipe that runs again cleans up again
            Event::StepFinished { path, .. }
                if cleaning.iter().any(|recipe| recipe.is_empty() || is_below(path, recipe)) => {}
            Event::StepFinished { path, status, .. } if status.is_done() => drop(done.insert(path)),
            Event::AttemptFailed { path, ended, .. } if ended.outcome != Outcome::Cancelled => {
                if let Some(inner) = done.iter().find(|done| is_below(done, path) && is_for_once(done)) {
                    complain(format!("`{path}` is tried again, though `{inner}` is done"));
                }
                cleaning.retain(|recipe| recipe != path && !is_below(recipe, path));
            }
            _ => {}
        }
    }
}

/// A completed step starts again only if a resume says so.
fn nothing_is_done_twice(records: &[Record]) {
    let mut done: BTreeSet<&str> = BTreeSet::new();
    let mut attempts: BTreeMap<&str, u32> = BTreeMap::new();
    let mut stopped: BTreeSet<&str> = BTreeSet::new();
    let mut cleaning: BTreeSet<&str> = BTreeSet::new();
    // work that waits for its proof; recipes are entered again
    let (mut worked, mut entered): (BTreeSet<&str>, BTreeSet<&str>) = Default::default();
    let mut inputs: BTreeMap<&str, &Option<String>> = BTreeMap::new();
    let mut done_now: BTreeSet<&str> = BTreeSet::new();
    let mut is_over = false;
    for record in records {
        let resumes = matches!(record.event, Event::RunResumed(_) | Event::RunTakenOver { .. });
        // a resume that waits for a decision starts nothing, and records that
        let waits = matches!(&record.event, Event::RunFinished(end) if end.status == RunStatus::Waiting);
        let asks = matches!(record.event, Event::Answered(_) | Event::QuestionPut(_));
        if is_over && !resumes && !waits && !asks {
            complain(format!("after the end: {record:?}"));
        }
        is_over = matches!(record.event, Event::RunFinished(_));
        match &record.event {
            Event::RunResumed(resumed) => {
                let is_kept =
                    |path: &&str| !is_redone(path, &resumed.rerun) && !is_redone(path, &resumed.cleanup);
                done.retain(is_kept);
                worked.retain(is_kept);
                done_now.clear();
                stopped.clear();
                cleaning.clear();
            }
            Event::StepStarted { path, attempt, inputs: now } => {
                // an instance whose inputs have changed is done again
                let before = inputs.insert(path, now);
                if split_instance(path).is_some() && before.is_some_and(|before| before != now) {
                    done.retain(|done| done != path && !is_below(done, path));
                }
                let cleans_up = |outer: &str| {
                    cleaning
                        .iter()
                        .any(|recipe| is_below(path, recipe) && (*recipe == outer || is_below(recipe, outer)))
                };
                if let Some(outer) = stopped.iter().find(|outer| is_below(path, outer) && !cleans_up(outer)) {
                    complain(format!("`{path}` starts, but `{outer}` was stopped"));
                }
                if done.contains(path.as_str()) {
                    complain(format!("`{path}` is done and starts again"));
                }
                if worked.remove(path.as_str()) && !entered.contains(path.as_str()) {
                    complain(format!("the work of `{path}` is done and starts again"));
                }
                stopped.remove(path.as_str());
                if attempts.insert(path, *attempt).is_some_and(|last| last >= *attempt) {
                    complain(format!("attempt {attempt} of `{path}` comes twice"));
                }
            }
            Event::RecipeEntered { path, .. } => drop(entered.insert(path)),
            Event::WorkEnded { path, .. } => drop(worked.insert(path)),
            Event::AttemptFailed { path, .. } => {
                worked.remove(path.as_str());
                let below = format!("{path}/");
                done.retain(|done| !done.starts_with(&below));
            }
            Event::RecipeStopped { path, .. } => drop(stopped.insert(path)),
            Event::CleanupBegan { path, .. } => {
                cleaning.insert(path);
                // cleanup steps run again at a new end
                let is_inside = |done: &str| path.is_empty() || is_below(done, path);
                done.retain(|done| done_now.contains(done) || !is_inside(done));
            }
            Event::StepFinished { path, status, recovered, .. } => {
                if stopped.contains(path.as_str()) && status.is_done() && !recovered {
                    complain(format!("`{path}` took too long, and is {status:?}"));
                }
                if done.contains(path.as_str()) {
                    complain(format!("`{path}` ends twice"));
                }
                if status.is_done() {
                    done.insert(path);
                    done_now.insert(path);
                }
            }
            _ => {}
        }
    }
}

/// Record, then act: no process starts without the record that announces it.
fn acts_are_recorded(shown: &OpenedRun) {
    let started: BTreeSet<(&str, u32)> = shown
        .records
        .iter()
        .filter_map(|record| match &record.event {
            Event::StepStarted { path, attempt, .. } => Some((path.as_str(), *attempt)),
            _ => None,
        })
        .collect();
    let unannounced: Vec<String> = with(|world| {
        let mains = world.children.iter().filter(|child| child.is_main);
        let strangers =
            mains.filter(|child| child.attempt().is_some_and(|attempt| !started.contains(&attempt)));
        strangers.map(|child| child.marker.step.clone()).collect()
    });
    if !unannounced.is_empty() {
        complain(format!("started without a record: {unannounced:?}"));
    }
}

/// The ends in the journal are what happened.
fn ends_are_true(shown: &OpenedRun) {
    for record in &shown.records {
        let Event::StepFinished { path, attempt, status, ended, recovered: false } = &record.event else {
            continue;
        };
        let Some((frame, at)) = shown.state.locate(path) else { continue };
        let step = &shown.state.frames[frame].unit.steps[at];
        let has_no_process = shown.state.frames[frame].has_steps(at) || matches!(step.kind, StepKind::Ask(_));
        if !status.is_done() || has_no_process {
            continue;
        }
        let name = format!("{path}#{attempt}");
        let is_text = step.json == JsonMode::Text && ended.outcome == Outcome::Ok;
        let problem = with(|world| {
            let mut mine = world.children.iter().filter(|child| child.is_main && child.marker.step == name);
            let child = mine.next_back()?;
            match (&step.kind, &ended.value) {
                (StepKind::Shell { .. }, _) if !ended_well(child) => Some("its process failed".to_owned()),
                (StepKind::Shell { .. }, Some(Stored::Inline(value))) if is_text => {
                    let printed = String::from_utf8_lossy(&child.printed);
                    (value.render() != printed.trim_end_matches('\n'))
                        .then(|| format!("its value is {value:?}"))
                }
                (_, None) => Some("it has no value".to_owned()),
                (StepKind::Agent(_), Some(Stored::Inline(value))) => {
                    let is_own = value.render().contains(&name) || !is_text;
                    (!is_own).then(|| format!("its value is {value:?}"))
                }
                _ => None,
            }
        });
        let started = with(|world| world.children.iter().any(|child| child.marker.step == name));
        if let Some(problem) = problem.or_else(|| (!started).then(|| "nothing was started".to_owned())) {
            complain(format!("`{name}` is {status:?}, but {problem}"));
        }
    }
}

fn ended_well(child: &Child) -> bool {
    matches!(child.exit, Some((_, crate::os::process::Exit::Code(0))))
}

/// Steps, attempts and agent calls stay within the limits of the recipe, over all lives.
fn limits_hold(shown: &OpenedRun) {
    let root = shown.plan.root();
    let ran = count_steps(shown, 0);
    if let Some(limit) = root.limits.max_total_steps.filter(|limit| ran > *limit) {
        complain(format!("{ran} steps ran, {limit} are allowed"));
    }
    let mut agents = 0;
    let mut starts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut tries: BTreeMap<&str, u64> = BTreeMap::new();
    for record in &shown.records {
        match &record.event {
            Event::Spawned(spawned) => {
                let at = spawned.pid as usize - 1_900_000_000;
                agents += u64::from(with(|world| world.children[at].is_agent));
            }
            Event::StepStarted { path, .. } => *starts.entry(path).or_default() += 1,
            Event::RunResumed(_) | Event::RunTakenOver { .. } => starts.clear(),
            // a cleanup step puts its question again
            Event::QuestionWithdrawn { path, .. } => {
                starts.retain(|known, _| *known != path && !is_below(known, path));
            }
            Event::AttemptFailed { path, ended, .. } => {
                let below = format!("{path}/");
                tries.retain(|known, _| !known.starts_with(&below));
                let counts = !matches!(ended.outcome, Outcome::Cancelled | Outcome::RateLimited { .. });
                *tries.entry(path).or_default() += u64::from(counts);
                let most = own_attempts(shown, path);
                if tries[path.as_str()] >= most && counts {
                    complain(format!(
                        "`{path}` failed {} times, {most} attempts are allowed",
                        tries[path.as_str()]
                    ));
                }
            }
            Event::StepFinished { path, .. } => drop(tries.remove(path.as_str())),
            _ => {}
        }
        if let Event::StepStarted { path, .. } = &record.event
            && starts[path.as_str()] > most_attempts(shown, path)
        {
            complain(format!("`{path}` is tried {} times", starts[path.as_str()]));
        }
    }
    if let Some(limit) = root.budget.agent_runs.filter(|limit| agents > *limit) {
        complain(format!("{agents} agents were started, {limit} are allowed"));
    }
}

fn count_steps(shown: &OpenedRun, id: FrameId) -> u64 {
    let frame: &Frame = &shown.state.frames[id];
    let count = |at: usize| match frame.steps[at].frame {
        // no limit keeps a recipe from cleaning up
        _ if frame.steps[at].is_cleanup => 0,
        Some(child) => count_steps(shown, child),
        None => u64::from(frame.steps[at].attempt > 0 && !frame.has_steps(at)),
    };
    (0..frame.steps.len()).map(count).sum()
}

/// How often a step may be tried in one life: its own attempts, times those of the recipes around it.
fn most_attempts(shown: &OpenedRun, path: &str) -> u64 {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    let own = |path: &str| {
        let Some((frame, at)) = shown.state.locate(path) else { return 8 };
        let is_agent = matches!(shown.state.frames[frame].unit.steps[at].kind, StepKind::Agent(_));
        own_attempts(shown, path) + if is_agent { 5 } else { 0 }
    };
    ends.map(|end| own(&path[..end])).product()
}

fn own_attempts(shown: &OpenedRun, path: &str) -> u64 {
    let Some((frame, at)) = shown.state.locate(path) else { return 3 };
    let step = &shown.state.frames[frame].unit.steps[at];
    step.retry.as_ref().map_or(1, |retry| retry.max_attempts)
}
