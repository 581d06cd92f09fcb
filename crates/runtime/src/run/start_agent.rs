//! Starting agents: their prompts, their environment and their limits.

use std::{
    collections::{HashMap, VecDeque},
    path::{Path, PathBuf},
    sync::Arc,
};

use engine::{
    Event, Outcome,
    run::{
        cause::Exhausted,
        event::{Ended, Usage},
        frame::FrameId,
    },
};
use recipe::{
    plan::{AgentStep, Budget, Step},
    scope::{Final, Scope},
    template::Template,
    value::Value,
};

use super::{DriveError, Driver, TaskDone};
use crate::{
    agents::User,
    steps::{
        agent::{
            attempt::{AgentTask, run_agent},
            budget::{self, Limit},
        },
        shell::{attempt::Finished, export::own_room},
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

/// Agent usage before this process started: in total, and below every recipe step.
#[derive(Clone, Debug)]
pub(super) struct Spent {
    pub(super) all: Usage,
    pub(super) below: HashMap<String, Usage>,
}

/// An agent that has to wait, because the maximum number of agents is running.
pub(crate) enum Waiting {
    /// The agent of an agent step.
    Step { path: String, attempt: u32 },
    /// The agent that has to finish the work of a sub-recipe.
    Recovery { path: String, frame: FrameId },
}

impl Driver<'_> {
    pub(super) fn start_agent(
        &mut self,
        path: &str,
        attempt: u32,
        frame: FrameId,
        at: usize,
        step: &Arc<Step>,
        agent: &AgentStep,
    ) -> Result<(), DriveError> {
        let cwd = match self.step_dir(frame, step) {
            Ok(cwd) => cwd,
            Err(refusal) => {
                self.refuse(path, attempt, "agent", Outcome::Refused(refusal));
                return Ok(());
            }
        };
        let scope = AgentScope { frame: &self.state.frames[frame], cwd: &cwd };
        let question = AgentRequest {
            prompt: agent.prompt.render(&scope),
            system_prompt: agent.system_prompt.as_deref().map(|text| {
                Template::parse(text).map_or_else(|_| text.to_owned(), |template| template.render(&scope))
            }),
            model: agent.model.as_ref().map(|model| model.render(&scope)).filter(|model| !model.is_empty()),
            program: agent.program.clone(),
            timeout: step.timeout_beside(self.options.step_timeout),
            idle_timeout: agent.idle_timeout,
            auto_stage: agent.auto_stage && !self.options.no_auto_stage,
            json_retries: agent.json_retries,
        };
        match self.question(path, attempt, frame, at, step, cwd, question)? {
            Ok(task) => self.spawn_agent(path, attempt, frame, at, task),
            Err(exhausted) => {
                self.refuse(path, attempt, "agent", Outcome::Budget(exhausted));
                Ok(())
            }
        }
    }

    /// Prepares an agent call; the inner error names the spent budget.
    #[expect(clippy::too_many_arguments, reason = "where and what to ask; taken apart nowhere else")]
    pub(super) fn question(
        &mut self,
        path: &str,
        attempt: u32,
        frame: FrameId,
        at: usize,
        step: &Arc<Step>,
        cwd: PathBuf,
        question: AgentRequest,
    ) -> Result<Result<AgentTask, Vec<Exhausted>>, DriveError> {
        let limits = self.limits(frame);
        if let Some(exhausted) = budget::used_up(&limits, &self.ledger) {
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
        let mut env = self.step_env(frame, at, &dir, exported.env, own)?;
        let known = [
            ("WORKING_DIRECTORY", cwd.as_os_str()),
            ("RECIPE_VAR_working_directory", cwd.as_os_str()),
            ("RECIPE_VAR_NONINTERACTIVE", "1".as_ref()),
        ];
        for (name, value) in known {
            env.set_missing(name, value);
        }
        self.complete_context(frame, &cwd, &dir)?;
        let model = self.rate_models.remove(path).or(question.model);
        Ok(Ok(AgentTask {
            run: self.run_dir(),
            run_id: self.run_id.clone(),
            path: path.to_owned(),
            step: Arc::clone(step),
            attempt,
            purpose: None,
            program: question.program.unwrap_or_else(|| self.agents.program.clone()),
            settings: self.agents.clone(),
            prompt: question.prompt,
            system_prompt: question.system_prompt,
            model,
            env,
            cwd,
            dir,
            timeout: question.timeout,
            idle_timeout: question.idle_timeout,
            grace: self.host.grace,
            user: if self.host.is_root { User::Root } else { User::Ordinary },
            auto_stage: question.auto_stage,
            json_retries: question.json_retries,
            limits,
            account: self.ledger.open(path),
            ledger: Arc::clone(&self.ledger),
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
            self.unsaid.push((
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

    fn spawn_agent(
        &mut self,
        path: &str,
        attempt: u32,
        frame: FrameId,
        at: usize,
        task: AgentTask,
    ) -> Result<(), DriveError> {
        let wake = self.watch(path, &task.dir.join("stdout"))?;
        let hook = self.pre_hook(path, frame, at);
        let go = self.gate(path);
        let progress = self.progress.0.clone();
        let path = path.to_owned();
        self.running_agents.insert(path.clone());
        self.tasks.spawn(async move {
            let report = match hook {
                Some(hook) => Some(hook.run(go.clone()).await),
                None => None,
            };
            let result = Box::new(run_agent(task, wake, go, progress).await);
            TaskDone::Attempt { path, attempt, hook: report, result }
        });
        Ok(())
    }

    /// Whether one more agent may run.
    pub(super) fn may_start_agent(&self) -> bool {
        self.running_agents.len() < self.host.most_agents(self.options.max_agents)
    }

    /// An agent has ended, or never started: the next one may start.
    pub(super) fn agent_is_done(&mut self, path: &str) -> Result<(), DriveError> {
        self.running_agents.remove(path);
        // an agent that is refused at once leaves its place to the next
        while self.halt.is_none() && self.may_start_agent() {
            let Some(waiting) = self.waiting_agents.pop_front() else { return Ok(()) };
            self.start_waiting(waiting)?;
            self.tell_warnings()?;
        }
        Ok(())
    }

    fn start_waiting(&mut self, waiting: Waiting) -> Result<(), DriveError> {
        let stopped = self.dismissal(&waiting);
        match (waiting, stopped) {
            (Waiting::Step { path, attempt }, None) => self.start(&path, attempt),
            (Waiting::Step { path, attempt }, Some(reason)) => {
                self.finish_step(&path, attempt, Finished::refused(Outcome::Cancelled, reason))
            }
            (Waiting::Recovery { path, frame }, None) => self.ask_for_recovery(&path, frame),
            (Waiting::Recovery { path, frame }, Some(_)) => {
                self.closing.remove(&frame);
                self.nested_close_failed(&path, frame, None)
            }
        }
    }

    /// Why a waiting agent is not needed any more.
    fn dismissal(&self, waiting: &Waiting) -> Option<String> {
        // a recipe that timed out itself is still recovered
        let (Waiting::Step { path, .. } | Waiting::Recovery { path, .. }) = waiting;
        let (around, _) = self.state.locate(path)?;
        self.state.frames[around].stopped.as_ref().map(|_| self.not_begun(path))
    }

    /// A sub-recipe was stopped: agents that wait in it do not have to wait for others to end.
    pub(super) fn release_waiting(&mut self) -> Result<(), DriveError> {
        let (stopped, wanted) = std::mem::take(&mut self.waiting_agents)
            .into_iter()
            .partition::<VecDeque<_>, _>(|waiting| self.dismissal(waiting).is_some());
        self.waiting_agents = wanted;
        stopped.into_iter().try_for_each(|waiting| self.start_waiting(waiting))
    }

    /// The limits of agents below a frame. Limits of the command line replace those of the recipe, and limits of a
    /// resume replace both.
    fn limits(&mut self, frame: FrameId) -> Vec<Limit> {
        let state = &self.state;
        let before = self
            .spent_before
            .get_or_insert_with(|| Spent { all: state.used.clone(), below: state.used_below.clone() });
        let mut limits = Vec::new();
        let mut at = Some(frame);
        while let Some(id) = at {
            let frame = &state.frames[id];
            let limit = match frame.parent {
                None => budget::of_run(&frame.unit.budget, &self.agents, before.all.clone()),
                Some(_) => Limit {
                    prefix: format!("{}/", frame.path),
                    budget: budget::without(&frame.unit.budget, &self.agents.raised),
                    before: before.below.get(&frame.path).cloned().unwrap_or_default(),
                },
            };
            limits.extend((limit.budget != Budget::default()).then_some(limit));
            at = frame.parent.map(|(parent, _)| parent);
        }
        limits
    }

    /// Notes once per program that its cost is unknown and cannot count against a budget in dollars.
    pub(super) fn note_unknown_cost(
        &mut self,
        frame: FrameId,
        path: &str,
        ended: &Ended,
    ) -> Result<(), DriveError> {
        let Some(usage) = ended.usage.as_ref().filter(|usage| usage.runs_without_cost > 0) else {
            return Ok(());
        };
        let program = usage.program.clone().unwrap_or_default();
        let is_limited = self.limits(frame).iter().any(|limit| limit.budget.usd.is_some());
        if !is_limited || !self.without_cost.insert(program.clone()) {
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
