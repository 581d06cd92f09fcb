//! What a repair may touch: the recipe file, and nothing else.
//!
//! The working directory, the directory of the recipe and git's own files are recorded before a repair and compared
//! after it: contents, modes, links and folders. Changes are restored. Not watched: git's objects, sockets and pipes,
//! and entries beyond the first [`MAX_ENTRIES`]. A change of a file that is too large to keep is noticed, but cannot be
//! restored.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs, io,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use super::git::{self, Repository};
use crate::os::files;

/// The most entries to record.
const MAX_ENTRIES: usize = 50_000;
/// The most bytes to keep.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// The recorded state of a path.
#[derive(Debug, PartialEq, Eq)]
enum Entry {
    File { mode: u32, content: Content },
    Link(PathBuf),
    Dir { mode: u32 },
}

/// The recorded content of a file.
#[derive(Debug, PartialEq, Eq)]
enum Content {
    BoundedText(Vec<u8>),
    /// Too large to keep, or not readable: its length, and when it changed last.
    Seen(u64, (i64, i64)),
}

/// A watched directory.
#[derive(Debug)]
struct Root {
    path: PathBuf,
    reach: WatchedPart,
}

/// How much of a directory is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WatchedPart {
    /// Everything below it.
    Below,
    /// Only the recipes that were in it before: other programs work there too.
    Recipes,
}

/// A change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) name: String,
    pub(super) is_put_back: bool,
}

/// The places of a repair.
pub(super) struct Place<'a> {
    /// Its working directory.
    pub(super) working_dir: &'a Path,
    /// The file that it may change.
    pub(super) recipe: &'a Path,
    /// The requested recipe.
    pub(super) root: &'a Path,
    /// The state directory, which keeps changing.
    pub(super) state: &'a Path,
    /// The user's home.
    pub(super) home: Option<&'a Path>,
}

/// The recorded state of everything but the recipe.
#[derive(Debug)]
pub(super) struct WorkspaceSnapshot {
    roots: Vec<Root>,
    /// The directories whose repositories are watched.
    dirs: [PathBuf; 2],
    recipe: [PathBuf; 2],
    skipped: BTreeSet<PathBuf>,
    entries: BTreeMap<PathBuf, Entry>,
    /// Not everything could be recorded.
    is_partial: bool,
}

impl WorkspaceSnapshot {
    /// Records everything that a repair must not change.
    pub(super) fn take(place: &Place<'_>) -> WorkspaceSnapshot {
        let recipe =
            [real(place.recipe), beside(place.recipe).join(place.recipe.file_name().unwrap_or_default())];
        let mut surface = WorkspaceSnapshot {
            roots: roots(place),
            dirs: dirs(place),
            recipe,
            skipped: BTreeSet::from([real(place.state)]),
            entries: BTreeMap::new(),
            is_partial: false,
        };
        surface.skipped.extend(surface.foreign());
        let found = surface.walk();
        surface.is_partial = found.len() >= MAX_ENTRIES;
        let mut bytes = 0;
        for (path, meta, _) in found {
            if let Some(entry) = remember(&path, &meta, &mut bytes) {
                surface.entries.insert(path, entry);
            }
        }
        surface
    }

    /// Restores what changed since, and returns the changes; changes of the recipe are restored but not listed. It is
    /// unknown which process changed a file, so the changed version is kept below `aside`.
    pub(super) fn restore(&mut self, aside: &Path) -> Vec<Change> {
        self.skipped.extend(self.foreign());
        let mut changes = Vec::new();
        for (path, before) in &self.entries {
            if self.skipped.contains(path) || is_unchanged(path, before) {
                continue;
            }
            let is_put_back = self.keep(path, aside).and_then(|()| put_back(path, before)).is_ok();
            if !self.recipe.contains(path) {
                changes.push(Change { name: self.name(path), is_put_back });
            }
        }
        if !self.is_partial {
            changes.extend(self.remove_new(aside));
        }
        changes
    }

