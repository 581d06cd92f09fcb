//! The results of steps as data, with the steps inside them. Secrets are masked here.

use engine::{
    RunState, StepStatus,
    run::{
        event::Ended,
        frame::{Frame, StepState},
        outcome::OutcomeKind,
    },
};
use recipe::plan::{Step, StepKind};

use super::{
    asks,
    result::{StepResult, Subject},
};
use crate::{run::Preview, store::secrets::Mask};

/// The error of a step that was interrupted.
fn interrupted_words(state: &RunState, path: &str, step: &Step) -> String {
    let then = match step.idempotent {
        _ if state.awaits_proof(path) => "its work is done, and a resume checks its `ensure` rules",
        true => "a resume runs it again",
        false => "it is not idempotent, so a resume asks you what to do",
    };
    format!("interrupted; {then}")
}

pub(super) fn steps(subject: &Subject<'_>, frame: &Frame) -> Vec<StepResult> {
    // iterations that never began are no steps
    let is_shown = |at: &usize| frame.repeat().is_none() || frame.steps[*at].status != StepStatus::Pending;
    (0..frame.steps.len()).filter(is_shown).map(|at| step(subject, frame, at)).collect()
}

fn step(subject: &Subject<'_>, frame: &Frame, at: usize) -> StepResult {
    let (state, definition) = (&frame.steps[at], &frame.unit.steps[at]);
    let path = frame.step_path(at);
    let (mask, preview) = (subject.mask, subject.previews.get(&path));
    let ended = state.ended.as_deref();
    let interrupted = asks::is_interrupted(subject, state);
    // steps that were stopped with the run ended with it
    let over = subject.state.work.ended().unwrap_or(subject.now);
    StepResult {
        step_id: frame.step_id(at),
        kind: definition.kind.word(),
        command: match &definition.kind {
            StepKind::Shell { command } => Some(mask.text(command.text()).into_owned()),
            _ => None,
        },
        prompt: None,
        status: asks::shown_status(subject, state),
        interrupted,
        cleanup: state.is_cleanup,
        output: output(state, definition.store.as_deref(), mask),
        error: match interrupted {
            true => interrupted_words(subject.state, &path, definition),
            false => {
                let error = ended.and_then(|ended| ended.error.as_deref());
                mask.quotation(error.unwrap_or_default()).into_owned()
            }
        },
        failed_how: failed_how(subject, state),
        duration: match state.status {
            StepStatus::Pending => 0.0,
            _ => state.taken_until(Some(over)).unwrap_or(0.0),
        },
        attempts: state.attempts(),
        started_at: state.started_at,
        finished_at: state.finished_at,
        outcome: match (interrupted, &subject.state.finished) {
            (true, Some(_)) => Some(OutcomeKind::Cancelled),
            (true, None) => Some(OutcomeKind::Lost),
            (false, _) => ended.map(|ended| ended.outcome.kind()),
        },
        exit_code: ended.filter(|_| !interrupted).and_then(Ended::exit_code),
        signal: ended.filter(|_| !interrupted).and_then(Ended::signal),
        skip_reason: state.skipped.as_ref().map(|reason| Preview::reason(preview, reason)),
        preview: preview.cloned(),
        recovered: state.recovered,
        stored_as: definition.store.clone(),
        cut_bytes: ended.and_then(|ended| ended.cut_bytes),
        stdout: ended.and_then(|ended| ended.stdout.clone()),
        stderr: ended.and_then(|ended| ended.stderr.clone()),
        usage: ended.and_then(|ended| ended.usage.clone()),
        definition_digest: definition.digest.clone(),
        input_digest: state.inputs.as_deref().map(str::to_owned),
        output_digest: output_digest(state, definition.store.as_deref(), mask),
        produced: ended.map(|ended| mask.files(&ended.produced)).unwrap_or_default(),
        ensure: ended.map(|ended| mask.checks(&ended.ensure)).unwrap_or_default(),
        steps: state.frame.map(|frame| steps(subject, &subject.state.frames[frame])).unwrap_or_default(),
        path,
    }
}

/// How a step failed, in few words; empty if it did not.
fn failed_how(subject: &Subject<'_>, step: &StepState) -> String {
    match step.status {
        StepStatus::Failed | StepStatus::Degraded => {
            subject.mask.quotation(&subject.state.failed_how(step)).into_owned()
        }
        _ => String::new(),
    }
}

fn output(state: &StepState, name: Option<&str>, mask: &Mask) -> String {
    let masked = |value| mask.value(name.unwrap_or_default(), value).render().into_owned();
    state.value.as_ref().map(masked).unwrap_or_default()
}

/// The digest of a value. A secret has no digest: short secrets could be guessed from it.
fn output_digest(state: &StepState, name: Option<&str>, mask: &Mask) -> Option<String> {
    let value = state.value.as_ref().filter(|_| !name.is_some_and(|name| mask.is_secret(name)))?;
    Some(recipe::digest::sha256(value.render().as_bytes()))
}
