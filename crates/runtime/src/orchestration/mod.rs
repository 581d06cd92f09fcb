//! The half of the orchestrator that touches git, gh and files, and reads the journal of its own run.
//!
//! Gathers facts and carries out what the rules of `engine` decide. Only ever adds: commits, branches, worktrees, pull
//! requests. Never resets, forces, rewrites or removes.

mod artifacts;
mod begin;
mod caller;
mod claims;
mod closing;
mod commit;
mod conclude;
mod cycle;
mod detect;
mod diagnostics;
mod evidence;
mod findings;
mod finish;
mod issue_texts;
mod issues;
mod judge;
mod listed;
mod place;
mod publish;
mod repository;
mod restore;
mod round_evidence;
mod rounds;
mod route;
mod stream_sessions;
mod streams;
mod verb;
mod workspace;

pub use artifacts::{Artifact, ArtifactScope, artifacts};
pub use caller::{Caller, CallerError};
pub use closing::task_report;
pub use diagnostics::{Confidential, TaskFailure};
pub use finish::PublishStage;
pub use issues::{FailureReported, FailureReporter, IssueDedup};
pub(crate) use restore::restore;
pub use verb::{RunVerb, VerbError, VerbResult, call};
