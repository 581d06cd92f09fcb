//! The workstreams that an agent names: how many there are, and a file with them for a step.

use engine::{
    branch_name::slug,
    orchestration::{
        RoutedWorkstream, SplitLimits, TaskType, WholeTask, Workflows, said_workstreams, split_task,
    },
};
use recipe::value::Value;
use runtime::store::{folder::RunFolder, step_file};
use serde_json::json;

use super::helper::task_type;
use crate::{args::compat::SplitArgs, environment::Environment, exit::Exit, report::failure::Failure};

/// The workstreams in an answer; one for the whole task if there are none.
pub(super) fn workstreams(text: &str, args: &SplitArgs) -> Vec<RoutedWorkstream> {
    let list = || recipe::json::extract(text).filter(|value| matches!(value, Value::List(_)));
    let answer = recipe::json::last_object(text).filter(|object| object.has_member("workstreams"));
    let answer = answer.or_else(list).or_else(|| recipe::json::last_object(text)).unwrap_or(Value::Null);
    let member = |name: &str| match &answer {
        Value::Map(members) => members.get(name).map(|value| value.render().trim().to_owned()),
        _ => None,
    };
    let task_type = member("task_type").as_deref().map_or(TaskType::Development, task_type);
    let description = member("goal").unwrap_or_default();
    let is_single = args
        .force_single
        .as_deref()
        .is_some_and(|said| matches!(said.trim().to_ascii_lowercase().as_str(), "true" | "yes" | "1"));
    let limits = SplitLimits { force_single: is_single, most: usize::MAX, has_git: true };
    let whole = WholeTask { task_type, description: &description };
    split_task(whole, &said_workstreams(&answer), limits, &Workflows::default()).workstreams
}

/// Writes the workstreams into a private file of the run, and returns its path.
pub(super) fn config_file(
    workstreams: &[RoutedWorkstream],
    environment: &Environment,
) -> Result<String, Failure> {
    let dir = environment.get("RECIPE_RUNNER_RUN_DIR").map(|dir| RunFolder::at(dir.into()));
    let Some(folder) = dir.filter(RunFolder::is_run) else {
        return Err(Failure::new(Exit::BadArguments, "this call works only inside a run: a step starts it"));
    };
    let entries: Vec<_> = workstreams.iter().enumerate().map(|(at, stream)| entry(at + 1, stream)).collect();
    let text = serde_json::Value::from(entries).to_string();
    let file = step_file::write(&folder, "workstreams", "json", text.as_bytes());
    let file = file.map_err(|error| Failure::new(Exit::Broken, error.to_string()))?;
    Ok(file.display().to_string())
}

fn entry(number: usize, stream: &RoutedWorkstream) -> serde_json::Value {
    let slug = slug(&stream.name).unwrap_or_else(|| "task".to_owned());
    let recipe = match stream.classification {
        TaskType::Investigation => Workflows::default().investigation,
        _ => Workflows::default().development,
    };
    json!({
        "issue": "TBD",
        "branch": format!("feat/orch-{number}-{slug}"),
        "description": stream.name,
        "task": stream.description,
        "recipe": recipe,
    })
}
