//! What a project is, according to its files, and the commands that build and test it.
//!
//! Never runs them, and reads files only through what the caller passes in.

use serde_json::Value as Json;

/// What npm writes into a new package instead of a test.
const NO_TEST: &str = "no test specified";

/// The files of a project. Paths are relative to it, with `/`.
pub trait ProjectFiles {
    /// The text of a file, unless it is missing or not text.
    fn text(&self, path: &str) -> Option<String>;
    /// Whether there is a file.
    fn is_file(&self, path: &str) -> bool;
    /// Whether there is a folder.
    fn is_folder(&self, path: &str) -> bool;
    /// Whether there is a file that can be executed.
    fn is_program(&self, path: &str) -> bool;
}

/// A project, according to its files.
#[derive(Debug, PartialEq, Eq)]
pub struct Project {
    /// The tool that builds it.
    pub kind: &'static str,
    /// The reason for the kind and the commands.
    pub reason: String,
    /// Names and commands of the steps.
    pub steps: Vec<(&'static str, String)>,
    /// The file that the kind and the commands come from; empty if there is none.
    pub file: &'static str,
}

/// The project of these files; the most specific kind wins.
pub fn look(files: &dyn ProjectFiles) -> Project {
    [cargo, npm, python, go, make].iter().find_map(|kind| kind(files)).unwrap_or_else(|| Project {
        kind: "unknown",
        reason:
            "found no Cargo.toml, package.json, pyproject.toml, go.mod or Makefile, so this is a placeholder: \
                 replace its command"
                .to_owned(),
        steps: vec![("hello", "echo \"Hello from $(basename \"$PWD\")\"".to_owned())],
        file: "",
    })
}

fn project<const N: usize>(
    kind: &'static str,
    file: &'static str,
    reason: &str,
    steps: [(&'static str, &str); N],
) -> Project {
    let steps = steps.into_iter().map(|(id, command)| (id, command.to_owned())).collect();
    Project { kind, reason: reason.to_owned(), steps, file }
}

fn text(files: &dyn ProjectFiles, name: &str) -> String {
    files.text(name).unwrap_or_default()
}

fn cargo(files: &dyn ProjectFiles) -> Option<Project> {
    let reason = "Cargo.toml is here, so Cargo builds and tests this project";
    files
        .is_file("Cargo.toml")
        .then(|| project("Cargo", "Cargo.toml", reason, [("build", "cargo build"), ("test", "cargo test")]))
}

fn go(files: &dyn ProjectFiles) -> Option<Project> {
    let reason = "go.mod is here, so the go command builds and tests this project";
    files
        .is_file("go.mod")
        .then(|| project("Go", "go.mod", reason, [("build", "go build ./..."), ("test", "go test ./...")]))
}

/// The steps are the scripts that exist; npm's placeholder for a missing test does not count.
fn npm(files: &dyn ProjectFiles) -> Option<Project> {
    let package: Json = serde_json::from_str(&text(files, "package.json")).ok()?;
    let tools = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn")];
    let tool = tools.iter().find(|(lock, _)| files.is_file(lock)).map_or("npm", |(_, tool)| tool);
    let script = |name: &str| package["scripts"][name].as_str().filter(|text| !text.contains(NO_TEST));
    let mut steps = vec![("install", format!("{tool} install"))];
    steps.extend(script("build").map(|_| ("build", format!("{tool} run build"))));
    steps.extend(script("test").map(|_| ("test", format!("{tool} test"))));
    let found: Vec<&str> = steps[1..].iter().map(|(id, _)| *id).collect();
    let scripts = if found.is_empty() { "neither build nor test".to_owned() } else { found.join(" and ") };
    let reason = format!("package.json is here and has {scripts} among its scripts, so {tool} runs them");
    Some(Project { kind: "npm", reason, steps, file: "package.json" })
}

/// pytest if a file mentions it; otherwise Python's own test runner.
fn python(files: &dyn ProjectFiles) -> Option<Project> {
    let names = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"];
    let found = names.iter().find(|name| files.is_file(name))?;
    let more = ["requirements-dev.txt", "tox.ini"];
    let pytest = files.is_file("pytest.ini")
        || files.is_file("conftest.py")
        || names.iter().chain(&more).any(|name| text(files, name).contains("pytest"));
    let (test, why) = match pytest {
        true => ("python3 -m pytest", "pytest is mentioned"),
        false => ("python3 -m unittest discover", "pytest is not mentioned anywhere"),
    };
    let reason = format!("{found} is here, so this is a Python project; {why}");
    let build = "python3 -m compileall -q -x '/\\.' .";
    Some(project("Python", found, &reason, [("build", build), ("test", test)]))
}

/// The default target, and `test` or `check` if the file has one.
fn make(files: &dyn ProjectFiles) -> Option<Project> {
    let name = ["GNUmakefile", "makefile", "Makefile"].into_iter().find(|name| files.is_file(name))?;
    let text = text(files, name);
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
    Some(Project { kind: "make", reason, steps, file: name })
}
