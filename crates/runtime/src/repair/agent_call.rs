//! Calls an agent between two attempts. Its usage counts in the run.

use std::{path::PathBuf, sync::Arc, time::Duration};

use engine::{
    Event,
    run::{
        budget::{self, Limit},
        message::budget_used_up,
        outcome::AgentTrouble,
    },
};
use recipe::plan::{JsonMode, Permissions, Step};
use tokio::sync::{Notify, mpsc, watch};

use super::{AutoFixError, between_attempts::BetweenAttempts, proposal::Repairer};
use crate::{
    agents::User,
    os::{environment::Environment, guardian::GuardianProcess},
    run::Halt,
    steps::{
        agent::{
            attempt::{AgentTask, run_once},
            ledger::Ledger,
            request::AgentRequest,
        },
        shell::attempt::StopSignal,
    },
};

/// How long a call may take.
const REPAIR_SECONDS: f64 = 1800.0;

/// One call of an agent.
pub(super) struct AgentCall<'a> {
    /// The number of the repair.
    pub(super) number: u32,
    /// The folder for its files, relative to the run's folder.
    pub(super) dir: PathBuf,
    /// Its working directory.
    pub(super) cwd: PathBuf,
    /// The agent program; the run's own if absent.
    pub(super) program: Option<&'a str>,
    /// The prompt.
    pub(super) prompt: String,
}

/// The answer of an agent, and the stop if one was requested meanwhile.
pub(super) type Asked = (Result<String, Silence>, Option<Halt>);

/// Why there is no answer.
pub(super) enum Silence {
    /// The agent did not answer.
    Agent(String),
    /// Its service, or the network, does not work: there is no proposal to refuse.
    Service(String),
}

impl Repairer<'_> {
    /// Asks the agent. Returns its answer, and the stop if one was requested meanwhile. Its usage counts in the run.
    pub(super) fn ask(
        &mut self,
        desk: &mut BetweenAttempts<'_>,
        call: AgentCall<'_>,
    ) -> Result<Asked, AutoFixError> {
        let Some(step) = self.plan.root().steps.first() else {
            return Ok((Err(Silence::Agent("the recipe has no steps".to_owned())), None));
        };
        let limit = self.agents.budgets().limit(&self.plan.root().budget, self.spent.clone());
        if let Some(exhausted) = budget::used_up(std::slice::from_ref(&limit), &Ledger::default()) {
            return Ok((Err(Silence::Agent(budget_used_up(&exhausted))), None));
        }
        let task = self.task(step, limit, call);
        let mut guardian =
            GuardianProcess::new(self.host.guardian.clone(), Some(self.folder.path().to_owned()));
        let (gate, go) = watch::channel(StopSignal::None);
        let (progress, told) = mpsc::unbounded_channel();
        let watched = desk.watch(&gate, told, async move {
            let wake = Arc::new(Notify::new());
            let ticking = Arc::clone(&wake);
            // its output is not followed here, so a slow timer triggers the reads
            let clock = tokio::spawn(async move {
                loop {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    ticking.notify_one();
                }
            });
            let finished = guardian.while_it(run_once(task, wake, go, progress)).await;
            guardian.end();
            clock.abort();
            finished
        });
        let (finished, halt) = watched?;
        let (call, usage) = finished?;
        self.spent.add(&usage);
        desk.record(Event::AgentUsed { purpose: "repair".to_owned(), usage })?;
        let is_elsewhere = call.trouble.is_some_and(|trouble| trouble != AgentTrouble::Request);
        let answer = match call.result {
            Ok(said) => Ok(said.text),
            Err(error) if is_elsewhere => Err(Silence::Service(error)),
            Err(error) => Err(Silence::Agent(error)),
        };
        Ok((answer, halt))
    }

    /// The call as a task, like that of an agent step. Of the recipe's first step, it keeps what suits a repair.
    fn task(&self, step: &Step, limit: Limit, call: AgentCall<'_>) -> AgentTask {
        let (json, exit_codes) = (JsonMode::Text, Vec::new());
        let run_id = self.folder.id();
        let ledger: Arc<Ledger> = Arc::default();
        AgentTask {
            run: self.folder.path().to_owned(),
            env: Environment::shared(Arc::new(
                self.host.step_env(&self.host.tree(&run_id), Some(self.folder.path())),
            )),
            run_id,
            path: "repair".to_owned(),
            step: Arc::new(Step { json, json_schema: None, exit_codes, ..step.clone() }),
            attempt: call.number,
            purpose: Some("repair"),
            program: call.program.map_or_else(|| self.agents.program().to_owned(), str::to_owned),
            others: Vec::new(),
            settings: self.agents.clone(),
            request: AgentRequest::new(call.prompt, Permissions::FULL, Some(REPAIR_SECONDS)),
            cwd: call.cwd,
            dir: call.dir,
            grace: self.host.grace,
            user: if self.host.is_root { User::Root } else { User::Ordinary },
            limits: vec![limit],
            account: ledger.open("repair"),
            ledger,
            performer: self.performer.clone(),
            instance: None,
        }
    }
}
