//! Starting agents: their prompts, their environment and their limits.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use engine::{
    Event, Outcome,
    run::{
        actions::HookKind,
        cause::Exhausted,
        event::{Ended, Usage},
        frame::FrameId,
    },
};
use recipe::{
    plan::{AgentStep, Budget},
    scope::{Final, Scope},
    template::Template,
    value::Value,
};

use super::{DriveError, Driver, start_step::StepStart, tasks::TaskDone};
use crate::{
    agents::User,
    steps::{
        agent::{
            attempt::{AgentTask, run_agent},
            budget::{self, Ledger, Limit},
        },
        shell::export::own_room,
    },
    store::folder::{FolderError, RunFolder, make_dir},
};

/// Names that every agent knows, unless the recipe has given them a value.
const DIRECTORY: &str = "working_directory";
const UNATTENDED: &str = "NONINTERACTIVE";

/// A request to an agent.
pub(super) struct AgentRequest {
    pub(super) prompt: String,
    pub(super) system_prompt: Option<String>,
    pub(super) model: Option<String>,
    pub(super) program: Option<String>,
    pub(super) timeout: Option<f64>,
    pub(super) idle_timeout: Option<f64>,
    pub(super) auto_stage: bool,
    pub(super) json_retries: u64,
}

/// The usage of agents, against the budgets of the run.
#[derive(Default)]
pub(super) struct Spending {
    pub(super) ledger: Arc<Ledger>,
    /// Usage before this process started; set when the first limit is read.
    before: Option<SpentBefore>,
    /// Programs that do not report their cost, and about which there is a note.
    without_cost: HashSet<String>,
}

/// Usage before this process started: in total, and below every recipe step.
struct SpentBefore {
    all: Usage,
    below: HashMap<String, Usage>,
}

