//! The kind of a step: finds its type, and the fields that belong to that type.
//!
//! Never looks at fields that every step has, such as conditions and timeouts.

use crate::{
    diagnostic::{Code, Diagnostic},
    plan::{Recoverer, StepKind, Target, ValueTemplate},
    source::Place,
    syntax::{
        StepSyntax, StepType,
        foreign::refused_mode,
        shape::{Optional, Spanned, article},
    },
    template::Template,
    value::Value,
    yaml::{Entry, Node, NodeKind},
};

use super::{Checker, names::UsedIn, unit::UnitScope};

/// A step as it is written, and where it is.
#[derive(Clone, Copy)]
pub(super) struct WrittenStep<'s> {
    pub(super) fields: &'s StepSyntax,
    pub(super) name: &'s str,
    pub(super) place: Place,
    pub(super) at: UsedIn,
    pub(super) scope: &'s UnitScope,
}

impl<'s> WrittenStep<'s> {
    /// The fields that say what a step does.
    fn works(self) -> [(&'static str, &'s Optional<String>); 6] {
        let fields = self.fields;
        [
            ("command", &fields.command),
            ("agent", &fields.agent),
            ("prompt", &fields.prompt),
            ("prompt_file", &fields.prompt_file),
            ("recipe", &fields.recipe),
            ("ask", &fields.ask),
        ]
    }
}

