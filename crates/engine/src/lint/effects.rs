//! Effects of steps: declared, and not repeated by accident.

use recipe::plan::StepKind;

use super::{
    LintCode, Report,
    fix::Fix,
    view::{StepView, UnitView},
};

/// Looks at the effects of a recipe's steps.
pub(super) fn look(view: &UnitView<'_>, report: &mut Report<'_>) {
    for step in &view.steps {
        undeclared(step, report);
        repeatable(step, report);
    }
}

/// A known effect command in a step that declares no effect.
fn undeclared(step: &StepView<'_>, report: &mut Report<'_>) {
    let StepKind::Shell { .. } = &step.step.kind else { return };
    let shown = step.script.iter().flat_map(|script| &script.commands).find_map(|one| one.effect.as_ref());
    let Some(shown) = shown.filter(|_| step.step.effects.is_empty()) else { return };
    let id = &step.step.id;
    let value = format!("[{}]", step.effects.join(", "));
    let message = format!("`{id}` runs `{shown}`, and does not declare that it changes something outside");
    let help = format!("add `effects: {value}`: then a resume does not repeat it without your consent");
    let finding = report.at_field(LintCode::UndeclaredEffect, (step.step, "command"), message, help);
    finding.fix = Some(Fix::new(step.step, "effects", value));
}

/// An effect that an interrupted run repeats.
fn repeatable(step: &StepView<'_>, report: &mut Report<'_>) {
    let is_said = report.has_field(step.step, "idempotent");
    if step.effects.is_empty() || !step.step.idempotent || is_said {
        return;
    }
    let id = &step.step.id;
    let message = format!("`{id}` has an effect, and runs again if it is interrupted");
    let help = "add `idempotent: false`, or `idempotent: true` if it may happen twice";
    let field = if step.step.effects.is_empty() { "command" } else { "effects" };
    let finding = report.at_field(LintCode::RepeatableEffect, (step.step, field), message, help);
    finding.fix = Some(Fix::new(step.step, "idempotent", "false".to_owned()));
}
