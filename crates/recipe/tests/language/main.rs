//! The recipe language from the outside: texts in, diagnostics or a plan out.
//!
//! Never looks inside: everything goes through `check`.

mod codes;
mod docs;
mod extending;
mod fields;
mod graphs;
mod hostile;
mod messages;
mod nesting;
mod random;
mod shelf;
mod steps;
mod together;
mod values;
mod variables;
