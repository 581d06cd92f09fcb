//! Staging the changes of agents: one `git add -A` at a time, with patience for a lock of another process.
//!
//! Files that had changed before the step began belong to someone else and are not staged. Never removes a lock, and
//! never fails a step: what was staged, and what could not be, is reported.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    ffi::OsString,
    os::unix::ffi::OsStringExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};
use tokio::sync::{Mutex, watch};

use crate::{
    os::{environment::Environment, git::Git},
    steps::shell::attempt::{StopSignal, stopped},
    store::folder::{FolderError, RunFolder, make_dir, to_json, write_new},
};

/// Agents of one group often end at the same time in the same repository, whose index takes one writer. It holds the
/// files that this process has staged: they are the work of earlier agents, and later ones may change them.
static TURN: Mutex<Option<HashSet<PathBuf>>> = Mutex::const_new(None);

/// Milliseconds between attempts to get an index that another process has locked.
const WAITS: [u64; 8] = [100, 200, 400, 800, 1000, 1500, 2000, 2000];

/// The most files that a note names.
const NAMED: usize = 5;

/// A file in a work tree: its path from the top.
type TreePath = Vec<u8>;

/// The changes in a work tree before a step.
#[derive(Serialize, Deserialize)]
pub(crate) struct ChangesBefore {
    top: PathBuf,
    /// Files that had changed already, each with its time and size.
    #[serde(with = "pairs")]
    files: BTreeMap<TreePath, Option<(SystemTime, u64)>>,
}

/// A map as a list of pairs: keys in JSON are text, and paths need not be.
mod pairs {
    use super::*;

    type Files = BTreeMap<TreePath, Option<(SystemTime, u64)>>;

    pub(super) fn serialize<S: serde::Serializer>(files: &Files, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(files)
    }

    pub(super) fn deserialize<'d, D: serde::Deserializer<'d>>(from: D) -> Result<Files, D::Error> {
        Vec::deserialize(from).map(|pairs: Vec<_>| pairs.into_iter().collect())
    }
}

impl ChangesBefore {
    /// Keeps the changes before the first attempt at a step, until the step is proven.
    pub(crate) fn keep(&self, run: &Path, step: &str) -> Result<(), FolderError> {
        let file = Self::file(run, step);
        if file.exists() {
            return Ok(());
        }
        make_dir(&run.join(RunFolder::step(step)))?;
        let json = to_json(self).map_err(FolderError::at("write", &file))?;
        write_new(&file, &json)
    }

    /// The changes before a step that was proven; absent outside git.
    pub(crate) fn kept(run: &Path, step: &str) -> Option<ChangesBefore> {
        serde_json::from_slice(&std::fs::read(Self::file(run, step)).ok()?).ok()
    }

    fn file(run: &Path, step: &str) -> PathBuf {
        run.join(RunFolder::step(step)).join("changes-before.json")
    }
}

/// The changes in the work tree of a directory before a step; absent outside git. The error says why nothing will be
/// staged.
pub(crate) async fn changes_before(cwd: &Path, env: &Environment) -> Result<Option<ChangesBefore>, String> {
    let git = Git::new(cwd, env).await;
    if !git.is_work_tree().await {
        return Ok(None);
    }
    let unknown = |why: String| format!("did not stage changes, because earlier ones are unknown: {why}");
    let top = git.output(&["rev-parse", "--show-toplevel"]).await.map_err(unknown)?;
    let top = PathBuf::from(OsString::from_vec(top.trim_ascii_end().to_vec()));
    let staged = TURN.lock().await;
    let is_own = |path: &TreePath, worktree: u8| {
        let staged = staged.as_ref().is_some_and(|staged| staged.contains(&place(&top, path)));
        staged && worktree == b' '
    };
    let changed = changed(&git).await.map_err(unknown)?;
    let theirs = changed.into_iter().filter(|(path, worktree)| !is_own(path, *worktree));
    let files = theirs.map(|(path, _)| (path.clone(), stamp(&place(&top, &path)))).collect();
    Ok(Some(ChangesBefore { top, files }))
}

