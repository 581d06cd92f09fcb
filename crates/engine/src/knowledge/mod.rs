//! What the runner believes about programs and about the words they print: data in `programs.yaml` and `phrases.yaml`,
//! to which a user can add, and in `authoring.yaml`, to which nothing is added.
//!
//! The files are parsed when they are first needed, not at the start. Rules that use the data are elsewhere.

pub(crate) mod authoring;
mod command;
mod names;
mod pattern;
mod phrases;
mod program;

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use recipe::document::decode;
use serde::Deserialize;

pub use command::Use;
use command::{Programs, ProgramsFile};
pub use pattern::{Pattern, Uses};
pub use phrases::{
    AgentErrors, CausePhrase, HollowWords, LineEdges, MissingProgramWords, Phrases, RecoveredWords,
    ServiceTrouble, UnsetVariableWords,
};
pub use program::{ExitMeaning, Habit, Program, Wrapping};

/// How a command checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckKind {
    /// It runs tests.
    Tests,
    /// It looks for mistakes in sources.
    Lint,
    /// It builds.
    Build,
    /// It compares files, texts or numbers.
    Compare,
}

/// What the runner believes: the built-in knowledge, with or without a user's additions. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    /// The programs; the built-in ones if absent.
    programs: Option<Arc<Programs>>,
    /// The phrases; the built-in ones if absent.
    phrases: Option<Arc<Phrases>>,
}

/// What a user adds, as the configuration has it under `knowledge:`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UserKnowledge {
    /// Programs: an entry extends what is known about a program of that name.
    pub programs: BTreeMap<String, Program>,
    /// Phrases that name causes. They are tried before the built-in ones.
    pub phrases: Vec<CausePhrase>,
}

impl UserKnowledge {
    /// Checks what the user adds; returns the first problem.
    pub fn check(&self) -> Result<(), KnowledgeError> {
        let mut problems = self.phrases.iter().enumerate();
        let found = problems.find_map(|(at, phrase)| Some((at + 1, phrase.problem()?)));
        found.map_or(Ok(()), |(number, problem)| Err(KnowledgeError::Phrase { number, problem }))
    }

    /// Adds what another configuration says; this one comes first.
    pub fn extend(&mut self, more: UserKnowledge) {
        for (name, mut program) in more.programs {
            if let Some(own) = self.programs.remove(&name) {
                program.extend(&own);
            }
            self.programs.insert(name, program);
        }
        self.phrases.extend(more.phrases);
    }
}

/// Why a user's knowledge cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KnowledgeError {
    /// A phrase says nothing.
    #[error("phrase {number} of `phrases`: {problem}")]
    Phrase {
        /// Its number in the list, from 1.
        number: usize,
        /// What is wrong.
        problem: &'static str,
    },
}

static PROGRAMS: LazyLock<Programs> = LazyLock::new(|| {
    // tests hold that both files can be read
    let file: Option<ProgramsFile> = decode(include_str!("programs.yaml")).ok();
    file.map(Programs::from).unwrap_or_default()
});

static PHRASES: LazyLock<Phrases> =
    LazyLock::new(|| decode(include_str!("phrases.yaml")).unwrap_or_default());

static AUTHORING: LazyLock<authoring::AuthoringWords> =
    LazyLock::new(|| decode(include_str!("authoring.yaml")).unwrap_or_default());

impl Knowledge {
    /// The words from which `lint` concludes what a step is for.
    pub(crate) fn authoring(&self) -> &authoring::AuthoringWords {
        &AUTHORING
    }

    /// Whether the name of a step says that it checks.
    pub(crate) fn names_a_check(&self, name: &str) -> bool {
        self.programs().names_a_check(name, &self.authoring().checks)
    }

    /// Whether a user added nothing.
    pub fn is_built_in(&self) -> bool {
        self.programs.is_none() && self.phrases.is_none()
    }

    /// What the runner believes without a user's additions. Nothing is parsed yet.
    pub fn built_in() -> Knowledge {
        Knowledge::default()
    }

    /// The built-in knowledge and what a user adds.
    pub fn extended(user: &UserKnowledge) -> Result<Knowledge, KnowledgeError> {
        user.check()?;
        let programs = (!user.programs.is_empty()).then(|| {
            let mut programs = PROGRAMS.clone();
            programs.extend(&user.programs);
            Arc::new(programs)
        });
        let phrases = (!user.phrases.is_empty()).then(|| {
            let mut phrases = PHRASES.clone();
            phrases.causes.splice(..0, user.phrases.iter().cloned());
            Arc::new(phrases)
        });
        Ok(Knowledge { programs, phrases })
    }

    /// The words from which something is concluded.
    pub fn phrases(&self) -> &Phrases {
        self.phrases.as_deref().unwrap_or(&PHRASES)
    }

    fn programs(&self) -> &Programs {
        self.programs.as_deref().unwrap_or(&PROGRAMS)
    }

    /// What is believed about a program; it may be named by a path.
    pub fn program(&self, name: &str) -> Option<&Program> {
        self.programs().get(name)
    }

    /// What a command line means: the effect and the verdict of the program that does the work.
    pub fn use_of<'a>(&self, words: &[&'a str]) -> Use<'a> {
        self.programs().use_of(words)
    }

    /// Whether bash knows the word without a program: a builtin or a keyword.
    pub fn is_bash_word(&self, word: &str) -> bool {
        self.programs().bash_words.iter().any(|known| known == word)
    }

    /// Whether this is a shell; it may be named by a path.
    pub fn is_shell(&self, name: &str) -> bool {
        self.has_habit(name, Habit::Shell)
    }

    /// Whether a program only starts another one: `timeout`, `nohup`.
    pub fn is_wrapper(&self, name: &str) -> bool {
        self.program(name).is_some_and(Program::is_wrapper)
    }

    /// Whether an exit code of some program has a meaning.
    pub fn names_exit_code(&self, code: i32) -> bool {
        self.programs().names_exit_code(code)
    }

    /// Whether a program has a habit.
    pub fn has_habit(&self, name: &str, habit: Habit) -> bool {
        self.program(name).is_some_and(|program| program.is(habit))
    }
}

/// The last part of a path.
pub(crate) fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}
