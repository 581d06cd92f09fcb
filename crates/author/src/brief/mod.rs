//! Everything that a spec says and a project shows, as types: the contract between reading a spec and writing a recipe.
//!
//! A brief exists only if no question is open.

mod check;
mod project;
mod tools;
mod work;

pub use check::{Check, CheckPlace, CommandCheck, Criterion, Expectation, OutputStream, Source, SupportKind};
pub use project::{FileDigest, FoundCommand, ProgramStart, ProjectFacts, ProjectKind, ProjectProgram};
pub use tools::{ModelChoice, SelectedSkill, SkillTerm, ToolChoice, ToolRule, Tools};
pub use work::{
    Approval, Budget, Constraints, Delivery, Depth, DroppedPath, Effect, EffectKind, FixLoop, Item, Items,
    Pattern, PatternChoice, RejectedPattern, Signal, Target, TargetKind, TargetSource, Targets, Track,
    TrackOrder,
};

use serde::Serialize;

/// What a recipe is written from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Brief {
    /// The name of the recipe and the stem of its file, such as `add-a-json-flag`.
    pub name: String,
    /// The title of the spec; it becomes the description.
    pub title: String,
    /// The goal in the words of the spec, as Markdown.
    pub goal: String,
    pub spec: SpecSource,
    /// What shows that the work is done, numbered from 1 in the order of the spec.
    pub criteria: Vec<Criterion>,
    pub targets: Targets,
    pub constraints: Constraints,
    /// Independent parts, each with its own gates and reviews; empty for most specs.
    pub tracks: Vec<Track>,
    /// The same work for each of several items.
    pub items: Option<Items>,
    /// Check, fix and check again until clean.
    pub fix_loop: Option<FixLoop>,
    pub tools: Tools,
    pub skills: Vec<SelectedSkill>,
    pub environment: Vec<Variable>,
    pub delivery: Delivery,
    pub budget: Budget,
    pub pattern: PatternChoice,
    pub depth: Depth,
    pub project: ProjectFacts,
    pub clarifications: Vec<Clarification>,
    pub notes: Notes,
}

/// The spec as it was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpecSource {
    /// Path relative to the project, with `/`. For a spec that was not a file: where it is written,
    /// `recipes/NAME.spec.md`.
    pub path: String,
    /// The digest of its bytes, as 64 hexadecimal digits.
    pub sha256: String,
    /// The whole text.
    pub text: String,
    /// False if the text came from the command line or from stdin.
    pub is_file: bool,
}

/// A variable of the environment that the work needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Variable {
    pub name: String,
    /// The name looks like that of a secret.
    pub is_secret: bool,
    pub line: usize,
}

/// A question of the spec or about it, with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Clarification {
    /// The number that `--answer N=TEXT` uses.
    pub number: usize,
    /// Verbatim if the spec asks it.
    pub question: String,
    /// The line of the spec, if the question has one.
    pub line: Option<usize>,
    pub answer: String,
    pub answered_by: AnsweredBy,
}

/// The source of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    /// The answers section of the spec.
    Spec,
    /// `--answer`.
    User,
    /// `--best-judgement`.
    Generator,
}

/// What a reader of the record should know besides the facts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Notes {
    /// What was assumed because the spec is silent, one sentence each.
    pub assumptions: Vec<String>,
    pub warnings: Vec<Warning>,
}

/// A problem that does not stop generation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// A stable name, such as `same-program`.
    pub code: &'static str,
    pub message: String,
    pub line: Option<usize>,
}
