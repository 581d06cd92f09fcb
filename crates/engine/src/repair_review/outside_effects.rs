//! Commands of a script that change the world outside: which ones, and whether they are always reached.

use recipe::shell::syntax::{
    self, CommandKind, CommandList, Joint, ListEntry, Pipeline, ShellCommand, ShellWord,
};

use super::ReviewRule;
use crate::knowledge::Knowledge;

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
    let mut search = EffectSearch { knowledge, found: Vec::new() };
    search.list(list, Reach::Always, 0);
    search.found
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

struct EffectSearch<'a> {
    knowledge: &'a Knowledge,
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
        for (joint, pipeline) in &entry.rest {
            // after `&&` it waits for work; after `||` it waits for a failure
            let reach = match joint {
                Joint::And => reach,
                Joint::Or => weaker(reach),
            };
            self.pipeline(pipeline, reach, depth);
        }
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
        if found.effect.is_some() {
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
