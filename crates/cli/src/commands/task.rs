//! `do`: runs the built-in `smart-orchestrator` for a task in plain words.

use std::io::Read as _;

use recipe::value::Value;
use runtime::runs::ORCHESTRATOR;

use super::run;
use crate::{
    args::task::DoArgs,
    environment::Environment,
    exit::Exit,
    load_recipe,
    out::Out,
    report::{failure::Failure, hints::plain},
};

/// The name of the recipe, as users write it.
const NAME: &str = "smart-orchestrator";

/// Has a task done.
pub(crate) fn perform(args: DoArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let DoArgs { words, plan, task: options, run: rest } = args;
    let task = task(&words, environment)?;
    let library = load_recipe::library(&rest.reading.places, environment);
    if let Some(other) = library.root(NAME).ok().filter(|found| found.path != ORCHESTRATOR) {
        out.notice(&format!(
            "`{}` is another recipe of the name {NAME}; `do` uses the built-in one. To run yours: {}",
            other.path,
            plain(&format!("{NAME} --set task_description=…"))
        ));
    }
    let mut run = rest.of(ORCHESTRATOR);
    let review = run.options.review_agent.clone().map(|agent| ("review_agent", agent));
    run.given.push(("task_description".to_owned(), Value::text(task)));
    let values = options.values().into_iter().chain(review);
    run.given.extend(values.map(|(name, value)| (name.to_owned(), Value::text(value))));
    run.given.extend(plan.then(|| ("plan_only".to_owned(), Value::from(true))));
    run::run(run, environment, out)
}

/// The words of the task, or what stdin has.
fn task(words: &[String], environment: &Environment) -> Result<String, Failure> {
    let is_stdin = words == ["-"] || (words.is_empty() && !environment.stdin_is_terminal);
    if !is_stdin {
        return match words.is_empty() {
            true => Err(no_task()),
            false => Ok(words.join(" ")),
        };
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin().read_to_end(&mut bytes);
    read.map_err(|error| Failure::new(Exit::BadArguments, format!("stdin cannot be read: {error}")))?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    match text.is_empty() && words.is_empty() {
        true => Err(no_task()),
        false => Ok(text),
    }
}

fn no_task() -> Failure {
    let example = plain("do \"Add a --json flag to the list command\"");
    Failure::new(Exit::BadArguments, "no task given").hint(format!("write it in plain words: `{example}`"))
}
