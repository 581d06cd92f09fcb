//! Calls of the GitHub program `gh`, one at a time and each for a limited time. Never asks a person, and never waits for
//! a rate limit.

use std::{path::Path, time::Duration};

use tokio::process::Command;

use super::{environment::Environment, program::capture};

/// The exit code of gh if a login is missing.
const LOGIN_MISSING: i32 = 4;

/// `gh` with an environment, in a directory.
pub(crate) struct Gh<'a> {
    dir: &'a Path,
    env: &'a Environment,
    longest: Duration,
}

/// Why a call gave nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GhError {
    /// The login is missing, or may not do that: another try cannot help.
    Refused(String),
    /// It is not installed, took too long, or failed.
    Failed(String),
}

impl GhError {
    /// The first line of the complaint.
    pub(crate) fn text(&self) -> &str {
        match self {
            GhError::Refused(text) | GhError::Failed(text) => text,
        }
    }
}

impl Gh<'_> {
    pub(crate) fn new<'a>(dir: &'a Path, env: &'a Environment, longest: Duration) -> Gh<'a> {
        Gh { dir, env, longest }
    }

    /// What it prints, with this input.
    pub(crate) async fn call(&self, args: &[&str], input: &str) -> Result<String, GhError> {
        let mut command = Command::new("gh");
        command.args(args).current_dir(self.dir).env_clear().envs(self.env.entries());
        command.env("GH_PROMPT_DISABLED", "1").env("NO_COLOR", "1");
        let ended = capture(command, input.as_bytes(), self.longest).await;
        let output = ended.map_err(|error| GhError::Failed(format!("gh: {error}")))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let text =
            format!("gh: {}", said.lines().find(|line| !line.trim().is_empty()).unwrap_or("no output"));
        let has_code = ["401", "403"].iter().any(|code| said.contains(&format!("HTTP {code}")));
        match has_code || output.status.code() == Some(LOGIN_MISSING) {
            true => Err(GhError::Refused(text)),
            false => Err(GhError::Failed(text)),
        }
    }
}
