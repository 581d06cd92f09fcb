//! What the words of one command say: its program behind wrappers, and what that program does.
//!
//! Never looks at files: only words count.

use super::{flow::Status, words::Word};

/// A program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The program's name without its directory.
    pub program: String,
    /// The program and its arguments as written, without wrappers.
    pub words: Vec<String>,
}

/// Programs that only start another one.
const WRAPPERS: [&str; 16] = [
    "sudo", "env", "command", "builtin", "exec", "nice", "nohup", "time", "timeout", "gtimeout", "stdbuf",
    "xvfb-run", "npx", "setsid", "doas", "chronic",
];

/// Programs whose `run` or `exec` only starts another one.
const RUNNERS: [(&str, &str); 8] = [
    ("uv", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
    ("bundle", "exec"),
    ("pnpm", "exec"),
    ("yarn", "exec"),
    ("npm", "exec"),
    ("hatch", "run"),
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

/// Programs that do nothing whose failure would mean anything.
const TOOTHLESS: [&str; 35] = [
    "true", ":", "echo", "printf", "exit", "return", "sleep", "date", "pwd", "ls", "cat", "mkdir", "touch",
    "export", "cd", "set", "unset", "local", "readonly", "declare", "id", "whoami", "hostname", "uname",
    "tee", "head", "tail", "wc", "env", "which", "type", "trap", "shopt", "wait", "tput",
];

impl Call {
    /// Reads the words of a command.
    pub fn new(words: &[Word]) -> Call {
        let texts: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
        let start = unwrap(&texts);
        let words = texts[start..].to_vec();
        let program = words.first().map(|word| base_name(word).to_owned()).unwrap_or_default();
        Call { program, words }
    }

    /// The arguments.
    pub fn arguments(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }

    /// The arguments that are no options.
    pub fn operands(&self) -> impl Iterator<Item = &str> {
        self.arguments().iter().map(String::as_str).filter(|word| !word.starts_with('-'))
    }

    /// The operands from the verb on: what stands before it says where, not what.
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

    /// The script of `bash -c …` and `eval …`.
    pub fn script(&self) -> Option<&str> {
        match self.program.as_str() {
            "bash" | "sh" | "dash" | "zsh" => {
                let at = self.words.iter().position(|word| {
                    word.starts_with('-') && !word.starts_with("--") && word.ends_with('c')
                })?;
                self.words.get(at + 1).map(String::as_str)
            }
            "eval" if self.words.len() == 2 => self.words.get(1).map(String::as_str),
            _ => None,
        }
    }

    /// Whether its success means nothing.
    pub fn is_toothless(&self) -> bool {
        let inline = matches!(self.program.as_str(), "python" | "python3" | "node" | "perl" | "ruby" | "php");
        if inline && let Some(code) = self.inline_code() {
            let teeth = [
                "assert", "raise", "throw", "exit(1", "exit 1", "die", "open(", "read", "require(", "import",
            ];
            return !teeth.iter().any(|word| code.contains(word));
        }
        self.program.is_empty() || TOOTHLESS.contains(&self.program.as_str()) || self.asks_for_help()
    }

    fn asks_for_help(&self) -> bool {
        self.words.len() == 2
            && matches!(self.words[1].as_str(), "--version" | "--help" | "-V" | "version" | "help")
    }

    fn inline_code(&self) -> Option<&str> {
        let at = self.words.iter().position(|word| word == "-c" || word == "-e")?;
        self.words.get(at + 1).map(String::as_str)
    }

    /// Files that it writes by its own arguments.
    pub fn writes(&self) -> Vec<String> {
        let operands = || self.operands().map(str::to_owned);
        match self.program.as_str() {
            "tee" | "touch" | "truncate" => operands().collect(),
            "cp" | "mv" | "ln" | "install" => operands().last().into_iter().collect(),
            "sed" | "perl" if self.arguments().iter().any(|word| word.starts_with("-i") || word == "-pi") => {
                operands().skip(1).collect()
            }
            "dd" => self.operands().filter_map(|word| word.strip_prefix("of=")).map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    }
}

/// Where the program stands that is really meant.
fn unwrap(words: &[String]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let name = base_name(word);
        let next = words.get(at + 1).map(String::as_str);
        if WRAPPERS.contains(&name) && next.is_some() {
            at = skip_options(words, at + 1, name);
        } else if RUNNERS.iter().any(|(program, verb)| name == *program && next == Some(*verb))
            && words.len() > at + 2
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

fn skip_options(words: &[String], start: usize, wrapper: &str) -> usize {
    let mut at = start;
    let mut seconds = matches!(wrapper, "timeout" | "gtimeout");
    while let Some(word) = words.get(at) {
        let takes_value =
            matches!(word.as_str(), "-k" | "-s" | "-u" | "-n" | "-g" | "-p" | "--signal" | "--kill-after");
        let is_assignment = word.contains('=') && !word.starts_with(['/', '.']);
        if word.starts_with('-') && takes_value && wrapper != "npx" {
            at += 2;
        } else if word.starts_with('-') || (is_assignment && wrapper == "env") {
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

/// What is known about the status of a command before it runs.
pub(super) fn known_status(call: &Call, words: &[Word]) -> Status {
    let constant = words.iter().all(|word| !word.expands);
    match call.program.as_str() {
        "true" | ":" | "echo" | "printf" | "sleep" | "date" | "export" | "set" | "trap" | "shopt" | "pwd" => {
            Status::Ok
        }
        "false" => Status::Fail,
        "exit" | "return" => match call.words.get(1).map(String::as_str) {
            Some("0") => Status::Exit(true),
            Some(_) if constant => Status::Exit(false),
            _ => Status::Unknown,
        },
        "test" | "[" | "[[" if constant => known_test(call.arguments()),
        "grep" if call.has("") => Status::Ok,
        "diff" | "cmp" => same_operands(call),
        _ if call.is_toothless() && call.words.len() == 1 => Status::Ok,
        _ if call.is_toothless() && call.has("/dev/null") => Status::Ok,
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
