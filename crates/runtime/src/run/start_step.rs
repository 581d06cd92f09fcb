//! Carries out decisions: starts steps and enters recipes.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
};

use engine::{
    Event, Outcome,
    run::{cause::Refusal, frame::FrameId},
};
use recipe::{
    plan::{JsonMode, Step, StepKind, Target},
    template::Template,
    value::Value,
};
use tokio::sync::{Notify, watch};

use super::{Act, DriveError, Driver, TaskDone, Waiting};
use crate::{
    machine::{missing_tool::Lookup, preflight},
    os::{
        environment::Environment,
        process::{Marker, Stdin},
    },
    steps::{
        output_files::OutputFiles,
        shell::{
            attempt::{Command, Finished, Go, Quoted, SHELL, ShellTask, brief, run_shell},
            context_file::{ContextFile, Sharing},
            export::{Share, own_room},
            script,
        },
        spawn::{SpawnContext, spawn_report},
    },
    store::{
        folder::{FolderError, RunFolder, make_dir},
        outputs::Stream,
    },
};

impl Driver<'_> {
    /// Whether doing this only leads to further records: a sub-recipe is entered, or has come to its end. What that
    /// leads to outside of the journal waits for the disk, and so for these records too.
    pub(super) fn only_records(&self, act: &Act) -> bool {
        match act {
            Act::Start { path, .. } => self.state.locate(path).is_some_and(|(frame, at)| {
                let unit = &self.state.frames[frame].unit;
                let target = match &unit.steps[at].kind {
                    StepKind::Nested { target, .. } => Some(target),
                    StepKind::Shell { .. } | StepKind::Agent(_) => None,
                };
                matches!(target, Some(Target::Known { .. })) && unit.hooks.pre_step.is_none()
            }),
            Act::Close { frame, .. } => {
                let frame = &self.state.frames[*frame];
                frame.is_complete() && frame.stopped.is_none()
            }
            Act::Hook { .. } => false,
        }
    }

    pub(super) fn start(&mut self, path: &str, attempt: u32) -> Result<(), DriveError> {
        let Some((frame, at)) = self.state.locate(path) else { return Ok(()) };
        let step = Arc::clone(&self.state.frames[frame].unit.steps[at]);
        if self.state.settings.dry_run {
            return self.rehearse(path, frame, &step);
        }
        match &step.kind {
            StepKind::Nested { .. } => self.start_nested(path, frame, at, &step),
            StepKind::Shell { command } => self.start_shell(path, attempt, frame, at, &step, command),
            StepKind::Agent(agent) => {
                if !self.may_start_agent() {
                    self.waiting_agents.push_back(Waiting::Step { path: path.to_owned(), attempt });
                    return Ok(());
                }
                self.start_agent(path, attempt, frame, at, &step, agent)
            }
        }
    }

    /// Ends a step before it started.
    pub(super) fn refuse(&mut self, path: &str, attempt: u32, kind: &str, outcome: Outcome) {
        let finished = Finished::failed(kind, outcome, "");
        let path = path.to_owned();
        self.tasks.spawn(async move {
            TaskDone::Attempt { path, attempt, hook: None, result: Box::new(Ok(finished)) }
        });
    }

    /// A gate that can stop the task of this key.
    pub(super) fn gate(&mut self, key: &str) -> watch::Receiver<Go> {
        let (sender, receiver) = watch::channel(Go::On);
        if self.halt.is_some() {
            let _ = sender.send(Go::Stop);
        }
        self.gates.insert(key.to_owned(), sender);
        receiver
    }

    /// The directory that the steps of a frame start from: `-C`, changed by recipe steps with a directory.
    pub(super) fn base_dir(&self, frame: FrameId) -> PathBuf {
        let Some((parent, at)) = self.state.frames[frame].parent else { return self.working_dir.clone() };
        let outer = &self.state.frames[parent];
        let base = self.base_dir(parent);
        match &outer.unit.steps[at].working_dir {
            Some(template) => base.join(expand(&template.render(outer), self.host.home.as_deref())),
            None => base,
        }
    }

    pub(super) fn step_dir(&self, frame: FrameId, step: &Step) -> Result<PathBuf, Refusal> {
        let base = self.base_dir(frame);
        let dir = match &step.working_dir {
            Some(template) => {
                base.join(expand(&template.render(&self.state.frames[frame]), self.host.home.as_deref()))
            }
            None => base,
        };
        match preflight::dir_problem(&dir) {
            None => Ok(dir),
            Some(why) => Err(Refusal::Directory { path: brief(&dir.to_string_lossy()), why: why.to_owned() }),
        }
    }

    /// The environment of a step: the common variables, the exported values, and the step's own.
    pub(super) fn step_env(
        &mut self,
        frame: FrameId,
        at: usize,
        dir: &Path,
        exported: Vec<(String, String)>,
        own: Vec<(String, String)>,
    ) -> Result<Environment, FolderError> {
        let file = self.run_dir().join(dir).join("context.json");
        let sharing = if self.runs_beside_others(frame, at) { Sharing::Beside } else { Sharing::Alone };
        self.hand_out_context(frame, &file, sharing)?;
        let mut env = Environment::shared(Arc::clone(&self.base_env));
        env.extend(exported);
        env.extend(context_names(&file));
        env.extend(own);
        Ok(env)
    }

    /// The `env` of a step and of the recipe steps around it. Its secrets are masked from now on.
    pub(super) fn own_env(&mut self, frame: FrameId, step: &Step) -> Vec<(String, String)> {
        let mut own: Vec<(String, String)> = Vec::new();
        self.declared_env(frame, step, &mut own);
        for (name, value) in &own {
            self.mask.learn_value(name, &Value::from(value.as_str()));
        }
        self.tell_secrets();
        own
    }

    /// The names of the variables that a step and the recipe steps around it set.
    pub(super) fn given_env(&self, frame: FrameId, step: &Step) -> BTreeSet<String> {
        let mut own = Vec::new();
        self.declared_env(frame, step, &mut own);
        own.into_iter().map(|(name, _)| name).collect()
    }

    /// The `env` of a step, after that of the recipe steps around it.
    fn declared_env(&self, frame: FrameId, step: &Step, env: &mut Vec<(String, String)>) {
        let scope = &self.state.frames[frame];
        if let Some((parent, at)) = scope.parent {
            self.declared_env(parent, &self.state.frames[parent].unit.steps[at], env);
        }
        let value = |template: &Template| template.render(scope).replace('\0', "");
        env.extend(step.env.iter().map(|(name, template)| (name.clone(), value(template))));
    }

    /// Whether a step may run in parallel with others.
    pub(crate) fn runs_beside_others(&self, frame: FrameId, at: usize) -> bool {
        let mut id = Some((frame, at));
        while let Some((frame, at)) = id {
            if self.state.frames[frame].unit.steps[at].group.is_some() {
                return true;
            }
            id = self.state.frames[frame].parent;
        }
        false
    }

    pub(super) fn hand_out_context(
        &mut self,
        frame: FrameId,
        to: &Path,
        sharing: Sharing,
    ) -> Result<(), FolderError> {
        let state = &self.state.frames[frame];
        let dir = self.folder.as_ref().map(RunFolder::contexts).unwrap_or_default();
        let source = dir.join(format!("{frame}.json"));
        let file = match self.contexts.entry(frame) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                let create = || ContextFile::create(source.clone(), state);
                let made = match create() {
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                        make_dir(&dir)?;
                        create()
                    }
                    made => made,
                };
                entry.insert(made.map_err(FolderError::at("write", &source))?)
            }
        };
        file.hand_out(state, to, sharing).map_err(FolderError::at("write", to))
    }

    fn start_shell(
        &mut self,
        path: &str,
        attempt: u32,
        frame: FrameId,
        at: usize,
        step: &Arc<Step>,
        command: &Template,
    ) -> Result<(), DriveError> {
        let cwd = match self.step_dir(frame, step) {
            Ok(cwd) => cwd,
            Err(refusal) => {
                self.refuse(path, attempt, "bash", Outcome::Refused(refusal));
                return Ok(());
            }
        };
        let run = self.run_dir();
        let dir = RunFolder::attempt(path, attempt);
        let outputs = self.spare.become_attempt(&dir, attempt)?;
        let private = run.join(&dir).join("private");
        let (own, large) = own_room(self.own_env(frame, step));
        let lineage = self.state.lineage(frame);
        let scope = &self.state.frames[frame];
        let cap = step.max_env_value_bytes;
        let script = match script::prepare(command, scope, &lineage, cap, large, &private, &self.large) {
            Ok(script) => script,
            Err(script::ScriptError::Folder(error)) => return Err(error.into()),
            Err(script::ScriptError::Refused(refusal)) => {
                self.refuse(path, attempt, "bash", Outcome::Refused(refusal));
                return Ok(());
            }
        };
        self.note_left_out(path, frame, script.share);
        if script.has_files {
            self.spare.note_private(&dir);
        }
        let env = Arc::new(self.step_env(frame, at, &dir, script.env, own)?);
        let command = Command {
            program: SHELL.into(),
            args: script.args.into_iter().map(Into::into).collect(),
            env,
            cwd,
            stdin: Stdin::Null,
            stdout: dir.join("stdout"),
            stderr: dir.join("stderr"),
            marker: Marker { run: self.run_id.clone(), step: format!("{path}#{attempt}") },
        };
        let starter = SpawnContext { path: path.to_owned(), attempt, purpose: None };
        let report = spawn_report(&command, starter, self.progress.0.clone());
        let lookup = Lookup { cwd: command.cwd.clone(), env: Arc::clone(&command.env) };
        let prepared = command.prepare(&outputs)?;
        self.follow(path, step, &run.join(&dir), &outputs);
        let task = ShellTask {
            run,
            step: Arc::clone(step),
            dir,
            outputs,
            timeout: step.timeout_beside(self.options.step_timeout),
            grace: self.host.grace,
            quoted: Quoted::by(&self.host),
            lookup,
        };
        let hook = self.pre_hook(path, frame, at);
        let go = self.gate(path);
        let path = path.to_owned();
        self.tasks.spawn(async move {
            let hook = match hook {
                Some(hook) => Some(hook.run(go.clone()).await),
                None => None,
            };
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
        self.unsaid.push((path.to_owned(), message));
    }

    /// The hook before a step: once for each step, not for each attempt.
    pub(super) fn pre_hook(&mut self, path: &str, frame: FrameId, at: usize) -> Option<super::hooks::Hook> {
        self.hooked.insert(path.to_owned()).then(|| self.hook(frame, at, "pre_step")).flatten()
    }

    /// Follows the output files of an attempt if the reporter wants output. The output of a step that makes a secret is
    /// the secret itself, and is not shown.
    fn follow(&mut self, path: &str, step: &Step, dir: &Path, outputs: &OutputFiles) {
        if !self.reporter.wants_output() {
            return;
        }
        let is_secret = step.store.as_deref().is_some_and(|name| self.mask.is_secret(name));
        if step.json != JsonMode::Text {
            self.json_steps.insert(path.to_owned());
        }
        let stdout = (!is_secret).then_some((Stream::Stdout, "stdout", &outputs.stdout));
        let stderr = Some((Stream::Stderr, "stderr", &outputs.stderr));
        for (stream, name, file) in [stdout, stderr].into_iter().flatten() {
            self.outputs.follow(path, stream, &dir.join(name), Arc::clone(file));
        }
    }

    /// Creates an agent's output file, and notifies when it grows.
    pub(super) fn watch(&mut self, path: &str, file: &Path) -> Result<Arc<Notify>, FolderError> {
        let full = self.run_dir().join(file);
        let open = crate::os::process::open_output(&full).map_err(FolderError::at("create", &full))?;
        Ok(self.outputs.follow(path, Stream::Transcript, &full, Arc::new(open)))
    }

    fn start_nested(
        &mut self,
        path: &str,
        frame: FrameId,
        at: usize,
        step: &Arc<Step>,
    ) -> Result<(), DriveError> {
        let problem = match self.target(path, frame, step) {
            Ok(unit) => self.step_dir(frame, step).err().or_else(|| self.entry_problem(frame, step, &unit)),
            Err(refusal) => Some(refusal),
        };
        let hook = self.pre_hook(path, frame, at);
        match hook {
            None if problem.is_none() => self.enter(path),
            hook => {
                let go = self.gate(path);
                let path = path.to_owned();
                self.tasks.spawn(async move {
                    let hook = match hook {
                        Some(hook) => Some(hook.run(go).await),
                        None => None,
                    };
                    TaskDone::Enter { path, hook, problem }
                });
                Ok(())
            }
        }
    }

    /// Enters the recipe of a step.
    pub(super) fn enter(&mut self, path: &str) -> Result<(), DriveError> {
        let Some((frame, at)) = self.state.locate(path) else { return Ok(()) };
        let step = Arc::clone(&self.state.frames[frame].unit.steps[at]);
        match self.target(path, frame, &step) {
            Ok(unit) => {
                if let Some(seconds) = step.timeout {
                    self.limit_recipe(path, seconds);
                }
                let event = Event::RecipeEntered { path: path.to_owned(), unit: unit.path.clone() };
                self.record(event, None)
            }
            Err(refusal) => self.nested_failed(path, refusal),
        }
    }
}

/// The variables that name the context file.
pub(super) fn context_names(file: &Path) -> [(&'static str, &OsStr); 2] {
    ["RECIPE_CONTEXT_FILE", "AMPLIHACK_CONTEXT_FILE"].map(|name| (name, file.as_os_str()))
}

/// A path with `~` replaced by the home directory.
fn expand(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
            home.join(rest.trim_start_matches('/'))
        }
        _ => PathBuf::from(path),
    }
}
