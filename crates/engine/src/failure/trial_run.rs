//! Runs the tree of a script on paper: every command succeeds, except those that a trial lets fail.
//!
//! Follows what is certain: lists, conditions, functions, `set -e`, `exit`, and variables that hold a status. A value that
//! only a real run can know stays unknown.

use std::collections::{HashMap, HashSet};

use recipe::shell::syntax::{
    CommandKind, CommandList, Joint, ListEntry, Pipeline, ShellCommand, ShellWord, WordPart,
};

use super::{
    trial_shell::Shell,
    trial_values::{arithmetic, compare},
};

/// A command, by its place in the tree.
pub(super) type Place = usize;

/// A command that a trial reached.
#[derive(Clone, Debug)]
pub(super) struct Reached {
    /// Its place.
    pub(super) place: Place,
    /// Its words.
    pub(super) words: Vec<String>,
    /// Whether it gets the output of another command.
    pub(super) is_fed: bool,
}

/// How a trial ended.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    /// The exit code.
    pub(super) code: i32,
    /// Whether `exit` ended it.
    pub(super) by_exit: bool,
    /// The commands that it reached, in order, each once.
    pub(super) reached: Vec<Reached>,
}

/// The most commands that a trial runs.
const MOST_COMMANDS: usize = 2_000;
/// The most rounds of a loop, and of calls inside calls.
const MOST_ROUNDS: usize = 4;
const DEEPEST_CALL: usize = 8;

/// Tries a script in which the commands of `failing` fail with `code`.
pub(super) fn try_script(list: &CommandList, failing: &HashSet<Place>, code: i32) -> Trial {
    let mut machine = Machine {
        failing,
        code,
        reached: Vec::new(),
        functions: HashMap::new(),
        shell: Shell::default(),
        left: MOST_COMMANDS,
        calls: 0,
    };
    let end = machine.list(list, Context::default());
    let by_exit = matches!(end, Flow::Exit);
    Trial { code: machine.shell.status, by_exit, reached: machine.reached }
}

/// What happens after a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Return,
    Exit,
}

/// What surrounds a command.
#[derive(Clone, Copy, Default)]
struct Context {
    /// Its failure is looked at, so `set -e` does not end the script.
    is_tested: bool,
    is_fed: bool,
}

struct Machine<'a> {
    failing: &'a HashSet<Place>,
    code: i32,
    reached: Vec<Reached>,
    functions: HashMap<&'a str, &'a ShellCommand>,
    shell: Shell,
    left: usize,
    calls: usize,
}

impl<'a> Machine<'a> {
    fn list(&mut self, list: &'a CommandList, context: Context) -> Flow {
        for entry in &list.entries {
            let flow = self.entry(entry, context);
            if flow != Flow::Next {
                return flow;
            }
        }
        Flow::Next
    }

    fn entry(&mut self, entry: &'a ListEntry, context: Context) -> Flow {
        if entry.in_background {
            self.shell.status = 0;
            return Flow::Next;
        }
        let count = entry.rest.len();
        let tested = |at: usize| Context { is_tested: context.is_tested || at < count, ..context };
        let mut flow = self.pipeline(&entry.first, tested(0));
        for (at, (joint, pipeline)) in entry.rest.iter().enumerate() {
            if flow != Flow::Next {
                return flow;
            }
            if (*joint == Joint::And) == (self.shell.status == 0) {
                flow = self.pipeline(pipeline, tested(at + 1));
            }
        }
        flow
    }

