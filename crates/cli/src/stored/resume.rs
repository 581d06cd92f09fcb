//! Going on with a run.

use recipe::check::{Given, check};
use runtime::{
    folder::{Options, RunFolder},
    runs::{Interrupted, Resume, ResumeError, Runs},
    sources::Recording,
};
use serde_json::json;

use super::{find, runs_at};
use crate::{
    args::{options::OutputFormat, stored::ResumeArgs},
    environment::Environment,
    exit::Exit,
    failure::Failure,
    host,
    out::Out,
    outcome, reading,
    run::{broken, progress, snippet},
};

/// Goes on with a run from where it stopped.
pub(crate) fn resume(args: &ResumeArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let format = args.format.output_format;
    resume_run(args, environment, out).map_err(|failure| failure.announce(format, out))
}

fn resume_run(args: &ResumeArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let runs = runs_at(args.options.state_dir.as_deref(), environment)?;
    let folder = find(&runs, &args.run)?;
    let header = folder.header().map_err(|error| Failure::new(Exit::Broken, error.to_string()))?;
    let library = reading::library(&args.places, environment);
    let recording = Recording::new(&library);
    let edited = match &args.recipe {
        None => None,
        Some(file) => {
            let loaded = reading::find(&library, &file.to_string_lossy())?;
            recording.root(&loaded);
            let names = header.given.iter().map(|(name, _)| name.clone()).collect();
            let checked = check(loaded, &recording, &Given { names });
            let checked = if args.strictness.strict { checked.strict() } else { checked };
            reading::report(&checked, environment, out);
            let plan = reading::accept(checked).map_err(|_| {
                Failure::new(Exit::Invalid, format!("the edited recipe `{}` is invalid", file.display()))
            })?;
            Some((plan, &recording))
        }
    };
    let plan = match &edited {
        Some((plan, _)) => plan.clone(),
        None => {
            runs.open(folder.clone()).map_err(|error| Failure::new(Exit::Broken, error.to_string()))?.plan
        }
    };
    let program = args.options.agent_binary.clone().or(header.options.agent_binary.clone());
    let change = |options: &mut Options| change(options, args);
    let resume = Resume {
        interrupted: match (args.rerun_interrupted, args.skip_interrupted) {
            (true, _) => Interrupted::Rerun,
            (_, true) => Interrupted::Skip,
            _ => Interrupted::Ask,
        },
        edited,
        change: &change,
        agents: host::agents(
            program.as_deref(),
            args.options.budget.to_budget(),
            &header.working_dir,
            environment,
        )?,
        host: host::host(&plan, &header.working_dir, environment),
        loader: &library,
    };
    go_on(&runs, folder, resume, args, environment, out)
}

fn go_on(
    runs: &Runs,
    folder: RunFolder,
    resume: Resume<'_>,
    args: &ResumeArgs,
    environment: &Environment,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let format = args.format.output_format;
    let result = {
        let mut progress = progress(&args.options, format, environment, out);
        runs.resume(folder.clone(), resume, &mut progress)
    };
    match result {
        Ok(mut result) => {
            outcome::name_state_dir(&mut result, args.options.state_dir.as_deref());
            Ok(outcome::show(&result, format, &snippet(environment), out))
        }
        Err(ResumeError::Completed(run)) => {
            let message = format!("run {run} is completed already; nothing to resume");
            match format {
                OutputFormat::Json => match runs.open(folder) {
                    Ok(shown) => out.json(&shown.result()),
                    Err(_) => out.json(&json!({ "run_id": run, "status": "completed", "message": message })),
                },
                OutputFormat::Text => out.result(&message),
            }
            Ok(Exit::Success)
        }
        Err(error) => Err(explain(error, &outcome::state_dir_flag(args.options.state_dir.as_deref()))),
    }
}

fn explain(error: ResumeError, place: &str) -> Failure {
    let message = error.to_string();
    match error {
        ResumeError::Owned { run, .. } => Failure::new(Exit::Conflict, message)
            .hint(format!("watch it: recipe-runner-rs logs {run} -f{place}"))
            .hint(format!("stop it:  recipe-runner-rs cancel {run}{place}")),
        ResumeError::Choose { run, .. } => Failure::new(Exit::Waiting, message)
            .hint("look at what it did, then choose:")
            .hint(format!("run it again: recipe-runner-rs resume {run} --rerun-interrupted{place}"))
            .hint(format!("leave it out: recipe-runner-rs resume {run} --skip-interrupted{place}")),
        ResumeError::NoDirectory { .. } => Failure::new(Exit::Blocked, message),
        ResumeError::Run(error) => broken(error),
        ResumeError::Open(_) | ResumeError::Completed(_) => Failure::new(Exit::Broken, message),
    }
}

/// What the command line changes in the options of a run.
fn change(options: &mut Options, args: &ResumeArgs) {
    let given = &args.options;
    if given.max_parallel != 64 {
        options.max_parallel = given.max_parallel;
    }
    if given.max_agents.is_some() {
        options.max_agents = given.max_agents;
    }
    if given.step_timeout.is_some() {
        options.step_timeout = given.step_timeout;
    }
    if given.agent_binary.is_some() {
        options.agent_binary.clone_from(&given.agent_binary);
    }
    if given.audit_dir.is_some() {
        options.audit_dir.clone_from(&given.audit_dir);
    }
    options.no_auto_stage |= given.no_auto_stage;
}
