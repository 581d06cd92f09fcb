//! Coding-agent programs as data: how to call each, and how to read its output.
//!
//! `programs/` has one file per program, of the same form as the descriptions in a configuration. Everything here is a
//! pure function of its arguments: it never starts a process, writes a file, or reads the clock or the environment; the
//! loop does that.
//!
//! Unless the step says otherwise, an agent may do what a shell step of the same recipe may do, so permissions are not
//! asked for. The own retries of a program are kept low: the run has its own, which are visible.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

pub use engine::run::cause::AgentFailure;
use recipe::syntax::PermissionLevel;
use serde::{Deserialize, Serialize};

mod answer;
mod bounded_text;
mod call_state;
pub mod configuration;
pub mod custom;
mod error_line;
pub mod events;
mod fields;
pub mod launcher;
mod limits;
mod path;
pub mod permissions;
mod reader;
mod settings;
#[cfg(test)]
mod tests;
pub mod tools;
pub mod transcript;

pub use answer::{AgentOutcome, AgentText};
pub use configuration::{Configuration, GenerateSettings, ReviewDepth};
pub use custom::CustomProgram;
use custom::CustomReader;
pub use fields::unknown_field;
pub use reader::{ProgramEnded, Reader};
pub use settings::{AgentPrograms, AgentSettings, DEFAULT, RateLimits, program_list, unknown_program};

/// One line of at most 120 characters.
pub(crate) fn in_one_line(text: &str) -> String {
    call_state::preview(text)
}

/// The end of every prompt. It keeps the agent from waiting for an answer.
pub const FOOTER: &str = "Proceed autonomously. Do not ask questions. \
No person will answer: make open decisions yourself, and finish with the result.";

/// The longest text that is passed as one argument; Linux refuses 128 KiB, and this leaves some room.
const ARGUMENT_LIMIT: usize = 96 * 1024;

/// The prompt followed by [`FOOTER`]; a prompt that already ends with it is unchanged.
pub fn add_footer(prompt: &str) -> String {
    let prompt = prompt.trim_end();
    if prompt.ends_with(FOOTER) {
        return prompt.to_owned();
    }
    format!("{prompt}\n\n{FOOTER}")
}

/// A request to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The whole prompt, including the footer.
    pub prompt: String,
    /// The role of the agent, from its Markdown file.
    pub system_prompt: Option<String>,
    /// The model, as the program names it.
    pub model: Option<String>,
    pub cwd: PathBuf,
    /// A session of the same program to continue.
    pub session: Option<String>,
    /// A private directory of the attempt, for files with a prompt or an answer.
    pub scratch: PathBuf,
    /// The user that starts the program; some refuse to work unattended as root without an option.
    pub user: User,
    /// Which tools it may use without permission.
    pub tools: Tools,
    /// What the agent may do.
    pub permissions: PermissionLevel,
    /// More arguments for the program.
    pub more_args: Vec<String>,
}

/// Which tools a program may use without permission, if it has an option for that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tools {
    /// All of them.
    #[default]
    All,
    /// Those that its own settings allow.
    Configured,
}

/// The user that starts a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// The superuser.
    Root,
    /// Any other user.
    Ordinary,
}

/// How to start a program for one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// The arguments after the program's name.
    pub args: Vec<OsString>,
    /// Environment entries, set only if the user has not set the name.
    pub env: Vec<(String, String)>,
    /// Environment entries that limit the agent, set in any case.
    pub limiting_env: Vec<(String, String)>,
    /// The standard input, from a private file; empty if absent.
    pub stdin: Option<String>,
    /// Files to write before the start, readable only by the owner.
    pub files: Vec<(PathBuf, String)>,
    /// The file with the program's last message, if it is not on standard output.
    pub answer_file: Option<PathBuf>,
}

impl Invocation {
    fn new<const N: usize>(args: [&str; N]) -> Invocation {
        Invocation { args: args.iter().map(OsString::from).collect(), ..Invocation::default() }
    }

    fn arg(&mut self, arg: impl Into<OsString>) -> &mut Invocation {
        self.args.push(arg.into());
        self
    }

    fn option(&mut self, name: &str, value: Option<&str>) -> &mut Invocation {
        if let Some(value) = value {
            self.arg(name).arg(value);
        }
        self
    }
}

