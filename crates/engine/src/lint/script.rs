//! The commands of a script, each with what is believed about it.

use recipe::shell::syntax::{
    self, CommandKind, CommandList, Pipeline, RedirectKind, Redirection, ShellCommand, ShellWord, WordPart,
};

use crate::{
    knowledge::{CheckKind, Habit, Knowledge, authoring::has},
    repair_review::cannot_fail,
};

/// One command of a script.
#[derive(Clone, Debug)]
pub(super) struct CommandUse {
    /// The program that does the work, without wrappers.
    pub(super) program: String,
    /// The words as written, with the wrappers.
    pub(super) words: Vec<ShellWord>,
    /// The words of the program itself, without quotes.
    pub(super) texts: Vec<String>,
    /// How it checks.
    pub(super) check: Option<CheckKind>,
    /// What it changes outside, unless it only tries.
    pub(super) effect: Option<String>,
    /// Its redirections.
    pub(super) redirects: Vec<Redirection>,
    /// Whether another command feeds it.
    pub(super) is_fed: bool,
    /// The commands that it feeds: their programs.
    pub(super) feeds: Option<String>,
    /// Whether it judges nothing for certain.
    pub(super) is_no_check: bool,
    /// Whether `if` or a loop uses its verdict.
    pub(super) is_condition: bool,
}

/// A script that was understood.
#[derive(Clone, Debug)]
pub(super) struct ScriptView {
    /// Its tree.
    pub(super) list: CommandList,
    /// Its commands in order, with those in functions and substitutions.
    pub(super) commands: Vec<CommandUse>,
    /// Whether it succeeds whatever happens.
    pub(super) cannot_fail: bool,
}

/// The deepest code inside words: `bash -c "bash -c …"`.
const DEEPEST: usize = 4;

impl ScriptView {
    /// Reads a script; `None` if it cannot be parsed. `is_strict` says that bash runs it with `-euo pipefail`.
    pub(super) fn read(script: &str, is_strict: bool, knowledge: &Knowledge) -> Option<ScriptView> {
        let list = syntax::parse(script)?;
        let judged = match is_strict {
            true => syntax::parse(&format!("set -euo pipefail\n{script}"))?,
            false => list.clone(),
        };
        let mut commands = Vec::new();
        collect_list(&list, knowledge, 0, &mut commands);
        Some(ScriptView { cannot_fail: cannot_fail(knowledge, &judged), list, commands })
    }

    /// Whether it has a command that judges something, by what is believed about programs.
    pub(super) fn has_check(&self, knowledge: &Knowledge) -> bool {
        self.commands.iter().any(|command| command.is_verdict(knowledge))
    }

    /// Whether some command may judge something.
    pub(super) fn may_check(&self) -> bool {
        self.commands.iter().any(|command| !command.is_no_check)
    }
}

impl CommandUse {
    /// Whether its exit code is a verdict: a search that prints what it finds may only inform.
    pub(super) fn is_verdict(&self, knowledge: &Knowledge) -> bool {
        let words = &knowledge.authoring().programs;
        let prints =
            has(&words.searchers, &self.program) || matches!(self.program.as_str(), "diff" | "colordiff");
        let is_silent = || self.texts.iter().any(|word| is_silent(word, &words.silent));
        match self.check {
            None => false,
            Some(CheckKind::Compare) => !prints || is_silent(),
            Some(_) => true,
        }
    }

    /// Whether it judges only the form of the code.
    pub(super) fn is_shape(&self, knowledge: &Knowledge) -> bool {
        let words = &knowledge.authoring().programs;
        let has_operands = || self.texts.iter().skip(2).any(|word| !word.starts_with('-'));
        match self.check {
            None | Some(CheckKind::Tests) => false,
            Some(CheckKind::Lint) => true,
            Some(CheckKind::Build) => has(&words.compilers, &self.program),
            Some(CheckKind::Compare) if self.program == "git" => {
                let verb = self.texts.get(1).map(String::as_str).unwrap_or_default();
                verb == "grep" || (verb.starts_with("diff") && !has_operands())
            }
            Some(CheckKind::Compare) => {
                let reads_text = self.redirects.iter().any(|redirect| redirect.kind == RedirectKind::Text);
                has(&words.searchers, &self.program) && !self.is_fed && !reads_text
            }
        }
    }
}

/// Whether a word is one of these options, or a group of letters with one of them.
fn is_silent(word: &str, options: &[String]) -> bool {
    let is_group = word.starts_with('-') && !word.starts_with("--") && word.len() < 8;
    let letter = |option: &String| option.len() == 2 && word[1..].contains(&option[1..]);
    has(options, word) || (is_group && word.len() > 1 && options.iter().any(letter))
}

