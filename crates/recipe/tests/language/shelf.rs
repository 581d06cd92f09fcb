//! Recipes by name, held in memory, and the one way in which these tests look at a check.
//!
//! Never touches the file system.

use std::sync::Arc;

use recipe::{
    agent_ref::AgentRef,
    check::{self, Checked, Given, LoadError, Loaded, Loader},
    diagnostic::{Diagnostic, Severity},
    plan::Unit,
};

/// A recipe with one step that does nothing, to put fields around.
pub(crate) const STEP: &str = "name: r\nsteps:\n  - id: s\n    command: echo\n";

/// Files by path; `child` means `child.yaml` beside the file that names it, else at the top. The only agent file is the one named `known`.
pub(crate) struct Shelf(Vec<Loaded>);

impl Shelf {
    pub(crate) fn new(files: &[(&str, &str)]) -> Shelf {
        Shelf(files.iter().map(|(path, text)| file(path, text.as_bytes())).collect())
    }
}

fn file(path: &str, bytes: &[u8]) -> Loaded {
    Loaded { path: path.to_owned(), bytes: bytes.into() }
}

impl Loader for Shelf {
    fn recipe(&self, name: &str, from: &str) -> Result<Loaded, LoadError> {
        let beside = from.rsplit_once('/').map_or_else(String::new, |(folder, _)| format!("{folder}/"));
        let by_path = |path: String| self.0.iter().find(|file| file.path == path).cloned();
        let found = by_path(format!("{beside}{name}.yaml")).or_else(|| by_path(format!("{name}.yaml")));
        found.ok_or_else(|| LoadError::NotFound { searched: vec!["the shelf".to_owned()] })
    }

    fn agent(&self, reference: &AgentRef, _: &str) -> Option<Arc<str>> {
        (reference.name() == "known").then(|| "You know.".into())
    }

    fn recipe_names(&self) -> Vec<String> {
        self.0.iter().map(|file| file.path.trim_end_matches(".yaml").to_owned()).collect()
    }
}

/// Checks the first of several files, with context names given from outside.
pub(crate) fn check_files(files: &[(&str, &str)], given: &[&str]) -> Checked {
    let (path, text) = files[0];
    let names: Vec<String> = given.iter().map(|name| (*name).to_owned()).collect();
    let given = Given { names, ..Given::default() };
    check::check(file(path, text.as_bytes()), &Shelf::new(files), &given)
}

/// Checks a recipe with what is known from the command line.
pub(crate) fn check_given(text: &str, given: &Given) -> Checked {
    check::check(file("r.yaml", text.as_bytes()), &Shelf::new(&[("r.yaml", text)]), given)
}

/// Checks bytes that may not even be text.
pub(crate) fn check_bytes(bytes: &[u8]) -> Checked {
    check::check(file("r.yaml", bytes), &Shelf::new(&[]), &Given::default())
}

/// What was found, as `error field-typo 4:5`; in another file than the first `child.yaml:4:5`.
pub(crate) fn told(checked: &Checked) -> Vec<String> {
    checked.diagnostics.iter().map(|diagnostic| line(checked, diagnostic)).collect()
}

fn line(checked: &Checked, diagnostic: &Diagnostic) -> String {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let place = diagnostic.place.map_or_else(String::new, |place| {
        let at = checked.sources.line_column(place);
        let path = match place.file.0 {
            0 => String::new(),
            _ => format!("{}:", checked.sources.file(place.file).path),
        };
        format!(" {path}{}:{}", at.line, at.column)
    });
    format!("{severity} {}{place}", diagnostic.code.as_str())
}

/// Checks one recipe and compares everything that is told about it.
pub(crate) fn expect(yaml: &str, expected: &[&str]) {
    expect_files(&[("r.yaml", yaml)], &[], expected);
}

/// Checks the first of several recipes and compares everything that is told.
pub(crate) fn expect_files(files: &[(&str, &str)], given: &[&str], expected: &[&str]) {
    let checked = check_files(files, given);
    let all = told(&checked);
    let messages: Vec<&str> = checked.diagnostics.iter().map(|told| told.message.as_str()).collect();
    assert_eq!(all, expected, "\n{}\n{messages:#?}", files[0].1);
    let failed = expected.iter().any(|told| told.starts_with("error"));
    assert_eq!(checked.plan.is_none(), failed, "a plan exists exactly if there is no error");
}

/// The checked recipe of a text without errors.
pub(crate) fn unit(yaml: &str) -> Arc<Unit> {
    unit_of(&[("r.yaml", yaml)])
}

/// The first of several recipes, checked.
pub(crate) fn unit_of(files: &[(&str, &str)]) -> Arc<Unit> {
    let checked = check_files(files, &[]);
    assert!(checked.plan.is_some(), "{:#?}", checked.diagnostics);
    checked.plan.map(|plan| Arc::clone(plan.root())).unwrap_or_default()
}

/// A recipe whose step `s` has these fields; the first one stands at 4:5.
pub(crate) fn with_step(fields: &str) -> String {
    format!("name: r\nsteps:\n  - id: s\n{}", indent(fields))
}

/// A recipe with these fields; the first one stands at 5:1.
pub(crate) fn with_field(fields: &str) -> String {
    format!("{STEP}{fields}\n")
}

fn indent(fields: &str) -> String {
    fields.lines().map(|line| format!("    {line}\n")).collect()
}
