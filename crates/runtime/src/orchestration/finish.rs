//! The end of a workflow: what implementing came to, the commit, the publication, the final state.

use std::path::Path;

use engine::{
    Outcome, StepStatus,
    orchestration::{Checks, DevelopmentFacts, Publish, TerminalResult, TerminalState, development_end},
};
use serde::{Deserialize, Serialize};

use super::{
    caller::Caller,
    commit::{self, Committed},
    cycle::{Assessed, CitedCriterion, Guarded, check_result, is_proven, look},
    evidence::{WorkDone, is_committed_by_us},
    findings::{Investigated, concluded, has_place},
    place::{WorkPlace, bullets, watched},
    publish::{Published, Publishing},
    repository::WorkRepository,
    verb::VerbError,
    workspace::WorkspaceKind,
};

/// What the agent that understands a task answers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Understood {
    criteria: Vec<CitedCriterion>,
}

/// What implementing came to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Worked {
    changed: bool,
    /// What must be true when the work is done.
    criteria: String,
    files: Vec<String>,
}

/// The commit, and whether the work can be published.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct CommitStep {
    #[serde(flatten)]
    pub(super) committed: Committed,
    pub(super) may_publish: bool,
    /// What would be published, for people.
    summary: String,
}

/// How a workflow ended, with its evidence.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Ended {
    #[serde(flatten)]
    pub(super) terminal: TerminalResult,
    pub(super) evidence: WorkDone,
    #[serde(default)]
    pub(super) checks: Vec<engine::orchestration::CheckResult>,
    #[serde(default)]
    pub(super) approved: Option<bool>,
    #[serde(default)]
    pub(super) pr_url: Option<String>,
    #[serde(default)]
    pub(super) published: Option<Publish>,
    #[serde(default)]
    pub(super) merged: bool,
    /// How many findings have a reference that exists.
    #[serde(default)]
    pub(super) findings: u64,
    /// The findings, for people.
    #[serde(default)]
    pub(super) report: String,
    #[serde(default)]
    pub(super) notes: Vec<String>,
    /// The same for people.
    pub(super) text: String,
}

/// Whether the agent with this id did its work. A failure that is not its missing change ends the workflow.
pub(super) async fn worked(caller: &Caller, id: &str) -> Result<Worked, VerbError> {
    let place: WorkPlace = caller.sibling("prepare").unwrap_or_default();
    if let Some(step) = caller.sibling_state(id).filter(|step| step.status == StepStatus::Failed) {
        let ended = step.ended.as_deref();
        if ended.is_some_and(|ended| ended.outcome != Outcome::Ensure) {
            let error = ended.and_then(|ended| ended.error.clone()).unwrap_or_default();
            return Err(VerbError::Failed(format!("`{id}` failed: {error}")));
        }
    }
    let done = watched(caller, &place.workspace).done().await;
    let mut criteria = caller.list("success_criteria");
    if criteria.is_empty() {
        let understood: Understood = caller.sibling("understand").unwrap_or_default();
        criteria = understood.criteria.into_iter().map(|criterion| criterion.criterion).collect();
    }
    Ok(Worked { changed: done.is_work(), criteria: bullets(&criteria), files: done.files })
}

/// Commits the work of a worktree, unless unwanted files are in it.
pub(super) async fn commit(caller: &Caller) -> CommitStep {
    let place: WorkPlace = caller.sibling("prepare").unwrap_or_default();
    let assessed: Assessed = value(caller, "assess");
    if !is_committed_by_us(&place.workspace) {
        return CommitStep::default();
    }
    let guarded = look(caller, &place.workspace).await;
    if !guarded.clean {
        let names: Vec<&str> = guarded.findings.iter().map(|file| file.path.as_str()).collect();
        let error = Some(format!("unwanted files: {}", names.join(", ")));
        return CommitStep {
            committed: Committed { error, ..Committed::default() },
            ..CommitStep::default()
        };
    }
    let repository = WorkRepository::at(Path::new(&place.workspace.path), &caller.env);
    let committed = commit::commit(&repository, &caller.text("task_description")).await;
    let done = watched(caller, &place.workspace).done().await;
    let has_own = committed.commit.is_some() && committed.commit != place.workspace.base_commit;
    CommitStep {
        may_publish: place.publish.0 > Publish::None
            && assessed.content
            && committed.error.is_none()
            && has_own,
        summary: done.stat,
        committed,
    }
}

/// A stage of the publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublishStage {
    Push,
    Pr,
    Merge,
}

