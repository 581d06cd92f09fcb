//! Running a recipe: what is refused before anything runs.
//!
//! Never starts a run that was not checked completely.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use recipe::{check::Checked, plan::Plan, value::Map};
use runtime::{
    discovery::Library,
    folder::Options,
    runs::{RunError, Runs, Start},
    sources::Recording,
};
use serde_json::{Value as Json, json};

use crate::{
    args::{
        ExplainArgs, RunArgs, ValidateArgs,
        options::{OutputFormat, RunOptions},
    },
    diagnostics,
    environment::Environment,
    exit::Exit,
    explain,
    failure::Failure,
    host,
    out::Out,
    outcome::{self, Snippet},
    progress::{Audience, Manner, Progress},
    reading, validate,
};

/// Runs a recipe, or only looks at it if the flags say so.
pub(crate) fn run(args: RunArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let Some(asked) = args.recipe.clone().filter(|asked| !asked.is_empty()) else {
        return Err(reading::nothing_asked());
    };
    if args.validate_only {
        return validate::validate(&validate_args(args, asked), environment, out);
    }
    if args.explain {
        return explain::explain(&explain_args(args, asked), environment, out);
    }
    let outside = reading::outside(&args.context, environment)?;
    let library = reading::library(&args.places, environment);
    let format = args.format.output_format;
    let loaded = match reading::find(&library, &asked) {
        Ok(loaded) => loaded,
        Err(failure) => return Ok(report_missing(&failure, &asked, format, out)),
    };
    let recording = Recording::new(&library);
    recording.root(&loaded);
    let checked = reading::examine(&recording, loaded, &outside, &args.strictness);
    if checked.plan.is_none() || !args.options.quiet {
        reading::report(&checked, environment, out);
    }
    let plan = match reading::accept(checked) {
        Ok(plan) => plan,
        Err(refused) => return Ok(report_refused(&refused, &asked, format, out)),
    };
    let given = outside.settings(plan.root(), |name| environment.raw(name));
    let job = Job { plan, given, library: &library, recording: &recording };
    execute(job, &args, environment, out).map_err(|failure| failure.announce(format, out))
}

/// A checked recipe and its values.
struct Job<'a> {
    plan: Plan,
    given: Map,
    library: &'a Library,
    recording: &'a Recording<'a>,
}

/// Hands a checked recipe to what runs it, and shows what comes of it.
fn execute(job: Job<'_>, args: &RunArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let options = &args.options;
    let working_dir = working_dir(args.places.working_dir.as_deref(), environment);
    let start = Start {
        host: host::host(&job.plan, &working_dir, environment),
        agents: host::agents(
            options.agent_binary.as_deref(),
            options.budget.to_budget(),
            &working_dir,
            environment,
        )?,
        plan: job.plan,
        given: job.given,
        options: Options {
            include_tags: args.tags.include_tags.clone(),
            exclude_tags: args.tags.exclude_tags.clone(),
            max_parallel: options.max_parallel,
            max_agents: options.max_agents,
            step_timeout: options.step_timeout,
            agent_binary: options.agent_binary.clone(),
            no_auto_stage: options.no_auto_stage,
            recovery: options.recovery.into(),
            audit_dir: options.audit_dir.as_deref().map(|dir| environment.absolute(dir)),
        },
        working_dir,
        loader: job.library,
        recording: job.recording,
        dry_run: options.dry_run,
    };
    let runs = Runs::at(host::state_dir(options.state_dir.as_deref(), environment)?);
    let result = {
        let mut progress = progress(options, args.format.output_format, environment, out);
        runs.start(start, &mut progress)
    };
    let mut result = result.map_err(broken)?;
    outcome::name_state_dir(&mut result, options.state_dir.as_deref());
    Ok(outcome::show(&result, args.format.output_format, &snippet(environment), out))
}

/// Where a recipe works.
pub(crate) fn working_dir(asked: Option<&Path>, environment: &Environment) -> PathBuf {
    let dir = asked.map_or_else(|| environment.cwd.clone(), |dir| environment.absolute(dir));
    std::fs::canonicalize(&dir).unwrap_or(dir)
}

/// How progress is shown.
pub(crate) fn progress<'a>(
    options: &RunOptions,
    format: OutputFormat,
    environment: &Environment,
    out: &'a mut Out,
) -> Progress<'a> {
    let manner = match (options.quiet, options.progress) {
        (true, _) => Manner::Quiet,
        (false, true) => Manner::Icons,
        (false, false) => Manner::Lines,
    };
    let audience = if format == OutputFormat::Json { Audience::Programs } else { Audience::People };
    let seconds = environment
        .get("AMPLIHACK_RECIPE_HEARTBEAT_INTERVAL_SECONDS")
        .and_then(|text| text.trim().parse().ok());
    let heartbeat = match seconds {
        Some(0.0) => None,
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        None => Some(Duration::from_secs(60)),
    };
    Progress::new(out, manner, audience, heartbeat)
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

/// The runner itself could not do its work.
pub(crate) fn broken(error: RunError) -> Failure {
    Failure::new(Exit::Broken, error.to_string()).hint(
        "what was done until then is kept; `recipe-runner-rs runs` shows the run, `resume` goes on with it",
    )
}

fn report_missing(failure: &Failure, asked: &str, format: OutputFormat, out: &mut Out) -> Exit {
    if format == OutputFormat::Json {
        let mut result = refusal(asked.to_owned(), failure.exit);
        result["error"] = json!(failure.message);
        out.json(&result);
    }
    failure.report(out)
}

fn report_refused(refused: &Checked, asked: &str, format: OutputFormat, out: &mut Out) -> Exit {
    if format == OutputFormat::Json {
        let mut result = refusal(reading::name_of(&refused.sources, asked), Exit::Invalid);
        result["error"] = json!(diagnostics::summary(&refused.diagnostics, &refused.sources));
        result["diagnostics"] = json!(diagnostics::problems(&refused.diagnostics, &refused.sources));
        out.json(&result);
    }
    Exit::Invalid
}

/// The result of a run that never started.
fn refusal(recipe_name: String, exit: Exit) -> Json {
    json!({
        "recipe_name": recipe_name,
        "success": false,
        "outcome": "refused",
        "exit_code": exit.code(),
        "error": null,
        "diagnostics": [],
        "step_results": [],
    })
}

fn validate_args(args: RunArgs, asked: String) -> ValidateArgs {
    ValidateArgs {
        recipes: vec![asked],
        places: args.places,
        context: args.context,
        strictness: args.strictness,
        format: args.format,
    }
}

fn explain_args(args: RunArgs, asked: String) -> ExplainArgs {
    ExplainArgs {
        recipe: Some(asked),
        graph: args.graph,
        places: args.places,
        context: args.context,
        tags: args.tags,
        strictness: args.strictness,
        format: args.format,
    }
}
