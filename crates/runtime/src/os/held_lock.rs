//! A lock on a file that this process holds.

use std::fs::File;

use rustix::fs::{FlockOperation, flock};

/// Lets go when it is dropped. Closing the file would not be enough: a child that was just forked has a copy of the
/// descriptor until it runs its own program, and the lock would outlive us that long.
#[derive(Debug)]
pub struct HeldLock(File);

impl HeldLock {
    /// Takes over a file that is locked.
    pub(crate) fn new(locked: File) -> HeldLock {
        HeldLock(locked)
    }
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        // the kernel lets go anyway when the last copy of the descriptor is closed
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_descriptor_does_not_keep_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let open = || File::create(dir.path().join("lock")).unwrap();
        let file = open();
        flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
        let copy = file.try_clone().unwrap();
        drop(HeldLock::new(file));
        assert!(flock(open(), FlockOperation::NonBlockingLockExclusive).is_ok(), "{copy:?}");
    }
}
