//! What is believed about one program: an entry of `programs.yaml`.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    CheckKind,
    names::Names,
    pattern::{Arguments, Pattern, Uses},
};
use crate::failure::Class;

/// What is believed about one program: an entry of `programs.yaml`, where the fields are explained.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Program {
    /// Uses that change something outside.
    pub effects: Uses,
    /// Options that make an effect harmless.
    pub dry_run: Vec<Pattern>,
    /// Options without which the program only tries.
    pub for_real: Vec<Pattern>,
    /// Uses that run tests.
    pub tests: Uses,
    /// Uses that look for mistakes.
    pub lint: Uses,
    /// Uses that build.
    pub build: Uses,
    /// Uses that compare.
    pub compare: Uses,
    /// How it runs another program.
    pub runs: Option<Wrapping>,
    /// Words between the program and the name of a script or task of the project.
    pub before_script: Vec<Pattern>,
    /// Options that take a value as the next word.
    pub valued: Vec<String>,
    /// Options after which code comes. Only interpreters have this field.
    pub code: Option<Vec<String>>,
    /// Its habits.
    pub is: Vec<Habit>,
    /// Exit codes with a meaning.
    pub exits: BTreeMap<i32, ExitMeaning>,
}

/// How a program runs another one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wrapping {
    /// When it does.
    when: Uses,
    /// How many operands come before the other program.
    skip: usize,
    /// One of these words comes right before the other program.
    after: Vec<String>,
    /// Options with which it runs nothing.
    unless: Vec<Pattern>,
}

impl Default for Wrapping {
    fn default() -> Wrapping {
        Wrapping { when: Uses::Always, skip: 0, after: Vec::new(), unless: Vec::new() }
    }
}

/// A habit of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Habit {
    /// It always succeeds.
    Constant,
    /// Its failure hardly ever matters.
    Harmless,
    /// It passes text on, and says nothing of its own.
    Filter,
    /// It works on files and texts here; its operands name no actions.
    Local,
    /// It prints an error whenever it fails.
    PrintsErrors,
    /// It is a shell.
    Shell,
}

/// The meaning of an exit code.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExitMeaning {
    /// The class of a failure with it.
    pub class: Class,
    /// What it means, for users.
    pub what: String,
}

impl Program {
    /// Whether it has a habit.
    pub fn is(&self, habit: Habit) -> bool {
        self.is.contains(&habit)
    }

    /// Whether it always starts another program.
    pub fn is_wrapper(&self) -> bool {
        self.runs.as_ref().is_some_and(|runs| runs.when == Uses::Always)
    }

    /// Adds what another entry says.
    pub(super) fn extend(&mut self, more: &Program) {
        let Program { dry_run, for_real, runs, before_script, valued, code, is, exits, .. } = more;
        for (own, more) in [
            (&mut self.effects, &more.effects),
            (&mut self.tests, &more.tests),
            (&mut self.lint, &more.lint),
            (&mut self.build, &more.build),
            (&mut self.compare, &more.compare),
        ] {
            own.extend(more);
        }
        self.dry_run.extend(dry_run.iter().cloned());
        self.for_real.extend(for_real.iter().cloned());
        self.before_script.extend(before_script.iter().cloned());
        self.valued.extend(valued.iter().cloned());
        self.is.extend(is);
        self.exits.extend(exits.iter().map(|(code, meaning)| (*code, meaning.clone())));
        self.runs = runs.clone().or(self.runs.take());
        self.code = code.clone().or(self.code.take());
    }

    /// How it checks, from this operand on.
    pub(super) fn check(
        &self,
        arguments: &Arguments<'_, '_>,
        from: usize,
        names: &Names,
    ) -> Option<CheckKind> {
        let kinds = [
            (&self.tests, CheckKind::Tests),
            (&self.lint, CheckKind::Lint),
            (&self.build, CheckKind::Build),
            (&self.compare, CheckKind::Compare),
        ];
        let found = |uses: &Uses, from| uses.find(arguments, from, names).is_some();
        kinds.into_iter().find(|(uses, _)| found(uses, from) || found(uses, 0)).map(|(_, kind)| kind)
    }

    /// The operand with which the name of a script begins: after `run`.
    pub(super) fn script_operand(&self, arguments: &Arguments<'_, '_>, names: &Names) -> usize {
        let mut from = 0;
        while let Some(found) =
            self.before_script.iter().find_map(|words| words.matches(arguments, from, names))
        {
            from += found.taken.max(1);
        }
        from
    }

    /// The place of the program that it runs.
    pub(super) fn inner(&self, arguments: &Arguments<'_, '_>, names: &Names) -> Option<usize> {
        let runs = self.runs.as_ref()?;
        let first = arguments.operands.first().copied().unwrap_or(arguments.words.len());
        if runs.unless.iter().any(|option| option.option_in(&arguments.words[..first]).is_some()) {
            return None;
        }
        let (taken, option) = match &runs.when {
            Uses::Never => return None,
            Uses::Always => (0, None),
            Uses::Patterns(patterns) => {
                let found = patterns.iter().find_map(|pattern| pattern.matches(arguments, 0, names))?;
                (found.taken, found.first_option)
            }
        };
        if !runs.after.is_empty() {
            let at = arguments.words.iter().position(|word| runs.after.iter().any(|known| known == word))?;
            return Some(at + 1);
        }
        // `env NAME=value program`
        let is_assignment = |at: &usize| {
            let (name, value) = arguments.words[*at].split_once('=').unwrap_or_default();
            !name.is_empty() && !name.contains('/') && !value.is_empty()
        };
        let mut rest = arguments.operands.iter().skip(taken + runs.skip).skip_while(|at| is_assignment(at));
        rest.next().copied().filter(|at| option.is_none_or(|option| option < *at))
    }

    /// Code that an interpreter gets as an argument, or the place of its script.
    pub(super) fn script(&self, arguments: &Arguments<'_, '_>, names: &Names) -> Option<Script> {
        let options = self.code.as_ref()?;
        let is_code = |word: &&str| {
            options.iter().any(|option| {
                let letter = option.strip_prefix('-').filter(|rest| rest.len() == 1);
                let is_cluster = !word.starts_with("--") && word.starts_with('-') && word.len() < 6;
                word == option || letter.is_some_and(|letter| is_cluster && word.ends_with(letter))
            })
        };
        let first = arguments.operands.first().copied();
        let leading = &arguments.words[..first.unwrap_or(arguments.words.len())];
        if let Some(at) = leading.iter().position(is_code) {
            return Some(Script::Code(at + 1));
        }
        let is_file = |at: &&usize| {
            let word = arguments.words[**at];
            names.is_script(word) || word.contains('/')
        };
        arguments.operands.iter().find(is_file).copied().or(first).map(Script::File)
    }
}

/// What an interpreter runs.
pub(super) enum Script {
    /// The word at this place.
    Code(usize),
    /// The file that the word at this place names.
    File(usize),
}
