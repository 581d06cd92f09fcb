//! Changes of recipes, one table for each kind: a repair that loses something is not accepted, an honest one is not refused.
//!
//! The words in the tables name the loss; an empty one means that nothing is lost.

#![expect(clippy::panic, reason = "a recipe of a table that cannot be read is a failed test")]

mod added;
mod commands;
mod conditions;
mod counterparts;
mod declared;
mod gates;
mod narrowing;
mod refusals;
mod scripts;
mod shapes;
mod steps;

use std::sync::Arc;

use engine::{
    knowledge::Knowledge,
    repair_review::{ReviewVerdict, review},
};
use recipe::{
    agent_ref::AgentRef,
    check::{Given, LoadError, Loaded, Loader, check as checked},
    plan::Plan,
};

/// Nested recipes that are all alike, and whose step ends with the given number.
struct Children(u8);

impl Loader for Children {
    fn recipe(&self, name: &str, _: &str) -> Result<Loaded, LoadError> {
        let text = format!("name: child\nsteps:\n  - {{id: only, command: pytest, timeout: {}}}\n", self.0);
        Ok(load(&format!("{name}.yaml"), &text))
    }

    fn agent(&self, _: &AgentRef, _: &str) -> Option<Arc<str>> {
        None
    }

    fn recipe_names(&self) -> Vec<String> {
        Vec::new()
    }
}

fn load(path: &str, text: &str) -> Loaded {
    Loaded { path: path.to_owned(), bytes: text.as_bytes().into() }
}

fn plan(text: &str, children: u8) -> Plan {
    let outcome = checked(load("recipe.yaml", text), &Children(children), &Given::default());
    outcome.plan.unwrap_or_else(|| panic!("{text}\n{:?}", outcome.diagnostics))
}

/// The verdict about a repair: empty if it is accepted.
fn verdict(before: &Plan, after: &Plan, failed: &str) -> &'static str {
    match review(&Knowledge::built_in(), before, after, failed).iter().map(|change| change.verdict).max() {
        None | Some(ReviewVerdict::Accepted) => "",
        Some(ReviewVerdict::Ask) => "ask",
        Some(ReviewVerdict::Refused) => "refused",
    }
}

/// Whether a verdict fits: a repair that loses something is not accepted, and an honest one is not refused.
fn fits(verdict: &str, loss: &str) -> bool {
    if loss.is_empty() { verdict != "refused" } else { !verdict.is_empty() }
}

/// Checks the verdict about a repair; `loss` says what it loses.
fn check(before: &str, after: &str, failed: &str, loss: &str) {
    let found = verdict(&plan(before, 9), &plan(after, 9), failed);
    assert!(fits(found, loss), "{found:?}, {loss:?}\n--- {before}\n+++ {after}\nfailed: {failed}");
}
