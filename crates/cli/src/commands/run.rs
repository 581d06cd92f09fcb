//! Running a recipe, and everything that is refused before.
//!
//! Never starts a run that was not checked completely.

mod failing;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use recipe::{plan::Plan, value::Map};
use runtime::{
    machine::discovery::Library,
    repair::{self, Loop},
    report::RunResult,
    run::Reporter,
    runs::{Runs, Start},
    store::{folder::Options, sources::Recording},
};

pub(crate) use failing::{broken, fix_failed, report_missing, report_refused};
use failing::{refusal, report_failure, stored_result};

use crate::{
    args::{
        ExplainArgs, RunArgs, ValidateArgs,
        options::{OutputFormat, RunOptions},
        stored::ResumeArgs,
    },
    commands::{explain, resume, validate},
    environment::Environment,
    exit::Exit,
    host, load_recipe,
    out::Out,
    report::{
        failure::Failure,
        live::Live,
        progress::{Audience, Manner, Progress},
        result::{self, Detail, Snippet},
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
    let outside = match load_recipe::outside(&args.context, environment) {
        Ok(outside) => outside,
        Err(failure) => return Ok(report_missing(&failure, &asked, format, out)),
    };
    let library = load_recipe::library(&args.places, environment);
    let loaded = match load_recipe::find(&library, &asked) {
        Ok(loaded) => loaded,
        Err(failure) => return Ok(report_missing(&failure, &asked, format, out)),
    };
    let recording = Recording::new(&library);
    recording.root(&loaded);
    let checked = load_recipe::examine(&recording, loaded, &outside, &args.tags.all(), &args.strictness);
    if checked.plan.is_none() || !args.options.quiet {
        load_recipe::report(&checked, environment, out);
    }
    let plan = match load_recipe::accept(checked) {
        Ok(plan) => plan,
        Err(refused) => return Ok(report_refused(&refused, &asked, format, out)),
    };
    let working_dir = working_dir(args.places.working_dir.as_deref(), environment);
    let environment = &environment.with_defaults(args.options.compat.then(host::compat_depth));
    let environment = &host::with_files(&plan, &environment.cwd, &working_dir, environment);
    let given = outside.settings(plan.root(), |name| environment.raw(name));
    let ambient =
        engine::run::env_overrides::below(&plan, environment.beginning_with(recipe::env_name::PREFIX));
    let name = plan.root().name.clone();
    let job = Job { plan, given, ambient, library: &library, recording: &recording };
    match execute(job, &args, environment, out) {
        Err(failure) => {
            let known = stored_result(&failure, args.options.state_dir.as_deref(), environment);
            let known = known.unwrap_or_else(|| refusal(name, failure.exit));
            Ok(report_failure(&failure, known, format, out))
        }
        done => done,
    }
}

/// A checked recipe and its values.
struct Job<'a> {
    plan: Plan,
    given: Map,
    ambient: engine::run::env_overrides::Ambient,
    library: &'a Library,
    recording: &'a Recording<'a>,
}

/// Runs a checked recipe, and shows its result.
fn execute(job: Job<'_>, args: &RunArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let options = &args.options;
    let working_dir = working_dir(args.places.working_dir.as_deref(), environment);
    let runs = host::runs(options.state_dir.as_deref(), environment)?;
    let runs = runs.believing(host::knowledge(&working_dir, environment)?);
    let mut host = host::known(&job.plan, environment);
    host::warn(&host, &job.plan, &environment.cwd, &working_dir, out);
    let agents = host::agents(
        options.agent_binary.as_deref(),
        host::Allowance { budget: options.budget.to_budget(), raised: recipe::plan::Budget::default() },
        &working_dir,
        environment,
    )?;
    let step_timeout = match options.step_timeout {
        None => host::step_timeout(environment)?,
        given => given,
    };
    let is_unwanted = options.no_auto_fix || repair::is_forbidden(&host);
    if is_unwanted {
        repair::forbid(&mut host);
    }
    let is_off = is_unwanted && (options.no_auto_fix || options.auto_fix.is_some());
    let mut policy = options.auto_fix().filter(|_| !options.dry_run && !is_unwanted);
    let auto_fix_budget = match &mut policy {
        Some(policy) => Some(
            repair::prepare(&runs, policy, None, &mut host)
                .map_err(|error| broken(error.into(), runs.reach()))?,
        ),
        None => None,
    };
    let auto_fix = policy.as_ref().map(|policy| policy.max_attempts);
    let host_for = |plan: &Plan| host::host(plan, &environment.cwd, &working_dir, environment);
    let fixer = policy.map(|policy| Loop {
        runs: &runs,
        policy,
        agents: agents.clone(),
        host: host.clone(),
        loader: job.library,
        recipe_file: job.library.absolute(&job.plan.root().path),
        host_for: &host_for,
        level: 0,
    });
    let start = Start {
        host,
        agents,
        plan: job.plan,
        given: job.given,
        options: Options {
            include_tags: args.tags.included(),
            exclude_tags: args.tags.excluded(),
            max_parallel: options.max_parallel.unwrap_or(runtime::runs::MAX_PARALLEL),
            max_agents: options.max_agents,
            step_timeout,
            agent_binary: options.agent_binary.clone(),
            variables: host::kept_variables(environment),
            no_auto_stage: options.no_auto_stage,
            recovery: options.recovery.map(Into::into).unwrap_or_default(),
            audit_dir: options.audit_dir.as_deref().map(|dir| environment.absolute(dir)),
            auto_fix,
            no_auto_fix: is_off,
            repair_agent: options.repair_agent.clone(),
            auto_fix_budget,
            budget: options.budget.to_budget(),
            recipe_dirs: job.library.named_dirs(),
            ambient: job.ambient,
            compat: options.compat,
            strict: args.strictness.strict,
        },
        working_dir: working_dir.clone(),
        recording: job.recording,
        dry_run: options.dry_run,
        others: options.others(),
    };
    let result = {
        let mut reporter = reporter(options, args.format.output_format, environment, out);
        match fixer {
            Some(fixer) => {
                fixer.start(start, &mut *reporter).map_err(|error| fix_failed(error, runs.reach()))?
            }
            None => runs.start(start, &mut *reporter).map_err(|error| broken(error, runs.reach()))?,
        }
    };
    let result = if is_off { repair::not_wanted(result) } else { result };
    let result = with_evidence(&runs, result, args.format.output_format);
    let detail = detail(options, environment);
    let exit = result::show(&result, args.format.output_format, detail, &snippet(environment), out);
    result::offer_to_keep(&runs, &result, out);
    Ok(exit)
}

