//! File operations at named places, so that a simulation can make one place fail or kill the runner there. Outside the
//! crate's own tests every function is the plain call.
//!
//! Never decides what a failure means.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

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
    file.sync_data()?;
    #[cfg(test)]
    crate::simulation::note_synced(file);
    Ok(())
}

/// Adds bytes to the end of a file that the user named, which may not exist yet.
pub fn append(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::options().append(true).create(true).open(path)?;
    io::Write::write_all(&mut file, bytes)
}

/// Writes a whole file in place.
pub(crate) fn overwrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::write(path, bytes)
}

/// Moves a file or folder, in place of another one if there is one.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)
}

/// Removes a file.
pub(crate) fn remove_file(path: &Path) -> io::Result<()> {
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

/// Removes a folder, with everything in it, that does no harm if it stays.
pub(crate) fn discard_dir(path: &Path) {
    let _ = fs::remove_dir_all(path);
}
