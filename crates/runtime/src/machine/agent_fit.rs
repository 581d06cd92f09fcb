//! Whether the agent steps of a recipe fit their programs: what they may do, their arguments, their conversations.
//!
//! Never starts a program. Values that only a run knows are checked when the step runs.

use std::collections::HashSet;

use engine::run::message::{cannot_be_limited, contradicting_argument};
use recipe::{
    check::Checked,
    diagnostic::{Code, Diagnostic},
    plan::{AgentStep, Permissions, Plan, Step, StepKind, Target, Unit, UnitId},
    syntax::PermissionLevel,
    template::Template,
};

use crate::{
    agents::{
        AgentSettings, Program,
        permissions::{SetArguments, able},
    },
    machine::programs,
};

/// A checked recipe, with the problems that its agent steps have with their programs.
#[must_use]
pub fn fitted(mut checked: Checked, settings: &AgentSettings) -> Checked {
    let problems = checked.plan.as_ref().map(|plan| misfits(plan, settings)).unwrap_or_default();
    if !problems.is_empty() {
        checked.plan = None;
        checked.diagnostics.extend(problems);
        checked.diagnostics.sort_by_key(|diagnostic| diagnostic.place);
    }
    checked
}

fn misfits(plan: &Plan, settings: &AgentSettings) -> Vec<Diagnostic> {
    let mut problems: Vec<Diagnostic> = Vec::new();
    let mut seen: HashSet<(UnitId, Option<&str>)> = HashSet::new();
    let mut open: Vec<(UnitId, Option<Permissions>)> = vec![(plan.root, None)];
    while let Some((id, around)) = open.pop() {
        let unit = plan.unit(id);
        let said = unit.limits.permissions.or(around);
        if !seen.insert((id, said.map(|said| said.level.as_str()))) {
            continue;
        }
        for step in &unit.steps {
            match &step.kind {
                StepKind::Agent(agent) => {
                    // names that depend on a value are known only when the step runs
                    let Some(named) = agent.programs.fixed() else { continue };
                    let fit = Fit { unit, step, agent, named, said, settings };
                    problems
                        .extend(fit.problems().filter(|found| !problems.contains(found)).collect::<Vec<_>>());
                }
                StepKind::Nested { target: Target::Known { unit, .. }, .. } => open.push((*unit, said)),
                _ => {}
            }
        }
    }
    problems
}

/// An agent step and what it runs with.
struct Fit<'a> {
    unit: &'a Unit,
    step: &'a Step,
    agent: &'a AgentStep,
    /// The programs that it names.
    named: Vec<String>,
    /// What its recipe, or one around it, says about permissions.
    said: Option<Permissions>,
    settings: &'a AgentSettings,
}

impl Fit<'_> {
    fn problems(&self) -> impl Iterator<Item = Diagnostic> {
        [self.limited(), self.argument(), self.conversation()].into_iter().flatten()
    }

    fn problem(&self, message: String, label: &str, help: &str) -> Diagnostic {
        Diagnostic::new(Code::Contradiction, self.step.place, message).label(label).help(help)
    }

    fn permissions(&self) -> Permissions {
        let given = self.settings.permissions.map(|level| Permissions { level, required: true });
        self.agent.permissions.or(given).or(self.said).unwrap_or(Permissions::FULL)
    }

    fn programs(&self) -> Vec<(&String, Program)> {
        let (names, _) = programs::choices(&self.named, self.settings);
        let known = names.iter().map(|name| (name, Program::named(name, &self.settings.custom)));
        known.filter_map(|(name, program)| Some((name, program?))).collect()
    }

    /// None of its programs can be limited as it demands.
    fn limited(&self) -> Option<Diagnostic> {
        let Permissions { level, required } = self.permissions();
        let (names, _) = programs::choices(&self.named, self.settings);
        let known = self.programs();
        let is_launched = self.settings.launcher.is_some();
        let can = known.iter().any(|(_, program)| program.can(level) && !is_launched);
        // an unknown program has its own message
        if !required || level == PermissionLevel::Full || can || known.len() < names.len() {
            return None;
        }
        let able = if is_launched { Vec::new() } else { able(level, &self.settings.custom) };
        let message = format!("step `{}`: {}", self.step.id, cannot_be_limited(names, level.as_str(), &able));
        let help = match is_launched {
            true => "unset `AMPLIHACK_LAUNCHER_BINARY`: a launcher decides itself what its programs may do",
            false => {
                "name another program under `agent_binary`, or write `permissions: {level: …, required: false}`"
            }
        };
        Some(self.problem(message, "cannot be limited so", help))
    }

    /// An argument contradicts one that the runner sets.
    fn argument(&self) -> Option<Diagnostic> {
        let args: Vec<String> =
            self.agent.args.iter().filter_map(Template::as_literal).map(|arg| arg.to_string()).collect();
        let set = SetArguments {
            level: self.permissions().level,
            model: self.agent.model.is_some(),
            system_prompt: self.agent.system_prompt.is_some(),
        };
        self.programs().into_iter().find_map(|(name, program)| {
            let argument = program.contradiction(&args, set)?;
            let message = format!("step `{}`: {}", self.step.id, contradicting_argument(name, argument));
            let help =
                "remove it; the fields `permissions`, `model`, `agent` and `continues` set such arguments";
            Some(self.problem(message, "contradicts its `agent_args`", help))
        })
    }

    /// The conversation that it continues belongs to another program.
    fn conversation(&self) -> Option<Diagnostic> {
        let earlier = &self.unit.steps[self.agent.continues?];
        let StepKind::Agent(other) = &earlier.kind else { return None };
        let other = other.programs.fixed()?;
        if self.named.is_empty() || self.named == other {
            return None;
        }
        let (own, _) = programs::choices(&self.named, self.settings);
        let (theirs, _) = programs::choices(&other, self.settings);
        let message = format!(
            "step `{}` continues `{}`, but with another program: `{}`, not `{}`",
            self.step.id,
            earlier.id,
            own.join(", "),
            theirs.join(", ")
        );
        (own != theirs).then(|| {
            self.problem(message, "another program", "remove `agent_binary`: the same program continues")
        })
    }
}
