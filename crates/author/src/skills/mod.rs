//! Skills: which of the given SKILL.md files fit a spec, by the terms that both have.
//!
//! A skill is selected at generation. Whether an agent reads it is not known here.

mod front_matter;
mod score;

pub(crate) use score::{RankedSkill, rank};

/// A SKILL.md file, as the caller found it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFile {
    /// Relative to the project, or with `~`.
    pub path: String,
    pub text: String,
}
