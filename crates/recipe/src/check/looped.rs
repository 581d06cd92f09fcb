//! Loops of a step: `for_each` with its fields, and `repeat`.

use std::collections::HashMap;

use crate::{
    condition::Condition,
    diagnostic::{Code, Diagnostic},
    plan::{ForEach, Loop, Repeat, ValueTemplate},
    source::Place,
    syntax::{
        OnExhausted, StepSyntax,
        kinds::WithDigest,
        shape::{Decode as _, Optional, Spanned},
    },
    value::Value,
    yaml::{Node, NodeKind},
};

use super::{Checker, names::UsedIn, unit::UnitScope, unit::is_variable_name};

impl Checker<'_> {
    /// The loop of a step.
    pub(super) fn looped(&mut self, fields: &StepSyntax, at: usize, scope: &UnitScope) -> Option<Loop> {
        self.loop_fields_without_effect(fields);
        for (name, place) in fields.blank.iter().filter(|(name, _)| ["for_each", "repeat"].contains(name)) {
            let problem =
                Diagnostic::new(Code::EmptyField, *place, format!("`{name}` is empty")).label("no value");
            self.diagnostics.push(problem);
        }
        let each = fields.for_each.as_ref().and_then(|list| self.for_each(fields, list, at, scope));
        let repeat = self.repeat(fields, at, scope);
        if let (Some(_), Some(repeat)) = (&fields.for_each, &fields.repeat) {
            self.diagnostics.push(
                Diagnostic::new(
                    Code::Contradiction,
                    repeat.place,
                    "a step cannot have both `for_each` and `repeat`",
                )
                .label("contradicts `for_each`")
                .help("put the step with one of them into a recipe of its own, and run that recipe with the other"),
            );
        }
        match (each, repeat) {
            (Some(each), _) => Some(Loop::Each(Box::new(each))),
            (None, repeat) => repeat.map(|repeat| Loop::Repeat(Box::new(repeat))),
        }
    }

    fn loop_fields_without_effect(&mut self, fields: &StepSyntax) {
        fn place<T>(field: &Optional<T>) -> Option<Place> {
            field.as_ref().map(|field| field.place)
        }
        if fields.for_each.is_some() || fields.unread.contains(&"for_each") {
            return;
        }
        let belonging = [
            ("as", place(&fields.item_name)),
            ("max_parallel", place(&fields.max_parallel)),
            ("keep_going", place(&fields.keep_going)),
            ("max_items", place(&fields.max_items)),
        ];
        for (name, place) in belonging.into_iter().filter_map(|(name, place)| Some((name, place?))) {
            self.diagnostics.push(
                Diagnostic::new(Code::NoEffect, place, format!("`{name}` has no effect without `for_each`"))
                    .label("has no effect")
                    .help(format!("remove `{name}`, or add `for_each: …`")),
            );
        }
    }

    fn for_each(
        &mut self,
        fields: &StepSyntax,
        written: &Spanned<Node>,
        at: usize,
        scope: &UnitScope,
    ) -> Option<ForEach> {
        let item = self.item_name(fields);
        let max_parallel = self.max_parallel(fields, at, scope);
        let max_items = self.count(&fields.max_items, "max_items", ForEach::MOST_ITEMS);
        let max_items = max_items.unwrap_or(ForEach::DEFAULT_ITEMS);
        let list = self.list(&written.value, at, scope)?;
        if let ValueTemplate::List(items) = &list
            && items.len() > max_items
        {
            let message =
                format!("`for_each` has {} items, but at most {max_items} are allowed", items.len());
            self.diagnostics.push(
                Diagnostic::new(Code::OutOfRange, written.place, message).label("too many items").help(
                    format!("raise `max_items` (at most {}), or shorten the list", ForEach::MOST_ITEMS),
                ),
            );
        }
        Some(ForEach {
            list,
            list_digest: crate::digest::sha256(written.value.to_value().to_json().as_bytes()),
            item: item?,
            max_parallel,
            keep_going: fields.keep_going.as_ref().is_some_and(|flag| flag.value),
            max_items,
        })
    }

    /// How many instances run at the same time: a number, or a template that leads to one.
    fn max_parallel(&mut self, fields: &StepSyntax, at: usize, scope: &UnitScope) -> ValueTemplate {
        let one = ValueTemplate::Plain(Value::from(1.0));
        let Some(written) = &fields.max_parallel else { return one };
        let node = &written.value.0;
        match u64::decode(node, "max_parallel", &mut Vec::new()) {
            Some(value) => {
                let number = Some(Box::new(Spanned { value, place: node.place, scalar: None }));
                let number = self.count(&number, "max_parallel", usize::MAX);
                number.map_or(one, |number| ValueTemplate::Plain(Value::from(number as f64)))
            }
            None => self.value_template(node, UsedIn::Items(at), scope),
        }
    }

    /// The list: written out, a template, or text that is a JSON list.
    fn list(&mut self, node: &Node, at: usize, scope: &UnitScope) -> Option<ValueTemplate> {
        let list = self.value_template(node, UsedIn::Items(at), scope);
        let is_list = match &list {
            ValueTemplate::List(_) => true,
            ValueTemplate::Text(template) => match template.as_literal() {
                Some(text) => matches!(Value::from_json(text), Ok(Value::List(_))),
                None => true,
            },
            ValueTemplate::Plain(_) | ValueTemplate::Map(_) => false,
        };
        if !is_list {
            let found = match &node.kind {
                NodeKind::Map(_) => "an object".to_owned(),
                _ => format!("`{}`", crate::diagnostic::shorten(&node.to_value().render())),
            };
            self.diagnostics.push(
                Diagnostic::new(Code::WrongType, node.place, format!("`for_each` needs a list, not {found}"))
                    .label("not a list")
                    .help("write `for_each: [a, b]`, or a template that leads to a list: `for_each: \"{{name}}\"`"),
            );
        }
        is_list.then_some(list)
    }

    fn item_name(&mut self, fields: &StepSyntax) -> Option<String> {
        let Some(name) = &fields.item_name else { return Some(ForEach::ITEM.to_owned()) };
        let is_name = is_variable_name(&name.value) && !name.value.contains(['.', '-']);
        if is_name && ![ForEach::INDEX, ForEach::COUNT].contains(&name.value.as_str()) {
            return Some(name.value.clone());
        }
        self.diagnostics.push(
            Diagnostic::new(
                Code::BadName,
                name.place,
                format!("`{}` cannot be the name of an item", name.value),
            )
            .label("not a name for an item")
            .help("use letters, digits and `_`; `item_index` and `item_count` have a meaning of their own"),
        );
        None
    }

    fn repeat(&mut self, fields: &StepSyntax, at: usize, scope: &UnitScope) -> Option<Repeat> {
        let repeat = fields.repeat.as_ref()?;
        let written = &repeat.value;
        let until = written.until.as_ref().map(|text| self.expression(text, UsedIn::Condition(at), scope));
        let max = match &written.max {
            Some(_) => self.count(&written.max, "max", Repeat::MOST),
            None if written.unread.contains(&"max") => None,
            None => {
                self.diagnostics.push(
                    Diagnostic::new(Code::MissingField, repeat.place, "`repeat` has no `max`")
                        .label("no limit")
                        .help("add `max: 3`, the largest number of iterations"),
                );
                None
            }
        };
        if let (Some(on_exhausted), None) = (&written.on_exhausted, &written.until) {
            self.diagnostics.push(
                Diagnostic::new(
                    Code::NoEffect,
                    on_exhausted.place,
                    "`on_exhausted` has no effect without `until`",
                )
                .label("has no effect")
                .help("add `until: …`, or remove `on_exhausted`"),
            );
        }
        let until: Option<Option<Condition>> = match until {
            Some(found) => found.map(Some),
            None => Some(None),
        };
        Some(Repeat {
            max: max?,
            until: until?,
            delay: written.delay.as_ref().map_or(0.0, |seconds| seconds.value.0),
            on_exhausted: written.on_exhausted.as_ref().map_or(OnExhausted::Fail, |word| word.value),
        })
    }

    /// A number from 1 to `most`.
    fn count(&mut self, field: &Optional<u64>, name: &str, most: usize) -> Option<usize> {
        let field = field.as_ref()?;
        let number = usize::try_from(field.value).unwrap_or(usize::MAX);
        if (1..=most).contains(&number) {
            return Some(number);
        }
        let range = match most {
            usize::MAX => "at least 1".to_owned(),
            most => format!("from 1 to {most}"),
        };
        self.diagnostics.push(
            Diagnostic::new(Code::OutOfRange, field.place, format!("`{name}` must be {range}"))
                .label("out of range"),
        );
        None
    }

    /// Ids that could be taken for an instance of a step with a loop: `review.2`.
    pub(super) fn check_instance_ids(&mut self, steps: &[Spanned<WithDigest<StepSyntax>>]) {
        let mut looped = HashMap::<&str, Place>::new();
        for fields in steps.iter().map(|step| &step.value.shape) {
            if let (Some(id), true) = (&fields.id, fields.for_each.is_some() || fields.repeat.is_some()) {
                looped.insert(&id.value, id.place);
            }
        }
        for id in steps.iter().filter_map(|step| step.value.shape.id.as_ref()) {
            let Some(name) = instance_of(&id.value).filter(|name| looped.contains_key(name)) else {
                continue;
            };
            self.diagnostics.push(
                Diagnostic::new(
                    Code::BadId,
                    id.place,
                    format!("the id `{}` means an instance of step `{name}`", id.value),
                )
                .label("names an instance")
                .help(format!("give it another id: step `{name}` has a loop")),
            );
        }
    }
}

/// The step whose instance an id like `review.2` would name.
fn instance_of(id: &str) -> Option<&str> {
    let (name, number) = id.rsplit_once('.')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(name)
}
