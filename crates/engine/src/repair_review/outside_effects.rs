//! Commands of a script that change the world outside: which ones, and whether they are always reached.

use recipe::shell::syntax::{
    self, CommandKind, CommandList, Joint, ListEntry, Pipeline, ShellCommand, ShellWord,
};

use super::ReviewRule;
use crate::knowledge::{CheckKind, Knowledge};

/// Whether a command is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// Unless an earlier command ends the script.
    Always,
    /// Only if something else holds.
    Sometimes,
    /// In a function, or in code that is a word.
    Unclear,
    /// After the end of the script.
    Never,
}

/// A command that changes the world outside.
#[derive(Clone, Debug)]
pub(super) struct OutsideEffect {
    program: String,
    reach: Reach,
    is_rehearsal: bool,
}

/// Whether a script changes the world outside.
pub fn has_effect(knowledge: &Knowledge, script: &str) -> bool {
    match syntax::parse(script) {
        Some(list) => !find(knowledge, &list).is_empty(),
        // each of its parts may be a command
        None => script.split([';', '&', '|', '(', ')', '{', '}', '`', '\n']).any(|part| {
            let words: Vec<&str> = part.split_whitespace().collect();
            knowledge.use_of(&words).effect.is_some()
        }),
    }
}

/// The outside effects of a script, in order.
pub(super) fn find(knowledge: &Knowledge, list: &CommandList) -> Vec<OutsideEffect> {
    search(knowledge, list, Searched::Known)
}

fn search(knowledge: &Knowledge, list: &CommandList, searched: Searched) -> Vec<OutsideEffect> {
    let mut search = EffectSearch { knowledge, searched, found: Vec::new() };
    search.list(list, Reach::Always, 0);
    search.found
}

/// Whether a command that was always reached may now be skipped. For steps that declare an effect: each of their
/// commands may be the one that has it.
pub(super) fn is_conditional_now(knowledge: &Knowledge, before: &CommandList, after: &CommandList) -> bool {
    let (old, new) = (search(knowledge, before, Searched::Every), search(knowledge, after, Searched::Every));
    let is_less_certain = |effect: &OutsideEffect| {
        let mut same = new.iter().filter(|other| other.program == effect.program).peekable();
        same.peek().is_some() && same.all(|other| matches!(other.reach, Reach::Sometimes | Reach::Never))
    };
    old.iter().filter(|effect| effect.reach == Reach::Always).any(is_less_certain)
}

/// The rule by which effects are lost, if any is.
pub(super) fn lost(knowledge: &Knowledge, before: &CommandList, after: &CommandList) -> Option<ReviewRule> {
    let (old, new) = (find(knowledge, before), find(knowledge, after));
    // one program may act in several ways: `npm run deploy` and `npm run deploy:prod`
    let of = |effects: &[OutsideEffect], program: &str, is_certain: bool| {
        let counts = |effect: &&OutsideEffect| {
            effect.program == program
                && !effect.is_rehearsal
                && effect.reach != Reach::Never
                && !(is_certain && effect.reach == Reach::Sometimes)
        };
        effects.iter().filter(counts).count()
    };
    let is_less = |is_certain| {
        let program = |effect: &OutsideEffect| {
            of(&new, &effect.program, is_certain) < of(&old, &effect.program, is_certain)
        };
        old.iter().any(program)
    };
    match () {
        () if is_less(false) => Some(ReviewRule::EffectLost),
        () if is_less(true) => Some(ReviewRule::EffectConditional),
        () => None,
    }
}

/// Which commands count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Searched {
    /// Known effects, by the name of their program.
    Known,
    /// Every command, by all its words.
    Every,
}

struct EffectSearch<'a> {
    knowledge: &'a Knowledge,
    searched: Searched,
    found: Vec<OutsideEffect>,
}

/// The deepest code inside words: `bash -c "bash -c …"`.
const DEEPEST: usize = 4;

