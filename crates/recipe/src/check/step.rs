//! One step: its type found, its fields checked against it.

use crate::{
    agent_ref::AgentRef,
    condition::{Condition, ConditionErrorKind},
    diagnostic::{Code, Diagnostic, did_you_mean},
    plan::{AgentStep, Group, JsonMode, Retry, Step, StepKind, Target, ValueTemplate},
    source::Place,
    syntax::{self, Backoff, ExitMeaning, RetryOn, StepType, kinds::Written, shape::Spanned},
    template::Template,
    value::Value,
};

use super::{
    Checker,
    extend::Lineage,
    names::{Use, Where},
    unit::{UnitScope, bad_env_name, first_line, is_variable_name},
};

/// Attempts when a `retry` map does not say how many.
const DEFAULT_ATTEMPTS: u64 = 3;

impl Checker<'_> {
    pub(super) fn check_step(
        &mut self,
        written: &Spanned<Written<syntax::Step>>,
        at: usize,
        scope: &UnitScope,
    ) -> Step {
        let group = scope.groups[at].clone();
        let fields = &written.value.shape;
        let id = match fields.id.is_none() && fields.unread.contains(&"id") {
            true => None,
            false => self.required_text(fields.id.as_ref(), "id", "step", fields.place),
        };
        let name = id.as_deref().unwrap_or("without id").to_owned();
        let place = fields.id.as_ref().map_or(first_line(fields.place), |id| id.place);
        let at_step = Where::Step(at);
        let kind = self.kind(fields, &name, place, at_step, scope);
        if let Some(kind) = &kind {
            self.fields_without_effect(fields, kind);
        }
        let flag = |field: &Option<Spanned<bool>>| field.as_ref().map(|flag| flag.value);
        let condition = self.condition(fields, at_step, scope);
        let working_dir = fields.working_dir.as_ref().map(|text| self.template(text, at_step, scope.id));
        let env = self.step_env(fields, at_step, scope);
        let depends_on = self.dependencies(fields, at, group.as_ref(), scope);
        let store = self.store(fields, &name, place, scope);
        let retry = self.retry(fields);
        let timeout = self.positive(&fields.timeout, "timeout");
        let exit_codes = self.exit_codes(fields);
        let texts = |list: &Option<Spanned<syntax::Texts>>| -> Vec<String> {
            list.iter().flat_map(|list| &list.value).map(|text| text.value.clone()).collect()
        };
        let required = flag(&fields.parse_json_required) == Some(true);
        let json = match required {
            true => JsonMode::Required,
            false if flag(&fields.parse_json) == Some(true) || fields.json_schema.is_some() => {
                JsonMode::Wanted
            }
            false => JsonMode::Text,
        };
        Step {
            id: id.unwrap_or_default(),
            title: fields.name.as_ref().map(|text| text.value.clone()),
            description: fields.description.as_ref().map(|text| text.value.clone()),
            kind: kind.unwrap_or_else(|| stand_in(fields)),
            store: store.unwrap_or_default(),
            condition: condition.unwrap_or_default(),
            json,
            json_schema: fields.json_schema.as_ref().map(|schema| schema.value.clone()),
            working_dir: working_dir.flatten(),
            timeout: timeout.or(scope.default_timeout),
            env,
            max_env_value_bytes: fields.max_env_value_bytes.as_ref().map(|bytes| bytes.value),
            continue_on_error: self.tolerance(fields),
            tags: texts(&fields.when_tags),
            group,
            depends_on,
            retry: retry.unwrap_or_default(),
            idempotent: flag(&fields.idempotent).unwrap_or(true),
            effects: texts(&fields.effects),
            reads: texts(&fields.reads),
            produces: texts(&fields.produces),
            exit_codes,
            place,
            digest: written.value.digest.clone(),
        }
    }

    /// Whether the run goes on when the step fails: one question that three fields answer.
    fn tolerance(&mut self, fields: &syntax::Step) -> bool {
        let mut answers = Vec::new();
        for (field, negated) in
            [(&fields.continue_on_error, false), (&fields.nonfatal, false), (&fields.fatal, true)]
        {
            answers.extend(field.as_ref().map(|flag| (flag.value != negated, flag.place)));
        }
        let tolerant = answers.iter().any(|(tolerant, _)| *tolerant);
        let places = answers.iter().map(|(_, place)| *place);
        if let Some(last) = places.max().filter(|_| tolerant && answers.iter().any(|(yes, _)| !yes)) {
            self.diagnostics.push(
                Diagnostic::new(
                    Code::Contradiction,
                    last,
                    "the step says both that its failure stops the run and that it does not",
                )
                .label("contradicts another field")
                .help("keep only one of `continue_on_error`, `nonfatal` and `fatal`"),
            );
        }
        tolerant
    }

    fn kind(
        &mut self,
        fields: &syntax::Step,
        name: &str,
        place: Place,
        at: Where,
        scope: &UnitScope,
    ) -> Option<StepKind> {
        let blank =
            |text: &Option<Spanned<String>>| text.as_ref().is_some_and(|text| text.value.trim().is_empty());
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
        fields: &syntax::Step,
        name: &str,
        place: Place,
        at: Where,
        scope: &UnitScope,
    ) -> Option<StepKind> {
        let contradicted = self.contradiction(&fields.agent, name, "bash", "agent")
            | self.contradiction(&fields.recipe, name, "bash", "recipe");
        let command = match &fields.command {
            Some(command) if !command.value.trim().is_empty() => self.template(command, at, scope.id),
            _ => {
                self.needs(name, "bash", "command", place);
                None
            }
        };
        (!contradicted).then_some(StepKind::Shell { command: command? })
    }

    fn agent(
        &mut self,
        fields: &syntax::Step,
        name: &str,
        place: Place,
        at: Where,
        scope: &UnitScope,
    ) -> Option<StepKind> {
        let contradicted = self.contradiction(&fields.command, name, "agent", "command")
            | self.contradiction(&fields.recipe, name, "agent", "recipe");
        if fields.agent.is_none() && fields.prompt.is_none() {
            self.needs(name, "agent", "prompt", place);
            return None;
        }
        let prompt = match &fields.prompt {
            Some(prompt) => self.template(prompt, Where::Prompt(at.step()), scope.id),
            None => Some(Template::literal("")),
        };
        let model = fields.model.as_ref().map(|model| self.template(model, at, scope.id));
        let system_prompt = fields.agent.as_ref().and_then(|agent| self.agent_file(agent));
        let step = AgentStep {
            prompt: prompt?,
            reference: fields.agent.as_ref().map(|agent| agent.value.clone()),
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
                format!("agent `{}` leads to no file", agent.value),
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
        fields: &syntax::Step,
        name: &str,
        place: Place,
        at: Where,
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
        (!contradicted).then_some(StepKind::Nested { target, overrides, recovery })
    }

    fn overrides(
        &mut self,
        fields: &syntax::Step,
        at: Where,
        scope: &UnitScope,
    ) -> Vec<(String, ValueTemplate)> {
        let mut overrides: Vec<(String, ValueTemplate)> = Vec::new();
        let entries = fields.sub_context.iter().chain(&fields.context).flat_map(|context| &context.value.0);
        for (name, value) in entries {
            let template = self.value_template(value, &value.value, at, scope);
            overrides.retain(|(known, _)| *known != name.value);
            overrides.push((name.value.clone(), template));
        }
        overrides
    }

    fn value_template(
        &mut self,
        written: &Spanned<Value>,
        value: &Value,
        at: Where,
        scope: &UnitScope,
    ) -> ValueTemplate {
        match value {
            Value::Text(text) if text.contains("{{") => {
                let text =
                    Spanned { value: text.to_string(), place: written.place, scalar: written.scalar.clone() };
                let template = self.template(&text, at, scope.id);
                ValueTemplate::Text(template.unwrap_or_else(|| Template::literal("")))
            }
            Value::List(items) => {
                let items = items.iter().map(|item| self.value_template(written, item, at, scope));
                ValueTemplate::List(items.collect())
            }
            Value::Map(members) => {
                let mut templates = Vec::with_capacity(members.len());
                for (key, member) in members.iter() {
                    templates.push((key.clone(), self.value_template(written, member, at, scope)));
                }
                ValueTemplate::Map(templates)
            }
            plain => ValueTemplate::Plain(plain.clone()),
        }
    }

    /// Reports a field that contradicts the step's type; says whether it did.
    fn contradiction(&mut self, field: &Option<Spanned<String>>, step: &str, kind: &str, name: &str) -> bool {
        let Some(field) = field else { return false };
        self.diagnostics.push(
            Diagnostic::new(
                Code::Contradiction,
                field.place,
                format!("step `{step}` is a {kind} step and cannot have `{name}`"),
            )
            .label(format!("contradicts the type `{kind}`"))
            .help("split it into two steps, or remove one of the fields"),
        );
        true
    }

    fn needs(&mut self, step: &str, kind: &str, field: &str, place: Place) {
        self.diagnostics.push(
            Diagnostic::new(Code::Contradiction, place, format!("{kind} step `{step}` has no `{field}`"))
                .label(format!("a {kind} step needs `{field}`"))
                .help(format!("add `{field}: …`, or change `type`")),
        );
    }

    fn fields_without_effect(&mut self, fields: &syntax::Step, kind: &StepKind) {
        fn place<T>(field: &Option<Spanned<T>>) -> Option<Place> {
            field.as_ref().map(|field| field.place)
        }
        let (agent, nested) = (matches!(kind, StepKind::Agent(_)), matches!(kind, StepKind::Nested { .. }));
        let table = [
            ("model", place(&fields.model), agent),
            ("agent_binary", place(&fields.agent_binary), agent),
            ("auto_stage", place(&fields.auto_stage), agent),
            ("idle_timeout", place(&fields.idle_timeout), agent),
            ("json_retries", place(&fields.json_retries), agent),
            ("recovery_on_failure", place(&fields.recovery_on_failure), nested),
            ("prompt", place(&fields.prompt).filter(|_| fields.kind.is_none()), agent),
            ("context", place(&fields.context), nested),
            ("sub_context", place(&fields.sub_context), nested),
        ];
        for (name, place, effective) in table {
            if let (Some(place), false) = (place, effective) {
                let message = format!("`{name}` has no effect on a {} step", kind.word());
                self.diagnostics.push(Diagnostic::new(Code::NoEffect, place, message).label("has no effect"));
            }
        }
    }

    fn condition(
        &mut self,
        fields: &syntax::Step,
        at: Where,
        scope: &UnitScope,
    ) -> Option<Option<Condition>> {
        let Some(text) = &fields.condition else { return Some(None) };
        match Condition::parse(&text.value) {
            Ok(condition) => {
                for (path, range) in condition.names() {
                    let place = text.place_of(range);
                    self.notes[scope.id.0 as usize].uses.push(Use {
                        path,
                        place,
                        at: Where::Condition(at.step()),
                    });
                }
                Some(Some(condition))
            }
            Err(error) => {
                let code = match error.kind {
                    ConditionErrorKind::Syntax => Code::ConditionSyntax,
                    ConditionErrorKind::UnknownFunction => Code::UnknownFunction,
                    ConditionErrorKind::UnknownMethod => Code::UnknownMethod,
                    ConditionErrorKind::WrongArguments => Code::WrongArguments,
                    ConditionErrorKind::ForbiddenName => Code::ForbiddenName,
                };
                let mut problem = Diagnostic::new(code, text.place_of(error.at), error.message).label("here");
                problem.help = error.help;
                self.diagnostics.push(problem);
                None
            }
        }
    }

    fn step_env(&mut self, fields: &syntax::Step, at: Where, scope: &UnitScope) -> Vec<(String, Template)> {
        let mut env = Vec::new();
        for (name, value) in fields.env.iter().flat_map(|env| &env.value.0) {
            if !is_env_name(&name.value) {
                self.diagnostics.push(bad_env_name(name));
            }
            env.extend(self.template(value, at, scope.id).map(|template| (name.value.clone(), template)));
        }
        env
    }

    fn dependencies(
        &mut self,
        fields: &syntax::Step,
        at: usize,
        group: Option<&Group>,
        scope: &UnitScope,
    ) -> Vec<usize> {
        let mut found = Vec::new();
        for named in fields.depends_on.iter().flat_map(|list| &list.value) {
            let problem = match scope.ids.iter().position(|(id, _)| *id == named.value) {
                Some(index) if index < at && group.is_some() && scope.groups[index].as_ref() == group => {
                    Diagnostic::new(
                        Code::GroupDependency,
                        named.place,
                        format!("step `{}` runs at the same time as this one", named.value),
                    )
                    .label("in the same parallel group")
                    .help("take one of the two out of the group")
                }
                Some(index) if index < at => {
                    found.push(index);
                    continue;
                }
                Some(_) => Diagnostic::new(
                    Code::LaterStep,
                    named.place,
                    format!("step `{}` does not come before this one", named.value),
                )
                .label("comes later")
                .help("steps run in the order in which they are written: move it up"),
                None if scope.lineage == Lineage::Broken => continue,
                None => unknown_step(named, scope),
            };
            self.diagnostics.push(problem);
        }
        found
    }

    /// The variable that takes the output: `Some(None)` if nothing does.
    fn store(
        &mut self,
        fields: &syntax::Step,
        id: &str,
        place: Place,
        scope: &UnitScope,
    ) -> Option<Option<String>> {
        if let Some(output) = fields.output.as_ref().filter(|output| !output.value.trim().is_empty()) {
            if !is_variable_name(output.value.trim()) {
                self.diagnostics.push(
                    Diagnostic::new(
                        Code::BadName,
                        output.place,
                        format!("`{}` is not a variable name", output.value),
                    )
                    .label("not a name")
                    .help("names have letters, digits, `_`, `-` and `.`"),
                );
                return None;
            }
            return Some(Some(output.value.trim().to_owned()));
        }
        if scope.declared.iter().any(|name| name == id) {
            self.diagnostics.push(
                Diagnostic::new(
                    Code::IdNotStored,
                    place,
                    format!("the output of `{id}` is not stored: `{id}` is a declared context name"),
                )
                .label("also a context name")
                .help(format!("add `output: {id}` to replace the context value, or rename the step")),
            );
            return Some(None);
        }
        Some(Some(id.to_owned()))
    }

    fn retry(&mut self, fields: &syntax::Step) -> Option<Option<Retry>> {
        let Some(retry) = &fields.retry else { return Some(None) };
        let (max_attempts, fields) = match &retry.value {
            syntax::Retry::Attempts(attempts) => (*attempts, None),
            syntax::Retry::Fields(fields) => (
                fields.max_attempts.as_ref().map_or(DEFAULT_ATTEMPTS, |attempts| attempts.value),
                Some(fields),
            ),
        };
        let place = fields.and_then(|fields| fields.max_attempts.as_ref()).map_or(retry.place, |it| it.place);
        if !(1..=1000).contains(&max_attempts) {
            self.diagnostics.push(
                Diagnostic::new(Code::OutOfRange, place, "`retry` takes 1 to 1000 attempts")
                    .label("out of range")
                    .help("attempts are counted with the first one: `retry: 3` tries three times"),
            );
            return None;
        }
        let seconds = |field: Option<&Option<Spanned<f64>>>| {
            field.and_then(Option::as_ref).map(|seconds| seconds.value)
        };
        let on = fields.and_then(|fields| fields.on.as_ref());
        Some(Some(Retry {
            max_attempts,
            delay: seconds(fields.map(|fields| &fields.delay)).unwrap_or(1.0),
            backoff: fields
                .and_then(|fields| fields.backoff.as_ref())
                .map_or(Backoff::Fixed, |backoff| backoff.value),
            max_delay: seconds(fields.map(|fields| &fields.max_delay)).unwrap_or(f64::MAX),
            on: on.map_or_else(
                || vec![RetryOn::Exit, RetryOn::Timeout, RetryOn::RateLimit, RetryOn::Json],
                |on| on.value.iter().map(|word| word.value).collect(),
            ),
        }))
    }

    pub(super) fn positive(&mut self, field: &Option<Spanned<f64>>, name: &str) -> Option<f64> {
        let field = field.as_ref()?;
        if field.value > 0.0 {
            return Some(field.value);
        }
        self.diagnostics.push(
            Diagnostic::new(Code::OutOfRange, field.place, format!("`{name}` must be more than 0 seconds"))
                .label("out of range")
                .help(format!("remove `{name}` to wait without limit")),
        );
        None
    }

    fn exit_codes(&mut self, fields: &syntax::Step) -> Vec<(i32, ExitMeaning)> {
        let mut codes = Vec::new();
        for (code, meaning) in fields.exit_codes.iter().flat_map(|codes| &codes.value.0) {
            match code.value.parse::<i32>() {
                Ok(number) if (0..=255).contains(&number) => codes.push((number, meaning.value)),
                _ => {
                    let message = format!("`{}` is not an exit code", code.value);
                    self.diagnostics.push(
                        Diagnostic::new(Code::OutOfRange, code.place, message)
                            .label("out of range")
                            .help("exit codes go from 0 to 255"),
                    );
                }
            }
        }
        codes
    }
}

