//! `cancel`: stops a run, and returns when all its processes have ended.

use runtime::{
    machine::local::GRACE,
    os::process,
    runs::{CancelError, CancelRequest, Cancelled},
    store::folder::owner_words,
};
use serde_json::json;

use super::stored_runs::{find, not_found, runs_at, unreadable};
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
        let folder = find(&runs, &args.run)?;
        let request = CancelRequest { run: folder.id(), origin: Some(host::origin()) };
        let cancelled = runs.cancel(&request, GRACE).map_err(|error| match error {
            CancelError::Find(error) => not_found(&error, &runs),
            CancelError::Open(error) => unreadable(&error, &folder),
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
