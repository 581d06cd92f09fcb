//! Files on the disk beside those of a commit, byte by byte: no filter of git takes part. Never changes a file.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::Path,
};

use super::work_tree::{Names, PLAIN, split};
use crate::os::git::Git;

/// The most bytes of file names in one call.
const NAMES: usize = 60_000;

/// Those of these files whose content on the disk is not that of a commit.
pub(super) async fn uncommitted(
    git: &Git<'_>,
    top: &Path,
    head: &str,
    names: Names,
) -> Result<Names, String> {
    if names.is_empty() {
        return Ok(names);
    }
    let mut committed: BTreeMap<Vec<u8>, (bool, String)> = BTreeMap::new();
    for entry in split(&git.output(&[&PLAIN[..], &["ls-tree", "-r", "-z", head]].concat()).await?) {
        let Some(tab) = entry.iter().position(|byte| *byte == b'\t') else { continue };
        let text = String::from_utf8_lossy(&entry[..tab]).into_owned();
        let id = text.rsplit(' ').next().unwrap_or_default().to_owned();
        committed.insert(entry[tab + 1..].to_vec(), (text.starts_with("100755"), id));
    }
    let (mut changed, mut files) = (Names::new(), Vec::new());
    for name in names {
        let meta = fs::symlink_metadata(top.join(OsStr::from_bytes(&name))).ok();
        match (meta, committed.get(&name)) {
            (None, None) => {}
            (Some(meta), Some((is_program, _)))
                if meta.is_file() && (meta.permissions().mode() & 0o100 != 0) == *is_program =>
            {
                files.push(name);
            }
            _ => drop(changed.insert(name)),
        }
    }
    let mut rest = files.as_slice();
    while !rest.is_empty() {
        let mut bytes = 0;
        let count = rest
            .iter()
            .take_while(|name| {
                bytes += name.len() + 1;
                bytes < NAMES
            })
            .count()
            .max(1);
        let (now, later) = rest.split_at(count);
        let args = ["hash-object", "--no-filters", "--"].into_iter().map(OsStr::new);
        let args: Vec<&OsStr> = args.chain(now.iter().map(|name| OsStr::from_bytes(name))).collect();
        let said = git.output(&args).await?;
        let ids = String::from_utf8_lossy(&said).into_owned();
        for (name, id) in now.iter().zip(ids.lines()) {
            if committed.get(name).is_none_or(|(_, known)| known != id) {
                changed.insert(name.clone());
            }
        }
        rest = later;
    }
    Ok(changed)
}
