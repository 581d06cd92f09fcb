//! Small programs with the names that recipes of other runners call: each calls this program.
//!
//! Never replaces or removes a file that it did not write.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use super::{
    host::Host,
    programs::{Presence, look_for},
};
use crate::{
    os::{files, shell_word::quote},
    store::folder::{FolderError, make_dir},
};

/// The line by which a file is known as ours.
const MARK: &str = "# written by recipe-runner: compat";
/// The names, each with the arguments that come before those of the caller.
const SHIMS: [(&str, &str); 2] = [("amplihack", " compat amplihack"), (OWN_NAME, "")];
/// The name of this program, which is needed only where it is not installed.
const OWN_NAME: &str = "recipe-runner-rs";

/// What happens to a file of another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignFile {
    /// It stays, and nothing is installed.
    Kept,
    /// It gets another name.
    MovedAside,
}

/// Why nothing was installed.
#[derive(Debug, thiserror::Error)]
pub enum ShimError {
    /// A file of another program has the name.
    #[error("`{}` belongs to another program", .0.display())]
    Foreign(PathBuf),
    /// A file cannot be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
}

/// What an installation did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstalledShims {
    pub written: Vec<PathBuf>,
    /// Files of other programs, each with its new name.
    pub moved: Vec<(PathBuf, PathBuf)>,
}

/// Installs the programs in a directory; they call `program`.
pub fn install(
    dir: &Path,
    program: &Path,
    foreign: ForeignFile,
    host: &Host,
) -> Result<InstalledShims, ShimError> {
    make_dir(dir)?;
    let is_needed = |name: &str| name != OWN_NAME || is_missing(dir, host);
    let shims: Vec<_> = SHIMS.into_iter().filter(|(name, _)| is_needed(name)).collect();
    let files = shims.iter().map(|(name, _)| dir.join(name));
    let others: Vec<PathBuf> = files.filter(|file| is_there(file) && !is_ours(file)).collect();
    let mut installed = InstalledShims::default();
    for file in others {
        if foreign == ForeignFile::Kept {
            return Err(ShimError::Foreign(file));
        }
        let aside = free_name(&file);
        files::rename(&file, &aside).map_err(FolderError::at("move", &file))?;
        installed.moved.push((file, aside));
    }
    for (name, args) in shims {
        let file = dir.join(name);
        let program = quote(&program.to_string_lossy());
        let text = format!("#!/bin/sh\n{MARK}\nexec {program}{args} \"$@\"\n");
        write(&file, text.as_bytes()).map_err(FolderError::at("write", &file))?;
        installed.written.push(file);
    }
    Ok(installed)
}

/// Removes the programs from a directory; returns those that were removed.
pub fn uninstall(dir: &Path) -> Result<Vec<PathBuf>, FolderError> {
    let files = SHIMS.iter().map(|(name, _)| dir.join(name)).filter(|file| is_ours(file));
    files
        .map(|file| files::remove_file(&file).map_err(FolderError::at("remove", &file)).map(|()| file))
        .collect()
}

/// Whether this program is not in `PATH`, except as a file that an installation wrote here.
fn is_missing(dir: &Path, host: &Host) -> bool {
    match look_for(OWN_NAME, host) {
        Presence::Found(found) => found.parent() == Some(dir) && is_ours(&found),
        Presence::Missing | Presence::NotExecutable(_) => true,
    }
}

fn is_there(file: &Path) -> bool {
    fs::symlink_metadata(file).is_ok()
}

fn is_ours(file: &Path) -> bool {
    let is_file = fs::symlink_metadata(file).is_ok_and(|meta| meta.is_file() && meta.len() < 64 * 1024);
    is_file
        && fs::read(file).is_ok_and(|text| text.split(|byte| *byte == b'\n').nth(1) == Some(MARK.as_bytes()))
}

fn free_name(file: &Path) -> PathBuf {
    let with = |number: u32| file.with_extension(format!("before-{number}"));
    (1..u32::MAX).map(with).find(|path| !is_there(path)).unwrap_or_else(|| file.with_extension("before"))
}

/// Writes a program as a whole: a process may be starting the old one.
fn write(file: &Path, text: &[u8]) -> io::Result<()> {
    let new = file.with_extension("new");
    let options = OpenOptions::new().write(true).create(true).truncate(true).mode(0o755).open(&new);
    options?.write_all(text)?;
    files::rename(&new, file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::machine::local::LocalMachine;

    #[test]
    fn files_of_others_are_kept_or_moved_aside_and_never_removed() {
        let dir = tempfile::tempdir().unwrap();
        let (dir, host) = (dir.path().join("bin"), LocalMachine::default().bare());
        let program = Path::new("/opt/my tools/runner");
        let installed = install(&dir, program, ForeignFile::Kept, &host).unwrap();
        assert_eq!(installed.written, [dir.join("amplihack"), dir.join(OWN_NAME)]);
        let text = fs::read_to_string(dir.join("amplihack")).unwrap();
        assert!(text.contains("'/opt/my tools/runner' compat amplihack \"$@\""), "{text}");
        assert_eq!(fs::metadata(dir.join("amplihack")).unwrap().permissions().mode() & 0o777, 0o755);
        assert!(install(&dir, program, ForeignFile::Kept, &host).is_ok(), "ours are written again");
        assert_eq!(uninstall(&dir).unwrap().len(), 2);
        assert_eq!(uninstall(&dir).unwrap().len(), 0);
        fs::write(dir.join("amplihack"), "#!/bin/sh\nother\n").unwrap();
        let refused = install(&dir, program, ForeignFile::Kept, &host);
        assert!(matches!(refused, Err(ShimError::Foreign(_))), "{refused:?}");
        assert!(!dir.join(OWN_NAME).exists(), "nothing is installed");
        assert_eq!(uninstall(&dir).unwrap().len(), 0);
        let moved = install(&dir, program, ForeignFile::MovedAside, &host).unwrap().moved;
        assert_eq!(moved, [(dir.join("amplihack"), dir.join("amplihack.before-1"))]);
        assert_eq!(fs::read_to_string(&moved[0].1).unwrap(), "#!/bin/sh\nother\n");
    }
}
