//! What is remembered about failures in the state directory: how often each was seen, and which issues were filed.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use engine::issue_filing::{FiledBefore, KnownIssue};
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::locked_json::{LockedJson, LockedJsonError};
use crate::os::clock;

/// How long a filed issue counts against the limits.
const DAY: SignedDuration = SignedDuration::from_hours(24);
/// How long the issues of a run are remembered.
const KEPT: SignedDuration = SignedDuration::from_hours(24 * 30);

/// The index.
pub(crate) struct IssueIndex {
    file: LockedJson,
}

/// What its file holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct IndexContents {
    schema: u64,
    /// By fingerprint.
    seen: BTreeMap<String, Seen>,
    /// New issues, oldest first.
    filed: Vec<Filed>,
}

/// How often a failure was seen on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) count: u64,
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
}

/// An issue that was filed from here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Filed {
    pub(crate) repository: String,
    pub(crate) fingerprint: String,
    pub(crate) number: u64,
    pub(crate) url: String,
    pub(crate) run_id: String,
    pub(crate) created_at: Timestamp,
    #[serde(default)]
    pub(crate) commented_at: Option<Timestamp>,
}

impl Filed {
    /// The issue, as open.
    pub(crate) fn known(&self) -> KnownIssue {
        KnownIssue {
            number: self.number,
            url: self.url.clone(),
            is_open: true,
            created_at: self.created_at,
            commented_at: self.commented_at,
        }
    }
}

impl IssueIndex {
    /// The index of a state directory.
    pub(crate) fn at(home: &Path) -> IssueIndex {
        IssueIndex { file: LockedJson::new(PathBuf::from(home), "failures") }
    }

    /// Counts a failure.
    pub(crate) fn count(&self, fingerprint: &str) -> Result<Seen, LockedJsonError> {
        let now = clock::now();
        self.change(|contents| {
            let fresh = || Seen { first: now, ..Seen::default() };
            let seen = contents.seen.entry(fingerprint.to_owned()).or_insert_with(fresh);
            seen.count += 1;
            seen.last = now;
            seen.clone()
        })
    }

    /// The issues that were filed for a failure in a repository.
    pub(crate) fn filed(&self, repository: &str, fingerprint: &str) -> Vec<Filed> {
        let is_meant = |filed: &Filed| filed.repository == repository && filed.fingerprint == fingerprint;
        self.contents().filed.into_iter().filter(is_meant).collect()
    }

    /// How many issues were filed before, in the repository and by the run.
    pub(crate) fn before(&self, repository: &str, run_id: &str) -> FiledBefore {
        let (now, filed) = (clock::now(), self.contents().filed);
        let is_recent = |filed: &&Filed| now.duration_since(filed.created_at) < DAY;
        FiledBefore {
            // an issue that was only commented on has no run
            by_run: filed.iter().filter(|filed| filed.run_id == run_id).count(),
            within_day: filed
                .iter()
                .filter(|filed| filed.repository == repository && !filed.run_id.is_empty())
                .filter(is_recent)
                .count(),
        }
    }

    /// Remembers a new issue.
    pub(crate) fn add(&self, filed: Filed) -> Result<(), LockedJsonError> {
        let now = clock::now();
        self.change(|contents| {
            contents.filed.retain(|old| now.duration_since(old.created_at) < KEPT);
            contents.filed.push(filed);
        })
    }

    /// Remembers a comment on an issue, which may not be filed from here.
    pub(crate) fn commented(&self, issue: Filed) -> Result<(), LockedJsonError> {
        let is_same = |filed: &Filed| filed.repository == issue.repository && filed.number == issue.number;
        self.change(|contents| match contents.filed.iter_mut().find(|filed| is_same(filed)) {
            Some(known) => known.commented_at = issue.commented_at,
            // its run did not open it
            None => contents.filed.push(Filed { run_id: String::new(), ..issue.clone() }),
        })
    }

    fn contents(&self) -> IndexContents {
        self.file.look().unwrap_or_default()
    }

    fn change<T>(&self, change: impl FnOnce(&mut IndexContents) -> T) -> Result<T, LockedJsonError> {
        let empty = IndexContents { schema: 1, ..IndexContents::default() };
        Ok(self.file.change(empty, change)?.value)
    }
}
