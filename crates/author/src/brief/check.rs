//! Criteria: what shows that the work is done, as something that a gate can check.

use serde::Serialize;

/// One criterion of the spec.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Criterion {
    /// From 1, in the order of the spec: the gate is `accept-N`.
    pub number: usize,
    /// The words of the spec, as Markdown.
    pub text: String,
    /// 0 if it comes from an answer.
    pub line: usize,
    pub check: Check,
    /// The name of the track that it belongs to; none: it is checked after all the work.
    pub track: Option<String>,
}

/// How a criterion is checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Check {
    /// Run a command and look at its end and its output.
    Command(CommandCheck),
    /// Start a server, send a request, stop the server.
    Http {
        method: String,
        path: String,
        status: Option<u16>,
        /// Fixed texts that the body must contain.
        contains: Vec<String>,
        /// The command that starts the server.
        start: String,
        /// The port of the spec.
        port: Option<u16>,
    },
    /// A file contains fixed texts. Never the only proof of a behaviour.
    FileMentions { path: String, texts: Vec<String> },
    /// A file does not contain any of these texts.
    FileLacks { path: String, texts: Vec<String> },
    /// A file exists, or is absent.
    FileExists { path: String, exists: bool },
    /// The tests of the project pass.
    TestsPass { command: String, found_in: String },
    /// Lint, types, build or format: supports other proof.
    Supporting { support: SupportKind, command: String, found_in: String },
    /// New tests named `ac_N` exist and pass.
    CoveredByTests,
    /// No command can check it: a person decides.
    Person,
}

/// A command and what is expected of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CommandCheck {
    /// As the spec says it. Programs of the project are in [`super::ProjectFacts::programs`].
    pub command: String,
    pub place: CheckPlace,
    /// At least one; all must hold. Without `Exit` the command must succeed.
    pub expectations: Vec<Expectation>,
}

/// The folder in which a command is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckPlace {
    Project,
    /// An empty scratch folder, because something must be missing.
    EmptyFolder,
}

/// One expectation of a command.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "expect", rename_all = "snake_case")]
pub enum Expectation {
    /// The whole stdout is this text, apart from the newline at the end.
    Prints {
        text: String,
    },
    /// The whole stdout is what a file of the project says when the gate runs.
    PrintsSource {
        source: Source,
    },
    /// The whole stdout is what the first of these says that is there: one gate per source, in this order, in scratch
    /// copies without the earlier sources.
    PrintsFirstOf {
        sources: Vec<Source>,
    },
    /// Stdout is JSON; each key is at its top level.
    Json {
        keys: Vec<String>,
    },
    Contains {
        text: String,
        stream: OutputStream,
    },
    /// Fails also if the command fails.
    Lacks {
        text: String,
        stream: OutputStream,
    },
    Exit {
        code: i32,
    },
    /// Any exit code but 0.
    Fails,
    Within {
        seconds: f64,
    },
}

/// Where to look for a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputStream {
    Stdout,
    Stderr,
    /// Both together: "output".
    Both,
}

/// Where a printed value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "source", rename_all = "snake_case")]
pub enum Source {
    /// A field of a JSON, TOML or YAML file, such as `version`; without a field the whole file without blanks at its
    /// ends.
    File { path: String, field: Option<String> },
    /// A variable of the environment.
    Variable { name: String },
    /// A fixed text, the last resort.
    Text { text: String },
}

/// The kinds of commands that support other proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SupportKind {
    Lint,
    Types,
    Build,
    Format,
}
