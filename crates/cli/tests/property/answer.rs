//! The answer of a person about an interrupted step that is not idempotent: the ledger knows.

use std::collections::BTreeSet;

use testkit::{TestEnv, until};

use crate::{
    judge::must,
    links::careful,
    shape::{Care, Recipe},
    world::Facts,
};

/// How a resume says that it would repeat effects.
pub(crate) const REPEATS: &str = "would repeat completed side effects";

/// What the person says.
pub(crate) struct Answer {
    pub(crate) flag: &'static str,
    /// Steps that are left out by it: their work was done, their value is not known.
    pub(crate) left_out: BTreeSet<String>,
    /// Whether something that was done is done again by it: there is one answer for all steps.
    pub(crate) repeats: bool,
}

/// Looks at what interrupted steps did, once they have come to rest.
pub(crate) fn answer(env: &TestEnv, recipe: &Recipe) -> Result<Answer, String> {
    let careful = careful(recipe, Care::NotIdempotent);
    // no process ends them before the answer
    until("orphans have done their work", || !careful.iter().any(|id| env.is_at_work(id)));
    let facts = Facts::read(env);
    let open: Vec<&String> = careful.iter().filter(|id| facts.of(id).open).collect();
    must(!open.is_empty(), || "asked, but nothing that is not idempotent was interrupted".to_owned())?;
    let is_done = |id: &&String| facts.of(id).done > facts.of(id).completed;
    let (done, not_done): (Vec<&String>, Vec<&String>) = open.into_iter().partition(is_done);
    Ok(match not_done.is_empty() {
        true => Answer {
            flag: "--skip-interrupted",
            left_out: done.into_iter().cloned().collect(),
            repeats: false,
        },
        false => Answer { flag: "--rerun-interrupted", left_out: BTreeSet::new(), repeats: !done.is_empty() },
    })
}
