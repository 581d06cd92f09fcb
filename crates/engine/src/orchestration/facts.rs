//! The facts that decisions about an orchestrated run start from. The caller gathers them; nothing here decides.

use serde::{Deserialize, Serialize};

use super::kinds::{GoalStatus, JudgedBy, TaskType, TerminalState};
use crate::{
    failure::{AgentTrouble, Class, StepType},
    run::outcome::{Outcome, StepStatus},
};

/// What is known about the directory of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RepositoryFacts {
    /// Whether git manages it.
    pub git: bool,
    /// The commit that is checked out.
    pub head: Option<String>,
    /// The branch that is checked out.
    pub branch: Option<String>,
    /// Files with changes that are not committed.
    pub dirty_files: Vec<String>,
    /// The name of its remote.
    pub remote: Option<String>,
    /// Whether `gh` can be used.
    pub gh: bool,
}

impl RepositoryFacts {
    /// Whether worktrees can be made: there is git, and a commit.
    pub fn has_commit(&self) -> bool {
        self.git && self.head.is_some()
    }
}

/// What was done, as far as machines can see it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkEvidence {
    /// Commits since the start whose tree differs from that of their parent.
    pub commits: Vec<String>,
    /// Files that were changed, added or deleted and that git does not ignore.
    pub changed_files: Vec<String>,
    /// How many findings have a reference that exists.
    pub findings: u64,
    /// Declared files that were produced.
    pub produced: Vec<String>,
    /// The checks of the final state.
    pub checks: Vec<CheckResult>,
    /// Whether the remote confirms the branch.
    pub pushed: bool,
    /// The pull request that the remote confirms.
    pub pr_url: Option<String>,
    /// Whether that pull request is merged.
    pub merged: bool,
    /// The digest of the final state: of the tree with its untracked files, or of the text of the findings.
    pub state_digest: String,
    /// The last commit of the final state.
    pub commit: Option<String>,
}

impl WorkEvidence {
    /// Whether files or commits changed.
    pub fn has_change(&self) -> bool {
        !self.commits.is_empty() || !self.changed_files.is_empty()
    }

    /// Whether there is any evidence of work.
    pub fn has_work(&self) -> bool {
        self.has_change()
            || self.findings > 0
            || !self.produced.is_empty()
            || self.checks.iter().any(|check| check.after_change)
            || self.pushed
            || self.pr_url.is_some()
    }

    /// The first check that fails.
    pub fn failed_check(&self) -> Option<&CheckResult> {
        self.checks.iter().find(|check| !check.passed)
    }
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckResult {
    /// The command.
    pub command: String,
    /// Whether it passed.
    pub passed: bool,
    /// How long it took.
    pub seconds: Option<f64>,
    /// Whether it ran after a change.
    pub after_change: bool,
    /// Whether it fails on the base commit too.
    pub preexisting: bool,
}

impl Eq for CheckResult {}

/// One execution of a workflow or an agent in a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Execution {
    /// The recipe that was executed.
    pub recipe: String,
    /// The path of its step.
    pub path: String,
    /// How the step ended.
    pub outcome: StepStatus,
    /// The state that the workflow ended in, if it left one.
    pub terminal_state: Option<TerminalState>,
}

/// The failed step at the bottom of a failed execution.
#[derive(Clone, Debug, PartialEq)]
pub struct LeafFailure {
    /// The path of the step.
    pub step: String,
    /// Its kind.
    pub step_type: StepType,
    /// The recipe that it belongs to.
    pub recipe: String,
    /// Whether that recipe is built in.
    pub built_in: bool,
    /// The class of its failure.
    pub class: Class,
    /// How its last attempt ended.
    pub outcome: Outcome,
    /// The problem of the agent's service, if any.
    pub trouble: Option<AgentTrouble>,
    /// Whether it failed only because the agent said nothing.
    pub silent: bool,
    /// Whether a run inside this run was refused for its depth or for the number of sessions.
    pub nesting_refused: bool,
    /// Whether git, gh, a remote or the workspace could not be used, or the runner itself failed.
    pub unusable: bool,
    /// The evidence, as text.
    pub quote: String,
}

/// The verdict of the reflecting agent, or of the rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reflection {
    /// The status as given, before facts lower it.
    pub status: GoalStatus,
    /// What is missing, or a summary.
    pub detail: String,
    /// The criteria with their verdicts.
    #[serde(default)]
    pub criteria: Vec<ReflectedCriterion>,
    /// What the agent says is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Where it comes from.
    pub by: JudgedBy,
}

/// A criterion with its verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReflectedCriterion {
    /// The criterion.
    pub criterion: String,
    /// Whether it is met.
    pub met: bool,
    /// The evidence for that.
    pub evidence: String,
}

/// What came of one workstream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkstreamResult {
    /// Its name.
    pub name: String,
    /// Its own type.
    pub classification: TaskType,
    /// The workflow that does it; Q&A and Operations have none.
    pub recipe: Option<String>,
    /// Its branch.
    pub branch: Option<String>,
    /// The directory of its worktree.
    pub worktree: Option<String>,
    /// The commit that its branch began at.
    pub base_commit: Option<String>,
    /// Its commits.
    pub commits: Vec<String>,
    /// How many files it changed.
    pub changed_files: u64,
    /// The state that its workflow ended in.
    pub terminal_state: Option<TerminalState>,
    /// How its step ended.
    pub status: StepStatus,
    /// Its pull request.
    pub pr_url: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
}

impl WorkstreamResult {
    /// Whether it ended with success.
    pub fn is_success(&self) -> bool {
        self.status.is_done() && self.terminal_state.is_none_or(TerminalState::is_success)
    }
}
