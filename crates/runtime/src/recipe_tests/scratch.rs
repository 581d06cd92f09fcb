//! The scratch folder of a case: a copy of the fixture, and a home, a temporary folder and a state of its own.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use recipe::test_file::TestCase;

use super::CaseError;
use crate::{
    os::{clock, environment::Environment, files, git::Git, program},
    steps::stubs::change,
};

/// Settings of git that a case begins with.
const GIT_SETTINGS: &str = "[user]\n\tname = Recipe Test\n\temail = test@example.invalid\n[init]\n\tdefaultBranch = main\n[commit]\n\tgpgSign = false\n";
/// The time of the first commit.
const COMMIT_TIME: &str = "2026-01-01T00:00:00+00:00";
/// How long `setup` may take; the timeout of the case ends it earlier.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// The folder of a case, which is removed when this is dropped.
#[derive(Debug)]
pub struct ScratchFolder {
    root: PathBuf,
    is_kept: bool,
}

impl ScratchFolder {
    /// The folder with this path, which need not exist.
    pub(super) fn at(root: PathBuf) -> ScratchFolder {
        ScratchFolder { root, is_kept: false }
    }

    /// The whole folder.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The copy of the fixture, in which the run worked.
    pub fn work(&self) -> PathBuf {
        ScratchParts::of(&self.root).work
    }

    /// Keeps the folder.
    #[must_use]
    pub fn keep(mut self) -> PathBuf {
        self.is_kept = true;
        self.root.clone()
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        if !self.is_kept {
            files::discard_dir(&self.root);
        }
    }
}

/// The folders of a case.
#[derive(Clone, Debug)]
pub(super) struct ScratchParts {
    /// The copy of the fixture.
    pub(super) work: PathBuf,
    pub(super) home: PathBuf,
    pub(super) temporary: PathBuf,
    /// The runs of the case.
    pub(super) state: PathBuf,
    /// Programs that come first in `PATH`.
    pub(super) programs: PathBuf,
    /// Calls of these programs.
    pub(super) calls: PathBuf,
    /// Copies of recipes that may be repaired.
    pub(super) recipes: PathBuf,
    /// The calls of stubs, if the runner is killed.
    pub(super) stub_calls: PathBuf,
}

impl ScratchParts {
    pub(super) fn of(root: &Path) -> ScratchParts {
        ScratchParts {
            work: root.join("work"),
            home: root.join("home"),
            temporary: root.join("tmp"),
            state: root.join("state"),
            programs: root.join("bin"),
            calls: root.join("calls"),
            recipes: root.join("recipes"),
            stub_calls: root.join("stub-calls.jsonl"),
        }
    }

    /// Makes the folders, with the fixture and the files of the case.
    pub(super) fn make(&self, fixture: Option<&Path>, case: &TestCase) -> Result<(), CaseError> {
        let broken = |what: &str, error: io::Error| CaseError::Broken(format!("cannot {what}: {error}"));
        for dir in [&self.home, &self.temporary] {
            files::make_dirs(dir).map_err(|error| broken("make the scratch folder", error))?;
        }
        match fixture {
            Some(dir) => files::copy_tree(dir, &self.work)
                .map_err(|error| broken(&format!("copy the fixture `{}`", dir.display()), error))?,
            None => files::make_dirs(&self.work).map_err(|error| broken("make the scratch folder", error))?,
        }
        files::overwrite(&self.home.join(".gitconfig"), GIT_SETTINGS.as_bytes())
            .map_err(|error| broken("write the settings of git", error))?;
        for (file, content) in &case.files {
            change(&self.work, file, content.as_deref())
                .map_err(|why| CaseError::Broken(format!("`files`: cannot change `{file}`: {why}")))?;
        }
        Ok(())
    }

    /// Makes the work folder a repository with one commit.
    pub(super) fn commit(&self, env: &Environment) -> Result<(), CaseError> {
        let mut env = env.clone();
        env.extend([("GIT_AUTHOR_DATE", COMMIT_TIME), ("GIT_COMMITTER_DATE", COMMIT_TIME)]);
        let calls: [&[&str]; 3] = [
            &["init", "--quiet", "--initial-branch=main"],
            &["add", "--all", "--force"],
            &["commit", "--quiet", "--allow-empty", "--no-verify", "--message=fixture"],
        ];
        let committed = clock::block_on(async {
            let git = Git::new(&self.work, &env).await;
            for call in calls {
                git.output(call).await?;
            }
            Ok::<(), String>(())
        });
        let broken = |why: String| CaseError::Broken(format!("cannot make the fixture a repository: {why}"));
        committed.map_err(|error| broken(error.to_string()))?.map_err(broken)
    }

    /// Runs the script before the case.
    pub(super) fn prepare(&self, script: &str, env: &Environment) -> Result<(), CaseError> {
        let ran = clock::block_on(program::run_script(script, &self.work, env, LONGEST));
        let failed = |why: String| CaseError::Setup { why };
        let output = ran.map_err(|error| failed(error.to_string()))?;
        let output = output.map_err(|error| failed(error.to_string()))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let last: Vec<&str> = said.lines().rev().take(5).collect();
        let said: Vec<&str> = last.into_iter().rev().collect();
        Err(failed(format!("{}\n{}", output.status, said.join("\n")).trim_end().to_owned()))
    }

    /// The environment of a case.
    pub(super) fn env(&self, path: &OsString, case: &TestCase) -> Vec<(OsString, OsString)> {
        let mut all = self.programs.as_os_str().to_owned();
        if !path.is_empty() {
            all.push(":");
            all.push(path);
        }
        let search = if case.programs.is_empty() { path.clone() } else { all };
        let mut env: Vec<(OsString, OsString)> = vec![
            ("PATH".into(), search),
            ("HOME".into(), self.home.clone().into()),
            ("TMPDIR".into(), self.temporary.clone().into()),
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
            // a temporary folder may be inside of a repository
            ("GIT_CEILING_DIRECTORIES".into(), self.work.parent().unwrap_or(&self.work).into()),
        ];
        for (name, value) in &case.env {
            env.retain(|(known, _)| known != name.as_str());
            env.push((name.into(), value.into()));
        }
        env
    }
}
