//! The recipes that a repaired recipe extends: they define some of its steps. Never changes any of them.

use recipe::{
    check::{Loaded, Loader},
    document,
    value::Value,
};

/// The longest chain of recipes; a recipe with a longer one does not pass its check.
const MOST: usize = 20;

/// The recipes that a recipe extends, the nearest first, as far as they are found.
pub(super) fn parents(recipe: &Loaded, loader: &dyn Loader) -> Vec<Loaded> {
    let mut found: Vec<Loaded> = Vec::new();
    while found.len() < MOST
        && let here = found.last().unwrap_or(recipe)
        && let Some(name) = extended(&here.bytes)
        && let Ok(parent) = loader.recipe(&name, &here.path)
    {
        found.push(parent);
    }
    found
}

/// The name of the recipe that a text extends.
fn extended(text: &[u8]) -> Option<String> {
    let Value::Map(fields) = document::read(text).ok()? else { return None };
    let name = fields.get("extends")?.render().trim().to_owned();
    (!name.is_empty()).then_some(name)
}
