//! What the files of a project show: the commands that test, lint and build it, its programs and its rules.
//!
//! Never reads a file itself: the caller passes in [`ProjectFiles`]. Every file that is read is recorded with its digest.

mod programs;

pub(crate) use programs::by_file;

use std::{cell::RefCell, collections::BTreeMap};

pub use engine::project::ProjectFiles;
use engine::project::look;
use serde_json::Value as Json;

use crate::{
    brief::{FileDigest, FoundCommand, ProjectFacts, ProjectKind},
    digest::sha256,
};

/// Files with rules for agents and people.
const RULES: &[&str] = &["AGENTS.md", "CLAUDE.md", "CONTRIBUTING.md"];

/// Reads the project. `git` says whether it is in a git work tree.
pub(crate) fn facts(files: &dyn ProjectFiles, git: bool) -> ProjectFacts {
    let recorder = Recorder { files, read: RefCell::new(BTreeMap::new()) };
    let found = look(&recorder);
    let step = |id: &str| {
        let step = found.steps.iter().find(|(known, _)| *known == id).filter(|_| found.kind != "unknown");
        step.map(|(_, command)| FoundCommand { command: command.clone(), found_in: found.file.to_owned() })
    };
    let kind = match found.kind {
        "Cargo" => ProjectKind::Cargo,
        "npm" => ProjectKind::Npm,
        "Python" if step("test").is_some_and(|test| test.command.contains("pytest")) => ProjectKind::Pytest,
        "Python" => ProjectKind::Unittest,
        "Go" => ProjectKind::Go,
        "make" => ProjectKind::Make,
        _ => ProjectKind::Unknown,
    };
    let [lint, types, format] = more_checks(kind, found.file, &recorder);
    let programs = programs::programs(kind, &recorder);
    let rules = RULES.iter().filter_map(|path| digest(*path, files.text(path)?)).collect();
    let read = recorder.read.into_inner().into_iter().filter_map(|(path, text)| digest(path, text)).collect();
    ProjectFacts {
        kind,
        git,
        test: step("test"),
        lint,
        types,
        build: step("build"),
        format,
        programs,
        rules,
        read,
    }
}

fn digest(path: impl Into<String>, text: String) -> Option<FileDigest> {
    Some(FileDigest { path: path.into(), sha256: sha256(text.as_bytes()) })
}

/// Remembers the texts that were read.
struct Recorder<'a> {
    files: &'a dyn ProjectFiles,
    read: RefCell<BTreeMap<String, String>>,
}

impl ProjectFiles for Recorder<'_> {
    fn text(&self, path: &str) -> Option<String> {
        let text = self.files.text(path)?;
        self.read.borrow_mut().insert(path.to_owned(), text.clone());
        Some(text)
    }

    fn is_file(&self, path: &str) -> bool {
        self.files.is_file(path)
    }

    fn is_folder(&self, path: &str) -> bool {
        self.files.is_folder(path)
    }

    fn is_program(&self, path: &str) -> bool {
        self.files.is_program(path)
    }
}

/// The commands that lint, check types and check the format.
fn more_checks(kind: ProjectKind, file: &str, files: &dyn ProjectFiles) -> [Option<FoundCommand>; 3] {
    let found = |command: &str, file: &str| {
        Some(FoundCommand { command: command.to_owned(), found_in: file.to_owned() })
    };
    match kind {
        ProjectKind::Cargo => [
            found("cargo clippy --all-targets -- -D warnings", file),
            found("cargo check --all-targets", file),
            found("cargo fmt --check", file),
        ],
        ProjectKind::Go => [
            found("go vet ./...", file),
            found("go build ./...", file),
            found("test -z \"$(gofmt -l .)\"", file),
        ],
        ProjectKind::Npm => {
            let names: [&[&str]; 3] =
                [&["lint"], &["typecheck", "type-check", "types"], &["format:check", "format"]];
            names.map(|names| script(names, files))
        }
        ProjectKind::Pytest | ProjectKind::Unittest => [
            tool(
                &["ruff", "flake8"],
                &[("ruff", "python3 -m ruff check ."), ("flake8", "python3 -m flake8")],
                files,
            ),
            tool(&["mypy", "pyright"], &[("mypy", "python3 -m mypy ."), ("pyright", "pyright")], files),
            tool(&["black"], &[("black", "python3 -m black --check .")], files),
        ],
        ProjectKind::Make => [target("lint", file, files), target("types", file, files), None],
        ProjectKind::Unknown => [None, None, None],
    }
}

/// The script of a package with one of these names.
fn script(names: &[&str], files: &dyn ProjectFiles) -> Option<FoundCommand> {
    let package: Json = serde_json::from_str(&files.text("package.json")?).ok()?;
    let name = names.iter().find(|name| package["scripts"][**name].is_string())?;
    let locks = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn")];
    let tool = locks.iter().find(|(lock, _)| files.is_file(lock)).map_or("npm", |(_, tool)| tool);
    Some(FoundCommand { command: format!("{tool} run {name}"), found_in: "package.json".to_owned() })
}

/// A tool that the files of a Python project mention.
fn tool(names: &[&str], commands: &[(&str, &str)], files: &dyn ProjectFiles) -> Option<FoundCommand> {
    let sources = ["pyproject.toml", "setup.cfg", "requirements-dev.txt", "requirements.txt", "tox.ini"];
    let mentions =
        |name: &str| sources.iter().find(|file| files.text(file).is_some_and(|text| text.contains(name)));
    names.iter().find_map(|name| {
        let file = mentions(name)?;
        let (_, command) = commands.iter().find(|(known, _)| known == name)?;
        Some(FoundCommand { command: (*command).to_owned(), found_in: (*file).to_owned() })
    })
}

/// A target of a makefile.
fn target(name: &str, file: &str, files: &dyn ProjectFiles) -> Option<FoundCommand> {
    let text = files.text(file)?;
    let is_there = text
        .lines()
        .any(|line| line.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with(':')));
    is_there.then(|| FoundCommand { command: format!("make {name}"), found_in: file.to_owned() })
}
