//! Why an attempt did not succeed, as data. The sentences about it are in [`super::message`].

use serde::{Deserialize, Serialize};

use super::outcome::AgentTrouble;

/// Why a step could not be prepared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// Its working directory cannot be used.
    Directory {
        /// The directory.
        path: String,
        /// The problem, as text.
        why: String,
    },
    /// A value cannot be used where its command names it.
    Value {
        /// The name of the value.
        name: String,
        /// The problem.
        why: ValueProblem,
    },
    /// Its output has a NUL character and cannot become a value.
    Nul(NulPlace),
    /// Its sub-recipe lacks something before its first step.
    Unready {
        /// The name of the sub-recipe.
        recipe: String,
        /// Everything that it lacks.
        problems: Vec<Problem>,
    },
    /// The name of its sub-recipe is empty.
    NoRecipeName {
        /// The step.
        step: String,
    },
    /// Its sub-recipe is not found.
    RecipeNotFound {
        /// The name of the sub-recipe.
        name: String,
        /// The places that were searched.
        searched: Vec<String>,
    },
    /// The file of its sub-recipe cannot be read.
    RecipeUnreadable {
        /// The file.
        path: String,
        /// The error of the system.
        reason: String,
    },
    /// Its sub-recipe has mistakes.
    RecipeInvalid {
        /// The name of the sub-recipe.
        name: String,
        /// The mistakes, each with its place.
        problems: Vec<String>,
    },
    /// A stub says that its sub-recipe fails.
    Stub {
        /// How it fails.
        text: String,
    },
    /// A file that its question shows cannot be read.
    NotShown {
        /// The path.
        path: String,
        /// The error of the system.
        why: String,
    },
    /// None of its agent programs can be limited to what the step allows.
    Permissions {
        /// The programs.
        programs: Vec<String>,
        /// What the step allows.
        level: String,
        /// Programs that can be limited so.
        able: Vec<String>,
    },
    /// An argument for its agent program contradicts one that the runner sets.
    AgentArgument {
        /// The program.
        program: String,
        /// The argument.
        argument: String,
    },
    /// The file with its prompt cannot be read.
    PromptFile {
        /// The path.
        path: String,
        /// The error of the system.
        why: String,
    },
    /// Another reason, as text: an error of the system, or a sentence of an old journal.
    Other(String),
}

/// Why a value cannot be used in a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueProblem {
    /// Arithmetic needs a whole number; this is the value, shortened.
    NotANumber(String),
    /// A variable needs a name; this is the value, shortened.
    NotAName(String),
    /// It has a NUL byte.
    Nul,
}

/// Where an output has a NUL character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NulPlace {
    /// At this offset of the output of a command.
    Output(usize),
    /// At this offset of the answer of an agent.
    Answer(usize),
    /// In a text of its JSON.
    Json,
}

/// Something that a recipe needs before its first step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// Environment variables with these names.
    Variables(Vec<String>),
    /// The value of this name in the context.
    Value(String),
    /// The value of this secret input.
    Secret(String),
    /// Another value of this input: the given one does not fit its type.
    Fit(String),
    /// The program of this name.
    Program(String),
    /// An agent program that the runner knows: it does not know this one.
    Agent(String),
    /// A directory or file.
    Path,
    /// A git work tree, in which the changed files of a step can be counted.
    WorkTree,
    /// The directory in which the run began, which is gone.
    OldDirectory,
    /// Depth for another run inside runs.
    Depth,
}

impl Need {
    /// Whether this is about the value of a name.
    pub fn is_about(&self, value: &str) -> bool {
        matches!(self, Need::Value(name) | Need::Secret(name) | Need::Fit(name) if name == value)
    }
}

/// Something that a recipe needs and lacks, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// What is missing.
    pub need: Need,
    /// The message for users.
    pub text: String,
}

/// Why a program could not be started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartFailure {
    /// The kind of the failure.
    pub kind: StartFailureKind,
    /// The message, with the error of the system.
    pub message: String,
}

