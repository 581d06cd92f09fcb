//! A program that a configuration file describes: its arguments, how it gets the prompt, where its answer is, and how
//! to recognise a rate limit. The caller decodes the file; the description is checked here.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::call_state::{CallState, shorten};
use super::{
    ARGUMENT_LIMIT, AgentFailure, Invocation, Reader, Request, argument_prompt, joined_prompt, limits,
};

mod check;

pub use check::CustomError;

/// The description of a program. In its arguments, `{prompt}`, `{prompt_file}`, `{answer_file}`, `{system_prompt}`,
/// `{model}`, `{cwd}` and `{session}` are replaced by their values; `{options}`, alone, is the place of the optional
/// arguments (the end if absent); `{{` and `}}` are braces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CustomProgram {
    /// Its name in recipes.
    pub name: String,
    /// The command; the name if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The arguments.
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
    /// Always added, with `{cwd}`.
    #[serde(default)]
    pub dir_args: Vec<String>,
    /// Added when a session is continued, with `{session}`.
    #[serde(default)]
    pub session_args: Vec<String>,
    /// Words in a failed call that mean a rate limit.
    #[serde(default)]
    pub rate_limit: Vec<String>,
    /// Words in a failed call that mean a failed login.
    #[serde(default)]
    pub auth_failure: Vec<String>,
    /// Environment entries, unless the user has set the name.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
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

    pub(super) fn invocation(&self, request: &Request) -> Invocation {
        let mut call = Invocation::default();
        let values = self.values(request, &mut call);
        let mut placed = false;
        for arg in &self.args {
            if arg == "{options}" {
                placed = true;
                self.add_options(request, &values, &mut call);
            } else {
                call.arg(fill(arg, &values));
            }
        }
        if !placed {
            self.add_options(request, &values, &mut call);
        }
        call.env = self.env.clone().into_iter().collect();
        call
    }

    fn add_options(&self, request: &Request, values: &Values, call: &mut Invocation) {
        let groups = [
            (&self.system_prompt_args, !values.system_prompt.is_empty()),
            (&self.dir_args, true),
            (&self.model_args, request.model.is_some()),
            (&self.session_args, request.session.is_some()),
        ];
        for (args, _) in groups.into_iter().filter(|(_, wanted)| *wanted) {
            for arg in args {
                call.arg(fill(arg, values));
            }
        }
    }

    /// The values of the placeholders; also passes on the prompt.
    fn values(&self, request: &Request, call: &mut Invocation) -> Values {
        let prompt_file = request.scratch.join("prompt.md");
        let answer_file = request.scratch.join("answer.txt");
        let system = request.system_prompt.clone().unwrap_or_default();
        let own_place = self.takes_system_prompt() && system.len() <= ARGUMENT_LIMIT;
        let prompt = match own_place {
            true => request.prompt.clone(),
            false => joined_prompt(request),
        };
        let mut argument = String::new();
        match self.prompt {
            PromptBy::Argument => argument = argument_prompt(&prompt, &request.scratch, &mut call.files),
            PromptBy::Stdin => call.stdin = Some(prompt),
            PromptBy::File => call.files.push((prompt_file.clone(), prompt)),
        }
        if self.answer == AnswerBy::File {
            call.answer_file = Some(answer_file.clone());
        }
        Values {
            prompt: argument,
            prompt_file,
            answer_file,
            system_prompt: if own_place { system } else { String::new() },
            model: request.model.clone().unwrap_or_default(),
            cwd: request.cwd.clone(),
            session: request.session.clone().unwrap_or_default(),
        }
    }

    fn takes_system_prompt(&self) -> bool {
        let mut args = self.args.iter().chain(&self.system_prompt_args);
        args.any(|arg| arg.contains("{system_prompt}"))
    }

    pub(super) fn reader(&self) -> Reader {
        Reader::custom(CustomReader {
            answer: self.answer.clone(),
            rate_limit: self.rate_limit.clone(),
            auth_failure: self.auth_failure.clone(),
        })
    }
}

struct Values {
    prompt: String,
    prompt_file: PathBuf,
    answer_file: PathBuf,
    system_prompt: String,
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
            Piece::Name("model") => filled.push(&values.model),
            Piece::Name("cwd") => filled.push(&values.cwd),
            Piece::Name("session") => filled.push(&values.session),
            Piece::Name(_) => {}
        }
    }
    filled
}

/// The part of a description that is needed for reading.
#[derive(Debug)]
pub(super) struct CustomReader {
    answer: AnswerBy,
    rate_limit: Vec<String>,
    auth_failure: Vec<String>,
}

impl CustomReader {
    pub(super) fn answers_plainly(&self) -> bool {
        self.answer == AnswerBy::Stdout
    }

    pub(super) fn read_event(&self, event: &Value, draft: &mut CallState) -> bool {
        let found = match &self.answer {
            AnswerBy::Stdout | AnswerBy::File => return false,
            AnswerBy::Json(path) => at(event, path),
            AnswerBy::Events(EventAnswer { matching, path }) => {
                let matches = |(field, wanted): (&String, &String)| {
                    at(event, field).is_some_and(|value| as_text(value) == *wanted)
                };
                matching.iter().all(matches).then(|| at(event, path)).flatten()
            }
        };
        if let Some(answer) = found {
            draft.finish(Some(&as_text(answer)));
        }
        found.is_some() || matches!(self.answer, AnswerBy::Events(_))
    }

    /// The failure that the configured words mean.
    pub(super) fn recognise(&self, said: &str) -> Option<AgentFailure> {
        if limits::says_any(said, &self.rate_limit) {
            return Some(limits::rate_limited(said.to_owned()));
        }
        limits::says_any(said, &self.auth_failure).then(|| AgentFailure::Auth { message: shorten(said) })
    }
}

fn at<'a>(event: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(event, |value, name| match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        value => value.get(name),
    })
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}
