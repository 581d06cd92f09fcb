//! Dry runs: what a step would do, as far as that is known. Executes nothing.

use std::sync::Arc;

use engine::{
    Event, Outcome,
    frame::{Frame, FrameId},
    outcome::SkipReason,
};
use recipe::{
    plan::{Step, StepKind, Target, Unit},
    scope::{Final, Path, Scope},
    value::Value,
};

use super::{DriveError, Driver};
use crate::preflight;

impl Driver<'_> {
    /// In a dry run: says what would be done, and does nothing.
    pub(super) fn rehearse(&mut self, path: &str, frame: FrameId, step: &Step) -> Result<(), DriveError> {
        let scope = &Rehearsal(&self.state.frames[frame]);
        let what = match &step.kind {
            StepKind::Shell { command } => format!("would run: {}", command.render(scope)),
            StepKind::Agent(agent) => format!("would ask an agent: {}", agent.prompt.render(scope)),
            StepKind::Nested { target: Target::Dynamic { name, .. }, .. } if scope.hides(name) => {
                format!("would run the recipe `{}`, whose name is not known yet", name.render(scope))
            }
            StepKind::Nested { .. } if self.goes_round(path, frame, step) => {
                "would run a recipe that is being run already".to_owned()
            }
            StepKind::Nested { .. } => return self.rehearse_nested(path, frame, step),
        };
        let undecided = match &step.condition {
            Some(condition) if engine::decide::depends_on_unknown(&self.state.frames[frame], step) => {
                format!(
                    " (if `{}` holds, which is not known before the steps that it reads have run)",
                    condition.text()
                )
            }
            _ => String::new(),
        };
        let message = format!("{}{undecided}", self.mask.text(&what));
        self.previews.insert(path.to_owned(), message.clone());
        self.record(Event::Noted { path: Some(path.to_owned()), message }, None)?;
        self.record(Event::StepSkipped { path: path.to_owned(), reason: SkipReason::DryRun }, None)
    }

    /// Whether a step runs a recipe around it under a condition that nobody knows yet: when it ends is not known
    /// either.
    fn goes_round(&mut self, path: &str, frame: FrameId, step: &Step) -> bool {
        if step.condition.is_none() || !engine::decide::depends_on_unknown(&self.state.frames[frame], step) {
            return false;
        }
        let Ok(unit) = self.target(path, frame, step) else { return false };
        let mut around = Some(frame);
        while let Some(id) = around {
            if self.state.frames[id].unit.path == unit.path {
                return true;
            }
            around = self.state.frames[id].parent.map(|(parent, _)| parent);
        }
        false
    }

    /// Enters a recipe, or fails as a real run would.
    fn rehearse_nested(&mut self, path: &str, frame: FrameId, step: &Step) -> Result<(), DriveError> {
        let entered = self.target(path, frame, step).and_then(|unit| {
            let problem = self.entry_problem(frame, step, &unit);
            problem.map_or(Ok(unit), Err)
        });
        match entered {
            Ok(unit) => {
                let event = Event::RecipeEntered { path: path.to_owned(), unit: unit.path.clone() };
                self.record(event, None)
            }
            Err(error) => self.nested_failed(path, Outcome::Refused, error),
        }
    }

    /// Why a recipe cannot be entered with the context that it would get. What nobody knows in a dry run is no
    /// reason.
    pub(super) fn entry_problem(&self, frame: FrameId, step: &Step, unit: &Arc<Unit>) -> Option<String> {
        let StepKind::Nested { overrides, .. } = &step.kind else { return None };
        let outer = &self.state.frames[frame];
        let context = outer.context_below(self.state.settings.own_context(unit), overrides);
        let mut unit = Unit::clone(unit);
        let unknown = outer.unknown_below(overrides);
        unit.rules.retain(|(name, _)| !unknown.contains(name));
        unit.inputs.retain(|input| !unknown.contains(&input.name));
        let mut problems = preflight::context_problems(&unit, &context, &self.base_dir(frame));
        // a dry run needs neither programs nor credentials
        if !self.state.settings.dry_run {
            let given = self.given_env(frame, step);
            problems.extend(preflight::missing_in(&unit, &self.host, &given));
        }
        (!problems.is_empty()).then(|| preflight::message(&unit.name, &problems))
    }
}

/// The context in a dry run: names that only a step could give a value stay as they are written.
struct Rehearsal<'a>(&'a Frame);

impl Rehearsal<'_> {
    /// Whether a template reads what nobody knows.
    fn hides(&self, template: &recipe::template::Template) -> bool {
        template.names().iter().any(|(path, _)| self.0.unknown.contains(&path.root))
    }
}

impl Scope for Rehearsal<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        self.0.get(name)
    }

    fn whole(&self, path: &Path) -> Option<Value> {
        self.0.unknown.contains(&path.root).then(|| Value::from(format!("{{{{{path}}}}}")))
    }

    fn below(&self, name: &str) -> Option<Arc<Final>> {
        self.0.below(name)
    }
}
