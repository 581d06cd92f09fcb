//! The place that a task is worked on: a worktree with a branch of its own, or the directory itself.
//!
//! Only ever adds a branch and a directory. A branch or worktree that exists is found again and continued.

use std::path::{Path, PathBuf};

use engine::branch_name;
use serde::{Deserialize, Serialize};

use super::{
    claims::Claims,
    repository::{Registered, WorkRepository},
};
use crate::{os::files, store::folder::FolderError};

/// Where work is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WorkspaceKind {
    /// A worktree where there is git and a commit, else in place.
    #[default]
    Auto,
    Worktree,
    InPlace,
}

/// A place that is ready for work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct WorkspaceFacts {
    /// `worktree` or `in_place`.
    pub(super) kind: WorkspaceKind,
    pub(super) git: bool,
    pub(super) path: String,
    pub(super) branch: Option<String>,
    /// The commit that the branch began with, or that was checked out.
    pub(super) base_commit: Option<String>,
    /// The commit that was checked out when this run came.
    pub(super) start_commit: Option<String>,
    /// The branch that the work is for.
    pub(super) base_branch: Option<String>,
    /// Whether this run made the branch.
    pub(super) created: bool,
    /// What was found.
    pub(super) notes: Vec<String>,
}

/// What to prepare.
#[derive(Clone, Debug, Default)]
pub(super) struct WantedWorkspace {
    pub(super) kind: WorkspaceKind,
    /// The text that names the branch.
    pub(super) task: String,
    /// The name of the branch, if it is not made from the text.
    pub(super) branch: String,
    pub(super) prefix: String,
    pub(super) issue: String,
    /// A branch that exists and is worked on.
    pub(super) existing: String,
    /// The commit that a new branch begins with.
    pub(super) base: Option<String>,
    /// The directory for worktrees; beside the repository if it is empty.
    pub(super) root: String,
    /// The branch of this part of the work in an earlier round, and its last commit.
    pub(super) earlier: Option<(String, String)>,
}

/// Why there is no place to work.
#[derive(Debug, thiserror::Error)]
pub(super) enum WorkspaceError {
    /// A worktree was asked for.
    #[error("`{0}` has no git repository with a commit, so there can be no worktree")]
    NoGit(String),
    /// Another live run works there.
    #[error("run `{run}` works {place}")]
    Taken {
        /// The run.
        run: String,
        /// Where.
        place: String,
    },
    /// The user's checkout has the branch.
    #[error(
        "branch `{0}` is checked out in your own checkout: switch to another branch, or use `--in-place`"
    )]
    CheckedOut(String),
    /// The branch was there earlier in this run.
    #[error(
        "branch `{branch}` is gone; its last commit was {commit}: `git branch {branch} {commit}` brings it back"
    )]
    Gone {
        /// The branch.
        branch: String,
        /// Its last commit.
        commit: String,
    },
    /// The branch that the user named.
    #[error("branch `{0}` does not exist")]
    NoBranch(String),
    /// The name cannot be a branch.
    #[error("`{0}` cannot be the name of a branch")]
    Name(String),
    /// Git refused.
    #[error("git cannot make the worktree `{path}`: {reason}")]
    Git {
        /// The worktree.
        path: String,
        /// Its complaint.
        reason: String,
    },
    /// The claim could not be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// Prepares a place to work.
pub(super) async fn prepare(
    repository: &WorkRepository,
    wanted: &WantedWorkspace,
    claims: &Claims,
) -> Result<WorkspaceFacts, WorkspaceError> {
    let facts = repository.facts().await;
    let shown = repository.dir.display().to_string();
    let in_place = match wanted.kind {
        WorkspaceKind::InPlace => true,
        WorkspaceKind::Auto => facts.head.is_none(),
        WorkspaceKind::Worktree if facts.head.is_none() => return Err(WorkspaceError::NoGit(shown)),
        WorkspaceKind::Worktree => false,
    };
    if in_place {
        if let Some(run) = claims.claim(&format!("place {shown}"))? {
            return Err(WorkspaceError::Taken { run, place: format!("in place in `{shown}`") });
        }
        return Ok(WorkspaceFacts {
            kind: WorkspaceKind::InPlace,
            git: facts.git,
            path: shown,
            branch: facts.branch.clone(),
            base_branch: facts.branch,
            base_commit: facts.head.clone(),
            start_commit: facts.head,
            ..WorkspaceFacts::default()
        });
    }
    let worktrees = repository.worktrees().await;
    let making = Making { repository, wanted, claims, worktrees: &worktrees };
    let branch = making.branch(Path::new(&facts.top)).await?;
    let made = making.worktree(&branch, facts.head.as_deref().unwrap_or("HEAD")).await?;
    Ok(WorkspaceFacts { base_branch: facts.branch, ..made })
}

