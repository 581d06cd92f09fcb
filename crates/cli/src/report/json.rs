//! Results and summaries of runs as JSON: facts of the run, with the exit codes of this program.

use engine::EndReason;
use runtime::{report::RunResult, runs::RunSummary};
use serde::{Serialize, Serializer, ser::SerializeMap};

use crate::exit::Exit;

fn exit_code(reason: Option<EndReason>) -> Option<u8> {
    reason.map(|reason| Exit::of(reason).code())
}

/// A result of a run.
pub(crate) struct ResultJson<'a>(pub(crate) &'a RunResult);

impl Serialize for ResultJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let result = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("schema_version", &result.schema_version)?;
        map.serialize_entry("recipe_name", &result.recipe_name)?;
        map.serialize_entry("run_id", &result.run_id)?;
        map.serialize_entry("tracking_id", &result.tracking_id)?;
        map.serialize_entry("success", &result.success)?;
        map.serialize_entry("status", &result.status)?;
        map.serialize_entry("outcome", &result.outcome)?;
        map.serialize_entry("exit_code", &exit_code(result.reason))?;
        map.serialize_entry("dry_run", &result.dry_run)?;
        map.serialize_entry("started_at", &result.started_at)?;
        map.serialize_entry("finished_at", &result.finished_at)?;
        map.serialize_entry("duration", &result.duration)?;
        map.serialize_entry("step_results", &result.step_results)?;
        map.serialize_entry("output", &result.output)?;
        map.serialize_entry("context", &result.context)?;
        map.serialize_entry("failure", &result.failure)?;
        map.serialize_entry("diagnosis", &result.diagnosis)?;
        map.serialize_entry("fingerprint", &result.fingerprint)?;
        map.serialize_entry("advice", &result.advice)?;
        if let Some(evidence) = &result.evidence {
            map.serialize_entry("evidence", evidence)?;
        }
        if let Some(fix) = &result.auto_fix {
            map.serialize_entry("auto_fix", fix)?;
        }
        map.serialize_entry("usage", &result.usage)?;
        if let Some(origin) = &result.origin {
            map.serialize_entry("origin", origin)?;
        }
        if let Some(origin) = &result.cancelled_by {
            map.serialize_entry("cancelled_by", origin)?;
        }
        map.serialize_entry("resumes", &result.resumes)?;
        map.serialize_entry("ended_processes", &result.ended_processes)?;
        if !result.left_processes.is_empty() {
            map.serialize_entry("left_processes", &result.left_processes)?;
        }
        map.serialize_entry("resume_command", &result.resume_command)?;
        map.serialize_entry("run_dir", &result.run_dir)?;
        map.end()
    }
}

/// A summary of a run.
pub(crate) struct SummaryJson<'a>(pub(crate) &'a RunSummary);

impl Serialize for SummaryJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let run = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("run_id", &run.run_id)?;
        map.serialize_entry("recipe_name", &run.recipe_name)?;
        map.serialize_entry("status", &run.status)?;
        map.serialize_entry("started_at", &run.started_at)?;
        map.serialize_entry("duration", &run.duration)?;
        map.serialize_entry("exit_code", &exit_code(run.reason))?;
        map.serialize_entry("error", &run.error)?;
        map.serialize_entry("working_dir", &run.working_dir)?;
        map.serialize_entry("pid", &run.pid)?;
        if let Some(usage) = &run.usage {
            map.serialize_entry("usage", usage)?;
        }
        if let Some(origin) = &run.origin {
            map.serialize_entry("origin", origin)?;
        }
        map.end()
    }
}
