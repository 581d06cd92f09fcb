//! The output of steps, afterwards or live.
//!
//! Never shows an incomplete line of a live run: a secret could be cut in two.

mod attempts;
mod follow;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use attempts::{Attempt, Attempts};
use follow::Follow;
use runtime::{
    agents::{CustomProgram, transcript::Transcript},
    runs::{OpenedRun, has_instances},
    store::{folder::RunFolder, secrets::Mask},
};
use serde_json::json;

use super::stored_runs::{find_or_last, runs_at, unreadable};
use crate::{
    args::{options::OutputFormat, stored::LogsArgs},
    environment::Environment,
    exit::Exit,
    host::StoredRuns,
    out::Out,
    report::failure::Failure,
};

/// How often a followed run is checked.
const LOOK: Duration = Duration::from_millis(200);

/// Shows the output of steps.
pub(crate) fn logs(args: &LogsArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let format = args.format.output_format;
    logs_of(args, environment, out).map_err(|failure| failure.announce(format, out))
}

fn logs_of(args: &LogsArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let runs = runs_at(args.state.state_dir.as_deref(), environment)?;
    let folder = find_or_last(&runs, args.run.as_deref(), out)
        .map_err(|failure| hint_at_step(failure, args, &runs))?;
    let step = args.step.as_deref();
    let shown = runs.open(folder.clone()).map_err(|error| unreadable(&error, &folder))?;
    let attempts = Attempts::of(&shown.records);
    let is_unknown =
        |step: &&str| shown.state.named(step).is_none() && attempts.all(&shown.state, Some(step)).is_empty();
    if let Some(step) = step.filter(is_unknown) {
        return Err(not_found(&shown, step));
    }
    let described = |shown: &OpenedRun| environment.machine.described_agents(&shown.header.working_dir);
    if args.format.output_format == OutputFormat::Json {
        // one value, when the output is complete
        let shown = match args.follow {
            true => {
                wait_for_end(&folder, out);
                runs.open(folder.clone()).map_err(|error| unreadable(&error, &folder))?
            }
            false => shown,
        };
        let attempts = Attempts::of(&shown.records).all(&shown.state, step);
        let described = described(&shown);
        let list: Vec<_> =
            attempts.iter().map(|attempt| as_json(&folder, attempt, &shown.mask, &described)).collect();
        out.json(&list);
        return Ok(Exit::Success);
    }
    let agents = if args.raw { None } else { Some(described(&shown)) };
    let mut follow = Follow::new(shown, attempts, step, agents);
    match args.follow {
        true => follow.until_the_end(&runs, out),
        false => follow.show_all(out),
    }
    if !follow.has_shown() && !out.is_closed() {
        out.notice("nothing was printed");
    }
    Ok(Exit::Success)
}

/// Names the command for a step of the last run, if a run was asked for by the name of that step.
fn hint_at_step(failure: Failure, args: &LogsArgs, runs: &StoredRuns) -> Failure {
    let Some(name) = args.run.as_deref().filter(|_| args.step.is_none()) else { return failure };
    let last = runs.find("last").ok().and_then(|folder| runs.open(folder).ok());
    match last.and_then(|last| last.state.named(name)) {
        Some(step) => {
            let command = runs.hints.command(&format!("logs last {step}"));
            failure.hint(format!("for step `{step}` of the last run: {command}"))
        }
        None => failure,
    }
}

/// Waits until the run ends or stdout has no reader left.
fn wait_for_end(folder: &RunFolder, out: &Out) {
    while folder.owner().is_some() && !out.is_closed() {
        std::thread::sleep(LOOK);
    }
}

/// The error for a step that did not run.
fn not_found(shown: &OpenedRun, step: &str) -> Failure {
    let message = format!("step `{step}` not found in run `{}`", shown.folder.id());
    let failure = Failure::new(Exit::NotFound, message);
    if let Some((looped, count)) = shown.state.instances_of(step) {
        return failure.hint(has_instances(&looped, count));
    }
    let mut known: Vec<String> = Vec::new();
    for attempt in Attempts::of(&shown.records).all(&shown.state, None) {
        if !known.contains(&attempt.step.path) {
            known.push(attempt.step.path);
        }
    }
    failure.hint(format!("steps that ran: {}", known.join(", ")))
}

fn as_json(
    folder: &RunFolder,
    attempt: &Attempt,
    mask: &Mask,
    agents: &[CustomProgram],
) -> serde_json::Value {
    let dir = folder.path().join(RunFolder::attempt(&attempt.step.began_as, attempt.step.attempt));
    let text = |dir: &Path, name: &str| {
        let bytes = std::fs::read(dir.join(name)).unwrap_or_default();
        mask.text(&String::from_utf8_lossy(&bytes)).into_owned()
    };
    let (stdout, stderr) = (text(&dir, "stdout"), text(&dir, "stderr"));
    let transcript = attempt.is_agent.then(|| {
        let mut transcript = Transcript::among(agents);
        let mut lines = transcript.feed(stdout.as_bytes());
        lines.extend(transcript.end());
        lines
    });
    let step = &attempt.step;
    let mut json =
        json!({ "step": step.path, "attempt": step.attempt, "stdout": stdout, "stderr": stderr, "dir": dir });
    if step.dropped_from.is_some() {
        json["dropped"] = json!(true);
    }
    let checks: Vec<_> = checks(folder, attempt)
        .iter()
        .map(|(rule, dir)| json!({ "rule": rule, "stdout": text(dir, "stdout"), "stderr": text(dir, "stderr") }))
        .collect();
    if let Some(transcript) = transcript {
        json["transcript"] = json!(transcript);
    }
    if !checks.is_empty() {
        json["ensure"] = json!(checks);
    }
    json
}

/// The folders of the commands that checked an attempt, each with the number of its rule.
fn checks(folder: &RunFolder, attempt: &Attempt) -> Vec<(usize, PathBuf)> {
    match attempt.is_checked {
        true => folder.checks(&attempt.step.began_as, attempt.step.attempt),
        false => Vec::new(),
    }
}
