//! Checks the description of a program before it is started.

use super::{AnswerBy, CustomProgram, EventAnswer, Piece, PromptBy, split};

/// A problem of a description.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CustomError {
    /// It has no name, or one that cannot be a file name.
    #[error(
        "the agent program's name `{0}` is not usable: give one word of letters, digits, `-`, `_` and `.`"
    )]
    Name(String),
    /// The command is empty.
    #[error("the agent program `{0}` has an empty `command`: leave it out or name a program")]
    Command(String),
    /// An argument has an unknown placeholder.
    #[error("the agent program `{program}` uses `{{{placeholder}}}` in `{field}`, which takes only {}: fix it, or double the braces", list(.allowed))]
    Placeholder {
        program: String,
        field: &'static str,
        /// The text between the braces.
        placeholder: String,
        /// The allowed placeholders.
        allowed: &'static [&'static str],
    },
    /// A brace has no counterpart.
    #[error(
        "the agent program `{program}` has an unbalanced brace in `{field}`: `{text}`; double it to mean a brace"
    )]
    Brace {
        program: String,
        field: &'static str,
        /// The argument.
        text: String,
    },
    /// The arguments lack a placeholder that the setting needs.
    #[error("the agent program `{program}` says `{way}`, but no argument has `{needed}`: add it")]
    Missing {
        program: String,
        /// The setting.
        way: &'static str,
        /// The placeholder.
        needed: &'static str,
    },
    /// The arguments have a placeholder that the setting does not provide.
    #[error(
        "the agent program `{program}` has `{placeholder}` in `args`, but does not say `{way}`: say so, or remove it"
    )]
    Superfluous {
        program: String,
        placeholder: &'static str,
        /// The setting that would provide it.
        way: &'static str,
    },
    /// A path into JSON is empty.
    #[error(
        "the agent program `{program}` has an empty name in the path `{path}`: write it like `result.text`"
    )]
    Path { program: String, path: String },
    /// Every event would match.
    #[error(
        "the agent program `{0}` has an empty `match`: say which event holds the answer, like `type: result`"
    )]
    EmptyMatch(String),
    /// A rule would apply to every event.
    #[error(
        "the agent program `{0}` has an event rule without `when`: say which events it is for, like `type: result`"
    )]
    EmptyWhen(String),
}

fn list(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{{{name}}}`")).collect();
    names.join(", ")
}

/// The placeholders in `args`: values first, then those that stand alone.
const IN_ARGS: &[&str] = &[
    "prompt",
    "prompt_file",
    "answer_file",
    "system_prompt",
    "model",
    "cwd",
    "session",
    "options",
    "all_tools_args",
    "permission_args",
    "system_prompt_args",
    "dir_args",
    "model_args",
    "session_args",
];

impl CustomProgram {
    /// Checks the description; returns the first problem.
    pub fn check(&self) -> Result<(), CustomError> {
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if self.name.is_empty() || !self.name.chars().all(good) || self.name.starts_with(['.', '-']) {
            return Err(CustomError::Name(self.name.clone()));
        }
        if self.command.as_ref().is_some_and(|command| command.trim().is_empty()) {
            return Err(CustomError::Command(self.name.clone()));
        }
        self.check_field("args", &self.args, IN_ARGS)?;
        self.check_field("model_args", &self.model_args, &["model"])?;
        self.check_field("system_prompt_args", &self.system_prompt_args, &["system_prompt"])?;
        self.check_field("system_prompt_file_args", &self.system_prompt_file_args, &["system_prompt_file"])?;
        self.check_field("all_tools_args", &self.all_tools_args, &[])?;
        for limits in self.permissions.all() {
            self.check_field("permissions", &limits.args, &[])?;
        }
        self.check_field("dir_args", &self.dir_args, &["cwd"])?;
        self.check_field("session_args", &self.session_args, &["session"])?;
        self.check_ways()?;
        if self.events.iter().any(|rule| rule.when.is_empty()) {
            return Err(CustomError::EmptyWhen(self.name.clone()));
        }
        self.check_answer()
    }

    fn check_field(
        &self,
        field: &'static str,
        args: &[String],
        allowed: &'static [&'static str],
    ) -> Result<(), CustomError> {
        for arg in args {
            let pieces = split(arg).ok_or_else(|| CustomError::Brace {
                program: self.name.clone(),
                field,
                text: arg.clone(),
            })?;
            let wrong = pieces.into_iter().find_map(|piece| match piece {
                Piece::Name(name) if !allowed.contains(&name) => Some(name.to_owned()),
                Piece::Name(name) if name == "options" || name.ends_with("_args") => {
                    (*arg != format!("{{{name}}}")).then(|| name.to_owned())
                }
                _ => None,
            });
            if let Some(placeholder) = wrong {
                return Err(CustomError::Placeholder {
                    program: self.name.clone(),
                    field,
                    placeholder,
                    allowed,
                });
            }
        }
        Ok(())
    }

    fn check_ways(&self) -> Result<(), CustomError> {
        let by = |way| self.prompt == way;
        let file = self.answer == AnswerBy::File;
        let ways = [
            ("prompt: argument", "{prompt}", by(PromptBy::Argument)),
            ("prompt: file", "{prompt_file}", by(PromptBy::File)),
            ("answer: file", "{answer_file}", file),
        ];
        for (way, placeholder, chosen) in ways {
            let program = self.name.clone();
            let present = self.args.iter().any(|arg| arg.contains(placeholder));
            match (chosen, present) {
                (true, false) => return Err(CustomError::Missing { program, way, needed: placeholder }),
                (false, true) => return Err(CustomError::Superfluous { program, placeholder, way }),
                _ => {}
            }
        }
        Ok(())
    }

    fn check_answer(&self) -> Result<(), CustomError> {
        let paths: Vec<&String> = match &self.answer {
            AnswerBy::Stdout | AnswerBy::File => return Ok(()),
            AnswerBy::Json(path) => vec![path],
            AnswerBy::Events(EventAnswer { matching, .. }) if matching.is_empty() => {
                return Err(CustomError::EmptyMatch(self.name.clone()));
            }
            AnswerBy::Events(EventAnswer { matching, path }) => matching.keys().chain([path]).collect(),
        };
        match paths.into_iter().find(|path| path.split('.').any(str::is_empty)) {
            None => Ok(()),
            Some(path) => Err(CustomError::Path { program: self.name.clone(), path: path.clone() }),
        }
    }
}
