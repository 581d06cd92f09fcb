//! The recipe language from the outside: texts in, diagnostics or a plan out.
//!
//! Never looks inside: everything goes through `check`.

mod codes;
mod docs;
mod ensuring;
mod extending;
mod fields;
mod flow;
mod foreign;
mod graphs;
mod hostile;
mod inputs;
mod messages;
mod nesting;
mod plans;
mod random;
mod shelf;
mod shells;
mod slips;
mod steps;
mod test_files;
mod together;
mod typed;
mod values;
mod variables;
