//! The description of an agent program, built in or from a configuration: its arguments, how it gets the prompt, where
//! its answer is, and what its events mean. The caller decodes the file; the description is checked here.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use recipe::syntax::PermissionLevel;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::call_state::{CallState, shorten};
use super::events::{self, EventRule};
use super::path::{as_text, at};
use super::permissions::PermissionSettings;
use super::{
    ARGUMENT_LIMIT, AgentEvent, AgentFailure, Invocation, Request, Tools, User, argument_prompt,
    joined_prompt, limits,
};

mod check;

pub use check::CustomError;

/// The description of a program. In its arguments, `{prompt}`, `{prompt_file}`, `{answer_file}`, `{system_prompt}`,
/// `{model}`, `{cwd}` and `{session}` are replaced by their values. `{model_args}` and the like, alone, are the places of
/// these arguments; `{options}`, alone, is the place of all others (the end if absent). `{{` and `}}` are braces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomProgram {
    /// Its name in recipes.
    pub name: String,
    /// The command; the name if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(default)]
    pub args: Vec<String>,
    /// How it gets the prompt.
    #[serde(default)]
    pub prompt: PromptBy,
    /// Where the answer is.
    #[serde(default)]
    pub answer: AnswerBy,
    /// Added when there is a model, with `{model}`.
    #[serde(default)]
    pub model_args: Vec<String>,
    /// Added when there is a system prompt, with `{system_prompt}`; if absent, the system prompt is put before the
    /// prompt.
    #[serde(default)]
    pub system_prompt_args: Vec<String>,
    /// Added for a system prompt that is too long for an argument, with `{system_prompt_file}`.
    #[serde(default)]
    pub system_prompt_file_args: Vec<String>,
    /// Added when the program may use all its tools.
    #[serde(default)]
    pub all_tools_args: Vec<String>,
    /// Always added, with `{cwd}`.
    #[serde(default)]
    pub dir_args: Vec<String>,
    /// Added when a session is continued, with `{session}`.
    #[serde(default)]
    pub session_args: Vec<String>,
    /// How it is limited to a level of permissions.
    #[serde(default)]
    pub permissions: PermissionSettings,
    /// Options that contradict its own arguments, besides these themselves.
    #[serde(default)]
    pub contradicts: Vec<String>,
    /// Words in a failed call that mean that the session to continue does not exist.
    #[serde(default)]
    pub session_gone: Vec<String>,
    /// Words in a failed call that mean a rate limit.
    #[serde(default)]
    pub rate_limit: Vec<String>,
    /// Words in a failed call that mean a failed login.
    #[serde(default)]
    pub auth_failure: Vec<String>,
    /// Environment entries, unless the user has set the name.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// More of them for the superuser.
    #[serde(default)]
    pub root_env: BTreeMap<String, String>,
    /// What its events mean, if it prints JSON lines.
    #[serde(default)]
    pub events: Vec<EventRule>,
}

/// How a program gets the prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptBy {
    /// As the argument `{prompt}`, or in a file that the argument names if it is too long for one.
    Argument,
    /// On standard input.
    #[default]
    Stdin,
    /// In the file `{prompt_file}`.
    File,
}

/// Where an answer is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum AnswerBy {
    /// All of standard output.
    #[default]
    Stdout,
    /// At this path (`result.text`, `choices.0.text`) of the one JSON object on standard output.
    Json(String),
    /// In the last line of standard output that matches.
    Events(EventAnswer),
    /// In the file `{answer_file}`.
    File,
}

/// The event that has the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventAnswer {
    /// Paths and the text that each must have: `type: result`.
    #[serde(rename = "match")]
    pub matching: BTreeMap<String, String>,
    /// The path of the answer inside that event.
    pub path: String,
}

impl CustomProgram {
    /// The command.
    pub fn command(&self) -> &str {
        self.command.as_deref().unwrap_or(&self.name)
    }

