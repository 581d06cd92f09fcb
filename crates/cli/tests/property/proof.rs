//! Steps whose work is proven by an `ensure` rule, and the law about them: a resume after a crash between the work and
//! its proof checks again, and does not repeat the work. Never runs anything.

use std::collections::BTreeSet;

use crate::{
    judge::{Verdict, must},
    shape::{Kind, Step},
    world::Facts,
};

impl Step {
    /// Whether a rule checks its work.
    pub(crate) fn can_be_proven(&self) -> bool {
        matches!(self.kind, Kind::Bash | Kind::Agent) && !self.tolerated
    }

    /// The rule, as a field of the step: the ledger must say that the work is done.
    pub(crate) fn rule(&self) -> Option<String> {
        let is_written = self.is_proven && self.can_be_proven();
        is_written.then(|| format!("ensure: [{{command: '. ./lib; prove {}'}}]", self.id))
    }
}

/// Work that had ended before a command was not done again by it, unless a resume gave it up, or might.
pub(crate) fn work_stays(before: &Facts, after: &Facts, may_give_up: &BTreeSet<String>) -> Verdict {
    for (id, count) in before.steps.iter().filter(|(_, count)| count.has_worked) {
        let now = after.of(id);
        let is_given_up = now.rerun > count.rerun || may_give_up.contains(id);
        must(now.begun == count.begun || is_given_up, || {
            format!("the work of `{id}` had ended and was done again: {count:?}, then {now:?}")
        })?;
    }
    Ok(())
}
