//! Attempts at agent steps: calls of a program, what it is doing, how it ended, and what it used up.

pub mod activity;
pub mod attempt;
pub mod budget;
pub(crate) mod call;
pub(crate) mod end;
pub(crate) mod file_changes;
pub(crate) mod news;
pub(crate) mod staging;