    fn pipeline(&mut self, pipeline: &'a Pipeline, context: Context) -> Flow {
        let is_tested = context.is_tested || pipeline.is_negated;
        let context = Context { is_tested, ..context };
        let flow = match pipeline.commands.as_slice() {
            [command] => {
                let flow = self.command(command, context);
                self.shell.statuses = vec![self.shell.status];
                flow
            }
            commands => {
                let mut statuses = Vec::new();
                for (at, command) in commands.iter().enumerate() {
                    let before = self.shell.clone();
                    self.command(command, Context { is_tested: true, is_fed: at > 0 || context.is_fed });
                    statuses.push(self.shell.status);
                    self.shell = before;
                }
                let last = statuses.last().copied().unwrap_or(0);
                let failed = statuses.iter().rev().find(|status| **status != 0).copied();
                self.shell.status = failed.filter(|_| self.shell.pipefail).unwrap_or(last);
                self.shell.statuses = statuses;
                Flow::Next
            }
        };
        if flow != Flow::Next {
            return flow;
        }
        if pipeline.is_negated {
            self.shell.status = i32::from(self.shell.status == 0);
        }
        let is_simple =
            matches!(pipeline.commands.as_slice(), [ShellCommand { kind: CommandKind::If { .. }, .. }]);
        let ends = self.shell.stops_at_failures && !is_tested && self.shell.status != 0 && !is_simple;
        if ends { Flow::Exit } else { Flow::Next }
    }

    fn command(&mut self, command: &'a ShellCommand, context: Context) -> Flow {
        self.left = self.left.saturating_sub(1);
        if self.left == 0 {
            return Flow::Exit;
        }
        match &command.kind {
            CommandKind::Simple { assignments, words } => {
                let mut status = 0;
                for assignment in assignments {
                    status = self.assign(&assignment.name, &assignment.values);
                }
                match words.is_empty() {
                    true => {
                        self.shell.status = status;
                        Flow::Next
                    }
                    false => self.simple(words, context),
                }
            }
            CommandKind::Group(list) => self.list(list, context),
            CommandKind::Subshell(list) => {
                let before = self.shell.clone();
                self.list(list, context);
                self.shell = Shell { status: self.shell.status, ..before };
                Flow::Next
            }
            CommandKind::If { arms, otherwise } => self.branch(arms, otherwise.as_ref(), context),
            CommandKind::Loop { condition, body, is_until } => {
                self.repeat(condition, body, *is_until, context)
            }
            CommandKind::For { words, body, .. } => self.each(words, body, context),
            CommandKind::Case { subject, arms } => self.choose(subject, arms, context),
            CommandKind::Function { name, body } => {
                self.functions.insert(name, body);
                self.shell.status = 0;
                Flow::Next
            }
        }
    }

    fn branch(
        &mut self,
        arms: &'a [(CommandList, CommandList)],
        otherwise: Option<&'a CommandList>,
        context: Context,
    ) -> Flow {
        for (condition, body) in arms {
            let flow = self.list(condition, Context { is_tested: true, ..context });
            if flow != Flow::Next {
                return flow;
            }
            if self.shell.status == 0 {
                return self.list(body, context);
            }
        }
        self.shell.status = 0;
        otherwise.map_or(Flow::Next, |body| self.list(body, context))
    }

    fn repeat(
        &mut self,
        condition: &'a CommandList,
        body: &'a CommandList,
        is_until: bool,
        context: Context,
    ) -> Flow {
        let mut status = 0;
        for _ in 0..MOST_ROUNDS {
            let flow = self.list(condition, Context { is_tested: true, ..context });
            if flow != Flow::Next {
                return flow;
            }
            if (self.shell.status == 0) == is_until {
                break;
            }
            match self.list(body, context) {
                Flow::Next => status = self.shell.status,
                Flow::Break => break,
                flow => return flow,
            }
        }
        self.shell.status = status;
        Flow::Next
    }

    fn each(&mut self, words: &'a [ShellWord], body: &'a CommandList, context: Context) -> Flow {
        for _ in words.iter().take(MOST_ROUNDS).map(|_| ()).chain(words.is_empty().then_some(())) {
            match self.list(body, context) {
                Flow::Next => {}
                Flow::Break => break,
                flow => return flow,
            }
        }
        Flow::Next
    }

    /// A `case` whose subject is unknown is a check: the first pattern fits, or the last.
    fn choose(
        &mut self,
        subject: &'a ShellWord,
        arms: &'a [(Vec<ShellWord>, CommandList)],
        context: Context,
    ) -> Flow {
        let place = std::ptr::from_ref(subject) as Place;
        self.reach(place, vec!["case".to_owned(), subject.text()], context);
        let arm = if self.failing.contains(&place) { arms.last() } else { arms.first() };
        self.shell.status = 0;
        arm.map_or(Flow::Next, |(_, body)| self.list(body, context))
    }

