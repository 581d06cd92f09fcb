//! Steps that run after a failure: their place, and the name under which they see the failure.

use super::{Checker, extend::Lineage, unit::UnitScope};
use crate::{
    diagnostic::{Code, Diagnostic},
    syntax::{RecipeSyntax, StepSyntax, When},
};

/// The variable that holds the failure in such steps.
pub const FAILURE: &str = "failure";

impl Checker<'_> {
    /// When a step runs.
    pub(super) fn when(&mut self, fields: &StepSyntax, at: usize, scope: &UnitScope) -> When {
        let Some(when) = &fields.when else { return When::Ok };
        if when.value == When::Failed && at == 0 && !scope.is_graph {
            let message = "this step never runs: no step comes before it that could fail";
            self.diagnostics.push(
                Diagnostic::new(Code::NoEffect, when.place, message)
                    .label("nothing before it")
                    .help("move it below the steps that it cleans up after"),
            );
        }
        when.value
    }

    /// The steps that a cleanup step undoes; `None` if it does not say.
    pub(super) fn undoes(&mut self, fields: &StepSyntax, at: usize, scope: &UnitScope) -> Option<Vec<usize>> {
        let undoes = fields.undoes.as_ref()?;
        if fields.when.as_ref().is_none_or(|when| when.value == When::Ok) {
            let message = "only a step with `when: failed` or `when: always` can undo others";
            self.diagnostics.push(
                Diagnostic::new(Code::Contradiction, undoes.place, message)
                    .label("this step does not clean up")
                    .help("add `when: failed`, or remove `undoes`"),
            );
        }
        let mut found = Vec::new();
        for named in &undoes.value {
            match scope.ids.get(&named.value).copied() {
                // in a graph, cleanup steps come after all others
                Some(index) if index < at || (index > at && scope.is_graph) => found.push(index),
                Some(_) => self.diagnostics.push(
                    Diagnostic::new(
                        Code::LaterStep,
                        named.place,
                        format!("step `{}` does not come before this one", named.value),
                    )
                    .label("not an earlier step")
                    .help("a step can undo only steps above it"),
                ),
                None if scope.lineage == Lineage::Whole => {
                    let problem = self.unknown_step(named, scope);
                    self.diagnostics.push(problem);
                }
                None => {}
            }
        }
        Some(found)
    }

    /// Reports variables named `failure` in a recipe whose steps see the failure under that name.
    pub(super) fn check_failure_name(&mut self, recipe: &RecipeSyntax) {
        let steps = || recipe.steps.iter().flat_map(|steps| &steps.value).map(|step| &step.value.shape);
        let cleans_up = |step: &StepSyntax| step.when.as_ref().is_some_and(|when| when.value != When::Ok);
        if !steps().any(cleans_up) {
            return;
        }
        let context = recipe.context.iter().flat_map(|context| &context.value.0).map(|(name, _)| name);
        let inputs = recipe.inputs.iter().flat_map(|inputs| &inputs.value);
        let inputs = inputs.filter_map(|input| input.value.name.as_deref());
        let stored = steps().filter_map(|step| step.output.as_deref().or(step.id.as_deref()));
        for name in context.chain(inputs).chain(stored).filter(|name| name.value.trim() == FAILURE) {
            let message =
                "`failure` is the name under which the cleanup steps of this recipe see the failure";
            self.diagnostics.push(
                Diagnostic::new(Code::ReservedName, name.place, message)
                    .label("reserved")
                    .help("give it another name"),
            );
        }
    }
}
