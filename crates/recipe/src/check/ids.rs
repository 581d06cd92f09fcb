//! The ids of steps: each once, and each one that can be a name.

use std::collections::HashMap;

use super::{
    Checker,
    unit::{begins_with_hyphen, is_variable_name},
};
use crate::{
    diagnostic::{Code, Diagnostic},
    source::Place,
    syntax::{StepSyntax, kinds::WithDigest, shape::Spanned},
};

impl Checker<'_> {
    pub(super) fn check_ids(&mut self, steps: &[Spanned<WithDigest<StepSyntax>>]) {
        let mut seen = HashMap::<&str, Place>::new();
        for id in steps.iter().filter_map(|step| step.value.shape.id.as_ref()) {
            if let Some(first) = seen.insert(&id.value, id.place) {
                let line = self.sources.line_column(first).line;
                self.diagnostics.push(
                    Diagnostic::new(
                        Code::DuplicateId,
                        id.place,
                        format!("two steps have the id `{}`", id.value),
                    )
                    .label("used twice")
                    .help(format!("the first one is in line {line}; give this one another id")),
                );
            }
            if let Some(rule) = broken_id_rule(&id.value) {
                self.diagnostics.push(
                    Diagnostic::new(Code::BadId, id.place, "this id cannot be used as a name")
                        .help(rule)
                        .recent(),
                );
            }
        }
    }
}

/// The rule that an id breaks: steps have folders of their names.
fn broken_id_rule(id: &str) -> Option<String> {
    const LONGEST: usize = 200;
    match id {
        "." | ".." => Some(format!("`{id}` means a directory: write a word")),
        _ if id.contains('/') || id.chars().any(char::is_control) => {
            Some("an id has no `/` and no control characters".to_owned())
        }
        _ if id.len() > LONGEST => {
            Some(format!("an id has at most {LONGEST} bytes, and this one has {}", id.len()))
        }
        // an empty id has its own message
        _ if id.trim().is_empty() => None,
        _ if !is_variable_name(id) || begins_with_hyphen(id) => Some(
            "use letters, digits, `_`, `-` and `.`, and do not begin with `-`; a title for people goes under `name`"
                .to_owned(),
        ),
        _ => None,
    }
}
