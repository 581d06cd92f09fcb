//! The recipe language from the outside: texts in, diagnostics or a plan out.
//!
//! Never looks inside: everything goes through `check`.

mod codes;
mod docs;
mod extending;
mod fields;
mod flow;
mod graphs;
mod hostile;
mod messages;
mod nesting;
mod plans;
mod random;
mod shelf;
mod steps;
mod together;
mod typed;
mod values;
mod variables;
