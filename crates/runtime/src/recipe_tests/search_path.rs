//! The search path of a case: that of the user, without agent programs.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
};

use crate::{agents::Program, os::files};

/// The names of agent programs.
fn agents() -> impl Iterator<Item = String> {
    Program::known_names().flat_map(|name| {
        let binary = Program::named(name, &[]).map(|program| program.binary().to_owned());
        [Some(name.to_owned()), binary].into_iter().flatten()
    })
}

/// A search path without agent programs. In place of a folder with one there is a folder with links to everything else
/// in it, below `links`.
pub(super) fn without_agents(path: &OsStr, links: &Path) -> io::Result<OsString> {
    let agents: Vec<String> = agents().collect();
    let has_agent = |dir: &PathBuf| agents.iter().any(|agent| dir.join(agent).symlink_metadata().is_ok());
    let mut found = Vec::new();
    for dir in std::env::split_paths(path).filter(|dir| dir.is_absolute() && dir.is_dir()) {
        found.push(match has_agent(&dir) {
            true => linked(&dir, &links.join(found.len().to_string()), &agents)?,
            false => dir,
        });
    }
    std::env::join_paths(found).map_err(io::Error::other)
}

/// A folder with links to everything in another one but agents.
fn linked(dir: &Path, links: &Path, agents: &[String]) -> io::Result<PathBuf> {
    files::make_dirs(links)?;
    for entry in fs::read_dir(dir)?.flatten() {
        let name = entry.file_name();
        if !agents.iter().any(|agent| name == agent.as_str()) {
            files::link(&entry.path(), &links.join(name))?;
        }
    }
    Ok(links.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_agents_are_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let (one, two) = (dir.path().join("one"), dir.path().join("two"));
        for file in [one.join("tool"), one.join("claude"), one.join("codex"), two.join("other")] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            files::write_program(&file, "#!/bin/sh\n").unwrap();
        }
        let path = std::env::join_paths([&one, &two, &PathBuf::from("relative")]).unwrap();
        let found = without_agents(&path, &dir.path().join("links")).unwrap();
        let dirs: Vec<PathBuf> = std::env::split_paths(&found).collect();
        assert_eq!(dirs.len(), 2);
        assert_eq!(dirs[1], two);
        assert!(
            dirs[0].join("tool").is_file()
                && !dirs[0].join("claude").exists()
                && !dirs[0].join("codex").exists()
        );
    }
}
