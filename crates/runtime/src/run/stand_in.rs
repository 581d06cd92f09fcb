//! A stub in place of a whole sub-recipe, which is not entered.

use std::sync::Arc;

use engine::run::{attempt::AttemptResult, cause::Refusal};
use recipe::{test_file::RecipeReply, value::Value};

use super::{DriveError, Driver, start_step::StepStart, tasks::TaskDone};
use crate::{
    os::environment::Environment,
    steps::{
        shell::attempt::read_json,
        stubs::{Played, StubScript},
    },
};

/// Ends a recipe step as its stub says.
pub(super) fn stand_in(
    driver: &mut Driver<'_>,
    start: StepStart,
    reply: RecipeReply,
    script: StubScript,
) -> Result<(), DriveError> {
    let hook = driver.preparer().pre_hook(&start);
    let Some(stubs) = driver.spec.performer.stubs().map(Arc::clone) else { return Ok(()) };
    let cwd = driver.spec.step_dir(&driver.state, start.frame, start.at);
    let cwd = cwd.unwrap_or_else(|_| driver.spec.working_dir.clone());
    let baseline = driver.preparer().baseline(&start.path, &cwd);
    let unit = driver.target(&start.path, start.frame, &start.step).ok().map(|unit| unit.path.clone());
    let env: Arc<Environment> = Arc::new(driver.environment.shared());
    let StepStart { path, attempt, step, .. } = start;
    driver.tasks.start(path.clone(), hook, baseline, move |hook, _| async move {
        Played::new(stubs, script, (cwd, env), None).begun().wait().await;
        match reply {
            RecipeReply::Completed { value, context } => {
                let mut result = AttemptResult::ok();
                match value {
                    Some(value) => read_json(&step, value.render().into_owned(), "recipe", &mut result),
                    None => result.value = Some(Value::from("")),
                }
                result.ended.context = Some(context);
                TaskDone::Attempt { path, attempt, hook, result: Box::new(Ok(result)) }
            }
            RecipeReply::Failed(text) => {
                TaskDone::Checked { path, hook, unit, problem: Some(Refusal::Stub { text }) }
            }
        }
    });
    Ok(())
}
