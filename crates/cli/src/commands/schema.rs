//! `schema`: the JSON Schema of recipes, for editors.
//!
//! Never written by hand: it comes from the declarations that also read recipes.

use crate::{exit::Exit, out::Out};

/// Prints the schema.
pub(crate) fn print(out: &mut Out) -> Exit {
    out.json(&recipe::syntax::schema());
    Exit::Success
}

/// The schema as the text of a file.
pub(crate) fn text() -> String {
    format!("{:#}\n", recipe::syntax::schema())
}
