//! The places where the runner touches the disk, each under a name, so that a simulation can let exactly that place
//! fail, or let the runner die there. Outside of the crate's own tests every function is the plain call.
//!
//! Never decides what a failure means.

use std::{
    fs::File,
    io::{self, Write},
};

/// Whether a simulation is going on in this thread.
#[inline]
pub(crate) fn is_on() -> bool {
    #[cfg(test)]
    return crate::simulation::is_on();
    #[cfg(not(test))]
    false
}

/// Something is about to be done at the place with this name.
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

/// Writes some of the bytes, like [`Write::write`]. Who dies here has written any part of them.
#[inline]
pub(crate) fn write(name: &'static str, file: &mut File, bytes: &[u8]) -> io::Result<usize> {
    #[cfg(test)]
    crate::simulation::write(name, file, bytes)?;
    #[cfg(not(test))]
    let _ = name;
    file.write(bytes)
}

/// Writes all of the bytes. Who dies here has written any part of them.
#[inline]
pub(crate) fn write_all(name: &'static str, file: &mut File, bytes: &[u8]) -> io::Result<()> {
    #[cfg(test)]
    crate::simulation::write(name, file, bytes)?;
    #[cfg(not(test))]
    let _ = name;
    file.write_all(bytes)
}

/// Brings what was written to disk: from now on it survives a power loss.
#[inline]
pub(crate) fn sync(name: &'static str, file: &File) -> io::Result<()> {
    point(name)?;
    file.sync_data()?;
    #[cfg(test)]
    crate::simulation::note_synced(file);
    Ok(())
}
