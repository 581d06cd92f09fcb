//! Steps that must not run twice and have retries: a note, because a retry does run them again.

use super::{Checker, step::attempts};
use crate::{
    diagnostic::{Code, Diagnostic},
    syntax::StepSyntax,
};

impl Checker<'_> {
    /// Notes that `retry` repeats a step with `idempotent: false`.
    pub(super) fn note_retried_effect(&mut self, fields: &StepSyntax) {
        let is_for_once = fields.idempotent.as_ref().is_some_and(|flag| !flag.value);
        if let Some(retry) = fields.retry.as_ref().filter(|retry| is_for_once && attempts(&retry.value) > 1) {
            let message = "`retry` runs this step again after a failure, although it is `idempotent: false`";
            self.diagnostics.push(
                Diagnostic::new(Code::RetriedEffect, retry.place, message)
                    .label("repeats it")
                    .help("remove `retry`, or let the command find out what is already done"),
            );
        }
    }
}
