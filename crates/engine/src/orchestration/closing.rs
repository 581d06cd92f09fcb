//! The block of text at the end of an orchestrated run. Lines without content are left out.

use super::{
    facts::WorkstreamResult,
    kinds::{Basis, GoalStatus, Publish, StopReason},
    result::Orchestration,
};

/// What the block shows besides the `orchestration` object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClosingFacts {
    /// How many agent calls were made.
    pub agent_calls: u64,
    /// What they cost in USD, if known.
    pub cost_usd: Option<f64>,
    /// What is said about checks and review, a sentence each.
    pub checks: Vec<String>,
    /// Whether the checkout of the caller is as it was.
    pub checkout_unchanged: bool,
    /// The command that continues the run, if it can be continued.
    pub resume_command: Option<String>,
}

/// The closing block.
pub fn closing_block(result: &Orchestration, facts: &ClosingFacts) -> String {
    let mut block = vec![headline(result)];
    let mut line = |name: &str, text: Option<String>| {
        block.extend(text.filter(|text| !text.is_empty()).map(|text| format!("  {name:<9}  {text}")));
    };
    line("missing", missing(result));
    line("task type", task_type(result));
    for stream in &result.workstreams {
        line("branch", branch(stream, facts));
        let is_one = result.workstreams.len() == 1;
        line("failed", stream.error.as_deref().map(|error| failed(stream, error, is_one)));
    }
    line("checks", Some(facts.checks.join("; ")));
    line("failures", Some(failures(result)));
    line("cost", Some(cost(result, facts)));
    if result.ending.publish.done != Publish::Pr {
        for stream in result.workstreams.iter().filter(|stream| !stream.commits.is_empty()) {
            line("merge", stream.branch.as_ref().map(|branch| format!("git merge {branch}")));
        }
    }
    line("continue", facts.resume_command.clone().filter(|_| !result.accepted));
    for note in &result.ending.notes {
        line("note", Some(note.clone()));
    }
    block.join("\n")
}

/// Why a workstream failed, in one line.
fn failed(stream: &WorkstreamResult, error: &str, is_one: bool) -> String {
    let first = error.lines().next().unwrap_or_default().trim();
    // the rest is a list or an output, which `show` has
    let first = match first.strip_suffix(':') {
        Some(text) => text.rsplit_once(": ").map_or(text, |(before, _)| before),
        None => first,
    };
    if is_one { first.to_owned() } else { format!("{}: {first}", stream.name) }
}

fn headline(result: &Orchestration) -> String {
    let rounds = match result.rounds.len() {
        0 => String::new(),
        1 => " after 1 round".to_owned(),
        count => format!(" after {count} rounds"),
    };
    let criteria = result.rounds.last().and_then(|round| round.reflection.as_ref());
    let criteria = criteria.map(|reflection| reflection.criteria.as_slice()).unwrap_or_default();
    let about = match result.stop_reason {
        _ if !criteria.is_empty() => {
            let met = criteria.iter().filter(|criterion| criterion.met).count();
            format!(": {met} of {} criteria met", criteria.len())
        }
        Some(StopReason::Achieved | StopReason::Answered) | None => String::new(),
        Some(reason) => format!(": {}", reason_text(reason)),
    };
    format!("{}{rounds}{about}", result.goal_status)
}

fn reason_text(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Achieved => "the goal is reached",
        StopReason::Answered => "the question is answered",
        StopReason::RoundsUsed => "all rounds are used",
        StopReason::NoProgress => "the last round changed nothing",
        StopReason::HollowTwice => "two rounds in a row produced nothing",
        StopReason::Blocked => "something outside the work is in the way",
        StopReason::Budget => "a budget is spent",
        StopReason::Rejected => "the plan was rejected",
        StopReason::Waiting => "waiting for a person",
        StopReason::Cancelled => "cancelled",
        StopReason::Interrupted => "interrupted",
    }
}

fn missing(result: &Orchestration) -> Option<String> {
    let is_open =
        matches!(result.goal_status, GoalStatus::Partial | GoalStatus::NotAchieved | GoalStatus::Hollow);
    is_open.then(|| result.detail.lines().next().unwrap_or_default().to_owned())
}

fn task_type(result: &Orchestration) -> Option<String> {
    let task_type = result.task_type?;
    let classification = result.classification.as_ref();
    let said = classification.and_then(|classification| classification.said.as_deref()).unwrap_or_default();
    let why = match classification {
        Some(classification) if classification.promoted_by.is_some() => {
            let rule = classification.promoted_by.as_deref().map(rule_text).unwrap_or_default();
            match said {
                "" => format!(" ({rule})"),
                said => format!(" (the agent said {said}; {rule})"),
            }
        }
        Some(classification) => match classification.basis {
            Basis::Agent => String::new(),
            Basis::Given => " (given)".to_owned(),
            Basis::Rules => " (by rules: the agent gave no usable answer)".to_owned(),
        },
        None => String::new(),
    };
    Some(format!("{task_type}{why}"))
}

/// What the text of a task asks for, by the rule that found it.
fn rule_text(rule: &str) -> &'static str {
    match rule {
        "pr" => "the task asks for a pull request",
        "tests" => "the task asks for tests",
        "list" => "the task lists changes",
        "then" => "the task asks for a fix",
        _ => "the task asks for changes to code",
    }
}

fn branch(stream: &WorkstreamResult, facts: &ClosingFacts) -> Option<String> {
    let branch = stream.branch.as_ref()?;
    let place = stream.worktree.as_ref().map(|worktree| format!(" in {worktree}")).unwrap_or_default();
    let commits = counted(stream.commits.len() as u64, "commit");
    let files = counted(stream.changed_files, "file");
    let checkout = if facts.checkout_unchanged { "; your checkout is unchanged" } else { "" };
    let request = stream.pr_url.as_ref().map(|url| format!("; {url}")).unwrap_or_default();
    Some(format!("{branch}{place}: {commits}, {files}{request}{checkout}"))
}

fn failures(result: &Orchestration) -> String {
    let shown = result.failures.iter().map(|failure| {
        let step = failure.step.as_deref().and_then(|step| step.rsplit('/').next());
        let place = step.map(|step| format!(" in {step}")).unwrap_or_default();
        let recovered = if failure.recovered { ", recovered" } else { "" };
        format!("round {}: {}{place}{recovered}", failure.round, failure.mode)
    });
    shown.collect::<Vec<_>>().join("; ")
}

fn cost(result: &Orchestration, facts: &ClosingFacts) -> String {
    let mut cost = counted(facts.agent_calls, "agent call");
    cost.extend(facts.cost_usd.map(|usd| format!(", {usd:.2} USD")));
    let publish = &result.ending.publish;
    let published = match (publish.asked, publish.done) {
        (Publish::None, Publish::None) => "; not published (not requested)".to_owned(),
        (_, Publish::None) => "; not published".to_owned(),
        (_, Publish::Push) => "; pushed".to_owned(),
        (_, Publish::Pr) => publish.pr_url.as_ref().map(|url| format!("; {url}")).unwrap_or_default(),
    };
    let is_work = result
        .route
        .as_ref()
        .is_some_and(|route| !route.workstreams.iter().all(|stream| stream.recipe.is_none()));
    if is_work {
        cost.push_str(&published);
    }
    cost
}

fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
