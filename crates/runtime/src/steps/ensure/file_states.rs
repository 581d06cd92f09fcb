//! The state of files before a step, and the files that differ from it by content. Never changes a file.
//!
//! In a git work tree all files count that are not ignored; see [`super::work_tree`]. Elsewhere only files that match
//! the patterns of the step are looked at.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    io::BufReader,
    os::unix::{
        ffi::OsStrExt,
        fs::{MetadataExt, PermissionsExt},
    },
    path::{Path, PathBuf},
};

use recipe::digest::{sha256, sha256_from};
use serde::{Deserialize, Serialize};

use super::{
    file_pattern::{FilePattern, from_dir},
    work_tree::WorkTree,
};
use crate::{os::environment::Environment, steps::file_search::ENTRIES};

/// The files of a step that are compared.
#[derive(Clone, Debug)]
pub(crate) struct ComparedFiles {
    /// The directory of the step.
    pub(crate) cwd: PathBuf,
    /// The environment for git.
    pub(crate) env: Environment,
    /// The patterns of the step's rules.
    pub(crate) patterns: Vec<FilePattern>,
    /// Directories that the runner itself writes to.
    pub(crate) own: Vec<PathBuf>,
}

/// Names of files as bytes, with the digest of each. An absent file has an empty digest.
pub(super) type Digests = Vec<(Vec<u8>, String)>;

/// The state of files at one moment.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct FileStates {
    /// The git work tree, if there is one.
    pub(super) tree: Option<WorkTree>,
    /// Digests by path, from the top of the work tree or from the step's directory.
    pub(super) files: Digests,
    /// Digests of files that patterns name outside the work tree, by path from the step's directory.
    #[serde(default)]
    outside: Digests,
    /// Why the state is not known.
    problem: Option<String>,
}

impl FileStates {
    /// The state of a work tree, without files outside it.
    pub(super) fn of_tree(tree: WorkTree, files: Digests) -> FileStates {
        FileStates { tree: Some(tree), files, ..FileStates::default() }
    }
}

impl ComparedFiles {
    /// The state of the files now.
    pub(crate) async fn now(&self) -> FileStates {
        let known = self.state().await;
        known.unwrap_or_else(|problem| FileStates { problem: Some(problem), ..FileStates::default() })
    }

    async fn state(&self) -> Result<FileStates, String> {
        let Some(top) = self.top(&self.cwd).await? else {
            let files = self.matching(None).await?.into_iter().collect();
            return Ok(FileStates { files, ..FileStates::default() });
        };
        let mut state = self.tree_state(&top).await?;
        state.outside = self.matching(Some(&top)).await?.into_iter().collect();
        Ok(state)
    }

    /// The files that differ from an earlier state.
    pub(crate) async fn changed(&self, before: &FileStates) -> Result<Vec<PathBuf>, String> {
        if let Some(problem) = &before.problem {
            return Err(problem.clone());
        }
        let Some(tree) = &before.tree else {
            if self.patterns.is_empty() {
                return Err("no git work tree, and no rule that names files".to_owned());
            }
            return self.changed_matching(&before.files, None).await;
        };
        let top = PathBuf::from(OsStr::from_bytes(&tree.top));
        if !top.is_dir() || self.top(&top).await?.as_ref() != Some(&top) {
            return Err(format!("that the git work tree `{}` is gone", top.display()));
        }
        let names = self.changed_in(&top, tree, &before.files).await?;
        let mut changed: Vec<PathBuf> = names.iter().map(|name| top.join(OsStr::from_bytes(name))).collect();
        changed.extend(self.changed_matching(&before.outside, Some(&top)).await?);
        Ok(changed)
    }

    /// The same for files that patterns name outside a work tree.
    async fn changed_matching(&self, before: &Digests, top: Option<&Path>) -> Result<Vec<PathBuf>, String> {
        let now = self.matching(top).await?;
        let earlier: BTreeMap<&[u8], &str> =
            before.iter().map(|(name, digest)| (name.as_slice(), digest.as_str())).collect();
        let names: BTreeSet<&[u8]> = earlier.keys().copied().chain(now.keys().map(Vec::as_slice)).collect();
        let digest = |name: &[u8]| now.get(name).map_or("", String::as_str);
        let differs = |name: &&[u8]| earlier.get(*name).copied().unwrap_or_default() != digest(name);
        Ok(names.into_iter().filter(differs).map(|name| self.whole(name)).collect())
    }

