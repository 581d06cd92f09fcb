//! Coding-agent programs as data: how each is called, and how what it prints is read.
//!
//! One file per program. Everything here is a pure function of its arguments: it never starts a process,
//! writes a file, or looks at the clock or the environment; the loop does that.
//!
//! | program | prompt | system prompt | answer | unattended | own retries |
//! |---|---|---|---|---|---|
//! | `claude` | stdin | `--system-prompt` | `result` event | `--permission-mode bypassPermissions` | `CLAUDE_CODE_MAX_RETRIES=2` |
//! | `codex` | stdin | before the prompt | last-message file | `--dangerously-bypass-approvals-and-sandbox` | its own |
//! | `copilot` | stdin | before the prompt | last `assistant.message` event | `--allow-all-tools --allow-all-paths --allow-all-urls --no-ask-user` | its own |
//! | `gemini` | stdin | before the prompt | `message` events after the last tool | `--yolo --skip-trust` | its own |
//! | `opencode` | stdin | before the prompt | `text` events of the last message | `--auto` | its own |
//! | `amplifier` | stdin | before the prompt | `response` of one JSON object | none needed | its own |
//! | launcher | `-p` | `--system-prompt` | standard output | `--allow-all-tools` for copilot | the program's |
//! | custom | as configured | as configured | as configured | as configured | as configured |
//!
//! An agent may do what a shell step of the same recipe may do; that is why permissions are not asked for.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

mod amplifier;
mod answer;
mod bounded_text;
mod call_state;
mod claude;
mod codex;
pub mod configuration;
mod copilot;
pub mod custom;
mod error_line;
mod failure;
mod fields;
mod gemini;
pub mod launcher;
mod limits;
mod opencode;
mod reader;
mod settings;
#[cfg(test)]
mod tests;

pub use answer::{AgentOutcome, AgentText};
pub use configuration::Configuration;
pub use custom::CustomProgram;
pub use failure::AgentFailure;
pub use fields::unknown_field;
pub use reader::{Ended, Reader};
pub use settings::{AgentSettings, RateLimits, unknown_program};

/// What is appended to every prompt, so that the agent does not wait for somebody.
pub const FOOTER: &str = "Proceed autonomously. Do not ask questions. \
No person will answer: make open decisions yourself, and finish with the result.";

/// The longest text that is passed as one argument; Linux refuses 128 KiB, and some room is left.
const ARGUMENT_LIMIT: usize = 96 * 1024;

/// The prompt followed by [`FOOTER`]; a prompt that already ends with it stays as it is.
pub fn add_footer(prompt: &str) -> String {
    let prompt = prompt.trim_end();
    if prompt.ends_with(FOOTER) {
        return prompt.to_owned();
    }
    format!("{prompt}\n\n{FOOTER}")
}

/// What an agent is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The whole prompt, footer included.
    pub prompt: String,
    /// Who the agent is, from its Markdown file.
    pub system_prompt: Option<String>,
    /// The model, in the program's own words.
    pub model: Option<String>,
    /// Where it works.
    pub cwd: PathBuf,
    /// A session of the same program to go on with.
    pub session: Option<String>,
    /// A private directory of the attempt, for files that carry a prompt or an answer.
    pub scratch: PathBuf,
    /// Who starts the program; some refuse to work unattended as root without being told.
    pub user: User,
    /// Which tools it may use without being asked.
    pub tools: Tools,
}

/// Which tools a program may use without being asked, where it has an option for that of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tools {
    /// All of them.
    #[default]
    All,
    /// Those that its own settings allow.
    Configured,
}

/// Who starts a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// The superuser.
    Root,
    /// Anybody else.
    Ordinary,
}

