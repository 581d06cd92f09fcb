//! Where a request came from: recorded with the run, never used for a decision.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The way in that a request took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Surface {
    /// The command line.
    Cli,
    /// A question or a view in a terminal.
    Terminal,
    /// A page in a browser.
    Web,
    /// The HTTP interface for programs.
    Api,
    /// The Model Context Protocol.
    Mcp,
    /// A webhook.
    Hook,
    /// Slack.
    Slack,
}

impl Surface {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Surface::Cli => "cli",
            Surface::Terminal => "terminal",
            Surface::Web => "web",
            Surface::Api => "api",
            Surface::Mcp => "mcp",
            Surface::Hook => "hook",
            Surface::Slack => "slack",
        }
    }
}

/// Where a request came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The way in.
    pub surface: Surface,
    /// The person or program that asked; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The id of the request.
    pub request_id: String,
    /// When it was made.
    pub at: Timestamp,
}
