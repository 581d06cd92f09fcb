//! What the files of a project show: its commands, its programs, its rules.

use serde::Serialize;

/// A project, according to its files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProjectFacts {
    pub kind: ProjectKind,
    /// It is in a git work tree.
    pub git: bool,
    pub test: Option<FoundCommand>,
    pub lint: Option<FoundCommand>,
    pub types: Option<FoundCommand>,
    pub build: Option<FoundCommand>,
    pub format: Option<FoundCommand>,
    /// Programs that the project makes, so that a gate can run `NAME` without installing it.
    pub programs: Vec<ProjectProgram>,
    /// AGENTS.md, CLAUDE.md and CONTRIBUTING.md, if present.
    pub rules: Vec<FileDigest>,
    /// Every other file that was read, sorted by path.
    pub read: Vec<FileDigest>,
}

/// The tool that builds a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProjectKind {
    Cargo,
    /// npm, pnpm or yarn; the commands say which.
    Npm,
    Pytest,
    Unittest,
    Go,
    Make,
    Unknown,
}

/// A command and the file that it was found in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundCommand {
    pub command: String,
    /// A file of the project, or `spec`, `answer` or `generator`.
    pub found_in: String,
}

/// A program of the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProjectProgram {
    /// As it is called: the first word of a command.
    pub name: String,
    pub start: ProgramStart,
    pub found_in: String,
}

/// How a program of the project is started from its sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "start", rename_all = "snake_case")]
pub enum ProgramStart {
    /// `cargo run --quiet --bin BIN --`.
    Cargo { bin: String },
    /// `node SCRIPT`, relative to the project.
    Node { script: String },
    /// Calls a function of a module, as an installed script would.
    Python { module: String, function: String },
    /// `go run ./PACKAGE`.
    Go { package: String },
    /// An executable file, relative to the project.
    File { path: String },
}

/// A file with the digest of its bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct FileDigest {
    pub path: String,
    pub sha256: String,
}
