//! Words from which something is concluded: the types of `phrases.yaml`, where they are explained.

use serde::Deserialize;

use crate::failure::Class;

/// Everything in `phrases.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phrases {
    /// Causes that a line of output names, in the order in which they are tried.
    pub causes: Vec<CausePhrase>,
    /// Beginnings of lines that a tool prints about itself.
    pub tool_lines: Vec<String>,
    /// Signs that a check gave its verdict.
    pub verdicts: Vec<String>,
    /// Words for counted failures.
    pub counted_failures: Vec<String>,
    /// Words of an error on standard output.
    pub printed_errors: Vec<String>,
    /// Words of a test about disks.
    pub disk_subjects: Vec<String>,
    /// Lines that report the result of one test.
    pub test_lines: LineEdges,
    /// Words about a variable that is not set.
    pub unset_variable: UnsetVariableWords,
    /// Words about a program that is missing.
    pub missing_program: MissingProgramWords,
    /// Words of an answer without work.
    pub hollow: HollowWords,
    /// Words about recovered work.
    pub recovered: RecoveredWords,
    /// Fields that name the target of a tool.
    pub tool_targets: Vec<String>,
    /// Names of this machine.
    pub local_hosts: Vec<String>,
    /// Words of a date.
    pub date_words: Vec<String>,
    /// Error lines of agent programs.
    pub agent_errors: AgentErrors,
}

/// Phrases that name a cause.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CausePhrase {
    /// The class of the failure.
    pub class: Option<Class>,
    /// What the line means, for users.
    pub what: String,
    /// One of these is in the line.
    pub any: Vec<String>,
    /// And one of these, if there are any.
    pub with: Vec<String>,
    /// And none of these.
    pub without: Vec<String>,
    /// Whether it is trusted in the output of a check.
    pub even_in_checks: bool,
    /// What it means in an error message of an agent program.
    pub agent: Option<ServiceTrouble>,
}

/// What is wrong with the service of an agent program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServiceTrouble {
    /// It asks for fewer requests.
    RateLimit,
    /// There is no credit left.
    UsedUp,
    /// It does not accept the login.
    Login,
    /// It is overloaded or broken.
    Server,
    /// It cannot be reached.
    Network,
}

/// Beginnings and endings of lines.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineEdges {
    /// Beginnings.
    pub begin: Vec<String>,
    /// Endings.
    pub end: Vec<String>,
}

/// Words about a variable that is not set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UnsetVariableWords {
    /// Endings of a shell's line.
    pub endings: Vec<String>,
    /// Whole lines of programs, with `{}` for the name.
    pub sentences: Vec<String>,
}

/// Words about a program that is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MissingProgramWords {
    /// Endings of a line after its name.
    pub endings: Vec<String>,
    /// Endings that count only if the step looked for the program.
    pub asked_for: Vec<String>,
    /// Commands that look for a program.
    pub lookups: Vec<String>,
    /// Words that are not names.
    pub no_names: Vec<String>,
}

/// Words of an answer without work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HollowWords {
    /// The agent could not do something.
    pub cannot: Vec<String>,
    /// The places that it could not reach.
    pub places: Vec<String>,
    /// Signs of work.
    pub deeds: Vec<String>,
    /// Words for the agent itself, and for its place.
    pub own: Vec<String>,
}

/// Words that turn "recovered" into its opposite.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecoveredWords {
    /// Anywhere before it.
    pub negations: Vec<String>,
    /// Directly after it.
    pub denials: Vec<String>,
}

/// Error lines of agent programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentErrors {
    /// Beginnings of an error.
    pub headings: Vec<String>,
    /// Beginnings of an error of the service.
    pub service_headings: Vec<String>,
    /// Beginnings of a request for a login.
    pub logins: Vec<String>,
    /// Words that make the number after them an HTTP status.
    pub before_status: Vec<String>,
    /// Words that make the number before them an HTTP status.
    pub after_status: Vec<String>,
    /// The statuses that are about the service or the login.
    pub statuses: Vec<u16>,
    /// Words near a number that make it an HTTP status.
    pub status_context: Vec<String>,
    /// Words before a number that make it something else.
    pub not_a_status: Vec<String>,
}

impl Phrases {
    /// The phrases that mean this trouble in an error message of an agent program.
    pub fn of_agents(&self, trouble: ServiceTrouble) -> impl Iterator<Item = &str> {
        let own = self.causes.iter().filter(move |cause| cause.agent == Some(trouble));
        own.flat_map(|cause| &cause.any).map(String::as_str)
    }
}

impl CausePhrase {
    /// Why a user's entry cannot be used.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let is_lower = |list: &[String]| list.iter().all(|phrase| *phrase == phrase.to_lowercase());
        if self.class.is_none() {
            Some("a phrase needs a `class`")
        } else if self.any.iter().all(|phrase| phrase.trim().is_empty()) {
            Some("a phrase needs words in `any`")
        } else if self.agent.is_some() {
            Some("`agent` is for the built-in phrases; give the agent program its own `rate_limit` words")
        } else if !(is_lower(&self.any) && is_lower(&self.with) && is_lower(&self.without)) {
            Some("phrases are lower case; they match text in any case")
        } else {
            None
        }
    }
}
