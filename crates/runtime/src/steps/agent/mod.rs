//! Attempts at agent steps: agent calls, their activity, their ends and their usage.

pub mod activity;
pub mod attempt;
pub(crate) mod call;
pub mod conversation;
pub(crate) mod end;
pub(crate) mod file_changes;
pub mod ledger;
pub(crate) mod news;
pub(crate) mod prepare;
pub mod request;
pub(crate) mod staging;
