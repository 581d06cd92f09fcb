//! What was really done in a workspace since this run came to it: commits, changed files, the state of the work.
//!
//! Never believes a claim, and never changes a file of the work.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{
    repository::WorkRepository,
    workspace::{WorkspaceFacts, WorkspaceKind},
};
use crate::{
    os::environment::Environment,
    steps::ensure::{Baseline, ComparedFiles, FilePattern, state_digest},
    store::folder::FolderError,
};

/// The most names that a result lists.
const NAMED: usize = 200;
/// The most of a diff statistic.
const STAT: usize = 6_000;

/// A commit of this run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MadeCommit {
    pub(super) commit: String,
    pub(super) subject: String,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WorkDone {
    /// Commits with a changed tree, oldest first.
    pub(super) commits: Vec<MadeCommit>,
    /// Changed, new and deleted files, from the top of the workspace; only the first ones are named.
    pub(super) files: Vec<String>,
    /// How many there are.
    pub(super) changed_files: usize,
    /// How many of them are not committed.
    pub(super) uncommitted: usize,
    /// The commit that is checked out.
    pub(super) head: Option<String>,
    /// SHA-256 of the changed files.
    pub(super) state_digest: String,
    /// The statistic of the difference.
    pub(super) stat: String,
    /// Why the changes are not known.
    pub(super) problem: Option<String>,
}

impl WorkDone {
    /// Whether something was done.
    pub(super) fn is_work(&self) -> bool {
        !self.commits.is_empty() || self.changed_files > 0
    }
}

/// The files of a workspace, compared with the moment when this run came.
pub(super) struct Watched {
    repository: WorkRepository,
    baseline: Baseline,
    start: Option<String>,
    is_git: bool,
}

impl Watched {
    /// `own` are directories that the runner writes to; the state is kept below `folder`.
    pub(super) fn new(
        workspace: &WorkspaceFacts,
        env: &Environment,
        folder: &Path,
        own: &[PathBuf],
    ) -> Watched {
        let repository = WorkRepository::at(Path::new(&workspace.path), env);
        let cwd = repository.dir.clone();
        let name = recipe::digest::sha256(cwd.to_string_lossy().as_bytes());
        let patterns = match workspace.git {
            true => Vec::new(),
            false => FilePattern::new(&cwd, "**").into_iter().collect(),
        };
        let real = |path: &PathBuf| path.canonicalize().unwrap_or_else(|_| path.clone());
        let files = ComparedFiles { cwd, env: env.clone(), patterns, own: own.iter().map(real).collect() };
        let file = folder.join("orchestration").join(format!("{}.json", &name[..16]));
        let start = workspace.start_commit.clone();
        Watched { repository, baseline: Baseline { file, files }, start, is_git: workspace.git }
    }

    /// Remembers the state of the files, unless that was done before in this run.
    pub(super) async fn remember(&self) -> Result<(), FolderError> {
        self.baseline.take().await
    }

    /// What was done since.
    pub(super) async fn done(&self) -> WorkDone {
        let (changed, problem) = match self.baseline.changed().await {
            Ok(changed) => (changed, None),
            Err(problem) => (Vec::new(), Some(problem)),
        };
        let dir = &self.repository.dir;
        let name = |file: &PathBuf| {
            let below = file.strip_prefix(dir).unwrap_or(file);
            below.to_string_lossy().into_owned()
        };
        WorkDone {
            commits: self.commits().await,
            files: changed.iter().map(name).take(NAMED).collect(),
            changed_files: changed.len(),
            uncommitted: match self.is_git {
                true => self.uncommitted().await,
                false => changed.len(),
            },
            head: self.repository.commit("HEAD").await,
            state_digest: state_digest(dir, &changed),
            stat: self.stat().await,
            problem,
        }
    }

    /// The paths of the changed files.
    pub(super) async fn changed(&self) -> Result<Vec<PathBuf>, String> {
        self.baseline.changed().await
    }

    async fn uncommitted(&self) -> usize {
        let status = self.repository.text(&["status", "--porcelain", "--untracked-files=all"]).await;
        status.unwrap_or_default().lines().count()
    }

    /// The commits since the start that change the tree.
    async fn commits(&self) -> Vec<MadeCommit> {
        let Some(start) = &self.start else { return Vec::new() };
        let range = format!("{start}..HEAD");
        let args = ["log", "--reverse", "--no-merges", "--format=%H%x09%T%x09%s", &range];
        let listed = self.repository.text(&args).await.unwrap_or_default();
        let mut tree = self.repository.found(&["rev-parse", &format!("{start}^{{tree}}")]).await;
        let mut made = Vec::new();
        for line in listed.lines() {
            let mut parts = line.splitn(3, '\t');
            let (Some(commit), Some(own)) = (parts.next(), parts.next()) else { continue };
            if tree.as_deref() != Some(own) {
                let subject = parts.next().unwrap_or_default().to_owned();
                made.push(MadeCommit { commit: commit.to_owned(), subject });
            }
            tree = Some(own.to_owned());
        }
        made
    }

    async fn stat(&self) -> String {
        let Some(start) = &self.start else { return String::new() };
        let stat = self.repository.text(&["diff", "--stat=100", start]).await.unwrap_or_default();
        stat.chars().take(STAT).collect()
    }
}

/// Whether the work of this place is committed by the runner.
pub(super) fn is_committed_by_us(workspace: &WorkspaceFacts) -> bool {
    workspace.git && workspace.kind == WorkspaceKind::Worktree
}
