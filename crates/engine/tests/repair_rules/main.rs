//! The rules of the guard, one table for each: what a script reaches, and which changes of a recipe are refused.
//!
//! Where the corpus shows that whole repairs are judged rightly, these tables pin the single rule that decides.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a recipe of a table that cannot be read is a failed test"
)]

mod commands;
mod conditions;
mod counterparts;
mod declared;
mod flows;
mod gates;
mod narrowing;
mod notes;
mod scripts;
mod statuses;
mod steps;
mod words;

use std::sync::Arc;

use engine::repair_review::compare;
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

/// The codes of the regressions between two recipes, in order and without repetition.
fn codes(before: &Plan, after: &Plan, failed: &str) -> String {
    let mut codes: Vec<String> = compare(before, after, failed).into_iter().map(|found| found.code).collect();
    codes.sort();
    codes.dedup();
    codes.join(" ")
}

/// Checks the codes of the regressions between two recipes.
fn check(before: &str, after: &str, failed: &str, expected: &str) {
    let found = codes(&plan(before, 9), &plan(after, 9), failed);
    assert_eq!(found, expected, "--- {before}\n+++ {after}\nfailed: {failed}");
}
