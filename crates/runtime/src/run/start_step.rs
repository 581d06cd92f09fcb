//! Starts steps: their directory, their environment, and the process or recipe that does the work.

use std::sync::Arc;

use engine::{
    Outcome, RunState,
    run::{actions::Happening, frame::FrameId},
};
use recipe::{
    plan::{Step, StepKind},
    template::Template,
};

use super::{DriveError, Driver, preparer::Preparer, stand_in::stand_in, tasks::TaskDone};
use crate::{
    machine::missing_tool::Lookup,
    os::process::Marker,
    steps::{
        ensure::Baseline,
        shell::{
            attempt::{Command, Quoted, ShellTask, run_shell},
            export::own_room,
            script::{ScriptError, ScriptSource},
        },
        spawn::{SpawnContext, spawn_report},
    },
    store::folder::RunFolder,
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
            StepKind::Ask(_) => {
                let hook = self.preparer().pre_hook(&start);
                let StepStart { path, attempt, .. } = start;
                if hook.is_none() {
                    return self.put_question(path, attempt);
                }
                self.tasks.start(path.clone(), hook, None, move |hook, _| async move {
                    TaskDone::MayAsk { path, attempt, hook }
                });
                Ok(())
            }
        }
    }

    fn start_shell(&mut self, start: StepStart, template: &Template) -> Result<(), DriveError> {
        let shell = match self.preparer().shell(&start, template) {
            Ok(shell) => shell,
            Err(ScriptError::Folder(error)) => return Err(error.into()),
            Err(ScriptError::Refused(refusal)) => {
                self.tasks.refuse(&start.path, start.attempt, "bash", Outcome::Refused(refusal));
                return Ok(());
            }
        };
        let hook = self.preparer().pre_hook(&start);
        let PreparedShell { task, command, baseline } = shell;
        let StepStart { path, attempt, step, .. } = start;
        if self.reporter.wants_output() {
            let is_secret = step.store.as_deref().is_some_and(|name| self.mask.is_secret(name));
            self.shown.follow(&path, &step, &task.run.join(&task.dir), &task.outputs, is_secret);
        }
        let starter = SpawnContext { path: path.clone(), attempt, purpose: None, prompt: None };
        let report = spawn_report(&command, starter, self.tasks.progress.0.clone());
        let performer = &self.spec.performer;
        let script = performer.shell(&self.spec.call(&self.state, &path, attempt), &step);
        let prepared = performer.prepare(script, command, &task.outputs)?;
        self.tasks.start(path.clone(), hook, baseline, move |hook, go| async move {
            let result = Box::new(run_shell(task, prepared, go, report).await);
            TaskDone::Attempt { path, attempt, hook, result }
        });
        Ok(())
    }

    fn start_nested(&mut self, start: StepStart) -> Result<(), DriveError> {
        let call = self.spec.call(&self.state, &start.path, start.attempt);
        if let Some((reply, script)) = self.spec.performer.stubs().and_then(|stubs| stubs.recipe(&call)) {
            return stand_in(self, start, reply, script);
        }
        let StepStart { ref path, frame, at, ref step, .. } = start;
        let path = path.clone();
        let (unit, problem) = match self.target(&path, frame, step) {
            Ok(unit) => {
                let problem = self.spec.step_dir(&self.state, frame, at).err();
                let problem = problem.or_else(|| self.spec.entry_problem(&self.state, (frame, at), &unit));
                (Some(unit.path.clone()), problem)
            }
            Err(refusal) => (None, Some(refusal)),
        };
        let hook = self.preparer().pre_hook(&start);
        let cwd = self.spec.step_dir(&self.state, frame, at).ok().filter(|_| problem.is_none());
        let baseline = cwd.and_then(|cwd| self.preparer().baseline(&path, &cwd));
        if hook.is_none() && problem.is_none() && baseline.is_none() {
            return self.happen(Happening::RecipeChecked { path, unit, problem });
        }
        self.tasks.start(path.clone(), hook, baseline, move |hook, _| async move {
            TaskDone::Checked { path, hook, unit, problem }
        });
        Ok(())
    }
}

/// A bash step that is ready to run.
struct PreparedShell {
    task: ShellTask,
    command: Command,
    /// The state of files before the step, if one of its rules needs it.
    baseline: Option<Baseline>,
}

impl Preparer<'_, '_> {
    /// Prepares the command of a bash step.
    fn shell(&mut self, start: &StepStart, template: &Template) -> Result<PreparedShell, ScriptError> {
        let StepStart { ref path, attempt, frame, at, ref step, .. } = *start;
        let cwd = self.spec.step_dir(self.state, frame, at).map_err(ScriptError::Refused)?;
        let dir = RunFolder::attempt(path, attempt);
        let outputs = self.store.prepared.become_attempt(&dir, attempt)?;
        let (own, large) = own_room(self.own_env(frame, at));
        let source = ScriptSource {
            command: template,
            scope: &self.state.frames[frame],
            lineage: &self.state.lineage(frame),
            max_value: step.max_env_value_bytes,
            shell: step.shell,
            own: large,
        };
        let script = self.store.script(source, &dir)?;
        self.note_left_out(path, frame, script.share);
        let env = Arc::new(self.step_env(frame, at, &dir, (script.env, script.share), own)?);
        let marker = Marker { run: self.spec.run_id.clone(), step: format!("{path}#{attempt}") };
        let command = Command::shell(script.args, env, cwd, &dir, marker);
        let task = ShellTask {
            run: self.store.dir(),
            timeout: step.timeout_beside(self.spec.options.step_timeout),
            step: Arc::clone(step),
            dir,
            outputs,
            grace: self.spec.host.grace,
            quoted: Quoted::by(&self.spec.host),
            lookup: Lookup { cwd: command.cwd.clone(), env: Arc::clone(&command.env) },
        };
        let baseline = self.baseline(path, &command.cwd);
        Ok(PreparedShell { task, command, baseline })
    }
}
