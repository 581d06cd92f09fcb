//! Failures of hooks during a run: the first of equal ones is shown at once, the others are counted and shown together
//! at its end. A hook runs around every step, so it often fails in the same way many times.

use std::collections::BTreeMap;

use crate::report::words::first_line;

/// How often each failure came again, by hook and error.
#[derive(Default)]
pub(crate) struct HookFailures(BTreeMap<(String, String), usize>);

impl HookFailures {
    /// Counts a failure; says whether it is the first of its kind.
    pub(crate) fn is_first(&mut self, hook: &str, error: &str) -> bool {
        let key = (hook.to_owned(), error.to_owned());
        self.0.entry(key).and_modify(|again| *again += 1).or_default() == &0
    }

    /// The failures that were only counted, in words. Forgets all.
    pub(crate) fn take_repeated(&mut self) -> impl Iterator<Item = String> + use<> {
        let repeated = std::mem::take(&mut self.0).into_iter().filter(|(_, again)| *again > 0);
        repeated.map(|((hook, error), again)| {
            let times = if again == 1 { "time" } else { "times" };
            format!("warning: hook {hook} failed {again} more {times}: {}", first_line(&error))
        })
    }
}
