//! `run`: translates the command line into a request for a run, and shows its result.

mod failing;

use std::path::{Path, PathBuf};

use runtime::{
    orchestration::task_report,
    report::RunResult,
    requests::{RequestError, RunRequest},
};

pub(crate) use failing::{broken, refusal, report_missing, report_refused, request_failed};
use failing::{report_failure, stored_result};

use crate::{
    args::{
        ExplainArgs, RunArgs, ValidateArgs,
        options::{OutputFormat, RunOptions},
        stored::ResumeArgs,
        task::TaskOptions,
    },
    commands::{explain, resume, validate},
    environment::Environment,
    exit::Exit,
    host::{self, StoredRuns},
    load_recipe,
    out::Out,
    report::{
        failure::Failure,
        failure_block::{FailureView, ReportLength, Snippet},
        github::Workflow,
        result::{self, ResultView, SummaryPlace},
        terminal_listener::{Shown, TerminalListener, detail},
        wrap::UNLIMITED,
    },
};

/// Runs a recipe, or only checks or explains it if the flags say so.
pub(crate) fn run(args: RunArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let Some(asked) = args.recipe.clone().filter(|asked| !asked.is_empty()) else {
        return Err(load_recipe::nothing_asked("RECIPE [OPTIONS]"));
    };
    if args.validate_only {
        return validate::validate(&validate_args(args, asked), environment, out);
    }
    if args.explain {
        return explain::explain(&explain_args(args, asked), environment, out);
    }
    if args.previous_run_id.is_some() {
        return resume::resume(&resume_args(args, asked), environment, out);
    }
    let format = args.format.output_format;
    let request = match request(&args, &asked, environment) {
        Ok(request) => request,
        Err(failure) => return Ok(report_missing(&failure, &asked, format, out)),
    };
    let runs = match host::runs(args.options.state_dir.as_deref(), environment) {
        // an unusable configuration is reported by the run
        Ok(runs) => runs.believing(environment.machine.knowledge(&request.working_dir).unwrap_or_default()),
        Err(failure) => return Ok(report_missing(&failure, &asked, format, out)),
    };
    let mut listener = TerminalListener::new(&args.options, format, environment, out)
        .showing(Shown::All, &runs.hints)
        .asking(&runs, None);
    let result = runs.run(&request, &environment.machine, &mut listener);
    let recipe = listener.recipe.take();
    let failure = match result {
        Ok(result) => {
            let request = Concluding { options: &args.options, format, environment };
            return Ok(conclude(&runs, result, &request, out));
        }
        Err(RequestError::Invalid { checked, .. }) => {
            load_recipe::report(&checked, environment, out);
            return Ok(report_refused(&checked, &asked, format, out));
        }
        Err(RequestError::Resume(error)) => Failure::new(Exit::Broken, error.to_string()),
        Err(error) => request_failed(error, &runs, &args.reading.places, environment),
    };
    let known = stored_result(&failure, &runs);
    let known = known.unwrap_or_else(|| refusal(recipe.unwrap_or(asked), failure.exit));
    Ok(report_failure(&failure, known, format, out))
}

/// The request that the command line describes.
fn request(args: &RunArgs, asked: &str, environment: &Environment) -> Result<RunRequest, Failure> {
    let mut inputs = load_recipe::inputs(&args.reading.context, environment)?;
    inputs.own.extend(args.given.iter().cloned());
    Ok(RunRequest {
        recipe: asked.to_owned(),
        working_dir: working_dir(args.reading.places.working_dir.as_deref(), environment),
        inputs,
        options: args.options.request(&args.reading, environment),
        beside: args.options.beside(),
        origin: Some(host::origin()),
    })
}

/// The command line whose result is shown.
pub(crate) struct Concluding<'a> {
    pub(crate) options: &'a RunOptions,
    pub(crate) format: OutputFormat,
    pub(crate) environment: &'a Environment,
}

/// Shows the result of a run and returns the exit code.
pub(crate) fn conclude(
    runs: &StoredRuns,
    mut result: RunResult,
    request: &Concluding<'_>,
    out: &mut Out,
) -> Exit {
    let Concluding { options, format, environment } = *request;
    if let (OutputFormat::Json, Some(run)) = (format, &result.run_id) {
        result.evidence = runs.evidence(run);
    }
    let run = result.run_id.as_ref().filter(|_| result.recipe_name == "smart-orchestrator");
    let opened = run.and_then(|run| runs.open(runs.find(run).ok()?).ok());
    result.task = opened.as_ref().and_then(task_report).map(Box::new);
    let view = ResultView {
        format,
        detail: detail(options, environment),
        summary: SummaryPlace::after(&result, options.quiet),
        width: match environment.stdout_is_terminal {
            true => environment.width,
            false => UNLIMITED,
        },
        failure: FailureView {
            width: environment.wrap_width(environment.stderr_is_terminal).unwrap_or(UNLIMITED),
            length: if options.verbose { ReportLength::Full } else { ReportLength::Short },
            snippet: snippet(environment),
            hints: &runs.hints,
            agents: environment.machine.described_agents(&environment.machine.cwd),
            keep: result::keeping(runs, &result),
        },
    };
    let exit = result::show(&result, &view, out);
    if let Some(workflow) = Workflow::around(environment) {
        result::tell_workflow(&workflow, &result, runs, &view.failure, out);
    }
    exit
}

/// The working directory of a recipe.
pub(crate) fn working_dir(asked: Option<&Path>, environment: &Environment) -> PathBuf {
    asked.map_or_else(|| environment.machine.cwd.clone(), |dir| environment.absolute(dir))
}

/// How much of the last output a failure shows.
pub(crate) fn snippet(environment: &Environment) -> Snippet {
    let number = |name: &str, usual: u64| {
        environment.get(name).and_then(|text| text.trim().parse().ok()).unwrap_or(usual)
    };
    Snippet {
        lines: number("AMPLIHACK_RECIPE_SNIPPET_LINES", 20) as usize,
        bytes: number("AMPLIHACK_RECIPE_SNIPPET_BYTES", 8192),
    }
}

fn validate_args(args: RunArgs, asked: String) -> ValidateArgs {
    ValidateArgs { recipes: vec![asked], reading: args.reading, format: args.format }
}

/// `RECIPE --previous-run-id RUN [--start-from STEP]` is another spelling of `resume`.
fn resume_args(args: RunArgs, asked: String) -> ResumeArgs {
    ResumeArgs {
        accept_repair: false,
        run: args.previous_run_id,
        recipe: Some(asked.into()),
        plan: false,
        from: args.start_from,
        rerun_effects: false,
        rerun_interrupted: false,
        skip_interrupted: false,
        rerun_producers: false,
        plan_digest: None,
        yes: args.yes,
        of_this_recipe: true,
        task: TaskOptions::default(),
        reading: args.reading,
        options: args.options,
        format: args.format,
    }
}

fn explain_args(args: RunArgs, asked: String) -> ExplainArgs {
    ExplainArgs {
        recipe: Some(asked),
        graph: args.graph,
        verbose: args.options.verbose,
        reading: args.reading,
        agent_binary: args.options.agent_binary,
        permissions: args.options.permissions,
        format: args.format,
    }
}
