//! Dry runs: what each step would do, as far as that is known. Executes nothing.

use engine::{
    Event, RunState,
    run::{
        actions::Happening,
        cause::{ExceededLimit, Refusal},
        frame::FrameId,
        outcome::SkipReason,
    },
};
use recipe::{
    plan::{EnsureRule, Step, StepKind, Target, Unit, ValueTemplate},
    scope::{Foreseen, Scope},
    syntax::{PermissionLevel, Shell, When},
    template::Template,
};
use serde::Serialize;

use super::{DriveError, Driver, RunSpec, preparer::declared_env};
use crate::machine::preflight;

/// The preview of a step, without secrets.
#[derive(Clone, Debug, Serialize)]
pub struct Preview {
    /// What would be done, in words.
    pub dry_run: String,
    /// The command or the prompt with its values; values that only a run knows stay as templates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rendered: Option<String>,
    /// The condition, if it is unknown before the steps that it reads have run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<String>,
    /// The words before the command or the prompt.
    #[serde(skip)]
    pub action: String,
    /// The notes after it.
    #[serde(skip)]
    pub notes: Vec<String>,
}

impl Preview {
    /// What would be done, in words, with this form of the command or the prompt.
    pub fn in_words(&self, rendered: Option<&str>) -> String {
        let notes: String = self.notes.iter().map(|note| format!(" ({note})")).collect();
        format!("{}{}{notes}", self.action, rendered.unwrap_or_default())
    }

    /// Why the step was skipped, with this form of the command or the prompt.
    pub fn skip_reason(&self, rendered: Option<&str>) -> String {
        format!("dry run: {}", self.in_words(rendered))
    }

    /// Why a step was skipped, and in a dry run what it would have done.
    pub(crate) fn reason(preview: Option<&Preview>, reason: &SkipReason) -> String {
        match (preview, reason) {
            (Some(preview), SkipReason::DryRun) => preview.skip_reason(preview.rendered.as_deref()),
            _ => reason.describe(),
        }
    }
}

impl Driver<'_> {
    /// In a dry run: reports what a step would do, and does nothing.
    pub(super) fn rehearse(
        &mut self,
        path: &str,
        (frame, at): (FrameId, usize),
        step: &Step,
    ) -> Result<(), DriveError> {
        let scope = &self.state.frames[frame].foreseen();
        let (what, rendered) = match &step.kind {
            _ if step.each().is_some() => {
                let what = "would run once for each item of a list that is known only later: ";
                (what.to_owned(), step.each().map(|each| written_list(&each.list)))
            }
            StepKind::Shell { command } if step.shell == Shell::Strict => {
                ("would run (shell: strict): ".to_owned(), Some(command.render(scope)))
            }
            StepKind::Shell { command } => ("would run: ".to_owned(), Some(command.render(scope))),
            StepKind::Agent(agent) => match &agent.prompt_file {
                Some(file) => {
                    ("would ask an agent what is in the file ".to_owned(), Some(file.render(scope)))
                }
                None => ("would ask an agent: ".to_owned(), Some(agent.prompt.render(scope))),
            },
            StepKind::Ask(ask) => {
                let choices = ask.choices.join(", ");
                (format!("would ask a person ({choices}): "), Some(ask.question.render(scope)))
            }
            StepKind::Nested { target: Target::Dynamic { name, .. }, .. } if hides(scope, name) => {
                let name = name.render(scope);
                (format!("would run the recipe `{name}`, a name that is known only later"), None)
            }
            // when the recursion ends is unknown
            StepKind::Nested { .. }
                if engine::run::decide::undecided(&self.state.frames[frame], at).is_some()
                    && self
                        .target(path, frame, step)
                        .is_ok_and(|unit| self.state.is_inside(frame, &unit)) =>
            {
                ("would run a recipe that is already running".to_owned(), None)
            }
            StepKind::Nested { .. } if may_exceed(&self.state, path).is_some() => {
                ("would run a recipe".to_owned(), None)
            }
            StepKind::Nested { .. } => return self.rehearse_nested(path, (frame, at), step),
        };
        self.foretell(path, &what, rendered)?;
        self.record(Event::StepSkipped { path: path.to_owned(), reason: SkipReason::DryRun }, None)
    }

    /// Reports what a step would do.
    pub(super) fn foretell(
        &mut self,
        path: &str,
        what: &str,
        rendered: Option<String>,
    ) -> Result<(), DriveError> {
        let Some((frame, at)) = self.state.locate(path) else { return Ok(()) };
        let masked = |text: &str| self.mask.text(text).into_owned();
        let undecided = engine::run::decide::undecided(&self.state.frames[frame], at);
        let undecided = undecided.map(|condition| masked(condition.text()));
        let rendered = rendered.map(|text| masked(&text));
        let condition =
            undecided.as_ref().map(|condition| format!("if `{condition}` holds; earlier steps decide that"));
        let limit = may_exceed(&self.state, path).map(|limit| match limit {
            ExceededLimit::Depth { limit } => {
                format!("may exceed the maximum recipe recursion depth ({limit})")
            }
            ExceededLimit::Steps { limit, recipe } => {
                format!("from here on the run may exceed the total step limit ({limit}) of `{recipe}`")
            }
        });
        let step = &self.state.frames[frame].unit.steps[at];
        let when = (step.when == When::Failed).then(|| "only after a step has failed".to_owned());
        let rule =
            |rule: &EnsureRule| format!("{} {}", rule.kind().as_str(), rule.demand().replace('\n', " "));
        // every instance of a loop has the rules
        let rules = step.ensure.iter().filter(|_| step.looped.is_none());
        let rules: Vec<String> = rules.map(rule).collect();
        let ensure = (!rules.is_empty()).then(|| masked(&format!("then ensures: {}", rules.join("; "))));
        let limited = match &step.kind {
            StepKind::Agent(agent) => {
                let permissions =
                    agent.permissions.unwrap_or_else(|| self.spec.permissions_in(&self.state, frame));
                (permissions.level != PermissionLevel::Full)
                    .then(|| format!("permissions: {}", permissions.level.as_str()))
            }
            _ => None,
        };
        let notes = when.into_iter().chain(limited).chain(condition).chain(limit).chain(ensure).collect();
        let mut preview =
            Preview { dry_run: String::new(), rendered, undecided, action: masked(what), notes };
        preview.dry_run = preview.in_words(preview.rendered.as_deref());
        let message = preview.dry_run.clone();
        self.previews.insert(path.to_owned(), preview);
        self.record(Event::Noted { path: Some(path.to_owned()), message, next: None }, None)
    }

    /// Enters a recipe, or fails as a real run would.
    fn rehearse_nested(
        &mut self,
        path: &str,
        (frame, at): (FrameId, usize),
        step: &Step,
    ) -> Result<(), DriveError> {
        let entered = self.target(path, frame, step).and_then(|unit| {
            let problem = self.spec.entry_problem(&self.state, (frame, at), &unit);
            problem.map_or(Ok(unit), Err)
        });
        match entered {
            Ok(unit) => {
                let what = format!("would run the recipe `{}`", unit.name);
                self.foretell(path, &what, None)?;
                let event = Event::RecipeEntered { path: path.to_owned(), unit: unit.path.clone() };
                self.record(event, None)
            }
            Err(problem) => {
                let (path, problem) = (path.to_owned(), Some(problem));
                self.happen(Happening::RecipeChecked { path, unit: None, problem })
            }
        }
    }
}