/// Adds the evidence to a result in JSON.
pub(crate) fn with_evidence(runs: &Runs, mut result: RunResult, format: OutputFormat) -> RunResult {
    if let (OutputFormat::Json, Some(run)) = (format, &result.run_id) {
        result.evidence = runs.evidence(run);
    }
    result
}

/// The working directory of a recipe.
pub(crate) fn working_dir(asked: Option<&Path>, environment: &Environment) -> PathBuf {
    let dir = asked.map_or_else(|| environment.cwd.clone(), |dir| environment.absolute(dir));
    std::fs::canonicalize(&dir).unwrap_or(dir)
}

/// The reporter of a run: a view that is redrawn if possible and wanted, otherwise lines.
pub(crate) fn reporter<'a>(
    options: &RunOptions,
    format: OutputFormat,
    environment: &Environment,
    out: &'a mut Out,
) -> Box<dyn Reporter + 'a> {
    out.expect_signals();
    let audience = if format == OutputFormat::Json { Audience::Programs } else { Audience::People };
    if is_live(options, environment) {
        return Box::new(Live::new(out, audience));
    }
    let manner = match (options.quiet, options.progress) {
        (true, _) => Manner::Quiet,
        (false, true) => Manner::Icons,
        // the result of a dry run says everything that its progress would
        (false, false) if options.dry_run && format == OutputFormat::Text => Manner::Quiet,
        (false, false) => Manner::Lines,
    };
    Box::new(Progress::new(out, manner, audience, heartbeat(environment)))
}

fn is_live(options: &RunOptions, environment: &Environment) -> bool {
    environment.can_redraw() && !options.quiet && !options.progress && !options.dry_run
}

/// How much the result shows: steps that the user has just seen are not listed again.
pub(crate) fn detail(options: &RunOptions, environment: &Environment) -> Detail {
    match is_live(options, environment) && environment.stdout_is_terminal {
        true => Detail::Brief,
        false if options.verbose => Detail::Full,
        false => Detail::Lines,
    }
}

fn heartbeat(environment: &Environment) -> Option<Duration> {
    let seconds = environment
        .get("AMPLIHACK_RECIPE_HEARTBEAT_INTERVAL_SECONDS")
        .and_then(|text| text.trim().parse().ok());
    match seconds {
        Some(0.0) => None,
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        None => Some(Duration::from_secs(60)),
    }
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
    ValidateArgs {
        recipes: vec![asked],
        places: args.places,
        tags: args.tags,
        context: args.context,
        strictness: args.strictness,
        format: args.format,
    }
}

/// `RECIPE --previous-run-id RUN [--start-from STEP]` is another spelling of `resume`.
fn resume_args(args: RunArgs, asked: String) -> ResumeArgs {
    ResumeArgs {
        run: args.previous_run_id.unwrap_or_default(),
        recipe: Some(asked.into()),
        plan: false,
        from: args.start_from,
        rerun_effects: false,
        rerun_interrupted: false,
        skip_interrupted: false,
        rerun_producers: false,
        yes: args.yes,
        of_this_recipe: true,
        places: args.places,
        context: args.context,
        tags: args.tags,
        strictness: args.strictness,
        options: args.options,
        format: args.format,
    }
}

fn explain_args(args: RunArgs, asked: String) -> ExplainArgs {
    ExplainArgs {
        recipe: Some(asked),
        graph: args.graph,
        verbose: args.options.verbose,
        places: args.places,
        context: args.context,
        tags: args.tags,
        strictness: args.strictness,
        agent_binary: args.options.agent_binary,
        format: args.format,
    }
}
