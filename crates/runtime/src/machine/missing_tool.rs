//! Finds the tool that a shell did not find: from its message, otherwise from the script's commands that do not exist.
//!
//! Never runs anything, and names no tool that the script itself may have brought.

use std::{collections::HashSet, path::PathBuf, sync::Arc};

use engine::{knowledge::Knowledge, run::cause::MissingProgram};
use recipe::shell::syntax::{self, CommandKind, CommandList, ShellCommand, ShellWord};

use crate::{machine::programs::is_program, os::environment::Environment};

/// Where a shell searches for programs.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// Its working directory.
    pub cwd: PathBuf,
    /// Its environment.
    pub env: Arc<Environment>,
}

/// What a script with exit code 127 and this output did not find. A failed `${NAME:?…}` exits with 127 too, and has its
/// own message.
pub fn missing_program(script: &str, said: &str, lookup: &Lookup) -> Option<MissingProgram> {
    let of_shells = || said.lines().filter(|line| is_of_shell(line));
    if let Some(script) = named(of_shells(), &[": cannot execute: required file not found"]) {
        return Some(MissingProgram::Interpreter(script));
    }
    let told = named(said.lines(), &[": command not found"])
        .or_else(|| named(of_shells(), &[": No such file or directory", ": not found"]));
    let tools = match told {
        Some(tool) => vec![tool],
        // the shell's own complaint is the reason
        None if of_shells().next().is_some() => Vec::new(),
        None => absent(script, lookup),
    };
    match tools.is_empty() {
        false => Some(MissingProgram::Named(tools)),
        true => said.trim().is_empty().then_some(MissingProgram::Unnamed),
    }
}

/// Whether a line comes from a shell, or from a program that starts others.
fn is_of_shell(line: &str) -> bool {
    let speaker = line.split(": ").next().unwrap_or_default();
    let name = speaker.rsplit('/').next().unwrap_or_default();
    let knowledge = Knowledge::built_in();
    knowledge.is_shell(name) || knowledge.is_wrapper(name) || name == "make" || line.contains(": line ")
}

/// The subject of the last of these lines that has one of these endings.
fn named<'a>(lines: impl Iterator<Item = &'a str>, endings: &[&str]) -> Option<String> {
    let cut = |line: &'a str| endings.iter().find_map(|ending| line.split_once(ending));
    let (before, _) = lines.filter_map(cut).last()?;
    let said = before.rsplit(": ").next()?;
    let started =
        ["failed to run command ", "failed to execute "].iter().find_map(|how| said.strip_prefix(how));
    let tool = started.unwrap_or(said).trim_matches(['‘', '’', '\'', '"', ' ']);
    (!tool.is_empty()).then(|| tool.to_owned())
}

/// The commands of a script that are neither its functions, nor builtins, nor programs.
fn absent(script: &str, lookup: &Lookup) -> Vec<String> {
    let mut seen = ScriptCommands::default();
    match syntax::parse(script) {
        Some(list) => seen.list(&list),
        None => return Vec::new(),
    }
    if seen.is_open {
        return Vec::new();
    }
    let mut told = HashSet::new();
    let is_absent = |name: &&String| {
        let is_moved = seen.moves && name.contains('/') && !name.starts_with('/');
        !is_moved && !seen.functions.contains(*name) && !lookup.finds(name)
    };
    seen.programs.iter().filter(is_absent).filter(|name| told.insert(*name)).cloned().collect()
}

impl Lookup {
    fn finds(&self, name: &str) -> bool {
        if Knowledge::built_in().is_bash_word(name) || self.env.get(&format!("BASH_FUNC_{name}%%")).is_some()
        {
            return true;
        }
        if name.contains('/') {
            return self.cwd.join(name).exists();
        }
        let path = self.env.get("PATH").unwrap_or_default();
        std::env::split_paths(path).any(|dir| is_program(&self.cwd.join(dir).join(name)))
    }
}

/// Facts about the commands of a script.
#[derive(Default)]
struct ScriptCommands {
    programs: Vec<String>,
    functions: HashSet<String>,
    /// Whether it changes directories.
    moves: bool,
    /// Whether it may have commands that are not visible in it.
    is_open: bool,
}

impl ScriptCommands {
    fn list(&mut self, list: &CommandList) {
        list.visit(&mut |command: &ShellCommand| match &command.kind {
            CommandKind::Simple { assignments, words } => {
                self.is_open |= assignments.iter().any(|assignment| assignment.name == "PATH");
                self.simple(words);
            }
            CommandKind::Function { name, .. } => {
                self.functions.insert(name.clone());
            }
            _ => {}
        });
    }

