//! The files that a case changed: what differs from the files that it began with. Reads only.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// A file as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ListedFile {
    File { path: PathBuf, is_program: bool, bytes: u64 },
    Link(PathBuf),
}

/// The sorted paths that differ between a folder and what it began with: a fixture, with these files over it.
pub(super) fn changed(
    work: &Path,
    fixture: Option<&Path>,
    files: &[(String, Option<String>)],
) -> Vec<String> {
    let (mut before, mut after) = (BTreeMap::new(), BTreeMap::new());
    if let Some(fixture) = fixture {
        list(fixture, "", &mut before);
    }
    list(work, "", &mut after);
    let given: BTreeMap<String, Option<&str>> =
        files.iter().map(|(file, content)| (plain(file), content.as_deref())).collect();
    let is_inside = |name: &str, dir: &str| name.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'));
    for (gone, _) in given.iter().filter(|(_, content)| content.is_none()) {
        before.retain(|name: &String, _| name != gone && !is_inside(name, gone));
    }
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).chain(given.keys()).collect();
    let differs = |name: &&&String| match given.get(**name) {
        Some(Some(content)) => !after.get(**name).is_some_and(|entry| has(entry, content.as_bytes())),
        Some(None) => after.contains_key(**name),
        None => match (before.get(**name), after.get(**name)) {
            (Some(old), Some(new)) => !is_same(old, new),
            _ => true,
        },
    };
    names.iter().filter(differs).map(|name| (**name).clone()).collect()
}

/// A relative path without `./`.
fn plain(file: &str) -> String {
    let parts: Vec<&str> = file.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    parts.join("/")
}

fn list(dir: &Path, prefix: &str, found: &mut BTreeMap<String, ListedFile>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // a repository is not one of its files
        if prefix.is_empty() && name == ".git" {
            continue;
        }
        let name = format!("{prefix}{name}");
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_dir() {
            list(&entry.path(), &format!("{name}/"), found);
        } else if meta.is_symlink() {
            found.insert(name, ListedFile::Link(fs::read_link(entry.path()).unwrap_or_default()));
        } else {
            let is_program = meta.permissions().mode() & 0o111 != 0;
            found.insert(name, ListedFile::File { path: entry.path(), is_program, bytes: meta.len() });
        }
    }
}

fn has(entry: &ListedFile, content: &[u8]) -> bool {
    matches!(entry, ListedFile::File { path, .. } if fs::read(path).is_ok_and(|bytes| bytes == content))
}

fn is_same(old: &ListedFile, new: &ListedFile) -> bool {
    match (old, new) {
        (ListedFile::Link(old), ListedFile::Link(new)) => old == new,
        (
            ListedFile::File { path: old, is_program: was, bytes: before },
            ListedFile::File { path: new, is_program: is, bytes: after },
        ) => was == is && before == after && fs::read(old).ok() == fs::read(new).ok(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_differs_is_listed() {
        let dir = tempfile::tempdir().unwrap();
        let (fixture, work) = (dir.path().join("fixture"), dir.path().join("work"));
        fs::create_dir_all(fixture.join("d")).unwrap();
        for (file, text) in
            [("same", "s"), ("gone", "g"), ("d/changed", "old"), ("mode", "m"), ("removed", "r")]
        {
            fs::write(fixture.join(file), text).unwrap();
        }
        std::os::unix::fs::symlink("same", fixture.join("link")).unwrap();
        crate::os::files::copy_tree(&fixture, &work).unwrap();
        let files = [
            ("given".to_owned(), Some("x".to_owned())),
            ("./removed".to_owned(), None),
            ("again".to_owned(), Some("y".to_owned())),
        ];
        fs::write(work.join("given"), "x").unwrap();
        fs::write(work.join("again"), "z").unwrap();
        fs::remove_file(work.join("removed")).unwrap();
        assert_eq!(changed(&work, Some(&fixture), &files), ["again"]);
        fs::remove_file(work.join("gone")).unwrap();
        fs::write(work.join("d/changed"), "new").unwrap();
        fs::write(work.join("d/added"), "").unwrap();
        fs::set_permissions(work.join("mode"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::remove_file(work.join("link")).unwrap();
        std::os::unix::fs::symlink("gone", work.join("link")).unwrap();
        fs::create_dir(work.join(".git")).unwrap();
        fs::write(work.join(".git/HEAD"), "").unwrap();
        assert_eq!(
            changed(&work, Some(&fixture), &files),
            ["again", "d/added", "d/changed", "gone", "link", "mode"]
        );
        assert_eq!(changed(&fixture, None, &[]).len(), 6);
    }
}
