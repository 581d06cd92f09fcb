//! File operations at named places, so that a simulation can make one place fail or kill the runner there. Outside the
//! crate's own tests every function is the plain call.
//!
//! Never decides what a failure means.

use std::{
    fs::File,
    io::{self, Write},
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
