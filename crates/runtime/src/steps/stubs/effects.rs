//! Steps whose command changes the world outside, and the programs that such a command starts. Reads commands; runs
//! nothing.

use std::collections::BTreeSet;

use engine::{
    knowledge::{Habit, Knowledge},
    repair_review::has_effect,
};
use recipe::{
    plan::Step,
    shell::syntax::{self, CommandKind, CommandList, ShellWord},
};

/// The deepest code inside words: `bash -c "bash -c …"`.
const DEEPEST: usize = 4;

/// Why a step has an effect, if it has one.
pub(super) fn reason(knowledge: &Knowledge, step: &Step, command: &str) -> Option<String> {
    match () {
        () if !step.effects.is_empty() => Some(format!("`effects: [{}]`", step.effects.join(", "))),
        () if !step.idempotent => Some("`idempotent: false`".to_owned()),
        () => of_command(knowledge, command),
    }
}

/// Why a command has an effect, if it has one.
pub(super) fn of_command(knowledge: &Knowledge, command: &str) -> Option<String> {
    has_effect(knowledge, command).then(|| "its command changes something outside".to_owned())
}

/// What `programs` lacks for a command with an effect, in words; `None` if every outside program is replaced.
pub(super) fn unreplaced(knowledge: &Knowledge, command: &str, replaced: &[String]) -> Option<String> {
    let mut search = Programs { knowledge, found: BTreeSet::new(), is_clear: true };
    search.code(command, 0);
    if !search.is_clear {
        return Some("every program, and this command does not show which ones it starts".to_owned());
    }
    let missing: Vec<String> = search
        .found
        .iter()
        .filter(|program| !replaced.contains(program))
        .map(|program| format!("`{program}`"))
        .collect();
    (!missing.is_empty()).then(|| missing.join(", "))
}

struct Programs<'a> {
    knowledge: &'a Knowledge,
    found: BTreeSet<String>,
    /// Whether the names of all programs are known.
    is_clear: bool,
}

impl Programs<'_> {
    fn code(&mut self, code: &str, depth: usize) {
        match syntax::parse(code).filter(|_| depth < DEEPEST) {
            Some(list) => self.list(&list, depth),
            None => self.is_clear = false,
        }
    }

    fn list(&mut self, list: &CommandList, depth: usize) {
        let mut functions = BTreeSet::new();
        list.visit(&mut |command| {
            if let CommandKind::Function { name, .. } = &command.kind {
                functions.insert(name.clone());
            }
        });
        for words in list.simple_commands() {
            self.simple(words, &functions, depth);
        }
    }

    fn simple(&mut self, words: &[ShellWord], functions: &BTreeSet<String>, depth: usize) {
        let Some(first) = words.first() else { return };
        if !first.is_literal() {
            self.is_clear = false;
            return;
        }
        let texts: Vec<String> = words.iter().map(ShellWord::text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        if texts[0] == "eval" || texts[0] == "source" || texts[0] == "." {
            self.is_clear = false;
        }
        let used = self.knowledge.use_of(&texts);
        if let Some(code) = used.code {
            return self.code(code, depth + 1);
        }
        // the first word may be a wrapper; the program that does the work is one of the others
        let program = used.words.first().copied().unwrap_or(texts[0]);
        let is_here = |name: &str| {
            functions.contains(name)
                || self.knowledge.is_bash_word(name)
                || [Habit::Local, Habit::Filter, Habit::Harmless, Habit::Constant]
                    .iter()
                    .any(|habit| self.knowledge.has_habit(name, *habit))
        };
        for name in [texts[0], program] {
            let is_wrapper = name != program && self.knowledge.is_wrapper(name);
            if !is_here(name) && !is_wrapper {
                self.found.insert(name.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(command: &str, replaced: &[&str]) -> Option<String> {
        let replaced: Vec<String> = replaced.iter().map(|name| (*name).to_owned()).collect();
        unreplaced(&Knowledge::built_in(), command, &replaced)
    }

    #[test]
    fn every_outside_program_has_to_be_replaced() {
        assert_eq!(missing("git push", &["git"]), None);
        assert_eq!(missing("git push", &["gh"]).as_deref(), Some("`git`"));
        assert_eq!(missing("echo hi; cd x && git push && gh pr create", &["git"]).as_deref(), Some("`gh`"));
        assert_eq!(missing("timeout 5 gh pr create", &["gh"]), None);
        assert_eq!(missing("bash -c 'gh pr create'", &[]).as_deref(), Some("`gh`"));
        assert_eq!(missing("f() { gh pr create; }; f", &["gh"]), None);
        assert_eq!(missing("x=$(gh pr create) && echo \"$x\"", &[]).as_deref(), Some("`gh`"));
        assert_eq!(missing("./deploy.sh", &["deploy.sh"]).as_deref(), Some("`./deploy.sh`"));
        for unclear in ["$tool push", "eval \"$x\"", "if then"] {
            assert!(
                missing(unclear, &["git"]).is_some_and(|words| words.contains("every program")),
                "{unclear}"
            );
        }
    }
}
