//! Whether a failure becomes a new issue, a comment on one that exists, or nothing.
//!
//! Never asks GitHub: the caller knows which issues exist and what was filed from here.

use jiff::{SignedDuration, Timestamp};

/// At most one comment on an issue in this time.
const BETWEEN_COMMENTS: SignedDuration = SignedDuration::from_hours(1);
/// The most new issues of one run.
const MOST_OF_RUN: usize = 3;
/// The most new issues in one repository within a day.
const MOST_OF_DAY: usize = 10;

/// An issue with the mark of the failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownIssue {
    pub number: u64,
    pub url: String,
    pub is_open: bool,
    pub created_at: Timestamp,
    /// The last comment that was written from here.
    pub commented_at: Option<Timestamp>,
}

/// What was filed from here before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FiledBefore {
    /// New issues of this run.
    pub by_run: usize,
    /// New issues in the repository within the last day.
    pub within_day: usize,
}

/// What to do about a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filing {
    /// Open an issue that links this closed one.
    Create { closed: Option<u64> },
    /// Comment on this issue.
    Comment { number: u64, url: String },
    /// Open an issue that takes the place of this old one, and link it.
    Rollup { number: u64 },
    /// Do nothing.
    Suppress { url: Option<String> },
}

/// Decides what to do. `window` is how long an open issue is commented on.
pub fn filing(known: &[KnownIssue], before: FiledBefore, window: SignedDuration, now: Timestamp) -> Filing {
    let newest = |is_open: bool| {
        let issues = known.iter().filter(|issue| issue.is_open == is_open);
        issues.max_by_key(|issue| (issue.created_at, issue.number))
    };
    let open = newest(true);
    let is_full = before.by_run >= MOST_OF_RUN || before.within_day >= MOST_OF_DAY;
    match open {
        Some(issue) if now.duration_since(issue.created_at) <= window => {
            let is_soon = |at: Timestamp| now.duration_since(at) < BETWEEN_COMMENTS;
            match issue.commented_at.is_some_and(is_soon) {
                true => Filing::Suppress { url: Some(issue.url.clone()) },
                false => Filing::Comment { number: issue.number, url: issue.url.clone() },
            }
        }
        _ if is_full => Filing::Suppress { url: open.map(|issue| issue.url.clone()) },
        Some(issue) => Filing::Rollup { number: issue.number },
        None => Filing::Create { closed: newest(false).map(|issue| issue.number) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hours: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hours)
    }

    fn issue(number: u64, is_open: bool, hour: i64) -> KnownIssue {
        KnownIssue { number, url: format!("u{number}"), is_open, created_at: at(hour), commented_at: None }
    }

    fn decide(known: &[KnownIssue], hour: i64) -> Filing {
        filing(known, FiledBefore::default(), SignedDuration::from_hours(24), at(hour))
    }

    #[test]
    fn an_open_issue_is_commented_on_within_the_window_and_rolled_up_after_it() {
        let comment = |number: u64| Filing::Comment { number, url: format!("u{number}") };
        assert_eq!(decide(&[], 0), Filing::Create { closed: None });
        assert_eq!(decide(&[issue(1, true, 0)], 24), comment(1));
        assert_eq!(decide(&[issue(1, true, 0)], 25), Filing::Rollup { number: 1 });
        assert_eq!(decide(&[issue(1, true, 0), issue(2, true, 25)], 26), comment(2), "it took its place");
        assert_eq!(decide(&[issue(1, false, 0), issue(3, false, 2)], 3), Filing::Create { closed: Some(3) });
        assert_eq!(decide(&[issue(1, true, 0), issue(3, false, 2)], 3), comment(1));
    }

    #[test]
    fn comments_and_new_issues_are_limited() {
        let said = |hour| KnownIssue { commented_at: Some(at(hour)), ..issue(1, true, 0) };
        assert_eq!(decide(&[said(2)], 2), Filing::Suppress { url: Some("u1".to_owned()) });
        assert_eq!(decide(&[said(2)], 3), Filing::Comment { number: 1, url: "u1".to_owned() });
        for (by_run, within_day, is_full) in [(2, 9, false), (3, 3, true), (0, 10, true)] {
            let before = FiledBefore { by_run, within_day };
            let new = filing(&[], before, SignedDuration::from_hours(24), at(0));
            assert_eq!(new == Filing::Suppress { url: None }, is_full, "{by_run} {within_day}");
            let open = filing(&[issue(1, true, 0)], before, SignedDuration::from_hours(24), at(1));
            assert!(matches!(open, Filing::Comment { .. }), "a comment is no new issue");
        }
    }
}
