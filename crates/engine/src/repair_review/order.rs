//! Checks come after what they check, and before what they guard.
//!
//! Only the order of steps in both recipes counts.

use recipe::plan::{StepKind, Unit};

use super::{Findings, steps::Role};

/// Checks and effects that changed their order.
pub(super) fn compare_order(old: &Unit, new: &Unit, roles: &[Role], findings: &mut Findings) {
    for (later, role) in roles.iter().enumerate().filter(|(_, role)| role.check || role.effect) {
        for (earlier, before) in roles.iter().enumerate().take(later) {
            let makes = !matches!(old.steps[earlier].kind, StepKind::Shell { .. });
            let counts = (role.check && makes) || (role.effect && before.check);
            if counts && precedes(old, earlier, later) && swapped(old, new, earlier, later) {
                let (first, second) = (&old.steps[earlier].id, &old.steps[later].id);
                let detail = format!("`{second}` no longer waits for `{first}`");
                findings.add("order_changed", Some(second), detail);
            }
        }
    }
}

fn precedes(unit: &Unit, first: usize, second: usize) -> bool {
    let group = |at: usize| unit.steps[at].group.as_ref().map(|group| group.number);
    first < second && (group(first).is_none() || group(first) != group(second))
}

fn swapped(old: &Unit, new: &Unit, earlier: usize, later: usize) -> bool {
    let find = |at: usize| new.steps.iter().position(|step| step.id == old.steps[at].id);
    match (find(earlier), find(later)) {
        (Some(first), Some(second)) => !precedes(new, first, second),
        _ => false,
    }
}
