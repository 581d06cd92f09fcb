//! The world around a gate in a test: programs that answer instead of the real ones, and files.

use crate::{
    brief::{Brief, ProgramStart},
    writing::{shell, tracks},
};

/// How a gate is tried in the tests of a recipe.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Trial {
    /// Only as a whole: the programs that it runs cannot be replaced.
    Whole,
    /// For real, with results that are right and wrong.
    Scenes { right: Scene, wrong: Vec<Scene> },
    /// A person is asked.
    Person,
}

/// Programs and files around a gate.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scene {
    pub title: String,
    pub programs: Vec<FakeProgram>,
    /// Files; `None` is absent.
    pub files: Vec<(String, Option<String>)>,
    /// Files that can be executed.
    pub executables: Vec<String>,
    /// The first edit checks the same and fails before the gate is reached.
    pub fails_earlier: bool,
}

/// A program that answers instead of the real one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FakeProgram {
    pub name: String,
    pub reply: FakeReply,
}

/// What a program answers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FakeReply {
    /// A pattern for each argument; none: every call.
    pub args: Option<Vec<String>>,
    pub stdout: String,
    pub stderr: String,
    pub exit: i32,
}

impl Scene {
    pub(crate) fn named(title: &str) -> Scene {
        Scene { title: title.to_owned(), ..Scene::default() }
    }

    pub(crate) fn file(mut self, path: &str, text: &str) -> Scene {
        self.files.push((path.to_owned(), Some(text.to_owned())));
        self
    }

    pub(crate) fn absent(mut self, path: &str) -> Scene {
        self.files.push((path.to_owned(), None));
        self
    }

    pub(crate) fn program(mut self, name: &str, reply: FakeReply) -> Scene {
        self.programs.push(FakeProgram { name: name.to_owned(), reply });
        self
    }

    /// The program that a command calls answers like this; none if it cannot be replaced.
    pub(crate) fn answer(self, brief: &Brief, command: &str, reply: FakeReply) -> Option<Scene> {
        let mut found = stand_ins(brief, command)?;
        let one = found.pop().filter(|_| found.is_empty())?;
        Some(self.stand_in(one, reply).folders(command))
    }

    /// All programs that a check calls answer like this.
    fn answers(self, brief: &Brief, command: &str, reply: &FakeReply) -> Option<Scene> {
        let found = stand_ins(brief, command)?;
        Some(found.into_iter().fold(self, |scene, one| scene.stand_in(one, reply.clone())).folders(command))
    }

    fn stand_in(self, one: StandIn, reply: FakeReply) -> Scene {
        match one {
            StandIn::Program { name, args } => self.program(&name, FakeReply { args, ..reply }),
            StandIn::Script(path) => {
                let mut scene = self.file(&path, &script(&reply));
                scene.executables.push(path);
                scene
            }
        }
    }

    /// The folders that a command changes to.
    fn folders(self, command: &str) -> Scene {
        let commands = shell::simple_commands(command);
        let entered = commands.iter().filter(|words| words.first().is_some_and(|word| word == "cd"));
        let folders: Vec<String> = entered.filter_map(|words| words.get(1).cloned()).collect();
        let is_relative = |folder: &&String| !folder.starts_with('/') && !folder.contains(['$', '~']);
        folders.iter().filter(is_relative).fold(self, |scene, folder| {
            scene.file(&format!("{}/.keep", relative(folder).trim_end_matches('/')), "")
        })
    }
}

/// A bash script that answers like this.
fn script(reply: &FakeReply) -> String {
    let mut text = String::from("#!/bin/bash\n");
    if !reply.stdout.is_empty() {
        text.push_str(&format!("printf '%s' {}\n", shell::quote(&reply.stdout)));
    }
    if !reply.stderr.is_empty() {
        text.push_str(&format!("printf '%s' {} >&2\n", shell::quote(&reply.stderr)));
    }
    text.push_str(&format!("exit {}\n", reply.exit));
    text
}

/// What takes the place of the program that a command calls.
#[derive(Debug, PartialEq)]
enum StandIn {
    Program { name: String, args: Option<Vec<String>> },
    Script(String),
}

/// Programs of every machine: they are what they are, in tests too.
const BASIC: [&str; 44] = [
    ".", ":", "[", "[[", "awk", "basename", "bash", "cat", "cd", "chmod", "cmp", "cp", "cut", "date", "diff",
    "dirname", "echo", "env", "export", "false", "find", "git", "grep", "head", "ls", "mkdir", "mktemp",
    "mv", "printf", "pwd", "rm", "sed", "seq", "set", "sh", "sleep", "sort", "tail", "tar", "test", "tr",
    "true", "uniq", "wc",
];

/// What takes the place of each program that a command calls; none if one of them cannot be replaced.
fn stand_ins(brief: &Brief, command: &str) -> Option<Vec<StandIn>> {
    let mut found = Vec::new();
    for words in shell::simple_commands(command) {
        let name = words.first().map_or(":", String::as_str);
        let is_script = matches!(name, "bash" | "sh");
        if BASIC.contains(&name) && !is_script {
            continue;
        }
        found.push(stand_in(brief, name, &words)?);
    }
    (!found.is_empty()).then_some(found)
}

fn stand_in(brief: &Brief, name: &str, words: &[String]) -> Option<StandIn> {
    if let Some(program) = brief.project.programs.iter().find(|program| program.name == name) {
        return Some(started(&program.start));
    }
    if name.contains('/') {
        return (!name.starts_with('/')).then(|| StandIn::Script(relative(name)));
    }
    if matches!(name, "bash" | "sh") {
        let script = words.get(1).filter(|word| !word.starts_with('-') && !word.starts_with('/'))?;
        return Some(StandIn::Script(relative(script)));
    }
    if name.contains(['$', '`', '=', '(']) {
        return None;
    }
    let is_literal = words.iter().all(|word| !word.contains(['$', '`', '*', '?', '{', '~']));
    let args = is_literal.then(|| words[1..].to_vec());
    Some(StandIn::Program { name: name.to_owned(), args })
}

fn started(start: &ProgramStart) -> StandIn {
    let program = |name: &str, first: &str| StandIn::Program {
        name: name.to_owned(),
        args: Some(vec![first.to_owned(), "**".to_owned()]),
    };
    match start {
        ProgramStart::Cargo { .. } => program("cargo", "run"),
        ProgramStart::Node { script } => program("node", &format!("*{}", relative(script))),
        ProgramStart::Python { .. } => program("python3", "-c"),
        ProgramStart::Go { .. } => program("go", "run"),
        ProgramStart::File { path } => StandIn::Script(relative(path)),
    }
}

fn relative(path: &str) -> String {
    path.trim_start_matches("./").to_owned()
}

/// A check of the project that succeeds or fails as a whole.
pub(super) fn of_check(brief: &Brief, command: &str) -> Trial {
    let right = Scene::named("it passes").answers(brief, command, &FakeReply::default());
    let failure = FakeReply { stdout: "1 failed\n".to_owned(), exit: 1, ..FakeReply::default() };
    let wrong = Scene::named("it fails").answers(brief, command, &failure);
    match (right, wrong) {
        (Some(right), Some(mut wrong)) => {
            wrong.fails_earlier = tracks::checks(brief).iter().any(|check| check == command);
            Trial::Scenes { right, wrong: vec![wrong] }
        }
        _ => Trial::Whole,
    }
}

/// The stand-in of a command that succeeds, for the world of every case.
pub(crate) fn succeeding(brief: &Brief, command: &str) -> Option<Scene> {
    Scene::named("").answers(brief, command, &FakeReply::default())
}
