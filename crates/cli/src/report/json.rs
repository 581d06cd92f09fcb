//! Results and summaries of runs as JSON: facts of the run, with the exit codes and the commands of this program.

use engine::EndReason;
use runtime::{
    report::{
        RunResult,
        auto_fix::Report,
        evidence::{Evidence, Note},
    },
    runs::RunSummary,
    store::secrets::Mask,
};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Value as Json, json};

use super::hints::{Hints, start_command};
use crate::exit::Exit;

fn exit_code(reason: Option<EndReason>) -> Option<u8> {
    reason.map(|reason| Exit::of(reason).code())
}

/// A result of a run, and the commands that reach it.
pub(crate) struct ResultJson<'a>(pub(crate) &'a RunResult, pub(crate) &'a Hints);

impl Serialize for ResultJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ResultJson(result, hints) = self;
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
        if result.dry_run {
            map.serialize_entry("inputs", &result.inputs)?;
        }
        map.serialize_entry("failure", &result.failure)?;
        if !result.cleanup_failures.is_empty() {
            map.serialize_entry("cleanup_failures", &result.cleanup_failures)?;
        }
        map.serialize_entry("diagnosis", &result.diagnosis)?;
        map.serialize_entry("fingerprint", &result.fingerprint)?;
        let advice: Vec<String> = result.advice.iter().map(|advice| hints.advice(advice)).collect();
        map.serialize_entry("advice", &advice)?;
        if !result.asks.is_empty() {
            map.serialize_entry("asks", &result.asks)?;
        }
        if let Some(evidence) = &result.evidence {
            map.serialize_entry("evidence", &EvidenceJson { evidence, mask: &result.mask, hints })?;
        }
        if let Some(task) = &result.task {
            map.serialize_entry("orchestration", &task.told)?;
        }
        if let Some(fix) = &result.auto_fix {
            map.serialize_entry("auto_fix", &auto_fix(fix, hints))?;
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
        let resume = result.resume.as_ref().map(|resume| hints.next(resume));
        map.serialize_entry("resume_command", &resume)?;
        map.serialize_entry("run_dir", &result.run_dir)?;
        map.end()
    }
}

/// The evidence of a run.
struct EvidenceJson<'a> {
    evidence: &'a Evidence,
    mask: &'a Mask,
    hints: &'a Hints,
}

impl Serialize for EvidenceJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let EvidenceJson { evidence, mask, hints } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("recipe_digest", &evidence.recipe_digest)?;
        map.serialize_entry("recipe_path", &evidence.recipe_path)?;
        if let Some(first) = &evidence.began_with {
            map.serialize_entry("began_with", first)?;
        }
        map.serialize_entry("working_dir", &evidence.working_dir)?;
        map.serialize_entry("repro_command", &start_command(&evidence.start_again))?;
        if let Some(spawned) = &evidence.spawned {
            map.serialize_entry("spawned", spawned)?;
        }
        map.serialize_entry("attempts", &evidence.attempts)?;
        map.serialize_entry("resumes", &evidence.resumes)?;
        map.serialize_entry("retries", &evidence.retries)?;
        let note = |note: &Note| {
            let message = hints.note(&note.message, note.next.as_ref());
            json!({ "step": note.step, "message": mask.text(&message) })
        };
        map.serialize_entry("notes", &evidence.notes.iter().map(note).collect::<Vec<_>>())?;
        map.end()
    }
}

/// The auto-fix report.
fn auto_fix(fix: &Report, hints: &Hints) -> Json {
    let mut json = serde_json::to_value(fix).unwrap_or_default();
    if let Some(escalation) = &fix.escalation {
        let options: Vec<String> = escalation.options.iter().map(|option| hints.next(option)).collect();
        json["escalation"]["options"] = json!(options);
    }
    json
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
