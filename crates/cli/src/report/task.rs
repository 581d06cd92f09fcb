//! What a task came to, for people: its text on stdout, the closing block beside it.

use engine::{
    RunStatus,
    orchestration::{ClosingFacts, StopReason, closing_block},
};
use runtime::report::{RunResult, TaskReport};

use super::{failure::clean, hints::Hints};
use crate::out::Out;

/// Whether a result is shown as that of a task.
pub(crate) fn of(result: &RunResult) -> Option<&TaskReport> {
    let is_over = !matches!(result.status, RunStatus::Waiting | RunStatus::Running);
    result.task.as_deref().filter(|_| is_over && !result.dry_run)
}

/// Shows what a task came to.
pub(crate) fn show(task: &TaskReport, result: &RunResult, hints: &Hints, quiet: bool, out: &mut Out) {
    let block = clean(&block(task, result, hints));
    match &task.text {
        Some(text) => {
            out.result(&clean(text));
            if !quiet {
                out.notice(&block);
            }
        }
        None => out.result(&block),
    }
}

/// The closing block of a task.
pub(crate) fn block(task: &TaskReport, result: &RunResult, hints: &Hints) -> String {
    let run = result.run_id.as_deref().unwrap_or("last");
    let more = task.told.rounds.len() + 2;
    let resume = match task.told.stop_reason {
        Some(StopReason::RoundsUsed | StopReason::NoProgress | StopReason::HollowTwice) => {
            format!("resume {run} --rounds {}", more.min(10))
        }
        _ => format!("resume {run}"),
    };
    // a run that is alive needs no other process
    let resume = task.told.stop_reason.map(|_| hints.command(&resume));
    let facts = ClosingFacts { resume_command: resume, ..task.closing.clone() };
    closing_block(&task.told, &facts)
}
