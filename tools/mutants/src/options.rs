//! What the command line asks for.

use std::path::PathBuf;

use crate::{
    mutant::Mutant,
    project::{CRATES, crate_of},
};

/// What can be asked for.
pub(crate) const USAGE: &str = "\
usage: mutants [OPTION]...
  --project DIR     the project; default: this folder
  --crate NAME      mutants of `recipe` or of `engine` alone
  --file TEXT       mutants of files whose path contains TEXT
  --only TEXT       mutants whose `FILE | FUNCTION | CHANGE` contains TEXT
  --seconds N       processor time of one test program; default: from how long it takes without a mutant
  --jobs N          mutants at the same time; default: 1
  --again           try the explained ones too: none of them may be noticed
  --list            only list them, without the explained ones";

/// The options.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) project: PathBuf,
    krate: Option<String>,
    file: String,
    only: String,
    pub(crate) seconds: Option<u64>,
    pub(crate) jobs: usize,
    pub(crate) again: bool,
    pub(crate) list: bool,
}

impl Options {
    /// Reads the arguments.
    pub(crate) fn from(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            project: ".".into(),
            krate: None,
            file: String::new(),
            only: String::new(),
            seconds: None,
            jobs: 1,
            again: false,
            list: false,
        };
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("`{name}` needs a value"));
            match name.as_str() {
                "--project" => options.project = value()?.into(),
                "--crate" => options.krate = Some(known_crate(value()?)?),
                "--file" => options.file = value()?,
                "--only" => options.only = value()?,
                "--seconds" => options.seconds = Some(number(&value()?)? as u64),
                "--jobs" => options.jobs = number(&value()?)?,
                "--again" => options.again = true,
                "--list" => options.list = true,
                _ => return Err(format!("there is no `{name}`")),
            }
        }
        Ok(options)
    }

    /// The crates whose tests are needed.
    pub(crate) fn crates(&self) -> Vec<&'static str> {
        CRATES.into_iter().filter(|krate| self.takes_crate(krate)).collect()
    }

    fn takes_crate(&self, krate: &str) -> bool {
        self.krate.as_deref().is_none_or(|wanted| wanted == krate)
    }

    /// Whether a file's mutants are written.
    pub(crate) fn takes_file(&self, file: &str) -> bool {
        self.takes_crate(crate_of(file)) && file.contains(&self.file)
    }

    /// Whether a mutant is tried.
    pub(crate) fn takes(&self, mutant: &Mutant) -> bool {
        mutant.to_string().contains(&self.only)
    }
}

fn known_crate(name: String) -> Result<String, String> {
    if CRATES.contains(&name.as_str()) {
        Ok(name)
    } else {
        Err(format!("`{name}` has no mutants: {CRATES:?} have"))
    }
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or(format!("`{text}` is no number above 0"))
}