/// Carries out one stage of the publication.
pub(super) async fn publish(caller: &Caller, stage: PublishStage) -> Published {
    let place: WorkPlace = caller.sibling("prepare").unwrap_or_default();
    let repository = WorkRepository::at(Path::new(&place.workspace.path), &caller.env);
    let task = caller.text("task_description");
    let title: String = task.lines().next().unwrap_or_default().chars().take(100).collect();
    let issue = caller.text("issue_number");
    let closes = if issue.is_empty() {
        String::new()
    } else {
        format!("\n\nCloses #{}", issue.trim_start_matches('#'))
    };
    let publishing = Publishing {
        repository: &repository,
        branch: place.workspace.branch.as_deref().unwrap_or_default(),
        base: place.workspace.base_branch.as_deref(),
        base_commit: place.workspace.base_commit.as_deref(),
        title,
        text: format!("{task}{closes}"),
    };
    match stage {
        PublishStage::Push => publishing.push().await,
        PublishStage::Pr => publishing.open().await,
        PublishStage::Merge => {
            let opened: Published = caller.sibling("pr").unwrap_or_default();
            match opened.pr_number {
                Some(number) => publishing.merge(number).await,
                None => Published {
                    error: Some("GitHub did not give the number of the pull request".to_owned()),
                    ..Published::default()
                },
            }
        }
    }
}

/// The state that the workflow ended in.
pub(super) async fn ended(caller: &Caller) -> Ended {
    match caller.own().index_of("findings") {
        Some(_) => investigation_ended(caller),
        None => development_ended(caller).await,
    }
}

fn investigation_ended(caller: &Caller) -> Ended {
    let read: Investigated = caller.sibling("findings").unwrap_or_default();
    let terminal = concluded(&read, broken(caller));
    Ended {
        text: format!("{}: {}", terminal.terminal_state, terminal.reason),
        findings: read.confirmed,
        report: read.text,
        terminal,
        evidence: WorkDone::default(),
        checks: Vec::new(),
        approved: None,
        pr_url: None,
        published: None,
        merged: false,
        notes: Vec::new(),
    }
}

async fn development_ended(caller: &Caller) -> Ended {
    let place: Option<WorkPlace> = caller.sibling("prepare");
    let workspace = place.as_ref().map(|place| place.workspace.clone()).unwrap_or_default();
    let evidence = match &place {
        Some(place) => watched(caller, &place.workspace).done().await,
        None => WorkDone::default(),
    };
    let guarded = match &place {
        Some(place) => look(caller, &place.workspace).await,
        None => Guarded::default(),
    };
    let assessed: Assessed = value(caller, "assess");
    let published = publication(caller, place.as_ref());
    let facts = facts(caller, place.as_ref(), &evidence, &guarded, published.error.is_some());
    let facts = DevelopmentFacts { merged: published.merged, ..facts };
    let mut terminal = development_end(facts, published.asked, published.done);
    if let Some(why) = why(caller, &terminal, &guarded, &published) {
        terminal.reason = format!("{}: {why}", terminal.reason);
    }
    let pr: Published = caller.sibling("pr").unwrap_or_default();
    let committed: CommitStep = caller.sibling("commit").unwrap_or_default();
    let text = format!("{}: {}", terminal.terminal_state, terminal.reason);
    Ended {
        text: match (&workspace.branch, workspace.kind) {
            (Some(branch), WorkspaceKind::Worktree) => {
                format!("{text}\nbranch {branch} in {}", workspace.path)
            }
            _ => text,
        },
        checks: checks(caller, &evidence),
        approved: assessed.approved,
        pr_url: pr.pr_url,
        published: Some(published.done),
        merged: published.merged,
        findings: 0,
        report: String::new(),
        notes: [workspace.notes, committed.committed.notes].concat(),
        terminal,
        evidence,
    }
}

fn facts(
    caller: &Caller,
    place: Option<&WorkPlace>,
    evidence: &WorkDone,
    guarded: &Guarded,
    publish_failed: bool,
) -> DevelopmentFacts {
    let assessed: Assessed = value(caller, "assess");
    let committed: CommitStep = caller.sibling("commit").unwrap_or_default();
    let understood: Understood = caller.sibling("understand").unwrap_or_default();
    let dir = Path::new(place.map_or("", |place| &place.workspace.path)).to_owned();
    let report = caller.sibling_state("implement").and_then(|step| step.value.as_ref());
    let is_clean = place.is_none() || guarded.clean;
    DevelopmentFacts {
        workspace_failed: place.is_none(),
        broke_off: broken(caller).is_some() || (is_clean && committed.committed.error.is_some()),
        guard_failed: !is_clean,
        has_change: evidence.is_work(),
        checks: match assessed.passed {
            None => Checks::None,
            Some(true) => Checks::Pass,
            Some(false) => Checks::Fail,
        },
        approved: assessed.approved == Some(true),
        proven_done: is_proven(&dir, &understood.criteria)
            && assessed.proven
            && assessed.approved == Some(true),
        allow_no_op: place.is_some_and(|place| place.allow_no_op),
        has_report: report.is_some_and(|report| cites(&dir, &report.render())),
        publish_failed,
        merged: false,
    }
}

