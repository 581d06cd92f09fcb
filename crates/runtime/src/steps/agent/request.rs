//! What an agent is asked. Never says which program answers.

use recipe::plan::Permissions;

use super::conversation::SessionPrompt;

/// What an agent is asked, and how.
#[derive(Debug)]
pub struct AgentRequest {
    /// The prompt of a new conversation, without the footer.
    pub prompt: String,
    /// The conversation that is continued, if that is possible.
    pub continued: Option<SessionPrompt>,
    /// The role of the agent.
    pub system_prompt: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The only program that gets the model; absent if any does.
    pub model_for: Option<String>,
    /// The programs that the step names.
    pub programs: Vec<String>,
    /// What the agent may do.
    pub permissions: Permissions,
    /// More arguments for the program.
    pub args: Vec<String>,
    /// Seconds after which it is ended.
    pub timeout: Option<f64>,
    /// Seconds of silence after which it is ended.
    pub idle_timeout: Option<f64>,
    /// Whether changed files are staged.
    pub auto_stage: bool,
    /// How often to ask again for valid JSON.
    pub json_retries: u64,
}

impl AgentRequest {
    /// A request that is only a prompt.
    pub fn new(prompt: String, permissions: Permissions, timeout: Option<f64>) -> AgentRequest {
        AgentRequest {
            prompt,
            continued: None,
            system_prompt: None,
            model: None,
            model_for: None,
            programs: Vec::new(),
            permissions,
            args: Vec::new(),
            timeout,
            idle_timeout: None,
            auto_stage: false,
            json_retries: 0,
        }
    }
}
