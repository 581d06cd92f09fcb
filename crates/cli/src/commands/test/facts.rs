//! From what came of a case to the facts that expectations are compared with.

use std::{fs, path::Path};

use engine::{
    Event,
    expectations::{CaseFacts, FileFact, StepFact},
};
use recipe::{digest::sha256, test_file::Expectations, value::Value};
use runtime::recipe_tests::{CaseEnd, CaseRun};
use serde_json::Value as Json;

/// The largest file whose contents are compared.
const LARGEST: u64 = 4 << 20;

/// The facts of a case; `None` if its run never came to an end.
pub(super) fn facts(run: &CaseRun, expect: &Expectations) -> Option<CaseFacts> {
    let work = run.scratch.work();
    let about_run = match run.ended.as_ref()? {
        CaseEnd::Result(result) => of_result(result),
        CaseEnd::Failure { exit, message } => CaseFacts {
            exit: i32::from(*exit),
            status: "failed".to_owned(),
            outcome: "failed".to_owned(),
            error: Some(message.clone()),
            ..CaseFacts::default()
        },
    };
    Some(CaseFacts {
        started: started(run),
        calls: run.calls.iter().map(|call| call.path.clone()).collect(),
        prompts: run.prompts().map(|(path, prompt)| (path.to_owned(), prompt.to_owned())).collect(),
        commands: run.commands.clone(),
        files: files(&work, expect, &run.changed),
        changed: run.changed.clone(),
        scratch: run.scratch.path().to_string_lossy().into_owned(),
        ..about_run
    })
}

/// The facts of the result as a run prints it.
fn of_result(result: &Json) -> CaseFacts {
    let text = |value: &Json| value.as_str().map(str::to_owned);
    let mut steps = Vec::new();
    collect(&result["step_results"], &mut steps);
    CaseFacts {
        exit: result["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or(-1),
        status: text(&result["status"]).unwrap_or_default(),
        outcome: text(&result["outcome"]).unwrap_or_default(),
        goal: text(&result["orchestration"]["goal_status"]),
        steps,
        context: match Value::from_json(&result["context"].to_string()) {
            Ok(Value::Map(context)) => {
                context.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
            }
            _ => recipe::value::Map::new(),
        },
        output: text(&result["output"]).unwrap_or_default(),
        error: text(&result["failure"]["error"]),
        diagnosis: text(&result["diagnosis"]["class"]),
        ..CaseFacts::default()
    }
}

fn collect(results: &Json, steps: &mut Vec<StepFact>) {
    for result in results.as_array().into_iter().flatten() {
        let text = |name: &str| result[name].as_str().unwrap_or_default().to_owned();
        let attempts = result["attempts"].as_u64().and_then(|count| u32::try_from(count).ok()).unwrap_or(0);
        steps.push(StepFact { path: text("path"), status: text("status"), attempts });
        collect(&result["steps"], steps);
    }
}

/// The paths of the steps in the order of their first starts.
fn started(run: &CaseRun) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for record in &run.events {
        if let Event::StepStarted { path, .. } = &record.event
            && !paths.contains(path)
        {
            paths.push(path.clone());
        }
    }
    paths
}

/// What is at the paths that expectations name, and at those that changed.
fn files(work: &Path, expect: &Expectations, changed: &[String]) -> Vec<(String, FileFact)> {
    let mut paths: Vec<&String> = expect.files.iter().map(|(path, _)| path).chain(changed).collect();
    paths.sort();
    paths.dedup();
    paths.into_iter().map(|path| (path.clone(), file(&work.join(path)))).collect()
}

fn file(path: &Path) -> FileFact {
    let Ok(data) = fs::symlink_metadata(path) else { return FileFact::Absent };
    if data.is_symlink() && !path.exists() {
        let target = fs::read_link(path).map(|target| target.to_string_lossy().into_owned());
        return FileFact::Text(format!("(link to {})", target.unwrap_or_default()));
    }
    let Ok(data) = fs::metadata(path) else { return FileFact::Absent };
    if data.is_dir() {
        return FileFact::Folder;
    }
    if !data.is_file() || data.len() > LARGEST {
        return FileFact::Bytes(format!("{} bytes", data.len()));
    }
    match fs::read(path).map(String::from_utf8) {
        Ok(Ok(text)) => FileFact::Text(text),
        Ok(Err(bytes)) => FileFact::Bytes(sha256(bytes.as_bytes())),
        Err(error) => FileFact::Text(format!("(cannot be read: {error})")),
    }
}