impl EffectSearch<'_> {
    fn list(&mut self, list: &CommandList, reach: Reach, depth: usize) {
        let mut reach = reach;
        for entry in &list.entries {
            self.entry(entry, reach, depth);
            if ends(entry) && reach == Reach::Always {
                reach = Reach::Never;
            }
        }
    }

    fn entry(&mut self, entry: &ListEntry, reach: Reach, depth: usize) {
        self.pipeline(&entry.first, reach, depth);
        let mut reach = reach;
        let mut previous = &entry.first;
        for (joint, pipeline) in &entry.rest {
            // after `&&` it waits for work or for a condition; after `||` it waits for a failure
            let here = match joint {
                Joint::And if self.is_condition(previous) => {
                    reach = weaker(reach);
                    reach
                }
                Joint::And => reach,
                Joint::Or => weaker(reach),
            };
            self.pipeline(pipeline, here, depth);
            previous = pipeline;
        }
    }

    /// Whether a pipeline only asks something: `test -f x`, `! …`.
    fn is_condition(&self, pipeline: &Pipeline) -> bool {
        let asks = |command: &ShellCommand| match &command.kind {
            CommandKind::Simple { words, .. } => {
                let texts: Vec<String> = words.iter().map(ShellWord::text).collect();
                let words: Vec<&str> = texts.iter().map(String::as_str).collect();
                words.first() == Some(&"((")
                    || self.knowledge.use_of(&words).check == Some(CheckKind::Compare)
            }
            CommandKind::Group(list) | CommandKind::Subshell(list) => {
                list.entries.last().is_some_and(|entry| {
                    self.is_condition(&entry.first)
                        || entry.rest.iter().any(|(_, pipeline)| self.is_condition(pipeline))
                })
            }
            _ => false,
        };
        pipeline.is_negated || pipeline.commands.last().is_some_and(asks)
    }

    fn pipeline(&mut self, pipeline: &Pipeline, reach: Reach, depth: usize) {
        for command in &pipeline.commands {
            self.command(command, reach, depth);
        }
    }

    fn command(&mut self, command: &ShellCommand, reach: Reach, depth: usize) {
        let inner = weaker(reach);
        for word in command.words() {
            for part in &word.parts {
                if let syntax::WordPart::Commands { list, .. } = part {
                    self.list(list, reach, depth);
                }
            }
        }
        match &command.kind {
            CommandKind::Simple { words, .. } => self.simple(words, reach, depth),
            CommandKind::Group(list) | CommandKind::Subshell(list) => self.list(list, reach, depth),
            CommandKind::If { arms, otherwise } => {
                for (at, (condition, body)) in arms.iter().enumerate() {
                    self.list(condition, if at == 0 { reach } else { inner }, depth);
                    self.list(body, inner, depth);
                }
                otherwise.iter().for_each(|body| self.list(body, inner, depth));
            }
            CommandKind::Loop { condition, body, .. } => {
                self.list(condition, reach, depth);
                self.list(body, inner, depth);
            }
            CommandKind::For { body, .. } => self.list(body, inner, depth),
            CommandKind::Case { arms, .. } => arms.iter().for_each(|(_, body)| self.list(body, inner, depth)),
            CommandKind::Function { body, .. } => self.command(body, Reach::Unclear, depth),
        }
    }

    fn simple(&mut self, words: &[ShellWord], reach: Reach, depth: usize) {
        let texts: Vec<String> = words.iter().map(ShellWord::text).collect();
        let words: Vec<&str> = texts.iter().map(String::as_str).collect();
        let found = self.knowledge.use_of(&words);
        let code = found.code.filter(|_| depth < DEEPEST && self.knowledge.is_shell(found.program));
        if let Some(list) = code.and_then(syntax::parse) {
            self.list(&list, reach, depth + 1);
        }
        if self.searched == Searched::Every {
            self.found.push(OutsideEffect { program: words.join(" "), reach, is_rehearsal: false });
        } else if found.effect.is_some() {
            let is_rehearsal = found.dry_run.is_some();
            self.found.push(OutsideEffect { program: found.program.to_owned(), reach, is_rehearsal });
        }
    }
}

fn weaker(reach: Reach) -> Reach {
    if reach == Reach::Always { Reach::Sometimes } else { reach }
}

/// Whether an entry always ends the script: `exit`, `exec program`.
fn ends(entry: &ListEntry) -> bool {
    let [command] = entry.first.commands.as_slice() else { return false };
    let CommandKind::Simple { words, .. } = &command.kind else { return false };
    let is_end = match words.first().map(ShellWord::text).as_deref() {
        Some("exit") => true,
        Some("exec") => words.len() > 1,
        _ => false,
    };
    entry.rest.is_empty() && !entry.in_background && is_end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_cannot_be_parsed_may_have_effects() {
        for (script, expected) in [
            ("[[ 1 = 1 ]] > /dev/null; git push origin main", true),
            ("select x in a b; do git push; done", true),
            ("cat <<E\nhi", false),
            ("[[ 1 = 1 ]] > /dev/null; git status", false),
        ] {
            assert_eq!(has_effect(&Knowledge::built_in(), script), expected, "{script}");
        }
    }
}
