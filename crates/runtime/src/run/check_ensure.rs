//! The proof of a step: the state of files before it, and the check of its rules after it. Decides nothing about the
//! step.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use engine::run::{cause::Refusal, ensure::conditions_hold};
use recipe::{
    plan::{EnsureKind, EnsureRule, Step, StepKind},
    scope::Scope,
    template::Template,
};

use super::{DriveError, Driver, preparer::Preparer, start_step::StepStart, tasks::TaskDone};
use crate::{
    os::{environment::Environment, process::Marker},
    steps::{
        ensure::{
            Baseline, ChangeRule, CheckCommand, ComparedFiles, EnsureTask, FilePattern, RuleTask, unmet,
        },
        shell::{
            attempt::{Command, Progress},
            export::own_room,
            script::{ScriptError, ScriptSource},
        },
        spawn::SpawnContext,
    },
    store::{
        folder::{RunFolder, make_dir},
        workspace::Workspace,
    },
};

impl Driver<'_> {
    /// Checks the rules of a step whose work is done.
    pub(super) fn check_ensure(&mut self, path: String, attempt: u32) -> Result<(), DriveError> {
        let Some(start) = StepStart::new(&self.state, path, attempt) else { return Ok(()) };
        self.state.frames[start.frame].bind(start.at);
        let task = self.preparer().ensure_task(&start)?;
        let StepStart { path, .. } = start;
        let go = self.tasks.stop_signal(&path);
        let progress = self.tasks.progress.0.clone();
        let what = "checks its `ensure` rules".to_owned();
        // fails only when the run is over
        let _ = progress.send(Progress::Activity { path: path.clone(), what });
        self.tasks.set.spawn(async move {
            match task.check(go, progress).await {
                Ok(end) => TaskDone::Ensured { path, attempt, end },
                Err(error) => TaskDone::Broken(error),
            }
        });
        Ok(())
    }
}

impl Preparer<'_, '_> {
    /// The state of files before a step, if one of its rules needs it. `cwd` is the directory of the step.
    pub(super) fn baseline(&self, path: &str, cwd: &Path) -> Option<Baseline> {
        let (frame, at) = self.state.locate(path)?;
        let frame = &self.state.frames[frame];
        let (step, scope) = (&frame.unit.steps[at], frame.scope(at));
        if !step.ensure.iter().any(EnsureRule::compares_files) {
            return None;
        }
        let patterns = step.ensure.iter().flat_map(EnsureRule::patterns);
        let run = self.store.dir();
        let own = [run.parent().map(Path::to_owned), run.parent().and_then(Path::parent).map(Workspace::all)];
        let own = own.into_iter().flatten().chain(self.spec.options.audit_dir.clone());
        let real = |path: PathBuf| fs::canonicalize(&path).unwrap_or(path);
        let cwd = real(cwd.to_owned());
        let files = ComparedFiles {
            env: self.environment.shared(),
            // a pattern without a meaning is reported by its rule
            patterns: patterns
                .filter_map(|pattern| FilePattern::rendered(&cwd, pattern, &scope).ok())
                .collect(),
            own: own.map(real).collect(),
            cwd,
        };
        Some(Baseline { file: run.join(RunFolder::step(path)).join("baseline.json"), files })
    }

    fn ensure_task(&mut self, start: &StepStart) -> Result<EnsureTask, DriveError> {
        let StepStart { ref path, attempt, frame, at, ref step, .. } = *start;
        let dir = self.spec.step_dir(self.state, frame, at);
        let mut rules = Vec::with_capacity(step.ensure.len());
        for (number, rule) in step.ensure.iter().enumerate() {
            rules.extend(match &dir {
                Ok(cwd) => self.rule_task(start, (number + 1, rule), cwd)?,
                Err(refusal) => self.without_directory(start, rule, refusal),
            });
        }
        let is_there = dir.is_ok();
        let cwd = dir.unwrap_or_default();
        let asked = self.spec.options.step_timeout;
        Ok(EnsureTask {
            run: self.store.dir(),
            baseline: is_there.then(|| self.baseline(path, &cwd)).flatten(),
            cwd,
            secret: self.secret_paths(step),
            staged: self.staged_in(path, step),
            rules,
            timeout: match step.kind {
                StepKind::Nested { .. } => step.timeout,
                _ => step.timeout_beside(asked),
            },
            grace: self.spec.host.grace,
            performer: self.spec.performer.clone(),
            starter: SpawnContext {
                path: path.clone(),
                attempt,
                purpose: Some(RunFolder::CHECK),
                prompt: None,
            },
        })
    }

