//! The diagnosis of a failure, and the advice that follows from it.

use engine::{
    Outcome,
    failure::{
        Actions, Diagnosis, Facts, advice, diagnose, fingerprint, fingerprint_of_all, resume_action,
        then_resume,
    },
    run::{
        message::budgets,
        next::{Advice, Next, ResumeChoice},
    },
};

pub use crate::run::failure_facts::FailedRun;

/// The diagnosis of a failure, and the advice.
#[derive(Clone, Debug)]
pub struct Found {
    pub diagnosis: Diagnosis,
    /// Equal for equal failures; covers all steps that failed side by side.
    pub fingerprint: Option<String>,
    /// What a person can do next.
    pub advice: Vec<Advice>,
    /// How to continue the run after that.
    pub resume: Option<Next>,
}

/// Diagnoses the failure of a run.
pub fn failure(run: &FailedRun<'_>, actions: impl FnOnce(&str) -> Actions) -> Option<Found> {
    let state = run.state;
    let (path, ended) = state.root_cause()?;
    let (id, at) = state.locate(&path)?;
    let first = run.facts((id, at), ended);
    let mut diagnosis = diagnose(&first);
    let mut fingerprints = vec![fingerprint(&path, diagnosis.class, &first)];
    for (path, ended) in state.causes().into_iter().skip(1) {
        let Some(place) = state.locate(&path) else { continue };
        let beside = run.facts(place, ended);
        let other = diagnose(&beside);
        fingerprints.push(fingerprint(&path, other.class, &beside));
        diagnosis = diagnosis.with(path, other);
    }
    let actions = actions(&path);
    let own = match (&ended.outcome, &actions.resume) {
        (Outcome::Budget(exhausted), Some(Next::Resume { run, how })) => {
            crate::steps::agent::ledger::raise(exhausted, &state.used).map(|budget| {
                let how = ResumeChoice { budget: Some(budget), ..how.clone() };
                let resume = Next::Resume { run: run.clone(), how };
                let raise = format!("the budget of {} is used up: raise it with", budgets(exhausted));
                (vec![Advice::inline(raise, resume.clone()), then_resume(resume.clone())], Some(resume))
            })
        }
        (Outcome::NeedsHuman, resume) => Some((for_a_person(&path, &actions), resume.clone())),
        _ => None,
    };
    let (advice, resume) = own.unwrap_or_else(|| {
        (advice(&diagnosis, &path, &actions), resume_action(&diagnosis, &actions).cloned())
    });
    Some(Found { fingerprint: fingerprint_of_all(&fingerprints), advice, resume, diagnosis })
}

/// The advice for a step that waits for a person.
fn for_a_person(path: &str, actions: &Actions) -> Vec<Advice> {
    let then = |text: &str, next: &Option<Next>| next.clone().map(|next| Advice::with(text, next));
    let waiting = format!("`{path}` is waiting for you. When you are done, resume the run");
    let mut steps = vec![Advice::new(waiting)];
    steps.extend(then("read its full output", &actions.logs));
    steps.extend(actions.resume.clone().map(then_resume));
    steps
}

/// The diagnosis of a stopped run.
pub fn interruption(said: Option<&str>) -> Diagnosis {
    let detail = said.unwrap_or("its process is gone").to_owned();
    diagnose(&Facts { interrupted: true, detail, ..Facts::default() })
}

/// The actions that help with the failure of a step.
pub fn actions(run: &str, recipe: &str, path: &str) -> Actions {
    let plan = ResumeChoice { plan: true, ..ResumeChoice::default() };
    Actions {
        resume: Some(Next::resume(run)),
        resume_edited: (!recipe.starts_with("built-in:")).then(|| Next::resume_with(run, recipe)),
        logs: Some(Next::Logs { run: run.to_owned(), step: Some(path.to_owned()) }),
        plan: Some(Next::Resume { run: run.to_owned(), how: plan }),
        validate: Some(Next::Validate { recipe: recipe.to_owned() }),
        ..Actions::default()
    }
}

/// How to continue a run: the diagnosis may know a better way than the usual one.
pub fn next_resume(run: &str, found: Option<&Found>) -> Next {
    let better = found.and_then(|found| found.resume.clone());
    better.unwrap_or_else(|| Next::resume(run))
}
