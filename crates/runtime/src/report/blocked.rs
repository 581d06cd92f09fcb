//! The result of a run that was blocked before its first step: what is missing, and what to do.
//!
//! Never starts anything, and leaves nothing behind.

use engine::{
    EndReason, RunStatus, StepStatus,
    failure::{Actions, Diagnosis, Facts, Obstacle, advice, diagnose},
    run::{message, next::Advice, outcome::OutcomeKind},
};
use recipe::value::Map;

use crate::{
    machine::preflight::{self, Need, Problem},
    report::{Failure, RunResult, SCHEMA_VERSION, StepResult},
    store::secrets::Mask,
};

/// The result for a recipe with these problems.
pub fn blocked(recipe: &str, problems: &[Problem], actions: &Actions) -> RunResult {
    let error = message::unready(recipe, problems);
    let diagnosis = Diagnosis::together(problems.iter().map(|problem| diagnose(&facts(problem))));
    let step = StepResult {
        step_id: preflight::STEP.to_owned(),
        path: preflight::STEP.to_owned(),
        kind: "bash",
        status: StepStatus::Failed,
        error: error.clone(),
        failed_how: format!(": cannot start `{recipe}`"),
        outcome: Some(OutcomeKind::Refused),
        ..StepResult::default()
    };
    RunResult {
        schema_version: SCHEMA_VERSION,
        recipe_name: recipe.to_owned(),
        run_id: None,
        tracking_id: None,
        success: false,
        status: RunStatus::Failed,
        outcome: "blocked",
        reason: Some(EndReason::Blocked),
        dry_run: false,
        started_at: None,
        finished_at: None,
        duration: 0.0,
        failure: Some(Failure {
            step: step.path.clone(),
            outcome: OutcomeKind::Refused,
            error,
            how: format!("cannot start `{recipe}`"),
            problems: problems.to_vec(),
            written: None,
            cut_short: Vec::new(),
        }),
        step_results: vec![step],
        output: String::new(),
        result_only: false,
        context: Map::new(),
        inputs: Vec::new(),
        choices: Vec::new(),
        asks: Vec::new(),
        advice: diagnosis.as_ref().map(|found| next(found, problems, actions)).unwrap_or_default(),
        cleanup_failures: Vec::new(),
        diagnosis,
        fingerprint: None,
        evidence: None,
        task: None,
        auto_fix: None,
        usage: None,
        origin: None,
        cancelled_by: None,
        resumes: 0,
        ended_processes: Vec::new(),
        left_processes: Vec::new(),
        resume: None,
        run_dir: None,
        mask: Mask::default(),
    }
}

/// The next actions. Problems of the command line or of the program's own environment get their own text: neither a
/// recipe nor a `.env` file is at fault.
fn next(diagnosis: &Diagnosis, problems: &[Problem], actions: &Actions) -> Vec<Advice> {
    let own = |problem: &Problem| match &problem.need {
        Need::Value(name) => Some(format!("give `{name}` a value: `--set {name}=VALUE`")),
        Need::Secret(name) => Some(format!("give `{name}` a value: `--set-file {name}=FILE`")),
        Need::Fit(name) => Some(format!("give `{name}` another value: `--set {name}=VALUE`")),
        Need::Agent(name) => Some(format!(
            "name a known agent program, or describe `{name}` under `agents:` of the configuration"
        )),
        Need::Depth => Some(problem.text.clone()),
        Need::WorkTree => {
            Some("add a `changed` rule that names the files to count, or start in a git work tree".to_owned())
        }
        Need::Variables(_) | Need::Program(_) | Need::Path | Need::OldDirectory => None,
    };
    let mut steps: Vec<Advice> = problems.iter().filter_map(own).map(Advice::new).collect();
    let mut last = advice(diagnosis, preflight::STEP, actions);
    let mut classes = Vec::new();
    for problem in problems.iter().filter(|problem| own(problem).is_none()) {
        let found = diagnose(&facts(problem));
        if !classes.contains(&found.class) {
            classes.push(found.class);
            // the advice for one problem does not mention the others
            last = advice(&found, preflight::STEP, actions);
            let about_it = last.len().saturating_sub(1);
            steps.extend(last.drain(..about_it));
        }
    }
    // the last advice is to start again
    steps.extend(last.pop());
    steps
}

fn facts(problem: &Problem) -> Facts {
    let found =
        |obstacle| Facts { obstacle: Some(obstacle), detail: problem.text.clone(), ..Facts::default() };
    match &problem.need {
        Need::Variables(names) => Facts { missing_env: names.clone(), ..Facts::default() },
        Need::Value(name) | Need::Secret(name) => {
            Facts { missing_values: vec![name.clone()], ..Facts::default() }
        }
        Need::Fit(name) => Facts { unfit_values: vec![name.clone()], ..Facts::default() },
        Need::Program(name) | Need::Agent(name) => {
            Facts { missing_program: Some(name.clone()), ..Facts::default() }
        }
        Need::Path => found(Obstacle::MissingPath),
        Need::WorkTree => found(Obstacle::Unusable),
        Need::OldDirectory => found(Obstacle::OldDirectory),
        Need::Depth => Facts { limit: Some(problem.text.clone()), ..Facts::default() },
    }
}
