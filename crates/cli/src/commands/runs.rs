//! `runs`: past and present runs, newest first.

use super::stored_runs::runs_at;
use crate::report::{
    hints::plain,
    json::SummaryJson,
    table::{self, Reader},
};
use crate::{
    args::{options::OutputFormat, stored::RunsArgs},
    environment::Environment,
    exit::Exit,
    out::Out,
    report::failure::Failure,
};

/// Lists past and present runs.
pub(crate) fn runs(args: &RunsArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let format = args.format.output_format;
    let runs = runs_at(args.state.state_dir.as_deref(), environment);
    let list = runs.map_err(|failure| failure.announce(format, out))?.list(args.limit);
    match format {
        OutputFormat::Json => out.json(&list.iter().map(SummaryJson).collect::<Vec<_>>()),
        OutputFormat::Text if list.is_empty() => {
            out.notice(&format!("no runs yet; `{}` starts one", plain("RECIPE")));
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
