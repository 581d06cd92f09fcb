//! Loops that reach no end, or whose failure to reach it goes unnoticed.

use std::collections::HashSet;

use recipe::{
    graph,
    plan::{Repeat, Step},
    step_facts::StepPath,
    syntax::OnExhausted,
};

use super::{LintCode, Report, view::UnitView};

/// Looks at the loops of a recipe.
pub(super) fn look(view: &UnitView<'_>, report: &mut Report<'_>) {
    for (at, step) in view.unit.steps.iter().enumerate() {
        let Some(repeat) = step.repeat() else { continue };
        let id = &step.id;
        if repeat.until.is_none() {
            let message = format!("`{id}` repeats {} times, whatever the result is", repeat.max);
            let help = "add `until` with the condition that ends the loop";
            report.at_field(LintCode::EndlessLoop, (step, "repeat"), message, help);
        } else if repeat.on_exhausted == OnExhausted::Continue && !is_noticed(view, at, step, repeat) {
            let message = format!("no step notices if `{id}` never reaches its condition");
            let help = "remove `on_exhausted: continue`, or test the condition again in a later step";
            report.at_field(LintCode::EndlessLoop, (step, "repeat"), message, help);
        }
    }
}

/// Whether a later step, or the result, reads something that the condition of the loop reads, or the loop itself.
fn is_noticed(view: &UnitView<'_>, at: usize, step: &Step, repeat: &Repeat) -> bool {
    let read = repeat.until.iter().flat_map(|until| until.names()).map(|(path, _)| path.root);
    let names: HashSet<String> = read.chain(step.store.clone()).collect();
    let is_graph = view.unit.is_graph;
    let later =
        view.unit.steps.iter().enumerate().filter(|(other, _)| *other > at || (is_graph && *other != at));
    let mut later = later.map(|(_, other)| other);
    let asks = |other: &Step| {
        graph::step_reads(other).iter().any(|path| StepPath::find(path, &|id| id == step.id).is_some())
    };
    let mut shown = view.unit.result_template().into_iter().flat_map(|template| template.names());
    shown.any(|(path, _)| names.contains(&path.root))
        || later.any(|other| asks(other) || graph::reads_one_of(view.plan, other, &names).is_some())
}