    fn simple(&mut self, words: &'a [ShellWord], context: Context) -> Flow {
        let texts: Vec<String> = words.iter().map(ShellWord::text).collect();
        let status = |words: &[ShellWord], machine: &Machine<'_>| {
            words.get(1).map_or(Some(machine.shell.status), |word| machine.shell.value(word)?.parse().ok())
        };
        match texts[0].as_str() {
            name @ ("exit" | "return") => {
                // an unknown status is taken for success
                self.shell.status = status(words, self).unwrap_or(0) & 255;
                return if name == "exit" { Flow::Exit } else { Flow::Return };
            }
            "break" | "continue" => {
                self.shell.status = 0;
                return if texts[0] == "break" { Flow::Break } else { Flow::Next };
            }
            "set" => self.shell.set(&texts[1..]),
            "local" | "export" | "declare" | "readonly" | "typeset" => self.declare(&words[1..]),
            "true" | ":" | "echo" | "printf" | "trap" | "unset" | "shopt" | "alias" | "shift" | "wait" => {
                self.shell.status = 0;
            }
            "false" => self.shell.status = 1,
            name if self.functions.contains_key(name) => return self.call(name, context),
            "exec" if words.len() > 1 => {
                self.simple(&words[1..], context);
                return Flow::Exit;
            }
            name => {
                let values: Option<Vec<String>> = words.iter().map(|word| self.shell.value(word)).collect();
                let is_constant = || words.iter().all(ShellWord::is_literal);
                let has_name = || texts.iter().any(|text| text.contains(char::is_alphabetic));
                let known = match name {
                    "((" if has_name() => {
                        arithmetic(&texts[1], &mut self.shell.values).map(|value| value != 0)
                    }
                    "[" | "test" | "[[" if !is_constant() => values.and_then(|values| compare(&values)),
                    _ => None,
                };
                self.shell.status = match known {
                    Some(holds) => i32::from(!holds),
                    None => self.judge(words, texts, context),
                };
            }
        }
        Flow::Next
    }

    /// A command whose status only a real run knows: it succeeds unless the trial lets it fail.
    fn judge(&mut self, words: &'a [ShellWord], texts: Vec<String>, context: Context) -> i32 {
        let place = words.as_ptr() as Place;
        self.reach(place, texts, context);
        if self.failing.contains(&place) { self.code } else { 0 }
    }

    fn reach(&mut self, place: Place, words: Vec<String>, context: Context) {
        if !self.reached.iter().any(|known| known.place == place) {
            self.reached.push(Reached { place, words, is_fed: context.is_fed });
        }
    }

    fn call(&mut self, name: &str, context: Context) -> Flow {
        let Some(body) = self.functions.get(name).copied().filter(|_| self.calls < DEEPEST_CALL) else {
            return Flow::Next;
        };
        self.calls += 1;
        let flow = self.command(body, context);
        self.calls -= 1;
        if flow == Flow::Exit { flow } else { Flow::Next }
    }

    fn declare(&mut self, words: &'a [ShellWord]) {
        for word in words {
            if let Some((name, value)) =
                self.shell.value(word).as_deref().and_then(|text| text.split_once('='))
            {
                self.shell.values.insert(name.to_owned(), value.to_owned());
            }
        }
        self.shell.status = 0;
    }

    /// Assigns; returns the status of the last command inside the values.
    fn assign(&mut self, name: &str, values: &'a [ShellWord]) -> i32 {
        let mut status = 0;
        for part in values.iter().flat_map(|word| &word.parts) {
            if let WordPart::Commands { list, .. } = part {
                let before = self.shell.clone();
                self.list(list, Context { is_tested: true, is_fed: false });
                status = self.shell.status;
                self.shell = before;
            }
        }
        let value = match values {
            [] => Some(String::new()),
            [value] => self.shell.value(value),
            _ => None,
        };
        match value {
            Some(value) => self.shell.values.insert(name.to_owned(), value),
            None => self.shell.values.remove(name),
        };
        status
    }
}
