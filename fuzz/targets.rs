//! What is done with hostile bytes: every reader of texts must come to an end without a panic.
//!
//! Shared by the fuzzer's targets and by the bounded test that runs everywhere.

use std::sync::Arc;

use recipe::{
    agent_ref::AgentRef,
    check::{Given, LoadError, Loaded, Loader, check},
    condition::Condition,
    document,
    shell::{Piece, assemble, scan},
    template::Template,
    value::Map,
};

/// A library without recipes.
struct Nothing;

impl Loader for Nothing {
    fn recipe(&self, _: &str, _: &str) -> Result<Loaded, LoadError> {
        Err(LoadError::NotFound { searched: Vec::new() })
    }

    fn agent(&self, _: &AgentRef, _: &str) -> Option<Arc<str>> {
        None
    }

    fn recipe_names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Reads and checks a recipe file.
pub(crate) fn recipe(data: &[u8]) {
    let root = Loaded { path: "fuzz.yaml".to_owned(), bytes: Arc::from(data) };
    drop(check(root, &Nothing, &Given::default()));
}

/// Parses and evaluates a condition.
pub(crate) fn condition(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(condition) = Condition::parse(text)
    {
        drop(condition.holds(&Map::new()));
    }
}

/// Parses and renders a template.
pub(crate) fn template(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(template) = Template::parse(text)
    {
        drop(template.render(&Map::new()));
    }
}

/// Scans a command with a hole at each NUL byte.
pub(crate) fn shell(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut pieces = Vec::new();
    for (at, part) in text.split('\0').enumerate() {
        if at > 0 {
            pieces.push(Piece::Hole(at - 1));
        }
        pieces.push(Piece::Text(part));
    }
    drop(scan(&pieces));
    drop(assemble(&pieces, &|hole| format!("RECIPE_VAR_{hole}")));
    drop(recipe::shell::syntax::parse(&text.replace('\0', "{{x}}")));
}

/// Looks for JSON in a text.
pub(crate) fn json(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        drop(recipe::json::extract(text));
    }
}

/// Reads a context file; the values written as JSON are read back equal.
pub(crate) fn document(data: &[u8]) {
    if let Ok(value) = document::read(data) {
        let json = value.to_json();
        assert_eq!(document::read(json.as_bytes()).map(|again| again.to_json()), Ok(json));
    }
}
