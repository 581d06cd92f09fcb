//! Runs that could not start or continue: the messages and the JSON. Never starts anything.

use std::path::Path;

use engine::{
    Outcome,
    failure::{Class, Diagnosis, Facts, Obstacle, diagnose},
};
use recipe::{
    check::Checked,
    diagnostic::{Code, Diagnostic, Severity},
};
use runtime::{os::shell_word::quote, requests::RequestError, run::DriveError, runs::RunError};
use serde_json::{Value as Json, json};

use crate::{
    args::options::{OutputFormat, Places},
    commands::stored_runs::{not_found, unreadable},
    environment::Environment,
    exit::Exit,
    host::{self, StoredRuns},
    load_recipe,
    out::Out,
    report::{
        diagnostics,
        failure::Failure,
        hints::{self, Hints},
        json::ResultJson,
    },
};

/// A request failed, and not because of its recipe or of the run that it names.
pub(crate) fn request_failed(
    error: RequestError,
    runs: &StoredRuns,
    places: &Places,
    environment: &Environment,
) -> Failure {
    match error {
        RequestError::Recipe { recipe, error } => {
            load_recipe::not_found(&load_recipe::library(places, environment), &recipe, error)
        }
        RequestError::Setting(error) => host::unusable(&error),
        RequestError::Run(error) => broken(error, &runs.hints),
        RequestError::Find(error) => not_found(&error, runs),
        RequestError::Open { folder, error } => unreadable(&error, &folder),
        other => Failure::new(Exit::Broken, other.to_string()),
    }
}

/// The runner itself failed.
pub(crate) fn broken(error: RunError, hints: &Hints) -> Failure {
    if let RunError::Busy { owner, state, .. } = &error {
        let run = &owner.run_id;
        return Failure::new(Exit::Conflict, error.to_string())
            .hint(format!("its state: {}", state.display()))
            .hint(format!("look at it: {}", hints.command(&format!("show {run}"))))
            .hint(format!("wait for it: {}", hints.command(&format!("logs {run} -f"))))
            .hint(format!("stop it:    {}", hints.command(&format!("cancel {run}"))))
            .hint("run beside it: add --allow-concurrent");
    }
    let failure = Failure::new(Exit::Broken, error.to_string());
    match error {
        RunError::Drive(DriveError::Audit { .. }) => failure.hint(OTHER_AUDIT_DIR),
        RunError::Stopped { run, dir, error } => {
            let go_on = hints.command(&format!("resume {run}"));
            failure
                .hint(remedy(&error, &dir))
                .hint(format!("completed steps are saved; when this is fixed, resume: {go_on}"))
                .fact("run_id", run)
                .fact("resume_command", go_on)
        }
        RunError::Folder(_) | RunError::Journal(_) => failure.hint(
            "nothing was run: choose another directory with `--state-dir DIR`, or make this one writable",
        ),
        _ => failure.hint(format!(
            "if the run had begun, its completed steps are saved: `{}` lists it, and `resume` continues it",
            hints.command("runs")
        )),
    }
}

const OTHER_AUDIT_DIR: &str = "choose another directory with `--audit-dir DIR`, or make this one writable";

/// The advice for a run that could not continue.
fn remedy(error: &DriveError, dir: &Path) -> String {
    match error {
        DriveError::Audit { .. } => OTHER_AUDIT_DIR.to_owned(),
        DriveError::Journal(_) | DriveError::Folder(_) => format!(
            "its disk may be full, failing or read-only: `df -h {0}` shows how full it is, `df -i {0}` its number of files",
            quote(&dir.to_string_lossy())
        ),
        DriveError::Task(broken) if broken.is_panic() => {
            "this is a bug in the runner, not in the recipe: report it with the message above".to_owned()
        }
        _ => "the machine may lack processes, memory or open files: `ulimit -a` shows the limits".to_owned(),
    }
}

/// Reports a run that could not start or continue.
pub(crate) fn report_missing(failure: &Failure, asked: &str, format: OutputFormat, out: &mut Out) -> Exit {
    report_failure(failure, refusal(asked.to_owned(), failure.exit), format, out)
}

