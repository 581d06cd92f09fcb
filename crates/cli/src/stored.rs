//! The verbs about stored runs.
//!
//! Every one of them takes a run's id, a unique beginning of it, or `last`.

mod asked;
mod edited;
mod logs;
mod planned;
mod resume;
mod show;
mod table;

use std::{fs, io::ErrorKind, path::Path};

use runtime::{
    runs::{Cancelled, FindError, OpenError, Runs, repro::header_command},
    store::{folder::RunFolder, journal::JournalError, secrets::Mask},
};
use serde_json::json;

pub(crate) use logs::logs;
pub(crate) use resume::resume;

use crate::{
    args::{
        options::OutputFormat,
        stored::{CancelArgs, PruneArgs, RunsArgs, ShowArgs},
    },
    environment::Environment,
    exit::Exit,
    failure::Failure,
    host,
    out::Out,
    run::snippet,
    words::{count, still_alive},
};
use table::Reader;

/// The runs that are stored there; none yet is none, but what cannot be read is an error.
pub(crate) fn runs_at(state_dir: Option<&Path>, environment: &Environment) -> Result<Runs, Failure> {
    let runs = host::runs(state_dir, environment)?;
    match fs::read_dir(runs.dir()) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let message = format!("cannot read `{}`: {error}", runs.dir().display());
            Err(Failure::new(Exit::Broken, message).hint(
                "runs are stored there: name another directory with `--state-dir DIR`, or make it readable",
            ))
        }
        _ => Ok(runs),
    }
}

fn find(runs: &Runs, asked: &str) -> Result<RunFolder, Failure> {
    runs.find(asked).map_err(|error| {
        let hint = match &error {
            FindError::None(_) => format!("`{}` shows all runs", runs.reach().command("runs")),
            FindError::Several { .. } => "write more of the id".to_owned(),
        };
        Failure::new(Exit::NotFound, error.to_string()).hint(hint)
    })
}

fn unreadable(error: &OpenError, folder: &RunFolder) -> Failure {
    let failure = Failure::new(Exit::Broken, error.to_string());
    if !matches!(error, OpenError::Journal(JournalError::Damaged { .. })) {
        return failure;
    }
    let failure =
        failure.hint("nothing is read past the damage: put the file back from a copy, or start a new run");
    let Ok(header) = folder.header() else { return failure };
    let mut mask = Mask::default();
    mask.learn(&header.given());
    failure.hint(format!("start a new run: {}", header_command(&header, folder, &mask)))
}

/// Lists past and present runs.
pub(crate) fn runs(args: &RunsArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let format = args.format.output_format;
    let runs = runs_at(args.state.state_dir.as_deref(), environment);
    let list = runs.map_err(|failure| failure.announce(format, out))?.list(args.limit);
    match format {
        OutputFormat::Json => out.json(&list),
        OutputFormat::Text if list.is_empty() => {
            out.notice("no runs yet; `recipe-runner-rs RECIPE` starts one");
        }
        OutputFormat::Text => {
            let reader = match environment.stdout_is_terminal {
                true => Reader::Person { columns: environment.width },
                false => Reader::Program,
            };
            table::lines(&list, runtime::os::clock::now(), reader).iter().for_each(|line| out.result(line));
        }
    }
    Ok(Exit::Success)
}

/// Shows one run.
pub(crate) fn show(args: &ShowArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let format = args.format.output_format;
    let shown = runs_at(args.state.state_dir.as_deref(), environment)
        .and_then(|runs| {
            let folder = find(&runs, &args.run)?;
            runs.open(folder.clone()).map_err(|error| unreadable(&error, &folder))
        })
        .map_err(|failure| failure.announce(format, out))?;
    out.hide(&shown.mask);
    let result = if args.evidence { shown.result_with_processes() } else { shown.result() };
    match format {
        OutputFormat::Json => out.json(&result),
        OutputFormat::Text => show::write(&shown, &result, &snippet(environment), out),
    }
    Ok(Exit::Success)
}

/// Stops a run.
pub(crate) fn cancel(args: &CancelArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let format = args.format.output_format;
    let host = host::bare(environment.all(), environment);
    let result = runs_at(args.state.state_dir.as_deref(), environment).and_then(|runs| {
        let folder = find(&runs, &args.run)?;
        let cancelled = runs.cancel(&folder, host.grace).map_err(|error| unreadable(&error, &folder))?;
        Ok((folder.id(), cancelled, runs.reach().clone()))
    });
    let (id, cancelled, reach) = result.map_err(|failure| failure.announce(format, out))?;
    let (status, text, exit) = match cancelled {
        Cancelled::Stopped => {
            let rest = runtime::os::process::blindness().unwrap_or("nothing of it is alive");
            ("cancelled", format!("run {id} is cancelled; {rest}"), Exit::Success)
        }
        Cancelled::Left(processes) => {
            let failure = processes.iter().fold(
                Failure::new(Exit::Broken, format!("run {id} is cancelled, but not all of it has ended")),
                |failure, process| failure.hint(still_alive(process)),
            );
            return Err(failure.announce(format, out));
        }
        Cancelled::AlreadyOver(status) => (
            status.as_str(),
            format!("run {id} is over already ({}); nothing changed", status.as_str()),
            Exit::Success,
        ),
        Cancelled::StillAlive(pid) => {
            let message =
                format!("run {id} does not stop: {} is alive", runtime::store::folder::owner_words(pid));
            let again = reach.command(&format!("cancel {id}"));
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

/// Removes old runs.
pub(crate) fn prune(args: &PruneArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let format = args.format.output_format;
    if args.keep.is_none() && args.older_than.is_none() {
        let failure =
            Failure::new(Exit::BadArguments, "say what to remove: `--older-than DAYS`, `--keep N`, or both");
        return Err(failure.announce(format, out));
    }
    let runs = runs_at(args.state.state_dir.as_deref(), environment)
        .map_err(|failure| failure.announce(format, out))?;
    let before = args.older_than.map(|days| {
        let age =
            jiff::SignedDuration::try_from_secs_f64(days * 86_400.0).unwrap_or(jiff::SignedDuration::ZERO);
        runtime::os::clock::now().checked_sub(age).unwrap_or(jiff::Timestamp::MIN)
    });
    let removed = runs
        .prune(args.keep.unwrap_or(0), before, args.dry_run)
        .map_err(|error| Failure::new(Exit::Broken, error.to_string()).announce(format, out))?;
    match format {
        OutputFormat::Json => out.json(&json!({ "removed": removed, "dry_run": args.dry_run })),
        OutputFormat::Text => {
            removed.iter().for_each(|id| out.result(id));
            let word = if args.dry_run { "would be removed" } else { "removed" };
            match removed.len() {
                0 => out.notice("no run is old enough to be removed; running ones are never removed"),
                number => out.notice(&format!("{} {word}", count(number, "run"))),
            }
        }
    }
    Ok(Exit::Success)
}
