//! A directory, and the git repository that it may belong to. Never changes a branch, the index or a file.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{
    machine::programs::is_program,
    os::{environment::Environment, git::Git},
};

/// The longest time for git on this machine: hooks of the user may test the work.
const LOCAL: Duration = Duration::from_secs(1800);

/// The beginning of the line that names the branch of a worktree.
const BRANCH_LINE: &str = "branch refs/heads/";

/// A directory that work is done in.
#[derive(Clone, Debug)]
pub(super) struct WorkRepository {
    pub(super) dir: PathBuf,
    pub(super) env: Environment,
}

/// What is known about the repository of a task before it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct CheckoutFacts {
    /// Whether the directory is in a git work tree.
    pub(super) git: bool,
    /// The top of the work tree, or the directory.
    pub(super) top: String,
    /// The commit that is checked out.
    pub(super) head: Option<String>,
    /// The branch that is checked out.
    pub(super) branch: Option<String>,
    /// How many files have uncommitted changes.
    pub(super) dirty_files: usize,
    /// SHA-256 of the status of the checkout.
    pub(super) status: String,
    pub(super) remote: Option<String>,
    /// Whether the program `gh` is installed.
    pub(super) gh: bool,
    /// All branches with their commits.
    pub(super) branches: BTreeMap<String, String>,
}

/// A worktree that git knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Registered {
    pub(super) path: PathBuf,
    pub(super) branch: Option<String>,
}

impl WorkRepository {
    pub(super) fn at(dir: &Path, env: &Environment) -> WorkRepository {
        let dir = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        WorkRepository { dir, env: env.clone() }
    }

    pub(super) async fn git(&self) -> Git<'_> {
        Git::new(&self.dir, &self.env).await.within(LOCAL)
    }

    /// What git prints, or the first line of its complaint.
    pub(super) async fn text(&self, args: &[&str]) -> Result<String, String> {
        let output = self.git().await.run(args).await?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned()),
            false => Err(complaint(&output.stderr)),
        }
    }

    /// The same, if it succeeds and prints something.
    pub(super) async fn found(&self, args: &[&str]) -> Option<String> {
        self.text(args).await.ok().filter(|text| !text.is_empty())
    }

    /// The commit that a name means.
    pub(super) async fn commit(&self, name: &str) -> Option<String> {
        let name = format!("{name}^{{commit}}");
        self.found(&["rev-parse", "--verify", "--quiet", "--end-of-options", &name]).await
    }

    /// Its facts.
    pub(super) async fn facts(&self) -> CheckoutFacts {
        let top = self.found(&["rev-parse", "--show-toplevel"]).await;
        let status = self.text(&["status", "--porcelain"]).await.unwrap_or_default();
        let listed = self.text(&["for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads"]);
        let listed = listed.await.unwrap_or_default();
        let branch = |line: &str| line.split_once(' ').map(|(name, at)| (name.to_owned(), at.to_owned()));
        CheckoutFacts {
            git: top.is_some(),
            top: top.unwrap_or_else(|| self.dir.to_string_lossy().into_owned()),
            head: self.commit("HEAD").await,
            branch: self.found(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await,
            dirty_files: status.lines().count(),
            status: recipe::digest::sha256(status.as_bytes()),
            remote: self.remote().await,
            gh: self.has_program("gh"),
            branches: listed.lines().filter_map(branch).collect(),
        }
    }

    /// The remote `origin`, or the first one.
    pub(super) async fn remote(&self) -> Option<String> {
        let remotes = self.found(&["remote"]).await?;
        let first = remotes.lines().next().map(str::to_owned);
        remotes.lines().find(|name| *name == "origin").map(str::to_owned).or(first)
    }

    /// Its worktrees; the first one is the main one.
    pub(super) async fn worktrees(&self) -> Vec<Registered> {
        let listed = self.text(&["worktree", "list", "--porcelain"]).await.unwrap_or_default();
        let mut found: Vec<Registered> = Vec::new();
        for line in listed.lines() {
            if let Some(path) = line.strip_prefix("worktree ") {
                found.push(Registered { path: path.into(), branch: None });
            } else if let Some(branch) = line.strip_prefix(BRANCH_LINE) {
                found.iter_mut().last().into_iter().for_each(|tree| tree.branch = Some(branch.to_owned()));
            }
        }
        found
    }

    /// Whether a program is in `PATH`.
    pub(super) fn has_program(&self, name: &str) -> bool {
        let path = self.env.get("PATH").unwrap_or_default();
        std::env::split_paths(path).any(|dir| is_program(&dir.join(name)))
    }
}

/// The first line that git or gh complains with.
pub(super) fn complaint(stderr: &[u8]) -> String {
    let said = String::from_utf8_lossy(stderr);
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("hint:"));
    let worst = lines().find(|line| line.starts_with("fatal:") || line.starts_with("error:"));
    worst.or_else(|| lines().next()).unwrap_or("it failed without a message").to_owned()
}