/// Brings back a worktree that an earlier process prepared and that is gone or half-made. `last` is the newest commit
/// of its branch that is known.
pub(super) async fn restore(
    repository: &WorkRepository,
    facts: &WorkspaceFacts,
    last: &str,
) -> Result<(), WorkspaceError> {
    let path = Path::new(&facts.path);
    let branch = facts.branch.clone().unwrap_or_default();
    if repository.commit(&format!("refs/heads/{branch}")).await.is_none() {
        return Err(WorkspaceError::Gone { branch, commit: last.to_owned() });
    }
    let worktrees = repository.worktrees().await;
    let wanted = WantedWorkspace::default();
    let claims = Claims::of(&repository.dir, "", "");
    let making = Making { repository, wanted: &wanted, claims: &claims, worktrees: &worktrees };
    if path.join(".git").exists() {
        return making.complete(path).await;
    }
    let is_registered = worktrees.iter().any(|tree| tree.path == path);
    let options: &[&str] = if is_registered { &["--force"] } else { &[] };
    making.add(path, options, &[&branch]).await
}

/// The preparation of a worktree.
struct Making<'a> {
    repository: &'a WorkRepository,
    wanted: &'a WantedWorkspace,
    claims: &'a Claims,
    worktrees: &'a [Registered],
}

