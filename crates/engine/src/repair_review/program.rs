//! The meaning of the words of one command: its program behind wrappers, and what that program does.
//!
//! Never looks at files: only words count.

use super::{flow::Status, words::Word};

/// A program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// The program's name without its directory.
    pub program: String,
    /// The program and its arguments as written, without wrappers.
    pub words: Vec<String>,
}

/// Programs that only start another one.
const WRAPPERS: [&str; 25] = [
    "sudo",
    "env",
    "command",
    "builtin",
    "exec",
    "nice",
    "nohup",
    "time",
    "timeout",
    "gtimeout",
    "stdbuf",
    "xvfb-run",
    "npx",
    "setsid",
    "doas",
    "chronic",
    "bunx",
    "pnpx",
    "uvx",
    "cross-env",
    "dotenv",
    "ionice",
    "unbuffer",
    "nyc",
    "c8",
];

/// Programs whose `run` or `exec` only starts another one.
const RUNNERS: [(&str, &str); 22] = [
    ("uv", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
    ("bundle", "exec"),
    ("pnpm", "exec"),
    ("yarn", "exec"),
    ("npm", "exec"),
    ("hatch", "run"),
    ("pdm", "run"),
    ("rye", "run"),
    ("pixi", "run"),
    ("conda", "run"),
    ("mamba", "run"),
    ("pipx", "run"),
    ("devbox", "run"),
    ("composer", "exec"),
    ("yarn", "dlx"),
    ("pnpm", "dlx"),
    ("bun", "x"),
    ("mise", "exec"),
    ("asdf", "exec"),
    ("coverage", "run"),
];

/// Options before a verb that take a value.
const PLACES: [&str; 13] = [
    "-C",
    "-c",
    "--prefix",
    "--dir",
    "--cwd",
    "--git-dir",
    "--work-tree",
    "--manifest-path",
    "--directory",
    "--context",
    "--namespace",
    "--filter",
    "--workspace",
];

/// Programs whose failure means nothing.
const TOOTHLESS: [&str; 35] = [
    "true", ":", "echo", "printf", "exit", "return", "sleep", "date", "pwd", "ls", "cat", "mkdir", "touch",
    "export", "cd", "set", "unset", "local", "readonly", "declare", "id", "whoami", "hostname", "uname",
    "tee", "head", "tail", "wc", "env", "which", "type", "trap", "shopt", "wait", "tput",
];

impl Call {
    /// Reads the words of a command.
    pub fn new(words: &[Word]) -> Call {
        let texts: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
        Call::of(&texts)
    }

    /// Reads the texts of a command.
    pub(super) fn of(texts: &[String]) -> Call {
        let words = texts[unwrap(texts)..].to_vec();
        let program = words.first().map(|word| base_name(word).to_owned()).unwrap_or_default();
        Call { program, words }
    }

    /// The arguments.
    pub fn arguments(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The arguments that are not options.
    pub fn operands(&self) -> impl Iterator<Item = &str> {
        self.arguments().iter().map(String::as_str).filter(|word| !word.starts_with('-'))
    }

    /// The operands from the verb on: options before the verb select a place, not an action.
    pub fn verbs(&self) -> Vec<&str> {
        let arguments = self.arguments();
        let mut at = 0;
        while let Some(word) = arguments.get(at).filter(|word| word.starts_with(['-', '+'])) {
            let namespace = word == "-n" && matches!(self.program.as_str(), "kubectl" | "oc" | "helm");
            at += if namespace || PLACES.contains(&word.as_str()) { 2 } else { 1 };
        }
        let rest = arguments.get(at..).unwrap_or_default();
        rest.iter().map(String::as_str).filter(|word| !word.starts_with('-')).collect()
    }

    /// Whether an argument is this word.
    pub fn has(&self, word: &str) -> bool {
        self.arguments().iter().any(|found| found == word)
    }

    /// The script of `bash -c …` and `eval …`; `None` if it is only read, not run.
    pub fn script(&self) -> Option<String> {
        match self.program.as_str() {
            "bash" | "sh" | "dash" | "zsh" => {
                let at = self.words.iter().position(|word| {
                    word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
                })?;
                let is_read =
                    self.words[..=at].iter().any(|word| word.starts_with('-') && word.contains('n'));
                self.words.get(at + 1).filter(|_| !is_read).cloned()
            }
            "eval" if self.words.len() > 1 => Some(self.arguments().join(" ")),
            _ => None,
        }
    }

    /// The same program with a text that it reads as its script; `None` if it reads something else.
    pub(super) fn given(&self, text: &str) -> Option<Call> {
        let flag = match self.program.as_str() {
            "bash" | "sh" | "dash" | "zsh" | "python" | "python3" => "-c",
            "node" | "perl" | "ruby" => "-e",
            _ => return None,
        };
        let is_own = |word: &String| word != "-" && (!word.starts_with('-') || word.contains(['c', 'm']));
        if self.arguments().iter().any(is_own) {
            return None;
        }
        let flags = self.words.iter().filter(|word| *word != "-").cloned();
        Some(Call {
            program: self.program.clone(),
            words: flags.chain([flag.to_owned(), text.to_owned()]).collect(),
        })
    }

    /// Whether `bash -c …` stops at the first failure.
    pub(super) fn stops_at_failures(&self) -> bool {
        let flags = self.arguments().iter().take_while(|word| word.starts_with('-'));
        flags.into_iter().any(|word| !word.starts_with("--") && word.contains('e'))
    }

    /// Whether `set` keeps all later commands from running.
    pub(super) fn sets_noexec(&self) -> bool {
        let flag = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains('n');
        let named = self.arguments().windows(2).any(|pair| pair[0].ends_with('o') && pair[1] == "noexec");
        self.program == "set" && (self.arguments().first().is_some_and(flag) || named)
    }

    /// Whether it replaces the shell, so that no command follows.
    pub(super) fn replaces_shell(&self, words: &[Word]) -> bool {
        let first = words.iter().find(|word| !matches!(word.text.as_str(), "command" | "builtin"));
        first.is_some_and(|word| word.text == "exec") && self.program != "exec"
    }

    /// Whether its success means nothing.
    pub fn is_toothless(&self) -> bool {
        if let Some(code) = self.inline_code() {
            let teeth = [
                "assert", "raise", "throw", "exit(1", "exit 1", "die", "open(", "read", "require(", "import",
            ];
            return !teeth.iter().any(|word| code.contains(word));
        }
        self.program.is_empty() || TOOTHLESS.contains(&self.program.as_str()) || self.asks_for_help()
    }

    /// Whether a program only prints.
    pub(super) fn is_talk(program: &str) -> bool {
        matches!(program, "" | "true" | ":" | "echo" | "printf" | "exit" | "return" | "set" | "export")
    }

    /// Whether it always succeeds, or only prints its version or help.
    pub(super) fn is_constant(&self) -> bool {
        let inline = self.inline_code().is_some() && self.is_toothless();
        Call::is_talk(&self.program) || self.is_idle() || inline || self.asks_for_help()
    }

    /// Whether it has no arguments that could make it fail.
    fn is_idle(&self) -> bool {
        let plain = |word: &String| !word.starts_with('-');
        match self.program.as_str() {
            "date" => self.arguments().iter().all(|word| word.starts_with('+') || word == "-u"),
            "sleep" => self.arguments().iter().all(|word| word.starts_with(|c: char| c.is_ascii_digit())),
            "cat" | "head" | "tail" | "wc" | "tee" => {
                self.words.len() == 1 || (self.arguments().iter().all(plain) && self.has("/dev/null"))
            }
            "pwd" | "cd" | "id" | "whoami" | "hostname" | "uname" | "env" | "wait" | "type" => {
                self.words.len() == 1
            }
            _ => false,
        }
    }

    fn asks_for_help(&self) -> bool {
        self.words.len() == 2
            && matches!(self.words[1].as_str(), "--version" | "--help" | "-V" | "version" | "help")
    }

    /// Files that a piece of code may write: all that it names.
    fn inline_writes(&self) -> Vec<String> {
        let writes = |code: &&str| {
            ["write", "dump", "File.open", "touch", "copy"].iter().any(|word| code.contains(word))
        };
        self.inline_code().filter(writes).into_iter().flat_map(literals).map(str::to_owned).collect()
    }

    pub(super) fn inline_code(&self) -> Option<&str> {
        if !matches!(self.program.as_str(), "python" | "python3" | "node" | "perl" | "ruby" | "php") {
            return None;
        }
        let at = self.words.iter().position(|word| word == "-c" || word == "-e" || word == "-r")?;
        self.words.get(at + 1).map(String::as_str)
    }

    /// Files that it writes according to its arguments.
    pub fn writes(&self) -> Vec<String> {
        let operands = || self.operands().map(str::to_owned);
        match self.program.as_str() {
            "tee" | "touch" | "truncate" | "sponge" => operands().collect(),
            "cp" | "mv" | "ln" | "install" => operands().last().into_iter().collect(),
            "sed" | "perl" if self.arguments().iter().any(|word| word.starts_with("-i") || word == "-pi") => {
                operands().skip(1).collect()
            }
            "python" | "python3" | "node" | "perl" | "ruby" => self.inline_writes(),
            "dd" => self.operands().filter_map(|word| word.strip_prefix("of=")).map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    }
}

/// Quoted texts in a piece of code.
fn literals(code: &str) -> impl Iterator<Item = &str> {
    code.split(['\'', '"']).skip(1).step_by(2)
}

/// The place of the real program behind wrappers.
fn unwrap(words: &[String]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let name = base_name(word);
        let next = words.get(at + 1).map(String::as_str);
        let is_own = match name {
            "nyc" | "c8" => next == Some("check-coverage"),
            // searches for a program without running it
            "command" => matches!(next, Some("-v" | "-V")),
            _ => false,
        };
        if WRAPPERS.contains(&name) && next.is_some() && !is_own {
            at = skip_options(words, at + 1, name);
        } else if let Some(module) = measured(words, at) {
            at = module;
        } else if RUNNERS.iter().any(|(program, verb)| name == *program && next == Some(*verb))
            && words.len() > at + 2
            // a script of the project, not the builtin
            && words[at + 2] != "test"
        {
            at = skip_options(words, at + 2, name);
        } else if name.starts_with("python") && next == Some("-m") && words.len() > at + 2 {
            at += 2;
        } else {
            break;
        }
    }
    at.min(words.len().saturating_sub(1))
}

/// The place of the module that `coverage run` runs.
fn measured(words: &[String], at: usize) -> Option<usize> {
    let is_run = words.get(at).is_some_and(|word| base_name(word) == "coverage")
        && words.get(at + 1).is_some_and(|word| word == "run");
    let module = words.get(at..)?.iter().position(|word| word == "-m").map(|found| at + found + 1);
    module.filter(|module| is_run && *module < words.len())
}

fn skip_options(words: &[String], start: usize, wrapper: &str) -> usize {
    let mut at = start;
    let mut seconds = matches!(wrapper, "timeout" | "gtimeout");
    while let Some(word) = words.get(at) {
        let takes_value =
            matches!(word.as_str(), "-k" | "-s" | "-u" | "-n" | "-g" | "-p" | "--signal" | "--kill-after");
        let is_assignment = word.contains('=') && !word.starts_with(['/', '.']);
        if word.starts_with('-') && takes_value && wrapper != "npx" {
            at += 2;
        } else if word.starts_with('-')
            || (is_assignment && matches!(wrapper, "env" | "cross-env" | "dotenv"))
        {
            at += 1;
        } else if seconds {
            seconds = false;
            at += 1;
        } else {
            break;
        }
    }
    at
}

pub(crate) fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// The status of a command, as far as it is known before it runs.
pub(super) fn known_status(call: &Call, words: &[Word]) -> Status {
    let constant = words.iter().all(|word| !word.expands);
    match call.program.as_str() {
        "true" | ":" | "echo" | "printf" | "export" | "set" | "unset" | "trap" | "shopt" | "alias"
        | "local" | "declare" | "readonly" | "typeset" => Status::Ok,
        "false" => Status::Fail,
        "test" | "[" | "[[" if constant => known_test(call.arguments()),
        "((" if constant => {
            if call.has("0") {
                Status::Fail
            } else {
                Status::Ok
            }
        }
        "grep" if call.has("") => Status::Ok,
        "diff" | "cmp" => same_operands(call),
        _ if call.is_idle() => Status::Ok,
        "python" | "python3" | "node" | "perl" | "ruby" if call.is_toothless() => Status::Ok,
        _ => Status::Unknown,
    }
}

fn same_operands(call: &Call) -> Status {
    let operands: Vec<&str> = call.operands().collect();
    if operands.len() == 2 && operands[0] == operands[1] { Status::Ok } else { Status::Unknown }
}

fn known_test(arguments: &[String]) -> Status {
    let words: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|word| !matches!(*word, "]" | "]]")).collect();
    let holds = match words.as_slice() {
        [] => false,
        [text] => !text.is_empty(),
        ["-n", text] => !text.is_empty(),
        ["-z", text] => text.is_empty(),
        ["-d" | "-e" | "-r" | "-x", "/" | "." | "/tmp" | ".." | "./"] | ["-e" | "-r" | "-w", "/dev/null"] => {
            true
        }
        [left, "=" | "==" | "-eq", right] => left == right,
        [left, "!=" | "-ne", right] => left != right,
        [left, operator, right] => match (left.parse::<i64>(), right.parse::<i64>()) {
            (Ok(left), Ok(right)) => match *operator {
                "-ge" => left >= right,
                "-le" => left <= right,
                "-gt" => left > right,
                "-lt" => left < right,
                _ => return Status::Unknown,
            },
            _ => return Status::Unknown,
        },
        _ => return Status::Unknown,
    };
    if holds { Status::Ok } else { Status::Fail }
}
