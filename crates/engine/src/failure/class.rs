//! The kinds of failure: one taxonomy in three buckets that are never mixed, and the confidence of a diagnosis.
//!
//! Only names; the rules decide between them.

use serde::{Deserialize, Serialize};

/// Which side has to act on a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Responsibility {
    /// Something outside the recipe and the work is missing or refuses.
    Environment,
    /// The recipe cannot do what it says.
    Recipe,
    /// The work is not as required.
    Work,
    /// The run itself was ended.
    Run,
    /// Unknown.
    None,
}

impl Responsibility {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Responsibility::Environment => "environment",
            Responsibility::Recipe => "recipe",
            Responsibility::Work => "work",
            Responsibility::Run => "run",
            Responsibility::None => "none",
        }
    }
}

/// The confidence of a diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// A guess.
    Low,
    /// Text in its context shows it.
    Medium,
    /// A typed fact shows it.
    High,
}

/// Declares the classes with their names, codes and buckets.
macro_rules! classes {
    ($($(#[doc = $doc:literal])+ $name:ident $word:literal $code:literal $bucket:ident,)+) => {
        /// The kind of a failure.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Class { $($(#[doc = $doc])+ #[serde(rename = $word)] $name,)+ }

        impl Class {
            /// All of them.
            pub const ALL: &[Class] = &[$(Class::$name),+];

            /// Its name.
            pub fn as_str(self) -> &'static str {
                match self { $(Class::$name => $word,)+ }
            }

            /// Its code for machines.
            pub fn code(self) -> &'static str {
                match self { $(Class::$name => $code,)+ }
            }

            /// Which side has to act on it.
            pub fn bucket(self) -> Responsibility {
                match self { $(Class::$name => Responsibility::$bucket,)+ }
            }
        }
    };
}

classes! {
    /// The step's own timeout fired.
    Timeout "timeout" "TIMEOUT" Run,
    /// An agent is alive and shows no activity.
    AgentOpaque "agent_opaque" "AGENT_OPAQUE" Run,
    /// An environment variable is not set.
    MissingEnv "environment.missing_env" "MISSING_ENV_VAR" Environment,
    /// A program is not installed.
    MissingBinary "environment.missing_binary" "MISSING_BINARY" Environment,
    /// A directory or file that a run needs is missing.
    MissingPath "environment.missing_path" "MISSING_PATH" Environment,
    /// A login is missing, wrong or expired.
    Credentials "environment.credentials" "CREDENTIALS" Environment,
    /// A service asks for fewer requests.
    RateLimit "environment.rate_limit" "RATE_LIMIT" Environment,
    /// A service cannot be reached.
    Network "environment.network" "NETWORK" Environment,
    /// The disk is full.
    Disk "environment.disk" "DISK_FULL" Environment,
    /// There is not enough memory.
    Memory "environment.memory" "OUT_OF_MEMORY" Environment,
    /// Uncommitted changes are in the way.
    WorkdirDirty "environment.workdir_dirty" "WORKDIR_DIRTY" Environment,
    /// A process that is gone left its markers behind.
    StaleState "environment.stale_state" "STALE_STATE" Environment,
    /// Another process already works on it.
    AlreadyRunning "environment.already_running" "ALREADY_RUNNING" Environment,
    /// The recipe cannot be compiled, or exceeds a limit.
    Structure "structure" "STRUCTURE" Recipe,
    /// A check found that the work is not as required.
    Verification "verification" "VERIFICATION_FAILED" Work,
    /// A check cannot work here.
    ValidationStrategy "validation_strategy" "VALIDATION_STRATEGY" Recipe,
    /// An agent completed, but its result does not pass its check.
    AgentDrift "agent_drift" "AGENT_DRIFT" Work,
    /// An agent completed without doing anything.
    HollowSuccess "hollow_success" "HOLLOW_SUCCESS" Work,
    /// No step can become ready.
    Deadlock "deadlock" "DEADLOCK" Recipe,
    /// A budget of attempts, money or time is spent.
    RetryExhausted "retry_exhausted" "RETRY_EXHAUSTED" Run,
    /// The run was stopped, or its process is gone.
    Interrupted "interrupted" "INTERRUPTED" Run,
    /// Nothing matched.
    Unknown "unknown" "UNKNOWN" None,
}
