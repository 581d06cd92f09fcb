//! Pushing a branch, opening its pull request, merging that. Each first looks whether it is done, and never forces.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::repository::{WorkRepository, complaint};
use crate::os::gh::Gh;

/// The longest time for one call of a remote.
const CALL: Duration = Duration::from_secs(300);
/// How long the checks of a pull request may take, and the time between two looks at them.
const GREEN: Duration = Duration::from_secs(3600);
const LOOK: Duration = Duration::from_secs(20);

/// What became of a publication.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Published {
    /// Whether the remote confirms it.
    pub(super) done: bool,
    /// Whether it was done before.
    pub(super) already: bool,
    pub(super) remote: Option<String>,
    pub(super) commit: Option<String>,
    pub(super) pr_number: Option<u64>,
    pub(super) pr_url: Option<String>,
    /// Why it is not done.
    pub(super) error: Option<String>,
}

/// A branch to publish.
#[derive(Clone, Debug)]
pub(super) struct Publishing<'a> {
    pub(super) repository: &'a WorkRepository,
    pub(super) branch: &'a str,
    /// The branch that the work is for.
    pub(super) base: Option<&'a str>,
    /// The commit that the branch began with.
    pub(super) base_commit: Option<&'a str>,
    /// Title and text of a pull request.
    pub(super) title: String,
    pub(super) text: String,
}

impl Publishing<'_> {
    /// Pushes the branch.
    pub(super) async fn push(&self) -> Published {
        done(self.try_push().await)
    }

    async fn try_push(&self) -> Result<Published, String> {
        let Some(remote) = self.repository.remote().await else {
            return Err("the repository has no remote".to_owned());
        };
        let commit = self.repository.commit("HEAD").await.ok_or("there is no commit")?;
        if self.base == Some(self.branch) {
            return Err(format!("`{}` is the base branch itself", self.branch));
        }
        if Some(commit.as_str()) == self.base_commit {
            return Err("the branch has no commit of its own".to_owned());
        }
        let published = Published {
            done: true,
            remote: Some(remote.clone()),
            commit: Some(commit.clone()),
            ..Published::default()
        };
        if self.remote_commit(&remote).await? == Some(commit.clone()) {
            return Ok(Published { already: true, ..published });
        }
        let spec = format!("refs/heads/{0}:refs/heads/{0}", self.branch);
        self.git(&["push", "--set-upstream", &remote, &spec]).await?;
        match self.remote_commit(&remote).await? == Some(commit) {
            true => Ok(published),
            false => Err(format!("`{remote}` does not have the commit after the push")),
        }
    }

    /// The commit that the remote has.
    async fn remote_commit(&self, remote: &str) -> Result<Option<String>, String> {
        let listed =
            self.git(&["ls-remote", "--heads", remote, &format!("refs/heads/{}", self.branch)]).await?;
        Ok(listed.split_whitespace().next().map(str::to_owned))
    }

    async fn git(&self, args: &[&str]) -> Result<String, String> {
        // the address of a remote may be relative to the main worktree
        let main = self.repository.worktrees().await.into_iter().next().map(|tree| tree.path);
        let main = WorkRepository::at(main.as_deref().unwrap_or(&self.repository.dir), &self.repository.env);
        let output = main.git().await.within(CALL).run(args).await?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(complaint(&output.stderr)),
        }
    }

    /// Opens the pull request of the pushed branch, or finds it.
    pub(super) async fn open(&self) -> Published {
        done(self.try_open().await)
    }

    async fn try_open(&self) -> Result<Published, String> {
        if let Some(open) = self.pull_request().await? {
            return Ok(Published { already: true, ..open });
        }
        let mut args =
            vec!["pr", "create", "--head", self.branch, "--title", &self.title, "--body", &self.text];
        args.extend(self.base.iter().flat_map(|base| ["--base", base]));
        self.gh(&args).await?;
        self.pull_request()
            .await?
            .ok_or_else(|| "GitHub shows no pull request after it was opened".to_owned())
    }

    /// The open pull request of the branch.
    async fn pull_request(&self) -> Result<Option<Published>, String> {
        let args =
            ["pr", "list", "--head", self.branch, "--state", "open", "--json", "number,url", "--limit", "1"];
        let listed = self.gh(&args).await?;
        let listed: Json = serde_json::from_str(&listed).map_err(|error| format!("gh's list: {error}"))?;
        let found = |first: &Json| Published {
            done: true,
            pr_number: first["number"].as_u64(),
            pr_url: first["url"].as_str().map(str::to_owned),
            ..Published::default()
        };
        Ok(listed.get(0).map(found))
    }

    /// Merges a pull request once its required checks are green.
    pub(super) async fn merge(&self, number: u64) -> Published {
        let merged = self.try_merge(number).await;
        let merged = merged.map(|already| Published {
            done: true,
            already,
            pr_number: Some(number),
            ..Published::default()
        });
        done(merged)
    }

    async fn try_merge(&self, number: u64) -> Result<bool, String> {
        let number = number.to_string();
        if self.is_merged(&number).await? {
            return Ok(true);
        }
        self.wait_for_checks(&number).await?;
        let commit = self.repository.commit("HEAD").await.unwrap_or_default();
        self.gh(&["pr", "merge", &number, "--merge", "--match-head-commit", &commit]).await?;
        match self.is_merged(&number).await? {
            true => Ok(false),
            false => Err("GitHub does not show the pull request as merged".to_owned()),
        }
    }

    async fn is_merged(&self, number: &str) -> Result<bool, String> {
        let seen = self.gh(&["pr", "view", number, "--json", "state"]).await?;
        let seen: Json = serde_json::from_str(&seen).map_err(|error| format!("gh's answer: {error}"))?;
        Ok(seen["state"] == "MERGED")
    }

    /// Waits until the required checks have ended well.
    async fn wait_for_checks(&self, number: &str) -> Result<(), String> {
        let mut waited = Duration::ZERO;
        loop {
            let seen =
                self.gh(&["pr", "view", number, "--json", "mergeStateStatus,statusCheckRollup"]).await?;
            let seen: Json = serde_json::from_str(&seen).map_err(|error| format!("gh's answer: {error}"))?;
            match merge_state(&seen) {
                MergeState::Green => return Ok(()),
                MergeState::Refused(why) => return Err(why),
                MergeState::Pending if waited >= GREEN => {
                    return Err("the required checks have not ended within an hour".to_owned());
                }
                MergeState::Pending => {
                    tokio::time::sleep(LOOK).await;
                    waited += LOOK;
                }
            }
        }
    }

    async fn gh(&self, args: &[&str]) -> Result<String, String> {
        gh(self.repository, args).await
    }
}

