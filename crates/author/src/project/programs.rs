//! Programs that a project makes, so that a gate can run them from their sources.

use serde_json::Value as Json;

use crate::{
    brief::{ProgramStart, ProjectKind, ProjectProgram},
    project::ProjectFiles,
};

/// The programs of a project. Names without a program of the project are looked for in PATH.
pub(super) fn programs(kind: ProjectKind, files: &dyn ProjectFiles) -> Vec<ProjectProgram> {
    match kind {
        ProjectKind::Cargo => cargo(files),
        ProjectKind::Npm => npm(files),
        ProjectKind::Pytest | ProjectKind::Unittest => python(files),
        ProjectKind::Go => go(files),
        ProjectKind::Make | ProjectKind::Unknown => Vec::new(),
    }
}

fn program(name: &str, start: ProgramStart, found_in: &str) -> ProjectProgram {
    ProjectProgram { name: name.to_owned(), start, found_in: found_in.to_owned() }
}

/// The tables of a TOML text: their names and the lines below them. Enough for names of packages, programs and scripts.
fn tables(text: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut tables = vec![(String::new(), Vec::new())];
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            let name = name.split(']').next().unwrap_or_default().trim_start_matches('[');
            tables.push((name.trim().to_owned(), Vec::new()));
        } else if let (Some((key, value)), false) = (line.split_once('='), line.starts_with('#')) {
            let value = value.trim();
            let value = value
                .strip_prefix(['"', '\''])
                .map_or(value, |rest| rest.split(['"', '\'']).next().unwrap_or_default());
            if let Some((_, values)) = tables.last_mut() {
                values.push((key.trim().trim_matches(['"', '\'']).to_owned(), value.to_owned()));
            }
        }
    }
    tables
}

fn value<'a>(values: &'a [(String, String)], key: &str) -> Option<&'a str> {
    values.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
}

/// `[[bin]]` tables, and the package with a `src/main.rs`.
fn cargo(files: &dyn ProjectFiles) -> Vec<ProjectProgram> {
    let tables = tables(&files.text("Cargo.toml").unwrap_or_default());
    let of = |name: &'static str| tables.iter().filter(move |(known, _)| known == name);
    let mut names: Vec<String> =
        of("bin").filter_map(|(_, values)| value(values, "name")).map(str::to_owned).collect();
    let package = of("package").find_map(|(_, values)| value(values, "name"));
    if let Some(name) = package.filter(|_| files.is_file("src/main.rs")) {
        // a `[[bin]]` with this path renames it
        let is_renamed = of("bin").any(|(_, values)| value(values, "path") == Some("src/main.rs"));
        if !is_renamed && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names.iter().map(|bin| program(bin, ProgramStart::Cargo { bin: bin.clone() }, "Cargo.toml")).collect()
}

/// `bin` of the package: a map, or one script with the name of the package.
fn npm(files: &dyn ProjectFiles) -> Vec<ProjectProgram> {
    let package: Json =
        files.text("package.json").and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let start = |script: &str| ProgramStart::Node { script: script.trim_start_matches("./").to_owned() };
    match &package["bin"] {
        Json::Object(scripts) => {
            let scripts = scripts.iter().filter_map(|(name, script)| Some((name, script.as_str()?)));
            scripts.map(|(name, script)| program(name, start(script), "package.json")).collect()
        }
        Json::String(script) => {
            let name = package["name"].as_str().unwrap_or_default();
            let name = name.rsplit('/').next().unwrap_or_default();
            if name.is_empty() { Vec::new() } else { vec![program(name, start(script), "package.json")] }
        }
        _ => Vec::new(),
    }
}

/// `[project.scripts]` and `[tool.poetry.scripts]`: `name = "module:function"`.
fn python(files: &dyn ProjectFiles) -> Vec<ProjectProgram> {
    let tables = tables(&files.text("pyproject.toml").unwrap_or_default());
    let scripts =
        tables.iter().filter(|(name, _)| name == "project.scripts" || name == "tool.poetry.scripts");
    let starts = scripts.flat_map(|(_, values)| values).filter_map(|(name, target)| {
        let (module, function) = target.split_once(':')?;
        let start = ProgramStart::Python { module: module.to_owned(), function: function.to_owned() };
        Some(program(name, start, "pyproject.toml"))
    });
    starts.collect()
}

/// The module with a `main.go` at its root, or below `cmd/NAME`.
fn go(files: &dyn ProjectFiles) -> Vec<ProjectProgram> {
    let text = files.text("go.mod").unwrap_or_default();
    let module = text.lines().find_map(|line| line.strip_prefix("module ")).unwrap_or_default().trim();
    let name = module.rsplit('/').next().unwrap_or_default();
    let packages = [("main.go", "."), (&format!("cmd/{name}/main.go"), &format!("cmd/{name}"))];
    let found = packages.iter().find(|(file, _)| files.is_file(file)).filter(|_| !name.is_empty());
    found
        .map(|(_, package)| program(name, ProgramStart::Go { package: (*package).to_owned() }, "go.mod"))
        .into_iter()
        .collect()
}

/// A program of the project that a command names by its path, or that lies at the root or in `bin`.
pub(crate) fn by_file(name: &str, files: &dyn ProjectFiles) -> Option<ProjectProgram> {
    let places = [name.to_owned(), format!("bin/{name}")];
    let is_name = !name.is_empty() && !name.starts_with(['/', '~', '-', '.']) && !name.contains("..");
    let path = places.into_iter().find(|path| is_name && files.is_program(path))?;
    (!name.contains('/')).then(|| program(name, ProgramStart::File { path: path.clone() }, &path))
}
