//! Calls of git in a directory. Never changes the environment of the runner.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    process::Output,
    time::Duration,
};

use super::{
    environment::{Environment, GIT_PLACES},
    program::capture,
    stage,
};

/// Longest time that git may take.
const LONGEST: Duration = Duration::from_secs(60);

/// Git in a directory.
pub(crate) struct Git<'a> {
    cwd: &'a Path,
    env: &'a Environment,
    /// Whether the variables of [`GIT_PLACES`] mean the repository of this directory.
    is_meant: bool,
    longest: Duration,
}

impl Git<'_> {
    /// In a hook, git sets the repository and the index in the environment; the directory may belong to another one.
    pub(crate) async fn new<'a>(cwd: &'a Path, env: &'a Environment) -> Git<'a> {
        let mut git = Git { cwd, env, is_meant: true, longest: LONGEST };
        let value = |name: &str| {
            env.entries().filter(|(key, _)| *key == name).last().map(|(_, value)| PathBuf::from(value))
        };
        if value("GIT_WORK_TREE").is_some_and(|tree| cwd.starts_with(tree)) {
            return git;
        }
        let index = value("GIT_INDEX_FILE");
        if index.is_none() && value("GIT_DIR").is_none() {
            return git;
        }
        let meant = git.dir().await;
        git.is_meant = false;
        let own = git.dir().await;
        let has_index = |own: &Path| index.is_none_or(|index| index.is_relative() || index.starts_with(own));
        git.is_meant = meant == own && own.is_some_and(|own| has_index(&own));
        git
    }

    /// The same with another longest time: a remote may be slow.
    #[must_use]
    pub(crate) fn within(self, longest: Duration) -> Self {
        Self { longest, ..self }
    }

    async fn dir(&self) -> Option<PathBuf> {
        let output = self
            .run(&["rev-parse", "--absolute-git-dir"])
            .await
            .ok()
            .filter(|output| output.status.success())?;
        Some(PathBuf::from(OsStr::from_bytes(output.stdout.trim_ascii_end())))
    }

    pub(crate) async fn is_work_tree(&self) -> bool {
        // starting a program for every agent costs more than looking
        let is_told = ["GIT_DIR", "GIT_WORK_TREE"].iter().any(|name| self.env.get(name).is_some());
        let cwd = std::fs::canonicalize(self.cwd).unwrap_or_else(|_| self.cwd.to_owned());
        if !is_told && !cwd.ancestors().any(|dir| dir.join(".git").symlink_metadata().is_ok()) {
            return false;
        }
        let said = self.run(&["rev-parse", "--is-inside-work-tree"]).await;
        said.is_ok_and(|output| output.status.success() && output.stdout.starts_with(b"true"))
    }

    /// Runs git without translation, because its messages are parsed.
    pub(crate) async fn run<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Output, String> {
        self.run_with(args, Vec::new()).await
    }

    /// The same with something on its standard input.
    pub(crate) async fn run_with<A: AsRef<OsStr>>(
        &self,
        args: &[A],
        input: Vec<u8>,
    ) -> Result<Output, String> {
        let mut command = tokio::process::Command::new("git");
        command.args(args).current_dir(self.cwd).env_clear().envs(self.env.entries()).env("LANGUAGE", "C");
        // a program of a test case may stand in for git in commands, never here
        command.envs(stage::path().map(|path| ("PATH", path)));
        for name in GIT_PLACES.iter().filter(|_| !self.is_meant) {
            command.env_remove(name);
        }
        capture(command, &input, self.longest).await.map_err(|error| error.to_string())
    }

    /// Runs git, and returns what it prints, or what it says first about its failure.
    pub(crate) async fn output<A: AsRef<OsStr>>(&self, args: &[A]) -> Result<Vec<u8>, String> {
        let output = self.run(args).await.map_err(|error| format!("that git cannot be run: {error}"))?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => {
                let said = String::from_utf8_lossy(&output.stderr);
                // an explanation of all options may follow
                let line = said.lines().map(str::trim).find(|line| !line.is_empty());
                Err(format!("that git failed: {}", line.unwrap_or("without a message")))
            }
        }
    }
}
