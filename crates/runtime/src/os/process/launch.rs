//! What to start, and why a start failed. Never waits for anything.

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustix::io::Errno;

use super::{CASE_VARIABLE, Marker, RUN_VARIABLE, STEP_VARIABLE};
use crate::os::{environment::Environment, stage};

/// Everything that a child gets; it inherits nothing else.
#[derive(Debug)]
pub struct Launch {
    /// The program: a path (a relative one starts at `cwd`), or a bare name searched in the child's `PATH`.
    pub program: PathBuf,
    pub args: Vec<OsString>,
    /// Its complete environment, apart from the marker.
    pub env: Arc<Environment>,
    pub cwd: PathBuf,
    pub stdin: Stdin,
    /// The file of its standard output, see [`open_output`].
    pub stdout: File,
    /// The file of its standard error.
    pub stderr: File,
    /// Both files once more, for the runner.
    pub kept: [Arc<File>; 2],
    /// How it and its descendants are found again.
    pub marker: Marker,
}

/// The standard input of a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stdin {
    /// Empty: `/dev/null`.
    Null,
    /// The contents of this file.
    File(PathBuf),
}

/// Why a child could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The program is missing.
    #[error("no such program: `{}` is not found; install it or check `PATH`", program.display())]
    NotFound {
        /// The program as requested.
        program: PathBuf,
    },
    /// The program is a script, and the interpreter in its first line does not exist.
    #[error("cannot start `{}`: the interpreter that its first line names is not found", program.display())]
    NoInterpreter {
        /// The script.
        program: PathBuf,
    },
    /// The working directory is missing.
    #[error("no such directory: cannot start `{}` in `{}`", program.display(), cwd.display())]
    NoDirectory {
        program: PathBuf,
        /// The missing directory.
        cwd: PathBuf,
    },
    /// Arguments and environment exceed the limit of the system.
    #[error("cannot start `{}`: its arguments and environment are too large; pass data in files", program.display())]
    TooLong { program: PathBuf },
    /// The input file of the child cannot be opened.
    #[error("cannot open `{}` as the input of `{}`: {source}", file.display(), program.display())]
    NoInput {
        program: PathBuf,
        /// The input file.
        file: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// `/dev/null` is missing.
    #[error("cannot start `{}`: `/dev/null` is not there; a container or chroot needs it", program.display())]
    NoNull { program: PathBuf },
    /// A test case does not allow it.
    #[error("{reason}")]
    Stub {
        program: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The limit on processes is reached.
    #[error("cannot start `{}`: the limit on processes is reached; `ulimit -u` shows it", program.display())]
    NoRoom { program: PathBuf },
    /// The system refuses for another reason.
    #[error("cannot start `{}` in `{}`: {source}", program.display(), cwd.display())]
    Other {
        program: PathBuf,
        cwd: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Opens an output file of an attempt: private, created if missing, and appended to, so that several
/// processes can write to it side by side. It can be read through the same handle, at an offset.
pub fn open_output(path: &Path) -> io::Result<File> {
    crate::os::files::point("output.open")?;
    OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(path)
}

impl Launch {
    /// The command to spawn, and the file that will be executed.
    ///
    /// The program is always an absolute path: for a bare name and another `PATH`, the standard library would have to
    /// fork.
    pub(super) fn into_command(self) -> Result<(Command, Origin), StartError> {
        let stdin = self.open_stdin()?;
        let file = self.resolve_program()?;
        let origin = Origin { asked: self.program, file, cwd: self.cwd };
        let mut command = Command::new(&origin.file);
        command.args(self.args).env_clear().envs(self.env.entries()).current_dir(&origin.cwd);
        let (run, case) = stage::unmarked(&self.marker.run);
        command.env(RUN_VARIABLE, run).env(STEP_VARIABLE, self.marker.step);
        match case {
            Some(case) => command.env(CASE_VARIABLE, case),
            // this run may be part of a case, but it is another one
            None => command.env_remove(CASE_VARIABLE),
        };
        command.stdin(stdin).stdout(self.stdout).stderr(self.stderr);
        Ok((command, origin))
    }

    fn open_stdin(&self) -> Result<Stdio, StartError> {
        let Stdin::File(file) = &self.stdin else { return Ok(Stdio::null()) };
        File::open(file).map(Stdio::from).map_err(|source| StartError::NoInput {
            program: self.program.clone(),
            file: file.clone(),
            source,
        })
    }

    fn resolve_program(&self) -> Result<PathBuf, StartError> {
        if self.program.as_os_str().as_encoded_bytes().contains(&b'/') {
            return Ok(self.cwd.join(&self.program));
        }
        std::env::split_paths(self.env.get("PATH").unwrap_or(OsStr::new("/usr/bin:/bin")))
            .map(|folder| self.cwd.join(folder).join(&self.program))
            .find(|file| is_executable(file))
            .ok_or_else(|| StartError::NotFound { program: self.program.clone() })
    }
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// The details of a spawn, to explain its failure.
pub(super) struct Origin {
    asked: PathBuf,
    file: PathBuf,
    cwd: PathBuf,
}

impl Origin {
    /// Explains a failed start. The system reports "no such file" for a missing program, a missing interpreter and a
    /// missing directory alike, so this checks which one it was.
    pub(super) fn explain(self, source: io::Error) -> StartError {
        let Self { asked: program, file, cwd } = self;
        match Errno::from_io_error(&source) {
            Some(Errno::NOENT | Errno::NOTDIR) if !cwd.is_dir() => StartError::NoDirectory { program, cwd },
            Some(Errno::NOENT) if !Path::new("/dev/null").exists() => StartError::NoNull { program },
            Some(Errno::NOENT) if file.exists() => StartError::NoInterpreter { program },
            Some(Errno::NOENT | Errno::NOTDIR) => StartError::NotFound { program },
            Some(Errno::AGAIN) => StartError::NoRoom { program },
            Some(Errno::TOOBIG) => StartError::TooLong { program },
            _ => StartError::Other { program, cwd, source },
        }
    }
}
