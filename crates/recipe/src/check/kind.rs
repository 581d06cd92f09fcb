//! The kind of a step: finds its type, and the fields that belong to that type.
//!
//! Never looks at fields that every step has, such as conditions and timeouts.

use crate::{
    agent_ref::AgentRef,
    diagnostic::{Code, Diagnostic},
    plan::{AgentStep, Recoverer, StepKind, Target, ValueTemplate},
    source::Place,
    syntax::{
        StepSyntax, StepType,
        shape::{Optional, Spanned, article},
    },
    template::Template,
    value::Value,
    yaml::{Entry, Node, NodeKind},
};

use super::{Checker, names::UsedIn, unit::UnitScope};

impl Checker<'_> {
    pub(super) fn kind(
        &mut self,
        fields: &StepSyntax,
        name: &str,
        place: Place,
        at: UsedIn,
        scope: &UnitScope,
    ) -> Option<StepKind> {
        let blank = |text: &Optional<String>| text.as_ref().is_some_and(|text| text.value.trim().is_empty());
        let doing = [&fields.command, &fields.agent, &fields.prompt, &fields.recipe];
        if ["command", "agent", "prompt", "recipe"].iter().any(|field| fields.unread.contains(field)) {
            return None;
        }
        if doing.iter().all(|field| field.is_none() || blank(field)) {
            self.diagnostics.push(
                Diagnostic::new(Code::NothingToDo, place, format!("step `{name}` has nothing to do"))
                    .label("no `command`, `agent`, `prompt` or `recipe`")
                    .help("give it a `command:` to run, a `prompt:` for an agent, or a `recipe:`"),
            );
            return None;
        }
        match effective_type(fields) {
            StepType::Bash => self.shell(fields, name, place, at, scope),
            StepType::Agent => self.agent(fields, name, place, at, scope),
            StepType::Recipe => self.nested(fields, name, place, at, scope),
        }
    }

    fn shell(
        &mut self,
        fields: &StepSyntax,
        name: &str,
        place: Place,
        at: UsedIn,
        scope: &UnitScope,
    ) -> Option<StepKind> {
        let contradicted = self.contradiction(&fields.agent, name, "bash", "agent")
            | self.contradiction(&fields.recipe, name, "bash", "recipe");
        let command = match &fields.command {
            Some(command) if !command.value.trim().is_empty() => self.command(command, at, scope.id),
            _ => {
                self.needs(name, "bash", "command", place);
                None
            }
        };
        (!contradicted).then_some(StepKind::Shell { command: command? })
    }

    fn agent(
        &mut self,
        fields: &StepSyntax,
        name: &str,
        place: Place,
        at: UsedIn,
        scope: &UnitScope,
    ) -> Option<StepKind> {
        let contradicted = self.contradiction(&fields.command, name, "agent", "command")
            | self.contradiction(&fields.recipe, name, "agent", "recipe");
        if fields.agent.is_none() && fields.prompt.is_none() {
            self.needs(name, "agent", "prompt", place);
            return None;
        }
        let prompt = match &fields.prompt {
            Some(prompt) => self.template(prompt, UsedIn::Prompt(at.step()), scope.id),
            None => Some(Template::literal("")),
        };
        let says_nothing = fields.prompt.as_ref().is_none_or(|prompt| prompt.value.trim().is_empty());
        if says_nothing && !contradicted {
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
        let step = AgentStep {
            prompt: prompt?,
            reference: agent.map(|agent| agent.value.clone()),
            system_prompt,
            model: model.map_or(Some(None), |model| model.map(Some))?,
            program: fields.agent_binary.as_ref().map(|program| program.value.clone()),
            mode: fields.mode.as_ref().map(|mode| mode.value.clone()),
            auto_stage: fields.auto_stage.as_ref().is_none_or(|flag| flag.value),
            idle_timeout: self.positive(&fields.idle_timeout, "idle_timeout"),
            json_retries: fields.json_retries.as_ref().map_or(1, |retries| retries.value),
        };
        (!contradicted).then_some(StepKind::Agent(Box::new(step)))
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

    fn nested(
        &mut self,
        fields: &StepSyntax,
        name: &str,
        place: Place,
        at: UsedIn,
        scope: &UnitScope,
    ) -> Option<StepKind> {
        let contradicted = self.contradiction(&fields.command, name, "recipe", "command")
            | self.contradiction(&fields.agent, name, "recipe", "agent")
            | self.contradiction(&fields.prompt, name, "recipe", "prompt");
        let Some(recipe) = fields.recipe.as_ref().filter(|recipe| !recipe.value.trim().is_empty()) else {
            self.needs(name, "recipe", "recipe", place);
            return None;
        };
        let overrides = self.overrides(fields, at, scope);
        let model = fields.model.as_ref().map(|model| self.template(model, at, scope.id));
        let program = fields.agent_binary.as_ref().map(|program| program.value.clone());
        let template = self.template(recipe, at, scope.id)?;
        let from = self.sources.file(recipe.place.file).path.clone();
        let target = match template.as_literal() {
            Some(_) => {
                let loaded = self.find_recipe(recipe.value.trim(), recipe.place, &from)?;
                let unit = self.enqueue(loaded, Some(recipe.place));
                Target::Known { unit, name: recipe.value.trim().to_owned() }
            }
            None => Target::Dynamic { name: template, from },
        };
        let recovery = fields.recovery_on_failure.as_ref().is_some_and(|flag| flag.value);
        let recoverer = Recoverer { model: model.map_or(Some(None), |model| model.map(Some))?, program };
        (!contradicted).then_some(StepKind::Nested { target, overrides, recovery, recoverer })
    }

    fn overrides(
        &mut self,
        fields: &StepSyntax,
        at: UsedIn,
        scope: &UnitScope,
    ) -> Vec<(String, ValueTemplate)> {
        let mut overrides: Vec<(String, ValueTemplate)> = Vec::new();
        let entries = fields.sub_context.iter().chain(&fields.context).flat_map(|context| &context.value.0);
        for (name, value) in entries {
            let template = self.value_template(&value.value, at, scope);
            let passed = (at.step(), name.value.clone(), name.place);
            self.name_facts[scope.id.0 as usize].passed.push(passed);
            overrides.retain(|(known, _)| *known != name.value);
            overrides.push((name.value.clone(), template));
        }
        overrides
    }

    fn value_template(&mut self, node: &Node, at: UsedIn, scope: &UnitScope) -> ValueTemplate {
        match &node.kind {
            NodeKind::Scalar(scalar) => match node.to_value() {
                Value::Text(text) => {
                    let value = text.to_string();
                    let text = Spanned { value, place: node.place, scalar: Some(scalar.clone()) };
                    let template = self.template(&text, at, scope.id);
                    ValueTemplate::Text(template.unwrap_or_else(|| Template::literal("")))
                }
                plain => ValueTemplate::Plain(plain),
            },
            NodeKind::List(items) => {
                let items = items.iter().map(|item| self.value_template(item, at, scope));
                ValueTemplate::List(items.collect())
            }
            NodeKind::Map(entries) => {
                let member =
                    |entry: &Entry| (entry.key.text.clone(), self.value_template(&entry.value, at, scope));
                ValueTemplate::Map(entries.iter().map(member).collect())
            }
        }
    }

    /// Reports a field that contradicts the step's type; returns whether it did.
    fn contradiction(&mut self, field: &Optional<String>, step: &str, kind: &str, name: &str) -> bool {
        let Some(field) = field else { return false };
        self.diagnostics.push(
            Diagnostic::new(
                Code::Contradiction,
                field.place,
                format!("step `{step}` is {} {kind} step and cannot have `{name}`", article(kind)),
            )
            .label(format!("contradicts the type `{kind}`"))
            .help("split it into two steps, or remove one of the fields"),
        );
        true
    }

    fn needs(&mut self, step: &str, kind: &str, field: &str, place: Place) {
        self.diagnostics.push(
            Diagnostic::new(Code::Contradiction, place, format!("{kind} step `{step}` has no `{field}`"))
                .label(format!("{} {kind} step needs `{field}`", article(kind)))
                .help(format!("add `{field}: …`, or change `type`")),
        );
    }

    pub(super) fn fields_without_effect(&mut self, fields: &StepSyntax, kind: &StepKind) {
        fn place<T>(field: &Optional<T>) -> Option<Place> {
            field.as_ref().map(|field| field.place)
        }
        let (agent, nested) = (matches!(kind, StepKind::Agent(_)), matches!(kind, StepKind::Nested { .. }));
        let table = [
            ("model", place(&fields.model), agent || nested),
            ("agent_binary", place(&fields.agent_binary), agent || nested),
            ("auto_stage", place(&fields.auto_stage), agent),
            ("idle_timeout", place(&fields.idle_timeout), agent),
            ("json_retries", place(&fields.json_retries), agent),
            ("recovery_on_failure", place(&fields.recovery_on_failure), nested),
            ("prompt", place(&fields.prompt).filter(|_| fields.kind.is_none()), agent),
            ("exit_codes", place(&fields.exit_codes), !nested),
            ("max_env_value_bytes", place(&fields.max_env_value_bytes), !nested),
            ("context", place(&fields.context), nested),
            ("sub_context", place(&fields.sub_context), nested),
        ];
        for (name, place, effective) in table {
            if let (Some(place), false) = (place, effective) {
                let word = kind.word();
                let message = format!("`{name}` has no effect on {} {word} step", article(word));
                self.diagnostics.push(
                    Diagnostic::new(Code::NoEffect, place, message)
                        .label("has no effect")
                        .help(format!("remove `{name}`, or move it to a step that it belongs to")),
                );
            }
        }
    }
}

/// The type of a step: as written, else inferred.
fn effective_type(fields: &StepSyntax) -> StepType {
    match &fields.kind {
        Some(kind) => kind.value,
        None if fields.recipe.is_some() => StepType::Recipe,
        None if fields.agent.is_some() => StepType::Agent,
        None if fields.prompt.is_some() && fields.command.is_none() => StepType::Agent,
        None => StepType::Bash,
    }
}

/// Keeps the place of a step that cannot run; it is unknown what a recipe step would have defined.
pub(super) fn stand_in(fields: &StepSyntax) -> StepKind {
    let nothing = Template::literal("");
    match effective_type(fields) {
        StepType::Recipe => StepKind::Nested {
            target: Target::Dynamic { name: nothing, from: String::new() },
            overrides: Vec::new(),
            recovery: false,
            recoverer: Recoverer::default(),
        },
        StepType::Bash | StepType::Agent => StepKind::Shell { command: nothing },
    }
}
