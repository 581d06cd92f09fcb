//! The verbs that steps call: each gathers facts, asks the rules and gives one JSON object.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value as Json;

use super::{
    begin,
    caller::{Caller, CallerError},
    closing, conclude, cycle, detect, findings, finish,
    finish::PublishStage,
    judge, listed, place, round_evidence,
    rounds::rounds,
    route, stream_sessions, streams,
    workspace::WorkspaceError,
};
use crate::{
    machine::host::Host,
    os::environment::Environment,
    runs::{Runs, SessionPlace},
    store::folder::FolderError,
};

/// What a step asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunVerb {
    Begin,
    Route,
    Workspace,
    /// The workspaces of a round.
    Streams,
    /// The workspaces of workstreams that a file lists.
    Listed,
    /// The report about those.
    ReportListed,
    Checks,
    /// What a round did.
    Evidence,
    /// Whether the agent step with this id did its work.
    WorkOf(String),
    Detect,
    Report,
    Judge,
    Findings,
    Conclude,
    Guard,
    /// The verdict about the work of a cycle.
    JudgeWork,
    Commit,
    Publish(PublishStage),
    Terminal,
}

/// What a verb gives.
#[derive(Clone, Debug, PartialEq)]
pub struct VerbResult {
    /// The object for stdout.
    pub value: Json,
    /// A line for people, while the run goes on.
    pub say: Option<String>,
    /// Whether the step fails.
    pub failed: bool,
}

/// Why a verb could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum VerbError {
    /// It was not called by a step.
    #[error(transparent)]
    Caller(#[from] CallerError),
    /// The step fails.
    #[error("{0}")]
    Failed(String),
    /// A file of the run could not be written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The event loop could not be started.
    #[error("cannot start the event loop: {0}")]
    Loop(std::io::Error),
}

impl From<WorkspaceError> for VerbError {
    fn from(error: WorkspaceError) -> VerbError {
        VerbError::Failed(error.to_string())
    }
}

/// Carries out a verb for the step that the environment names.
pub fn call(verb: &RunVerb, host: &Host) -> Result<VerbResult, VerbError> {
    let caller = Caller::open(Environment::shared(Arc::new(host.env.clone())))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(VerbError::Loop)?.block_on(carry_out(verb, &caller, host))
}

async fn carry_out(verb: &RunVerb, caller: &Caller, host: &Host) -> Result<VerbResult, VerbError> {
    match verb {
        RunVerb::Begin => Ok(result(&begin::begin(caller, host).await?)),
        RunVerb::Route => {
            let routed = route::route(caller);
            Ok(VerbResult { say: Some(routed.line()), ..result(&routed) })
        }
        RunVerb::Streams => {
            let streams = streams::prepare(caller, host).await?;
            Ok(VerbResult { say: Some(streams.line()), ..result(&streams) })
        }
        RunVerb::Listed => Ok(result(&listed::prepare(caller, host).await?)),
        RunVerb::ReportListed => Ok(result(&listed::report(caller, host).await)),
        RunVerb::Evidence => Ok(result(&round_evidence::evidence(caller).await)),
        RunVerb::Detect => {
            let detected = detect::detect(caller).await;
            rounds(caller.state())
                .last()
                .iter()
                .for_each(|round| stream_sessions::end(&session(caller, host), round));
            Ok(VerbResult { say: detected.line(), ..result(&detected) })
        }
        RunVerb::Report => Ok(result(&detect::report(caller, host).await?)),
        RunVerb::Findings => Ok(result(&findings::investigated(caller).await)),
        RunVerb::Judge => {
            let verdict = judge::verdict(caller).await;
            let verdict =
                verdict.ok_or_else(|| VerbError::Failed("there is no round to judge".to_owned()))?;
            let failed = verdict.stop && !verdict.accepted;
            Ok(VerbResult { say: Some(verdict.line()), failed, ..result(&verdict) })
        }
        RunVerb::Conclude => Ok(concluded(caller)),
        RunVerb::Workspace => Ok(result(&place::prepare(caller).await?)),
        RunVerb::Checks => Ok(result(&place::checks(caller).await)),
        RunVerb::WorkOf(id) => Ok(result(&finish::worked(caller, id).await?)),
        RunVerb::Guard => Ok(result(&cycle::guard(caller).await)),
        RunVerb::JudgeWork => Ok(result(&cycle::assess(caller).await)),
        RunVerb::Commit => Ok(result(&finish::commit(caller).await)),
        RunVerb::Publish(stage) => Ok(result(&finish::publish(caller, *stage).await)),
        RunVerb::Terminal => {
            let ended = finish::ended(caller).await;
            if let Some(round) = rounds(caller.state()).last() {
                stream_sessions::hand_over(&session(caller, host), round, &caller.text("repo_path"));
            }
            let failed = !ended.terminal.terminal_success;
            Ok(VerbResult { failed, ..result(&ended) })
        }
    }
}

/// The place of the run in its session tree.
fn session(caller: &Caller, host: &Host) -> SessionPlace {
    Runs::at(caller.home.clone()).session_place(host)
}

/// The final object; the step fails unless the result is accepted.
fn concluded(caller: &Caller) -> VerbResult {
    let Some(told) = conclude::orchestration(&caller.opened) else {
        return VerbResult { value: Json::Null, say: None, failed: true };
    };
    let is_plan = closing::is_plan(&caller.opened) && told.route.is_some();
    let failed = !told.accepted && !is_plan;
    let text = closing::result_text(&caller.opened, &told);
    let mut concluded = VerbResult { failed, ..result(&told) };
    concluded.value["text"] = text.into();
    concluded
}

fn result(value: &impl Serialize) -> VerbResult {
    VerbResult { value: serde_json::to_value(value).unwrap_or_default(), say: None, failed: false }
}
