//! Starting agents: their prompts, their environment and their limits.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use engine::{
    Outcome,
    run::{
        budget,
        cause::{Exhausted, Refusal},
    },
};
use recipe::{
    plan::AgentStep,
    scope::{Final, Scope},
    step_facts::StepFacts,
    template::Template,
    value::{Map, Value},
};

use super::{
    DriveError, Driver, asked_again::why_asked_again, preparer::Preparer, start_step::StepStart,
    tasks::TaskDone,
};
use crate::{
    agents::User,
    machine::programs,
    os::{environment::Environment, files},
    steps::{
        agent::{
            attempt::{AgentTask, run_agent},
            request::AgentRequest,
        },
        shell::export::own_room,
    },
    store::folder::{FolderError, RunFolder, make_dir},
};

/// Names that every agent knows, unless the recipe has given them a value.
const DIRECTORY: &str = "working_directory";
const UNATTENDED: &str = "NONINTERACTIVE";

impl Driver<'_> {
    pub(super) fn start_agent(&mut self, start: StepStart, agent: &AgentStep) -> Result<(), DriveError> {
        let prepared = self.spec.step_dir(&self.state, start.frame, start.at);
        let prepared =
            prepared.and_then(|cwd| Ok((self.preparer().agent_request(&start, agent, &cwd)?, cwd)));
        let task = match prepared {
            Ok((request, cwd)) => self.preparer().agent_task(&start, cwd, request)?.map_err(Outcome::Budget),
            Err(refusal) => Err(Outcome::Refused(refusal)),
        };
        let task = match task {
            Ok(task) => task,
            Err(outcome) => {
                self.tasks.refuse(&start.path, start.attempt, "agent", outcome);
                return Ok(());
            }
        };
        let wake = self.shown.watch(&start.path, &task.run.join(&task.dir).join("stdout"))?;
        let hook = self.preparer().pre_hook(&start);
        let baseline = self.preparer().baseline(&start.path, &task.cwd);
        let StepStart { path, attempt, .. } = start;
        let progress = self.tasks.progress.0.clone();
        self.tasks.start(path.clone(), hook, baseline, move |hook, go| async move {
            let result = Box::new(run_agent(task, wake, go, progress).await);
            TaskDone::Attempt { path, attempt, hook, result }
        });
        Ok(())
    }
}

impl Preparer<'_, '_> {
    /// What an agent step asks, or why it cannot.
    fn agent_request(
        &self,
        start: &StepStart,
        agent: &AgentStep,
        cwd: &Path,
    ) -> Result<AgentRequest, Refusal> {
        let scope = AgentScope { frame: &self.state.frames[start.frame], cwd };
        let model = || agent.model.as_ref().map(|model| model.render(&scope));
        let written = match &agent.prompt_file {
            Some(file) => self.read_prompt(start.frame, &file.render(&scope), &scope)?,
            None => agent.prompt.render(&scope),
        };
        let task = match self.state.asked_again(&start.path) {
            Some(again) => {
                let why = why_asked_again(&self.store.dir(), self.mask, again);
                format!("{}\n\n{why}", written.trim_end())
            }
            None => written,
        };
        let spoken = self.conversation(start, agent, task);
        let programs = spoken.program.map_or_else(|| agent.programs.named(&scope), |program| vec![program]);
        // a model is written for the first program of a list
        let first = programs::choices(&programs, &self.spec.agents).0.first().cloned();
        let mut request = AgentRequest {
            prompt: spoken.prompt,
            continued: spoken.continued,
            system_prompt: agent.system_prompt.as_deref().map(|text| {
                Template::parse(text).map_or_else(|_| text.to_owned(), |template| template.render(&scope))
            }),
            model: start.model.clone().or_else(model).filter(|model| !model.is_empty()),
            model_for: first.filter(|_| start.model.is_none()),
            programs,
            permissions: agent
                .permissions
                .unwrap_or_else(|| self.spec.permissions_in(self.state, start.frame)),
            args: agent.args.iter().map(|arg| arg.render(&scope)).collect(),
            timeout: start.step.timeout_beside(self.spec.options.step_timeout),
            idle_timeout: agent.idle_timeout,
            auto_stage: self.spec.stages(agent),
            json_retries: agent.json_retries,
        };
        request.programs = self.usable_programs(&start.path, &request)?;
        Ok(request)
    }

