//! The configuration file of agent programs: the usual one, and those that are described instead of known.
//!
//! Never looks for the file: its text is handed in.

use std::path::{Path, PathBuf};

use recipe::{source::Sources, yaml};
use serde::Deserialize;

use super::{CustomProgram, custom::CustomError, unknown_field};

/// What a configuration file says.
#[derive(Debug, Default, Deserialize)]
pub struct Configuration {
    /// The agent program for steps that name none.
    pub agent: Option<String>,
    /// Programs that are described instead of known.
    #[serde(default)]
    pub agents: Vec<CustomProgram>,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// It is not YAML.
    #[error("line {line}: {message}")]
    Yaml {
        /// Where, from 1.
        line: usize,
        /// Why.
        message: String,
    },
    /// It has other fields than a configuration has.
    #[error(transparent)]
    Shape(#[from] serde_json::Error),
    /// The description of a program makes no sense.
    #[error(transparent)]
    Program(#[from] CustomError),
}

impl Configuration {
    /// Reads the text of a file that stands in `dir`.
    pub fn read(text: &str, dir: &Path) -> Result<Configuration, ConfigurationError> {
        let mut sources = Sources::default();
        let id = sources.add("configuration", text);
        let mut problems = Vec::new();
        let root = yaml::parse(&sources, id, &mut problems);
        problems.extend(root.as_ref().and_then(unknown_field));
        if let Some(problem) = problems.first() {
            let line = problem.place.map_or(1, |place| sources.line_column(place).line);
            return Err(ConfigurationError::Yaml { line, message: problem.message.clone() });
        }
        let Some(root) = root else { return Ok(Configuration::default()) };
        let value = serde_json::to_value(root.to_value())?;
        let mut configuration: Configuration = serde_json::from_value(value)?;
        for program in &mut configuration.agents {
            program.check()?;
            locate(program, dir);
        }
        Ok(configuration)
    }
}

/// A command with a relative path is meant from where the configuration is, not from where a step works.
fn locate(program: &mut CustomProgram, dir: &Path) {
    if let Some(command) = program.command.as_mut().filter(|command| command.contains('/')) {
        let path: PathBuf = dir.join(&*command).components().collect();
        *command = path.to_string_lossy().into_owned();
    }
}
