//! Failures of a round: what failed at the bottom, and whether another way is tried. `orch detect`, `orch report`.

use engine::{
    Outcome, StepStatus,
    failure::{Class, StepType, diagnose},
    orchestration::{
        Adaptation, Adapted, FailureEntry, FailureMode, Guard, LeafFailure, RoundFacts, Route, TaskType,
        TerminalState, Workflows, adaptation, failure_fingerprint, failure_mode,
    },
    run::frame::FrameId,
};
use recipe::value::Value;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{
    Confidential, FailureReporter, TaskFailure,
    begin::StartFacts,
    caller::{Caller, step_in, value_in},
    round_evidence::hollow_round,
    rounds::{Executed, RoundView, rounds},
    streams::{PlacedStream, is_done},
    verb::VerbError,
};
use crate::{machine::host::Host, run::failure_facts::FailedRun, store::nesting_refusal};

/// The longest quote of a failure.
const QUOTE: usize = 600;

/// What went wrong in a round, and what follows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Detected {
    pub(super) mode: Option<FailureMode>,
    pub(super) class: Option<Class>,
    pub(super) step: Option<String>,
    pub(super) quote: String,
    pub(super) recipe: String,
    /// The workflow that can be executed instead.
    pub(super) fallback: Option<String>,
    /// The workstreams that are executed in another way.
    pub(super) adapt: Vec<PlacedStream>,
    /// Whether the agent of an operation is asked once more.
    pub(super) adapt_operations: bool,
    /// Why nothing is tried.
    pub(super) skipped: Option<String>,
    pub(super) failures: Vec<FailureEntry>,
    /// Whether a budget is spent.
    pub(super) is_budget: bool,
}

impl Detected {
    /// One line about the failure, if there is one.
    pub(super) fn line(&self) -> Option<String> {
        let mode = self.mode?;
        let step = self.step.as_deref().map(|step| format!(" in {step}")).unwrap_or_default();
        let then = match (&self.skipped, &self.fallback) {
            (Some(reason), _) => reason.clone(),
            (None, Some(recipe)) => format!("trying {recipe}"),
            (None, None) => "trying once more".to_owned(),
        };
        Some(format!("failure: {mode}{step}: {then}"))
    }
}

/// Looks at every execution of the round that the step belongs to.
pub(super) async fn detect(caller: &Caller) -> Detected {
    let all = rounds(caller.state());
    let Some(round) = all.last() else { return Detected::default() };
    let route: Option<Route> = value_in(caller.state().root(), "route");
    let leaves = leaves(caller, round);
    let hollow = hollow_round(caller, round).await;
    let mode_of = |leaf: &LeafFailure| mode_of(leaf, hollow.is_some());
    let mut detected = Detected::default();
    for leaf in &leaves {
        detected.failures.push(FailureEntry {
            round: round.number,
            mode: mode_of(leaf),
            class: Some(leaf.class),
            step: Some(leaf.step.clone()),
            quote: leaf.quote.clone(),
            recovered: false,
        });
    }
    if leaves.is_empty() {
        detected.failures.extend(hollow.as_ref().map(|why| hollow_entry(round, why)).or_else(|| gap(round)));
    }
    if round.number == 1 && route.as_ref().is_some_and(|route| route.guard != Guard::Allowed) {
        detected.failures.extend(blocked_split(caller));
    }
    detected.is_budget = leaves.iter().any(|leaf| matches!(leaf.outcome, Outcome::Budget(_)));
    let worst = leaves.iter().find(|leaf| mode_of(leaf) == FailureMode::Infrastructure).or(leaves.first());
    if let Some(first) = detected.failures.first().cloned() {
        detected.mode = Some(worst.map_or(first.mode, mode_of));
        detected.class = worst.map_or(first.class, |leaf| Some(leaf.class));
        detected.step = worst.map_or(first.step, |leaf| Some(leaf.step.clone()));
        detected.quote = worst.map_or(first.quote, |leaf| leaf.quote.clone());
        detected.recipe = worst.map(|leaf| leaf.recipe.clone()).unwrap_or_default();
        if let Some(route) = &route {
            choose_way(caller, &all, worst, route, &mut detected);
        }
    }
    detected
}

/// The mode of one failed step.
fn mode_of(leaf: &LeafFailure, hollow: bool) -> FailureMode {
    let facts =
        RoundFacts { any_step_ran: true, failure: Some(leaf.clone()), hollow, ..RoundFacts::default() };
    failure_mode(&facts).unwrap_or(FailureMode::RecipeFailure)
}

