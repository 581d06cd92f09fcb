//! The files of a git work tree: their state at one moment, and those that changed since. Never changes a file.
//!
//! Most files are known by the commit: only files that differ from it are read. Git does not see every difference, so
//! files that it is told to overlook or that it converts are always read. Ignored files do not count; a step cannot hide
//! new files with new ignore rules. The files of submodules and of other repositories inside count like all others.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::{
    committed::uncommitted,
    file_states::{ComparedFiles, Digests, FileStates, digests, too_many},
};
use crate::{os::git::Git, steps::file_search::ENTRIES};

/// Settings with which git looks at every file.
pub(super) const PLAIN: [&str; 13] = [
    "--no-replace-objects",
    "-c",
    "core.fileMode=true",
    "-c",
    "core.trustctime=true",
    "-c",
    "core.checkStat=default",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.untrackedCache=false",
    "--no-optional-locks",
    "--literal-pathspecs",
];
/// Attributes with which git converts the content of a file.
const CONVERTED: &str = ":(top,attr:!filter !text !eol !ident !crlf !working-tree-encoding)";

/// A git work tree at one moment.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct WorkTree {
    pub(super) top: Vec<u8>,
    /// The commit that was checked out, or the empty tree.
    head: String,
    /// Other repositories inside it.
    #[serde(default)]
    inner: Vec<(Vec<u8>, FileStates)>,
    /// Ignored files and directories.
    #[serde(default)]
    ignored: Names,
    /// The ignore rules of the top directory and of the user.
    #[serde(default)]
    rules: Vec<String>,
}

/// Paths from the top of a work tree.
pub(super) type Names = BTreeSet<Vec<u8>>;

/// What git says about the files of a work tree.
#[derive(Default)]
struct Listing {
    /// Files in the index.
    tracked: Names,
    /// Submodules, and other repositories.
    inner: Names,
    /// Tracked files whose changes git may not see.
    unseen: Names,
    /// Tracked files that differ from the commit.
    differing: Names,
    /// Files that are neither tracked nor ignored.
    untracked: Names,
}

impl ComparedFiles {
    /// The top of the git work tree around a directory.
    pub(super) async fn top(&self, dir: &Path) -> Result<Option<PathBuf>, String> {
        let git = Git::new(dir, &self.env).await;
        match git.output(&["rev-parse", "--is-inside-work-tree"]).await {
            Ok(said) if said.starts_with(b"true") => {
                let top = git.output(&["rev-parse", "--show-toplevel"]).await?;
                Ok(Some(PathBuf::from(OsStr::from_bytes(top.trim_ascii_end()))))
            }
            Ok(_) => Ok(None),
            // git may refuse to read a work tree that belongs to another user
            Err(problem) if dir.ancestors().any(|dir| dir.join(".git").exists()) => Err(problem),
            Err(_) => Ok(None),
        }
    }

    /// The state of a work tree now.
    pub(super) async fn tree_state(&self, top: &Path) -> Result<FileStates, String> {
        let git = Git::new(top, &self.env).await;
        let head = match git.output(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).await {
            Ok(head) => head,
            Err(_) => git.output(&["hash-object", "-t", "tree", "--stdin"]).await?,
        };
        let head = String::from_utf8_lossy(&head).trim().to_owned();
        let listing = self.listing(&git, top, &head).await?;
        let mut inner = Vec::new();
        for name in &listing.inner {
            let path = top.join(OsStr::from_bytes(name));
            if path.join(".git").exists() {
                inner.push((name.clone(), Box::pin(self.tree_state(&path)).await?));
            }
        }
        let ignored = self.ignored(&git, top, &["--exclude-standard"]).await?;
        let rules = rules(&git, top).await;
        let names = listing.differing.into_iter().chain(listing.untracked).chain(listing.unseen).collect();
        let tree = WorkTree { top: top.as_os_str().as_bytes().to_vec(), head, inner, ignored, rules };
        Ok(FileStates::of_tree(tree, digests(top, names).await?))
    }

