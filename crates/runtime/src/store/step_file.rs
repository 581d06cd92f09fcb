//! Private files in the folder of a run that its steps ask for.

use std::{
    fs::OpenOptions,
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::PathBuf,
};

use super::folder::{FolderError, RunFolder, make_dir};

/// Writes a file under a new name, and returns its path.
pub fn write(folder: &RunFolder, name: &str, ending: &str, bytes: &[u8]) -> Result<PathBuf, FolderError> {
    let dir = folder.path().join("files");
    make_dir(&dir)?;
    let mut number = 1_u64;
    loop {
        let path = dir.join(format!("{name}-{number}.{ending}"));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(mut file) => {
                file.write_all(bytes).map_err(FolderError::at("write", &path))?;
                return Ok(path);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(error) => return Err(FolderError::at("create", &path)(error)),
        }
    }
}
