//! Hooks: commands around every step. Their failure is reported, and does not fail the step.

use std::{path::Path, sync::Arc};

use engine::{
    Outcome,
    run::{
        actions::HookKind,
        frame::{Frame, FrameId},
    },
};
use recipe::{
    scope::{Final, Scope},
    step_facts::StepFacts,
    template::Template,
    value::{Map, Value},
};
use tokio::sync::{mpsc, watch};

use super::{
    preparer::{Preparer, context_names, recipe_env, set_variable},
    start_step::StepStart,
};
use crate::{
    os::{
        files,
        process::{Exit, Marker, Stdin},
    },
    steps::{
        output_files::OutputFiles,
        performer::Performer,
        shell::{
            attempt::{
                Command, HOOK_TIME, ProcessEnd, Progress, SHELL, StopSignal, run_command, signal_words,
            },
            context_file::Sharing,
            export::own_room,
            script::{self, ScriptSource},
        },
        spawn::{SpawnContext, spawn_report},
    },
    store::{
        folder::{FolderError, RunFolder},
        values,
    },
};

/// How a hook ended.
#[derive(Debug)]
pub(crate) struct HookReport {
    pub(crate) path: String,
    pub(crate) hook: HookKind,
    pub(crate) error: Option<String>,
    pub(crate) output: String,
}

/// A hook that is ready to run.
pub(crate) struct Hook {
    path: String,
    kind: HookKind,
    run: std::path::PathBuf,
    /// The context file that it may read.
    lent: std::path::PathBuf,
    command: Result<Command, String>,
    /// The command as it is written.
    text: String,
    performer: Performer,
    grace: std::time::Duration,
    starter: SpawnContext,
}

/// The context, plus the names that only hooks have.
struct HookScope<'a> {
    frame: &'a Frame,
    /// The recipe of the step, also if the frame is that of a loop.
    recipe: &'a Frame,
    known: Map,
}

impl Scope for HookScope<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        self.known.get(name).cloned().or_else(|| self.frame.get(name))
    }

    fn below(&self, name: &str) -> Option<std::sync::Arc<Final>> {
        self.frame.below(name)
    }

    fn step(&self, id: &str, instance: Option<i64>) -> Option<StepFacts> {
        self.recipe.step(id, instance)
    }
}

impl Preparer<'_, '_> {
    /// The hook before a step that begins, if there is one and it has to run.
    pub(super) fn pre_hook(&mut self, start: &StepStart) -> Option<Hook> {
        start.pre_hook.then(|| self.hook(start.frame, start.at, HookKind::PreStep)).flatten()
    }

    /// The hook of a step, if its recipe has one of that name.
    pub(super) fn hook(&mut self, frame: FrameId, at: usize, kind: HookKind) -> Option<Hook> {
        let unit = Arc::clone(&self.state.frames[frame].unit);
        let template = match kind {
            HookKind::PreStep => unit.hooks.pre_step.as_ref()?,
            HookKind::PostStep => unit.hooks.post_step.as_ref()?,
            HookKind::OnError => unit.hooks.on_error.as_ref()?,
        };
        let name = kind.as_str();
        let path = self.state.frames[frame].step_path(at);
        let attempt = self.state.frames[frame].steps[at].attempt;
        let dir = self.store.dir().join(RunFolder::attempt(&path, attempt));
        let lent = dir.join(format!("{name}-context.json"));
        Some(Hook {
            command: self.hook_command(frame, at, name, template, &lent),
            performer: self.spec.performer.clone(),
            text: template.text().to_owned(),
            lent,
            starter: SpawnContext { path: path.clone(), attempt, purpose: Some(name), prompt: None },
            path,
            kind,
            run: self.store.dir(),
            grace: self.spec.host.grace,
        })
    }

