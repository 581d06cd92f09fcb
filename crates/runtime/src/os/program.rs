//! Calls of a program whose output is read: its input, its end, a longest time. Never a shell.

use std::{
    process::{Output, Stdio},
    time::Duration,
};

use tokio::{io::AsyncWriteExt as _, process::Command};

use super::stage::RealTime;

/// Runs a command to its end, with this input, and returns what it printed. It is killed after `longest`.
pub(crate) async fn capture(
    mut command: Command,
    input: &[u8],
    longest: Duration,
) -> Result<Output, CaptureError> {
    let stdin = if input.is_empty() { Stdio::null() } else { Stdio::piped() };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let ended = async {
        let _real = RealTime::begin();
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // the program may end without reading it, and says why
            let _ = stdin.write_all(input).await;
        }
        child.wait_with_output().await
    };
    match tokio::time::timeout(longest, ended).await {
        Ok(ended) => ended.map_err(CaptureError::Start),
        Err(_) => Err(CaptureError::Slow(longest.as_secs())),
    }
}

/// Runs a strict bash script to its end.
pub(crate) async fn run_script(
    script: &str,
    cwd: &std::path::Path,
    env: &super::environment::Environment,
    longest: Duration,
) -> Result<Output, CaptureError> {
    let mut command = Command::new("/bin/bash");
    command.args(["-euo", "pipefail", "-c", script]).current_dir(cwd).env_clear().envs(env.entries());
    capture(command, &[], longest).await
}

/// Why the output of a program is not known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CaptureError {
    /// It could not be started.
    #[error("{0}")]
    Start(std::io::Error),
    /// It was killed.
    #[error("it took longer than {0} s")]
    Slow(u64),
}
