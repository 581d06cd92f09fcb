//! Which recipe a step runs. Never finds it: that is the checker's work, or the run's.

use super::UnitId;
use crate::{scope::Scope, template::Template};

/// Which recipe a step runs.
#[derive(Clone, Debug)]
pub enum Target {
    /// One that was found and checked.
    Known {
        /// The recipe.
        unit: UnitId,
        /// The name as written.
        name: String,
    },
    /// One whose name is known only when the step runs.
    Dynamic {
        /// The name.
        name: Template,
        /// The file that names it.
        from: String,
    },
}

impl Target {
    /// Its name in the step.
    pub fn called(&self, scope: &dyn Scope) -> String {
        match self {
            Target::Known { name, .. } => name.clone(),
            Target::Dynamic { name, .. } => name.render(scope),
        }
    }
}
