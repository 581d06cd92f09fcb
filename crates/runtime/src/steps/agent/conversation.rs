//! What an agent is asked, in which conversation, and by which of its programs. Starts nothing itself.

use engine::{
    Outcome,
    run::{budget, outcome::AgentTrouble},
};
use recipe::{plan::Permissions, syntax::PermissionLevel};

use crate::{
    agents::Program,
    steps::agent::{attempt::AgentTask, call::Call},
};

/// A session of an agent program, and what is said in it.
#[derive(Clone, Debug)]
pub struct SessionPrompt {
    /// The program's own id.
    pub session: String,
    /// The prompt: the session knows what was said before.
    pub prompt: String,
}

/// One prompt: in a session, or at the beginning of a new conversation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Said<'a> {
    pub(crate) prompt: &'a str,
    pub(crate) session: Option<&'a str>,
}

impl<'a> Said<'a> {
    /// A new conversation.
    pub(crate) fn anew(prompt: &'a str) -> Said<'a> {
        Said { prompt, session: None }
    }
}

impl AgentTask {
    /// The description of its program.
    fn described(&self) -> Option<Program> {
        Program::named(&self.program, &self.settings.custom).filter(|_| self.settings.launcher.is_none())
    }

    /// Whether its program can continue a session.
    pub(crate) fn has_sessions(&self) -> bool {
        self.described().is_some_and(|program| program.has_sessions())
    }

    /// Whether a call failed because its program does not know the session.
    pub(crate) fn lost_its_session(&self, call: &Call) -> bool {
        let Err(said) = &call.result else { return false };
        asked_nothing(call) && self.described().is_some_and(|program| program.lacks_session(said))
    }

    /// What its program is limited to: everything, if it cannot be limited as wished.
    pub(crate) fn level(&self) -> PermissionLevel {
        let Permissions { level, .. } = self.request.permissions;
        match self.described().is_some_and(|program| program.can(level)) {
            true => level,
            false => PermissionLevel::Full,
        }
    }

    /// The note that a wish about permissions is not fulfilled.
    pub(crate) fn unlimited(&self) -> Option<String> {
        let wished = self.request.permissions.level;
        (self.level() != wished).then(|| {
            let (program, level) = (&self.program, wished.as_str());
            format!("warning: `{program}` cannot run with `permissions: {level}`, so it may do everything")
        })
    }

    /// Moves on to the next program, if the service of this one is the reason why a call failed; returns a note.
    pub(crate) fn move_on(&mut self, call: &Call) -> Option<String> {
        let why = match (&call.outcome, call.trouble) {
            (Outcome::RateLimited { .. }, _) | (_, Some(AgentTrouble::RateLimit)) => "is rate limited",
            (_, Some(AgentTrouble::Credentials)) => "is not logged in",
            (_, Some(AgentTrouble::Service | AgentTrouble::Network)) => "cannot reach its service",
            _ => return None,
        };
        if self.others.is_empty() || budget::used_up(&self.limits, &*self.ledger).is_some() {
            return None;
        }
        let next = self.others.remove(0);
        let before = std::mem::replace(&mut self.program, next);
        // a session belongs to its program, and so does a model
        self.request.continued = None;
        let model = self.request.model.take().map_or("", |_| ", with its own default model");
        Some(format!("`{before}` {why}: asking `{}` instead{model}", self.program))
    }
}

/// Whether a call ended before any model was asked: the session that it was to continue may be gone.
pub(crate) fn asked_nothing(call: &Call) -> bool {
    let is_unasked = call.usage.tokens().unwrap_or(0) == 0 && call.usage.turns.unwrap_or(0) == 0;
    let is_own_failure = matches!(call.outcome, Outcome::Exit(_) | Outcome::Agent(_));
    call.result.is_err() && call.trouble.is_none() && is_unasked && is_own_failure
}
