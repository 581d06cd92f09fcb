//! The facts that a diagnosis starts from. Those in the end of a step are taken from its types, never from its message.

use super::{AgentTrouble, Before, KnownBy, Obstacle, Producer, Provider, StepType, text};
use crate::knowledge::Knowledge;
use crate::run::{
    cause::{MissingProgram, Need, Refusal, StartFailureKind},
    event::Ended,
    message,
    outcome::Outcome,
};

/// All known facts about a failure.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// How the last attempt ended.
    pub outcome: Option<Outcome>,
    /// The kind of the step.
    pub step_type: StepType,
    /// The command as written in the recipe.
    pub command: String,
    /// The end of its standard error.
    pub stderr: String,
    /// The end of its standard output.
    pub stdout: String,
    /// The number of lines on standard error before that.
    pub stderr_before: Before,
    /// The number of lines on standard output before that.
    pub stdout_before: Before,
    /// The agent's own message about its failure.
    pub agent_failure: Option<String>,
    /// The problem of the agent's service.
    pub agent_trouble: Option<AgentTrouble>,
    /// The evidence for that: its structured result, or words.
    pub trouble_by: KnownBy,
    /// The answer of an agent: the step's own, or that of the producer before it.
    pub answer: Option<String>,
    /// The step of the agent that gave the answer, if it is another one.
    pub answer_of: Option<String>,
    /// Whether files changed while that agent worked, if known.
    pub files_changed: Option<bool>,
    /// The link to the agent steps before it.
    pub producer: Producer,
    /// Whether the recipe declares that it is a check.
    pub is_check: bool,
    /// Whether the recipe declares that it changes the world outside.
    pub has_effects: bool,
    /// Required environment variables that are not set.
    pub missing_env: Vec<String>,
    /// Names in the context that need a value and lack it.
    pub missing_values: Vec<String>,
    /// Inputs whose values do not fit their types.
    pub unfit_values: Vec<String>,
    /// The environment variables that the recipe itself provides; for several with the same variable, the first one
    /// counts.
    pub providers: Vec<Provider>,
    /// The program that could not be started.
    pub missing_program: Option<String>,
    /// The command of its script that does not exist on this machine.
    pub absent_program: Option<String>,
    /// The runner's message about an exceeded limit.
    pub limit: Option<String>,
    /// Whether the step has used all its attempts.
    pub retries_exhausted: bool,
    /// Whether the run was stopped.
    pub interrupted: bool,
    /// The obstacle.
    pub obstacle: Option<Obstacle>,
    /// Rules of the step that are not met, in words.
    pub unmet: Vec<String>,
    /// The runner's own message about it.
    pub detail: String,
    /// What is believed about programs and their words.
    pub knowledge: Knowledge,
}

impl Facts {
    /// The facts that the end of a step carries itself. `sub_recipe` is the recipe that it runs, if it runs one.
    pub fn of_end(ended: &Ended, sub_recipe: Option<&str>) -> Facts {
        let mut facts = Facts {
            outcome: Some(ended.outcome.clone()),
            agent_trouble: ended.trouble,
            trouble_by: ended.trouble_by,
            interrupted: matches!(ended.outcome, Outcome::Cancelled | Outcome::Lost),
            detail: detail(&ended.outcome, sub_recipe),
            ..Facts::default()
        };
        match &ended.outcome {
            Outcome::Limit(limit) => facts.limit = Some(limit.to_string()),
            Outcome::Exit(127) => {
                facts.absent_program = match &ended.missing {
                    Some(MissingProgram::Named(programs)) => programs.first().cloned(),
                    Some(MissingProgram::Interpreter(_) | MissingProgram::Unnamed) | None => None,
                }
            }
            Outcome::NotStarted(failure) => match &failure.kind {
                StartFailureKind::ProgramNotFound(program) => facts.missing_program = Some(program.clone()),
                StartFailureKind::ProcessLimit => facts.obstacle = Some(Obstacle::NoProcesses),
                StartFailureKind::NoNullDevice => facts.obstacle = Some(Obstacle::MissingPath),
                StartFailureKind::Other => {}
            },
            Outcome::Refused(Refusal::Directory { .. }) => facts.obstacle = Some(Obstacle::MissingPath),
            Outcome::Refused(refusal) => {
                facts.obstacle = Some(Obstacle::Unusable);
                if let Refusal::Unready { problems, .. } = refusal {
                    problems.iter().for_each(|problem| facts.lack(&problem.need));
                }
            }
            Outcome::Ensure => {
                let unmet = ended.ensure.iter().filter(|check| !check.met).map(ToString::to_string);
                facts.unmet = unmet.collect();
                facts.detail = facts.unmet.first().cloned().unwrap_or_default().replace('\n', " ");
            }
            _ => {}
        }
        facts
    }

    /// Notes variables and values that a recipe lacks.
    fn lack(&mut self, need: &Need) {
        match need {
            Need::Variables(names) => self.missing_env.extend(names.iter().cloned()),
            Need::Value(name) | Need::Secret(name) => self.missing_values.push(name.clone()),
            Need::Fit(name) => self.unfit_values.push(name.clone()),
            Need::Program(_)
            | Need::Agent(_)
            | Need::Path
            | Need::WorkTree
            | Need::OldDirectory
            | Need::Depth => {}
        }
    }

    /// The exit code, if there is one.
    pub fn exit_code(&self) -> Option<i32> {
        match self.outcome {
            Some(Outcome::Exit(code)) => Some(code),
            _ => None,
        }
    }

    /// Whether its script explicitly exits with this code.
    pub(super) fn exits_with(&self, code: i32) -> bool {
        ["exit", "return"].iter().any(|word| text::has_words(&self.command, &format!("{word} {code}")))
    }
}

/// The first line of the runner's own message about a failure, if a diagnosis quotes it.
fn detail(outcome: &Outcome, sub_recipe: Option<&str>) -> String {
    let message = match (outcome, sub_recipe) {
        // the first problem says more than the heading of the list
        (Outcome::Refused(Refusal::Unready { problems, .. }), _) => {
            problems.first().map(|problem| problem.text.clone())
        }
        (Outcome::Refused(refusal), Some(recipe)) => Some(message::not_entered(recipe, refusal)),
        (
            Outcome::Refused(_)
            | Outcome::Agent(_)
            | Outcome::NotStarted(_)
            | Outcome::RateLimited { .. }
            | Outcome::NotJson { .. }
            | Outcome::Condition { .. }
            | Outcome::Loop(_)
            | Outcome::Budget(_),
            _,
        ) => outcome.cause(),
        _ => None,
    };
    message.and_then(|message| message.lines().next().map(str::to_owned)).unwrap_or_default()
}