    /// The files of a work tree that changed since, by their paths from its top.
    pub(super) async fn changed_in(
        &self,
        top: &Path,
        before: &WorkTree,
        files: &Digests,
    ) -> Result<Names, String> {
        let git = Git::new(top, &self.env).await;
        let listing = self.listing(&git, top, &before.head).await?;
        let earlier: BTreeMap<&[u8], &str> =
            files.iter().map(|(name, digest)| (name.as_slice(), digest.as_str())).collect();
        let known: Names = files.iter().map(|(name, _)| name.clone()).collect();
        let now = digests(top, known.clone()).await?;
        let differs =
            |(name, digest): &(Vec<u8>, String)| earlier.get(name.as_slice()) != Some(&digest.as_str());
        let mut changed: Names = now.into_iter().filter(differs).map(|(name, _)| name).collect();
        let is_new = |name: &&Vec<u8>| !known.contains(*name) && !before.ignores(name);
        // the file may be as before, and git is told to overlook it, to convert it or to forget it
        let is_there = |name: &[u8]| top.join(OsStr::from_bytes(name)).symlink_metadata().is_ok();
        let is_doubtful = |name: &Vec<u8>| {
            listing.unseen.contains(name) || (!listing.tracked.contains(name) && is_there(name))
        };
        let (doubtful, certain): (Names, Names) =
            listing.differing.iter().filter(is_new).cloned().partition(is_doubtful);
        let doubtful: Names =
            doubtful.into_iter().chain(listing.unseen.iter().filter(is_new).cloned()).collect();
        changed.extend(uncommitted(&git, top, &before.head, doubtful.clone()).await?);
        changed.extend(certain);
        changed.extend(
            listing.untracked.iter().filter(is_new).filter(|name| !doubtful.contains(*name)).cloned(),
        );
        changed.extend(self.changed_inside(top, before, &listing, &known).await?);
        if before.rules != rules(&git, top).await || changed.iter().any(|name| is_rule_file(name)) {
            let judged = known.into_iter().chain(doubtful).collect();
            changed.extend(self.newly_ignored(&git, top, before, &judged).await?);
        }
        changed.retain(|name| !self.is_own(&top.join(OsStr::from_bytes(name))));
        Ok(changed)
    }

    /// Changed files of the repositories inside a work tree.
    async fn changed_inside(
        &self,
        top: &Path,
        before: &WorkTree,
        listing: &Listing,
        known: &Names,
    ) -> Result<Names, String> {
        let mut changed = Names::new();
        let empty = WorkTree::default();
        let earlier: BTreeMap<&Vec<u8>, &FileStates> =
            before.inner.iter().map(|(name, state)| (name, state)).collect();
        let names: BTreeSet<&Vec<u8>> = earlier.keys().copied().chain(&listing.inner).collect();
        for name in names {
            let path = top.join(OsStr::from_bytes(name));
            let is_repository = path.join(".git").exists();
            let (tree, files) = match earlier.get(name) {
                Some(FileStates { tree: Some(tree), files, .. }) if is_repository => (tree, files.clone()),
                Some(_) => {
                    // its repository is gone
                    changed.insert(name.clone());
                    continue;
                }
                None if !is_repository || before.ignores(name) => continue,
                None => (&empty, Digests::new()),
            };
            let below = |inner: Vec<u8>| [name.as_slice(), b"/", inner.as_slice()].concat();
            let inner = Box::pin(self.changed_since(&path, tree, &files)).await?;
            // these were files of the outer repository before
            let is_other = |name: &Vec<u8>| !known.contains(name) && !listing.tracked.contains(name);
            changed.extend(inner.into_iter().map(below).filter(is_other));
        }
        Ok(changed)
    }

    async fn changed_since(&self, top: &Path, tree: &WorkTree, files: &Digests) -> Result<Names, String> {
        if !tree.head.is_empty() {
            return self.changed_in(top, tree, files).await;
        }
        let git = Git::new(top, &self.env).await;
        let head = git.output(&["hash-object", "-t", "tree", "--stdin"]).await?;
        let head = String::from_utf8_lossy(&head).trim().to_owned();
        self.changed_in(top, &WorkTree { head, rules: rules(&git, top).await, ..WorkTree::default() }, files)
            .await
    }

    /// Files that are ignored only by rules that are new; `judged` are compared already.
    async fn newly_ignored(
        &self,
        git: &Git<'_>,
        top: &Path,
        before: &WorkTree,
        judged: &Names,
    ) -> Result<Names, String> {
        let now = self.ignored(git, top, &["--exclude-standard"]).await?;
        let excludes: Vec<String> = before.rules.iter().map(|rule| format!("--exclude={rule}")).collect();
        let excludes: Vec<&str> = excludes.iter().map(String::as_str).collect();
        let by_old = match excludes.is_empty() {
            true => Names::new(),
            false => self.ignored(git, top, &excludes).await?,
        };
        let mut found = Names::new();
        for name in now.iter().filter(|name| !before.ignores(name) && !is_within(name, &by_old)) {
            let path = top.join(OsStr::from_bytes(name));
            let mut files = BTreeSet::new();
            let mut left = ENTRIES;
            match path.is_dir() && !path.is_symlink() {
                true => crate::steps::file_search::search(&path, "", &|_| true, &mut files, &mut left),
                false => drop(files.insert(PathBuf::new())),
            }
            if left == 0 {
                return Err(too_many());
            }
            let whole = |file: PathBuf| match file.as_os_str().is_empty() {
                true => name.clone(),
                false => [name.as_slice(), b"/", file.as_os_str().as_bytes()].concat(),
            };
            let is_new =
                |name: &Vec<u8>| !judged.contains(name) && !before.ignores(name) && !is_within(name, &by_old);
            found.extend(files.into_iter().map(whole).filter(is_new));
        }
        Ok(found)
    }

