//! One case of a test file, and the words for its parts.

use super::yaml::Yaml;

/// A case.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub name: String,
    pub env: Vec<(String, Yaml)>,
    pub files: Vec<(String, Yaml)>,
    pub setup: Option<String>,
    pub programs: Vec<(String, Yaml)>,
    pub stubs: Vec<(String, Yaml)>,
    pub answers: Vec<(String, Yaml)>,
    pub kill: Vec<Yaml>,
    pub expect: Vec<(String, Yaml)>,
}

impl Case {
    pub(super) fn new(name: impl Into<String>) -> Case {
        Case {
            name: name.into(),
            env: Vec::new(),
            files: Vec::new(),
            setup: None,
            programs: Vec::new(),
            stubs: Vec::new(),
            answers: Vec::new(),
            kill: Vec::new(),
            expect: Vec::new(),
        }
    }

    pub(super) fn stub(mut self, path: impl Into<String>, stub: Yaml) -> Case {
        let path = path.into();
        self.stubs.retain(|(known, _)| *known != path);
        self.stubs.push((path, stub));
        self
    }

    pub(super) fn expect(mut self, key: &str, value: Yaml) -> Case {
        self.expect.push((key.to_owned(), value));
        self
    }

    pub(super) fn exit(self, code: i32) -> Case {
        self.expect("exit", Yaml::raw(code))
    }

    /// The status of steps.
    pub(super) fn steps(self, steps: &[(String, &str)]) -> Case {
        let steps = steps.iter().map(|(path, status)| (path.clone(), Yaml::text(*status)));
        self.expect("steps", Yaml::map(steps.collect::<Vec<_>>()))
    }

    /// Steps that must not start.
    pub(super) fn never(self, paths: &[String]) -> Case {
        if paths.is_empty() { self } else { self.expect("never", Yaml::texts(paths)) }
    }

    /// The case as YAML.
    pub(super) fn yaml(self) -> Yaml {
        let mut entries = vec![("name".to_owned(), Yaml::Text(self.name))];
        entries.extend(map("env", self.env));
        entries.extend(map("files", self.files));
        entries.extend(self.setup.map(|setup| ("setup".to_owned(), Yaml::Text(setup))));
        entries.extend(map("programs", self.programs));
        entries.extend(map("stubs", self.stubs));
        entries.extend(map("answers", self.answers));
        if !self.kill.is_empty() {
            entries.push(("kill".to_owned(), Yaml::List(self.kill)));
        }
        entries.extend(map("expect", self.expect));
        Yaml::Map(entries)
    }
}

fn map(key: &str, entries: Vec<(String, Yaml)>) -> Option<(String, Yaml)> {
    (!entries.is_empty()).then(|| (key.to_owned(), Yaml::Map(entries)))
}

/// An answer of an agent that changes files.
pub(super) fn edit(files: &[(String, String)]) -> Yaml {
    let mut entries = vec![("answer", Yaml::text("done"))];
    if !files.is_empty() {
        let files = files.iter().map(|(path, text)| (path.clone(), Yaml::text(text.clone())));
        entries.push(("files", Yaml::map(files.collect::<Vec<_>>())));
    }
    Yaml::map(entries)
}

/// A verdict of a reviewer.
pub(super) fn verdict(word: &str) -> Yaml {
    let findings = match word {
        "NO_ISSUES_FOUND" => Vec::new(),
        _ => vec![Yaml::map([("problem", Yaml::text("the first finding"))])],
    };
    Yaml::map([("json", Yaml::map([("verdict", Yaml::text(word)), ("findings", Yaml::List(findings))]))])
}

/// The end of a command.
pub(super) fn bash(stdout: &str, exit: i32) -> Yaml {
    let mut entries = Vec::new();
    if !stdout.is_empty() {
        entries.push(("stdout", Yaml::text(stdout)));
    }
    if exit != 0 || stdout.is_empty() {
        entries.push(("exit", Yaml::raw(exit)));
    }
    Yaml::map(entries)
}

/// The same stub, which may stay unused.
pub(super) fn optional(stub: Yaml) -> Yaml {
    match stub {
        Yaml::Map(mut entries) => {
            entries.push(("optional".to_owned(), Yaml::raw("true")));
            Yaml::Map(entries)
        }
        other => other,
    }
}
