//! The rules under `ensure`. Never checks a file.

use super::{Checker, kind::effective_type, names::UsedIn, patterns::rule_fault, unit::UnitScope};
use crate::{
    condition::Condition,
    diagnostic::{Code, Diagnostic},
    plan::{EnsureRule, StepKind},
    syntax::{EnsureSyntax, StepSyntax, StepType, Texts, shape::Spanned},
    template::Template,
};

/// How often an agent is asked again if nothing is set.
const AGENT_RETRIES: u64 = 1;
/// The most attempts that `ensure_retries` may ask for.
const MOST_RETRIES: u64 = 1000;

impl Checker<'_> {
    /// The rules of a step.
    pub(super) fn ensure(&mut self, fields: &StepSyntax, at: usize, scope: &UnitScope) -> Vec<EnsureRule> {
        let Some(list) = &fields.ensure else { return Vec::new() };
        if list.value.is_empty() {
            let problem = Diagnostic::new(Code::EnsureRule, list.place, "`ensure` has no rules");
            self.diagnostics.push(problem.label("empty").help("add a rule, or remove `ensure`"));
        }
        if effective_type(fields) == StepType::Ask {
            let problem = Diagnostic::new(Code::Contradiction, list.place, "an ask step takes no `ensure`");
            let help = "put `ensure` on the step that does the work";
            self.diagnostics.push(problem.label("there is no work to prove").help(help));
        }
        let rules: Vec<Option<EnsureRule>> =
            list.value.iter().map(|rule| self.ensure_rule(rule, at, scope)).collect();
        rules.into_iter().flatten().collect()
    }

    /// How often a step is repeated while its rules are not met.
    pub(super) fn ensure_retries(&mut self, fields: &StepSyntax, kind: Option<&StepKind>) -> u64 {
        let Some(retries) = &fields.ensure_retries else {
            return if matches!(kind, Some(StepKind::Agent(_))) { AGENT_RETRIES } else { 0 };
        };
        if fields.ensure.is_none() && !fields.unread.contains(&"ensure") {
            let message = "`ensure_retries` has no effect without `ensure`";
            let problem = Diagnostic::new(Code::NoEffect, retries.place, message);
            self.diagnostics.push(problem.label("has no effect").help("add `ensure:`, or remove it"));
        }
        let is_once = fields.idempotent.as_ref().is_some_and(|idempotent| !idempotent.value);
        let has_effects = fields.effects.as_ref().is_some_and(|effects| !effects.value.is_empty());
        if retries.value > 0 && (is_once || has_effects) {
            let message = "`ensure_retries` has no effect on a step that must not be repeated";
            let problem = Diagnostic::new(Code::NoEffect, retries.place, message);
            let label = if is_once { "the step is not idempotent" } else { "the step has `effects`" };
            self.diagnostics.push(problem.label(label).help("remove `ensure_retries`, or set it to 0"));
        }
        if retries.value > MOST_RETRIES {
            let message = format!("`ensure_retries` must be at most {MOST_RETRIES}");
            let problem = Diagnostic::new(Code::OutOfRange, retries.place, message);
            self.diagnostics.push(problem.label("too large"));
        }
        retries.value.min(MOST_RETRIES)
    }

    fn ensure_rule(
        &mut self,
        rule: &Spanned<EnsureSyntax>,
        at: usize,
        scope: &UnitScope,
    ) -> Option<EnsureRule> {
        let fields = &rule.value;
        let there = [
            fields.changed.is_some(),
            fields.unchanged.is_some(),
            fields.only_changed.is_some(),
            fields.max_changed_files.is_some(),
            fields.file.is_some(),
            fields.command.is_some(),
            fields.condition.is_some(),
        ];
        let count = there.iter().filter(|is_there| **is_there).count();
        if count != 1 {
            self.wrong_count(rule, count);
            return None;
        }
        // patterns are compared with files from before the step, and its own value is not known then
        let before = UsedIn::Step(at);
        if let Some(list) = &fields.changed {
            return self.changed_files(list, before, scope).map(EnsureRule::Changed);
        }
        if let Some(list) = &fields.unchanged {
            return self.changed_files(list, before, scope).map(EnsureRule::Unchanged);
        }
        if let Some(list) = &fields.only_changed {
            return self.changed_files(list, before, scope).map(EnsureRule::OnlyChanged);
        }
        if let Some(most) = &fields.max_changed_files {
            return Some(EnsureRule::MaxChangedFiles(most.value));
        }
        let used = UsedIn::Ensure(at);
        if let Some(file) = &fields.file {
            return self.file_pattern(file, used, scope).map(EnsureRule::File);
        }
        if let Some(command) = &fields.command {
            let has_text = !self.is_blank(command, "command");
            return has_text
                .then(|| self.command(command, used, scope.id))
                .flatten()
                .map(EnsureRule::Command);
        }
        let condition: Option<Condition> =
            self.expression(fields.condition.as_deref()?, UsedIn::EnsureCondition(at), scope);
        condition.map(EnsureRule::Condition)
    }

    /// Reports a rule without a field, or with several: each would be a rule of its own.
    fn wrong_count(&mut self, rule: &Spanned<EnsureSyntax>, count: usize) {
        let fields = &rule.value;
        if count == 0 && !fields.unread.is_empty() {
            return;
        }
        let (message, help) = match count {
            0 => (
                "this `ensure` rule names nothing to check",
                "write one of `changed`, `unchanged`, `only_changed`, `max_changed_files`, `file`, `command` and `condition`",
            ),
            _ => ("this `ensure` rule has several fields", "write one `- ` item for each field"),
        };
        let place = rule.place.first_character();
        self.diagnostics.push(Diagnostic::new(Code::EnsureRule, place, message).help(help));
    }

    fn changed_files(
        &mut self,
        list: &Spanned<Texts>,
        used: UsedIn,
        scope: &UnitScope,
    ) -> Option<Vec<Template>> {
        if list.value.is_empty() {
            let problem = Diagnostic::new(Code::EnsureRule, list.place, "this list of patterns is empty");
            self.diagnostics.push(problem.label("empty").help("add a pattern, or remove the rule"));
            return None;
        }
        let patterns: Vec<Option<Template>> = list
            .value
            .iter()
            .map(|pattern| {
                if pattern.value.starts_with('/') {
                    let message = format!("`{}` is not a path from the step's directory", pattern.value);
                    let problem = Diagnostic::new(Code::BadPattern, pattern.place, message);
                    let help = "write the path from the step's directory, without the first `/`";
                    self.diagnostics.push(problem.label("an absolute path").help(help));
                    return None;
                }
                self.file_pattern(pattern, used, scope)
            })
            .collect();
        patterns.into_iter().collect()
    }

    fn file_pattern(&mut self, text: &Spanned<String>, used: UsedIn, scope: &UnitScope) -> Option<Template> {
        if let Some((label, help)) = rule_fault(&text.value) {
            let message = format!("`{}` is not a file pattern", text.value);
            self.diagnostics
                .push(Diagnostic::new(Code::BadPattern, text.place, message).label(label).help(help));
            return None;
        }
        self.template(text, used, scope.id)
    }

    fn is_blank(&mut self, text: &Spanned<String>, name: &str) -> bool {
        let is_blank = text.value.trim().is_empty();
        if is_blank {
            let message = format!("`{name}` of the `ensure` rule is empty");
            let problem = Diagnostic::new(Code::EnsureRule, text.place, message);
            self.diagnostics.push(problem.label("empty").help("write a command, or remove the rule"));
        }
        is_blank
    }
}
