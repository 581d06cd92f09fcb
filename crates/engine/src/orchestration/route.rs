//! How a task is carried out, from the inputs of the run, the answer of the classifying agent and the repository.

use recipe::value::Value;

use super::{
    facts::RepositoryFacts,
    intent::read_intent,
    kinds::{Basis, Guard, Publish, RouteKind, TaskType},
    result::{Classification, Route},
    task_type::{fallback_task_type, promote, read_task_type},
    workstreams::{SaidWorkstream, SplitLimits, WholeTask, Workflows, said_workstreams, split_task},
};

/// What the user asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteRequest {
    /// The task.
    pub task: String,
    /// The type in the user's words, if given.
    pub task_type: Option<String>,
    /// The user's criteria; they win over those of the agent.
    pub success_criteria: Vec<String>,
    /// Whether the user wants one workstream.
    pub force_single: bool,
    /// The most workstreams.
    pub max_workstreams: usize,
    /// What is published; `None` leaves it to the text of the task.
    pub publish: Option<Publish>,
    /// Whether the user forbids merging.
    pub no_merge: bool,
    /// Whether the task may end without a change; `None` leaves it to the text of the task.
    pub allow_no_op: Option<bool>,
    /// The workflows.
    pub workflows: Workflows,
}

impl RouteRequest {
    /// A task with the defaults of everything else.
    pub fn new(task: impl Into<String>) -> RouteRequest {
        RouteRequest {
            task: task.into(),
            task_type: None,
            success_criteria: Vec::new(),
            force_single: false,
            max_workstreams: 5,
            publish: None,
            no_merge: false,
            allow_no_op: None,
            workflows: Workflows::default(),
        }
    }

    /// The type that the user gave.
    pub fn given_type(&self) -> Option<TaskType> {
        self.task_type.as_deref().and_then(read_task_type)
    }
}

/// The usable answer of a classifying agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassificationAnswer {
    /// The type in its words.
    pub said: String,
    /// The type.
    pub task_type: TaskType,
    /// The goal.
    pub goal: String,
    /// When the goal counts as reached.
    pub success_criteria: Vec<String>,
    /// The workstreams.
    pub workstreams: Vec<SaidWorkstream>,
    /// Whether it read that merging is forbidden.
    pub no_merge: bool,
    /// What it would publish.
    pub publish: Option<Publish>,
}

impl ClassificationAnswer {
    /// The answer in a JSON value, if it has a known type, a goal and a criterion.
    pub fn read(value: &Value) -> Option<ClassificationAnswer> {
        let Value::Map(members) = value else { return None };
        let text = |key: &str| match members.get(key) {
            Some(Value::Text(text)) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            _ => None,
        };
        let said = text("task_type")?;
        let success_criteria: Vec<String> = match members.get("success_criteria") {
            Some(Value::List(items)) => items.iter().map(|item| item.render().trim().to_owned()).collect(),
            Some(Value::Text(one)) => vec![one.trim().to_owned()],
            _ => Vec::new(),
        };
        let success_criteria: Vec<String> =
            success_criteria.into_iter().filter(|text| !text.is_empty()).take(8).collect();
        if success_criteria.is_empty() {
            return None;
        }
        let publish = match text("publish").as_deref() {
            Some("none") => Some(Publish::None),
            Some("push") => Some(Publish::Push),
            Some("pr") => Some(Publish::Pr),
            _ => None,
        };
        Some(ClassificationAnswer {
            task_type: read_task_type(&said)?,
            said,
            goal: text("goal")?,
            success_criteria,
            workstreams: said_workstreams(value),
            no_merge: members.get("no_merge").is_some_and(Value::is_truthy),
            publish,
        })
    }
}

/// A route with its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RouteDecision {
    /// The route.
    pub route: Route,
    /// Where its type comes from.
    pub classification: Classification,
    /// Remarks for the user.
    pub notes: Vec<String>,
}

/// Decides how a task is carried out. `answer` is absent if the agent was not asked or gave no usable answer.
pub fn decide_route(
    request: &RouteRequest,
    answer: Option<&ClassificationAnswer>,
    repository: &RepositoryFacts,
    guard: Guard,
) -> RouteDecision {
    let (task_type, classification) = classify(request, answer);
    let goal = answer.map_or(&request.task, |answer| &answer.goal).clone();
    let success_criteria = match answer {
        _ if !request.success_criteria.is_empty() => request.success_criteria.clone(),
        Some(answer) => answer.success_criteria.clone(),
        None => vec![request.task.clone()],
    };
    let limits = SplitLimits {
        force_single: request.force_single,
        most: request.max_workstreams,
        has_git: repository.has_commit(),
    };
    let said = answer.map(|answer| answer.workstreams.as_slice()).unwrap_or_default();
    let whole = WholeTask { task_type, description: &request.task };
    let mut split = split_task(whole, said, limits, &request.workflows);
    if said.is_empty() {
        // nothing was named, so nothing was changed
        split.notes.clear();
    }
    if split.workstreams.len() > 1 && guard != Guard::Allowed {
        let single = split_task(whole, &[], limits, &request.workflows);
        split.workstreams = single.workstreams;
        split.notes.push(format!("{guard}: one workstream does the task"));
    }
    let kind = match task_type {
        TaskType::Question => RouteKind::Answer,
        TaskType::Operations => RouteKind::Operate,
        _ if split.workstreams.len() > 1 => RouteKind::Parallel,
        _ => RouteKind::Single,
    };
    let intent = read_intent(&request.task);
    let said_publish = answer.and_then(|answer| answer.publish).unwrap_or(Publish::Pr);
    let route = Route {
        task_type,
        kind,
        goal,
        success_criteria,
        workstreams: split.workstreams,
        publish: request.publish.unwrap_or_else(|| intent.publish.min(said_publish)),
        no_merge: request.no_merge || intent.no_merge || answer.is_some_and(|answer| answer.no_merge),
        allow_no_op: request.allow_no_op.unwrap_or(intent.allow_no_op),
        guard,
    };
    RouteDecision { route, classification, notes: split.notes }
}

/// The type of a task, and where it comes from.
fn classify(request: &RouteRequest, answer: Option<&ClassificationAnswer>) -> (TaskType, Classification) {
    if let Some(given) = request.given_type() {
        let classification =
            Classification { said: request.task_type.clone(), basis: Basis::Given, promoted_by: None };
        return (given, classification);
    }
    let (said, basis, text) = match answer {
        Some(answer) => (answer.task_type, Basis::Agent, Some(answer.said.clone())),
        None => (fallback_task_type(&request.task), Basis::Rules, None),
    };
    let promoted = promote(said, &request.task);
    let promoted_by = promoted.promoted_by.map(str::to_owned);
    (promoted.task_type, Classification { said: text, basis, promoted_by })
}
