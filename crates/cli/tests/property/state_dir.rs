//! A state directory that is too small, or that cannot be written.
//!
//! Never leaves a mount behind.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use crate::judge::{Verdict, must};

/// Sets the mode of a directory and of those below it.
pub(crate) fn set_modes(dir: &Path, mode: u32) {
    drop(fs::set_permissions(dir, fs::Permissions::from_mode(mode)));
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            set_modes(&entry.path(), mode);
        }
    }
}

/// A directory on a small file system of its own.
pub(crate) struct Small<'a>(&'a Path);

impl<'a> Small<'a> {
    pub(crate) fn mount(dir: &'a Path, size: usize) -> Result<Small<'a>, String> {
        let options = format!("size={size}k,mode=700");
        run(Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(dir))?;
        Ok(Small(dir))
    }

    pub(crate) fn grow(&self) -> Verdict {
        run(Command::new("mount").args(["-o", "remount,size=50m"]).arg(self.0))
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        drop(run(Command::new("umount").arg("-l").arg(self.0)));
    }
}

fn run(command: &mut Command) -> Verdict {
    let output = command.output().map_err(|error| error.to_string())?;
    must(output.status.success(), || format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
}
