//! Starts steps: their directory, their environment, and the process or recipe that does the work.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
};

use engine::{
    Outcome, RunState,
    run::{
        actions::{Happening, HookKind},
        frame::FrameId,
    },
};
use recipe::{
    plan::{Step, StepKind},
    template::Template,
    value::Value,
};

use super::{DriveError, Driver, tasks::TaskDone};
use crate::{
    machine::missing_tool::Lookup,
    os::{
        environment::Environment,
        process::{Marker, Stdin},
    },
    steps::{
        ensure::Baseline,
        output_files::OutputFiles,
        shell::{
            attempt::{Command, Quoted, SHELL, ShellTask, run_shell},
            context_file::Sharing,
            export::{Share, own_room},
            script::{self, ScriptSource},
        },
        spawn::{SpawnContext, spawn_report},
    },
    store::folder::{FolderError, RunFolder},
};

/// An attempt at a step that begins now.
#[derive(Clone)]
pub(super) struct StepStart {
    pub(super) path: String,
    pub(super) attempt: u32,
    pub(super) frame: FrameId,
    pub(super) at: usize,
    pub(super) step: Arc<Step>,
    /// Whether the hook before the step runs first.
    pub(super) pre_hook: bool,
    /// The model to use instead of that of the step.
    pub(super) model: Option<String>,
}

impl StepStart {
    pub(super) fn new(state: &RunState, path: String, attempt: u32) -> Option<StepStart> {
        let (frame, at) = state.locate(&path)?;
        let step = Arc::clone(&state.frames[frame].unit.steps[at]);
        Some(StepStart { path, attempt, frame, at, step, pre_hook: false, model: None })
    }
}

impl Driver<'_> {
    /// Starts the work of a step.
    pub(super) fn start(&mut self, start: StepStart) -> Result<(), DriveError> {
        let step = Arc::clone(&start.step);
        self.state.frames[start.frame].bind(start.at);
        if self.state.settings.dry_run {
            return self.rehearse(&start.path, (start.frame, start.at), &step);
        }
        match &step.kind {
            StepKind::Nested { .. } => self.start_nested(start),
            StepKind::Shell { command } => self.start_shell(start, command),
            StepKind::Agent(agent) => self.start_agent(start, agent),
            StepKind::Ask(_) => self.start_ask(start),
        }
    }

    /// The environment of a step: the common variables, the exported values, and the step's own.
    pub(super) fn step_env(
        &mut self,
        frame: FrameId,
        at: usize,
        dir: &Path,
        (exported, share): (Vec<(String, String)>, Share),
        own: Vec<(String, String)>,
    ) -> Result<Environment, FolderError> {
        let file = self.store.dir().join(dir).join("context.json");
        let sharing = if self.state.runs_beside_others(frame, at) { Sharing::Beside } else { Sharing::Alone };
        self.store.hand_out_context(frame, &self.state.frames[frame], &file, sharing)?;
        let mut env = Environment::shared(Arc::clone(&self.environment.variables));
        if !share.is_whole {
            // a value that does not fit must not be replaced by an inherited one
            let hidden = self.environment.of_context.entry(frame).or_default();
            env.hide(hidden.update(&self.state.frames[frame], &self.environment.variables).clone());
        }
        env.extend(exported);
        env.extend(context_names(&file));
        env.extend(own);
        Ok(env)
    }

    /// The `env` of a step and of the recipe steps around it. Its secrets are masked from now on.
    pub(super) fn own_env(&mut self, frame: FrameId, at: usize) -> Vec<(String, String)> {
        let own = declared_env(&self.state, frame, at);
        for (name, value) in &own {
            self.mask.learn_value(name, &Value::from(value.as_str()));
        }
        self.show_secrets();
        own
    }

    fn start_shell(&mut self, start: StepStart, command: &Template) -> Result<(), DriveError> {
        let StepStart { ref path, attempt, frame, at, ref step, .. } = start;
        let cwd = match self.spec.step_dir(&self.state, frame, at) {
            Ok(cwd) => cwd,
            Err(refusal) => {
                self.tasks.refuse(path, attempt, "bash", Outcome::Refused(refusal));
                return Ok(());
            }
        };
        let dir = RunFolder::attempt(path, attempt);
        let outputs = self.store.prepared.become_attempt(&dir, attempt)?;
        let private = self.store.dir().join(&dir).join("private");
        let (own, large) = own_room(self.own_env(frame, at));
        let lineage = self.state.lineage(frame);
        let source = ScriptSource {
            command,
            scope: &self.state.frames[frame],
            lineage: &lineage,
            max_value: step.max_env_value_bytes,
            shell: step.shell,
            own: large,
        };
        let script = match script::prepare(source, &private, &self.store.large) {
            Ok(script) => script,
            Err(script::ScriptError::Folder(error)) => return Err(error.into()),
            Err(script::ScriptError::Refused(refusal)) => {
                self.tasks.refuse(path, attempt, "bash", Outcome::Refused(refusal));
                return Ok(());
            }
        };
        self.note_left_out(path, frame, script.share);
        if script.has_files {
            self.store.prepared.note_private(&dir);
        }
        let env = Arc::new(self.step_env(frame, at, &dir, (script.env, script.share), own)?);
        let command = Command {
            program: SHELL.into(),
            args: script.args.into_iter().map(Into::into).collect(),
            env,
            cwd,
            stdin: Stdin::Null,
            stdout: dir.join("stdout"),
            stderr: dir.join("stderr"),
            marker: Marker { run: self.spec.run_id.clone(), step: format!("{path}#{attempt}") },
        };
        self.launch_shell(start, command, dir, outputs)
    }

    /// Starts the command of a bash step, after the hook before the step.
    fn launch_shell(
        &mut self,
        start: StepStart,
        command: Command,
        dir: PathBuf,
        outputs: OutputFiles,
    ) -> Result<(), DriveError> {
        let StepStart { path, attempt, frame, at, step, pre_hook, .. } = start;
        let run = self.store.dir();
        let starter = SpawnContext { path: path.clone(), attempt, purpose: None, prompt: None };
        let report = spawn_report(&command, starter, self.tasks.progress.0.clone());
        let lookup = Lookup { cwd: command.cwd.clone(), env: Arc::clone(&command.env) };
        let prepared = command.prepare(&outputs)?;
        if self.reporter.wants_output() {
            let is_secret = step.store.as_deref().is_some_and(|name| self.mask.is_secret(name));
            self.shown.follow(&path, &step, &run.join(&dir), &outputs, is_secret);
        }
        let task = ShellTask {
            run,
            timeout: step.timeout_beside(self.spec.options.step_timeout),
            step,
            dir,
            outputs,
            grace: self.spec.host.grace,
            quoted: Quoted::by(&self.spec.host),
            lookup,
        };
        let hook = pre_hook.then(|| self.hook(frame, at, HookKind::PreStep)).flatten();
        let baseline = self.baseline(&path, &task.lookup.cwd);
        let go = self.tasks.stop_signal(&path);
        self.tasks.set.spawn(async move {
            let hook = match hook {
                Some(hook) => Some(hook.run(go.clone()).await),
                None => None,
            };
            if let Some(Err(error)) = taken(baseline).await {
                return TaskDone::Broken(error);
            }
            let result = Box::new(run_shell(task, prepared, go, report).await);
            TaskDone::Attempt { path, attempt, hook, result }
        });
        Ok(())
    }

    /// Notes once that the context does not fit into an environment.
    pub(super) fn note_left_out(&mut self, path: &str, frame: FrameId, share: Share) {
        if share.is_whole || std::mem::replace(&mut self.noted_left_out, true) {
            return;
        }
        let left_out = share.left_out(&self.state.frames[frame]);
        let message = format!(
            "the context is too large for an environment: {left_out} values are not exported to this step, except those that its command names; $RECIPE_CONTEXT_FILE has all of them"
        );
        self.pending_notes.push((path.to_owned(), message));
    }

    fn start_nested(&mut self, start: StepStart) -> Result<(), DriveError> {
        let StepStart { path, frame, at, ref step, .. } = start;
        let (unit, problem) = match self.target(&path, frame, step) {
            Ok(unit) => {
                let problem = self
                    .spec
                    .step_dir(&self.state, frame, at)
                    .err()
                    .or_else(|| self.entry_problem((frame, at), &unit));
                (Some(unit.path.clone()), problem)
            }
            Err(refusal) => (None, Some(refusal)),
        };
        let hook = start.pre_hook.then(|| self.hook(frame, at, HookKind::PreStep)).flatten();
        let cwd = self.spec.step_dir(&self.state, frame, at).ok().filter(|_| problem.is_none());
        let baseline = cwd.and_then(|cwd| self.baseline(&path, &cwd));
        match hook {
            None if problem.is_none() && baseline.is_none() => {
                self.happen(Happening::RecipeChecked { path, unit, problem })
            }
            hook => {
                let go = self.tasks.stop_signal(&path);
                self.tasks.set.spawn(async move {
                    let hook = match hook {
                        Some(hook) => Some(hook.run(go).await),
                        None => None,
                    };
                    if let Some(Err(error)) = taken(baseline).await {
                        return TaskDone::Broken(error);
                    }
                    TaskDone::Checked { path, hook, unit, problem }
                });
                Ok(())
            }
        }
    }
}

