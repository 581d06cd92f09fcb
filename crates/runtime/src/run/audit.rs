//! The audit log: one JSON line per step, for monitoring tools.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use engine::{Event, RunState};
use jiff::Timestamp;
use recipe::plan::{Step, StepKind};
use serde_json::json;

use crate::{os::files, run::DriveError, store::secrets::Mask};

/// An open audit log.
#[derive(Debug)]
pub struct Audit {
    file: File,
    path: PathBuf,
}

impl Audit {
    /// Creates the log of a run. The run does not start if that fails.
    pub fn create(dir: &Path, recipe: &str, run_id: &str, at: Timestamp) -> Result<Audit, DriveError> {
        let stamp = at.strftime("%Y%m%dT%H%M%SZ");
        let path = dir.join(format!("{}-{stamp}-{run_id}.jsonl", safe_name(recipe)));
        files::point("audit.create")
            .and_then(|()| std::fs::create_dir_all(dir))
            .map_err(|source| DriveError::Audit { path: path.clone(), source })?;
        Audit::open(path)
    }

    /// Opens a log to append to it; creates it if it is missing.
    pub(crate) fn open(path: PathBuf) -> Result<Audit, DriveError> {
        match OpenOptions::new().append(true).create(true).mode(0o600).open(&path) {
            Ok(file) => Ok(Audit { file, path }),
            Err(source) => Err(DriveError::Audit { path, source }),
        }
    }

    /// Its file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the line of a step that ended.
    pub(crate) fn record(&mut self, event: &Event, state: &RunState, mask: &Mask) -> Result<(), DriveError> {
        let (Event::StepFinished { path, .. } | Event::StepSkipped { path, .. }) = event else {
            return Ok(());
        };
        let Some((frame, at)) = state.locate(path) else { return Ok(()) };
        let (frame, step) = (&state.frames[frame], &state.frames[frame].steps[at]);
        let ended = step.ended.as_deref();
        let error =
            ended.and_then(|ended| ended.error.as_deref()).map(|error| mask.quotation(error).into_owned());
        let usage = ended.and_then(|ended| ended.usage.as_ref());
        let line = json!({
            "step_id": frame.step_id(at),
            "status": step.status.as_str(),
            "duration_ms": (step.taken().unwrap_or(0.0) * 1000.0).round() as u64,
            "error": error,
            "output_len": step.value.as_ref().map_or(0, |value| value.render().len()),
            "path": path,
            "type": frame.unit.steps[at].kind.word(),
            "shell": shell_word(&frame.unit.steps[at]),
            "recipe": frame.unit.name,
            "attempts": step.attempts(),
            "started_at": step.started_at,
            "cleanup": step.is_cleanup,
            "agent": usage.and_then(|usage| usage.program.as_ref()),
            "permissions": usage.and_then(|usage| usage.permissions.as_ref()),
            "skipped": step.skipped.as_ref().map(engine::run::outcome::SkipReason::describe),
        });
        let written = files::write_all("audit.write", &mut self.file, format!("{line}\n").as_bytes());
        written.map_err(|source| DriveError::Audit { path: self.path.clone(), source })
    }
}

/// How bash runs the command of a step; nothing for other steps.
fn shell_word(step: &Step) -> Option<&'static str> {
    matches!(step.kind, StepKind::Shell { .. }).then(|| step.shell.as_str())
}

/// A recipe's name as part of a file name. The result cannot lead out of the directory.
fn safe_name(name: &str) -> String {
    let safe: String = name
        .chars()
        .take(100)
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' })
        .collect();
    let safe = safe.trim_start_matches('.').to_owned();
    if safe.is_empty() { "recipe".to_owned() } else { safe }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_the_directory() {
        for (name, expected) in
            [("build", "build"), ("../../x", "_.._x"), ("a/b c", "a_b_c"), ("...", "recipe"), ("", "recipe")]
        {
            assert_eq!(safe_name(name), expected, "{name}");
        }
    }
}
