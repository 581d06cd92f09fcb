//! What came of a case, as the reports show it.

use std::{path::PathBuf, time::Duration};

use engine::{coverage::BranchName, expectations::Unmet};
use recipe::source::Place;

/// The result of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CaseStatus {
    /// All expectations are met.
    Passed,
    /// An expectation is not met.
    Failed,
    /// The case itself is wrong: a missing or unused stub, a timeout.
    Error,
    /// It was not run, as it says.
    Skipped,
    /// It gave different results.
    Flaky,
}

impl CaseStatus {
    /// The word in JSON.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            CaseStatus::Passed => "passed",
            CaseStatus::Failed => "failed",
            CaseStatus::Error => "error",
            CaseStatus::Skipped => "skipped",
            CaseStatus::Flaky => "flaky",
        }
    }

    /// The word in the report.
    pub(super) fn mark(self) -> &'static str {
        match self {
            CaseStatus::Passed => "PASS",
            CaseStatus::Failed => "FAIL",
            CaseStatus::Error => "ERROR",
            CaseStatus::Skipped => "SKIP",
            CaseStatus::Flaky => "FLAKY",
        }
    }

    /// Whether the command fails because of it.
    pub(crate) fn is_bad(self) -> bool {
        matches!(self, CaseStatus::Failed | CaseStatus::Error | CaseStatus::Flaky)
    }
}

/// Something that is wrong with a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CaseFailure {
    /// An expectation that is not met.
    Unmet(Unmet),
    /// An error of the case itself.
    Wrong {
        /// What is wrong, and what to do.
        message: String,
        /// The place in the test file.
        place: Option<Place>,
    },
}

impl CaseFailure {
    /// Its place in the test file.
    pub(super) fn place(&self) -> Option<Place> {
        match self {
            CaseFailure::Unmet(unmet) => unmet.place,
            CaseFailure::Wrong { place, .. } => *place,
        }
    }
}

/// What came of a case.
#[derive(Clone, Debug)]
pub(crate) struct CaseOutcome {
    /// The number of its file.
    pub(crate) file: usize,
    /// The number of the case in the file.
    pub(crate) case: usize,
    /// The result.
    pub(crate) status: CaseStatus,
    /// The real time that it took.
    pub(crate) duration: Duration,
    /// What is wrong.
    pub(crate) failures: Vec<CaseFailure>,
    /// The branches that it reached.
    pub(crate) covered: Vec<BranchName>,
    /// The scratch folder, if it was kept.
    pub(crate) kept: Option<PathBuf>,
    /// The snapshot that was written.
    pub(crate) updated: Option<PathBuf>,
}
