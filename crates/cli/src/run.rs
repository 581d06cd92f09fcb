//! Running a recipe: what is refused before anything runs.
//!
//! Never starts a run that was not checked completely.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use engine::{
    Outcome,
    diagnosis::{Class, Diagnosis, Facts, Obstacle, diagnose},
};
use recipe::{
    check::Checked,
    diagnostic::{Code, Diagnostic, Severity},
    plan::Plan,
    value::Map,
};
use runtime::{
    autofix::{self, AutoFixError, Loop},
    command_line::{Reach, quote},
    discovery::Library,
    drive::{DriveError, Reporter},
    folder::Options,
    report::RunResult,
    runs::{RunError, Runs, Start},
    sources::Recording,
};
use serde_json::{Value as Json, json};

use crate::{
    args::{
        ExplainArgs, RunArgs, ValidateArgs,
        options::{OutputFormat, RunOptions},
        stored::ResumeArgs,
    },
    diagnostics,
    environment::Environment,
    exit::Exit,
    explain,
    failure::{Failure, already_running},
    host,
    live::Live,
    out::Out,
    outcome::{self, Detail, Snippet},
    progress::{Audience, Manner, Progress},
    reading, stored, validate,
};

/// Runs a recipe, or only looks at it if the flags say so.
pub(crate) fn run(args: RunArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let Some(asked) = args.recipe.clone().filter(|asked| !asked.is_empty()) else {
        return Err(reading::nothing_asked("RECIPE [OPTIONS]"));
    };
    if args.validate_only {
        return validate::validate(&validate_args(args, asked), environment, out);
    }
    if args.explain {
        return explain::explain(&explain_args(args, asked), environment, out);
    }
    if args.previous_run_id.is_some() {
        return stored::resume(&resume_args(args, asked), environment, out);
    }
    let outside = reading::outside(&args.context, environment)
        .map_err(|failure| failure.announce(args.format.output_format, out))?;
    let library = reading::library(&args.places, environment);
    let format = args.format.output_format;
    let loaded = match reading::find(&library, &asked) {
        Ok(loaded) => loaded,
        Err(failure) => return Ok(report_missing(&failure, &asked, format, out)),
    };
    let recording = Recording::new(&library);
    recording.root(&loaded);
    let checked = reading::examine(&recording, loaded, &outside, &args.tags.all(), &args.strictness);
    if checked.plan.is_none() || !args.options.quiet {
        reading::report(&checked, environment, out);
    }
    let plan = match reading::accept(checked) {
        Ok(plan) => plan,
        Err(refused) => return Ok(report_refused(&refused, &asked, format, out)),
    };
    let working_dir = working_dir(args.places.working_dir.as_deref(), environment);
    let environment = &host::with_files(&plan, &working_dir, environment);
    let given = outside.settings(plan.root(), |name| environment.raw(name));
    let name = plan.root().name.clone();
    let job = Job { plan, given, library: &library, recording: &recording };
    match execute(job, &args, environment, out) {
        Err(failure) => {
            let known = stored_result(&failure, args.options.state_dir.as_deref(), environment);
            let known = known.unwrap_or_else(|| refusal(name, failure.exit));
            Ok(report_failure(&failure, known, format, out))
        }
        done => done,
    }
}