/// Stores the state of files before a step, if that is needed.
pub(super) async fn taken(baseline: Option<Baseline>) -> Option<Result<(), FolderError>> {
    match baseline {
        Some(baseline) => Some(baseline.take().await),
        None => None,
    }
}

/// The `env` of a step, after that of its recipe and of the recipe steps around it.
pub(super) fn declared_env(state: &RunState, frame: FrameId, at: usize) -> Vec<(String, String)> {
    let mut env = recipe_env(state, frame, at);
    add_variables(&mut env, state, (frame, at), &state.frames[frame].unit.steps[at].env);
    env
}

/// The variables that a recipe sets for a step, after those of the recipe steps around it.
pub(super) fn recipe_env(state: &RunState, frame: FrameId, at: usize) -> Vec<(String, String)> {
    // every instance has the `env` of its step
    let (recipe, _) = state.in_recipe((frame, at));
    let mut env = match state.frames[recipe].parent {
        Some((parent, at)) => declared_env(state, parent, at),
        None => Vec::new(),
    };
    add_variables(&mut env, state, (frame, at), &state.frames[recipe].unit.env.set);
    env
}

fn add_variables(
    env: &mut Vec<(String, String)>,
    state: &RunState,
    (frame, at): (FrameId, usize),
    templates: &[(String, Template)],
) {
    for (name, template) in templates {
        let value = template.render(&state.frames[frame].scope(at)).replace('\0', "");
        set_variable(env, name.clone(), value);
    }
}

/// Sets a variable, instead of an earlier value that it may have.
pub(super) fn set_variable(env: &mut Vec<(String, String)>, name: String, value: String) {
    env.retain(|(known, _)| *known != name);
    env.push((name, value));
}

/// The variables that name the context file.
pub(super) fn context_names(file: &Path) -> [(&'static str, &OsStr); 2] {
    ["RECIPE_CONTEXT_FILE", "AMPLIHACK_CONTEXT_FILE"].map(|name| (name, file.as_os_str()))
}
