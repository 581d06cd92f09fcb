//! What an agent step asks for besides its prompt: its program, what it may do, its arguments, and the conversation that
//! it continues.

use std::path::Path;

use engine::{
    RunState,
    run::{
        cause::Refusal,
        frame::{FrameId, StepState},
        outcome::Outcome,
        text::brief,
    },
};
use recipe::{
    plan::{AgentStep, Permissions},
    syntax::PermissionLevel,
    template::Template,
};

use super::{RunSpec, preparer::Preparer, start_agent::AgentScope, start_step::StepStart};
use crate::{
    agents::{
        Program,
        permissions::{SetArguments, able},
    },
    machine::programs,
    steps::agent::{conversation::SessionPrompt, request::AgentRequest},
    store::folder::RunFolder,
};

/// What is said, and in which conversation.
pub(super) struct Spoken {
    /// The prompt of a new conversation.
    pub(super) prompt: String,
    /// The conversation that is continued, if its program can.
    pub(super) continued: Option<SessionPrompt>,
    /// The program of that conversation.
    pub(super) program: Option<String>,
}

impl RunSpec<'_> {
    /// What agents may do in a recipe whose step does not say so: as the command line says, the recipe, or one around it.
    pub(super) fn permissions_in(&self, state: &RunState, frame: FrameId) -> Permissions {
        if let Some(level) = self.agents.permissions {
            return Permissions { level, required: true };
        }
        let said = state.lineage(frame).into_iter().find_map(|frame| frame.unit.limits.permissions);
        said.unwrap_or(Permissions::FULL)
    }

    /// Those of the programs of a step that can be limited as it demands, in their order.
    pub(super) fn able_programs(
        &self,
        named: &[String],
        permissions: Permissions,
    ) -> Result<Vec<String>, Refusal> {
        let agents = &self.agents;
        let (names, _) = programs::choices(named, agents);
        let Permissions { level, required } = permissions;
        let can = |name: &&String| match Program::named(name, &agents.custom) {
            _ if level == PermissionLevel::Full || !required => true,
            // the launcher decides what its programs may do
            _ if agents.launcher.is_some() => false,
            Some(program) => program.can(level),
            // an unknown program has its own message
            None => true,
        };
        let usable: Vec<String> = names.iter().filter(can).cloned().collect();
        if usable.is_empty() {
            let (programs, able) = (names.to_vec(), able(level, &agents.custom));
            return Err(Refusal::Permissions { programs, level: level.as_str().to_owned(), able });
        }
        Ok(usable)
    }

    /// Whether the changes of an agent step are staged.
    pub(super) fn stages(&self, agent: &AgentStep) -> bool {
        agent.auto_stage && !self.options.no_auto_stage
    }
}

impl Preparer<'_, '_> {
    /// The programs of a request that can do what it asks for, in their order.
    pub(super) fn usable_programs(&self, path: &str, request: &AgentRequest) -> Result<Vec<String>, Refusal> {
        let agents = &self.spec.agents;
        let usable = self.spec.able_programs(&request.programs, request.permissions)?;
        let set = SetArguments {
            level: request.permissions.level,
            model: request.model.is_some(),
            system_prompt: request.system_prompt.is_some(),
        };
        for name in &usable {
            let program = Program::named(name, &agents.custom);
            let wrong = program.as_ref().and_then(|program| program.contradiction(&request.args, set));
            if let Some(argument) = wrong {
                return Err(Refusal::AgentArgument { program: name.clone(), argument: argument.to_owned() });
            }
        }
        Ok(self.after_rate_limit(path, usable))
    }

    /// After a rate limit of all programs, only the last one is tried again: the others were limited before it.
    fn after_rate_limit(&self, path: &str, usable: Vec<String>) -> Vec<String> {
        let last = self.state.failures.get(path).and_then(|failures| failures.last());
        match last.map(|ended| &ended.outcome) {
            Some(Outcome::RateLimited { .. }) if usable.len() > 1 => {
                let host = &self.spec.host;
                programs::installed(&usable, &self.spec.agents, host).pop().into_iter().collect()
            }
            _ => usable,
        }
    }

    /// The text of a prompt file whose path is known only now, relative to the recipe.
    pub(super) fn read_prompt(
        &self,
        frame: FrameId,
        path: &str,
        scope: &AgentScope<'_>,
    ) -> Result<String, Refusal> {
        let recipe = self.spec.base.join(&self.state.frames[frame].unit.path);
        let file = recipe.parent().unwrap_or(Path::new("")).join(path.trim());
        let refused = |why: String| Refusal::PromptFile { path: brief(path), why };
        let text = std::fs::read_to_string(&file).map_err(|error| refused(error.to_string()))?;
        let template = Template::parse(&text).map_err(|errors| {
            refused(errors.first().map(|error| error.message.clone()).unwrap_or_default())
        })?;
        Ok(template.render(scope))
    }

    /// The conversation of a step: its own if its rules are not met, or that of the step that it continues.
    pub(super) fn conversation(&self, start: &StepStart, agent: &AgentStep, task: String) -> Spoken {
        let (frame, _) = self.state.in_recipe((start.frame, start.at));
        let earlier = agent.continues.map(|at| (at, &self.state.frames[frame].steps[at]));
        let prompt = match earlier {
            Some((at, step)) => {
                let path = self.state.frames[frame].step_path(at);
                format!("{}\n\n{task}", self.earlier_words(&path, step))
            }
            None => task.clone(),
        };
        let own = self.state.asked_again(&start.path).and_then(|again| again.own.as_ref());
        let own = own.filter(|ended| ended.outcome == Outcome::Ensure).and_then(|ended| ended.usage.as_ref());
        let usage = own.or_else(|| earlier.and_then(|(_, step)| step.ended.as_ref()?.usage.as_ref()));
        let session = usage.and_then(|usage| usage.session.clone());
        Spoken {
            prompt,
            continued: session.map(|session| SessionPrompt { session, prompt: task }),
            program: usage.and_then(|usage| usage.program.clone()),
        }
    }

    /// The last prompt and the answer of an earlier step, for an agent that cannot continue its session.
    fn earlier_words(&self, path: &str, step: &StepState) -> String {
        let dir = self.store.dir().join(RunFolder::attempt(path, step.attempt));
        let asked = std::fs::read_to_string(dir.join("prompt-1.md")).unwrap_or_default();
        let answer = step.value.as_ref().map(|value| value.render().into_owned()).unwrap_or_default();
        format!(
            "This continues an earlier conversation with you.\n\nYou were asked:\n{}\n\nYou answered:\n{}\n\n\
             Now you are asked:",
            asked.trim_end(),
            answer.trim_end()
        )
    }
}
