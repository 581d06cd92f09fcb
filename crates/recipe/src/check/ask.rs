//! A step that asks a person: its choices, its fields, and what the person sees.

use std::collections::HashSet;

use crate::{
    diagnostic::{Code, Diagnostic},
    plan::{AskStep, Input, OnTimeout, ShowTemplate, StepKind},
    syntax::{AskFieldSyntax, ShownSyntax, StepSyntax, kinds::unknown_word, shape::Spanned},
};

use super::{
    Checker,
    input::{TypeFields, duplicate},
    kind::WrittenStep,
    names::UsedIn,
    unit::UnitScope,
};

impl Checker<'_> {
    pub(super) fn ask(&mut self, step: WrittenStep<'_>) -> Option<StepKind> {
        let WrittenStep { fields, at, scope, .. } = step;
        let contradicted = self.is_contradicted(step, "ask", &["command", "agent", "prompt", "recipe"]);
        let question = match &fields.ask {
            Some(question) if !question.value.trim().is_empty() => {
                // the question is text, as a prompt is
                self.template(question, UsedIn::Prompt(at.step()), scope.id)
            }
            _ => {
                self.needs(step, "ask", "ask");
                None
            }
        };
        let show = self.shown(fields, at, scope);
        let choices = self.ask_choices(fields);
        let on_timeout = self.on_timeout(fields, &choices);
        let values = self.ask_fields(fields);
        let step = AskStep { question: question?, show: show?, choices, fields: values, on_timeout };
        (!contradicted).then_some(StepKind::Ask(Box::new(step)))
    }

    fn shown(&mut self, fields: &StepSyntax, at: UsedIn, scope: &UnitScope) -> Option<Vec<ShowTemplate>> {
        let mut found = Some(Vec::new());
        for entry in fields.show.iter().flat_map(|entries| &entries.value) {
            let shown = self.shown_entry(entry, at, scope);
            found = found.zip(shown).map(|(mut found, shown)| {
                found.push(shown);
                found
            });
        }
        found
    }

    fn shown_entry(
        &mut self,
        entry: &Spanned<ShownSyntax>,
        at: UsedIn,
        scope: &UnitScope,
    ) -> Option<ShowTemplate> {
        match &entry.value {
            ShownSyntax::Plain(value) => {
                let text = Spanned { value: value.clone(), place: entry.place, scalar: entry.scalar.clone() };
                self.not_empty(&text, "show")?;
                let template = self.template(&text, UsedIn::Prompt(at.step()), scope.id)?;
                Some(match template.as_literal() {
                    Some(_) => ShowTemplate::File(template),
                    None => ShowTemplate::Text(template),
                })
            }
            ShownSyntax::Fields(fields) => match (&fields.file, &fields.text) {
                (Some(file), None) => {
                    self.not_empty(file, "file")?;
                    self.template(file, at, scope.id).map(ShowTemplate::File)
                }
                (None, Some(text)) => {
                    self.template(text, UsedIn::Prompt(at.step()), scope.id).map(ShowTemplate::Text)
                }
                (None, None) if !fields.unread.is_empty() => None,
                _ => {
                    self.diagnostics.push(
                        Diagnostic::new(
                            Code::Contradiction,
                            entry.place,
                            "an entry of `show` has either `file` or `text`",
                        )
                        .label("not one of the two")
                        .help("write `{file: PATH}` or `{text: TEXT}`"),
                    );
                    None
                }
            },
        }
    }

    fn not_empty(&mut self, text: &Spanned<String>, field: &str) -> Option<()> {
        if !text.value.trim().is_empty() {
            return Some(());
        }
        self.diagnostics.push(
            Diagnostic::new(Code::EmptyField, text.place, format!("an entry of `{field}` is empty"))
                .label("empty")
                .help("write a path or a text, or remove the entry"),
        );
        None
    }

    fn ask_choices(&mut self, fields: &StepSyntax) -> Vec<String> {
        let usual = || AskStep::USUAL.map(str::to_owned).to_vec();
        let Some(written) = &fields.choices else { return usual() };
        if written.value.is_empty() {
            self.diagnostics.push(
                Diagnostic::new(Code::EmptyField, written.place, "`choices` is empty")
                    .label("nothing to choose from")
                    .help("list at least one answer, or remove `choices` for `approve` and `reject`"),
            );
            return usual();
        }
        let mut seen = HashSet::new();
        for choice in &written.value {
            let value = choice.value.as_str();
            let problem = match () {
                () if value.trim().is_empty() => (Code::EmptyField, "a choice is empty".to_owned()),
                () if value == OnTimeout::FAIL => (
                    Code::Contradiction,
                    "`fail` cannot be a choice: `on_timeout: fail` fails the step".to_owned(),
                ),
                () if value.starts_with('-') || value.chars().any(char::is_control) => {
                    (Code::BadName, format!("`{}` cannot be a choice", value.escape_default()))
                }
                () if !seen.insert(value) => {
                    (Code::DuplicateName, format!("the choice `{value}` is listed twice"))
                }
                () => continue,
            };
            self.diagnostics.push(
                Diagnostic::new(problem.0, choice.place, problem.1)
                    .label("not usable")
                    .help("a choice is a short text that does not begin with `-`, and is listed once"),
            );
        }
        written.value.iter().map(|choice| choice.value.clone()).collect()
    }

    fn on_timeout(&mut self, fields: &StepSyntax, choices: &[String]) -> OnTimeout {
        let Some(word) = &fields.on_timeout else { return OnTimeout::Fail };
        if fields.timeout.is_none() && !fields.unread.contains(&"timeout") {
            self.diagnostics.push(
                Diagnostic::new(Code::NoEffect, word.place, "`on_timeout` has no effect without `timeout`")
                    .label("has no effect")
                    .help("add `timeout:` with the seconds to wait for an answer, or remove `on_timeout`"),
            );
        }
        if word.value == OnTimeout::FAIL {
            return OnTimeout::Fail;
        }
        if !choices.contains(&word.value) {
            let known: Vec<&str> = choices.iter().map(String::as_str).chain([OnTimeout::FAIL]).collect();
            self.diagnostics.push(unknown_word(&word.value, "on_timeout", &known, word.place));
        }
        OnTimeout::Choice(word.value.clone())
    }

    fn ask_fields(&mut self, fields: &StepSyntax) -> Vec<Input> {
        let mut found: Vec<Input> = Vec::new();
        for field in fields.fields.iter().flat_map(|fields| &fields.value) {
            let field = &field.value;
            let kind = self.input_type(&TypeFields {
                owner: "field",
                kind: &field.kind,
                choices: &field.choices,
                pattern: &field.pattern,
                place: field.place.first_character(),
                unread: &field.unread,
            });
            if let (Some(kind), Some(default)) = (&kind, &field.default) {
                self.check_default(kind, "default", default);
            }
            if field.name.is_none() && field.unread.contains(&"name") {
                continue;
            }
            let name = self.required_text(field.name.as_deref(), "name", "field", field.missing("name"));
            let Some(name) = name else { continue };
            self.diagnostics.extend(unusable_name(field));
            if found.iter().any(|known| known.name == name) {
                let place = field.name.as_ref().map_or(field.place, |name| name.place);
                self.diagnostics.push(duplicate("field", place, &name));
            }
            found.push(Input {
                name,
                description: field.description.as_ref().map(|text| text.value.clone()).unwrap_or_default(),
                required: field.required.as_ref().is_some_and(|flag| flag.value),
                default: field.default.as_ref().map(|value| value.value.clone()),
                kind,
            });
        }
        found
    }
}

/// Reports the name of a field that the value of the step cannot have.
fn unusable_name(field: &AskFieldSyntax) -> Option<Diagnostic> {
    let name = field.name.as_ref()?;
    let is_reserved = AskStep::RESERVED.contains(&name.value.as_str());
    let is_plain = name.value.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    let why = match (is_reserved, is_plain) {
        (true, _) => "every answer has a member of this name",
        (_, false) => "names of fields have letters, digits, `_` and `-`",
        _ => return None,
    };
    let message = format!("`{}` cannot be the name of a field", name.value);
    let problem = Diagnostic::new(Code::BadName, name.place, message).label("not usable");
    Some(problem.help(format!("{why}; give the field another name")))
}
