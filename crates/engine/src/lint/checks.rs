//! Checks that cannot fail, and checks whose failure is lost.

use recipe::{
    plan::{Step, StepKind},
    shell::syntax::{CommandKind, ShellWord},
};

use super::{
    LintCode, Report,
    script::{CommandUse, ScriptView},
    view::{StepView, UnitView},
};
use crate::knowledge::CheckKind;

/// Looks at the checks of a recipe.
pub(super) fn look(view: &UnitView<'_>, report: &mut Report<'_>) {
    for step in &view.steps {
        rules(step, report);
        own_command(view, step, report);
        swallowed(view, step, report);
    }
}

const HELP: &str = "let the check fail when the work is wrong, or remove it";

/// Commands under `ensure` that always succeed.
fn rules(step: &StepView<'_>, report: &mut Report<'_>) {
    for rule in &step.rules {
        let Some(script) = &rule.script else { continue };
        let id = &step.step.id;
        if script.cannot_fail {
            let message = format!("the check `{}` of `{id}` always succeeds", brief(rule.text));
            report.at_field(LintCode::CannotFail, (step.step, "ensure"), message, HELP);
        } else if ignores_failures(script) {
            let message = format!("the check `{}` of `{id}` ignores failures: `set +e`", brief(rule.text));
            report.at_field(LintCode::CannotFail, (step.step, "ensure"), message, "remove `set +e`");
        }
    }
}

/// Steps that are checks, and whose command always succeeds.
fn own_command(view: &UnitView<'_>, step: &StepView<'_>, report: &mut Report<'_>) {
    let (Some(script), StepKind::Shell { .. }) = (&step.script, &step.step.kind) else { return };
    let has_product = !step.step.produces.is_empty() || !step.effects.is_empty() || view.is_read(step.step);
    if has_product || !is_check(view, step, script) {
        return;
    }
    let id = &step.step.id;
    let lost =
        script.commands.iter().find(|command| command.is_verdict(view.knowledge) && !command.is_condition);
    let what = lost.map(|command| format!(": the verdict of `{}` is lost", brief(&command.texts.join(" "))));
    if script.cannot_fail {
        let message = format!("the check `{id}` always succeeds{}", what.unwrap_or_default());
        report.at_field(LintCode::CannotFail, (step.step, "command"), message, HELP);
    } else if ignores_failures(script) {
        let message = format!("the check `{id}` ignores failures: `set +e`");
        report.at_field(LintCode::CannotFail, (step.step, "command"), message, "remove `set +e`");
    }
}

/// Whether a step is a check: by its name, or because it runs tests, linters, builds or comparisons. A build that is
/// one command of many may only prepare something.
fn is_check(view: &UnitView<'_>, step: &StepView<'_>, script: &ScriptView) -> bool {
    let is_verdict = |kind: CheckKind, count: usize| kind != CheckKind::Build || count == 1;
    let count = script.commands.len();
    // a script that branches has looked at a verdict itself
    let branches = script.list.commands().any(|command| {
        matches!(command.kind, CommandKind::If { .. } | CommandKind::Loop { .. } | CommandKind::Case { .. })
    });
    let is_one = |command: &CommandUse| {
        let is_used = command.is_condition || !command.is_verdict(view.knowledge);
        !is_used && command.check.is_some_and(|kind| is_verdict(kind, count))
    };
    (view.knowledge.names_a_check(&step.step.id) && !branches) || script.commands.iter().any(is_one)
}

/// Whether a script switches the stop at failures off, and never looks at an exit code itself.
fn ignores_failures(script: &ScriptView) -> bool {
    let texts = |words: &[ShellWord]| words.iter().map(ShellWord::text).collect::<Vec<_>>();
    let all: Vec<Vec<String>> = script.list.simple_commands().into_iter().map(texts).collect();
    let sets = |wanted: &[&str]| all.iter().any(|words| words[..] == *wanted);
    let is_off = sets(&["set", "+e"]) || sets(&["set", "+o", "errexit"]);
    let is_on_again = sets(&["set", "-e"]) || sets(&["set", "-o", "errexit"]);
    let looks = all.iter().flatten().any(|word| word.contains("$?") || word.contains("PIPESTATUS"));
    let assigns = script.list.nodes().iter().any(|node| match node {
        recipe::shell::syntax::SyntaxNode::Expansion(text) => {
            text.contains("$?") || text.contains("PIPESTATUS")
        }
        _ => false,
    });
    let exits = all.iter().any(|words| words.first().is_some_and(|word| word == "exit" || word == "return"));
    is_off && !is_on_again && !looks && !assigns && !exits
}

/// A check that may fail, and whose result no step reads.
fn swallowed(view: &UnitView<'_>, step: &StepView<'_>, report: &mut Report<'_>) {
    let is_tolerated = step.step.continue_on_error && step.step.effects.is_empty();
    if is_tolerated && step.is_check(view.knowledge) && !view.is_read(step.step) && !is_cleanup(step.step) {
        let id = &step.step.id;
        let message = format!("the check `{id}` may fail, and no step reads its result");
        let help = format!("remove `continue_on_error`, or read the result: `condition: steps.{id}.failed`");
        let field = ["continue_on_error", "nonfatal", "fatal"];
        let field = field.into_iter().find(|name| report.has_field(step.step, name)).unwrap_or("id");
        report.at_field(LintCode::SwallowedFailure, (step.step, field), message, help);
    }
}

fn is_cleanup(step: &Step) -> bool {
    step.when != recipe::syntax::When::Ok
}

/// The beginning of a command, in one line.
pub(super) fn brief(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    crate::run::text::shorten(&line, 60)
}