/// Whether the failure is met with another execution.
fn choose_way(
    caller: &Caller,
    all: &[RoundView<'_>],
    worst: Option<&LeafFailure>,
    route: &Route,
    detected: &mut Detected,
) {
    let (Some(round), Some(mode)) = (all.last(), detected.mode) else { return };
    let ran = |round: &RoundView<'_>, id: &str| step_in(round.frame, id).is_some_and(|step| step.attempt > 0);
    let tried = |round: &RoundView<'_>| {
        let earlier: Detected = value_in(round.frame, "detect").unwrap_or_default();
        let counts = earlier.mode != Some(FailureMode::RecursionLimit);
        counts && ((ran(round, "adapt") && !earlier.adapt.is_empty()) || ran(round, "adapt-operations"))
    };
    let adapted = if all.iter().any(tried) { Adapted::Before } else { Adapted::NotYet };
    match adaptation(mode, worst, route, adapted) {
        Adaptation::Execute { recipe } => detected.fallback = recipe,
        // a run inside the workflow was refused: one execution without such runs takes its place
        Adaptation::Single if worst.is_some() => {
            detected.fallback = Workflows::default().of(route.task_type).map(str::to_owned);
        }
        Adaptation::Single => {
            detected.skipped = Some("one execution did the whole task".to_owned());
            return;
        }
        Adaptation::Skipped(reason) => {
            detected.skipped = Some(reason.to_owned());
            return;
        }
        Adaptation::Blocked => {
            detected.skipped = Some("something outside the work is in the way".to_owned());
            return;
        }
    }
    if step_in(round.frame, "prepare").is_none_or(|step| step.status != StepStatus::Completed) {
        detected.skipped = Some("there is no place to work".to_owned());
        return;
    }
    if route.task_type == TaskType::Operations {
        detected.adapt_operations = true;
        return;
    }
    // where nothing ran, nothing is done
    let is_open = |stream: &PlacedStream| mode == FailureMode::RoutingGap || !is_done(round, &stream.name);
    let open = round.streams().streams.into_iter().filter(is_open);
    detected.adapt = open
        .map(|stream| {
            let workflow = match stream.classification {
                Some(TaskType::Investigation) => "investigation-workflow",
                _ => "default-workflow",
            };
            stream.again(workflow, &format!("{mode}: {}", detected.quote), caller)
        })
        .collect();
}

/// A round whose agents could not reach the work, or said nothing.
fn hollow_entry(round: &RoundView<'_>, why: &str) -> FailureEntry {
    FailureEntry {
        round: round.number,
        mode: FailureMode::HollowSuccess,
        class: None,
        step: round.executed().last().map(|executed| executed.path.clone()),
        quote: why.to_owned(),
        recovered: false,
    }
}

/// A round in which nothing ran and nothing failed.
fn gap(round: &RoundView<'_>) -> Option<FailureEntry> {
    let executed = round.executed();
    let ran = |executed: &Executed<'_>| {
        executed.frame.is_none_or(|frame| round.state.frames[frame].steps.iter().any(|step| step.attempt > 0))
    };
    (!executed.iter().any(ran)).then(|| FailureEntry {
        round: round.number,
        mode: FailureMode::RoutingGap,
        class: None,
        step: None,
        quote: "no step was executed".to_owned(),
        recovered: false,
    })
}

/// A split that the session tree did not allow.
fn blocked_split(caller: &Caller) -> Option<FailureEntry> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct SaidParts {
        workstreams: Vec<serde_json::Value>,
    }
    let said: SaidParts = value_in(caller.state().root(), "classify").unwrap_or_default();
    let started: StartFacts = value_in(caller.state().root(), "begin").unwrap_or_default();
    let guard = started.session.map(|session| session.guard.to_string()).unwrap_or_default();
    (said.workstreams.len() > 1).then(|| FailureEntry {
        round: 1,
        mode: FailureMode::RecursionLimit,
        class: None,
        step: Some("route".to_owned()),
        quote: format!("the task is not split: {guard}"),
        recovered: true,
    })
}