impl Checker<'_> {
    pub(super) fn kind(&mut self, step: WrittenStep<'_>) -> Option<StepKind> {
        let WrittenStep { fields, name, place, .. } = step;
        let is_blank =
            |field: &Optional<String>| field.as_ref().is_none_or(|text| text.value.trim().is_empty());
        if step.works().iter().all(|(_, field)| is_blank(field)) {
            if step.works().iter().any(|(field, _)| fields.unread.contains(field)) {
                return None;
            }
            self.diagnostics.push(
                Diagnostic::new(Code::NothingToDo, place, format!("step `{name}` has nothing to do"))
                    .label("no `command`, `agent`, `prompt`, `recipe` or `ask`")
                    .help(
                        "give it a `command:` to run, a `prompt:` for an agent, a `recipe:`, or a question under `ask:`",
                    ),
            );
            return None;
        }
        let mode = fields.mode.as_ref().and_then(|mode| refused_mode(&mode.value, mode.place));
        self.diagnostics.extend(mode);
        match effective_type(fields) {
            StepType::Bash => self.shell(step),
            StepType::Agent => self.agent(step),
            StepType::Recipe => self.nested(step),
            StepType::Ask => self.ask(step),
        }
    }

    fn shell(&mut self, step: WrittenStep<'_>) -> Option<StepKind> {
        let WrittenStep { fields, at, scope, .. } = step;
        let contradicted = self.is_contradicted(step, "bash", &["agent", "recipe", "ask"]);
        let command = match &fields.command {
            Some(command) if !command.value.trim().is_empty() => self.command(command, at, scope.id),
            _ => {
                self.needs(step, "bash", "command");
                None
            }
        };
        (!contradicted).then_some(StepKind::Shell { command: command? })
    }

    fn nested(&mut self, step: WrittenStep<'_>) -> Option<StepKind> {
        let WrittenStep { fields, at, scope, .. } = step;
        let contradicted = self.is_contradicted(step, "recipe", &["command", "agent", "prompt", "ask"]);
        let Some(recipe) = fields.recipe.as_ref().filter(|recipe| !recipe.value.trim().is_empty()) else {
            self.needs(step, "recipe", "recipe");
            return None;
        };
        let overrides = self.overrides(fields, at, scope);
        let model = fields.model.as_ref().map(|model| self.template(model, at, scope.id));
        let programs = self.programs(fields, at, scope);
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
        let recoverer =
            Recoverer { model: model.map_or(Some(None), |model| model.map(Some))?, programs: programs? };
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

    pub(super) fn value_template(&mut self, node: &Node, at: UsedIn, scope: &UnitScope) -> ValueTemplate {
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
    /// Whether a step has one of these fields, which belong to other types. Reports each.
    pub(super) fn is_contradicted(&mut self, step: WrittenStep<'_>, kind: &str, others: &[&str]) -> bool {
        let mut is_contradicted = false;
        for other in others {
            let written = step.works().into_iter().find(|(name, _)| name == other);
            let Some(field) = written.and_then(|(_, field)| field.as_ref()) else { continue };
            let message =
                format!("step `{}` is {} {kind} step and cannot have `{other}`", step.name, article(kind));
            self.diagnostics.push(
                Diagnostic::new(Code::Contradiction, field.place, message)
                    .label(format!("contradicts the type `{kind}`"))
                    .help("split it into two steps, or remove one of the fields"),
            );
            is_contradicted = true;
        }
        is_contradicted
    }

    pub(super) fn needs(&mut self, step: WrittenStep<'_>, kind: &str, field: &str) {
        let message = format!("{kind} step `{}` has no `{field}`", step.name);
        self.diagnostics.push(
            Diagnostic::new(Code::Contradiction, step.place, message)
                .label(format!("{} {kind} step needs `{field}`", article(kind)))
                .help(format!("add `{field}: …`, or change `type`")),
        );
    }

    /// Reports fields that do less than they seem to.
    pub(super) fn field_slips(&mut self, fields: &StepSyntax, kind: Option<&StepKind>) {
        if let Some(kind) = kind {
            self.fields_without_effect(fields, kind);
        }
        self.file_patterns(fields);
        self.schema_keywords(fields);
        self.note_retried_effect(fields);
    }

    fn fields_without_effect(&mut self, fields: &StepSyntax, kind: &StepKind) {
        self.fields_of_agents(fields, kind);
        fn place<T>(field: &Optional<T>) -> Option<Place> {
            field.as_ref().map(|field| field.place)
        }
        let (agent, nested) = (matches!(kind, StepKind::Agent(_)), matches!(kind, StepKind::Nested { .. }));
        let ask = matches!(kind, StepKind::Ask(_));
        let table = [
            ("model", place(&fields.model), agent || nested),
            ("agent_binary", place(&fields.agent_binary), agent || nested),
            ("auto_stage", place(&fields.auto_stage), agent),
            ("idle_timeout", place(&fields.idle_timeout), agent),
            ("json_retries", place(&fields.json_retries), agent),
            ("recovery_on_failure", place(&fields.recovery_on_failure), nested),
            ("prompt", place(&fields.prompt).filter(|_| fields.kind.is_none()), agent),
            ("exit_codes", place(&fields.exit_codes), !nested && !ask),
            ("max_env_value_bytes", place(&fields.max_env_value_bytes), !nested && !ask),
            ("shell", place(&fields.shell), !agent && !nested && !ask),
            ("context", place(&fields.context), nested),
            ("sub_context", place(&fields.sub_context), nested),
            ("show", place(&fields.show), ask),
            ("choices", place(&fields.choices), ask),
            ("fields", place(&fields.fields), ask),
            ("on_timeout", place(&fields.on_timeout), ask),
            ("parse_json", place(&fields.parse_json), !ask),
            ("parse_json_required", place(&fields.parse_json_required), !ask),
            ("json_schema", place(&fields.json_schema), !ask),
            ("retry", place(&fields.retry), !ask),
            ("ensure_retries", place(&fields.ensure_retries), !ask),
            ("env", place(&fields.env), !ask),
            ("idempotent", place(&fields.idempotent), !ask),
            ("effects", place(&fields.effects), !ask),
            ("produces", place(&fields.produces), !ask),
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
pub(super) fn effective_type(fields: &StepSyntax) -> StepType {
    match &fields.kind {
        Some(kind) => kind.value,
        None if fields.ask.is_some() => StepType::Ask,
        None if fields.recipe.is_some() => StepType::Recipe,
        None if fields.agent.is_some() => StepType::Agent,
        None if (fields.prompt.is_some() || fields.prompt_file.is_some()) && fields.command.is_none() => {
            StepType::Agent
        }
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
        StepType::Bash | StepType::Agent | StepType::Ask => StepKind::Shell { command: nothing },
    }
}