    /// The path of a file that is named from the step's directory.
    fn whole(&self, name: &[u8]) -> PathBuf {
        let mut whole = self.cwd.clone();
        for part in Path::new(OsStr::from_bytes(name)).components() {
            match part {
                std::path::Component::ParentDir => drop(whole.pop()),
                part => whole.push(part),
            }
        }
        whole
    }

    /// Digests of the files that match the patterns, without those below `top`, by path from the step's directory.
    async fn matching(&self, top: Option<&Path>) -> Result<BTreeMap<Vec<u8>, String>, String> {
        let (files, top) = (self.clone(), top.map(Path::to_owned));
        in_background(move || {
            let (mut found, mut left) = (BTreeSet::new(), ENTRIES);
            let leads_out = |pattern: &&FilePattern| top.as_ref().is_none_or(|top| pattern.leads_out_of(top));
            files.patterns.iter().filter(leads_out).for_each(|pattern| pattern.find(&mut found, &mut left));
            found.retain(|file| !files.is_own(file) && top.as_ref().is_none_or(|top| !file.starts_with(top)));
            let digest = |file: PathBuf| {
                (from_dir(&files.cwd, &file).into_os_string().as_bytes().to_vec(), file_digest(&file))
            };
            (left > 0).then(|| found.into_iter().map(digest).collect())
        })
        .await
        .and_then(|found: Option<BTreeMap<Vec<u8>, String>>| found.ok_or_else(too_many))
    }

    pub(super) fn is_own(&self, path: &Path) -> bool {
        self.own.iter().any(|own| path.starts_with(own))
    }
}

pub(super) fn too_many() -> String {
    format!("that the files cannot be compared: there are more than {ENTRIES}")
}

/// Reads files without blocking the loop.
pub(super) async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.map_err(|error| error.to_string())
}

/// How many threads read files at the same time.
const READERS: usize = 8;
/// So few files that one thread reads them.
const FEW: usize = 256;

/// The digests of files below a directory.
pub(super) async fn digests(top: &Path, names: BTreeSet<Vec<u8>>) -> Result<Digests, String> {
    let top = top.to_owned();
    in_background(move || {
        let names: Vec<Vec<u8>> = names.into_iter().collect();
        let digest = |name: &Vec<u8>| (name.clone(), file_digest(&top.join(OsStr::from_bytes(name))));
        // opening a file takes longer than reading a small one
        std::thread::scope(|scope| {
            let share = names.len().div_ceil(READERS).max(FEW);
            let parts: Vec<_> = names
                .chunks(share)
                .map(|part| scope.spawn(move || part.iter().map(digest).collect::<Digests>()))
                .collect();
            let all = parts.into_iter().map(|part| part.join());
            all.flat_map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    })
    .await
}

/// One digest for the contents of several files, by their names below a directory.
pub(crate) fn state_digest(dir: &Path, files: &[PathBuf]) -> String {
    let line = |file: &PathBuf| format!("{}\0{}\n", from_dir(dir, file).display(), file_digest(file));
    let mut lines: Vec<String> = files.iter().map(line).collect();
    lines.sort();
    sha256(lines.concat().as_bytes())
}

/// The digest of a file by its content, its permission to be executed and, of a link, its target. A file that cannot
/// be read is known by its size and times.
fn file_digest(path: &Path) -> String {
    let Ok(meta) = fs::symlink_metadata(path) else { return String::new() };
    if meta.is_symlink() {
        let target = fs::read_link(path).unwrap_or_default();
        return format!("link {}", sha256(target.as_os_str().as_bytes()));
    }
    if meta.is_dir() {
        return "directory".to_owned();
    }
    let stamp = || format!("stat {} {}.{}", meta.len(), meta.ctime(), meta.ctime_nsec());
    if !meta.is_file() {
        return stamp();
    }
    let read = fs::File::open(path).and_then(|file| sha256_from(&mut BufReader::new(file)));
    let mark = if meta.permissions().mode() & 0o100 != 0 { "x" } else { "" };
    read.map_or_else(|_| stamp(), |digest| format!("{digest}{mark}"))
}
