//! Agent steps: the prompt, the program, what it may do, and the conversation that it continues.
//!
//! Never knows what a program can do: the caller of the check does.

use crate::{
    agent_ref::AgentRef,
    diagnostic::{Code, Diagnostic, Severity},
    plan::{AgentPrograms, AgentStep, Permissions, StepKind},
    syntax::{
        PermissionsSyntax, StepSyntax, StepType,
        shape::{Optional, Spanned, article},
    },
    template::Template,
};

use super::{
    Checker,
    extend::Lineage,
    kind::{WrittenStep, effective_type},
    names::UsedIn,
    unit::UnitScope,
};

/// The prompt of a step, or the file that has it when the step runs.
struct PromptSource {
    prompt: Template,
    file: Option<Template>,
}

impl Checker<'_> {
    pub(super) fn agent(&mut self, step: WrittenStep<'_>) -> Option<StepKind> {
        let WrittenStep { fields, name, place, at, scope } = step;
        let contradicted = self.is_contradicted(step, "agent", &["command", "recipe", "ask"]);
        if fields.agent.is_none() && fields.prompt.is_none() && fields.prompt_file.is_none() {
            self.needs(step, "agent", "prompt");
            return None;
        }
        let prompt = self.prompt(fields, at, scope);
        let says_nothing = fields.prompt.as_ref().is_none_or(|prompt| prompt.value.trim().is_empty());
        if says_nothing && fields.prompt_file.is_none() && !contradicted {
            let place = fields.prompt.as_ref().or(fields.agent.as_ref()).map_or(place, |field| field.place);
            self.diagnostics.push(
                Diagnostic::new(Code::NoPrompt, place, format!("agent step `{name}` has no prompt"))
                    .label("the agent gets no task")
                    .help("describe the agent's task under `prompt:`"),
            );
        }
        let model = fields.model.as_ref().map(|model| self.template(model, at, scope.id));
        let agent = fields.agent.as_ref().filter(|agent| !agent.value.trim().is_empty());
        let system_prompt = agent.and_then(|agent| self.agent_file(agent));
        let args = fields.agent_args.iter().flat_map(|args| &args.value);
        let args = args.map(|arg| self.template(arg, at, scope.id)).collect::<Option<Vec<_>>>();
        let programs = self.programs(fields, at, scope);
        let prompt = prompt?;
        let step = AgentStep {
            prompt: prompt.prompt,
            prompt_file: prompt.file,
            reference: agent.map(|agent| agent.value.clone()),
            system_prompt,
            model: model.map_or(Some(None), |model| model.map(Some))?,
            programs: programs?,
            mode: fields.mode.as_ref().map(|mode| mode.value.clone()),
            permissions: permissions(&fields.permissions),
            args: args?,
            continues: self.continues(fields, at.step(), scope),
            auto_stage: fields.auto_stage.as_ref().is_none_or(|flag| flag.value),
            idle_timeout: self.positive(&fields.idle_timeout, "idle_timeout"),
            json_retries: fields.json_retries.as_ref().map_or(1, |retries| retries.value),
        };
        (!contradicted).then_some(StepKind::Agent(Box::new(step)))
    }

    /// The prompt, or where it comes from.
    fn prompt(&mut self, fields: &StepSyntax, at: UsedIn, scope: &UnitScope) -> Option<PromptSource> {
        let used_in = UsedIn::Prompt(at.step());
        let Some(file) = &fields.prompt_file else {
            let prompt = match &fields.prompt {
                Some(prompt) => self.template(prompt, used_in, scope.id)?,
                None => Template::literal(""),
            };
            return Some(PromptSource { prompt, file: None });
        };
        if fields.prompt.is_some() {
            self.diagnostics.push(
                Diagnostic::new(
                    Code::Contradiction,
                    file.place,
                    "`prompt` and `prompt_file` contradict each other",
                )
                .label("there is a `prompt` too")
                .help("keep one of the two"),
            );
            return None;
        }
        let path = self.template(file, at, scope.id)?;
        if path.as_literal().is_none() {
            return Some(PromptSource { prompt: Template::literal(""), file: Some(path) });
        }
        let from = self.sources.file(file.place.file).path.clone();
        let Some(text) = self.loader.prompt_file(file.value.trim(), &from) else {
            self.diagnostics.push(
                Diagnostic::new(
                    Code::UnresolvedAgent,
                    file.place,
                    format!("prompt file `{}` cannot be read", file.value),
                )
                .severity(Severity::Error)
                .label("not readable as text")
                .help("write a path relative to the recipe; a path with a `{{name}}` is read when the step runs"),
            );
            return None;
        };
        // its names are reported at the field that names the file
        let written = Spanned { value: text.to_string(), place: file.place, scalar: None };
        let prompt = self.template(&written, used_in, scope.id)?;
        Some(PromptSource { prompt, file: None })
    }

    /// The programs that a step names.
    pub(super) fn programs(
        &mut self,
        fields: &StepSyntax,
        at: UsedIn,
        scope: &UnitScope,
    ) -> Option<AgentPrograms> {
        let mut names = Vec::new();
        if let Some(none) = fields.agent_binary.as_ref().filter(|programs| programs.value.0.is_empty()) {
            self.diagnostics.push(
                Diagnostic::new(Code::EmptyField, none.place, "`agent_binary` is empty")
                    .label("names no program")
                    .help("write the name of an agent program, or remove `agent_binary`"),
            );
        }
        for program in fields.agent_binary.iter().flat_map(|programs| &programs.value.0) {
            match program.value.trim() {
                "" => self.diagnostics.push(
                    Diagnostic::new(Code::EmptyField, program.place, "a name under `agent_binary` is empty")
                        .label("empty")
                        .help("write the name of an agent program, or remove `agent_binary`"),
                ),
                _ => names.push(self.template(program, at, scope.id)),
            }
        }
        names.into_iter().collect::<Option<_>>().map(AgentPrograms)
    }

    /// The step whose conversation a step continues.
    fn continues(&mut self, fields: &StepSyntax, at: usize, scope: &UnitScope) -> Option<usize> {
        let named = fields.continues.as_ref()?;
        let Some(index) = scope.ids.get(named.value.trim()).copied() else {
            if scope.lineage == Lineage::Whole {
                let problem = self.unknown_step(named, scope);
                self.diagnostics.push(problem);
            }
            return None;
        };
        let is_beside = scope.groups[at].is_some() && scope.groups[index] == scope.groups[at];
        let problem = match index {
            _ if !scope.agents[index] => (Code::Contradiction, "is not an agent step"),
            index if index >= at => (Code::LaterStep, "does not come before this one"),
            _ if is_beside => (Code::GroupDependency, "runs at the same time as this one"),
            _ if scope.loops[index] => (Code::Contradiction, "has several conversations: it is a loop"),
            _ => return Some(index),
        };
        self.diagnostics.push(
            Diagnostic::new(problem.0, named.place, format!("step `{}` {}", named.value, problem.1))
                .label("cannot be continued")
                .help("name an agent step that comes before this one"),
        );
        None
    }

    fn agent_file(&mut self, agent: &Spanned<String>) -> Option<std::sync::Arc<str>> {
        let from = self.sources.file(agent.place.file).path.clone();
        let found = AgentRef::parse(&agent.value).map(|reference| self.loader.agent(&reference, &from));
        let (message, help) = match found {
            Some(Some(text)) => return Some(text),
            Some(None) => (
                format!("agent file for `{}` not found", agent.value),
                "the step runs without a system prompt; put the agent's Markdown file into `agents/` beside the recipe",
            ),
            None => (
                format!("agent `{}` has segments that are not safe names", agent.value),
                "write `namespace:category:name` with letters, digits, `_` and `-`; the step runs without a system prompt",
            ),
        };
        self.diagnostics.push(
            Diagnostic::new(Code::UnresolvedAgent, agent.place, message).label("no system prompt").help(help),
        );
        None
    }

    /// Reports fields of agent steps on a step of another type: a limit that does not hold must not look as if it did.
    pub(super) fn fields_of_agents(&mut self, fields: &StepSyntax, kind: &StepKind) {
        if matches!(kind, StepKind::Agent(_)) {
            return;
        }
        let word = kind.word();
        let written = [
            ("permissions", fields.permissions.as_ref().map(|field| field.place)),
            ("agent_args", fields.agent_args.as_ref().map(|field| field.place)),
            ("continues", fields.continues.as_ref().map(|field| field.place)),
            ("prompt_file", fields.prompt_file.as_ref().map(|field| field.place)),
        ];
        for (name, place) in written {
            let Some(place) = place else { continue };
            let message = format!("{} {word} step cannot have `{name}`", article(word));
            self.diagnostics.push(
                Diagnostic::new(Code::Contradiction, place, message)
                    .label("only agent steps have it")
                    .help(format!("remove `{name}`, or move it to an agent step"))
                    .recent(),
            );
        }
    }
}

/// What an agent may do, as written.
pub(super) fn permissions(written: &Optional<PermissionsSyntax>) -> Option<Permissions> {
    Some(match &written.as_ref()?.value {
        PermissionsSyntax::Level(level) => Permissions { level: *level, required: true },
        PermissionsSyntax::Fields(fields) => Permissions {
            level: fields.level.as_ref()?.value,
            required: fields.required.as_ref().is_none_or(|flag| flag.value),
        },
    })
}

/// Whether a step is an agent step.
pub(super) fn is_agent(fields: &StepSyntax) -> bool {
    effective_type(fields) == StepType::Agent
}
