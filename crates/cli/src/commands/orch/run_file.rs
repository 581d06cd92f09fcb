//! `orch run`: carries out the workstreams of a file with the built-in recipe `parallel-workstreams`.

use std::path::Path;

use recipe::value::Value;
use runtime::runs::WORKSTREAMS;
use serde_json::Value as Json;

use crate::{
    args::{RunArgs, orch::RunFileArgs},
    commands::run,
    environment::Environment,
    exit::Exit,
    load_recipe,
    out::Out,
    report::failure::Failure,
};

/// Runs the workstreams of a file.
pub(crate) fn run_file(args: RunFileArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let mut run = args.run.of(WORKSTREAMS);
    let list = listed(&environment.absolute(&args.file), &run, environment)?;
    run.given.push(("workstreams".to_owned(), Value::from(Json::Array(list))));
    run::run(run, environment, out)
}

/// The entries of the file. Recipes are found as the command line finds them.
fn listed(file: &Path, run: &RunArgs, environment: &Environment) -> Result<Vec<Json>, Failure> {
    let shown = file.display();
    let wrong = |why: String| Failure::new(Exit::BadArguments, format!("`{shown}` {why}"));
    let text = std::fs::read_to_string(file).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    let json: Json = serde_json::from_str(&text).map_err(|error| wrong(format!("is not JSON: {error}")))?;
    let Json::Array(mut list) = json else { return Err(wrong("has no list of workstreams".to_owned())) };
    let problems: Vec<String> =
        list.iter().enumerate().flat_map(|(at, entry)| problems(at + 1, entry)).collect();
    if !problems.is_empty() {
        return Err(wrong(format!("cannot be used: {}", problems.join("; "))));
    }
    let library = load_recipe::library(&run.reading.places, environment);
    for entry in &mut list {
        let found = entry["recipe"].as_str().and_then(|name| library.root(name).ok());
        if let Some(found) = found.filter(|found| !found.path.starts_with("built-in:")) {
            entry["recipe"] = library.absolute(&found.path).to_string_lossy().into_owned().into();
        }
    }
    Ok(list)
}

/// What is wrong with an entry.
fn problems(number: usize, entry: &Json) -> Vec<String> {
    let Json::Object(members) = entry else { return vec![format!("entry {number} is not an object")] };
    let mut found = Vec::new();
    for name in ["branch", "description", "task", "recipe"] {
        if members.get(name).is_some_and(|value| !value.is_string() && !value.is_null()) {
            found.push(format!("`{name}` of entry {number} is not text"));
        }
    }
    let text = |name: &str| members.get(name).and_then(Json::as_str).unwrap_or_default().trim().to_owned();
    if text("task").is_empty() && text("description").is_empty() {
        found.push(format!("entry {number} has no `task` and no `description`"));
    }
    let is_issue = |issue: &Json| match issue {
        Json::Null => true,
        Json::Number(number) => number.is_u64(),
        Json::String(text) => {
            let text = text.trim().trim_start_matches('#');
            text.is_empty()
                || text.eq_ignore_ascii_case("tbd")
                || text.bytes().all(|byte| byte.is_ascii_digit())
        }
        _ => false,
    };
    if !members.get("issue").is_none_or(is_issue) {
        found.push(format!("`issue` of entry {number} is not a number, \"TBD\" or null"));
    }
    found
}
