//! Which command the failure of a script belongs to: trials on paper show which single failure ends the script so.
//!
//! Never runs anything. The output only serves as evidence against a silent command, or for a test runner's verdict.

use std::collections::HashSet;

use recipe::shell::syntax;

use super::trial_run::{Place, Reached, Trial, try_script};
use crate::{
    knowledge::{CheckKind, Habit, Knowledge},
    repair_review::has_effect,
};

/// How a script ended, as far as that distinguishes its commands.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScriptEnd<'a> {
    /// The exit code, if there is one.
    pub code: Option<i32>,
    /// Its standard error.
    pub stderr: &'a str,
    /// Its standard output.
    pub stdout: &'a str,
    /// Whether a test runner or a linter gave its verdict.
    pub has_verdict: bool,
    /// Whether the step declares that it changes the world outside.
    pub has_effects: bool,
}

/// The command that a failure belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FailingCommand {
    /// A check: no later command can have failed instead.
    Check(String),
    /// A check that is followed by harmless commands, or by commands that would have printed an error, or whose verdict
    /// was printed.
    LikelyCheck(String),
    /// A command that changes the world outside may have failed.
    Effect(String),
    /// Some other command, or an unknown one.
    Other,
}

/// The commands between a check and the end of its script.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Between {
    Nothing,
    /// Commands that hardly ever fail, and printed no error.
    Harmless,
    /// Commands that print an error when they fail, and printed none.
    Silent,
    /// Commands that can fail.
    Work,
}

/// The most commands of a script that is tried.
const MOST_COMMANDS: usize = 200;
/// The deepest code inside words: `bash -c "bash -c …"`.
const DEEPEST: usize = 3;

/// Finds the command that a failure belongs to.
pub(super) fn failing_command(knowledge: &Knowledge, script: &str, ended: &ScriptEnd<'_>) -> FailingCommand {
    Search { knowledge, ended, is_heard: is_heard(script) }.script(script, 0)
}

/// The commands whose single failure explains the exit code, in order of execution.
pub(super) fn deciders(script: &str, code: Option<i32>) -> Vec<Vec<String>> {
    let list = syntax::parse(script);
    let found = list.map(|list| tried(&list, code)).unwrap_or_default();
    found.into_iter().map(|reached| reached.words).collect()
}

/// Tries every command of a script: which single failure, or which single success, explains the exit code?
fn tried(list: &syntax::CommandList, code: Option<i32>) -> Vec<Reached> {
    let failed = code.filter(|code| *code != 0).unwrap_or(1);
    let run = |failing: &HashSet<Place>| try_script(list, failing, failed);
    let explains = |trial: &Trial| match code {
        Some(code) => trial.code == code,
        None => trial.code != 0,
    };
    let mut base = HashSet::new();
    let mut usual = run(&base);
    if usual.reached.len() > MOST_COMMANDS {
        return Vec::new();
    }
    if explains(&usual) {
        // a success ended it: `if grep -q BAD log; then exit 1; fi`
        if !usual.by_exit && ends_with_false(list) {
            return Vec::new();
        }
        let mut single = usual.reached.iter().map(|reached| HashSet::from([reached.place]));
        let Some(failing) = single.find(|failing| !explains(&run(failing))) else { return Vec::new() };
        usual = run(&failing);
        base = failing;
    }
    let decides = |reached: &&Reached| {
        let mut failing = base.clone();
        if !failing.remove(&reached.place) {
            failing.insert(reached.place);
        }
        explains(&run(&failing))
    };
    usual.reached.iter().filter(decides).cloned().collect()
}

/// Tries alternatives: commands that are reached only because the ones before them failed.
fn tried_together(list: &syntax::CommandList, code: Option<i32>) -> Vec<Reached> {
    let failed = code.filter(|code| *code != 0).unwrap_or(1);
    let usual = try_script(list, &HashSet::new(), failed);
    if usual.reached.len() > MOST_COMMANDS || usual.code != 0 {
        return Vec::new();
    }
    for first in &usual.reached {
        let mut failing = HashSet::from([first.place]);
        let mut found = vec![first.clone()];
        while found.len() <= MOST_COMMANDS {
            let trial = try_script(list, &failing, failed);
            if trial.code == failed {
                return found;
            }
            let is_new = |reached: &&Reached| {
                !failing.contains(&reached.place)
                    && !usual.reached.iter().any(|known| known.place == reached.place)
            };
            let Some(next) = trial.reached.iter().find(is_new).cloned() else { break };
            failing.insert(next.place);
            found.push(next);
        }
    }
    Vec::new()
}

