//! A variable that the recipe itself should have set for a step: its provider, why it is missing, and what to do.

use serde::{Deserialize, Serialize};

use super::Class;

/// The part of a recipe that sets an environment variable for its steps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provider {
    /// The environment variable.
    pub variable: String,
    /// The name of the value in the recipe.
    pub name: String,
    /// The step that produces the value; `None` for a variable or an input.
    pub step: Option<String>,
    /// Why the variable is missing.
    pub lack: Lack,
}

/// Why a variable is missing although the recipe has a provider for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// The step that produces it does not run earlier.
    Later,
    /// The step that produces it was skipped.
    Skipped,
    /// The step that produces it failed.
    Failed,
    /// The value is empty or missing.
    Empty,
    /// There is a value, but the program did not get it.
    NotPassedOn,
}

impl Provider {
    /// An empty variable needs a value from outside; everything else is up to the author of the recipe.
    pub(super) fn class(&self) -> Class {
        match (&self.step, self.lack) {
            (None, Lack::Empty) => Class::MissingEnv,
            _ => Class::Structure,
        }
    }

    /// The advice for the step that lacks the variable.
    pub(super) fn advice(&self, step: &str) -> String {
        let (variable, name) = (&self.variable, &self.name);
        let source = match &self.step {
            Some(producer) => format!("`{variable}` comes from step `{producer}`"),
            None => format!("`{variable}` comes from the recipe's variable `{name}`"),
        };
        match (self.lack, &self.step) {
            (Lack::Later, _) => format!("{source}, which does not run before `{step}`: move it up"),
            (Lack::Skipped, _) => format!("{source}, which was skipped: `{step}` cannot run without it"),
            (Lack::Failed, _) => format!("{source}, which failed: fix that step first"),
            (Lack::Empty, Some(_)) => format!("{source}, which gave an empty value: fix that step first"),
            (Lack::Empty, None) => format!("{source}, which is empty: pass `--set {name}=…`"),
            (Lack::NotPassedOn, _) => format!(
                "{source}, but the program did not get it: pass it on, as in `{variable}={{{{{name}}}}} COMMAND`"
            ),
        }
    }
}
