//! One step: the fields that every type of step has.

use std::cmp::Ordering;

use crate::{
    condition::Condition,
    diagnostic::{Code, Diagnostic, did_you_mean},
    plan::{Group, JsonMode, Retry, Step, StepKind},
    source::Place,
    step_facts::is_reserved,
    syntax::{
        Backoff, ExitMeaning, RetryOn, RetrySyntax, Seconds, StepSyntax,
        kinds::WithDigest,
        shape::{Optional, Spanned},
    },
    template::Template,
};

use super::{
    Checker,
    extend::Lineage,
    kind::{WrittenStep, stand_in},
    names::UsedIn,
    unit::{UnitScope, bad_env_name, begins_with_hyphen, is_variable_name, texts, useless_name},
};

/// Attempts of a `retry` map without `max_attempts`.
const DEFAULT_ATTEMPTS: u64 = 3;

impl Checker<'_> {
    pub(super) fn check_step(
        &mut self,
        written: &Spanned<WithDigest<StepSyntax>>,
        at: usize,
        scope: &UnitScope,
    ) -> Step {
        let group = scope.groups[at].clone();
        let fields = &written.value.shape;
        let id = match fields.id.is_none() && fields.unread.contains(&"id") {
            true => None,
            false => self.required_text(fields.id.as_deref(), "id", "step", fields.missing("id")),
        };
        let name = id.as_deref().unwrap_or("without id").to_owned();
        let place = fields.id.as_ref().map_or(fields.place.first_character(), |id| id.place);
        let at_step = UsedIn::Step(at);
        let kind = self.kind(WrittenStep { fields, name: &name, place, at: at_step, scope });
        self.field_slips(fields, kind.as_ref());
        let condition = self.condition(fields, at_step, scope);
        let working_dir = fields.working_dir.as_ref().map(|text| self.template(text, at_step, scope.id));
        let mut depends_on = self.dependencies(fields, at, group.as_ref(), scope);
        depends_on.extend(continued(kind.as_ref()).filter(|index| !depends_on.contains(index)));
        let store = self.store(fields, &name, place, scope);
        let timeout = self.positive(&fields.timeout, "timeout");
        let digest = definition_digest(&written.value.digest, fields, kind.as_ref());
        Step {
            id: id.unwrap_or_default(),
            title: fields.name.as_ref().map(|text| text.value.clone()),
            description: fields.description.as_ref().map(|text| text.value.clone()),
            ensure: self.ensure(fields, at, scope),
            ensure_retries: self.ensure_retries(fields, kind.as_ref()),
            kind: kind.unwrap_or_else(|| stand_in(fields)),
            looped: self.looped(fields, at, scope),
            store: store.unwrap_or_default(),
            condition: condition.unwrap_or_default(),
            when: self.when(fields, at, scope),
            undoes: self.undoes(fields, at, scope),
            json: self.json_mode(fields),
            json_schema: fields.json_schema.as_ref().map(|schema| schema.value.clone()),
            shell: fields.shell.as_ref().map_or(scope.shell, |shell| shell.value),
            working_dir: working_dir.flatten(),
            has_own_timeout: timeout.is_some(),
            timeout: timeout.or(scope.default_timeout.filter(|_| takes_default_timeout(fields))),
            env: self.step_env(fields, at_step, scope),
            max_env_value_bytes: fields.max_env_value_bytes.as_ref().map(|bytes| bytes.value),
            continue_on_error: self.tolerance(fields),
            tags: texts(&fields.when_tags),
            group,
            depends_on,
            retry: self.retry(fields).unwrap_or_default(),
            idempotent: fields.idempotent.as_ref().is_none_or(|flag| flag.value),
            effects: texts(&fields.effects),
            reads: texts(&fields.reads),
            produces: texts(&fields.produces),
            exit_codes: self.exit_codes(fields),
            place,
            digest,
        }
    }

    fn json_mode(&mut self, fields: &StepSyntax) -> JsonMode {
        let flag = |field: &Optional<bool>| field.as_ref().map(|flag| flag.value);
        let wanted = flag(&fields.parse_json);
        let required = fields.parse_json_required.as_ref().filter(|flag| flag.value);
        if let (Some(false), Some(required)) = (wanted, required) {
            self.diagnostics.push(
                Diagnostic::new(
                    Code::Contradiction,
                    required.place,
                    "`parse_json_required` needs `parse_json`, which is `false`",
                )
                .label("contradicts `parse_json: false`")
                .help("remove one of the two"),
            );
        }
        match required {
            Some(_) => JsonMode::Required,
            None if wanted == Some(true) || fields.json_schema.is_some() => JsonMode::Wanted,
            None => JsonMode::Text,
        }
    }

    /// Whether the run continues when the step fails: one question that three fields answer.
    fn tolerance(&mut self, fields: &StepSyntax) -> bool {
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
                    "the fields contradict each other: a failure both stops the run and does not",
                )
                .label("contradicts another field")
                .help("keep only one of `continue_on_error`, `nonfatal` and `fatal`"),
            );
        }
        tolerant
    }

    /// The condition of a step; `Some(None)` if it has none.
    fn condition(&mut self, fields: &StepSyntax, at: UsedIn, scope: &UnitScope) -> Option<Option<Condition>> {
        let Some(text) = &fields.condition else { return Some(None) };
        self.expression(text, UsedIn::Condition(at.step()), scope).map(Some)
    }

    fn step_env(&mut self, fields: &StepSyntax, at: UsedIn, scope: &UnitScope) -> Vec<(String, Template)> {
        let mut env = Vec::new();
        for (name, value) in fields.env.iter().flat_map(|env| &env.value.0) {
            if !is_env_name(&name.value) {
                self.diagnostics.push(bad_env_name(name));
            }
            if name.value.starts_with(crate::env_name::PREFIX) {
                let variable = (at.step(), name.value.clone(), name.place);
                self.name_facts[scope.id.0 as usize].variables.push(variable);
            }
            env.extend(self.template(value, at, scope.id).map(|template| (name.value.clone(), template)));
        }
        env
    }

    fn dependencies(
        &mut self,
        fields: &StepSyntax,
        at: usize,
        group: Option<&Group>,
        scope: &UnitScope,
    ) -> Vec<usize> {
        let mut found = Vec::new();
        for named in fields.depends_on.iter().flat_map(|list| &list.value) {
            let Some(index) = scope.ids.get(&named.value).copied() else {
                if scope.lineage == Lineage::Whole {
                    let problem = self.unknown_step(named, scope);
                    self.diagnostics.push(problem);
                }
                continue;
            };
            let same_group = group.is_some() && scope.groups[index].as_ref() == group;
            let problem = match index.cmp(&at) {
                Ordering::Less if same_group => Diagnostic::new(
                    Code::GroupDependency,
                    named.place,
                    format!("step `{}` runs at the same time as this one", named.value),
                )
                .label("in the same parallel group")
                .help("take one of the two out of the group"),
                Ordering::Less => {
                    found.push(index);
                    continue;
                }
                Ordering::Greater if scope.is_graph => {
                    found.push(index);
                    continue;
                }
                Ordering::Equal => Diagnostic::new(
                    Code::LaterStep,
                    named.place,
                    format!("step `{}` depends on itself", named.value),
                )
                .label("this step")
                .help("remove it from `depends_on`"),
                Ordering::Greater => Diagnostic::new(
                    Code::LaterStep,
                    named.place,
                    format!("step `{}` does not come before this one", named.value),
                )
                .label("comes later")
                .help("steps run in the order in which they are written: move it up"),
            };
            self.diagnostics.push(problem);
        }
        found
    }

    pub(super) fn unknown_step(&mut self, named: &Spanned<String>, scope: &UnitScope) -> Diagnostic {
        let message = format!("there is no step `{}`", named.value);
        let problem = Diagnostic::new(Code::UnknownStep, named.place, message);
        let is_allowed = self.comparisons.allow(scope.ids.len());
        let known = scope.ids.keys().map(String::as_str);
        let meant = is_allowed.then(|| did_you_mean(&named.value, known)).flatten();
        let steps = format!("the steps are {}", scope.listed);
        match meant {
            Some(meant) => problem
                .label(format!("did you mean `{meant}`?"))
                .help(format!("did you mean `{meant}`? {steps}")),
            None => problem.label("no such step").help(steps),
        }
    }

    /// The variable that takes the output: `Some(None)` if nothing does.
    fn store(
        &mut self,
        fields: &StepSyntax,
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
            if begins_with_hyphen(&output.value) {
                self.diagnostics.push(useless_name(output));
            }
            return Some(Some(output.value.trim().to_owned()));
        }
        if is_reserved(id) {
            let message =
                format!("the output of `{id}` is not stored: `steps` means the steps of the recipe");
            self.diagnostics.push(
                Diagnostic::new(Code::IdNotStored, place, message)
                    .label("reserved")
                    .help("add `output: NAME`, or rename the step"),
            );
            return Some(None);
        }
        if scope.declared.contains(id) {
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

    fn retry(&mut self, fields: &StepSyntax) -> Option<Option<Retry>> {
        let Some(retry) = &fields.retry else { return Some(None) };
        let max_attempts = attempts(&retry.value);
        let fields = match &retry.value {
            RetrySyntax::Attempts(_) => None,
            RetrySyntax::Fields(fields) => Some(fields),
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
        let seconds =
            |field: Option<&Optional<Seconds>>| field.and_then(Option::as_ref).map(|seconds| seconds.value.0);
        let on = fields.and_then(|fields| fields.on.as_ref());
        Some(Some(Retry {
            max_attempts,
            delay: seconds(fields.map(|fields| &fields.delay)).unwrap_or(1.0),
            backoff: fields
                .and_then(|fields| fields.backoff.as_ref())
                .map_or(Backoff::Fixed, |backoff| backoff.value),
            max_delay: seconds(fields.map(|fields| &fields.max_delay)).unwrap_or(f64::MAX),
            on: on.map_or_else(
                // rate limits have a rule of their own, unless the step asks for them by name
                || vec![RetryOn::Exit, RetryOn::Timeout, RetryOn::Json],
                |on| on.value.iter().map(|word| word.value).collect(),
            ),
        }))
    }

    pub(super) fn positive(&mut self, field: &Optional<Seconds>, name: &str) -> Option<f64> {
        let field = field.as_ref()?;
        if field.value.0 > 0.0 {
            return Some(field.value.0);
        }
        self.diagnostics.push(
            Diagnostic::new(Code::OutOfRange, field.place, format!("`{name}` must be more than 0 seconds"))
                .label("out of range")
                .help(format!("remove `{name}` to wait without limit")),
        );
        None
    }

    fn exit_codes(&mut self, fields: &StepSyntax) -> Vec<(i32, ExitMeaning)> {
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

/// The step whose conversation a step continues: without it there is none.
fn continued(kind: Option<&StepKind>) -> Option<usize> {
    match kind {
        Some(StepKind::Agent(agent)) => agent.continues,
        _ => None,
    }
}

/// The digest of a definition, with the text of the file that it takes its prompt from.
fn definition_digest(written: &str, fields: &StepSyntax, kind: Option<&StepKind>) -> String {
    match kind {
        Some(StepKind::Agent(agent)) if fields.prompt_file.is_some() => {
            crate::digest::sha256(format!("{written} {}", agent.prompt.text()).as_bytes())
        }
        _ => written.to_owned(),
    }
}

/// Whether the default timeout of the recipe limits a step: recipe and ask steps have only their own.
fn takes_default_timeout(fields: &StepSyntax) -> bool {
    fields.recipe.is_none() && fields.ask.is_none()
}

/// The ids of steps in their order; not all of them if there are very many.
pub(super) fn listed(ids: &std::collections::HashMap<String, usize>) -> String {
    const MOST: usize = 12;
    let mut ids: Vec<(&String, &usize)> = ids.iter().collect();
    ids.sort_by_key(|(_, at)| **at);
    let shown: Vec<String> = ids.iter().take(MOST).map(|(id, _)| format!("`{id}`")).collect();
    match ids.len().saturating_sub(MOST) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Whether a text can be the name of an environment variable.
pub(super) fn is_env_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// How often a step with this `retry` is tried at most.
pub(super) fn attempts(retry: &RetrySyntax) -> u64 {
    match retry {
        RetrySyntax::Attempts(attempts) => *attempts,
        RetrySyntax::Fields(fields) => {
            fields.max_attempts.as_ref().map_or(DEFAULT_ATTEMPTS, |attempts| attempts.value)
        }
    }
}