/// A script without redirections of `[[ … ]]` to nowhere: the parser does not take them, and they change nothing.
fn without_test_redirects(script: &str) -> String {
    let mut parts = script.split("]]");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept.push_str("]]");
        let mut rest = part;
        while let Some(after) = ["2>&1", ">&2", "1>", "2>", "&>", ">"].iter().find_map(|sign| {
            let after = rest.trim_start_matches(' ').strip_prefix(sign)?;
            if sign.contains(">&") { Some(after) } else { after.trim_start().strip_prefix("/dev/null") }
        }) {
            rest = after;
        }
        kept.push_str(rest);
    }
    kept
}

/// Whether the last command is `false`: then that is the failure itself.
fn ends_with_false(list: &syntax::CommandList) -> bool {
    let last = list
        .simple_commands()
        .last()
        .map(|words| words.iter().map(syntax::ShellWord::text).collect::<Vec<_>>());
    last.is_some_and(|words| words == ["false"])
}

struct Search<'a> {
    knowledge: &'a Knowledge,
    ended: &'a ScriptEnd<'a>,
    /// Whether errors of the script reach its standard error.
    is_heard: bool,
}

impl Search<'_> {
    fn script(&self, script: &str, depth: usize) -> FailingCommand {
        let parsed = syntax::parse(script).or_else(|| syntax::parse(&without_test_redirects(script)));
        let Some(list) = parsed else {
            return match has_effect(self.knowledge, script) {
                true => FailingCommand::Effect(script.to_owned()),
                false => FailingCommand::Other,
            };
        };
        let found = tried(&list, self.ended.code);
        let deciders: Vec<&Reached> = found.iter().filter(|reached| !self.is_filter(reached)).collect();
        if let [only] = deciders.as_slice() {
            // `bash -c '…'`
            let words: Vec<&str> = only.words.iter().map(String::as_str).collect();
            let used = self.knowledge.use_of(&words);
            let code = match words.as_slice() {
                ["eval", code @ ..] => Some(code.join(" ")),
                _ => used.code.filter(|_| self.knowledge.is_shell(used.program)).map(str::to_owned),
            };
            if let Some(code) = code.filter(|_| depth < DEEPEST) {
                return self.script(&code, depth + 1);
            }
        }
        if deciders.is_empty() {
            // `test -e a || test -e b`: only together they explain the exit code
            let together = tried_together(&list, self.ended.code);
            if !together.is_empty() && together.iter().all(|found| self.check(&found.words).is_some()) {
                return self.last_check(&together.iter().collect::<Vec<_>>());
            }
            let words = list
                .simple_commands()
                .into_iter()
                .map(|words| words.iter().map(syntax::ShellWord::text).collect::<Vec<_>>());
            let declared = self.ended.has_effects.then(|| script.to_owned());
            let effect = words.rev().find_map(|words| self.effect(&words)).or(declared);
            return effect.map_or(FailingCommand::Other, FailingCommand::Effect);
        }
        self.last_check(&deciders)
    }

    fn last_check(&self, deciders: &[&Reached]) -> FailingCommand {
        let acting = || deciders.iter().rev().filter_map(|found| Some((found, self.effect(&found.words)?)));
        let loudest = acting().map(|(found, _)| match self.is_heard && self.is_silent(&found.words) {
            true => Between::Silent,
            false => Between::Work,
        });
        let mut between = loudest.max().unwrap_or(Between::Nothing);
        for found in deciders.iter().rev() {
            let words = || found.words.join(" ");
            match (self.check(&found.words), between) {
                (Some(_), Between::Nothing) => return FailingCommand::Check(words()),
                (Some(_), Between::Harmless) => return FailingCommand::LikelyCheck(words()),
                (Some(kind), _)
                    if kind != CheckKind::Compare
                        && (self.ended.has_verdict || between == Between::Silent) =>
                {
                    return FailingCommand::LikelyCheck(words());
                }
                // it printed an error itself
                (Some(_), _) if acting().next().is_none() && self.complains(&found.words) => {
                    return FailingCommand::LikelyCheck(words());
                }
                (Some(_), _) => {}
                (None, _) => between = between.max(self.weight(&found.words)),
            }
        }
        acting().next().map_or(FailingCommand::Other, |(_, effect)| FailingCommand::Effect(effect))
    }

    /// Whether a command only passes on the output of another one: it does not fail by itself.
    fn is_filter(&self, found: &Reached) -> bool {
        let has = |habit| self.knowledge.has_habit(&found.words[0], habit);
        found.is_fed && (has(Habit::Filter) || has(Habit::Harmless))
    }

    /// How a command checks; a command that changes the world outside checks nothing.
    fn check(&self, words: &[String]) -> Option<CheckKind> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let used = self.knowledge.use_of(&words);
        let by_name = match words.as_slice() {
            ["((", expression, ..] => (!assigns(expression)).then_some(CheckKind::Compare),
            ["expr", _, ":" | "=" | "!=" | "<" | "<=" | ">" | ">=", ..] => Some(CheckKind::Compare),
            _ => None,
        };
        by_name.or(used.check.filter(|_| used.effect.is_none()))
    }

    /// How likely it is that a command failed which checks nothing.
    fn weight(&self, words: &[String]) -> Between {
        let texts: Vec<&str> = words.iter().map(String::as_str).collect();
        let used = self.knowledge.use_of(&texts);
        let has = |habit| self.knowledge.has_habit(used.program, habit);
        let is_harmless = has(Habit::Harmless) || has(Habit::Constant) || used.code.is_some();
        match () {
            () if is_harmless && !self.complains(words) => Between::Harmless,
            () if self.is_heard && self.is_silent(words) => Between::Silent,
            () => Between::Work,
        }
    }

    /// Whether a command would have printed an error, and no line can be its error.
    fn is_silent(&self, words: &[String]) -> bool {
        let texts: Vec<&str> = words.iter().map(String::as_str).collect();
        let used = self.knowledge.use_of(&texts);
        let printed = self.ended.stdout.to_lowercase();
        let verb =
            used.words.iter().skip(1).find(|word| !word.starts_with('-')).map(|word| word.to_lowercase());
        let spoken_of = self.knowledge.phrases().printed_errors.iter().any(|word| printed.contains(word))
            || verb.is_some_and(|verb| verb.len() > 2 && printed.contains(&verb));
        let is_hushed = words.iter().any(|word| ["--silent", "-s", "--quiet", "-q"].contains(&word.as_str()));
        let is_outspoken = self.knowledge.has_habit(used.program, Habit::PrintsErrors);
        is_outspoken && !is_hushed && self.ended.stderr.trim().is_empty() && !spoken_of
    }

    /// Whether a program prints an error in its own name: `cat: notes: No such file`, `bash: line 2: cd: x: Not a
    /// directory`.
    fn complains(&self, words: &[String]) -> bool {
        let name = format!("{}: ", words.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word)));
        self.ended.stderr.lines().any(|line| line.starts_with(&name) || line.contains(&format!(": {name}")))
    }

    /// The effect of a command. A server on this machine is not outside.
    fn effect(&self, words: &[String]) -> Option<String> {
        let texts: Vec<&str> = words.iter().map(String::as_str).collect();
        let used = self.knowledge.use_of(&texts);
        let is_near =
            |word: &&str| ["localhost", "127.0.0.1", "[::1]"].iter().any(|host| word.contains(host));
        let is_outside = used.dry_run.is_none() && !used.words.iter().any(is_near);
        let seen = used.effect.filter(|_| is_outside);
        let acts =
            self.ended.has_effects && self.check(words).is_none() && self.weight(words) == Between::Work;
        seen.or_else(|| acts.then(|| words.join(" ")))
    }
}

/// Whether an arithmetic expression changes a variable.
fn assigns(expression: &str) -> bool {
    let plain =
        ["==", "!=", "<=", ">="].iter().fold(expression.to_owned(), |text, sign| text.replace(sign, ""));
    plain.contains('=') || plain.contains("++") || plain.contains("--")
}

/// Whether errors of a script reach its standard error.
fn is_heard(script: &str) -> bool {
    !["2>", "&>", ">&", "|&"].iter().any(|sign| script.contains(sign))
}
