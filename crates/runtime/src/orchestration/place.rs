//! The workspace of a workflow with the settings that its steps read: `orch workspace` and `orch checks`.

use std::path::{Path, PathBuf};

use engine::orchestration::{Publish, read_intent};
use serde::{Deserialize, Serialize};

use super::{
    caller::{Caller, typed},
    claims::Claims,
    evidence::Watched,
    issue_texts::issue_texts,
    repository::WorkRepository,
    verb::VerbError,
    workspace::{self, WantedWorkspace, WorkspaceFacts, WorkspaceKind},
};
use crate::machine::project;

/// A workspace, and how the workflow in it goes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WorkPlace {
    #[serde(flatten)]
    pub(super) workspace: WorkspaceFacts,
    /// Whether no earlier attempt at the task left something to do.
    pub(super) is_first: bool,
    /// The task with the hints and the criteria, for prompts.
    pub(super) brief: String,
    /// What an earlier attempt missed.
    pub(super) feedback: String,
    pub(super) confirm_plan: bool,
    pub(super) confirm_publish: bool,
    pub(super) publish: PublishWord,
    /// Whether the pull request may be merged once it is green.
    pub(super) merge: bool,
    /// Whether a report without a change may be the result.
    pub(super) allow_no_op: bool,
}

/// What is published; nothing unless set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct PublishWord(pub(super) Publish);

impl Default for PublishWord {
    fn default() -> PublishWord {
        PublishWord(Publish::None)
    }
}

/// The check of a project.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct FoundCheck {
    /// The command; empty if there is none.
    pub(super) command: String,
    /// Where it comes from.
    pub(super) reason: String,
}

/// Prepares the workspace of a workflow, or finds the one that the orchestrator prepared for it.
pub(super) async fn prepare(caller: &Caller) -> Result<WorkPlace, VerbError> {
    let dir = caller.dir("repo_path");
    if !dir.is_dir() {
        return Err(VerbError::Failed(format!("`{}` is not a directory", dir.display())));
    }
    let repository = WorkRepository::at(&dir, &caller.env);
    let workspace = match given(caller, &repository.dir) {
        Some(workspace) => workspace,
        None => {
            let claims = Claims::of(&caller.home, &caller.opened.folder.id(), "workflow");
            let wanted = wanted(caller, &repository).await?;
            workspace::prepare(&repository, &wanted, &claims).await?
        }
    };
    watched(caller, &workspace).remember().await?;
    let task = caller.text("task_description");
    let said = read_intent(&task);
    let is_alone = caller.own().path.is_empty();
    // the orchestrator has read the issues before
    let issues = match is_alone {
        true => issue_texts(&repository, &task, &caller.text("issue_number")).await,
        false => String::new(),
    };
    let guidance = hints([caller.text("guidance"), issues]);
    let confirm = caller.text("confirm");
    Ok(WorkPlace {
        is_first: caller.text("feedback").is_empty(),
        brief: brief(caller, &task, &guidance),
        feedback: caller.text("feedback"),
        // the orchestrator has asked before
        confirm_plan: ["plan", "both"].contains(&confirm.as_str()) && is_alone,
        confirm_publish: ["publish", "both"].contains(&confirm.as_str()),
        publish: PublishWord(match caller.text("publish").as_str() {
            "push" => Publish::Push,
            "pr" => Publish::Pr,
            "none" => Publish::None,
            _ => said.publish,
        }),
        merge: caller.text("merge") == "when_green" && !caller.flag("no_merge") && !said.no_merge,
        allow_no_op: match caller.text("allow_no_op").as_str() {
            "true" => true,
            "false" => false,
            _ => said.allow_no_op,
        },
        workspace,
    })
}

/// The workspace with this directory that a recipe around this one prepared.
fn given(caller: &Caller, dir: &Path) -> Option<WorkspaceFacts> {
    #[derive(Deserialize)]
    struct GivenStreams {
        streams: Vec<WorkspaceFacts>,
    }
    let GivenStreams { streams } = typed(caller.own().context.get("places")?)?;
    streams.into_iter().find(|workspace| Path::new(&workspace.path) == dir)
}

/// What the values of the recipe ask for.
pub(super) async fn wanted(
    caller: &Caller,
    repository: &WorkRepository,
) -> Result<WantedWorkspace, VerbError> {
    let base = match caller.text("base_ref").as_str() {
        "" => None,
        name => match repository.commit(name).await {
            Some(commit) => Some(commit),
            None => return Err(VerbError::Failed(format!("there is no commit `{name}` to begin with"))),
        },
    };
    let pr = caller.text("pr_number");
    let existing = match caller.text("existing_branch") {
        branch if branch.is_empty() && !pr.is_empty() => {
            super::publish::branch_of(repository, &pr).await.map_err(VerbError::Failed)?
        }
        branch => branch,
    };
    Ok(WantedWorkspace {
        kind: match caller.text("workspace").as_str() {
            "worktree" => WorkspaceKind::Worktree,
            "in_place" => WorkspaceKind::InPlace,
            _ => WorkspaceKind::Auto,
        },
        task: caller.text("task_description"),
        prefix: match caller.text("branch_prefix") {
            prefix if prefix.is_empty() => "feat".to_owned(),
            prefix => prefix,
        },
        branch: String::new(),
        issue: caller.text("issue_number"),
        existing,
        base,
        root: caller.text("worktree_root"),
        earlier: None,
    })
}

/// The task with everything that an agent should know about it.
pub(super) fn brief(caller: &Caller, task: &str, guidance: &str) -> String {
    let mut parts = vec![format!("The task:\n{task}")];
    if !guidance.is_empty() {
        parts.push(format!("Hints:\n{guidance}"));
    }
    let criteria = bullets(&caller.list("success_criteria"));
    if !criteria.is_empty() {
        parts.push(format!("It is done when:\n{criteria}"));
    }
    parts.join("\n\n")
}

/// Hints in one text, without empty ones.
pub(super) fn hints<const N: usize>(parts: [String; N]) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
}

pub(super) fn bullets(items: &[String]) -> String {
    items.iter().map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n")
}

/// The files of a workspace since this run came to it.
pub(super) fn watched(caller: &Caller, workspace: &WorkspaceFacts) -> Watched {
    Watched::new(workspace, &caller.env, caller.run_dir(), &caller.own_dirs())
}

/// The workspace that the step's recipe works in.
pub(super) async fn current(caller: &Caller) -> WorkspaceFacts {
    let dir = caller.dir("repo_path");
    let prepared = caller.own().context.get("place").and_then(typed::<WorkPlace>);
    if let Some(place) = prepared {
        return place.workspace;
    }
    let repository = WorkRepository::at(&dir, &caller.env);
    let facts = repository.facts().await;
    WorkspaceFacts {
        kind: WorkspaceKind::InPlace,
        git: facts.git,
        path: repository.dir.to_string_lossy().into_owned(),
        start_commit: facts.head,
        ..WorkspaceFacts::default()
    }
}

/// The check that was given, or that the files of the project suggest.
pub(super) async fn checks(caller: &Caller) -> FoundCheck {
    let given = caller.text("verify_command");
    if !given.is_empty() {
        return FoundCheck { command: given, reason: "given".to_owned() };
    }
    let workspace = current(caller).await;
    let found = project::look(&PathBuf::from(&workspace.path));
    if found.kind == "unknown" {
        return FoundCheck {
            command: String::new(),
            reason: "no build file found, so there is no check".to_owned(),
        };
    }
    let commands: Vec<&str> = found.steps.iter().map(|(_, command)| command.as_str()).collect();
    FoundCheck { command: commands.join(" && "), reason: found.reason }
}