    /// Prepares an agent call; the inner error has the spent budgets.
    pub(super) fn agent_task(
        &mut self,
        start: &StepStart,
        cwd: PathBuf,
        mut request: AgentRequest,
    ) -> Result<Result<AgentTask, Vec<Exhausted>>, DriveError> {
        let StepStart { ref path, attempt, frame, ref step, .. } = *start;
        let limits = budget::limits(self.state, frame);
        if let Some(exhausted) = budget::used_up(&limits, &**self.ledger) {
            return Ok(Err(exhausted));
        }
        let dir = RunFolder::attempt(path, attempt);
        let folder = self.store.dir().join(&dir);
        make_dir(&folder)?;
        let env = self.agent_env(start, &cwd, &dir)?;
        if self.spec.performer.stubs().is_none() {
            complete_context(&self.state.frames[frame].context, &cwd, &folder)?;
        }
        let names = programs::choices(&request.programs, &self.spec.agents).0;
        let mut programs = programs::installed(names, &self.spec.agents, &self.spec.host).into_iter();
        let program = programs.next().unwrap_or_else(|| self.spec.agents.program().to_owned());
        let is_other = |first: &String| *first != program && request.model.is_some();
        if let Some(first) = request.model_for.take_if(|first| is_other(first)) {
            let note = format!("`{program}` runs with its own default model: `model` is for `{first}`");
            self.notes.push((path.clone(), note));
            request.model = None;
        }
        Ok(Ok(AgentTask {
            run: self.store.dir(),
            run_id: self.spec.run_id.clone(),
            path: path.to_owned(),
            step: Arc::clone(step),
            attempt,
            purpose: None,
            program,
            others: programs.collect(),
            request,
            settings: self.spec.agents.clone(),
            env,
            cwd,
            dir,
            grace: self.spec.host.grace,
            user: if self.spec.host.is_root { User::Root } else { User::Ordinary },
            limits,
            account: self.ledger.open(path),
            ledger: Arc::clone(self.ledger),
            performer: self.spec.performer.clone(),
            instance: self.state.instance_at(path),
        }))
    }

    /// The environment of an agent. Variables that are too large for it are in files.
    fn agent_env(&mut self, start: &StepStart, cwd: &Path, dir: &Path) -> Result<Environment, DriveError> {
        let StepStart { ref path, frame, at, ref step, .. } = *start;
        let lineage = self.state.lineage(frame);
        let exported =
            crate::steps::shell::export::exports(&lineage, "", Vec::new(), step.max_env_value_bytes);
        self.note_left_out(path, frame, exported.share);
        let (fitting, large) = own_room(self.own_env(frame, at));
        let mut notes = Vec::new();
        let mut own = in_files(&self.store.dir().join(dir), large, &mut notes)?;
        self.notes.extend(notes.into_iter().map(|note| (path.clone(), note)));
        own.extend(fitting);
        let mut env = self.step_env(frame, at, dir, (exported.env, exported.share), own)?;
        let known = [
            ("WORKING_DIRECTORY", cwd.as_os_str()),
            ("RECIPE_VAR_working_directory", cwd.as_os_str()),
            ("RECIPE_VAR_NONINTERACTIVE", "1".as_ref()),
        ];
        for (name, value) in known {
            env.set_missing(name, value);
        }
        Ok(env)
    }
}

/// Puts variables that are too large for an environment into files. Another variable names each file.
fn in_files(
    dir: &Path,
    large: Vec<(String, Arc<str>)>,
    notes: &mut Vec<String>,
) -> Result<Vec<(String, String)>, FolderError> {
    let mut named = Vec::new();
    for (name, value) in large {
        let file = dir.join(format!("env-{name}"));
        crate::store::folder::write_private(&file, value.as_bytes())?;
        notes.push(format!(
                "`{name}` of its `env` has {} bytes, too many for an environment: it is not set; `{name}_FILE` names a file that holds it",
                value.len()
            ));
        named.push((format!("{name}_FILE"), file.to_string_lossy().into_owned()));
    }
    Ok(named)
}

/// Adds the names that every agent gets to its context file.
fn complete_context(context: &Map, cwd: &Path, dir: &Path) -> Result<(), FolderError> {
    let mut missing: Vec<(&str, Value)> = Vec::new();
    if !context.contains_key(DIRECTORY) {
        missing.push((DIRECTORY, Value::from(cwd.to_string_lossy().into_owned())));
    }
    if !context.contains_key(UNATTENDED) {
        missing.push((UNATTENDED, Value::from("1")));
    }
    if missing.is_empty() {
        return Ok(());
    }
    let file = dir.join("context.json");
    let text = std::fs::read_to_string(&file).map_err(FolderError::at("read", &file))?;
    let Some(open) = text.trim_end().strip_suffix('}') else { return Ok(()) };
    let mut text = open.trim_end().to_owned();
    for (name, value) in missing {
        let comma = if text.ends_with('{') { "" } else { "," };
        text.push_str(&format!("{comma}\n{}:{}", Value::from(name).to_json(), value.to_json()));
    }
    text.push_str("\n}\n");
    // a new file: the old one may be shared with the next step
    files::remove_file(&file).map_err(FolderError::at("replace", &file))?;
    crate::store::folder::write_private(&file, text.as_bytes()).map(drop)
}

/// The context of an agent: that of the frame, plus its directory and the flag that the run is unattended.
pub(super) struct AgentScope<'a> {
    frame: &'a engine::run::frame::Frame,
    cwd: &'a Path,
}

impl Scope for AgentScope<'_> {
    fn get(&self, name: &str) -> Option<Value> {
        self.frame.get(name).or_else(|| match name {
            DIRECTORY => Some(Value::from(self.cwd.to_string_lossy().into_owned())),
            UNATTENDED => Some(Value::from("1")),
            _ => None,
        })
    }

    fn below(&self, name: &str) -> Option<Arc<Final>> {
        self.frame.below(name)
    }

    fn step(&self, id: &str, instance: Option<i64>) -> Option<StepFacts> {
        self.frame.step(id, instance)
    }
}