fn collect_list(list: &CommandList, knowledge: &Knowledge, depth: usize, found: &mut Vec<CommandUse>) {
    for entry in &list.entries {
        collect_pipeline(&entry.first, knowledge, depth, found);
        entry.rest.iter().for_each(|(_, pipeline)| collect_pipeline(pipeline, knowledge, depth, found));
    }
}

fn collect_pipeline(pipeline: &Pipeline, knowledge: &Knowledge, depth: usize, found: &mut Vec<CommandUse>) {
    for (at, command) in pipeline.commands.iter().enumerate() {
        for word in command.words() {
            for part in &word.parts {
                if let WordPart::Commands { list, .. } = part {
                    collect_list(list, knowledge, depth, found);
                }
            }
        }
        match &command.kind {
            CommandKind::Simple { words, .. } if words.is_empty() => {}
            CommandKind::Simple { words, .. } => {
                let next = pipeline.commands.get(at + 1).and_then(first_word);
                let used = use_of(words, command, knowledge);
                if let Some(code) = used.1.filter(|_| depth < DEEPEST).and_then(|code| syntax::parse(&code)) {
                    collect_list(&code, knowledge, depth + 1, found);
                }
                found.push(CommandUse { is_fed: at > 0, feeds: next, ..used.0 });
            }
            CommandKind::Function { body, .. } => {
                let body = Pipeline { is_negated: false, commands: vec![(**body).clone()] };
                collect_pipeline(&body, knowledge, depth, found);
            }
            kind => {
                for list in conditions(kind) {
                    let start = found.len();
                    collect_list(list, knowledge, depth, found);
                    found[start..].iter_mut().for_each(|command| command.is_condition = true);
                }
                bodies(kind).into_iter().for_each(|list| collect_list(list, knowledge, depth, found));
            }
        }
    }
}

/// The lists of a command whose verdict it uses.
fn conditions(kind: &CommandKind) -> Vec<&CommandList> {
    match kind {
        CommandKind::If { arms, .. } => arms.iter().map(|(condition, _)| condition).collect(),
        CommandKind::Loop { condition, .. } => vec![condition],
        _ => Vec::new(),
    }
}

/// The other lists of a command.
fn bodies(kind: &CommandKind) -> Vec<&CommandList> {
    match kind {
        CommandKind::If { arms, otherwise } => arms.iter().map(|(_, body)| body).chain(otherwise).collect(),
        CommandKind::Loop { body, .. } | CommandKind::For { body, .. } => vec![body],
        CommandKind::Group(list) | CommandKind::Subshell(list) => vec![list],
        CommandKind::Case { arms, .. } => arms.iter().map(|(_, body)| body).collect(),
        CommandKind::Simple { .. } | CommandKind::Function { .. } => Vec::new(),
    }
}

fn first_word(command: &ShellCommand) -> Option<String> {
    match &command.kind {
        CommandKind::Simple { words, .. } => words.first().map(ShellWord::text),
        _ => None,
    }
}

/// A simple command, and the code for a shell that is in its words.
fn use_of(
    words: &[ShellWord],
    command: &ShellCommand,
    knowledge: &Knowledge,
) -> (CommandUse, Option<String>) {
    let texts: Vec<String> = words.iter().map(ShellWord::text).collect();
    let plain: Vec<&str> = texts.iter().map(String::as_str).collect();
    let found = knowledge.use_of(&plain);
    let code = found.code.filter(|_| knowledge.is_shell(found.program)).map(str::to_owned);
    let is_local = |word: &&str| ["localhost", "127.0.0.1", "[::1]"].iter().any(|host| word.contains(host));
    let is_real = found.dry_run.is_none() && !found.words.iter().any(is_local);
    let effect = found.effect.clone().filter(|_| is_real);
    let has_habit = |habit| knowledge.has_habit(found.program, habit);
    let is_no_check = found.check.is_none()
        && found.code.is_none()
        && (found.effect.is_some()
            || [Habit::Constant, Habit::Harmless, Habit::Local, Habit::Filter].into_iter().any(has_habit)
            || has(&knowledge.authoring().programs.not_checks, found.program));
    let used = CommandUse {
        program: found.program.to_owned(),
        words: words.to_vec(),
        texts: found.words.iter().map(|word| (*word).to_owned()).collect(),
        check: found.check,
        effect,
        redirects: command.redirects.clone(),
        is_fed: false,
        feeds: None,
        is_no_check,
        is_condition: false,
    };
    (used, code)
}