/// An agent program: one of those that need no configuration, or one that a configuration file describes.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    description: Arc<CustomProgram>,
}

/// The description of a known program, read when it is first needed.
type Description = LazyLock<Option<Arc<CustomProgram>>>;

// the programs that need no configuration: every file of `programs/`
include!(concat!(env!("OUT_DIR"), "/agent_programs.rs"));

fn described(text: &str) -> Option<Arc<CustomProgram>> {
    recipe::document::decode(text).ok().map(Arc::new)
}

impl From<CustomProgram> for Program {
    fn from(description: CustomProgram) -> Program {
        Program { description: Arc::new(description) }
    }
}

impl Program {
    /// The names that need no configuration.
    pub fn known_names() -> impl Iterator<Item = &'static str> {
        KNOWN.iter().map(|(name, _)| *name)
    }

    /// The program of that name. A path counts by its file name without extension; a configured program takes
    /// precedence over a known one of the same name.
    pub fn named(name: &str, custom: &[CustomProgram]) -> Option<Program> {
        let stem = Path::new(name).file_stem()?.to_str()?;
        let mut custom = custom.iter();
        if let Some(found) = custom.find(|program| program.name == name || program.name == stem) {
            return Some(Program::from(found.clone()));
        }
        let (_, known) = KNOWN.iter().find(|(known, _)| *known == stem)?;
        known.as_ref().map(|description| Program { description: Arc::clone(description) })
    }

    /// The name to search in `PATH`, unless the user gave a path.
    pub fn binary(&self) -> &str {
        self.description.command()
    }

    /// How to start it for a request.
    pub fn invocation(&self, request: &Request) -> Invocation {
        self.description.invocation(request)
    }

    /// A reader for the standard output of one call.
    pub fn reader(&self) -> Reader {
        Reader::described(CustomReader::new(Arc::clone(&self.description)))
    }
}

/// A reader for what a stub prints: it speaks like `claude`, whatever program it stands in for.
pub(crate) fn stub_reader() -> Reader {
    Program::named("claude", &[]).map_or_else(Reader::plain, |program| program.reader())
}

/// An action of an agent, for the progress display.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AgentEvent {
    /// It uses a tool.
    Tool {
        /// The name of the tool in the program.
        name: String,
        /// The target of the tool: a file with the numbers of its new and old lines, a command; may be empty.
        detail: String,
        /// The id of this use, if it has one.
        id: Option<String>,
        /// Whether it changes a file.
        is_edit: bool,
    },
    /// A use of a tool has ended.
    ToolEnded {
        /// The id of the use.
        id: Option<String>,
        /// Its result in one line.
        gist: String,
        has_failed: bool,
    },
    /// It says something.
    Text {
        /// The whole text.
        text: String,
    },
    /// It says something, of which this is the next piece.
    Piece { text: String },
    /// The model is known.
    Model {
        /// The model's name.
        name: String,
    },
    /// The session is known.
    Session {
        /// The program's own id, which can be used to continue later.
        id: String,
    },
    /// The program repeats a model call by itself.
    Retrying { message: String },
}

/// The usage of a call. Values that the program does not report are unknown, never zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The program's session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Input tokens, as the program counts them: some include those from a cache, some do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Input tokens read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Input tokens written into a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// The cost in US dollars, as the program reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Turns of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
}

/// The prompt for a program without a separate system prompt.
fn joined_prompt(request: &Request) -> String {
    match &request.system_prompt {
        Some(system) => format!("{}\n\n---\n\n{}", system.trim_end(), request.prompt),
        None => request.prompt.clone(),
    }
}

/// The prompt as an argument: itself, or, if it does not fit, a reference to a private file with it.
fn argument_prompt(prompt: &str, scratch: &Path, files: &mut Vec<(PathBuf, String)>) -> String {
    if prompt.len() <= ARGUMENT_LIMIT {
        return prompt.to_owned();
    }
    let path = scratch.join("prompt.md");
    let pointer = format!(
        "The whole task is in the file {}. Read all of that file first, then do what it says.\n\n{FOOTER}",
        path.display()
    );
    files.push((path, prompt.to_owned()));
    pointer
}