    /// Removes new files.
    fn remove_new(&self, aside: &Path) -> Vec<Change> {
        let mut changes = Vec::new();
        for (path, meta, reach) in self.walk() {
            let is_known = self.entries.contains_key(&path) || self.recipe.contains(&path);
            // files in a new folder are removed with it
            let is_gone = || fs::symlink_metadata(&path).is_err();
            if is_known || reach == WatchedPart::Recipes || !is_watched(&path, &meta) || is_gone() {
                continue;
            }
            let is_put_back = self.keep(&path, aside).and_then(|()| clear(&path)).is_ok();
            changes.push(Change { name: self.name(&path), is_put_back });
        }
        changes
    }

    /// Keeps the current version of a path.
    fn keep(&self, path: &Path, aside: &Path) -> io::Result<()> {
        let name = self.name(path);
        copy(path, &aside.join(name.trim_start_matches('/')))
    }

    /// Branches of other working trees.
    fn foreign(&self) -> Vec<PathBuf> {
        self.dirs.iter().flat_map(|dir| Repository::around(dir).foreign).collect()
    }

    /// All entries up to a limit; folders before their content.
    fn walk(&self) -> Vec<(PathBuf, fs::Metadata, WatchedPart)> {
        let mut found = Vec::new();
        let is_root = |path: &Path| self.roots.iter().any(|root| root.path == path);
        for root in &self.roots {
            let Ok(meta) = fs::symlink_metadata(&root.path) else { continue };
            if !meta.is_dir() {
                found.push((root.path.clone(), meta, root.reach));
                continue;
            }
            let mut queue = VecDeque::from([root.path.clone()]);
            while let Some(dir) = queue.pop_front() {
                for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
                    let (path, Ok(meta)) = (entry.path(), entry.metadata()) else { continue };
                    if found.len() >= MAX_ENTRIES {
                        return found;
                    }
                    if self.skipped.contains(&path) || is_root(&path) || git::is_left_alone(&path) {
                        continue;
                    }
                    if root.reach == WatchedPart::Recipes && (meta.is_dir() || !is_recipe(&path)) {
                        continue;
                    }
                    if meta.is_dir() {
                        queue.push_back(path.clone());
                    }
                    found.push((path, meta, root.reach));
                }
            }
        }
        found
    }

    fn name(&self, path: &Path) -> String {
        let below = self.roots.first().and_then(|root| path.strip_prefix(&root.path).ok());
        below.unwrap_or(path).display().to_string()
    }
}

fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The directory that a file is in.
fn beside(file: &Path) -> PathBuf {
    real(file.parent().unwrap_or(Path::new("/")))
}

/// The working directory and the directory of the recipe.
fn dirs(place: &Place<'_>) -> [PathBuf; 2] {
    [real(place.working_dir), beside(place.recipe)]
}

/// The working directory, the directories of the recipes, and the repository around them.
fn roots(place: &Place<'_>) -> Vec<Root> {
    let mut roots = vec![Root { path: real(place.working_dir), reach: WatchedPart::Below }];
    let mut add = |path: PathBuf, reach: WatchedPart| {
        let is_in = |root: &Root| match root.reach {
            WatchedPart::Below => path.starts_with(&root.path),
            WatchedPart::Recipes => path == root.path,
        };
        if !roots.iter().any(is_in) {
            roots.push(Root { path, reach });
        }
    };
    for dir in [beside(place.recipe), beside(&real(place.recipe)), beside(place.root)] {
        let reach = reach(&dir, place.home);
        add(dir, reach);
    }
    for dir in dirs(place) {
        Repository::around(&dir).watched.into_iter().for_each(|path| add(path, WatchedPart::Below));
    }
    roots
}

fn is_recipe(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml")
}

/// In a shared directory, or one that contains the user's home, only recipes are watched.
fn reach(dir: &Path, home: Option<&Path>) -> WatchedPart {
    let is_shared = fs::metadata(dir).is_ok_and(|meta| meta.mode() & 0o1000 != 0);
    let holds_home = home.is_some_and(|home| real(home).starts_with(dir));
    if is_shared || holds_home { WatchedPart::Recipes } else { WatchedPart::Below }
}

