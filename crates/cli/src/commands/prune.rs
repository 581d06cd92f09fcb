//! `prune`: removes old runs.

use runtime::runs::PrunedRuns;
use serde_json::json;

use super::stored_runs::runs_at;
use crate::report::words::count;
use crate::{
    args::{options::OutputFormat, stored::PruneArgs},
    environment::Environment,
    exit::Exit,
    out::Out,
    report::failure::Failure,
};

/// Removes old runs.
pub(crate) fn prune(args: &PruneArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let format = args.format.output_format;
    if args.keep.is_none() && args.older_than.is_none() {
        let failure = Failure::new(
            Exit::BadArguments,
            "choose which runs to remove: `--older-than DAYS`, `--keep N`, or both",
        );
        return Err(failure.announce(format, out));
    }
    let runs = runs_at(args.state.state_dir.as_deref(), environment)
        .map_err(|failure| failure.announce(format, out))?;
    let before = args.older_than.map(|days| {
        let age =
            jiff::SignedDuration::try_from_secs_f64(days * 86_400.0).unwrap_or(jiff::SignedDuration::ZERO);
        runtime::os::clock::now().checked_sub(age).unwrap_or(jiff::Timestamp::MIN)
    });
    let PrunedRuns { removed, waiting } = runs
        .prune(args.keep.unwrap_or(0), before, args.dry_run)
        .map_err(|error| Failure::new(Exit::Broken, error.to_string()).announce(format, out))?;
    match format {
        OutputFormat::Json => {
            out.json(&json!({ "removed": removed, "waiting": waiting, "dry_run": args.dry_run }))
        }
        OutputFormat::Text => {
            removed.iter().for_each(|id| out.result(id));
            let word = if args.dry_run { "would be removed" } else { "removed" };
            match removed.len() {
                0 => out.notice("no run is old enough to be removed; running ones are never removed"),
                number => out.notice(&format!("{} {word}", count(number, "run"))),
            }
            for id in &waiting {
                let cancel = runs.hints.command(&format!("cancel {id}"));
                out.notice(&format!("kept, because it waits for a person: {id}. To give it up: {cancel}"));
            }
        }
    }
    Ok(Exit::Success)
}
