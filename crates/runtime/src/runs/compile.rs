//! From the stored sources of a run to the plan that it works with. Never looks at the files that they came from.

use engine::{Event, Record};
use recipe::{
    check::{Given, check, graft},
    plan::Plan,
};

use super::OpenError;
use crate::{
    folder::{Header, RunFolder},
    sources::Remembered,
};

/// Compiles the stored sources of a run, with recipes that became known only while it ran.
pub(super) fn compile(
    folder: &RunFolder,
    generation: u32,
    header: &Header,
    records: &[Record],
) -> Result<Plan, OpenError> {
    let bad = |reason: String| OpenError::Plan { run: header.run_id.clone(), reason };
    let remembered = Remembered::open(&folder.sources(generation), None)?;
    let names = header.given.iter().map(|(name, _)| name.clone()).collect();
    let given = Given { names, ..Given::default() };
    let checked = check(remembered.root()?, &remembered, &given);
    let problems = checked.diagnostics.iter().map(|problem| problem.message.clone());
    let messages: Vec<String> = problems.collect();
    let mut plan = checked.plan.ok_or_else(|| bad(messages.join("; ")))?;
    for record in records {
        let Event::RecipeEntered { unit, .. } = &record.event else { continue };
        if plan.units.iter().any(|known| known.path == *unit) {
            continue;
        }
        // entered with sources of another generation: the fold does not need it
        let Some(found) = remembered.by_path(unit) else { continue };
        let grafted =
            graft(&plan, found, &remembered, &given).map_err(|_| bad(format!("`{unit}` is invalid")))?;
        plan = grafted.0;
    }
    Ok(plan)
}