    /// The environment for staging the work of an agent step, if it is staged once its rules are met.
    fn staged_in(&self, path: &str, step: &Step) -> Option<Environment> {
        let StepKind::Agent(agent) = &step.kind else { return None };
        let is_staged = self.spec.stages(agent) && conditions_hold(self.state, path);
        is_staged.then(|| self.environment.shared())
    }

    /// The paths in conditions whose values are secret.
    fn secret_paths(&self, step: &Step) -> Vec<String> {
        let conditions = step.ensure.iter().filter_map(|rule| match rule {
            EnsureRule::Condition(condition) => Some(condition),
            _ => None,
        });
        let paths = conditions.flat_map(|condition| condition.names()).map(|(path, _)| path);
        let is_secret = |path: &recipe::scope::Path| {
            self.mask.is_secret(&path.to_string()) || path.names().any(|name| self.mask.is_secret(&name))
        };
        paths.filter(is_secret).map(|path| path.to_string()).collect()
    }

    /// What has to be done for a rule; the engine decides conditions.
    fn rule_task(
        &mut self,
        start: &StepStart,
        (number, rule): (usize, &EnsureRule),
        cwd: &Path,
    ) -> Result<Option<RuleTask>, DriveError> {
        Ok(Some(match rule {
            EnsureRule::File(file) => {
                let Some(scope) = self.state.after_step(&start.path) else { return Ok(None) };
                match FilePattern::rendered(cwd, file, &scope) {
                    Ok(pattern) => RuleTask::File(file.render(&scope), pattern),
                    Err(why) => RuleTask::Impossible(unmet(rule, &scope, why)),
                }
            }
            EnsureRule::Command(command) => {
                return self.command_task(start, (number, command), cwd).map(Some);
            }
            EnsureRule::Condition(_) => return Ok(None),
            rule => {
                let scope = self.state.frames[start.frame].scope(start.at);
                let real = fs::canonicalize(cwd).unwrap_or_else(|_| cwd.to_owned());
                match ChangeRule::new(rule, &real, &scope) {
                    Ok(rule) => RuleTask::Changes(rule),
                    Err(check) => RuleTask::Impossible(check),
                }
            }
        }))
    }

    /// The result of a rule if the directory of the step is gone; conditions need none.
    fn without_directory(&self, start: &StepStart, rule: &EnsureRule, refusal: &Refusal) -> Option<RuleTask> {
        let scope = self.state.after_step(&start.path)?;
        let check = unmet(rule, &scope, format!("that the {refusal}"));
        (rule.kind() != EnsureKind::Condition).then_some(RuleTask::Impossible(check))
    }

    fn command_task(
        &mut self,
        start: &StepStart,
        (number, template): (usize, &Template),
        cwd: &Path,
    ) -> Result<RuleTask, DriveError> {
        let StepStart { ref path, attempt, frame, at, ref step, .. } = *start;
        let dir = RunFolder::check(path, attempt, number);
        make_dir(&self.store.dir().join(&dir))?;
        let (own, large) = own_room(self.own_env(frame, at));
        let lineage = self.state.lineage(frame);
        let after = self.state.after_step(path);
        let scope: &dyn Scope = match &after {
            Some(after) => after,
            None => &self.state.frames[frame],
        };
        let max_value = step.max_env_value_bytes;
        let shell = self.state.frames[frame].unit.shell;
        let source =
            ScriptSource { command: template, scope, lineage: &lineage, max_value, shell, own: large };
        let script = match self.store.script(source, &dir) {
            Ok(script) => script,
            Err(ScriptError::Folder(error)) => return Err(error.into()),
            Err(ScriptError::Refused(refusal)) => {
                let rule = EnsureRule::Command(template.clone());
                return Ok(RuleTask::Impossible(unmet(&rule, scope, format!("that {refusal}"))));
            }
        };
        let env = Arc::new(self.step_env(frame, at, &dir, (script.env, script.share), own)?);
        let marker = Marker { run: self.spec.run_id.clone(), step: format!("{path}#{}", RunFolder::CHECK) };
        let command = Command::shell(script.args, env, cwd.to_owned(), &dir, marker);
        Ok(RuleTask::Command(Box::new(CheckCommand { text: template.text().to_owned(), command })))
    }
}
