//! The failure of a command, for users: a heading, details, what to do next.
//!
//! Never used for problems inside a recipe: those are diagnostics, with places.

use anstyle::{AnsiColor, Style};
use engine::failure::{Diagnosis, Facts, Obstacle, diagnose};

use crate::{args::options::OutputFormat, exit::Exit, out::Out};

/// A command that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// What happened, and why.
    pub(crate) message: String,
    /// What to do.
    pub(crate) hints: Vec<String>,
    /// Additional facts for programs.
    pub(crate) facts: Vec<(&'static str, String)>,
    /// What is in the way.
    pub(crate) obstacle: Option<Obstacle>,
}

impl Failure {
    /// A failure without hints.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Failure {
        let obstacle = (exit == Exit::Conflict).then_some(Obstacle::AlreadyRunning);
        Failure { exit, message: message.into(), hints: Vec::new(), facts: Vec::new(), obstacle }
    }

    /// No other process is in the way.
    #[must_use]
    pub(crate) fn without_obstacle(mut self) -> Failure {
        self.obstacle = None;
        self
    }

    /// Adds a line about what to do.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Failure {
        self.hints.push(hint.into());
        self
    }

    /// Adds a fact for programs.
    #[must_use]
    pub(crate) fn fact(mut self, name: &'static str, value: impl Into<String>) -> Failure {
        self.facts.push((name, value.into()));
        self
    }

    /// Writes a JSON value to stdout, where one is promised.
    #[must_use]
    pub(crate) fn announce(self, format: OutputFormat, out: &mut Out) -> Failure {
        if format == OutputFormat::Json {
            let (error, hints) = (&self.message, &self.hints);
            let mut json =
                serde_json::json!({ "error": error, "exit_code": self.exit.code(), "hints": hints });
            for (name, value) in &self.facts {
                json[*name] = value.as_str().into();
            }
            if let Some(found) = self.diagnosis() {
                json["diagnosis"] = serde_json::json!(found);
            }
            out.json(&json);
        }
        self
    }

    /// The diagnosis of what is in the way.
    pub(crate) fn diagnosis(&self) -> Option<Diagnosis> {
        let detail = self.message.clone();
        self.obstacle.map(|found| diagnose(&Facts { obstacle: Some(found), detail, ..Facts::default() }))
    }

    /// Writes it to stderr.
    pub(crate) fn report(&self, out: &mut Out) -> Exit {
        let red = Style::new().fg_color(Some(AnsiColor::BrightRed.into())).bold();
        let mut text = format!("{red}error{red:#}: {}\n", clean(&self.message));
        for hint in &self.hints {
            text.push_str(&format!("  {}\n", clean(hint)));
        }
        out.notice(&text);
        self.exit
    }
}

/// Text without control characters.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c }).collect()
}
