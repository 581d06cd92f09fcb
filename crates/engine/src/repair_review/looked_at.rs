//! The files and values that checks and `ensure` rules look at: a new step that touches one of them could make a check
//! pass without the work.
//!
//! Only words that a script names are known. A script with a word that is computed may name anything.

use recipe::{
    graph::{names_file, patterns_meet},
    plan::{EnsureRule, Plan, Step, StepKind},
    shell::syntax::{self, CommandKind, CommandList, RedirectKind, ShellCommand},
    template::Template,
};

use super::roles::role;
use crate::knowledge::{Habit, Knowledge};

/// Everything that the checks of a plan look at.
#[derive(Debug, Default)]
pub(super) struct LookedAt {
    knowledge: Knowledge,
    /// Words of the checks' commands.
    words: Vec<String>,
    /// Patterns of files.
    patterns: Vec<String>,
    /// Whether a check looks at something that only the run knows.
    is_open: bool,
}

impl LookedAt {
    /// What the checks of a plan look at, in all its recipes. `failed` is the path of the step that failed.
    pub(super) fn of(knowledge: &Knowledge, plan: &Plan, failed: &str) -> LookedAt {
        let mut found = LookedAt { knowledge: knowledge.clone(), ..LookedAt::default() };
        for unit in &plan.units {
            for (at, step) in unit.steps.iter().enumerate() {
                let verifies = role(knowledge, plan, unit, at, failed).verifies;
                found.add_step(step, verifies, &|name| {
                    let value = unit.context.get(name).map(|value| value.render().into_owned());
                    value.filter(|value| is_name(value))
                });
            }
        }
        found
    }

    fn add_step(&mut self, step: &Step, verifies: bool, default: &dyn Fn(&str) -> Option<String>) {
        if let StepKind::Shell { command } = &step.kind
            && verifies
        {
            self.words.extend(operands(command.text()));
            self.add_values(command, default);
        }
        for rule in &step.ensure {
            match rule {
                EnsureRule::Command(command) => {
                    self.words.extend(operands(command.text()));
                    self.add_values(command, default);
                }
                EnsureRule::File(file) => self.add_pattern(file, default),
                rule => rule.patterns().iter().for_each(|pattern| self.add_pattern(pattern, default)),
            }
        }
    }

    fn add_pattern(&mut self, pattern: &Template, default: &dyn Fn(&str) -> Option<String>) {
        match pattern.names().is_empty() {
            true => self.patterns.push(plain(pattern.text()).to_owned()),
            false => self.add_values(pattern, default),
        }
    }

    /// Values that a check is given may name files too.
    fn add_values(&mut self, template: &Template, default: &dyn Fn(&str) -> Option<String>) {
        for (path, _) in template.names() {
            match default(&path.root) {
                Some(value) => self.words.push(value),
                None => self.is_open = true,
            }
        }
    }

    /// Whether a new script names something of it, or may do so.
    pub(super) fn may_be_touched_by(&self, script: &str, list: &CommandList) -> bool {
        let is_empty = self.words.is_empty() && self.patterns.is_empty() && !self.is_open;
        if is_empty || only_prints(&self.knowledge, list) {
            return false;
        }
        let names_word =
            || self.words.iter().any(|word| script.contains(word) || script.contains(last_part(word)));
        self.is_open
            || has_computed_words(&self.knowledge, list)
            || names_word()
            || self.names_file(script, list)
    }

    /// Whether a word of a script is the path of a file that a pattern names, or of a directory around such a file.
    fn names_file(&self, script: &str, list: &CommandList) -> bool {
        let mut words: Vec<String> = parts(script).map(|part| plain(part).to_owned()).collect();
        let mut dirs: Vec<String> = Vec::new();
        list.visit(&mut |command| {
            let named = command.words().into_iter().map(|word| plain(&word.text()).to_owned());
            let named: Vec<String> = named.filter(|word| is_name(word)).collect();
            // a directory alone is not a file
            if named.first().is_none_or(|program| program != "mkdir") {
                dirs.extend(named.iter().cloned());
            }
            words.extend(named);
        });
        let is_around = |file: &str| !file.is_empty() && dirs.iter().any(|dir| names_file(dir, file));
        let meets = |pattern: &str, word: &str| {
            // the script may change its directory first
            names_file(pattern, word) || patterns_meet(last_part(pattern), last_part(word))
        };
        let is_named = |pattern: &String| {
            is_around(fixed_part(pattern)) || words.iter().any(|word| is_name(word) && meets(pattern, word))
        };
        self.patterns.iter().any(is_named) || self.words.iter().any(|word| is_around(word))
    }
}

/// Whether a word can be the name of something.
fn is_name(word: &str) -> bool {
    word.chars().filter(|c| c.is_alphanumeric()).count() > 1
}

fn plain(path: &str) -> &str {
    path.strip_prefix("./").unwrap_or(path).trim_end_matches('/')
}

/// The name at the end of a path, if it says enough; else the path.
fn last_part(path: &str) -> &str {
    path.rsplit('/').next().filter(|name| is_name(name)).unwrap_or(path)
}

/// The directories of a pattern before its first wildcard.
fn fixed_part(pattern: &str) -> &str {
    match pattern.find(['*', '?']) {
        Some(at) => pattern[..at].rfind('/').map_or("", |end| &pattern[..end]),
        None => pattern,
    }
}

/// Parts of a text that could be paths, also inside quotes and code.
fn parts(script: &str) -> impl Iterator<Item = &str> {
    script.split(|c: char| !(c.is_alphanumeric() || "_./-".contains(c)))
}

/// Words of a script that could name a file: operands, and everything that looks like a path.
fn operands(script: &str) -> Vec<String> {
    let list = syntax::parse(script);
    let commands = list.iter().flat_map(|list| list.simple_commands());
    let words = commands.flat_map(|words| words.iter().skip(1)).map(syntax::ShellWord::text);
    let paths = parts(script).filter(|part| part.contains(['.', '/'])).map(plain);
    let all = words.filter(|text| !text.starts_with('-')).chain(paths.map(str::to_owned));
    all.filter(|text| is_name(text)).collect()
}

/// Whether a script only prints text.
fn only_prints(knowledge: &Knowledge, list: &CommandList) -> bool {
    let mut prints = true;
    list.visit(&mut |command| prints &= is_print(knowledge, command));
    prints
}

fn is_print(knowledge: &Knowledge, command: &ShellCommand) -> bool {
    let writes = |kind: RedirectKind, target: &str| kind == RedirectKind::Write && target != "/dev/null";
    let name = match &command.kind {
        CommandKind::Simple { words, .. } => words.first().map(syntax::ShellWord::text),
        _ => None,
    };
    !command.redirects.iter().any(|redirect| writes(redirect.kind, &redirect.target.text()))
        && name.is_some_and(|name| knowledge.has_habit(&name, Habit::Constant))
}

/// Whether a script has a word that is known only when it runs.
fn has_computed_words(knowledge: &Knowledge, list: &CommandList) -> bool {
    let mut is_computed = false;
    list.visit(&mut |command| {
        let text = |word: &syntax::ShellWord| word.text();
        let is_plain =
            |word: &&syntax::ShellWord| word.is_literal() && !text(word).contains(['{', '*', '?', '[', '~']);
        let tests = |word: &&syntax::ShellWord| matches!(text(word).as_str(), "[" | "[[");
        is_computed |= !is_print(knowledge, command)
            && command.words().iter().any(|word| !is_plain(word) && !tests(word));
    });
    is_computed
}