/// Reports a failure; `result` is the JSON for programs.
pub(super) fn report_failure(
    failure: &Failure,
    mut result: Json,
    format: OutputFormat,
    out: &mut Out,
) -> Exit {
    if format == OutputFormat::Json {
        result["error"] = json!(failure.message);
        result["advice"] = json!(failure.hints);
        result["hints"] = json!(failure.hints);
        result["diagnosis"] = json!(match failure.exit {
            Exit::Conflict => failure.diagnosis(),
            Exit::Broken => explained(&failure.message),
            _ => None,
        });
        for (name, value) in &failure.facts {
            result[*name] = json!(value);
        }
        out.json(&result);
    }
    failure.report(out)
}

/// The diagnosis from the system's error message, if it has one.
fn explained(message: &str) -> Option<Diagnosis> {
    let facts = Facts { outcome: Some(Outcome::Exit(1)), stderr: message.to_owned(), ..Facts::default() };
    Some(diagnose(&facts)).filter(|found| found.class != Class::Unknown)
}

pub(crate) fn report_refused(refused: &Checked, asked: &str, format: OutputFormat, out: &mut Out) -> Exit {
    if format == OutputFormat::Json {
        let mut result = refusal(load_recipe::name_of(&refused.sources, asked), Exit::Invalid);
        result["error"] = json!(diagnostics::summary(&refused.diagnostics, &refused.sources));
        result["diagnostics"] = json!(diagnostics::problems(&refused.diagnostics, &refused.sources));
        let waits = |problem: &Diagnostic| matches!(problem.code, Code::LaterStep | Code::GroupDependency);
        let obstacle = match refused.diagnostics.iter().any(waits) {
            true => Obstacle::Deadlock,
            false => Obstacle::InvalidRecipe,
        };
        let first = refused.diagnostics.iter().find(|problem| problem.severity == Severity::Error);
        let what = first.map(|problem| problem.message.as_str()).unwrap_or_default();
        result["diagnosis"] = json!(found(obstacle, what));
        result["advice"] = json!([match first.filter(|problem| problem.place.is_none()) {
            Some(typed) => typed.help.clone().unwrap_or_else(|| "correct the command line".to_owned()),
            None => {
                let command = hints::plain(&format!("validate {}", quote(asked)));
                format!("correct the recipe, then check it: {command}")
            }
        }]);
        out.json(&result);
    }
    Exit::Invalid
}

/// The diagnosis of a run that never started.
fn found(obstacle: Obstacle, detail: &str) -> Diagnosis {
    diagnose(&Facts { obstacle: Some(obstacle), detail: detail.to_owned(), ..Facts::default() })
}

/// The result of a run that never started.
pub(crate) fn refusal(recipe_name: String, exit: Exit) -> Json {
    json!({
        "schema_version": runtime::report::SCHEMA_VERSION,
        "recipe_name": recipe_name,
        "run_id": null,
        "success": false,
        "status": "failed",
        "outcome": if exit == Exit::Broken { "failed" } else { "refused" },
        "exit_code": exit.code(),
        "duration": 0.0,
        "step_results": [],
        "context": {},
        "failure": null,
        "output": "",
        "error": "",
        "stage": "run",
        "diagnostics": [],
        "diagnosis": null,
        "advice": [],
    })
}

/// The stored result of a run that had begun when the runner failed.
pub(super) fn stored_result(failure: &Failure, runs: &StoredRuns) -> Option<Json> {
    let (_, run) = failure.facts.iter().find(|(name, _)| *name == "run_id")?;
    let shown = runs.open(runs.find(run).ok()?).ok()?;
    let mut result = serde_json::to_value(ResultJson(&shown.result(), &runs.hints)).ok()?;
    (result["status"], result["outcome"]) = (json!("failed"), json!("failed"));
    result["exit_code"] = json!(failure.exit.code());
    Some(result)
}