/// What is known of a run that had begun when the runner could not go on.
fn stored_result(failure: &Failure, state_dir: Option<&Path>, environment: &Environment) -> Option<Json> {
    let (_, run) = failure.facts.iter().find(|(name, _)| *name == "run_id")?;
    let runs = host::runs(state_dir, environment).ok()?;
    let shown = runs.open(runs.find(run).ok()?).ok()?;
    let mut result = serde_json::to_value(shown.result()).ok()?;
    (result["status"], result["outcome"]) = (json!("failed"), json!("failed"));
    result["exit_code"] = json!(failure.exit.code());
    Some(result)
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
    let runs = host::runs(options.state_dir.as_deref(), environment)?;
    let mut host = host::host(&job.plan, &working_dir, environment);
    host::warn(&host, out);
    let agents = host::agents(
        options.agent_binary.as_deref(),
        host::Allowance { budget: options.budget.to_budget(), raised: recipe::plan::Budget::default() },
        &working_dir,
        environment,
    )?;
    let mut policy = options.auto_fix().filter(|_| !options.dry_run);
    let auto_fix_budget = match &mut policy {
        Some(policy) => Some(
            autofix::prepare(&runs, policy, None, &mut host)
                .map_err(|error| broken(error.into(), runs.reach()))?,
        ),
        None => None,
    };
    let auto_fix = policy.as_ref().map(|policy| policy.max_attempts);
    let host_for = |plan: &Plan| host::host(plan, &working_dir, environment);
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
            step_timeout: options.step_timeout,
            agent_binary: options.agent_binary.clone(),
            no_auto_stage: options.no_auto_stage,
            recovery: options.recovery.map(Into::into).unwrap_or_default(),
            audit_dir: options.audit_dir.as_deref().map(|dir| environment.absolute(dir)),
            auto_fix,
            repair_agent: options.repair_agent.clone(),
            auto_fix_budget,
            budget: options.budget.to_budget(),
            recipe_dirs: job.library.named_dirs(),
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
    let result = match options.no_auto_fix {
        true => autofix::not_wanted(result),
        false => result,
    };
    let result = with_evidence(&runs, result, args.format.output_format);
    let detail = detail(options, environment);
    let exit = outcome::show(&result, args.format.output_format, detail, &snippet(environment), out);
    outcome::offer_to_keep(&runs, &result, out);
    Ok(exit)
}

/// A result for programs carries the evidence too.
pub(crate) fn with_evidence(runs: &Runs, mut result: RunResult, format: OutputFormat) -> RunResult {
    if let (OutputFormat::Json, Some(run)) = (format, &result.run_id) {
        result.evidence = runs.evidence(run);
    }
    result
}

/// Where a recipe works.
pub(crate) fn working_dir(asked: Option<&Path>, environment: &Environment) -> PathBuf {
    let dir = asked.map_or_else(|| environment.cwd.clone(), |dir| environment.absolute(dir));
    std::fs::canonicalize(&dir).unwrap_or(dir)
}

/// Who shows the run: a view that is redrawn where that is possible and wanted, else lines.
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
    // the result of a dry run says everything that its progress would
    let is_said_twice = options.dry_run && environment.stdout_is_terminal && environment.stderr_is_terminal;
    let manner = match (options.quiet, options.progress) {
        (true, _) => Manner::Quiet,
        (false, true) => Manner::Icons,
        (false, false) if is_said_twice && format == OutputFormat::Text => Manner::Quiet,
        (false, false) => Manner::Lines,
    };
    Box::new(Progress::new(out, manner, audience, heartbeat(environment)))
}

fn is_live(options: &RunOptions, environment: &Environment) -> bool {
    environment.can_redraw() && !options.quiet && !options.progress && !options.dry_run
}