/// Whether a change of a path counts. Folders inside `.git` come and go with their files.
fn is_watched(path: &Path, meta: &fs::Metadata) -> bool {
    meta.is_file() || meta.is_symlink() || (meta.is_dir() && !git::is_inside(path))
}

fn mode(meta: &fs::Metadata) -> u32 {
    meta.mode() & 0o7777
}

fn seen(meta: &fs::Metadata) -> Content {
    Content::Seen(meta.len(), (meta.ctime(), meta.ctime_nsec()))
}

fn remember(path: &Path, meta: &fs::Metadata, bytes: &mut u64) -> Option<Entry> {
    if !is_watched(path, meta) {
        return None;
    }
    if meta.is_symlink() {
        return fs::read_link(path).ok().map(Entry::Link);
    }
    if meta.is_dir() {
        return Some(Entry::Dir { mode: mode(meta) });
    }
    let has_room = *bytes + meta.len() <= MAX_BYTES;
    let kept = if has_room { fs::read(path).ok() } else { None };
    *bytes += kept.as_ref().map_or(0, |kept| kept.len() as u64);
    Some(Entry::File { mode: mode(meta), content: kept.map_or_else(|| seen(meta), Content::BoundedText) })
}

fn is_unchanged(path: &Path, before: &Entry) -> bool {
    let Ok(meta) = fs::symlink_metadata(path) else { return false };
    match before {
        Entry::Link(target) => fs::read_link(path).is_ok_and(|now| now == *target),
        Entry::Dir { mode: before } => meta.is_dir() && mode(&meta) == *before,
        Entry::File { content: Content::BoundedText(before), .. } if git::is_index(path) => {
            fs::read(path).is_ok_and(|now| git::is_same_index(before, &now))
        }
        Entry::File { mode: before, content } => {
            meta.is_file()
                && mode(&meta) == *before
                && match content {
                    Content::BoundedText(kept) => {
                        kept.len() as u64 == meta.len() && fs::read(path).is_ok_and(|now| now == *kept)
                    }
                    Content::Seen(..) => seen(&meta) == *content,
                }
        }
    }
}

/// Restores the recorded state of a path.
fn put_back(path: &Path, before: &Entry) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let now = fs::symlink_metadata(path).ok();
    match before {
        Entry::Link(target) => {
            clear(path)?;
            symlink(target, path)
        }
        Entry::Dir { mode } => {
            if !now.is_some_and(|now| now.is_dir()) {
                clear(path)?;
                fs::create_dir(path)?;
            }
            fs::set_permissions(path, fs::Permissions::from_mode(*mode))
        }
        Entry::File { content: Content::Seen(..), .. } => Err(io::Error::other("it was not kept")),
        Entry::File { mode, content: Content::BoundedText(kept) } => {
            match now.is_some_and(|now| now.is_file()) {
                // written in place: it may have other hard links
                true => fs::set_permissions(path, fs::Permissions::from_mode(mode | 0o200))?,
                false => clear(path)?,
            }
            files::overwrite(path, kept)?;
            fs::set_permissions(path, fs::Permissions::from_mode(*mode))
        }
    }
}

/// Copies files, links and folders; other kinds have no content.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let Ok(meta) = fs::symlink_metadata(from) else { return Ok(()) };
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    if meta.is_symlink() {
        clear(to)?;
        return symlink(fs::read_link(from)?, to);
    }
    if meta.is_dir() {
        fs::create_dir_all(to)?;
        return fs::read_dir(from)?.try_for_each(|entry| {
            let entry = entry?;
            copy(&entry.path(), &to.join(entry.file_name()))
        });
    }
    match meta.is_file() {
        true => fs::copy(from, to).map(drop),
        false => Ok(()),
    }
}

/// Removes whatever is at a path.
fn clear(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_dir() => files::remove_dir(path),
        Ok(_) => files::remove_file(path),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
