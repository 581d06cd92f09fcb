//! The environment that a recipe asks for, and the one that it gives its steps.

use crate::template::Template;

/// The `env` of a recipe.
#[derive(Clone, Debug, Default)]
pub struct RecipeEnv {
    /// Variables that must be set.
    pub required: Vec<String>,
    /// Files that define variables.
    pub files: Vec<String>,
    /// Variables that all steps get, also those of sub-recipes.
    pub set: Vec<(String, Template)>,
}

impl RecipeEnv {
    /// Whether steps get a variable from the recipe.
    pub fn sets(&self, name: &str) -> bool {
        self.set.iter().any(|(known, _)| known == name)
    }

    /// The variables that steps get, as they are written.
    pub fn set_as_written(&self) -> Vec<(&str, &str)> {
        self.set.iter().map(|(name, value)| (name.as_str(), value.text())).collect()
    }
}