/// The kind of a failed start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartFailureKind {
    /// This program, or the interpreter that its first line names, does not exist.
    ProgramNotFound(String),
    /// The limit on processes is reached.
    ProcessLimit,
    /// `/dev/null` is missing.
    NoNullDevice,
    /// Another reason.
    Other,
}

/// A budget that is used up: its kind and its limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exhausted {
    /// Agent calls.
    AgentRuns(u64),
    /// Dollars.
    Usd(f64),
    /// Tokens in and out.
    Tokens(u64),
    /// Minutes of agents.
    Minutes(f64),
}

/// A limit of a recipe that a step would exceed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExceededLimit {
    /// Recipes inside recipes.
    Depth {
        /// The limit.
        limit: u64,
    },
    /// Steps that run.
    Steps {
        /// The limit.
        limit: u64,
        /// The recipe that sets it.
        recipe: String,
    },
}

impl ExceededLimit {
    /// Whether it is about recipes inside recipes.
    pub(crate) fn is_depth(&self) -> bool {
        matches!(self, ExceededLimit::Depth { .. })
    }
}

/// Why a loop could not be entered, or did not reach its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopFailure {
    /// `for_each` has no list.
    NotAList {
        /// What it has instead, shortened.
        found: String,
    },
    /// `max_parallel` is not a number from 1.
    NotACount {
        /// What it is instead, shortened.
        found: String,
    },
    /// The list of `for_each` is too long.
    TooManyItems {
        /// The number of its items.
        count: usize,
        /// The limit.
        max: usize,
    },
    /// The condition of `repeat` was not reached.
    NotReached {
        /// The number of iterations.
        iterations: usize,
        /// The condition.
        until: String,
        /// The names that it reads, with their values, shortened.
        values: Vec<(String, String)>,
    },
}

/// What a script with exit code 127 did not find.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingProgram {
    /// These programs.
    Named(Vec<String>),
    /// The interpreter of this script.
    Interpreter(String),
    /// A program, but it is unknown which one.
    Unnamed,
}

/// Why an agent call has no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentFailure {
    /// The model's provider asks for fewer requests.
    RateLimited {
        /// The message of the program.
        message: String,
        /// Seconds to wait, if the provider says so.
        retry_after: Option<u64>,
    },
    /// The provider does not accept the credentials.
    Auth {
        /// The message of the program.
        message: String,
    },
    /// The provider is overloaded or broken.
    Server {
        /// The HTTP status, if known.
        status: Option<u16>,
        /// The message of the program.
        message: String,
    },
    /// The provider cannot be reached.
    Network {
        /// The message of the program.
        message: String,
    },
    /// A limit on turns, budget, credit or length is reached.
    Limit {
        /// The message of the program.
        message: String,
    },
    /// The provider or the program refuses the request.
    Refused {
        /// The HTTP status, if known.
        status: Option<u16>,
        /// The message of the program.
        message: String,
    },
    /// The program reports a failure.
    Reported {
        /// The message of the program.
        message: String,
    },
    /// It ended with exit code 0 and without a result.
    NoResult {
        /// Its other output.
        message: String,
    },
    /// The result is in more JSON than can be read.
    TooLarge,
    /// It ended with another exit code.
    Exit {
        /// The exit code.
        code: i32,
        /// Its last output.
        message: String,
    },
    /// A signal ended it.
    Signal {
        /// The signal's number.
        signal: i32,
        /// Its last output.
        message: String,
    },
}

impl AgentFailure {
    /// The problem of the service, if that is the reason.
    pub fn trouble(&self) -> Option<AgentTrouble> {
        match self {
            AgentFailure::RateLimited { .. } => Some(AgentTrouble::RateLimit),
            AgentFailure::Auth { .. } => Some(AgentTrouble::Credentials),
            AgentFailure::Network { .. } => Some(AgentTrouble::Network),
            AgentFailure::Server { .. } => Some(AgentTrouble::Service),
            AgentFailure::Refused { status: Some(_), .. } => Some(AgentTrouble::Request),
            _ => None,
        }
    }
}