/// Stages the changes of a step; returns what it did, or why it did nothing.
pub(crate) async fn stage(
    (cwd, env): (&Path, &Environment),
    before: &ChangesBefore,
    step: &str,
    go: &mut watch::Receiver<StopSignal>,
) -> Option<String> {
    let git = Git::new(cwd, env).await;
    let mut staged = tokio::select! {
        biased;
        turn = TURN.lock() => turn,
        () = stopped(go) => return Some("did not stage changes: the run was stopped".to_owned()),
    };
    let mut waits = WAITS.into_iter();
    loop {
        let problem = match add(&git, before).await {
            Ok(added) => {
                staged.get_or_insert_default().extend(added.iter().map(|path| place(&before.top, path)));
                return report(step, &added, before);
            }
            Err(problem) => problem,
        };
        let Some(lock) = held_lock(&problem) else {
            return Some(format!("could not stage changes: {problem}"));
        };
        let is_over = match waits.next() {
            Some(wait) => tokio::select! {
                biased;
                () = tokio::time::sleep(Duration::from_millis(wait)) => false,
                () = stopped(go) => true,
            },
            None => true,
        };
        if is_over {
            return Some(held(lock));
        }
    }
}

/// Stages everything that had not changed before; returns the files, or the reason if that is not possible.
async fn add(git: &Git<'_>, before: &ChangesBefore) -> Result<BTreeSet<TreePath>, String> {
    let is_new = |(path, worktree): &(TreePath, u8)| *worktree != b' ' && !before.files.contains_key(path);
    let wanted: BTreeSet<TreePath> =
        changed(git).await?.into_iter().filter(is_new).map(|(path, _)| path).collect();
    if wanted.is_empty() {
        return Ok(wanted);
    }
    let output = match before.files.is_empty() {
        true => git.run(&["add", "-A"]).await,
        false => {
            let list: Vec<u8> =
                wanted.iter().flat_map(|path| [b":(top,literal)", &path[..], b"\0"].concat()).collect();
            git.run_with(&["add", "-A", "--pathspec-from-file=-", "--pathspec-file-nul"], list).await
        }
    };
    match output {
        Ok(output) if output.status.success() => Ok(wanted),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Err(error),
    }
}

/// The files of a work tree that differ from its last commit, each with the state of the work tree: a space if it is the
/// same as in the index.
async fn changed(git: &Git<'_>) -> Result<Vec<(TreePath, u8)>, String> {
    // it must not lock the index: other processes may need it now
    let args =
        ["--no-optional-locks", "status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames"];
    let listed = git.output(&args).await?;
    let entries = listed.split(|byte| *byte == 0);
    Ok(entries.filter(|entry| entry.len() > 3).map(|entry| (entry[3..].to_vec(), entry[1])).collect())
}

fn place(top: &Path, path: &TreePath) -> PathBuf {
    top.join(OsString::from_vec(path.clone()))
}

fn stamp(file: &Path) -> Option<(SystemTime, u64)> {
    let meta = std::fs::symlink_metadata(file).ok()?;
    Some((meta.modified().ok()?, meta.len()))
}

/// What was staged, and what was not although the agent changed it.
fn report(step: &str, added: &BTreeSet<TreePath>, before: &ChangesBefore) -> Option<String> {
    let touched = before.files.iter().filter(|(path, old)| stamp(&place(&before.top, path)) != **old);
    let left: Vec<&TreePath> = touched.map(|(path, _)| path).collect();
    let added: Vec<&TreePath> = added.iter().collect();
    let staged = |added: &[&TreePath]| {
        let files = if added.len() == 1 { "1 file".to_owned() } else { format!("{} files", added.len()) };
        format!("staged {files} changed by {step}: {}", named(added))
    };
    let kept = |left: &[&TreePath]| {
        format!("not staged, because they had changed before {step} began: {}", named(left))
    };
    match (added.is_empty(), left.is_empty()) {
        (true, true) => None,
        (false, true) => Some(staged(&added)),
        (true, false) => Some(kept(&left)),
        (false, false) => Some(format!("{}; {}", staged(&added), kept(&left))),
    }
}

/// The first of these files.
fn named(files: &[&TreePath]) -> String {
    let names = files.iter().take(NAMED).map(|file| String::from_utf8_lossy(file).into_owned());
    let names = names.collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(NAMED) {
        0 => names,
        more => format!("{names} and {more} more"),
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
    let waited = WAITS.iter().sum::<u64>() / 1000;
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
