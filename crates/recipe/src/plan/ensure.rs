//! The rules under `ensure`: what must hold after a step has done its work. Never checks one.

use serde::{Deserialize, Serialize};

use crate::{condition::Condition, scope::Path, template::Template};

/// One rule that a step must meet.
#[derive(Clone, Debug)]
pub enum EnsureRule {
    /// At least one changed file matches one of these patterns.
    Changed(Vec<Template>),
    /// No changed file matches any of these patterns.
    Unchanged(Vec<Template>),
    /// Every changed file matches one of these patterns.
    OnlyChanged(Vec<Template>),
    /// At most this many files changed.
    MaxChangedFiles(u64),
    /// This file exists and is not empty.
    File(Template),
    /// This shell command exits with 0.
    Command(Template),
    /// This condition holds.
    Condition(Condition),
}

/// The kind of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the variants of `EnsureRule` explain them")]
pub enum EnsureKind {
    Changed,
    Unchanged,
    OnlyChanged,
    MaxChangedFiles,
    File,
    Command,
    Condition,
}

impl EnsureKind {
    /// Its word in a recipe.
    pub fn as_str(self) -> &'static str {
        match self {
            EnsureKind::Changed => "changed",
            EnsureKind::Unchanged => "unchanged",
            EnsureKind::OnlyChanged => "only_changed",
            EnsureKind::MaxChangedFiles => "max_changed_files",
            EnsureKind::File => "file",
            EnsureKind::Command => "command",
            EnsureKind::Condition => "condition",
        }
    }
}

impl EnsureRule {
    /// Its kind.
    pub fn kind(&self) -> EnsureKind {
        match self {
            EnsureRule::Changed(_) => EnsureKind::Changed,
            EnsureRule::Unchanged(_) => EnsureKind::Unchanged,
            EnsureRule::OnlyChanged(_) => EnsureKind::OnlyChanged,
            EnsureRule::MaxChangedFiles(_) => EnsureKind::MaxChangedFiles,
            EnsureRule::File(_) => EnsureKind::File,
            EnsureRule::Command(_) => EnsureKind::Command,
            EnsureRule::Condition(_) => EnsureKind::Condition,
        }
    }

    /// What it demands, as written in the recipe.
    pub fn demand(&self) -> String {
        match self {
            EnsureRule::Changed(list) | EnsureRule::Unchanged(list) | EnsureRule::OnlyChanged(list) => {
                list.iter().map(Template::text).collect::<Vec<_>>().join(", ")
            }
            EnsureRule::MaxChangedFiles(most) => most.to_string(),
            EnsureRule::File(text) | EnsureRule::Command(text) => text.text().trim_end().to_owned(),
            EnsureRule::Condition(condition) => condition.text().trim().to_owned(),
        }
    }

    /// Its patterns of changed files.
    pub fn patterns(&self) -> &[Template] {
        match self {
            EnsureRule::Changed(list) | EnsureRule::Unchanged(list) | EnsureRule::OnlyChanged(list) => list,
            _ => &[],
        }
    }

    /// Whether it compares files with those from before the step.
    pub fn compares_files(&self) -> bool {
        matches!(
            self.kind(),
            EnsureKind::Changed
                | EnsureKind::Unchanged
                | EnsureKind::OnlyChanged
                | EnsureKind::MaxChangedFiles
        )
    }

    /// Every path of the context that it reads.
    pub fn reads(&self) -> Vec<Path> {
        let names = |template: &Template| -> Vec<Path> {
            template.names().into_iter().map(|(path, _)| path.clone()).collect()
        };
        match self {
            EnsureRule::File(text) | EnsureRule::Command(text) => names(text),
            EnsureRule::Condition(condition) => condition.names().into_iter().map(|(path, _)| path).collect(),
            rule => rule.patterns().iter().flat_map(names).collect(),
        }
    }
}