    /// Ignored files; a directory stands for all files below it.
    async fn ignored(&self, git: &Git<'_>, top: &Path, rules: &[&str]) -> Result<Names, String> {
        let args = [&["ls-files", "-z", "--others", "--ignored", "--directory"], rules].concat();
        self.names(top, &git.output(&args).await?)
    }

    async fn listing(&self, git: &Git<'_>, top: &Path, head: &str) -> Result<Listing, String> {
        let mut listing = Listing::default();
        let index = git.output(&["ls-files", "-v", "-s", "-z"]).await?;
        for entry in index.split(|byte| *byte == 0) {
            let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else { continue };
            let (what, name) = (&entry[..tab], entry[tab + 1..].to_vec());
            match what {
                [_, _, b'1', b'6', ..] => drop(listing.inner.insert(name)),
                [tag, ..] => {
                    if tag.is_ascii_lowercase() || *tag == b'S' {
                        listing.unseen.insert(name.clone());
                    }
                    listing.tracked.insert(name);
                }
                [] => {}
            }
        }
        let plain = match converts_lines(git).await {
            true => Names::new(),
            // an older git does not know this selection: then all files are read
            false => match git.output(&["ls-files", "-z", "--", CONVERTED]).await {
                Ok(names) => split(&names).map(<[u8]>::to_vec).collect(),
                Err(_) => Names::new(),
            },
        };
        listing.unseen.extend(listing.tracked.difference(&plain).cloned());
        let diff = [
            "diff",
            "--name-only",
            "-z",
            "--no-renames",
            "--no-ext-diff",
            "--ignore-submodules=all",
            head,
            "--",
        ];
        listing.differing = self.names(top, &git.output(&[&PLAIN[..], &diff].concat()).await?)?;
        listing.differing.retain(|name| !listing.inner.contains(name));
        let others =
            git.output(&[&PLAIN[..], &["ls-files", "-z", "--others", "--exclude-standard"]].concat()).await?;
        let repositories = split(&others).filter_map(|name| name.strip_suffix(b"/")).map(<[u8]>::to_vec);
        listing.inner.extend(repositories);
        listing.inner.retain(|name| !self.is_own(&top.join(OsStr::from_bytes(name))));
        listing.untracked = self.names(top, &others)?;
        listing.untracked.retain(|name| !listing.inner.contains(name));
        Ok(listing)
    }

    fn names(&self, top: &Path, listed: &[u8]) -> Result<Names, String> {
        let names = split(listed).map(|name| name.strip_suffix(b"/").unwrap_or(name));
        let is_own = |name: &[u8]| self.is_own(&top.join(OsStr::from_bytes(name)));
        let names: Names = names.filter(|name| !is_own(name)).map(<[u8]>::to_vec).collect();
        match names.len() > ENTRIES {
            true => Err(too_many()),
            false => Ok(names),
        }
    }
}

impl WorkTree {
    fn ignores(&self, name: &[u8]) -> bool {
        is_within(name, &self.ignored)
    }
}

pub(super) fn split(listed: &[u8]) -> impl Iterator<Item = &[u8]> {
    listed.split(|byte| *byte == 0).filter(|name| !name.is_empty())
}

/// Whether a file or a directory around it is among these.
fn is_within(name: &[u8], dirs: &Names) -> bool {
    let ends = (0..name.len()).filter(|at| name[*at] == b'/').chain([name.len()]);
    ends.into_iter().any(|end| dirs.contains(&name[..end]))
}

fn is_rule_file(name: &[u8]) -> bool {
    name == b".gitignore" || name.ends_with(b"/.gitignore")
}

/// Whether git converts the line endings of all files.
async fn converts_lines(git: &Git<'_>) -> bool {
    let said = git.output(&["config", "--get", "core.autocrlf"]).await.unwrap_or_default();
    matches!(said.trim_ascii(), b"true" | b"input")
}

/// The ignore rules of the top directory, of the repository and of the user, one by one.
async fn rules(git: &Git<'_>, top: &Path) -> Vec<String> {
    let mut texts = vec![fs::read_to_string(top.join(".gitignore")).unwrap_or_default()];
    for args in [
        &["rev-parse", "--path-format=absolute", "--git-path", "info/exclude"][..],
        &["config", "--type=path", "--get", "core.excludesFile"][..],
    ] {
        let path = git.output(args).await.unwrap_or_default();
        let path = top.join(OsStr::from_bytes(path.trim_ascii_end()));
        texts.push(fs::read_to_string(path).unwrap_or_default());
    }
    let lines = texts.iter().flat_map(|text| text.lines());
    lines.filter(|line| !line.trim().is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}
