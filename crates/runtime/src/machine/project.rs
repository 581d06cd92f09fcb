//! What a project is, according to its files, and the commands that build and test it. Never runs them.

use std::{fs, path::Path};

use serde_json::Value as Json;

/// What npm writes into a new package instead of a test.
const NO_TEST: &str = "no test specified";

/// A project, according to its files.
#[derive(Debug, PartialEq, Eq)]
pub struct Project {
    /// The tool that builds it.
    pub kind: &'static str,
    /// The reason for the kind and the commands.
    pub reason: String,
    /// Names and commands of the steps.
    pub steps: Vec<(&'static str, String)>,
}

/// The project in a directory; the most specific kind wins.
pub fn look(dir: &Path) -> Project {
    [cargo, npm, python, go, make].iter().find_map(|kind| kind(dir)).unwrap_or_else(|| Project {
        kind: "unknown",
        reason:
            "found no Cargo.toml, package.json, pyproject.toml, go.mod or Makefile, so this is a placeholder: \
                 replace its command"
                .to_owned(),
        steps: vec![("hello", "echo \"Hello from $(basename \"$PWD\")\"".to_owned())],
    })
}

fn project<const N: usize>(kind: &'static str, reason: &str, steps: [(&'static str, &str); N]) -> Project {
    let steps = steps.into_iter().map(|(id, command)| (id, command.to_owned())).collect();
    Project { kind, reason: reason.to_owned(), steps }
}

fn has(dir: &Path, name: &str) -> bool {
    dir.join(name).exists()
}

fn text(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).unwrap_or_default()
}

fn cargo(dir: &Path) -> Option<Project> {
    let reason = "Cargo.toml is here, so Cargo builds and tests this project";
    has(dir, "Cargo.toml")
        .then(|| project("Cargo", reason, [("build", "cargo build"), ("test", "cargo test")]))
}

fn go(dir: &Path) -> Option<Project> {
    let reason = "go.mod is here, so the go command builds and tests this project";
    has(dir, "go.mod")
        .then(|| project("Go", reason, [("build", "go build ./..."), ("test", "go test ./...")]))
}

/// The steps are the scripts that exist; npm's placeholder for a missing test does not count.
fn npm(dir: &Path) -> Option<Project> {
    let package: Json = serde_json::from_str(&text(dir, "package.json")).ok()?;
    let tools = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn")];
    let tool = tools.iter().find(|(lock, _)| has(dir, lock)).map_or("npm", |(_, tool)| tool);
    let script = |name: &str| package["scripts"][name].as_str().filter(|text| !text.contains(NO_TEST));
    let mut steps = vec![("install", format!("{tool} install"))];
    steps.extend(script("build").map(|_| ("build", format!("{tool} run build"))));
    steps.extend(script("test").map(|_| ("test", format!("{tool} test"))));
    let found: Vec<&str> = steps[1..].iter().map(|(id, _)| *id).collect();
    let scripts = if found.is_empty() { "neither build nor test".to_owned() } else { found.join(" and ") };
    let reason = format!("package.json is here and has {scripts} among its scripts, so {tool} runs them");
    Some(Project { kind: "npm", reason, steps })
}

/// pytest if a file mentions it; otherwise Python's own test runner.
fn python(dir: &Path) -> Option<Project> {
    let files = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"];
    let found = files.iter().find(|name| has(dir, name))?;
    let more = ["requirements-dev.txt", "tox.ini"];
    let pytest = has(dir, "pytest.ini")
        || has(dir, "conftest.py")
        || files.iter().chain(&more).any(|name| text(dir, name).contains("pytest"));
    let (test, why) = match pytest {
        true => ("python3 -m pytest", "pytest is mentioned"),
        false => ("python3 -m unittest discover", "pytest is not mentioned anywhere"),
    };
    let reason = format!("{found} is here, so this is a Python project; {why}");
    let build = "python3 -m compileall -q -x '/\\.' .";
    Some(project("Python", &reason, [("build", build), ("test", test)]))
}

/// The default target, and `test` or `check` if the file has one.
fn make(dir: &Path) -> Option<Project> {
    let name = ["GNUmakefile", "makefile", "Makefile"].into_iter().find(|name| has(dir, name))?;
    let text = text(dir, name);
    let has_target = |target: &&&str| {
        text.lines().any(|line| {
            let rule = line.split_once(':').filter(|(_, rest)| !rest.starts_with('='));
            rule.is_some_and(|(names, _)| {
                !line.starts_with('\t') && names.split_whitespace().any(|name| name == **target)
            })
        })
    };
    let test = ["test", "check"].iter().find(has_target);
    let mut steps = vec![("build", "make".to_owned())];
    steps.extend(test.map(|target| ("test", format!("make {target}"))));
    let reason = match test {
        Some(target) => format!("{name} is here and has the target `{target}`"),
        None => {
            format!("{name} is here; it has neither a `test` nor a `check` target, so nothing tests it yet")
        }
    };
    Some(Project { kind: "make", reason, steps })
}
