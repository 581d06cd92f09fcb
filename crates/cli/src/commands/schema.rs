//! `schema`: the JSON Schema of recipes and of test files, for editors.
//!
//! Never written by hand: it comes from the declarations that also read recipes.

use crate::{args::SchemaArgs, exit::Exit, out::Out};

/// Prints the schema.
pub(crate) fn print(args: &SchemaArgs, out: &mut Out) -> Exit {
    out.json(&match args.tests {
        true => recipe::test_file::schema(),
        false => recipe::syntax::schema(),
    });
    Exit::Success
}

/// The schema as the text of a file.
pub(crate) fn text() -> String {
    format!("{:#}\n", recipe::syntax::schema())
}
