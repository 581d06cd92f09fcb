//! The file patterns of steps. Never looks for a file.

use super::Checker;
use crate::{
    diagnostic::{Code, Diagnostic},
    syntax::StepSyntax,
};

impl Checker<'_> {
    /// Reports patterns under `reads` and `produces` that cannot mean anything.
    pub(super) fn file_patterns(&mut self, fields: &StepSyntax) {
        let patterns = [&fields.reads, &fields.produces].into_iter().flatten().flat_map(|list| &list.value);
        for pattern in patterns {
            let Some((label, help)) = fault(&pattern.value) else { continue };
            let message = format!("`{}` is not a file pattern", pattern.value);
            let problem = Diagnostic::new(Code::BadPattern, pattern.place, message);
            self.diagnostics.push(problem.label(label).help(help));
        }
    }
}

/// The problem of a pattern, and what to do about it.
pub(super) fn fault(pattern: &str) -> Option<(&'static str, &'static str)> {
    if pattern.trim().is_empty() {
        return Some(("it is empty", "write a path from the step's directory, or remove the item"));
    }
    if pattern.contains("***") {
        return Some((
            "too many stars",
            "write `*` for a part of a name, or `**` for any number of directories",
        ));
    }
    let open = pattern.rsplit('[').next().filter(|_| pattern.contains('['));
    let is_open = open.is_some_and(|rest| !rest.contains(']'));
    is_open.then_some(("its `[` is not closed", "close it with `]`, or write `?` for any one character"))
}

/// The same for a pattern under `ensure`: one that names nothing would be a proof of nothing.
pub fn rule_fault(pattern: &str) -> Option<(&'static str, &'static str)> {
    if pattern == "~" || pattern.starts_with("~/") {
        return Some((
            "`~` is not replaced by the home directory",
            "write a path from the step's directory, or `./~` for a file of this name",
        ));
    }
    fault(pattern)
}
