//! Files of a repository that do not belong into it, by their paths. Changes nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use engine::artifact_path::{PathState, artifact, is_allowed};

use crate::os::{clock, environment::Environment, git::Git};

/// Which files are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArtifactScope {
    /// The index.
    Index,
    /// The index, and what is neither in it nor ignored.
    Visible,
    /// All of those, and what is ignored.
    Everything,
}

/// A path that does not belong into the repository, and the reason.
pub type Artifact = (String, String);

/// The artifacts of a repository, except those that a line of the allowlist names; or why they cannot be found.
pub fn artifacts(
    repository: &Path,
    scope: ArtifactScope,
    allowlist: &str,
    env: &Environment,
) -> Result<Vec<Artifact>, String> {
    let listed = clock::block_on(listed(repository, scope, env)).map_err(|error| error.to_string())??;
    let allowed: Vec<&str> =
        allowlist.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let is_wanted = |path: &str| allowed.iter().any(|line| is_allowed(path, line));
    let found = listed.into_iter().filter(|(path, _)| !is_wanted(path));
    Ok(found.filter_map(|(path, state)| artifact(&path, state).map(|reason| (path, reason))).collect())
}

/// The paths to look at, each with where git knows it.
async fn listed(
    repository: &Path,
    scope: ArtifactScope,
    env: &Environment,
) -> Result<BTreeMap<String, PathState>, String> {
    let git = Git::new(repository, env).await;
    if !git.is_work_tree().await {
        return Err(format!("`{}` is not in a git work tree", repository.display()));
    }
    let paths = async |args: &[&str]| -> Result<Vec<String>, String> {
        let said = git.output(args).await.map_err(|error| error.trim_start_matches("that ").to_owned())?;
        let entries = said.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
        Ok(entries.map(|entry| String::from_utf8_lossy(entry).into_owned()).collect())
    };
    let has_commit = git.output(&["rev-parse", "--verify", "--quiet", "HEAD"]).await.is_ok();
    let committed: BTreeSet<String> = match has_commit {
        true => paths(&["ls-tree", "-r", "-z", "--name-only", "HEAD"]).await?.into_iter().collect(),
        false => BTreeSet::new(),
    };
    let modules = paths(&["config", "-z", "--file", ".gitmodules", "--get-regexp", "\\.path$"]).await;
    let modules: BTreeSet<String> = modules
        .unwrap_or_default()
        .iter()
        .filter_map(|entry| entry.split_once('\n').map(|(_, path)| path.to_owned()))
        .collect();
    let mut all = BTreeMap::new();
    for entry in paths(&["ls-files", "-z", "--stage"]).await? {
        let Some((facts, path)) = entry.split_once('\t') else { continue };
        let state = if committed.contains(path) { PathState::Committed } else { PathState::Staged };
        // another repository in this one, unless it is a declared module
        let is_foreign = facts.starts_with("160000") && !modules.contains(path);
        all.insert(if is_foreign { format!("{path}/") } else { path.to_owned() }, state);
    }
    if scope != ArtifactScope::Index {
        let untracked = paths(&["ls-files", "-z", "--others", "--exclude-standard"]).await?;
        all.extend(untracked.into_iter().map(|path| (path, PathState::Untracked)));
    }
    if scope == ArtifactScope::Everything {
        let ignored = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard"];
        all.extend(paths(&ignored).await?.into_iter().map(|path| (path, PathState::Ignored)));
    }
    Ok(all)
}