impl Making<'_> {
    /// The branch to work on, claimed for this run.
    async fn branch(&self, checkout: &Path) -> Result<String, WorkspaceError> {
        let WantedWorkspace { existing, earlier, prefix, issue, task, branch, .. } = self.wanted;
        let issue = Some(issue.as_str()).filter(|issue| !issue.is_empty());
        let named = match (earlier, existing.as_str()) {
            (Some((branch, _)), _) => branch.clone(),
            (None, "") if !branch.is_empty() => branch.clone(),
            (None, "") => branch_name::branch(prefix, issue, branch_name::slug(task).as_deref()),
            (None, existing) => existing.to_owned(),
        };
        if !branch_name::is_valid(&named) {
            return Err(WorkspaceError::Name(named));
        }
        let is_fixed = earlier.is_some() || !existing.is_empty();
        let mut number = 1;
        loop {
            let branch = match number {
                1 => named.clone(),
                n => format!("{named}-{n}"),
            };
            let tree = self.worktrees.iter().find(|tree| tree.branch.as_deref() == Some(&branch));
            let is_checkout = tree.is_some_and(|tree| tree.path == checkout);
            let taken = match is_checkout {
                true => Some(WorkspaceError::CheckedOut(branch.clone())),
                false => self.taken(&branch).await?,
            };
            match taken {
                None => return Ok(branch),
                Some(taken) if is_fixed => return Err(taken),
                Some(_) => number += 1,
            }
        }
    }

    async fn taken(&self, branch: &str) -> Result<Option<WorkspaceError>, WorkspaceError> {
        let common = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let common = self.repository.found(&common).await.unwrap_or_default();
        let run = self.claims.claim(&format!("branch {common}\0{branch}"))?;
        let place = format!("on branch `{branch}`");
        Ok(run.map(|run| WorkspaceError::Taken { run, place }))
    }

    /// The worktree of the branch: the one that there is, or a new one.
    async fn worktree(&self, branch: &str, head: &str) -> Result<WorkspaceFacts, WorkspaceError> {
        let registered = self.worktrees.iter().find(|tree| tree.branch.as_deref() == Some(branch));
        let tip = self.repository.commit(&format!("refs/heads/{branch}")).await;
        if let (None, Some((branch, commit))) = (&tip, &self.wanted.earlier) {
            let (branch, commit) = (branch.clone(), commit.clone());
            return Err(WorkspaceError::Gone { branch, commit });
        }
        let base = self.wanted.base.as_deref().unwrap_or(head);
        let mut notes = Vec::new();
        let path = match registered {
            Some(tree) if tree.path.exists() => {
                self.complete(&tree.path).await?;
                notes.push(format!("branch `{branch}` has a worktree: {}", tree.path.display()));
                tree.path.clone()
            }
            Some(tree) => {
                notes.push(format!("the worktree of branch `{branch}` was gone and is made again"));
                self.add(&tree.path, &["--force"], &[branch]).await?;
                tree.path.clone()
            }
            None => {
                let path = self.free_path(branch);
                self.add_new(&path, branch, tip.is_some(), base).await?;
                path
            }
        };
        if tip.is_some() && registered.is_none() {
            notes.push(format!("branch `{branch}` was there and is continued"));
        }
        let there = WorkRepository::at(&path, &self.repository.env);
        let start = there.commit("HEAD").await;
        let began = there.found(&["merge-base", "HEAD", base]).await;
        Ok(WorkspaceFacts {
            kind: WorkspaceKind::Worktree,
            git: true,
            path: there.dir.to_string_lossy().into_owned(),
            branch: Some(branch.to_owned()),
            base_commit: began.or_else(|| start.clone()),
            start_commit: start,
            created: tip.is_none(),
            notes,
            ..WorkspaceFacts::default()
        })
    }

    /// Adds the worktree of a branch that may have to be made.
    async fn add_new(
        &self,
        path: &Path,
        branch: &str,
        exists: bool,
        base: &str,
    ) -> Result<(), WorkspaceError> {
        if exists {
            return self.add(path, &[], &[branch]).await;
        }
        let remote = self.repository.remote().await.map(|remote| format!("{remote}/{branch}"));
        let tracked = match &remote {
            Some(name) => self.repository.commit(&format!("refs/remotes/{name}")).await,
            None => None,
        };
        match (tracked, remote) {
            (Some(_), Some(remote)) => self.add(path, &["--track", "-b", branch], &[&remote]).await,
            _ if !self.wanted.existing.is_empty() => Err(WorkspaceError::NoBranch(branch.to_owned())),
            _ => self.add(path, &["--no-track", "-b", branch], &[base]).await,
        }
    }

    async fn add(&self, path: &Path, options: &[&str], rest: &[&str]) -> Result<(), WorkspaceError> {
        let shown = path.to_string_lossy().into_owned();
        let args = [&["worktree", "add"], options, &[shown.as_str()], rest].concat();
        let added = self.repository.text(&args).await;
        added.map(drop).map_err(|reason| WorkspaceError::Git { path: shown, reason })
    }

    /// A directory for the worktree that does not exist yet.
    fn free_path(&self, branch: &str) -> PathBuf {
        let main = self.worktrees.first().map_or(&self.repository.dir, |tree| &tree.path);
        let mut beside = main.as_os_str().to_owned();
        beside.push(".worktrees");
        let root = match self.wanted.root.as_str() {
            "" => PathBuf::from(beside),
            root => self.repository.dir.join(root),
        };
        let numbered = |n: usize| match n {
            1 => root.join(branch),
            n => root.join(format!("{branch}-{n}")),
        };
        let mut number = 1;
        while numbered(number).exists() {
            number += 1;
        }
        numbered(number)
    }

    /// Completes a worktree whose making was cut off: git locks it until it is made. Files that exist are kept.
    async fn complete(&self, path: &Path) -> Result<(), WorkspaceError> {
        let tree = WorkRepository::at(path, &self.repository.env);
        let Some(dir) = tree.found(&["rev-parse", "--absolute-git-dir"]).await.map(PathBuf::from) else {
            return Ok(());
        };
        let lock = std::fs::read_to_string(dir.join("locked")).unwrap_or_default();
        if lock.trim() != "initializing" {
            return Ok(());
        }
        let shown = path.to_string_lossy().into_owned();
        let refused = |reason| WorkspaceError::Git { path: shown.clone(), reason };
        files::discard_file(&dir.join("index.lock"));
        tree.text(&["worktree", "unlock", &shown]).await.map_err(refused)?;
        tree.text(&["read-tree", "HEAD"]).await.map_err(refused)?;
        // a file that is there is kept, which git reports as a failure
        let _ = tree.text(&["checkout-index", "--all", "--quiet"]).await;
        Ok(())
    }
}
