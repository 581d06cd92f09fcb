//! File operations at named places, so that a simulation can make one place fail or kill the runner there. Outside the
//! crate's own tests every function is the plain call.
//!
//! Never decides what a failure means.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

use super::stage;

/// Whether a simulation runs in this thread.
#[inline]
pub(crate) fn is_on() -> bool {
    #[cfg(test)]
    return crate::simulation::is_on();
    #[cfg(not(test))]
    false
}

/// Announces an operation at the place with this name; a simulation may refuse it.
#[inline]
pub(crate) fn point(name: &'static str) -> io::Result<()> {
    #[cfg(test)]
    return crate::simulation::point(name);
    #[cfg(not(test))]
    {
        let _ = name;
        Ok(())
    }
}

/// Writes some of the bytes, like [`Write::write`]. A runner that dies here has written any part of them.
#[inline]
pub(crate) fn write(name: &'static str, file: &mut File, bytes: &[u8]) -> io::Result<usize> {
    #[cfg(test)]
    crate::simulation::write(name, file, bytes)?;
    #[cfg(not(test))]
    let _ = name;
    file.write(bytes)
}

/// Writes all of the bytes. A runner that dies here has written any part of them.
#[inline]
pub(crate) fn write_all(name: &'static str, file: &mut File, bytes: &[u8]) -> io::Result<()> {
    #[cfg(test)]
    crate::simulation::write(name, file, bytes)?;
    #[cfg(not(test))]
    let _ = name;
    file.write_all(bytes)
}

/// Syncs the file to disk: what was written survives a power loss.
#[inline]
pub(crate) fn sync(name: &'static str, file: &File) -> io::Result<()> {
    point(name)?;
    // no test case outlives a power loss
    if stage::is_on() {
        return Ok(());
    }
    file.sync_data()?;
    #[cfg(test)]
    crate::simulation::note_synced(file);
    Ok(())
}

/// Syncs the names in a folder to disk.
#[inline]
pub(crate) fn sync_names(folder: &File) -> io::Result<()> {
    point("folder.sync")?;
    if stage::is_on() { Ok(()) } else { folder.sync_all() }
}

/// Whether everything that is synced is synced in this thread.
pub(crate) fn syncs_here() -> bool {
    is_on() || stage::is_on()
}

/// Adds bytes to the end of a file that the user named, which may not exist yet.
pub fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::options().append(true).create(true).open(path)?;
    io::Write::write_all(&mut file, bytes)
}

/// Makes a folder and those around it, with the permissions that the user's files have.
pub(crate) fn make_dirs(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Copies a folder with everything in it: files with their permissions, and links as links. Other things, such as
/// sockets, are left out.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    make_dirs(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(entry.path())?, &target)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Makes a link.
pub(crate) fn link(to: &Path, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(to, at)
}

/// Writes a program.
pub(crate) fn write_program(path: &Path, text: &str) -> io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut file = File::options().write(true).create(true).truncate(true).mode(0o755).open(path)?;
    file.write_all(text.as_bytes())
}

/// Makes a private folder with a name that is not used yet.
pub(crate) fn make_private_dir(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().mode(0o700).create(path)
}

/// Writes a whole file in place.
pub fn overwrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::write(path, bytes)
}

/// Moves a file or folder, in place of another one if there is one.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Removes a file.
pub fn remove_file(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

/// Removes a folder and everything in it.
pub(crate) fn remove_dir(path: &Path) -> io::Result<()> {
    fs::remove_dir_all(path)
}

/// Removes a file that does no harm if it stays.
pub fn discard_file(path: &Path) {
    let _ = fs::remove_file(path);
}

/// Removes a folder if nothing is in it.
pub(crate) fn discard_empty_dir(path: &Path) {
    let _ = fs::remove_dir(path);
}

/// Removes a folder, with everything in it, that does no harm if it stays.
pub(crate) fn discard_dir(path: &Path) {
    let _ = fs::remove_dir_all(path);
}
