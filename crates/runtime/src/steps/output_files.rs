//! The open output files of an attempt, from before its start until its end. Never opens one twice: opening files costs
//! more than everything else that a short step needs.

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
};

use engine::run::event::OutputRef;

use crate::{
    os::process::{self, Launch, Prepared, StartError},
    steps::shell::attempt::Command,
    store::{
        folder::FolderError,
        values::{self, Captured},
    },
};

/// The output files of an attempt. A child appends to them and the runner reads them, without opening them again.
#[derive(Debug)]
pub struct OutputFiles {
    paths: [PathBuf; 2],
    /// Standard output.
    pub stdout: Arc<File>,
    /// Standard error.
    pub stderr: Arc<File>,
}

impl OutputFiles {
    /// Opens the files for standard output and standard error; creates them if they are missing.
    pub fn open(paths: [PathBuf; 2]) -> Result<OutputFiles, FolderError> {
        let open =
            |path: &Path| process::open_output(path).map(Arc::new).map_err(FolderError::at("create", path));
        Ok(OutputFiles { stdout: open(&paths[0])?, stderr: open(&paths[1])?, paths })
    }

    /// The same files under new names.
    pub fn moved_to(self, paths: [PathBuf; 2]) -> OutputFiles {
        OutputFiles { paths, ..self }
    }

    fn for_child(&self) -> Result<[File; 2], FolderError> {
        let stdout = self.stdout.try_clone().map_err(FolderError::at("open", &self.paths[0]))?;
        Ok([stdout, self.stderr.try_clone().map_err(FolderError::at("open", &self.paths[1]))?])
    }

    /// Standard output, as a value.
    pub fn capture(&self) -> Result<Captured, FolderError> {
        values::capture(&self.stdout).map_err(FolderError::at("read", &self.paths[0]))
    }

    /// References to both for the journal; `relative` is their folder.
    pub fn references(&self, relative: &Path) -> Result<[Option<OutputRef>; 2], FolderError> {
        let refer = |at: usize, name: &str, file: &File| {
            let reference = values::output_ref(&relative.join(name), file);
            reference.map(Some).map_err(FolderError::at("read", &self.paths[at]))
        };
        Ok([refer(0, "stdout", &self.stdout)?, refer(1, "stderr", &self.stderr)?])
    }
}

impl Command {
    /// The command with its output files, ready to be started.
    pub fn prepare(self, outputs: &OutputFiles) -> Result<Result<Prepared, StartError>, FolderError> {
        let [stdout, stderr] = outputs.for_child()?;
        Ok(process::prepare(Launch {
            program: self.program,
            args: self.args,
            env: self.env,
            cwd: self.cwd,
            stdin: self.stdin,
            stdout,
            stderr,
            marker: self.marker,
        }))
    }
}

/// The output files in the folder of an attempt.
pub fn in_folder(dir: &Path) -> [PathBuf; 2] {
    ["stdout", "stderr"].map(|name| dir.join(name))
}
