//! The verbs of `orch` that steps of a run call: translates them, prints their object.

use runtime::orchestration::{self, PublishStage, RunVerb, VerbError};

use crate::{
    args::run_verbs::{PublishStageArg, RunVerbArgs},
    environment::Environment,
    exit::Exit,
    out::Out,
    report::failure::Failure,
};

/// Carries out a verb for the step that called it.
pub(super) fn call(verb: &RunVerbArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    match orchestration::call(&translated(verb), &environment.machine.bare()) {
        Ok(result) => {
            if let Some(line) = result.say {
                out.notice(&format!("[do] {line}"));
            }
            out.result(&result.value.to_string());
            Ok(if result.failed { Exit::Failed } else { Exit::Success })
        }
        Err(error @ VerbError::Caller(_)) => Err(Failure::new(Exit::BadArguments, error.to_string())),
        Err(error) => Err(Failure::new(Exit::Failed, error.to_string())),
    }
}

fn translated(verb: &RunVerbArgs) -> RunVerb {
    match verb {
        RunVerbArgs::Begin => RunVerb::Begin,
        RunVerbArgs::Route => RunVerb::Route,
        RunVerbArgs::Workspace { streams: true, .. } => RunVerb::Streams,
        RunVerbArgs::Workspace { listed: true, .. } => RunVerb::Listed,
        RunVerbArgs::Workspace { .. } => RunVerb::Workspace,
        RunVerbArgs::Detect => RunVerb::Detect,
        RunVerbArgs::Report { workstreams: true } => RunVerb::ReportListed,
        RunVerbArgs::Report { workstreams: false } => RunVerb::Report,
        RunVerbArgs::Findings => RunVerb::Findings,
        RunVerbArgs::Conclude => RunVerb::Conclude,
        RunVerbArgs::Checks => RunVerb::Checks,
        RunVerbArgs::Evidence { of: Some(step) } => RunVerb::WorkOf(step.clone()),
        RunVerbArgs::Evidence { of: None } => RunVerb::Evidence,
        RunVerbArgs::Judge { work: true } => RunVerb::JudgeWork,
        RunVerbArgs::Judge { work: false } => RunVerb::Judge,
        RunVerbArgs::Guard => RunVerb::Guard,
        RunVerbArgs::Commit => RunVerb::Commit,
        RunVerbArgs::Publish { stage } => RunVerb::Publish(match stage {
            PublishStageArg::Push => PublishStage::Push,
            PublishStageArg::Pr => PublishStage::Pr,
            PublishStageArg::Merge => PublishStage::Merge,
        }),
        RunVerbArgs::Terminal => RunVerb::Terminal,
    }
}