/// More about the state, for people.
fn why(
    caller: &Caller,
    terminal: &TerminalResult,
    guarded: &Guarded,
    published: &Publication,
) -> Option<String> {
    let assessed: Assessed = value(caller, "assess");
    let committed: CommitStep = caller.sibling("commit").unwrap_or_default();
    match terminal.terminal_state {
        TerminalState::FailedWorkspace => Some(failure_of(caller, "prepare")),
        TerminalState::FailedIncomplete => broken(caller).or(committed.committed.error),
        TerminalState::FailedGuard => {
            let names: Vec<String> =
                guarded.findings.iter().map(|file| format!("{} ({})", file.path, file.problem)).collect();
            Some(names.join("; "))
        }
        TerminalState::FailedVerification | TerminalState::ChangesRequested => {
            Some(assessed.feedback).filter(|text| !text.is_empty())
        }
        TerminalState::FailedPublish => published.error.clone(),
        _ => None,
    }
}

/// What was asked for, and what the remote confirms.
struct Publication {
    asked: Publish,
    done: Publish,
    merged: bool,
    error: Option<String>,
}

/// The step that ended the workflow, with its error.
fn broken(caller: &Caller) -> Option<String> {
    let frame = caller.own();
    let at = frame.failed_at?;
    let id = &frame.unit.steps[at].id;
    Some(format!("`{id}`: {}", failure_of(caller, id)))
}

fn failure_of(caller: &Caller, id: &str) -> String {
    let ended = caller.sibling_state(id).and_then(|step| step.ended.as_deref());
    let error = ended.and_then(|ended| ended.error.clone()).unwrap_or_else(|| "it did not run".to_owned());
    let error = error.lines().next_back().map(str::to_owned).unwrap_or(error);
    error.trim().to_owned()
}

fn publication(caller: &Caller, place: Option<&WorkPlace>) -> Publication {
    let stage = |id: &str| caller.sibling::<Published>(id).unwrap_or_default();
    let (push, pr, merged) = (stage("push"), stage("pr"), stage("merge"));
    let asked = place.map_or(Publish::None, |place| place.publish.0);
    let is_in_place = place.is_some_and(|place| !is_committed_by_us(&place.workspace));
    let in_place = (asked > Publish::None && is_in_place)
        .then(|| "work in place is not committed, so it cannot be published".to_owned());
    Publication {
        asked,
        done: match (pr.done, push.done) {
            (true, _) => Publish::Pr,
            (false, true) => Publish::Push,
            _ => Publish::None,
        },
        merged: merged.done,
        error: push.error.or(pr.error).or(merged.error).or(in_place),
    }
}

/// The check of the final state.
fn checks(caller: &Caller, evidence: &WorkDone) -> Vec<engine::orchestration::CheckResult> {
    let assessed: Assessed = value(caller, "assess");
    let found: super::place::FoundCheck = caller.sibling("checks").unwrap_or_default();
    let result = |passed| engine::orchestration::CheckResult {
        command: found.command.clone(),
        passed,
        seconds: assessed.seconds,
        after_change: evidence.is_work(),
        preexisting: check_result(caller, "base-checks").is_some_and(|base| !base.passed),
    };
    assessed.passed.map(result).into_iter().collect()
}

/// A value of the recipe, also if a sub-recipe gave it.
fn value<T: serde::de::DeserializeOwned + Default>(caller: &Caller, name: &str) -> T {
    // a round before this one may have left a value of this name
    let has_run = caller.sibling_state("cycle").is_some_and(|cycle| cycle.attempt > 0);
    if !has_run {
        return T::default();
    }
    caller.own().context.get(name).and_then(super::caller::typed).unwrap_or_default()
}

/// Whether a text names a file that exists.
fn cites(dir: &Path, text: &str) -> bool {
    let ends = |c: char| c.is_whitespace() || "()[]{}<>\"'`,;*".contains(c);
    text.split(ends).map(|word| word.trim_end_matches(['.', ':'])).any(|word| has_place(dir, word))
}
