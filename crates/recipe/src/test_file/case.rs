//! A case: what a recipe is given, who answers for its steps, and what must come of it.

use super::{Expectations, Stub};
use crate::{plan::Budget, source::Place, value::Map};

/// One case of a test file.
#[derive(Clone, Debug)]
pub struct TestCase {
    /// Its name, unique in the file.
    pub name: String,
    /// The place of its name.
    pub place: Place,
    /// Values for the recipe.
    pub inputs: Map,
    /// The places of their names.
    pub input_places: Vec<(String, Place)>,
    /// Environment variables.
    pub env: Vec<(String, String)>,
    /// Files of the scratch folder, relative to it; `None` removes a file of the fixture.
    pub files: Vec<(String, Option<String>)>,
    /// A strict bash script that runs in the scratch folder before the case.
    pub setup: Option<String>,
    /// Which tagged steps run.
    pub tags: CaseTags,
    /// Options of the run.
    pub options: CaseOptions,
    /// Answers for steps.
    pub stubs: Vec<Stub>,
    /// Programs that come first in `PATH`.
    pub programs: Vec<Program>,
    /// Whether bash steps without a stub run.
    pub bash: BashMode,
    /// Answers to questions.
    pub answers: Vec<CaseAnswer>,
    /// Where the runner is killed and the run resumed, in this order.
    pub kill: Vec<KillPoint>,
    /// Seconds of real time after which the case is ended.
    pub timeout: f64,
    /// Why it is not run.
    pub skip: Option<String>,
    /// What must come of it.
    pub expect: Expectations,
}

impl TestCase {
    /// Seconds of real time that a case may take unless it says so.
    pub const TIMEOUT: f64 = 60.0;
}

/// Which tagged steps run, as `--include-tags` and `--exclude-tags` say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaseTags {
    /// Tags that select steps.
    pub include: Vec<String>,
    /// Tags that leave out steps.
    pub exclude: Vec<String>,
}

/// Options of the run of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseOptions {
    /// `declared`, `always` or `off`; `declared` unless set.
    pub recovery: Option<String>,
    /// How often a repair may be tried, as `--auto-fix=N` says.
    pub auto_fix: Option<u32>,
    /// Limits on agents.
    pub budget: Budget,
}

/// Whether bash steps without a stub run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BashMode {
    /// They run for real in the scratch folder.
    #[default]
    Real,
    /// Each makes the case an error.
    Forbid,
}

/// A program that comes first in `PATH`: it answers by its arguments, and every call is noted.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// The place of its name.
    pub place: Place,
    /// What it answers; the first that fits a call is used.
    pub replies: Vec<ProgramReply>,
}

/// What a program answers to a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgramReply {
    /// A pattern for each argument, `**` for any number of them; without it, every call fits.
    pub args: Option<Vec<String>>,
    /// What it prints.
    pub stdout: String,
    /// What it prints on stderr.
    pub stderr: String,
    /// Its exit code.
    pub exit: i32,
    /// Files that it writes, relative to the directory that it is called in; `None` removes one.
    pub files: Vec<(String, Option<String>)>,
}

/// The answer to a question.
#[derive(Clone, Debug)]
pub struct CaseAnswer {
    /// The question: an exact path or a pattern.
    pub path: super::StepPattern,
    /// The place of the path.
    pub place: Place,
    /// What is answered.
    pub reply: CaseReply,
}

/// What is answered to a question.
#[derive(Clone, Debug, PartialEq)]
pub enum CaseReply {
    /// A choice, with fields.
    Choice {
        /// The choice.
        choice: String,
        /// The fields.
        fields: Map,
    },
    /// The timeout of the question passes.
    Timeout,
}

/// A moment at which the runner is killed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KillPoint {
    /// The path of the step.
    pub at: String,
    /// The moment.
    pub moment: KillMoment,
    /// The place of the path.
    pub place: Place,
}

/// The moment at a step at which the runner is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillMoment {
    /// After the start of the step is recorded.
    Started,
    /// After the end of the step is recorded.
    Finished,
}
