//! All programs, and what a command line means: which program does the work, and with what effect or verdict.
//!
//! Only words count: files are never looked at, and shell code is not parsed.

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;

use super::{
    CheckKind, base_name,
    names::Names,
    pattern::{Arguments, NameMeaning, Pattern, Uses},
    program::{Habit, Program, Script},
};

/// What is believed about programs that have no entry, or say nothing about it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct AnyProgram {
    dry_run: Vec<Pattern>,
    not_dry_run: Vec<Pattern>,
    for_real: Vec<Pattern>,
    effects: Uses,
}

/// Everything in `programs.yaml`, by the name of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Programs {
    by_name: HashMap<String, Program>,
    any_program: AnyProgram,
    names: Names,
    pub(super) bash_words: Vec<String>,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProgramsFile {
    any_program: AnyProgram,
    names: Names,
    bash_words: Vec<String>,
    pub(super) programs: BTreeMap<String, Program>,
}

impl From<ProgramsFile> for Programs {
    fn from(file: ProgramsFile) -> Programs {
        let ProgramsFile { any_program, names, bash_words, programs } = file;
        let mut all = Programs { by_name: HashMap::new(), any_program, names, bash_words };
        all.extend(&programs);
        all
    }
}

/// What a command line means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use<'a> {
    /// The name of the program that does the work, without wrappers and without its directory.
    pub program: &'a str,
    /// That program and its arguments.
    pub words: Vec<&'a str>,
    /// What it changes outside: `git push`.
    pub effect: Option<String>,
    /// How it checks, if its exit code is a verdict.
    pub check: Option<CheckKind>,
    /// The option that makes it a dry run.
    pub dry_run: Option<&'a str>,
    /// Options without which it would only try.
    pub for_real: Vec<&'a str>,
    /// Code that it is given: `bash -c …`.
    pub code: Option<&'a str>,
}

/// The most wrappers around a program.
const DEEPEST: usize = 16;

impl Programs {
    /// Adds entries; a key may name several programs.
    pub(super) fn extend(&mut self, entries: &BTreeMap<String, Program>) {
        for (key, entry) in entries {
            for name in key.split_whitespace() {
                self.by_name.entry(name.to_owned()).or_default().extend(entry);
            }
        }
    }

    /// What is believed about the program of this name, a path or a package with a version.
    pub(super) fn get(&self, name: &str) -> Option<&Program> {
        self.by_name.get(plain_name(name))
    }

    /// Whether a name says that a step checks; `more` are words for that.
    pub(super) fn names_a_check(&self, name: &str, more: &[String]) -> bool {
        self.names.is_check(name, more)
    }

    /// Whether an exit code of some program has a meaning.
    pub(super) fn names_exit_code(&self, code: i32) -> bool {
        self.by_name.values().any(|program| program.exits.contains_key(&code))
    }

    /// What a command line means.
    pub(super) fn use_of<'a>(&self, words: &[&'a str]) -> Use<'a> {
        let mut words = words;
        let mut interpreter = None;
        for _ in 0..DEEPEST {
            let Some((first, rest)) = words.split_first() else { break };
            let program = self.get(first);
            let valued = program.map(|program| program.valued.as_slice()).unwrap_or_default();
            let arguments = Arguments::new(rest, valued);
            let mut found = self.judge(first, program, &arguments);
            if interpreter.is_some() {
                // a script may have the name of a command of the shell
                found.check = found.check.filter(|kind| *kind != CheckKind::Compare);
            }
            let is_own = found.effect.is_some() || found.check.is_some();
            if let Some(program) = program.filter(|_| !is_own) {
                if let Some(at) = program.inner(&arguments, &self.names).filter(|at| *at < rest.len()) {
                    words = &rest[at..];
                    continue;
                }
                match program.script(&arguments, &self.names) {
                    Some(Script::Code(at)) => {
                        return Use { code: rest.get(at).copied(), ..found };
                    }
                    Some(Script::File(at)) => {
                        interpreter = Some(program);
                        words = &rest[at..];
                        continue;
                    }
                    None => {}
                }
            }
            if is_own {
                return found;
            }
            return self.by_name_of_script(found, &arguments, interpreter);
        }
        Use::unknown(words)
    }

    /// What the program itself is believed to do with these arguments.
    fn judge<'a>(&self, first: &'a str, program: Option<&Program>, arguments: &Arguments<'_, 'a>) -> Use<'a> {
        let words: Vec<&'a str> = [first].into_iter().chain(arguments.words.iter().copied()).collect();
        let mut found = Use::unknown(&words);
        let own = |program: &Program| (program.dry_run.clone(), program.for_real.clone());
        let (dry_run, for_real) = program.map(own).unwrap_or_default();
        let any = &self.any_program;
        let option = |patterns: &[Pattern]| -> Vec<&'a str> {
            patterns.iter().filter_map(|pattern| pattern.option_in(arguments.words)).collect()
        };
        let real = option(&any.not_dry_run);
        let mut tries = option(&dry_run).into_iter().chain(option(&any.dry_run));
        found.dry_run = tries.find(|word| !real.contains(word));
        found.for_real = option(&for_real).into_iter().chain(option(&any.for_real)).collect();
        let Some(program) = program else { return found };
        let from = program.script_operand(arguments, &self.names);
        let effect = program.effects.find(arguments, from, &self.names);
        let name = plain_name(first);
        found.effect = effect.map(|what| format!("{name} {what}").trim_end().to_owned());
        if found.effect.is_none() {
            found.check = program.check(arguments, from, &self.names);
        }
        found
    }

    /// What the name of a script or of a sub-command says, where nothing is known about the program.
    fn by_name_of_script<'a>(
        &self,
        mut found: Use<'a>,
        arguments: &Arguments<'_, 'a>,
        interpreter: Option<&Program>,
    ) -> Use<'a> {
        let Some(first) = found.words.first().copied() else { return found };
        let program = self.get(first);
        let has_effects = program.is_some_and(|program| program.effects != Uses::Never);
        let quiet = [Habit::Local, Habit::Harmless, Habit::Filter];
        let is_quiet = program.is_some_and(|program| {
            quiet.iter().any(|habit| program.is(*habit)) || program.code.is_some() || program.runs.is_some()
        });
        if !has_effects && self.names.says(first, NameMeaning::Effect) {
            found.effect = Some(found.program.to_owned());
        } else if !has_effects && !is_quiet {
            let effect = self.any_program.effects.find(arguments, 0, &self.names);
            found.effect = effect.map(|what| format!("{} {what}", found.program));
        }
        let is_sourced = interpreter.is_some_and(|program| program.is(Habit::Local));
        if found.effect.is_none() && !is_sourced && program.is_none() {
            found.check = self.names.script_check(first);
        }
        found
    }
}

impl<'a> Use<'a> {
    fn unknown(words: &[&'a str]) -> Use<'a> {
        Use {
            program: words.first().copied().map(base_name).unwrap_or_default(),
            words: words.to_vec(),
            effect: None,
            check: None,
            dry_run: None,
            for_real: Vec::new(),
            code: None,
        }
    }
}

/// The name of a program without its directory and without the version of a package: `gh-pages@6`.
fn plain_name(word: &str) -> &str {
    let name = base_name(word);
    name.split('@').next().filter(|plain| !plain.is_empty()).unwrap_or(name)
}