impl RunSpec<'_> {
    /// The reason why a recipe cannot be entered with the context that it would get. Values that are unknown in a dry
    /// run are not a reason.
    pub(super) fn entry_problem(
        &self,
        state: &RunState,
        (frame, at): (FrameId, usize),
        unit: &Unit,
    ) -> Option<Refusal> {
        let outer = &state.frames[frame];
        let StepKind::Nested { overrides, .. } = &outer.unit.steps[at].kind else { return None };
        // most recipes ask for nothing, and need no context to be told so
        let is_asking =
            !unit.rules.is_empty() || unit.inputs.iter().any(|input| input.required || input.kind.is_some());
        if !is_asking && unit.env.required.is_empty() {
            return None;
        }
        let context = outer.context_below(at, state.settings.own_context(unit), overrides);
        let mut unit = Unit::clone(unit);
        let unknown = outer.unknown_below(at, overrides);
        unit.rules.retain(|(name, _)| !unknown.contains(name));
        unit.inputs.retain(|input| !unknown.contains(&input.name));
        let dir = self.base_dir(state, frame);
        let mut problems = preflight::problems_inside(&unit, &context, &dir, &self.working_dir);
        // a dry run needs neither programs nor credentials
        if !state.settings.dry_run {
            let given = declared_env(state, frame, at).into_iter().map(|(name, _)| name).collect();
            problems.extend(preflight::missing_in(&unit, &self.host, &given));
        }
        (!problems.is_empty()).then_some(Refusal::Unready { recipe: unit.name, problems })
    }
}

/// In a dry run: what a step with a loop would do that enters it now.
pub(super) fn foreseen_loop(state: &RunState, event: &Event) -> Option<(String, String)> {
    let Event::LoopEntered { path, items } = event else { return None };
    let step = state.planned(path).filter(|_| state.settings.dry_run)?;
    let what = match step.repeat() {
        Some(repeat) => {
            let until = repeat.until.as_ref().map(|until| format!(" until `{}`", until.text()));
            let most = if until.is_some() { "at most " } else { "" };
            format!("would run {most}{} times{}", repeat.max, until.unwrap_or_default())
        }
        None => format!("would run once for each of {} items", items.len()),
    };
    Some((path.clone(), what))
}

/// The limit that a run may exceed with this step.
fn may_exceed(state: &RunState, path: &str) -> Option<ExceededLimit> {
    let (frame, at) = state.locate(path)?;
    engine::run::decide::may_exceed(state, frame, at)
}

/// A list as it is written.
fn written_list(list: &ValueTemplate) -> String {
    list.templates().iter().map(|template| template.text()).collect::<Vec<_>>().join(", ")
}

/// Whether a template reads an unknown value.
fn hides(scope: &Foreseen<'_>, template: &Template) -> bool {
    template.names().iter().any(|(path, _)| !scope.is_known(path))
}
