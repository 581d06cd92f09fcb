//! `cancel`: stops a run, and returns when all its processes have ended.

use runtime::{
    machine::local::GRACE,
    os::process,
    requests::{RequestError, Silent},
    runs::{CancelRequest, Cancelled},
    store::{cancel_request::CleanupChoice, folder::owner_words},
};
use serde_json::json;

use super::stored_runs::{find_or_last, not_found, runs_at, unreadable};
use crate::{
    args::{options::OutputFormat, stored::CancelArgs},
    environment::Environment,
    exit::Exit,
    out::Out,
    report::failure::Failure,
};
use crate::{host, report::words::still_alive};

/// Stops a run.
pub(crate) fn cancel(args: &CancelArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let format = args.format.output_format;
    let result = runs_at(args.state.state_dir.as_deref(), environment).and_then(|runs| {
        let folder = find_or_last(&runs, args.run.as_deref(), out)?;
        let cleanup = if args.no_cleanup { CleanupChoice::Skipped } else { CleanupChoice::Wanted };
        let request = CancelRequest { run: folder.id(), origin: Some(host::origin()), cleanup };
        // said here because the end of the run does not mention it
        let undone = runs.undo_repair(&folder, GRACE).map_err(|error| unreadable(&error, &folder))?;
        undone.iter().for_each(|message| out.notice(message));
        let cancelled =
            runs.cancel(&request, &environment.machine, &mut Silent).map_err(|error| match error {
                RequestError::Find(error) => not_found(&error, &runs),
                RequestError::Open { error, folder } => unreadable(&error, &folder),
                error => {
                    let without = runs.hints.command(&format!("cancel {} --no-cleanup", folder.id()));
                    Failure::new(Exit::Broken, format!("cannot run the cleanup steps: {error}"))
                        .hint(format!("to cancel it without them: {without}"))
                }
            })?;
        Ok((folder.id(), cancelled, runs.hints.clone()))
    });
    let (id, cancelled, hints) = result.map_err(|failure| failure.announce(format, out))?;
    let (status, text, exit) = match cancelled {
        Cancelled::Stopped => {
            let rest = process::visibility_warning().unwrap_or("all its processes have ended");
            ("cancelled", format!("run {id} cancelled; {rest}"), Exit::Success)
        }
        Cancelled::Left(processes) => {
            let failure = processes.iter().fold(
                Failure::new(
                    Exit::Broken,
                    format!("run {id} cancelled, but some of its processes are still alive"),
                ),
                |failure, process| failure.hint(still_alive(process)),
            );
            return Err(failure.announce(format, out));
        }
        Cancelled::AlreadyOver(status) => {
            (status.as_str(), format!("run {id} has already ended ({})", status.as_str()), Exit::Success)
        }
        Cancelled::StillAlive(pid) => {
            let message = format!("run {id} does not stop: {} is alive", owner_words(pid));
            let again = hints.command(&format!("cancel {id}"));
            let force = match pid {
                0 => format!("end that process there; then `{again}` clears up"),
                pid => format!("end it by force: kill -9 {pid}; then `{again}` clears up"),
            };
            return Err(Failure::new(Exit::Broken, message).hint(force).announce(format, out));
        }
    };
    match format {
        OutputFormat::Json => out.json(&json!({ "run_id": id, "status": status, "message": text })),
        OutputFormat::Text => out.result(&text),
    }
    Ok(exit)
}
