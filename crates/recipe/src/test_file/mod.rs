//! Test files: what `release.test.yaml` says about `release.yaml`, decoded, with places.
//!
//! Never runs a case and never reads a file: `cases` come with the defaults of their file already merged.

mod case;
mod check;
mod expectations;
mod matcher;
mod merge;
mod paths;
mod pattern;
mod read;
mod stub;
pub mod syntax;

pub use case::{
    BashMode, CaseAnswer, CaseOptions, CaseReply, CaseTags, KillMoment, KillPoint, Program, ProgramReply,
    TestCase,
};
pub use check::{Vocabulary, check};
pub use expectations::{CommandsExpected, Expectations, Expected, Matcher, MatcherWords, PathExpected};
pub use pattern::{Rank, StepPattern, text_fits};
pub use read::{TestReading, read};
pub use stub::{
    AgentReply, BashReply, Fault, RecipeReply, ReplyKind, Selected, Stub, StubCall, StubKey, StubPlan,
    StubReply, StubUsage, select,
};

pub use syntax::{reference, schema};

use crate::source::Place;

/// The endings of test files.
const ENDINGS: [&str; 2] = [".test.yaml", ".test.yml"];

/// Whether a file is a test file, by its name.
pub fn is_test_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    ENDINGS.iter().any(|ending| name.len() > ending.len() && name.ends_with(ending))
}

/// The name of the test file of a recipe file.
pub fn test_file_of(recipe: &str) -> String {
    let stem = recipe.strip_suffix(".yaml").or_else(|| recipe.strip_suffix(".yml")).unwrap_or(recipe);
    format!("{stem}{}", ENDINGS[0])
}

/// The names that the recipe of a test file can have, the usual one first.
pub fn recipes_of(test_file: &str) -> Vec<String> {
    let stem = ENDINGS.iter().find_map(|ending| test_file.strip_suffix(ending)).unwrap_or(test_file);
    vec![format!("{stem}.yaml"), format!("{stem}.yml")]
}

/// A test file: the cases of one recipe.
#[derive(Clone, Debug)]
pub struct TestFile {
    /// The folder that is copied for each case.
    pub fixture: Option<Fixture>,
    /// How much of the recipe the cases must reach.
    pub coverage: CoverageRule,
    /// The cases, with the defaults merged.
    pub cases: Vec<TestCase>,
}

/// The files that a case starts with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixture {
    /// A folder relative to the test file; without one the scratch folder is empty.
    pub dir: Option<String>,
    /// Whether the copy is a git repository with one commit.
    pub git: bool,
    /// Its place.
    pub place: Place,
}

/// How much of the recipe the cases must reach.
#[derive(Clone, Debug, Default)]
pub struct CoverageRule {
    /// The least percentage of branches.
    pub min: Option<f64>,
    /// Branches that no case needs to reach.
    pub allow: Vec<AllowedBranch>,
}

/// A branch that no case needs to reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowedBranch {
    /// Its name, such as `review.condition.false`.
    pub branch: String,
    /// Why.
    pub reason: String,
    /// The place of the name.
    pub place: Place,
}