/// How a program is started for one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// The arguments after the program's name.
    pub args: Vec<OsString>,
    /// Environment entries, to be set only where the user has not set the name.
    pub env: Vec<(String, String)>,
    /// What the program reads on standard input, from a private file; without it, nothing.
    pub stdin: Option<String>,
    /// Files to be written, readable by the owner only, before the start.
    pub files: Vec<(PathBuf, String)>,
    /// Where the program leaves its last message, if not on standard output.
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

    fn default_env(&mut self, name: &str, value: &str) -> &mut Invocation {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// A program that can be asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Program {
    /// Claude Code.
    Claude,
    /// Codex CLI.
    Codex,
    /// GitHub Copilot CLI.
    Copilot,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
    /// Amplifier CLI.
    Amplifier,
    /// One that a configuration file describes.
    Custom(Box<CustomProgram>),
}

impl Program {
    /// The names that need no configuration.
    pub const KNOWN: [&str; 6] = ["claude", "codex", "copilot", "gemini", "opencode", "amplifier"];

    /// The program of that name. A path counts by its file name without extension; a configured program
    /// comes before a known one of the same name.
    pub fn named(name: &str, custom: &[CustomProgram]) -> Option<Program> {
        let stem = Path::new(name).file_stem()?.to_str()?;
        let mut custom = custom.iter();
        if let Some(found) = custom.find(|program| program.name == name || program.name == stem) {
            return Some(Program::Custom(Box::new(found.clone())));
        }
        match stem {
            "claude" => Some(Program::Claude),
            "codex" => Some(Program::Codex),
            "copilot" => Some(Program::Copilot),
            "gemini" => Some(Program::Gemini),
            "opencode" => Some(Program::Opencode),
            "amplifier" => Some(Program::Amplifier),
            _ => None,
        }
    }

    /// What to look for in `PATH`, unless the user gave a path.
    pub fn binary(&self) -> &str {
        match self {
            Program::Claude => "claude",
            Program::Codex => "codex",
            Program::Copilot => "copilot",
            Program::Gemini => "gemini",
            Program::Opencode => "opencode",
            Program::Amplifier => "amplifier",
            Program::Custom(custom) => custom.command(),
        }
    }

    /// How it is started for a request.
    pub fn invocation(&self, request: &Request) -> Invocation {
        match self {
            Program::Claude => claude::invocation(request),
            Program::Codex => codex::invocation(request),
            Program::Copilot => copilot::invocation(request),
            Program::Gemini => gemini::invocation(request),
            Program::Opencode => opencode::invocation(request),
            Program::Amplifier => amplifier::invocation(request),
            Program::Custom(custom) => custom.invocation(request),
        }
    }

    /// A reader for the standard output of one call.
    pub fn reader(&self) -> Reader {
        match self {
            Program::Claude => Reader::events(claude::read),
            Program::Codex => Reader::events(codex::read),
            Program::Copilot => Reader::events(copilot::read),
            Program::Gemini => Reader::events(gemini::read),
            Program::Opencode => Reader::events(opencode::read),
            Program::Amplifier => Reader::events(amplifier::read),
            Program::Custom(custom) => custom.reader(),
        }
    }
}

/// Something that an agent does, for people who watch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AgentEvent {
    /// It uses a tool.
    Tool {
        /// The tool's name, as the program calls it.
        name: String,
        /// What it is used on: a file, a command; may be empty.
        detail: String,
    },
    /// It says something; the beginning of it.
    Text {
        /// At most 120 characters of one line.
        text: String,
    },
    /// Which model works.
    Model {
        /// The model's name.
        name: String,
    },
    /// Which session it is.
    Session {
        /// The program's own identifier, good for going on later.
        id: String,
    },
    /// The program tries a model call again by itself.
    Retrying {
        /// Why.
        message: String,
    },
}

/// What a call used. Whatever the program does not report is unknown, never zero.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// The model that worked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The program's session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Input tokens, as the program counts them: some count those from a cache, some do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// Input tokens read from a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_tokens: Option<u64>,
    /// Input tokens written into a cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// What it cost, in US dollars, as the program says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Turns of the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
}

/// The prompt for a program without a place of its own for a system prompt.
fn joined_prompt(request: &Request) -> String {
    match &request.system_prompt {
        Some(system) => format!("{}\n\n---\n\n{}", system.trim_end(), request.prompt),
        None => request.prompt.clone(),
    }
}

/// The prompt as an argument: itself, or, where it does not fit, a pointer to a private file that holds it.
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