    fn simple(&mut self, words: &[ShellWord]) {
        let texts: Vec<String> = words.iter().map(ShellWord::text).collect();
        let names =
            |at: usize, known: &[&str]| texts.get(at).is_some_and(|text| known.contains(&text.as_str()));
        let skipped = (0..texts.len()).take_while(|at| names(*at, &["exec", "command", "time"])).count();
        let Some(first) = words.get(skipped) else { return };
        self.moves |= names(skipped, &["cd", "pushd", "popd"]);
        self.is_open |= names(skipped, &[".", "source", "eval", "enable", "alias", "hash"])
            || (names(skipped, &["export", "declare", "typeset", "readonly"])
                && texts.iter().any(|text| sets_path(text)));
        let text = &texts[skipped];
        let is_known = first.is_literal() && !text.contains("{{") && !text.contains("}}");
        if is_known && !text.is_empty() && !text.starts_with('-') {
            self.programs.push(text.clone());
        }
    }
}

fn sets_path(text: &str) -> bool {
    text.starts_with("PATH=") || text.starts_with("PATH+=")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: &str, said: &str, expected: &str) {
        let env =
            vec![("PATH".into(), "/usr/bin:/bin".into()), ("BASH_FUNC_given%%".into(), "() { :; }".into())];
        let lookup = Lookup { cwd: "/".into(), env: Arc::new(Environment::from(env)) };
        let found = missing_program(script, said, &lookup);
        let told = engine::run::message::exit_code(127, found.as_ref());
        assert_eq!(told.strip_prefix("exit code 127").unwrap_or(&told), expected, "{script}");
    }

    #[test]
    fn a_tool_is_named_by_the_shell_or_by_the_script() {
        let named = ": `nosuchx` is not installed, or not in PATH";
        let unnamed = ": a program that it needs is not installed, or not in PATH";
        for (script, said, expected) in [
            ("nosuchx", "/bin/bash: line 1: nosuchx: command not found", named),
            ("x", "sh: 1: nosuchx: not found", named),
            (
                "timeout 5 nosuchx",
                "timeout: failed to run command ‘nosuchx’: No such file or directory",
                named,
            ),
            ("nohup nosuchx", "nohup: failed to run command 'nosuchx': No such file or directory", named),
            ("nice nosuchx", "nice: ‘nosuchx’: No such file or directory", named),
            ("xargs nosuchx", "xargs: nosuchx: No such file or directory", named),
            ("setsid nosuchx", "setsid: failed to execute nosuchx: No such file or directory", named),
            ("nosuchx 2>/dev/null", "", named),
            ("nosuchx 2>/dev/null", "a word of another command", named),
            ("echo hi | exec nosuchx a b 2>/dev/null", "", named),
            ("if true; then for i in 1 2; do x=$(nosuchx 2>&-) || exit 127; done; fi", "", named),
            ("f() { nosuchx; }; f 2>/dev/null", "", named),
            ("given; cat /etc/hosts; [ -e / ] && nosuchx 2>&-", "", named),
            ("nosuchx 2>&-; nosuchy 2>&-", "", ": `nosuchx`, `nosuchy` are not installed, or not in PATH"),
            ("./nosuch.sh 2>&-", "", ": `./nosuch.sh` is not installed, or not in PATH"),
            ("cd etc; ./nosuch.sh 2>&-", "", unnamed),
            ("exit 127", "", unnamed),
            ("$tool {{x}} 2>&-", "", unnamed),
            ("{{tool}} x 2>&-", "", unnamed),
            (". ./lib.sh; nosuchx 2>&-", "", unnamed),
            ("PATH=/opt/bin:$PATH; nosuchx 2>&-", "", unnamed),
            ("export PATH=/opt/bin; nosuchx 2>&-", "", unnamed),
            ("{{#if a}}nosuchx{{/if}} 2>&-", "", unnamed),
            ("cat in.txt || exit 127", "cat: in.txt: No such file or directory", ""),
            (": ${X:?need}; nosuchx", "/bin/bash: line 1: X: need", ""),
            (
                "./a",
                "/bin/bash: line 1: ./a: cannot execute: required file not found",
                ": the interpreter that the first line of `./a` names is not installed",
            ),
        ] {
            check(script, said, expected);
        }
    }
}
