//! The inputs of a recipe: their types, choices, patterns and defaults.

use super::Checker;
use crate::{
    diagnostic::{Code, Diagnostic},
    input_type::{InputType, Pattern},
    plan::Input,
    source::Place,
    syntax::{
        InputKind, RecipeSyntax, Texts,
        shape::{Optional, Spanned, article},
    },
    value::Value,
};

/// The fields that make a type, of an input or of something else that takes values.
pub(super) struct TypeFields<'s> {
    /// The word for their owner: `input`.
    pub(super) owner: &'static str,
    /// The type.
    pub(super) kind: &'s Optional<InputKind>,
    /// The choices.
    pub(super) choices: &'s Optional<Texts>,
    /// The pattern.
    pub(super) pattern: &'s Optional<String>,
    /// The place to report missing fields.
    pub(super) place: Place,
    /// Fields that could not be read; that has been reported.
    pub(super) unread: &'s [&'static str],
}

impl Checker<'_> {
    pub(super) fn inputs(&mut self, recipe: &RecipeSyntax) -> Vec<Input> {
        let mut found: Vec<Input> = Vec::new();
        for input in recipe.inputs.iter().flat_map(|inputs| &inputs.value) {
            let input = &input.value;
            let kind = self.input_type(&TypeFields {
                owner: "input",
                kind: &input.kind,
                choices: &input.choices,
                pattern: &input.pattern,
                place: input.place.first_character(),
                unread: &input.unread,
            });
            if let (Some(kind), Some(default)) = (&kind, &input.default) {
                self.check_default(kind, "default", default);
            }
            if input.name.is_none() && input.unread.contains(&"name") {
                continue;
            }
            let Some(name) =
                self.required_text(input.name.as_deref(), "name", "input", input.missing("name"))
            else {
                continue;
            };
            if found.iter().any(|known| known.name == name) {
                let place = input.name.as_ref().map_or(input.place, |name| name.place);
                self.diagnostics.push(duplicate("input", place, &name));
            }
            let context = recipe.context.iter().flat_map(|context| &context.value.0);
            let declared = context.filter(|(known, _)| known.value == name).map(|(_, value)| value);
            if let Some(kind) = &kind {
                declared.for_each(|value| self.check_default(kind, &name, value));
            }
            found.push(Input {
                name,
                description: input.description.as_ref().map(|text| text.value.clone()).unwrap_or_default(),
                required: input.required.as_ref().is_some_and(|flag| flag.value),
                default: input.default.as_ref().map(|value| value.value.clone()),
                kind,
            });
        }
        found
    }

    /// The type that these fields make; `None` if they make none, or if they cannot be understood, which is reported.
    pub(super) fn input_type(&mut self, fields: &TypeFields<'_>) -> Option<InputType> {
        if ["type", "choices", "pattern"].iter().any(|field| fields.unread.contains(field)) {
            return None;
        }
        let kind = fields.kind.as_ref().map(|kind| kind.value);
        if let Some(choices) = fields.choices.as_ref().filter(|_| kind != Some(InputKind::Choice)) {
            self.diagnostics.push(misplaced(fields, "choices", "choice", choices.place));
        }
        if let Some(pattern) =
            fields.pattern.as_ref().filter(|_| kind.unwrap_or(InputKind::Text) != InputKind::Text)
        {
            self.diagnostics.push(misplaced(fields, "pattern", "text", pattern.place));
        }
        Some(match kind {
            None if fields.pattern.is_none() => return None,
            None | Some(InputKind::Text) => InputType::Text(self.pattern(fields)?),
            Some(InputKind::Choice) => InputType::Choice(self.choices(fields)?),
            Some(InputKind::Number) => InputType::Number,
            Some(InputKind::Integer) => InputType::Integer,
            Some(InputKind::Boolean) => InputType::Boolean,
            Some(InputKind::List) => InputType::List,
            Some(InputKind::Path) => InputType::Path,
            Some(InputKind::Json) => InputType::Json,
            Some(InputKind::Secret) => InputType::Secret,
        })
    }

    /// The pattern, if there is one; the outer `None` means that it cannot be read.
    fn pattern(&mut self, fields: &TypeFields<'_>) -> Option<Option<Pattern>> {
        let Some(written) = fields.pattern else { return Some(None) };
        match Pattern::parse(&written.value) {
            Ok(pattern) => Some(Some(pattern)),
            Err(why) => {
                let message = format!("`pattern` is not a regular expression: {why}");
                self.diagnostics
                    .push(Diagnostic::new(Code::BadRegex, written.place, message).label("cannot be read"));
                None
            }
        }
    }

    fn choices(&mut self, fields: &TypeFields<'_>) -> Option<Vec<String>> {
        let owner = fields.owner;
        let Some(choices) = fields.choices else {
            let message = format!("the {owner} has no `choices`");
            let problem = Diagnostic::new(Code::MissingField, fields.place, message);
            self.diagnostics.push(problem.help("add `choices: […]` with the texts that it takes"));
            return None;
        };
        let empty = choices.value.iter().find(|choice| choice.value.trim().is_empty());
        if choices.value.is_empty() || empty.is_some() {
            let place = empty.map_or(choices.place, |choice| choice.place);
            let message = match empty {
                Some(_) => format!("one of the `choices` of the {owner} is empty"),
                None => format!("`choices` of the {owner} is empty"),
            };
            let problem = Diagnostic::new(Code::EmptyField, place, message).label("empty");
            self.diagnostics.push(problem.help("write the texts that it takes: `choices: [one, other]`"));
            return None;
        }
        Some(choices.value.iter().map(|choice| choice.value.clone()).collect())
    }

    /// Reports a value in the recipe that does not fit the type. Whether a path exists is known only in a run.
    pub(super) fn check_default(&mut self, kind: &InputType, name: &str, value: &Spanned<Value>) {
        if let Err(misfit) = kind.fit(&value.value, &|_| true) {
            let shown = Some(&value.value).filter(|_| *kind != InputType::Secret);
            let message = format!("`{name}` {}", misfit.sentence(shown));
            let label = format!("does not fit the type `{}`", kind.word());
            self.diagnostics.push(Diagnostic::new(Code::WrongDefault, value.place, message).label(label));
        }
    }
}

/// Reports a name that is used twice.
pub(super) fn duplicate(owner: &str, place: Place, name: &str) -> Diagnostic {
    Diagnostic::new(Code::DuplicateName, place, format!("two {owner}s have the name `{name}`"))
        .label("used twice")
        .help("remove one of them, or give it another name")
}

/// Reports a field that belongs to another type.
fn misplaced(fields: &TypeFields<'_>, field: &str, wanted: &str, place: Place) -> Diagnostic {
    let owner = format!("{} {}", article(fields.owner), fields.owner);
    let message = match fields.kind {
        Some(kind) => format!("{owner} of type `{}` takes no `{field}`", kind.value.as_str()),
        None => format!("{owner} without a type takes no `{field}`"),
    };
    Diagnostic::new(Code::Contradiction, place, message)
        .label(format!("only for `type: {wanted}`"))
        .help(format!("write `type: {wanted}`, or remove `{field}`"))
}
