//! The files of a git repository that a repair must not change: HEAD, refs, index, hooks, settings.
//!
//! Never reads objects: every object that matters is reached through a ref. Never runs git.

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

/// Folders next to `HEAD` and `refs` that are not watched: content that refs lead to, and other working trees.
const LEFT_ALONE: [&str; 3] = ["objects", "lfs", "worktrees"];

/// The repository around a directory.
#[derive(Debug, Default)]
pub(super) struct Repository {
    /// The files of this working tree, and those that all working trees share.
    pub(super) watched: Vec<PathBuf>,
    /// Branches that other working trees have checked out: work there may move them at any time.
    pub(super) foreign: Vec<PathBuf>,
}

impl Repository {
    pub(super) fn around(dir: &Path) -> Repository {
        let dot = dir.ancestors().map(|dir| dir.join(".git")).find(|dot| dot.exists());
        let Some(dot) = dot.and_then(|dot| fs::canonicalize(dot).ok()) else { return Repository::default() };
        if dot.is_dir() {
            return Repository { foreign: foreign(&dot, None), watched: vec![dot] };
        }
        Repository::linked(&dot).unwrap_or_default()
    }

    /// The repository of a linked working tree, whose `.git` is a file with its path.
    fn linked(dot: &Path) -> Option<Repository> {
        let text = fs::read_to_string(dot).ok()?;
        let own = fs::canonicalize(dot.parent()?.join(text.strip_prefix("gitdir:")?.trim())).ok()?;
        let common = fs::read_to_string(own.join("commondir")).ok();
        let Some(common) = common.and_then(|text| fs::canonicalize(own.join(text.trim())).ok()) else {
            return Some(Repository { watched: vec![own], foreign: Vec::new() });
        };
        let shared = ["refs", "packed-refs", "hooks", "config", "info"].map(|name| common.join(name));
        let foreign = foreign(&common, Some(&own));
        Some(Repository { watched: [own].into_iter().chain(shared).collect(), foreign })
    }
}

/// The branches that other working trees of a repository have checked out, with their logs.
fn foreign(common: &Path, own: Option<&Path>) -> Vec<PathBuf> {
    let linked = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
    let main = own.map(|_| common.to_owned());
    let others = linked.map(|entry| entry.path()).chain(main).filter(|tree| Some(tree.as_path()) != own);
    let heads = others.filter_map(|tree| fs::read_to_string(tree.join("HEAD")).ok());
    let refs = heads.filter_map(|head| head.strip_prefix("ref:").map(|name| name.trim().to_owned()));
    refs.flat_map(|name| [common.join(&name), common.join("logs").join(&name)]).collect()
}

/// Whether a walk skips this folder.
pub(super) fn is_left_alone(path: &Path) -> bool {
    let is_named = path.file_name().is_some_and(|name| LEFT_ALONE.iter().any(|known| name == *known));
    let beside = path.parent().filter(|_| is_named);
    beside.is_some_and(|dir| dir.join("HEAD").is_file() && dir.join("refs").is_dir())
}

/// Whether a path is inside a `.git` folder.
pub(super) fn is_inside(path: &Path) -> bool {
    path.parent().is_some_and(|dir| dir.components().any(|part| part == Component::Normal(".git".as_ref())))
}

/// Whether this is the index, the list of the next commit's content.
pub(super) fn is_index(path: &Path) -> bool {
    is_inside(path) && path.file_name().is_some_and(|name| name == "index")
}

/// Whether two indexes have the same content: read-only commands such as `git status` update times in it.
pub(super) fn is_same_index(before: &[u8], now: &[u8]) -> bool {
    before == now || staged(before).is_some_and(|before| staged(now) == Some(before))
}

/// The staged entries: mode, flags, name and content of each, without times. `None` for other versions of the format.
fn staged(index: &[u8]) -> Option<Vec<(&[u8], &[u8])>> {
    /// Times, device and inode; then the mode; then owner and size.
    const STAT: usize = 40;
    const NAME: usize = 62;
    let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
    if !index.starts_with(b"DIRC") || !matches!(number(4)?, 2 | 3) {
        return None;
    }
    let mut at = 12;
    let mut entries = Vec::new();
    for _ in 0..number(8)? {
        let entry = index.get(at..)?;
        let is_extended = entry.get(60)? & 0x40 != 0;
        let name = if is_extended { NAME + 2 } else { NAME };
        let length = entry.get(name..)?.iter().position(|byte| *byte == 0)?;
        entries.push((entry.get(24..28)?, entry.get(STAT..name + length)?));
        // names are padded with zeros to a multiple of eight
        at += (name + length) / 8 * 8 + 8;
    }
    // with digests of another length, all offsets would be wrong
    is_end(index, at).then_some(entries)
}

/// Whether only extensions and a digest come after the entries.
fn is_end(index: &[u8], mut at: usize) -> bool {
    const DIGEST: usize = 20;
    while at + DIGEST < index.len() {
        let Some(length) = index.get(at + 4..at + 8).and_then(|bytes| bytes.try_into().ok()) else { break };
        at = at.saturating_add(8).saturating_add(u32::from_be_bytes(length) as usize);
    }
    at.saturating_add(DIGEST) == index.len()
}