impl Driver<'_> {
    pub(super) fn start_agent(&mut self, start: StepStart, agent: &AgentStep) -> Result<(), DriveError> {
        let cwd = match self.step_dir(start.frame, &start.step) {
            Ok(cwd) => cwd,
            Err(refusal) => {
                self.refuse(&start.path, start.attempt, "agent", Outcome::Refused(refusal));
                return Ok(());
            }
        };
        let scope = AgentScope { frame: &self.state.frames[start.frame], cwd: &cwd };
        let model = || agent.model.as_ref().map(|model| model.render(&scope));
        let request = AgentRequest {
            prompt: agent.prompt.render(&scope),
            system_prompt: agent.system_prompt.as_deref().map(|text| {
                Template::parse(text).map_or_else(|_| text.to_owned(), |template| template.render(&scope))
            }),
            model: start.model.clone().or_else(model).filter(|model| !model.is_empty()),
            program: agent.program.clone(),
            timeout: start.step.timeout_beside(self.spec.options.step_timeout),
            idle_timeout: agent.idle_timeout,
            auto_stage: agent.auto_stage && !self.spec.options.no_auto_stage,
            json_retries: agent.json_retries,
        };
        match self.agent_task(&start, cwd, request)? {
            Ok(task) => self.spawn_agent(start, task),
            Err(exhausted) => {
                self.refuse(&start.path, start.attempt, "agent", Outcome::Budget(exhausted));
                Ok(())
            }
        }
    }

    /// Prepares an agent call; the inner error has the spent budgets.
    pub(super) fn agent_task(
        &mut self,
        start: &StepStart,
        cwd: PathBuf,
        request: AgentRequest,
    ) -> Result<Result<AgentTask, Vec<Exhausted>>, DriveError> {
        let StepStart { ref path, attempt, frame, at, ref step, .. } = *start;
        let limits = self.limits(frame);
        if let Some(exhausted) = budget::used_up(&limits, &self.spending.ledger) {
            return Ok(Err(exhausted));
        }
        let dir = RunFolder::attempt(path, attempt);
        make_dir(&self.run_dir().join(&dir))?;
        let lineage = self.state.lineage(frame);
        let exported =
            crate::steps::shell::export::exports(&lineage, "", Vec::new(), step.max_env_value_bytes);
        self.note_left_out(path, frame, exported.share);
        let (fitting, large) = own_room(self.own_env(frame, step));
        let mut own = self.in_files(path, &dir, large)?;
        own.extend(fitting);
        let mut env = self.step_env(frame, at, &dir, (exported.env, exported.share), own)?;
        let known = [
            ("WORKING_DIRECTORY", cwd.as_os_str()),
            ("RECIPE_VAR_working_directory", cwd.as_os_str()),
            ("RECIPE_VAR_NONINTERACTIVE", "1".as_ref()),
        ];
        for (name, value) in known {
            env.set_missing(name, value);
        }
        self.complete_context(frame, &cwd, &dir)?;
        Ok(Ok(AgentTask {
            run: self.run_dir(),
            run_id: self.spec.run_id.clone(),
            path: path.to_owned(),
            step: Arc::clone(step),
            attempt,
            purpose: None,
            program: request.program.unwrap_or_else(|| self.spec.agents.program.clone()),
            settings: self.spec.agents.clone(),
            prompt: request.prompt,
            system_prompt: request.system_prompt,
            model: request.model,
            env,
            cwd,
            dir,
            timeout: request.timeout,
            idle_timeout: request.idle_timeout,
            grace: self.spec.host.grace,
            user: if self.spec.host.is_root { User::Root } else { User::Ordinary },
            auto_stage: request.auto_stage,
            json_retries: request.json_retries,
            limits,
            account: self.spending.ledger.open(path),
            ledger: Arc::clone(&self.spending.ledger),
        }))
    }

    /// Puts variables that are too large for an environment into files. Another variable names each file.
    fn in_files(
        &mut self,
        path: &str,
        dir: &Path,
        large: Vec<(String, Arc<str>)>,
    ) -> Result<Vec<(String, String)>, FolderError> {
        let mut named = Vec::new();
        for (name, value) in large {
            let file = self.run_dir().join(dir).join(format!("env-{name}"));
            crate::store::folder::write_private(&file, value.as_bytes())?;
            self.pending_notes.push((
                path.to_owned(),
                format!(
                    "`{name}` of its `env` has {} bytes, too many for an environment: it is not set; `{name}_FILE` names a file that holds it",
                    value.len()
                ),
            ));
            named.push((format!("{name}_FILE"), file.to_string_lossy().into_owned()));
        }
        Ok(named)
    }

    /// Adds the names that every agent gets to its context file.
    fn complete_context(&self, frame: FrameId, cwd: &Path, dir: &Path) -> Result<(), FolderError> {
        let context = &self.state.frames[frame].context;
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
        let file = self.run_dir().join(dir).join("context.json");
        let text = std::fs::read_to_string(&file).map_err(FolderError::at("read", &file))?;
        let Some(open) = text.trim_end().strip_suffix('}') else { return Ok(()) };
        let mut text = open.trim_end().to_owned();
        for (name, value) in missing {
            let comma = if text.ends_with('{') { "" } else { "," };
            text.push_str(&format!("{comma}\n{}:{}", Value::from(name).to_json(), value.to_json()));
        }
        text.push_str("\n}\n");
        // a new file: the old one may be shared with the next step
        std::fs::remove_file(&file).map_err(FolderError::at("replace", &file))?;
        crate::store::folder::write_private(&file, text.as_bytes()).map(drop)
    }

    fn spawn_agent(&mut self, start: StepStart, task: AgentTask) -> Result<(), DriveError> {
        let StepStart { path, attempt, frame, at, pre_hook, .. } = start;
        let wake = self.watch(&path, &task.dir.join("stdout"))?;
        let hook = pre_hook.then(|| self.hook(frame, at, HookKind::PreStep)).flatten();
        let go = self.tasks.stop_signal(&path);
        let progress = self.tasks.progress.0.clone();
        self.tasks.set.spawn(async move {
            let report = match hook {
                Some(hook) => Some(hook.run(go.clone()).await),
                None => None,
            };
            let result = Box::new(run_agent(task, wake, go, progress).await);
            TaskDone::Attempt { path, attempt, hook: report, result }
        });
        Ok(())
    }

    /// The limits of agents below a frame. Limits of the command line replace those of the recipe, and limits of a
    /// resume replace both.
    fn limits(&mut self, frame: FrameId) -> Vec<Limit> {
        let state = &self.state;
        let spent = || SpentBefore { all: state.used.clone(), below: state.used_below.clone() };
        let before = self.spending.before.get_or_insert_with(spent);
        let mut limits = Vec::new();
        let mut at = Some(frame);
        while let Some(id) = at {
            let frame = &state.frames[id];
            let limit = match frame.parent {
                None => budget::of_run(&frame.unit.budget, &self.spec.agents, before.all.clone()),
                Some(_) => Limit {
                    prefix: format!("{}/", frame.path),
                    budget: budget::without(&frame.unit.budget, &self.spec.agents.raised),
                    before: before.below.get(&frame.path).cloned().unwrap_or_default(),
                },
            };
            limits.extend((limit.budget != Budget::default()).then_some(limit));
            at = frame.parent.map(|(parent, _)| parent);
        }
        limits
    }

    /// Notes once per program that its cost is unknown and cannot count against a budget in dollars.
    pub(super) fn note_unknown_cost(&mut self, path: &str, ended: &Ended) -> Result<(), DriveError> {
        let Some((frame, _)) = self.state.locate(path) else { return Ok(()) };
        let Some(usage) = ended.usage.as_ref().filter(|usage| usage.runs_without_cost > 0) else {
            return Ok(());
        };
        let program = usage.program.clone().unwrap_or_default();
        let is_limited = self.limits(frame).iter().any(|limit| limit.budget.usd.is_some());
        if !is_limited || !self.spending.without_cost.insert(program.clone()) {
            return Ok(());
        }
        let message = format!(
            "`{program}` does not report its cost: the budget in dollars does not count it, so the total may exceed the budget"
        );
        self.record(Event::Noted { path: Some(path.to_owned()), message }, None)
    }
}

/// The context of an agent: that of the frame, plus its directory and the flag that the run is unattended.
struct AgentScope<'a> {
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
}
