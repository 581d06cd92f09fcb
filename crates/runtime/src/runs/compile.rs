//! Compiles the stored sources of a run to its plan. Never reads the original files.

use engine::{Event, Record};
use recipe::{
    check::{Given, check, graft},
    plan::Plan,
};

use super::OpenError;
use crate::store::{
    folder::{Header, RunFolder},
    sources::Remembered,
};

/// Compiles the sources that a run started with (0) or was resumed with (1, 2, …).
pub(super) fn compile(folder: &RunFolder, generation: u32, header: &Header) -> Result<Plan, OpenError> {
    let remembered = Remembered::open(&folder.sources(generation), None)?;
    let checked = check(remembered.root()?, &remembered, &given(header));
    let problems = checked.diagnostics.iter().map(|problem| problem.message.clone());
    let messages: Vec<String> = problems.collect();
    checked.plan.ok_or_else(|| bad(header, messages.join("; ")))
}

/// The same plan with the recipes that were found during the run.
pub(super) fn complete(
    mut plan: Plan,
    folder: &RunFolder,
    generation: u32,
    header: &Header,
    records: &[Record],
) -> Result<Plan, OpenError> {
    let entered = records.iter().filter_map(|record| match &record.event {
        Event::RecipeEntered { unit, .. } => Some(unit),
        _ => None,
    });
    let mut sources = None;
    for unit in entered {
        if plan.units.iter().any(|known| known.path == *unit) {
            continue;
        }
        let remembered = match &sources {
            Some(remembered) => remembered,
            None => sources.insert(Remembered::open(&folder.sources(generation), None)?),
        };
        // entered with sources of another generation: the fold does not need it
        let Some(found) = remembered.by_path(unit) else { continue };
        let grafted = graft(&plan, found, remembered, &given(header));
        plan = grafted.map_err(|_| bad(header, format!("`{unit}` is invalid")))?.plan;
    }
    Ok(plan)
}

fn given(header: &Header) -> Given {
    let names = header.given.iter().map(|(name, _)| name.clone()).collect();
    Given { names, is_stored: true, ..Given::default() }
}

fn bad(header: &Header, reason: String) -> OpenError {
    OpenError::Plan { run: header.run_id.clone(), reason }
}
