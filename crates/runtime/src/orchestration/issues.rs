//! Issues about failures: filed only where the user has named a repository, found again by a mark in their text.
//!
//! A failure that cannot be filed stays in its local file. Nothing here changes the result of a run.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use engine::issue_filing::{Filing, KnownIssue, filing};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value as Json;

use super::diagnostics::{self, Confidential, TaskFailure};
use crate::{
    os::{
        clock,
        environment::Environment,
        gh::{Gh, GhError},
    },
    store::{
        folder::write_private,
        issue_index::{Filed, IssueIndex},
    },
};

/// The longest time for one call of gh.
const CALL: Duration = Duration::from_secs(60);
/// How long an open issue is commented on, in seconds.
const WINDOW: i64 = 86_400;
/// The file in the folder of diagnostics that says that gh refused a call of this run.
const REFUSED: &str = "gh-refused";

/// What was done about equal reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum IssueDedup {
    /// No repository was named.
    Off,
    /// There is only the local file.
    Local,
    Created,
    Commented,
    Rollup,
    Suppressed,
}

/// What became of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailureReported {
    /// The local file.
    pub file: Option<PathBuf>,
    pub issue_url: Option<String>,
    pub dedup: IssueDedup,
    /// Problems on the way.
    pub notes: Vec<String>,
}

/// Where failures are reported.
pub struct FailureReporter<'a> {
    pub run_dir: &'a Path,
    pub run_id: &'a str,
    /// The state directory.
    pub state_home: &'a Path,
    pub env: &'a Environment,
    pub shown: Confidential<'a>,
    /// The repository that the user has named for issues, as `owner/name`.
    pub repository: Option<&'a str>,
}

/// A failure that is being filed.
struct IssueReport<'a> {
    facts: &'a TaskFailure,
    fingerprint: &'a str,
    text: String,
    seen: u64,
    repository: &'a str,
}