    /// How to start it for a request.
    pub(super) fn invocation(&self, request: &Request) -> Invocation {
        let mut call = Invocation::default();
        let values = self.values(request, &mut call);
        let groups = self.groups(request, &values);
        let is_placed = |name: &str| self.args.iter().any(|arg| arg == name);
        let ends_with_options = !is_placed(OPTIONS);
        for arg in self.args.iter().map(String::as_str).chain(ends_with_options.then_some(OPTIONS)) {
            let rest = |(name, _): &&(&str, &[String])| arg == OPTIONS && !is_placed(name);
            let own = |(name, _): &&(&str, &[String])| *name == arg;
            let group = groups.iter().filter(|group| rest(group) || own(group));
            let args: Vec<&String> = group.flat_map(|(_, args)| *args).collect();
            if arg != OPTIONS && !GROUPS.contains(&arg) {
                call.arg(fill(arg, &values));
            }
            args.into_iter().for_each(|arg| {
                call.arg(fill(arg, &values));
            });
        }
        for arg in &request.more_args {
            call.arg(arg);
        }
        let limits = self.permissions.of(request.permissions);
        let limiting = limits.iter().flat_map(|limits| &limits.env);
        call.limiting_env = limiting.map(|(name, value)| (name.clone(), value.clone())).collect();
        let root = self.root_env.iter().filter(|_| request.user == User::Root);
        call.env = self.env.iter().chain(root).map(|(name, value)| (name.clone(), value.clone())).collect();
        call
    }

    /// The optional arguments, each group with its placeholder; empty where it is not wanted.
    fn groups<'a>(&'a self, request: &Request, values: &Values) -> [(&'static str, &'a [String]); 6] {
        let wanted = |args: &'a [String], is: bool| if is { args } else { &[] };
        let system_prompt = match values.system_prompt_file.is_some() {
            true => self.system_prompt_file_args.as_slice(),
            false => wanted(&self.system_prompt_args, !values.system_prompt.is_empty()),
        };
        let is_full = request.permissions == PermissionLevel::Full;
        let groups = [
            wanted(&self.all_tools_args, request.tools == Tools::All && is_full),
            self.permissions.of(request.permissions).map_or(&[], |limits| limits.args.as_slice()),
            system_prompt,
            &self.dir_args,
            wanted(&self.model_args, request.model.is_some()),
            wanted(&self.session_args, request.session.is_some()),
        ];
        std::array::from_fn(|at| (GROUPS[at], groups[at]))
    }

    /// The values of the placeholders; also passes on the prompt.
    fn values(&self, request: &Request, call: &mut Invocation) -> Values {
        let prompt_file = request.scratch.join("prompt.md");
        let answer_file = request.scratch.join("answer.txt");
        let system = request.system_prompt.clone().unwrap_or_default();
        let is_long = system.len() > ARGUMENT_LIMIT;
        let own_place = self.takes_system_prompt() && !is_long;
        let own_file = is_long && !self.system_prompt_file_args.is_empty();
        let prompt = match own_place || own_file {
            true => request.prompt.clone(),
            false => joined_prompt(request),
        };
        let mut argument = String::new();
        match self.prompt {
            PromptBy::Argument => argument = argument_prompt(&prompt, &request.scratch, &mut call.files),
            PromptBy::Stdin => call.stdin = Some(prompt),
            PromptBy::File => call.files.push((prompt_file.clone(), prompt)),
        }
        let system_prompt_file = own_file.then(|| request.scratch.join("system-prompt.md"));
        call.files.extend(system_prompt_file.clone().map(|path| (path, system.clone())));
        if self.answer == AnswerBy::File {
            call.answer_file = Some(answer_file.clone());
        }
        Values {
            prompt: argument,
            prompt_file,
            answer_file,
            system_prompt: if own_place { system } else { String::new() },
            system_prompt_file,
            model: request.model.clone().unwrap_or_default(),
            cwd: request.cwd.clone(),
            session: request.session.clone().unwrap_or_default(),
        }
    }

    fn takes_system_prompt(&self) -> bool {
        let mut args = self.args.iter().chain(&self.system_prompt_args);
        args.any(|arg| arg.contains("{system_prompt}"))
    }
}

/// The place of all optional arguments that have no place of their own.
const OPTIONS: &str = "{options}";
/// The places of the groups of optional arguments, in the order in which they are added.
const GROUPS: [&str; 6] = [
    "{all_tools_args}",
    "{permission_args}",
    "{system_prompt_args}",
    "{dir_args}",
    "{model_args}",
    "{session_args}",
];

