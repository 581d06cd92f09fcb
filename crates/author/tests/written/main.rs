//! Recipes that are written from briefs: valid under strict rules, and with the steps that the brief asks for.

mod agents;
mod briefs;

use std::{collections::BTreeMap, sync::Arc};

use author::{Written, write};
use recipe::{
    agent_ref::AgentRef,
    check::{Checked, Given, LoadError, Loaded, Loader, check},
    source::Sources,
    test_file::{self, Vocabulary},
};

/// Finds the written files by name.
struct Files(BTreeMap<String, String>);

impl Loader for Files {
    fn recipe(&self, name: &str, _from: &str) -> Result<Loaded, LoadError> {
        let path = format!("recipes/{name}.yaml");
        match self.0.get(&path) {
            Some(text) => Ok(Loaded { path, bytes: text.as_bytes().into() }),
            None => Err(LoadError::NotFound { searched: Vec::new() }),
        }
    }
    fn agent(&self, _reference: &AgentRef, _from: &str) -> Option<Arc<str>> {
        None
    }
    fn recipe_names(&self) -> Vec<String> {
        Vec::new()
    }
}

fn checked(written: &Written) -> Checked {
    let files = Files(written.files.iter().map(|file| (file.path.clone(), file.text.clone())).collect());
    let main = &written.files[0];
    let root = Loaded { path: main.path.clone(), bytes: main.text.as_bytes().into() };
    check(root, &files, &Given::default())
}

#[test]
fn every_written_recipe_is_valid_and_has_no_warning() {
    for (name, brief) in briefs::all() {
        let written = write(&brief);
        let checked = checked(&written);
        let problems: Vec<String> = checked.diagnostics.iter().map(|one| format!("{one:?}")).collect();
        assert!(
            checked.plan.is_some() && problems.is_empty(),
            "{name}: {problems:#?}\n{}",
            written.files[0].text
        );
    }
}

#[test]
fn every_written_test_file_fits_its_recipe() {
    let words = |words: &[&'static str]| words.to_vec();
    let vocabulary = Vocabulary {
        step_statuses: words(&["pending", "completed", "skipped", "failed", "degraded", "waiting"]),
        ..Vocabulary::default()
    };
    for (name, brief) in briefs::all() {
        let written = write(&brief);
        let plan = checked(&written).plan.unwrap();
        let tests = written.files.last().unwrap();
        let mut sources = Sources::default();
        let file = sources.add(tests.path.clone(), tests.text.clone());
        let read = test_file::read(&sources, file);
        assert!(read.diagnostics.is_empty(), "{name}: {:#?}\n{}", read.diagnostics, tests.text);
        let problems = test_file::check(&read.file.unwrap(), &plan, &vocabulary);
        assert!(problems.is_empty(), "{name}: {problems:#?}\n{}", tests.text);
    }
}

#[test]
fn the_same_brief_gives_the_same_bytes() {
    for (name, brief) in briefs::all() {
        assert_eq!(write(&brief), write(&brief), "{name}");
    }
}
