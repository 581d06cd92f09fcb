//! The work: targets, constraints, tracks, items, delivery, budget and the pattern that follows.

use serde::Serialize;

/// The files that the work may change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Targets {
    pub source: TargetSource,
    /// In the order of the spec, without duplicates.
    pub paths: Vec<Target>,
    /// What looked like a path and is not a target, with the reason.
    pub dropped: Vec<DroppedPath>,
}

/// Where the targets come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetSource {
    /// A section of target files: the only targets.
    Block,
    /// Paths in backticks.
    Prose,
    /// The spec names no file: every path may change, except constraints.
    Unstated,
}

/// A file or folder that the work may change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Target {
    /// Relative to the project, with `/`; may be a glob.
    pub path: String,
    pub kind: TargetKind,
    pub line: usize,
    /// Why it is a target.
    pub reason: String,
}

/// What a target is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    Code,
    Test,
    Document,
    /// A folder, which ends with `/`.
    Folder,
    /// A pattern with `*`.
    Glob,
    /// Data, configuration and everything else.
    Other,
}

/// A word that is not a target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DroppedPath {
    pub text: String,
    pub line: usize,
    pub reason: String,
}

/// What the work must not do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Constraints {
    /// Paths that stay as they are, with the line.
    pub unchanged: Vec<(String, usize)>,
    pub max_changed_files: Option<u32>,
    /// Every constraint in the words of the spec, for the prompts.
    pub texts: Vec<String>,
}

/// An independent part of the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Track {
    /// Unique, usable as a step id and file name.
    pub name: String,
    pub title: String,
    /// What to do, in the words of the spec, as Markdown.
    pub goal: String,
    pub line: usize,
    /// The tracks that come first.
    pub after: Vec<TrackOrder>,
    pub targets: Vec<Target>,
}

/// A track that another one waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrackOrder {
    pub track: String,
    /// The words of the spec, or the files that both change.
    pub reason: String,
}

/// The same work for each of several items.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Items {
    /// The sentence of the spec.
    pub task: String,
    pub line: usize,
    pub items: Vec<Item>,
    /// One after the other, because the spec says so.
    pub in_order: bool,
}

/// One item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Item {
    /// As the spec spells it, without backticks.
    pub text: String,
    /// It is a path of the project.
    pub is_path: bool,
}

/// Check, fix and check again until clean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FixLoop {
    /// The words of the spec.
    pub text: String,
    pub line: usize,
    /// The command that checks; none: the test command of the project.
    pub command: Option<String>,
}

/// What leaves the machine when all the work is accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Delivery {
    /// In the order of the spec; empty unless the spec or a flag asks for it.
    pub effects: Vec<Effect>,
    /// A person approves before the first effect.
    pub approval: Option<Approval>,
}

/// Something that reaches the outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Effect {
    pub kind: EffectKind,
    /// The base branch of a pull request.
    pub base: Option<String>,
    /// The command of the spec. Without one a deploy, publish or delete is left to the person who approves.
    pub command: Option<String>,
    /// The words of the spec or the flag.
    pub text: String,
    pub line: Option<usize>,
}

/// The kinds of effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    Pr,
    Push,
    Deploy,
    Publish,
}

/// Why a person is asked before an effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Approval {
    pub reason: String,
    pub line: Option<usize>,
}

/// Limits of the spec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Budget {
    pub minutes: Option<f64>,
    pub usd: Option<f64>,
}

/// The shape of the step graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pattern {
    Pipeline,
    Graph,
    Supervisor,
}

/// The chosen pattern and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PatternChoice {
    pub name: Pattern,
    pub reason: String,
    pub signals: Vec<Signal>,
    pub rejected: Vec<RejectedPattern>,
}

/// Words or numbers of the spec that speak for a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Signal {
    pub pattern: Pattern,
    /// A risk word, a count, a phrase.
    pub evidence: String,
    pub line: Option<usize>,
}

/// A pattern that was not chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RejectedPattern {
    pub name: Pattern,
    pub reason: String,
}

/// How much review the work gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Depth {
    /// Only documents change: one reviewer.
    Light,
    Full,
}
