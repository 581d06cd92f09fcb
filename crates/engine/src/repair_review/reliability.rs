//! Whether a script can fail at all, and whether it ignores failures that it did not ignore before.
//!
//! Only certain knowledge counts: a command that is not known to succeed can fail.

use recipe::shell::syntax::{
    self, CommandKind, CommandList, Joint, ListEntry, Pipeline, RedirectKind, ShellCommand, ShellWord,
};

use crate::knowledge::{Habit, Knowledge};

/// Commands that fail with any arguments.
const FAILING: [&str; 1] = ["false"];
/// Commands that run the command after them.
const WRAPPERS: [&str; 5] = ["command", "builtin", "exec", "nohup", "env"];
/// Shells that take code after `-c`.
const SHELLS: [&str; 4] = ["bash", "sh", "dash", "zsh"];
/// The deepest code inside words: `bash -c "bash -c …"`.
const DEEPEST: usize = 4;

/// Whether a script succeeds whatever happens.
pub fn cannot_fail(knowledge: &Knowledge, list: &CommandList) -> bool {
    holds(knowledge, list, 0)
}

fn holds(knowledge: &Knowledge, list: &CommandList, depth: usize) -> bool {
    let mut settings = Settings { depth, ..Settings::new(knowledge) };
    list.visit(&mut |command| settings.see(command));
    settings.holds_list(list)
}

/// Whether failures are ignored that were not ignored before: `set +e`, or `… || true` after a command that was there.
pub(super) fn ignores_more(knowledge: &Knowledge, before: &CommandList, after: &CommandList) -> bool {
    let has_set = |list: &CommandList| {
        list.simple_commands().iter().any(|words| {
            let texts: Vec<String> = words.iter().map(ShellWord::text).collect();
            matches!(
                texts.iter().map(String::as_str).collect::<Vec<_>>()[..],
                ["set", "+e"] | ["set", "+o", "errexit"]
            )
        })
    };
    let ignored = |list: &CommandList| -> Vec<Pipeline> {
        let mut found = Vec::new();
        let mut see = |list: &CommandList| {
            let settings = Settings::new(knowledge);
            let is_ignored = |entry: &&ListEntry| {
                entry
                    .rest
                    .last()
                    .is_some_and(|(joint, last)| *joint == Joint::Or && settings.holds_pipeline(last))
            };
            found.extend(list.entries.iter().filter(is_ignored).map(|entry| entry.first.clone()));
        };
        see(list);
        list.visit(&mut |command| command.lists().into_iter().for_each(&mut see));
        found
    };
    let was_there = |pipeline: &Pipeline| {
        let known = before.simple_commands();
        pipeline.commands.iter().any(|command| match &command.kind {
            CommandKind::Simple { words, .. } => known.contains(&words.as_slice()),
            _ => false,
        })
    };
    let earlier = ignored(before);
    (has_set(after) && !has_set(before))
        || ignored(after).iter().any(|pipeline| !earlier.contains(pipeline) && was_there(pipeline))
}

/// What a script sets or contains that decides about its status.
struct Settings<'a> {
    knowledge: &'a Knowledge,
    stops_at_failures: bool,
    pipefail: bool,
    /// Whether it has an `exit` that may be a failure, or runs code that is not visible.
    may_exit: bool,
    /// Names of functions: a call may do anything.
    functions: Vec<String>,
    /// How many words with code are around it.
    depth: usize,
}