struct Values {
    prompt: String,
    prompt_file: PathBuf,
    answer_file: PathBuf,
    system_prompt: String,
    system_prompt_file: Option<PathBuf>,
    model: String,
    cwd: PathBuf,
    session: String,
}

enum Piece<'a> {
    Text(&'a str),
    Name(&'a str),
}

/// An argument as texts and placeholders; `None` if its braces do not match.
fn split(arg: &str) -> Option<Vec<Piece<'_>>> {
    let mut pieces = Vec::new();
    let mut rest = arg;
    while let Some(at) = rest.find(['{', '}']) {
        pieces.push(Piece::Text(&rest[..at]));
        let tail = &rest[at..];
        if tail.starts_with("{{") || tail.starts_with("}}") {
            pieces.push(Piece::Text(&tail[..1]));
            rest = &tail[2..];
        } else {
            let end = tail.strip_prefix('{')?.find(['{', '}'])?;
            let (name, after) = tail[1..].split_at(end);
            pieces.push(Piece::Name(name));
            rest = after.strip_prefix('}')?;
        }
    }
    pieces.push(Piece::Text(rest));
    Some(pieces)
}

fn fill(arg: &str, values: &Values) -> std::ffi::OsString {
    let Some(pieces) = split(arg) else {
        return arg.into();
    };
    let mut filled = std::ffi::OsString::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => filled.push(text),
            Piece::Name("prompt") => filled.push(&values.prompt),
            Piece::Name("prompt_file") => filled.push(&values.prompt_file),
            Piece::Name("answer_file") => filled.push(&values.answer_file),
            Piece::Name("system_prompt") => filled.push(&values.system_prompt),
            Piece::Name("system_prompt_file") => {
                filled.push(values.system_prompt_file.as_deref().unwrap_or(std::path::Path::new("")));
            }
            Piece::Name("model") => filled.push(&values.model),
            Piece::Name("cwd") => filled.push(&values.cwd),
            Piece::Name("session") => filled.push(&values.session),
            Piece::Name(_) => {}
        }
    }
    filled
}

/// Reads the output of a described program.
#[derive(Debug)]
pub(super) struct CustomReader {
    program: Arc<CustomProgram>,
}

impl CustomReader {
    pub(super) fn new(program: Arc<CustomProgram>) -> CustomReader {
        CustomReader { program }
    }

    /// Whether the meaning of its events is known.
    pub(super) fn knows_events(&self) -> bool {
        !self.program.events.is_empty()
    }

    /// Whether plain text is an answer.
    pub(super) fn answers_plainly(&self) -> bool {
        self.knows_events() || self.program.answer == AnswerBy::Stdout
    }

    /// Takes one JSON object; false if it is not an event of the program.
    pub(super) fn read_event(&self, event: &Value, draft: &mut CallState, out: &mut Vec<AgentEvent>) -> bool {
        let is_known = events::read(&self.program.events, event, draft, out);
        let found = match &self.program.answer {
            AnswerBy::Stdout | AnswerBy::File => return is_known,
            AnswerBy::Json(path) => at(event, path),
            AnswerBy::Events(EventAnswer { matching, path }) => {
                let matches = |(field, wanted): (&String, &String)| {
                    at(event, field).is_some_and(|value| as_text(value) == *wanted)
                };
                matching.iter().all(matches).then(|| at(event, path)).flatten()
            }
        };
        match found {
            Some(Value::Null) => draft.done = false,
            Some(answer) => draft.finish(Some(&as_text(answer))),
            None => {}
        }
        is_known || found.is_some() || matches!(self.program.answer, AnswerBy::Events(_))
    }

    /// The failure that the configured words mean.
    pub(super) fn recognise(&self, said: &str) -> Option<AgentFailure> {
        if limits::says_any(said, &self.program.rate_limit) {
            return Some(limits::rate_limited(said.to_owned()));
        }
        let is_refused = limits::says_any(said, &self.program.auth_failure);
        is_refused.then(|| AgentFailure::Auth { message: shorten(said) })
    }
}
