//! Which agent program does which step, and the skills that informed the choice.

use serde::Serialize;

/// The agent programs of a recipe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Tools {
    /// `implement` and every fix.
    pub writer: ToolChoice,
    /// In turn; one with depth `light`.
    pub reviewers: Vec<ToolChoice>,
    /// `plan`, for the pattern `supervisor`; the same as the writer unless a hint says otherwise.
    pub planner: ToolChoice,
    /// The spec asks for one program in every step: the reviews are not by another program.
    pub same_program: Option<String>,
}

/// One choice of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolChoice {
    /// `planner`, `writer` or `reviewer-N`.
    pub role: String,
    pub program: String,
    pub model: Option<ModelChoice>,
    pub rule: ToolRule,
    pub reason: String,
    /// The line of the spec with the hint.
    pub line: Option<usize>,
}

/// The model of a program, which may come from another rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ModelChoice {
    pub name: String,
    pub rule: ToolRule,
    pub reason: String,
    pub line: Option<usize>,
}

/// The source of a choice, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolRule {
    Flag,
    Spec,
    Skill,
    Configuration,
    Default,
}

/// A skill that was selected at generation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SelectedSkill {
    pub name: String,
    /// The path as a prompt names it: relative to the project, or with `~`.
    pub path: String,
    pub sha256: String,
    pub score: f64,
    pub confidence: f64,
    /// The terms of the skill that the spec contains.
    pub evidence: Vec<SkillTerm>,
}

/// A term of a skill that the spec contains.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SkillTerm {
    pub term: String,
    /// `name`, `keywords`, `files` or `description`: the field with the highest weight.
    pub field: &'static str,
    pub weight: u32,
}