impl<'a> Settings<'a> {
    fn new(knowledge: &'a Knowledge) -> Settings<'a> {
        let (stops_at_failures, pipefail, may_exit) = (false, false, false);
        Settings { knowledge, stops_at_failures, pipefail, may_exit, functions: Vec::new(), depth: 0 }
    }

    fn see(&mut self, command: &ShellCommand) {
        match &command.kind {
            CommandKind::Function { name, .. } => self.functions.push(name.clone()),
            CommandKind::Simple { words, .. } => {
                let texts: Vec<String> = words.iter().map(ShellWord::text).collect();
                let Some(first) = texts.first() else { return };
                match first.as_str() {
                    "exit" | "return" => self.may_exit |= texts.get(1).is_none_or(|code| code != "0"),
                    "set" => {
                        self.stops_at_failures |=
                            texts[1..].iter().any(|word| is_flag(word, 'e') || word == "errexit");
                        self.pipefail |= texts.iter().any(|word| word == "pipefail");
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Whether a list succeeds whatever happens.
    fn holds_list(&self, list: &CommandList) -> bool {
        if self.may_exit {
            return false;
        }
        match self.stops_at_failures {
            true => list.entries.iter().all(|entry| self.holds_entry(entry)),
            // what is after an unconditional `exit 0` does not count
            false => {
                let end = list.entries.iter().position(exits_well);
                let last = end.map(|at| &list.entries[at]).or(list.entries.last());
                last.is_none_or(|entry| self.holds_entry(entry))
            }
        }
    }

    fn holds_entry(&self, entry: &ListEntry) -> bool {
        if entry.in_background {
            return true;
        }
        let mut holds = self.holds_pipeline(&entry.first);
        for (joint, pipeline) in &entry.rest {
            holds = match joint {
                Joint::And => holds && self.holds_pipeline(pipeline),
                Joint::Or => holds || self.holds_pipeline(pipeline),
            };
        }
        holds
    }

    fn holds_pipeline(&self, pipeline: &Pipeline) -> bool {
        let holds = |command: &ShellCommand| self.holds_command(command);
        if pipeline.is_negated {
            return pipeline.commands.last().is_some_and(|command| self.always_fails(command));
        }
        match self.pipefail {
            true => pipeline.commands.iter().all(holds),
            false => pipeline.commands.last().is_some_and(holds),
        }
    }

    /// Whether a command fails whatever happens.
    fn always_fails(&self, command: &ShellCommand) -> bool {
        let CommandKind::Simple { words, .. } = &command.kind else { return false };
        let name = unwrapped(words).first().map(|word| standard_name(&word.text()).to_owned());
        name.is_some_and(|name| FAILING.contains(&name.as_str()) && !self.functions.contains(&name))
    }

    fn holds_command(&self, command: &ShellCommand) -> bool {
        let writes = command.redirects.iter().any(|redirect| {
            matches!(redirect.kind, RedirectKind::Write | RedirectKind::Read)
                && redirect.target.text() != "/dev/null"
        });
        if writes {
            return false;
        }
        match &command.kind {
            CommandKind::Simple { assignments, words } => {
                let values = assignments.iter().flat_map(|assignment| &assignment.values);
                match words.is_empty() {
                    true => values.into_iter().all(has_no_commands),
                    false => self.holds_words(unwrapped(words)),
                }
            }
            CommandKind::Group(list) | CommandKind::Subshell(list) => self.holds_list(list),
            CommandKind::If { arms, otherwise } => {
                arms.iter().all(|(_, body)| self.holds_list(body))
                    && otherwise.as_ref().is_none_or(|body| self.holds_list(body))
            }
            CommandKind::Loop { body, .. } | CommandKind::For { body, .. } => self.holds_list(body),
            CommandKind::Case { arms, .. } => arms.iter().all(|(_, body)| self.holds_list(body)),
            CommandKind::Function { .. } => true,
        }
    }
}

impl Settings<'_> {
    /// Whether a command with these words succeeds whatever happens.
    fn holds_words(&self, words: &[ShellWord]) -> bool {
        let Some(first) = words.first().map(ShellWord::text) else { return true };
        let name = standard_name(&first);
        if self.functions.iter().any(|function| function == name) {
            return false;
        }
        if let Some(code) = code_in(name, &words[1..]) {
            return self.depth < DEEPEST
                && syntax::parse(&code).is_some_and(|list| holds(self.knowledge, &list, self.depth + 1));
        }
        let is_exit = name == "exit" && words.get(1).is_some_and(|code| code.text() == "0");
        // a path may lead to any program
        is_exit || (!name.contains('/') && self.knowledge.has_habit(name, Habit::Constant))
    }
}

/// The words without commands that only run the rest: `command true`, `env A=1 true`.
fn unwrapped(words: &[ShellWord]) -> &[ShellWord] {
    let mut words = words;
    while let [first, rest @ ..] = words
        && WRAPPERS.contains(&first.text().as_str())
        && rest.first().is_some_and(|next| !next.text().starts_with('-'))
    {
        let is_env = first.text() == "env";
        let skipped = rest.iter().take_while(|word| is_env && word.text().contains('=')).count();
        words = &rest[skipped..];
    }
    words
}

/// The name of a program in a standard directory, or the word itself.
fn standard_name(word: &str) -> &str {
    let in_directory = ["/bin/", "/usr/bin/"].into_iter().find_map(|dir| word.strip_prefix(dir));
    in_directory.filter(|name| !name.contains('/')).unwrap_or(word)
}

/// The code that a command runs: `eval true`, `bash -c true`.
fn code_in(name: &str, arguments: &[ShellWord]) -> Option<String> {
    if name == "eval" && arguments.iter().all(ShellWord::is_literal) {
        return Some(arguments.iter().map(ShellWord::text).collect::<Vec<_>>().join(" "));
    }
    let at = arguments.iter().position(|word| is_flag(&word.text(), 'c'))?;
    let code = arguments.get(at + 1).filter(|code| SHELLS.contains(&name) && code.is_literal())?;
    Some(code.text())
}

fn has_no_commands(word: &ShellWord) -> bool {
    !word.parts.iter().any(|part| matches!(part, recipe::shell::syntax::WordPart::Commands { .. }))
}

/// Whether an entry is `exit` or `exit 0`.
fn exits_well(entry: &ListEntry) -> bool {
    let [command] = entry.first.commands.as_slice() else { return false };
    let CommandKind::Simple { words, .. } = &command.kind else { return false };
    let texts: Vec<String> = words.iter().map(ShellWord::text).collect();
    entry.rest.is_empty() && matches!(texts.iter().map(String::as_str).collect::<Vec<_>>()[..], ["exit", "0"])
}

fn is_flag(word: &str, flag: char) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains(flag)
}