/// The type of a step: as written, else inferred.
pub(super) fn effective_type(fields: &syntax::Step) -> StepType {
    match &fields.kind {
        Some(kind) => kind.value,
        None if fields.recipe.is_some() => StepType::Recipe,
        None if fields.agent.is_some() => StepType::Agent,
        None if fields.prompt.is_some() && fields.command.is_none() => StepType::Agent,
        None => StepType::Bash,
    }
}

/// Keeps the place of a step that cannot run; nobody knows what a recipe step would have defined.
fn stand_in(fields: &syntax::Step) -> StepKind {
    let nothing = Template::literal("");
    match effective_type(fields) {
        StepType::Recipe => StepKind::Nested {
            target: Target::Dynamic { name: nothing, from: String::new() },
            overrides: Vec::new(),
            recovery: false,
        },
        StepType::Bash | StepType::Agent => StepKind::Shell { command: nothing },
    }
}

fn unknown_step(named: &Spanned<String>, scope: &UnitScope) -> Diagnostic {
    let problem =
        Diagnostic::new(Code::UnknownStep, named.place, format!("there is no step `{}`", named.value));
    match did_you_mean(&named.value, scope.ids.iter().map(|(id, _)| id.as_str())) {
        Some(meant) => problem.label(format!("did you mean `{meant}`?")),
        None => problem.label("no such step"),
    }
}

/// Whether a text can be the name of an environment variable.
pub(super) fn is_env_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
