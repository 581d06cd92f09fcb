//! Staging the changes of agents: one `git add -A` at a time, with patience for a lock of another process.
//!
//! Never removes a lock, and never fails a step: changes that could not be staged are reported.

use std::{
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
    process::{Output, Stdio},
    time::Duration,
};

use tokio::sync::Mutex;

use crate::{
    os::environment::Environment,
    steps::{agent::call::CallControl, shell::attempt::stopped},
};

/// Agents of one group often end at the same time in the same repository, whose index takes one writer.
static TURN: Mutex<()> = Mutex::const_new(());

/// Milliseconds between attempts to get an index that another process has locked.
const WAITS: [u32; 8] = [100, 200, 400, 800, 1000, 1500, 2000, 2000];

/// Longest time that git may take.
const LONGEST: Duration = Duration::from_secs(60);

/// Variables that git sets for hooks: the repository and its index.
const PLACES: [&str; 7] = [
    "GIT_DIR",
    "GIT_INDEX_FILE",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_NAMESPACE",
];

/// Stages the changes in a directory if it is in a git work tree; returns a warning if that fails.
pub(crate) async fn stage(cwd: &Path, env: &Environment, watch: &mut CallControl) -> Option<String> {
    let git = Git::new(cwd, env).await;
    if !git.is_work_tree().await {
        return None;
    }
    let _turn = tokio::select! {
        biased;
        turn = TURN.lock() => turn,
        () = stopped(&mut watch.go) => return Some("did not stage changes: the run was stopped".to_owned()),
    };
    let mut waits = WAITS.into_iter();
    loop {
        let problem = git.add().await?;
        let Some(lock) = held_lock(&problem) else {
            return Some(format!("could not stage changes: {problem}"));
        };
        let is_over = match waits.next() {
            Some(wait) => watch.pause(f64::from(wait) / 1000.0).await,
            None => true,
        };
        if is_over {
            return Some(held(lock));
        }
    }
}

/// Git in a directory.
struct Git<'a> {
    cwd: &'a Path,
    env: &'a Environment,
    /// Whether the variables of [`PLACES`] mean the repository of this directory.
    is_meant: bool,
}

impl Git<'_> {
    /// In a hook, git sets the repository and the index in the environment; the directory may belong to another one.
    async fn new<'a>(cwd: &'a Path, env: &'a Environment) -> Git<'a> {
        let mut git = Git { cwd, env, is_meant: true };
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

    async fn dir(&self) -> Option<PathBuf> {
        let output = self
            .run(&["rev-parse", "--absolute-git-dir"])
            .await
            .ok()
            .filter(|output| output.status.success())?;
        Some(PathBuf::from(OsStr::from_bytes(output.stdout.trim_ascii_end())))
    }

    async fn is_work_tree(&self) -> bool {
        let said = self.run(&["rev-parse", "--is-inside-work-tree"]).await;
        said.is_ok_and(|output| output.status.success() && output.stdout.starts_with(b"true"))
    }

    /// The reason why the changes are not staged, if they are not.
    async fn add(&self) -> Option<String> {
        match self.run(&["add", "-A"]).await {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => Some(error),
        }
    }

    /// Runs git without translation, because its messages are parsed.
    async fn run(&self, args: &[&str]) -> Result<Output, String> {
        let mut command = tokio::process::Command::new("git");
        command.args(args).current_dir(self.cwd).env_clear().envs(self.env.entries()).env("LANGUAGE", "C");
        for name in PLACES.iter().filter(|_| !self.is_meant) {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).kill_on_drop(true);
        match tokio::time::timeout(LONGEST, command.output()).await {
            Ok(ended) => ended.map_err(|error| error.to_string()),
            Err(_) => Err(format!("git took longer than {} s", LONGEST.as_secs())),
        }
    }
}

/// The index lock of another process, if git names it as the reason.
fn held_lock(problem: &str) -> Option<&str> {
    let line = problem.lines().find(|line| line.contains("index.lock") && line.contains("File exists"))?;
    let (before, _) = line.rsplit_once("index.lock")?;
    let start = before.find('\'').map_or(0, |quote| quote + 1);
    line.get(start..before.len() + "index.lock".len())
}

/// The warning about a lock that was not released. Git advises to remove it, which would break the process that holds
/// it.
fn held(lock: &str) -> String {
    let waited = WAITS.iter().sum::<u32>() / 1000;
    format!(
        "could not stage changes: another git process holds `{lock}` (waited up to {waited} s): \
         let it end, then stage them with `git add -A`; a lock without any git process was left by one that died"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_told_from_other_problems() {
        for (said, lock) in [
            (
                "fatal: Unable to create '/a b/.git/index.lock': File exists.\n\nAnother git process seems …",
                Some("/a b/.git/index.lock"),
            ),
            ("fatal: Unable to create '/a/.git/index.lock': Permission denied", None),
            ("fatal: Unable to create '/it's/.git/index.lock': File exists.", Some("/it's/.git/index.lock")),
            ("error: open(\"x\"): Permission denied\nfatal: adding files failed", None),
            ("", None),
        ] {
            assert_eq!(held_lock(said), lock, "{said}");
        }
    }
}
