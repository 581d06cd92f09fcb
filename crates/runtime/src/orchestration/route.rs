//! The way of a task, with what people and later steps read about it: `orch route`.

use engine::{
    branch_name,
    orchestration::{
        Basis, Classification, ClassificationAnswer, Guard, Publish, Route, RouteDecision, RouteKind,
        RouteRequest, RoutedWorkstream, TaskType, Workflows, decide_route,
    },
};
use serde::{Deserialize, Serialize};

use super::{
    begin::StartFacts,
    caller::Caller,
    place::{brief, bullets, hints},
};

/// The way of a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Routed {
    #[serde(flatten)]
    pub(super) route: Route,
    pub(super) classification: Classification,
    pub(super) notes: Vec<String>,
    confirm_plan: bool,
    /// What the workflows let a person confirm.
    confirm_publish: String,
    brief: String,
    /// The way, for people.
    pub(super) text: String,
}

impl Routed {
    /// One line about it.
    pub(super) fn line(&self) -> String {
        let parts = match self.route.workstreams.len() {
            1 => String::new(),
            count => format!(", {count} workstreams"),
        };
        let how = match self.classification.basis {
            Basis::Rules => " (by rules: the agent gave no usable answer)",
            _ => "",
        };
        format!("route: {}{parts}{how}", self.route.task_type)
    }
}

/// Decides the way of the task.
pub(super) fn route(caller: &Caller) -> Routed {
    let started: StartFacts = caller.sibling("begin").unwrap_or_default();
    let task = caller.text("task_description");
    let answer = answer(caller);
    let name = |name: &str, usual: &str| match caller.text(name) {
        text if text.is_empty() => usual.to_owned(),
        text => text,
    };
    let guard = started.session.as_ref().map_or(Guard::Allowed, |session| session.guard);
    let request = RouteRequest {
        task_type: Some(caller.text("task_type")).filter(|said| !said.is_empty()),
        success_criteria: caller.list("success_criteria"),
        force_single: caller.flag("force_single_workstream") || caller.text("workspace") == "in_place",
        max_workstreams: caller.text("max_workstreams").parse().unwrap_or(5),
        publish: match caller.text("publish").as_str() {
            "none" => Some(Publish::None),
            "push" => Some(Publish::Push),
            "pr" => Some(Publish::Pr),
            _ => None,
        },
        no_merge: caller.flag("no_merge"),
        allow_no_op: match caller.text("allow_no_op").as_str() {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        },
        workflows: Workflows {
            development: name("development_recipe", "default-workflow"),
            investigation: name("investigation_recipe", "investigation-workflow"),
        },
        ..RouteRequest::new(task.clone())
    };
    let RouteDecision { route, classification, notes } =
        decide_route(&request, answer.as_ref(), &started.repository, guard);
    let confirm = caller.text("confirm");
    Routed {
        confirm_plan: ["plan", "both"].contains(&confirm.as_str()) && !caller.flag("plan_only"),
        confirm_publish: if ["publish", "both"].contains(&confirm.as_str()) { "publish" } else { "none" }
            .to_owned(),
        brief: brief(caller, &task, &hints([caller.text("guidance"), started.issues.clone()])),
        text: [text(&route, &notes), outlook(caller, &route, &started)].concat(),
        route,
        classification,
        notes,
    }
}

/// The usable answer of the classifying agent.
fn answer(caller: &Caller) -> Option<ClassificationAnswer> {
    let step = caller.sibling_state("classify").filter(|step| step.attempt > 0)?;
    ClassificationAnswer::read(step.value.as_ref()?)
}

/// The branches that a task would have, and what it may spend.
fn outlook(caller: &Caller, route: &Route, started: &StartFacts) -> String {
    let mut lines = Vec::new();
    let is_worktree = started.repository.has_commit() && caller.text("workspace") != "in_place";
    let existing = caller.text("existing_branch");
    if is_worktree && (route.kind == RouteKind::Parallel || route.task_type == TaskType::Development) {
        let (prefix, issue) = (caller.text("branch_prefix"), caller.text("issue_number"));
        let issue = Some(issue.as_str()).filter(|issue| !issue.is_empty());
        let task = caller.text("task_description");
        let text = |stream: &RoutedWorkstream| match route.kind {
            RouteKind::Parallel => stream.name.clone(),
            _ => task.clone(),
        };
        let name = |stream: &RoutedWorkstream| match existing.is_empty() {
            true => branch_name::branch(&prefix, issue, branch_name::slug(&text(stream)).as_deref()),
            false => existing.clone(),
        };
        lines
            .push(format!("Branches:\n{}", bullets(&route.workstreams.iter().map(name).collect::<Vec<_>>())));
    }
    let given = &caller.opened.header.options.budget;
    let own = &caller.opened.plan.root().budget;
    let calls = given.agent_runs.or(own.agent_runs).map(|calls| format!("{calls} agent calls"));
    let minutes = given.minutes.or(own.minutes).map(|minutes| format!("{minutes} minutes"));
    let usd = given.usd.or(own.usd).map(|usd| format!("{usd} USD"));
    let rounds = matches!(route.kind, RouteKind::Single | RouteKind::Parallel | RouteKind::Operate)
        .then(|| format!("{} rounds", caller.text("max_rounds")));
    let most: Vec<String> = [rounds, calls, minutes, usd].into_iter().flatten().collect();
    lines.push(format!("At most: {}", most.join(", ")));
    format!("\n{}", lines.join("\n"))
}

/// The way of a task, for people.
fn text(route: &Route, notes: &[String]) -> String {
    let mut lines = vec![
        format!("{}: {}", route.task_type, route.goal),
        format!("It is done when:\n{}", bullets(&route.success_criteria)),
    ];
    if route.kind == RouteKind::Parallel {
        let names: Vec<String> = route
            .workstreams
            .iter()
            .map(|stream| format!("{}: {}", stream.name, stream.description))
            .collect();
        lines.push(format!("Workstreams:\n{}", bullets(&names)));
    }
    if route.publish > Publish::None {
        lines.push(format!("Published: {}", route.publish));
    }
    lines.extend(notes.iter().map(|note| format!("Note: {note}")));
    lines.join("\n")
}
