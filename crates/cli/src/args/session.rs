//! `orch session`: the sessions of a tree.

use clap::{Args, Subcommand};

/// Working with the sessions of a tree.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    #[command(subcommand)]
    pub(crate) verb: SessionVerb,
}

/// What to do with a session.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionVerb {
    /// Register a session and print its tree and depth; exit code 1 if the tree is full or too deep
    Register(RegisterArgs),
    /// End a session
    Complete(CompleteSessionArgs),
    /// Print ALLOWED if a session may begin here, otherwise BLOCKED with the reason and exit code 2
    Check,
    /// Print the sessions of the tree as JSON
    Status,
}

/// Registering a session.
#[derive(Debug, Args)]
pub(crate) struct RegisterArgs {
    /// Id of the session: letters, digits, `_` and `-`; a new one unless given
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Session that started it; if it is in the tree, its depth counts instead of AMPLIHACK_SESSION_DEPTH
    #[arg(value_name = "PARENT")]
    pub(crate) parent: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Ending a session.
#[derive(Debug, Args)]
pub(crate) struct CompleteSessionArgs {
    /// Id of the session
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}
