//! The open output files of an attempt, from before its start until its end. Never opens one twice: opening files costs
//! more than everything else that a short step needs.

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::Arc,
};

use engine::run::event::OutputRef;

use crate::{
    os::process::{self, Launch, StartError},
    steps::{performer::PreparedPerformance, shell::attempt::Command},
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

    pub(crate) fn for_child(&self) -> Result<[File; 2], FolderError> {
        let stdout = self.stdout.try_clone().map_err(FolderError::at("open", &self.paths[0]))?;
        Ok([stdout, self.stderr.try_clone().map_err(FolderError::at("open", &self.paths[1]))?])
    }

    /// What is in the files now.
    pub fn printed(&self) -> Result<Printed<'_>, FolderError> {
        let size = |at: usize, file: &File| {
            file.metadata().map(|meta| meta.len()).map_err(FolderError::at("read", &self.paths[at]))
        };
        Ok(Printed { sizes: [size(0, &self.stdout)?, size(1, &self.stderr)?], files: self })
    }
}

/// What was in the files of an attempt at one moment.
#[derive(Debug)]
pub struct Printed<'a> {
    files: &'a OutputFiles,
    sizes: [u64; 2],
}

impl Printed<'_> {
    /// What was printed, as a value.
    pub fn capture(&self) -> Result<Captured, FolderError> {
        let captured = values::capture_of(&self.files.stdout, self.sizes[0]);
        captured.map_err(FolderError::at("read", &self.files.paths[0]))
    }

    /// References to both for the journal; `relative` is their folder.
    pub fn references(&self, relative: &Path) -> Result<[Option<OutputRef>; 2], FolderError> {
        let refer = |at: usize, name: &str, file: &File| {
            let reference = values::output_ref_of(&relative.join(name), file, self.sizes[at]);
            reference.map(Some).map_err(FolderError::at("read", &self.files.paths[at]))
        };
        Ok([refer(0, "stdout", &self.files.stdout)?, refer(1, "stderr", &self.files.stderr)?])
    }
}

impl Command {
    /// The command with its output files, ready to be started as a process.
    pub(crate) fn prepare(
        self,
        outputs: &OutputFiles,
    ) -> Result<Result<PreparedPerformance, StartError>, FolderError> {
        let [stdout, stderr] = outputs.for_child()?;
        let launch = Launch {
            program: self.program,
            args: self.args,
            env: self.env,
            cwd: self.cwd,
            stdin: self.stdin,
            stdout,
            stderr,
            kept: [&outputs.stdout, &outputs.stderr].map(Arc::clone),
            marker: self.marker,
        };
        Ok(process::prepare(launch).map(Box::new).map(PreparedPerformance::Process))
    }
}

/// The output files in the folder of an attempt.
pub fn in_folder(dir: &Path) -> [PathBuf; 2] {
    ["stdout", "stderr"].map(|name| dir.join(name))
}