/// Whether GitHub lets a pull request be merged.
enum MergeState {
    Green,
    Pending,
    Refused(String),
}

/// Reads what GitHub says about a pull request and its checks.
fn merge_state(seen: &Json) -> MergeState {
    let checks = seen["statusCheckRollup"].as_array().map(Vec::as_slice).unwrap_or_default();
    let word = |check: &Json, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    let is_bad = |check: &Json| {
        let bad = ["FAILURE", "ERROR", "TIMED_OUT", "CANCELLED", "ACTION_REQUIRED", "STARTUP_FAILURE"];
        ["conclusion", "state"].iter().any(|key| bad.contains(&word(check, key).as_str()))
    };
    let is_open = |check: &Json| {
        ["QUEUED", "IN_PROGRESS", "PENDING", "WAITING", "EXPECTED"]
            .iter()
            .any(|open| [word(check, "status"), word(check, "state")].iter().any(|found| found == open))
    };
    match seen["mergeStateStatus"].as_str().unwrap_or_default() {
        "CLEAN" | "HAS_HOOKS" | "UNSTABLE" => MergeState::Green,
        "UNKNOWN" => MergeState::Pending,
        "BLOCKED" if checks.iter().any(is_bad) => MergeState::Refused("a required check failed".to_owned()),
        "BLOCKED" if checks.iter().any(is_open) => MergeState::Pending,
        other => MergeState::Refused(format!("GitHub does not let it be merged ({})", other.to_lowercase())),
    }
}

/// The branch of a pull request.
pub(super) async fn branch_of(repository: &WorkRepository, number: &str) -> Result<String, String> {
    let number = number.trim_start_matches('#');
    let seen = gh(repository, &["pr", "view", number, "--json", "headRefName"]).await?;
    let seen: Json = serde_json::from_str(&seen).map_err(|error| format!("gh's answer: {error}"))?;
    let branch = seen["headRefName"].as_str().map(str::to_owned);
    branch.ok_or_else(|| format!("gh does not name the branch of pull request {number}"))
}

async fn gh(repository: &WorkRepository, args: &[&str]) -> Result<String, String> {
    let called = Gh::new(&repository.dir, &repository.env, CALL).call(args, "").await;
    called.map_err(|error| error.text().to_owned())
}

fn done(result: Result<Published, String>) -> Published {
    result.unwrap_or_else(|error| Published { error: Some(error), ..Published::default() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_green_is_merged() {
        let state = |status: &str, checks: Json| match merge_state(
            &json!({"mergeStateStatus": status, "statusCheckRollup": checks}),
        ) {
            MergeState::Green => "green",
            MergeState::Pending => "pending",
            MergeState::Refused(_) => "refused",
        };
        assert_eq!(state("CLEAN", json!([])), "green");
        assert_eq!(state("UNKNOWN", json!(null)), "pending");
        assert_eq!(state("BLOCKED", json!([{"status": "IN_PROGRESS"}])), "pending");
        assert_eq!(
            state("BLOCKED", json!([{"status": "IN_PROGRESS"}, {"conclusion": "FAILURE"}])),
            "refused"
        );
        assert_eq!(state("BLOCKED", json!([])), "refused");
        assert_eq!(state("DIRTY", json!([])), "refused");
    }
}