/// The failed leaf of every failed execution of a round.
fn leaves(caller: &Caller, round: &RoundView<'_>) -> Vec<LeafFailure> {
    let mut found = Vec::new();
    if let Some(step) = step_in(round.frame, "prepare").filter(|step| step.status == StepStatus::Failed) {
        let path = format!("{}/prepare", round.frame.path);
        if let Some(place) = caller.state().locate(&path) {
            found.extend(leaf(caller, place, step.frame.is_none()));
        }
    }
    for executed in round.executed().iter().filter(|executed| !executed.is_adapted) {
        let state = executed.terminal_state(round.state);
        let is_own_end = state.is_some_and(TerminalState::is_own_end);
        if executed.step.status != StepStatus::Failed || is_own_end {
            continue;
        }
        let unusable = matches!(state, Some(TerminalState::FailedPublish | TerminalState::FailedWorkspace));
        found.extend(executed.leaf(round.state).and_then(|place| leaf(caller, place, unusable)));
    }
    found
}

/// The facts about a failed step.
fn leaf(caller: &Caller, place: (FrameId, usize), unusable: bool) -> Option<LeafFailure> {
    let state = caller.state();
    let frame = &state.frames[place.0];
    let ended = frame.steps[place.1].ended.as_deref()?;
    let failed = FailedRun {
        plan: &caller.opened.plan,
        state,
        run_dir: Some(caller.run_dir()),
        mask: &caller.opened.mask,
        knowledge: &caller.opened.knowledge,
    };
    let facts = failed.facts(place, ended);
    let attempt = format!("{}#{}", frame.step_path(place.1), frame.steps[place.1].attempt);
    let error = caller.opened.mask.quotation(ended.error.as_deref().unwrap_or_default()).into_owned();
    let quote: String = match error.char_indices().nth_back(QUOTE) {
        Some((from, _)) => format!("…{}", &error[from..]),
        None => error,
    };
    Some(LeafFailure {
        step: frame.step_path(place.1),
        step_type: facts.step_type,
        recipe: frame.unit.name.clone(),
        // a workflow that cannot be entered is the user's choice
        built_in: frame.unit.path.starts_with("built-in:") && facts.step_type != StepType::Recipe,
        class: diagnose(&facts).class,
        outcome: ended.outcome.clone(),
        trouble: ended.trouble,
        silent: facts.step_type == StepType::Agent && ended.is_silent(),
        nesting_refused: nesting_refusal::of(caller.run_dir(), &attempt).is_some(),
        unusable,
        quote,
    })
}

/// Writes the file about the failure of the round, and files it where the user asked for that.
pub(super) async fn report(caller: &Caller, host: &Host) -> Result<serde_json::Value, VerbError> {
    let detected: Detected = caller.sibling("detect").unwrap_or_default();
    let Some(mode) = detected.mode else { return Ok(json!({})) };
    let route: Option<Route> = value_in(caller.state().root(), "route");
    let step = detected.step.clone();
    let facts = TaskFailure {
        mode: mode.to_string(),
        class: detected.class.map(|class| class.as_str().to_owned()),
        recipe: detected.recipe.clone(),
        step: step.clone(),
        quotes: vec![detected.quote.clone()],
        route: route.map(|route| format!("{}, {}", route.task_type, route.kind)),
        task: caller.text("task_description"),
        versions: vec![("recipe-runner-rs".to_owned(), env!("CARGO_PKG_VERSION").to_owned())],
    };
    let fingerprint =
        failure_fingerprint(&facts.mode, &facts.recipe, step.as_deref().unwrap_or_default(), &detected.quote);
    let run_id = caller.opened.folder.id();
    let repository = caller.text("file_issues");
    // the file may be published, so secrets of the environment are hidden too that the recipe does not name
    let mut mask = caller.opened.mask.clone();
    for (name, value) in &host.env {
        mask.learn_value(&name.to_string_lossy(), &Value::from(value.to_string_lossy().into_owned()));
    }
    let reporter = FailureReporter {
        run_dir: caller.run_dir(),
        run_id: &run_id,
        state_home: &caller.home,
        env: &caller.env,
        shown: Confidential {
            mask: &mask,
            home: host.home.as_deref(),
            host_name: rustix::system::uname().nodename().to_str().ok().map(str::to_owned),
        },
        repository: Some(repository.as_str()).filter(|name| !name.is_empty()),
    };
    let reported = reporter.report(&facts, &fingerprint).await;
    Ok(json!({
        "file": reported.file.map(|file| file.to_string_lossy().into_owned()),
        "issue_url": reported.issue_url,
        "dedup": reported.dedup,
        "notes": reported.notes,
    }))
}
