//! A stub in place of a whole sub-recipe, which is not entered.

use std::sync::Arc;

use engine::run::{attempt::AttemptResult, cause::Refusal};
use recipe::{test_file::RecipeReply, value::Value};

use super::{DriveError, Driver, start_step::StepStart, tasks::TaskDone};
use crate::{
    os::environment::Environment,
    steps::{
        shell::attempt::read_json,
        stubs::{Played, Script},
    },
};

impl Driver<'_> {
    /// Ends a recipe step as its stub says.
    pub(super) fn stand_in(
        &mut self,
        start: StepStart,
        reply: RecipeReply,
        script: Script,
    ) -> Result<(), DriveError> {
        let hook = self.preparer().pre_hook(&start);
        let Some(stubs) = self.spec.performer.stubs().map(Arc::clone) else { return Ok(()) };
        let cwd = self.spec.step_dir(&self.state, start.frame, start.at);
        let cwd = cwd.unwrap_or_else(|_| self.spec.working_dir.clone());
        let baseline = self.preparer().baseline(&start.path, &cwd);
        let unit = self.target(&start.path, start.frame, &start.step).ok().map(|unit| unit.path.clone());
        let env: Arc<Environment> = Arc::new(self.environment.shared());
        let StepStart { path, attempt, step, .. } = start;
        self.tasks.start(path.clone(), hook, baseline, move |hook, _| async move {
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
}
