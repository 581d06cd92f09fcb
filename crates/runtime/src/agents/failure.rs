//! Why an agent call failed: one closed list with a message for each. Decides nothing.

use engine::run::outcome::AgentTrouble;
use serde::{Deserialize, Serialize};

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AgentFailure {
    /// The model's provider asks for fewer requests.
    #[error("the agent is rate limited: {message}")]
    RateLimited {
        /// The message of the program.
        message: String,
        /// Seconds to wait, if the provider says so.
        retry_after: Option<u64>,
    },
    /// The provider does not accept the credentials.
    #[error("the agent cannot log in: {message}; check its login or its key")]
    Auth {
        /// The message of the program.
        message: String,
    },
    /// The provider is overloaded or broken.
    #[error("the agent's model service fails{}: {message}", with_status(*.status))]
    Server {
        /// The HTTP status, if known.
        status: Option<u16>,
        /// The message of the program.
        message: String,
    },
    /// The provider cannot be reached.
    #[error("the agent cannot reach its model service: {message}")]
    Network {
        /// The message of the program.
        message: String,
    },
    /// A limit on turns, budget, credit or length is reached.
    #[error("the agent stops at a limit: {message}")]
    Limit {
        /// The message of the program.
        message: String,
    },
    /// The provider or the program refuses the request.
    #[error("the agent's request is refused{}: {message}", with_status(*.status))]
    Refused {
        /// The HTTP status, if known.
        status: Option<u16>,
        /// The message of the program.
        message: String,
    },
    /// The program reports a failure.
    #[error("the agent reports a failure: {message}")]
    Reported {
        /// The message of the program.
        message: String,
    },
    /// It ended with exit code 0 and without a result.
    #[error("the agent ends with exit code 0 and without a result{}", after(.message))]
    NoResult {
        /// Its other output.
        message: String,
    },
    /// The result is in more JSON than can be read.
    #[error("the agent's answer is in more JSON than can be read at once")]
    TooLarge,
    /// It ended with another exit code.
    #[error("the agent ends with exit code {code}{}", after(.message))]
    Exit {
        /// The exit code.
        code: i32,
        /// Its last output.
        message: String,
    },
    /// A signal ended it.
    #[error("the agent is ended by signal {signal}{}", after(.message))]
    Signal {
        /// The signal's number.
        signal: i32,
        /// Its last output.
        message: String,
    },
}

impl AgentFailure {
    /// Whether it is a rate limit, so that waiting helps.
    pub fn is_rate_limit(&self) -> bool {
        matches!(self, AgentFailure::RateLimited { .. })
    }

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

    /// Whether the same call may succeed later without any change.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            AgentFailure::RateLimited { .. } | AgentFailure::Server { .. } | AgentFailure::Network { .. }
        )
    }
}

fn with_status(status: Option<u16>) -> String {
    status.map_or_else(String::new, |status| format!(" with status {status}"))
}

fn after(message: &str) -> String {
    match message {
        "" => String::new(),
        message => format!(": {message}"),
    }
}