    fn hook_command(
        &mut self,
        frame_id: FrameId,
        at: usize,
        name: &str,
        template: &Template,
        context: &Path,
    ) -> Result<Command, String> {
        let frame = &self.state.frames[frame_id];
        let path = frame.step_path(at);
        let attempt = frame.steps[at].attempt;
        let dir = RunFolder::attempt(&path, attempt);
        let run = self.store.dir();
        crate::store::folder::make_dir(&run.join(&dir)).map_err(|error| error.to_string())?;
        // the hook may still run while the next step changes the context
        self.store
            .hand_out_context(frame_id, frame, context, Sharing::Beside)
            .map_err(|error| error.to_string())?;
        let frame = &self.state.frames[frame_id];
        let known = hook_names(frame, at, &self.spec.run_id);
        let private = run.join(&dir).join(format!("{name}-private"));
        let names = known.iter().map(|(name, value)| (name.to_uppercase(), value.render().into_owned()));
        let mut own = recipe_env(self.state, frame_id, at);
        names.for_each(|(name, value)| set_variable(&mut own, name, value));
        let (env_names, large) = own_room(own);
        let recipe = &self.state.frames[self.state.in_recipe((frame_id, at)).0];
        let scope = HookScope { frame, recipe, known };
        let lineage = self.state.lineage(frame_id);
        let source = ScriptSource {
            command: template,
            scope: &scope,
            lineage: &lineage,
            max_value: None,
            shell: frame.unit.shell,
            own: large,
        };
        let script =
            script::prepare(source, &private, &self.store.large).map_err(|error| error.to_string())?;
        let mut env = self.environment.shared();
        env.extend(script.env);
        env.extend(context_names(context));
        env.extend(env_names);
        Ok(Command {
            program: SHELL.into(),
            args: script.args.into_iter().map(Into::into).collect(),
            env: Arc::new(env),
            cwd: self.spec.base_dir(self.state, frame_id),
            stdin: Stdin::Null,
            stdout: dir.join(format!("{name}.stdout")),
            stderr: dir.join(format!("{name}.stderr")),
            marker: Marker { run: self.spec.run_id.clone(), step: format!("{path}#{name}") },
        })
    }
}

/// The names that only hooks have.
fn hook_names(frame: &Frame, at: usize, run_id: &str) -> Map {
    let step = &frame.steps[at];
    let error = step.ended.as_ref().and_then(|ended| ended.error.as_deref()).unwrap_or_default();
    // the hook must run even if the error cannot be a value as it is
    let error = error.replace('\0', "\u{fffd}");
    let text = |text: &str| Value::from(text);
    [
        ("step_id", text(&frame.step_id(at))),
        ("step_type", text(frame.unit.steps[at].kind.word())),
        ("step_status", text(step.status.as_str())),
        ("step_error", Value::from(error)),
        ("recipe_name", text(&frame.unit.name)),
        ("run_id", text(run_id)),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), value))
    .collect()
}

/// The key of a hook's task.
fn hook_key(path: &str, kind: HookKind) -> String {
    format!("{path}\u{0}{}", kind.as_str())
}

impl HookReport {
    /// The key of its task.
    pub(super) fn key(&self) -> String {
        hook_key(&self.path, self.hook)
    }
}

impl Hook {
    /// The key of its task.
    pub(super) fn key(&self) -> String {
        hook_key(&self.path, self.kind)
    }

    /// Runs the hook to its end.
    pub(crate) async fn run(
        self,
        go: watch::Receiver<StopSignal>,
        progress: mpsc::UnboundedSender<Progress>,
    ) -> HookReport {
        let (path, kind) = (self.path.clone(), self.kind);
        let lent = self.lent.clone();
        let (error, output) = match self.finish(go, progress).await {
            Ok(done) => done,
            Err(error) => (Some(error.to_string()), String::new()),
        };
        // it holds the whole context, and every step has hooks
        files::discard_file(&lent);
        HookReport { path, hook: kind, error, output }
    }

    async fn finish(
        self,
        go: watch::Receiver<StopSignal>,
        progress: mpsc::UnboundedSender<Progress>,
    ) -> Result<(Option<String>, String), FolderError> {
        let command = match self.command {
            Ok(command) => command,
            Err(error) => return Ok((Some(error), String::new())),
        };
        let (stdout, stderr) = (self.run.join(&command.stdout), self.run.join(&command.stderr));
        let outputs = OutputFiles::open([stdout.clone(), stderr.clone()])?;
        let limit = HOOK_TIME.as_secs_f64();
        let report = spawn_report(&command, self.starter, progress);
        let prepared = match self.performer.admit(&self.path, "a hook of", &self.text) {
            Ok(()) => command.prepare(&outputs)?,
            Err(error) => Err(error),
        };
        let end = run_command(prepared, Some(limit), self.grace, go, report).await;
        let problem = match end {
            ProcessEnd::Exited { exit: Exit::Code(0), .. } | ProcessEnd::Stopped(_) => None,
            ProcessEnd::Exited { exit: Exit::Code(code), .. } => Some(format!("exit code {code}")),
            ProcessEnd::Exited { exit: Exit::Signal(signal), .. } => {
                Some(format!("ended by {}", signal_words(signal)))
            }
            ProcessEnd::Exited { exit: Exit::Lost, .. } => Some("its exit status was lost".to_owned()),
            ProcessEnd::TimedOut(seconds) => Outcome::TimedOut(seconds).cause(),
            ProcessEnd::NotStarted(error) => Some(error.to_string()),
        };
        let said = values::tail(&stderr, 5, 1024);
        let error = problem.map(|what| match said.is_empty() {
            true => what,
            false => format!("{what}: {said}"),
        });
        Ok((error, values::tail(&stdout, 200, 8192)))
    }
}