impl FailureReporter<'_> {
    /// Writes the local file, counts the failure, and files it if a repository is named.
    pub async fn report(&self, facts: &TaskFailure, fingerprint: &str) -> FailureReported {
        let mut notes = Vec::new();
        let seen = match self.index().count(fingerprint) {
            Ok(seen) => seen.count,
            Err(error) => {
                notes.push(format!("the failure was not counted: {error}"));
                1
            }
        };
        let text = facts.text(fingerprint, seen, &self.shown);
        let file = match diagnostics::write(self.run_dir, fingerprint, &text) {
            Ok(file) => Some(file),
            Err(error) => {
                notes.push(error.to_string());
                None
            }
        };
        let mut reported = FailureReported { file, issue_url: None, dedup: IssueDedup::Off, notes };
        let Some(repository) = self.repository.filter(|name| !name.trim().is_empty()) else {
            return reported;
        };
        if !is_repository(repository) {
            reported
                .notes
                .push(format!("`{repository}` is not the name of a repository: write `owner/name`"));
            return reported;
        }
        reported.dedup = IssueDedup::Local;
        let refused = diagnostics::folder(self.run_dir).join(REFUSED);
        if refused.exists() {
            return reported;
        }
        match self.file(&IssueReport { facts, fingerprint, text, seen, repository }).await {
            Ok((dedup, url)) => {
                (reported.dedup, reported.issue_url) = (dedup, url);
            }
            Err(error) => {
                if let GhError::Refused(text) = &error {
                    reported.notes.extend(
                        write_private(&refused, text.as_bytes()).err().map(|error| error.to_string()),
                    );
                }
                reported.notes.push(error.text().to_owned());
            }
        }
        reported
    }

    fn index(&self) -> IssueIndex {
        IssueIndex::at(self.state_home)
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.env.get(name)?.to_str()?.trim().parse().ok()
    }

    async fn file(&self, report: &IssueReport<'_>) -> Result<(IssueDedup, Option<String>), GhError> {
        let known = match self.number("AMPLIHACK_ISSUE_DEDUP") {
            Some(0) => Vec::new(),
            _ => self.known(report).await?,
        };
        let window = self.number("AMPLIHACK_ISSUE_DEDUP_WINDOW").filter(|seconds| *seconds >= 0);
        let window = SignedDuration::from_secs(window.unwrap_or(WINDOW));
        let before = self.index().before(report.repository, self.run_id);
        match filing(&known, before, window, clock::now()) {
            Filing::Suppress { url } => Ok((IssueDedup::Suppressed, url)),
            Filing::Comment { number, url } => {
                self.comment(report, number, &url, &known).await?;
                Ok((IssueDedup::Commented, Some(url)))
            }
            Filing::Create { closed } => {
                let link = closed.map(|number| format!("Seen before in #{number}, which is closed."));
                Ok((IssueDedup::Created, Some(self.create(report, link).await?)))
            }
            Filing::Rollup { number } => {
                let link = format!("Continues #{number}, which is open and old.");
                Ok((IssueDedup::Rollup, Some(self.create(report, Some(link)).await?)))
            }
        }
    }

    fn gh(&self) -> Gh<'_> {
        Gh::new(self.run_dir, self.env, CALL)
    }

    /// The issues with the mark of the failure. Those that were filed from here are known before the search finds them.
    async fn known(&self, report: &IssueReport<'_>) -> Result<Vec<KnownIssue>, GhError> {
        let filed = self.index().filed(report.repository, report.fingerprint);
        let mark = mark(report.fingerprint);
        let search = format!("\"recipe-runner:fingerprint={}\" in:body", report.fingerprint);
        let args = [
            "issue",
            "list",
            "--repo",
            report.repository,
            "--state",
            "all",
            "--search",
            &search,
            "--limit",
            "30",
            "--json",
            "number,url,state,createdAt,body",
        ];
        let found = parsed(&self.gh().call(&args, "").await?)?;
        let mut known: Vec<KnownIssue> = found
            .as_array()
            .into_iter()
            .flatten()
            .filter(|issue| issue["body"].as_str().is_some_and(|body| body.contains(&mark)))
            .filter_map(known_issue)
            .collect();
        for issue in &mut known {
            let ours = filed.iter().find(|filed| filed.number == issue.number);
            issue.commented_at = ours.and_then(|filed| filed.commented_at);
        }
        for ours in &filed {
            if known.iter().all(|issue| issue.number != ours.number) {
                known.push(self.seen_now(report, ours).await?);
            }
        }
        Ok(known)
    }

    /// An issue that was filed from here, with its state now.
    async fn seen_now(&self, report: &IssueReport<'_>, filed: &Filed) -> Result<KnownIssue, GhError> {
        let number = filed.number.to_string();
        let args =
            ["issue", "view", &number, "--repo", report.repository, "--json", "number,url,state,createdAt"];
        let viewed = parsed(&self.gh().call(&args, "").await?)?;
        let is_open = viewed["state"].as_str().is_some_and(|state| state.eq_ignore_ascii_case("open"));
        Ok(KnownIssue { is_open, ..filed.known() })
    }

    async fn comment(
        &self,
        report: &IssueReport<'_>,
        number: u64,
        url: &str,
        known: &[KnownIssue],
    ) -> Result<(), GhError> {
        let text = format!("Seen again, {} times on this machine so far.\n\n{}", report.seen, report.text);
        let number_text = number.to_string();
        let args = ["issue", "comment", &number_text, "--repo", report.repository, "--body-file", "-"];
        self.gh().call(&args, &text).await?;
        let created = known.iter().find(|issue| issue.number == number).map(|issue| issue.created_at);
        let filed = Filed {
            commented_at: Some(clock::now()),
            created_at: created.unwrap_or_else(clock::now),
            ..self.filed(report, number, url)
        };
        self.index().commented(filed).map_err(|error| GhError::Failed(error.to_string()))
    }

    /// Opens an issue, and returns its address.
    async fn create(&self, report: &IssueReport<'_>, link: Option<String>) -> Result<String, GhError> {
        let link = link.map(|link| format!("{link}\n\n")).unwrap_or_default();
        let body = format!("{link}{}\n{}\n", report.text, mark(report.fingerprint));
        let title = report.facts.title(&self.shown);
        let plain = ["issue", "create", "--repo", report.repository, "--title", &title, "--body-file", "-"];
        let labelled = [&plain[..], &["--label", "bug"]].concat();
        let printed = match self.gh().call(&labelled, &body).await {
            // a repository without that label
            Err(GhError::Failed(text)) if text.contains("label") => self.gh().call(&plain, &body).await?,
            called => called?,
        };
        let url = printed.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
        let number = url.rsplit('/').next().and_then(|number| number.parse().ok());
        let number =
            number.ok_or_else(|| GhError::Failed(format!("gh: no address of an issue in `{url}`")))?;
        let added = self.index().add(self.filed(report, number, url));
        added.map_err(|error| GhError::Failed(error.to_string()))?;
        Ok(url.to_owned())
    }

    fn filed(&self, report: &IssueReport<'_>, number: u64, url: &str) -> Filed {
        Filed {
            repository: report.repository.to_owned(),
            fingerprint: report.fingerprint.to_owned(),
            number,
            url: url.to_owned(),
            run_id: self.run_id.to_owned(),
            created_at: clock::now(),
            commented_at: None,
        }
    }
}

/// The mark of a failure in the text of its issues.
fn mark(fingerprint: &str) -> String {
    format!("<!-- recipe-runner:fingerprint={fingerprint} -->")
}

fn parsed(text: &str) -> Result<Json, GhError> {
    serde_json::from_str(text).map_err(|error| GhError::Failed(format!("gh: {error}")))
}

fn known_issue(issue: &Json) -> Option<KnownIssue> {
    let created_at: Timestamp = issue["createdAt"].as_str()?.parse().ok()?;
    Some(KnownIssue {
        number: issue["number"].as_u64()?,
        url: issue["url"].as_str()?.to_owned(),
        is_open: issue["state"].as_str()?.eq_ignore_ascii_case("open"),
        created_at,
        commented_at: None,
    })
}

/// Whether a text is `owner/name`.
fn is_repository(text: &str) -> bool {
    let is_name = |part: &str| {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        !part.is_empty() && !part.starts_with(['-', '.']) && part.chars().all(is_allowed)
    };
    text.split_once('/').is_some_and(|(owner, name)| is_name(owner) && is_name(name))
}

#[cfg(test)]
mod tests;
