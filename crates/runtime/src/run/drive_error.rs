//! Errors of the runner itself: not a failed step, but a broken journal, disk or system.

use std::path::PathBuf;

use crate::store::{folder::FolderError, journal::JournalError};

/// Why the runner itself cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The journal failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A file of the run failed.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The audit log failed.
    #[error("cannot write the audit log `{}`: {source}", path.display())]
    Audit {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// Signals or tasks of the operating system failed.
    #[error("cannot watch for signals: {0}")]
    Signals(std::io::Error),
    /// A part of the runner crashed.
    #[error("a part of the runner broke down: {0}")]
    Task(tokio::task::JoinError),
}
