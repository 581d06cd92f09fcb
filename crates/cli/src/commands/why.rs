//! `why`: why a step of a run ran, was skipped, kept or re-run. Reads the journal and changes nothing.

use engine::{
    Event,
    why::{ConditionFact, Differences, NOT_RECORDED, StepCircumstances, StepFate, WhyStep},
};
use runtime::runs::OpenedRun;
use serde_json::json;

use super::stored_runs::{find, runs_at, unreadable};
use crate::{
    args::{options::OutputFormat, stored::WhyArgs},
    environment::Environment,
    exit::Exit,
    host::StoredRuns,
    out::Out,
    report::{
        failure::{Failure, clean},
        table::local,
    },
};

/// Says why.
pub(crate) fn why(args: &WhyArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let format = args.format.output_format;
    let runs = runs_at(args.state.state_dir.as_deref(), environment)
        .map_err(|failure| failure.announce(format, out))?;
    tell(args, &runs, out).map_err(|failure| failure.announce(format, out))
}

fn tell(args: &WhyArgs, runs: &StoredRuns, out: &mut Out) -> Result<Exit, Failure> {
    let run = open(runs, &args.run)?;
    out.hide(&run.mask);
    let path = run.state.named(&args.step).or_else(|| planned(&run, &args.step));
    let Some(path) = path else { return Err(unknown_step(&run, &args.step)) };
    let found = runs.why(&run, &path).map_err(|error| unreadable(&error, &run.folder))?;
    let other = match &args.against {
        None => None,
        Some(asked) => {
            let other = open(runs, asked)?;
            out.hide(&other.mask);
            let compared = runs.compare_step((&run, &path), &other);
            Some((other.folder.id(), compared.map_err(|error| unreadable(&error, &other.folder))?))
        }
    };
    match args.format.output_format {
        OutputFormat::Json => {
            let mut json = json!(found);
            json["run_id"] = run.folder.id().into();
            json["step"] = path.clone().into();
            if let Some((id, differences)) = &other {
                json["against"] = json!({ "run_id": id, "differences": differences });
            }
            out.json(&json);
        }
        OutputFormat::Text => {
            out.result(&clean(&found.summary));
            let mut lines = details(&run, &found);
            if let Some((id, differences)) = &other {
                lines.push(format!("compared with run {id}:"));
                lines.extend(match differences {
                    Some(differences) => difference_lines(differences),
                    None => vec!["  one of the runs has not come to this step".to_owned()],
                });
            }
            if !lines.is_empty() {
                out.result(&clean(&lines.join("\n")));
            }
        }
    }
    Ok(Exit::Success)
}

fn open(runs: &StoredRuns, asked: &str) -> Result<OpenedRun, Failure> {
    let folder = find(runs, asked)?;
    runs.open(folder.clone()).map_err(|error| unreadable(&error, &folder))
}

/// A step of the main recipe that the run has not come to.
fn planned(run: &OpenedRun, step: &str) -> Option<String> {
    run.plan.root().steps.iter().find(|known| known.id == step).map(|known| known.id.clone())
}

fn unknown_step(run: &OpenedRun, step: &str) -> Failure {
    let message = format!("step `{step}` not found in run `{}`", run.folder.id());
    let known: Vec<&str> = run.plan.root().steps.iter().map(|step| step.id.as_str()).collect();
    let failure = Failure::new(Exit::NotFound, message);
    match recipe::diagnostic::did_you_mean(step, known.iter().copied()) {
        Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
        None => failure.hint(format!("steps of the recipe: {}", known.join(", "))),
    }
}

fn details(run: &OpenedRun, found: &WhyStep) -> Vec<String> {
    let mut lines = Vec::new();
    match &found.circumstances {
        Some(seen) => lines.extend(circumstance_lines(seen)),
        None if found.fate == StepFate::NotReached => {}
        None => lines.push(format!("  condition, tags, dependencies: {NOT_RECORDED}")),
    }
    for attempt in &found.attempts {
        let error = attempt.error.as_deref().unwrap_or("succeeded");
        let then = match attempt.retried_after_ms {
            None => String::new(),
            Some(0) => "; tried again at once".to_owned(),
            Some(ms) => format!("; tried again after {} s", ms as f64 / 1000.0),
        };
        lines.push(format!("  attempt {}: {error}{then}", attempt.attempt));
    }
    if found.fate == StepFate::Rerun
        && let Some(differences) = &found.differences
    {
        lines.push("different from the time before:".to_owned());
        lines.extend(difference_lines(differences));
    }
    if matches!(found.fate, StepFate::Rerun | StepFate::Kept) {
        lines.extend(last_resume(run));
    }
    lines
}

fn circumstance_lines(seen: &StepCircumstances) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(seen.condition.as_ref().map(condition_line));
    for read in seen.condition.iter().flat_map(|condition| &condition.read) {
        lines.push(format!("    `{}` was {}", read.name, read.value));
    }
    lines.extend(seen.when.map(|when| format!("  when: {when}")));
    if !seen.tags.is_empty() {
        let asked = |tags: &[String]| if tags.is_empty() { "none".to_owned() } else { tags.join(", ") };
        lines.push(format!(
            "  tags: {} (included: {}; excluded: {})",
            seen.tags.join(", "),
            asked(&seen.include_tags),
            asked(&seen.exclude_tags)
        ));
    }
    for needed in &seen.depends_on {
        lines.push(format!("  depends on `{}`, which was {}", needed.step, needed.status));
    }
    lines
}

fn condition_line(condition: &ConditionFact) -> String {
    let held = match condition.held {
        Some(true) => "true",
        Some(false) => "false",
        None => "an error",
    };
    format!("  condition `{}` was {held}", condition.text)
}

fn difference_lines(found: &Differences) -> Vec<String> {
    let listed = |names: &Option<Vec<String>>| match names {
        None => NOT_RECORDED.to_owned(),
        Some(names) if names.is_empty() => "the same".to_owned(),
        Some(names) => names.join(", "),
    };
    let mut lines = vec![format!("  definition: {}", listed(&found.definition))];
    if let Some(is_other) = found.agent_file {
        lines.push(format!("  agent file: {}", if is_other { "changed" } else { "the same" }));
    }
    match &found.inputs {
        None => lines.push(format!("  inputs: {NOT_RECORDED}")),
        Some(inputs) if inputs.is_empty() => lines.push("  inputs: the same".to_owned()),
        Some(inputs) => {
            for input in inputs {
                lines.push(format!("  input `{}`: {} before, now {}", input.name, input.before, input.after));
            }
        }
    }
    if let Some(produced) = found.produced.as_ref().filter(|produced| !produced.is_empty()) {
        lines.push(format!("  produced files: {}", produced.join(", ")));
    }
    lines
}

/// How the run was resumed last.
fn last_resume(run: &OpenedRun) -> Option<String> {
    let resumes = run.records.iter().rev().filter_map(|record| match &record.event {
        Event::RunResumed(resumed) => Some((record.at, resumed)),
        _ => None,
    });
    let (at, resumed) = { resumes }.next()?;
    let by = match resumed.by.as_deref() {
        Some("auto_fix") => "by auto-fix",
        Some(_) => "by a person",
        None => NOT_RECORDED,
    };
    let given: Vec<&str> = resumed.given.iter().map(|(name, _)| name.as_str()).collect();
    let with =
        if given.is_empty() { String::new() } else { format!(" with new values for {}", given.join(", ")) };
    Some(format!("  resumed {by}{with}, {}", local(at)))
}