/// How much the result says: steps that a person has just seen pass by are not listed again.
pub(crate) fn detail(options: &RunOptions, environment: &Environment) -> Detail {
    match is_live(options, environment) && environment.stdout_is_terminal {
        true => Detail::Brief,
        false => Detail::Full,
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

/// The auto-fix loop itself could not go on.
pub(crate) fn fix_failed(error: AutoFixError, reach: &Reach) -> Failure {
    match error {
        AutoFixError::Run(error) => broken(error, reach),
        other => Failure::new(Exit::Broken, other.to_string()),
    }
}

/// The runner itself could not do its work.
pub(crate) fn broken(error: RunError, reach: &Reach) -> Failure {
    if let RunError::Busy { owner, state, .. } = &error {
        let run = &owner.run_id;
        return Failure::new(Exit::Conflict, error.to_string())
            .hint(format!("its state: {}", state.display()))
            .hint(format!("look at it: {}", reach.command(&format!("show {run}"))))
            .hint(format!("wait for it: {}", reach.command(&format!("logs {run} -f"))))
            .hint(format!("stop it:    {}", reach.command(&format!("cancel {run}"))))
            .hint("run beside it: add --allow-concurrent");
    }
    let failure = Failure::new(Exit::Broken, error.to_string());
    match error {
        RunError::Drive(DriveError::Audit { .. }) => failure.hint(OTHER_AUDIT_DIR),
        RunError::Stopped { run, dir, error } => {
            let go_on = reach.command(&format!("resume {run}"));
            failure
                .hint(remedy(&error, &dir))
                .hint(format!("what was done is kept; when this is mended, go on with it: {go_on}"))
                .fact("run_id", run)
                .fact("resume_command", go_on)
        }
        RunError::Folder(_) | RunError::Journal(_) => failure.hint(
            "nothing was run: choose another directory with `--state-dir DIR`, or make this one writable",
        ),
        _ => failure.hint(format!(
            "if the run had begun, what was done is kept: `{}` shows it, and `resume` goes on with it",
            reach.command("runs")
        )),
    }
}

const OTHER_AUDIT_DIR: &str = "choose another directory with `--audit-dir DIR`, or make this one writable";

/// What to look at when a run could not go on.
fn remedy(error: &DriveError, dir: &Path) -> String {
    match error {
        DriveError::Audit { .. } => OTHER_AUDIT_DIR.to_owned(),
        DriveError::Journal(_) | DriveError::Folder(_) => format!(
            "its disk may be full, failing or read-only: `df -h {}` shows how full it is",
            quote(&dir.to_string_lossy())
        ),
        _ => "the machine may lack processes, memory or open files: `ulimit -a` shows the limits".to_owned(),
    }
}

/// Reports a run that could not be started, or could not go on.
fn report_missing(failure: &Failure, asked: &str, format: OutputFormat, out: &mut Out) -> Exit {
    report_failure(failure, refusal(asked.to_owned(), failure.exit), format, out)
}

/// Reports a failure; `result` is what programs are told besides.
fn report_failure(failure: &Failure, mut result: Json, format: OutputFormat, out: &mut Out) -> Exit {
    if format == OutputFormat::Json {
        result["error"] = json!(failure.message);
        result["advice"] = json!(failure.hints);
        result["diagnosis"] = json!(match failure.exit {
            Exit::Conflict => Some(already_running(&failure.message)),
            Exit::Broken => explained(&failure.message),
            _ => None,
        });
        for (name, value) in &failure.facts {
            result[*name] = json!(value);
        }
        out.json(&result);
    }
    failure.report(out)
}

/// What the system's own words about a failure say, if they say anything.
fn explained(message: &str) -> Option<Diagnosis> {
    let facts = Facts { outcome: Some(Outcome::Exit(1)), stderr: message.to_owned(), ..Facts::default() };
    Some(diagnose(&facts)).filter(|found| found.class != Class::Unknown)
}

fn report_refused(refused: &Checked, asked: &str, format: OutputFormat, out: &mut Out) -> Exit {
    if format == OutputFormat::Json {
        let mut result = refusal(reading::name_of(&refused.sources, asked), Exit::Invalid);
        result["error"] = json!(diagnostics::summary(&refused.diagnostics, &refused.sources));
        result["diagnostics"] = json!(diagnostics::problems(&refused.diagnostics, &refused.sources));
        let waits = |problem: &Diagnostic| matches!(problem.code, Code::LaterStep | Code::GroupDependency);
        let obstacle = match refused.diagnostics.iter().any(waits) {
            true => Obstacle::Deadlock,
            false => Obstacle::InvalidRecipe,
        };
        let first = refused.diagnostics.iter().find(|problem| problem.severity == Severity::Error);
        let what = first.map(|problem| problem.message.as_str()).unwrap_or_default();
        result["diagnosis"] = json!(found(obstacle, what));
        result["advice"] =
            json!([format!("correct the recipe, then check it: recipe-runner-rs validate {}", quote(asked))]);
        out.json(&result);
    }
    Exit::Invalid
}

/// What a run that never started is put down to.
fn found(obstacle: Obstacle, detail: &str) -> Diagnosis {
    diagnose(&Facts { obstacle: Some(obstacle), detail: detail.to_owned(), ..Facts::default() })
}

/// The result of a run that never started.
fn refusal(recipe_name: String, exit: Exit) -> Json {
    json!({
        "schema_version": runtime::report::SCHEMA_VERSION,
        "recipe_name": recipe_name,
        "run_id": null,
        "success": false,
        "status": "failed",
        "outcome": if exit == Exit::Broken { "failed" } else { "refused" },
        "exit_code": exit.code(),
        "duration": 0.0,
        "step_results": [],
        "context": {},
        "error": null,
        "diagnostics": [],
        "diagnosis": null,
        "advice": [],
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
        yes: true,
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
        places: args.places,
        context: args.context,
        tags: args.tags,
        strictness: args.strictness,
        agent_binary: args.options.agent_binary,
        format: args.format,
    }
}
