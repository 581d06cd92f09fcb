//! `resume`: translates the command line into a request to continue a run, and shows its result.

mod planned;
mod question;
mod same_flags;

use recipe::value::Value;
use runtime::{
    os::shell_word::quote,
    repair::AcceptError,
    requests::{PlannedResume, RequestError, ResumeRequest},
    runs::{Interrupted, OpenError, ResumeError, RunError},
    store::{folder::RunFolder, journal::JournalError},
};
use serde_json::json;

use super::stored_runs::{find_or_last, runs_at};
use crate::{
    args::{options::OutputFormat, stored::ResumeArgs},
    commands::run::{Concluding, broken, conclude, refusal, report_missing, report_refused, request_failed},
    environment::Environment,
    exit::Exit,
    host::{self, StoredRuns},
    load_recipe,
    out::Out,
    report::{
        failure::Failure,
        hints::{option, plain},
        json::ResultJson,
        terminal_listener::{Shown, TerminalListener},
    },
};
use question::ask;
use same_flags::AskedResume;

/// Continues a run where it stopped.
pub(crate) fn resume(args: &ResumeArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let (result, name) = match stored(args, environment, out) {
        Ok((runs, folder, name)) => {
            let command = ResumeCommand { args, runs: &runs, folder: &folder, environment };
            (resume_run(command, out), name)
        }
        Err(failure) => (Err(failure), String::new()),
    };
    result.or_else(|failure| Ok(report_missing(&failure, &name, args.format.output_format, out)))
}

/// A `resume` of a stored run.
#[derive(Clone, Copy)]
struct ResumeCommand<'a> {
    args: &'a ResumeArgs,
    runs: &'a StoredRuns,
    folder: &'a RunFolder,
    environment: &'a Environment,
}

/// The stored runs, the folder of the requested one and the name of its recipe.
fn stored(
    args: &ResumeArgs,
    environment: &Environment,
    out: &mut Out,
) -> Result<(StoredRuns, RunFolder, String), Failure> {
    let runs = runs_at(args.options.state_dir.as_deref(), environment)?;
    let folder = find_or_last(&runs, args.run.as_deref(), out)?;
    let header = folder.header().map_err(|error| Failure::new(Exit::Broken, error.to_string()))?;
    let knowledge =
        environment.machine.knowledge(&header.working_dir).map_err(|error| host::unusable(&error))?;
    Ok((runs.believing(knowledge), folder, header.recipe_name))
}

/// The request that the command line describes.
fn request(args: &ResumeArgs, run: String, environment: &Environment) -> Result<ResumeRequest, Failure> {
    let mut inputs = load_recipe::inputs(&args.reading.context, environment)?;
    let values = args.task.values().into_iter();
    inputs.own.extend(values.map(|(name, value)| (name.to_owned(), Value::text(value))));
    Ok(ResumeRequest {
        run,
        from: args.from.clone(),
        rerun_producers: args.rerun_producers,
        rerun_effects: args.rerun_effects,
        interrupted: match (args.rerun_interrupted, args.skip_interrupted) {
            (true, _) => Interrupted::Rerun,
            (_, true) => Interrupted::Skip,
            _ => Interrupted::Ask,
        },
        inputs,
        recipe: args.recipe.clone(),
        accept_repair: args.accept_repair,
        same_recipe: args.of_this_recipe,
        plan_digest: args.plan_digest.clone(),
        working_dir: args.reading.places.working_dir.as_deref().map(|dir| environment.absolute(dir)),
        options: args.options.request(&args.reading, environment),
        beside: args.options.beside(),
        origin: Some(host::origin()),
    })
}

fn resume_run(command: ResumeCommand<'_>, out: &mut Out) -> Result<Exit, Failure> {
    let ResumeCommand { args, runs, folder, environment } = command;
    let format = args.format.output_format;
    let mut request = request(args, folder.id(), environment)?;
    let asked = || same_flags::asked(args, runs, folder, environment);
    let is_terminal = environment.stdin_is_terminal && environment.stderr_is_terminal;
    // a plan with the repair can only be made once the repair is written
    let asks = is_terminal && !args.yes && !args.accept_repair;
    let looks_only = args.plan || args.options.dry_run;
    if looks_only || asks {
        let mut listener = TerminalListener::new(&args.options, format, environment, out);
        let planned = match runs.plan_resume(&request, &environment.machine, &mut listener) {
            Ok(planned) => planned,
            Err(error) => return refused(error, command, out),
        };
        if looks_only {
            planned::show(&asked(), planned, format, out);
            return Ok(Exit::Success);
        }
        request = match approve(planned, request, out) {
            Some(approved) => approved,
            None => return declined(&asked(), format, out),
        };
    }
    let shown = if asks { Shown::Nothing } else { Shown::All };
    let mut listener = TerminalListener::new(&args.options, format, environment, out)
        .showing(shown, &runs.hints)
        .asking(runs, Some(folder.id()));
    match runs.resume(&request, &environment.machine, &mut listener) {
        Ok(result) => {
            let request = Concluding { options: &args.options, format, environment };
            Ok(conclude(runs, result, &request, out))
        }
        Err(error) => refused(error, command, out),
    }
}

/// Asks before completed agent steps run again; `None` if the answer is no.
fn approve(planned: PlannedResume, request: ResumeRequest, out: &mut Out) -> Option<ResumeRequest> {
    if planned.agents_again.is_empty() {
        return Some(request);
    }
    // earlier output comes before the question
    out.flush();
    ask(&planned.plan).then(|| planned.approved())
}

/// Says that nothing changed, because the answer was no.
fn declined(asked: &AskedResume<'_>, format: OutputFormat, out: &mut Out) -> Result<Exit, Failure> {
    let run = &asked.run;
    if format == OutputFormat::Text {
        let command = asked.with(run, "--yes");
        out.notice(&format!("Nothing changed. To resume without the question: {command}"));
        return Ok(Exit::Waiting);
    }
    Err(Failure::new(Exit::Waiting, format!("run `{run}` was not resumed; nothing changed"))
        .hint(format!("see why:  {}", asked.with(run, "--plan")))
        .hint(format!("go ahead: {}", asked.with(run, "--yes")))
        .fact("run_id", run.as_str()))
}

/// Shows why a run does not continue.
fn refused(error: RequestError, command: ResumeCommand<'_>, out: &mut Out) -> Result<Exit, Failure> {
    let ResumeCommand { args, runs, folder, environment } = command;
    let format = args.format.output_format;
    let asked = || same_flags::asked(args, runs, folder, environment);
    match error {
        RequestError::Invalid { recipe, checked } => {
            load_recipe::report(&checked, environment, out);
            Ok(report_refused(&checked, &recipe, format, out))
        }
        RequestError::Recipe { recipe, error } => {
            let failure = load_recipe::not_found(
                &load_recipe::library(&args.reading.places, environment),
                &recipe,
                error,
            );
            Ok(report_missing(&failure, &recipe, format, out))
        }
        RequestError::Resume(ResumeError::Completed(run)) => {
            completed(&run, runs, folder, (format, args), out);
            Ok(Exit::Success)
        }
        RequestError::Resume(error @ ResumeError::Outdated { .. }) => {
            Ok(outdated(error, &asked(), format, out))
        }
        RequestError::Resume(error) => Err(explain(error, &asked())),
        RequestError::Accept(AcceptError::Folder(error)) => {
            Err(Failure::new(Exit::Broken, error.to_string()))
        }
        RequestError::Accept(error) => {
            Err(Failure::new(Exit::Conflict, error.to_string()).without_obstacle())
        }
        RequestError::OtherDirectory { .. } | RequestError::OtherRecipe { .. } => {
            Err(misplaced(&error, runs))
        }
        error => Err(request_failed(error, runs, &args.reading.places, environment)),
    }
}

/// Says that a completed run cannot be resumed.
fn completed(
    run: &str,
    runs: &StoredRuns,
    folder: &RunFolder,
    (format, args): (OutputFormat, &ResumeArgs),
    out: &mut Out,
) {
    let given = &args.reading.context;
    let is_given = !(given.set.is_empty() && given.set_file.is_empty() && given.context_files.is_empty());
    let values = if is_given { ". The given values are not used: start a new run with them" } else { "" };
    let message = format!("run {run} has already completed; nothing to resume{values}");
    if format == OutputFormat::Text {
        return out.result(&message);
    }
    let shown = runs.open(folder.clone()).ok();
    let result = shown.and_then(|shown| serde_json::to_value(ResultJson(&shown.result(), &runs.hints)).ok());
    let mut result = result.unwrap_or_else(|| json!({ "run_id": run, "status": "completed" }));
    result["message"] = json!(message);
    out.json(&result);
}

/// Says that the approved plan is not the plan any more, and shows the new one.
fn outdated(error: ResumeError, asked: &AskedResume<'_>, format: OutputFormat, out: &mut Out) -> Exit {
    let message = error.to_string();
    let ResumeError::Outdated { run, plan, digest } = error else { return Exit::Conflict };
    let failure = Failure::new(Exit::Conflict, message)
        .hint(format!("see the new plan: {}", asked.with(&run, "--plan")));
    if format == OutputFormat::Text {
        planned::steps(&plan, &asked.mask, out);
    } else {
        let mut json = refusal(asked.recipe_name.clone(), Exit::Conflict);
        json["run_id"] = json!(run);
        json["error"] = json!(failure.message);
        json["advice"] = json!(failure.hints);
        json["hints"] = json!(failure.hints);
        json["plan"] = planned::json(*plan, &asked.mask);
        json["plan_digest"] = json!(digest);
        out.json(&json);
    }
    failure.report(out)
}

/// The failure message for a run of another recipe or in another directory.
fn misplaced(error: &RequestError, runs: &StoredRuns) -> Failure {
    let failure = Failure::new(Exit::BadArguments, error.to_string());
    match error {
        RequestError::OtherRecipe { run, asked, file, .. } => {
            let words = format!("resume {run} {}", option("--recipe", &file.to_string_lossy()));
            let command = runs.hints.command(&words);
            failure
                .hint(format!("if `{asked}` is the same recipe under another name: {command}"))
                .hint(format!("`{}` shows which run belongs to which recipe", plain("runs")))
        }
        RequestError::OtherDirectory { own, .. } if own.exists() => {
            failure.hint("leave out `-C`, or start a new run there")
        }
        RequestError::OtherDirectory { own, asked, .. } => {
            let [new, old] = [asked, own].map(|dir| quote(&dir.to_string_lossy()));
            failure
                .hint(format!(
                    "if the directory was moved, put a link in its old place: `ln -s {new} {old}`, and leave out `-C`"
                ))
                .hint("or start a new run there")
        }
        _ => failure,
    }
}

/// The failure message for a run that does not continue.
fn explain(error: ResumeError, asked: &AskedResume<'_>) -> Failure {
    let typed = |words: String| asked.hints.command(&words);
    let message = error.to_string();
    let wait = |run: &str| {
        let failure = Failure::new(Exit::Waiting, message.clone());
        failure.fact("run_id", run).fact("status", "waiting").fact("outcome", "needs_human")
    };
    match error {
        ResumeError::Owned { run, .. } => Failure::new(Exit::Conflict, message)
            .hint(format!("watch it: {}", typed(format!("logs {run} -f"))))
            .hint(format!("stop it:  {}", typed(format!("cancel {run}"))))
            .fact("run_id", run),
        ResumeError::Choose { run, steps } => {
            let (look, it) = match steps.len() {
                1 => ("check how far it got, then choose:", "it"),
                _ => ("check how far each of them got, then choose for all of them:", "them"),
            };
            wait(&run)
                .hint(look)
                .hint(format!("run {it} again: {}", asked.with(&run, "--rerun-interrupted")))
                .hint(format!("leave {it} out: {}", asked.with(&run, "--skip-interrupted")))
                .hint(format!("see the plan: {}", asked.with(&run, "--plan")))
        }
        ResumeError::Effects { run, .. } => wait(&run)
            .hint(format!("see why:     {}", asked.with(&run, "--plan")))
            .hint(format!("repeat them: {}", asked.with(&run, "--rerun-effects"))),
        ResumeError::NoStep { run, .. } => Failure::new(Exit::BadArguments, message)
            .hint(format!("`{}` lists the steps", typed(format!("show {run}")))),
        // before it continued: a run that had already continued fails inside the drive
        ResumeError::Run(RunError::Folder(_) | RunError::Journal(_))
        | ResumeError::Open(OpenError::Folder(_) | OpenError::Journal(JournalError::Io { .. })) => {
            Failure::new(Exit::Broken, message)
                .hint("nothing was run: the disk may be full, failing or read-only")
                .hint(format!("when this is fixed, resume: {}", typed(format!("resume {}", asked.run))))
                .fact("run_id", asked.run.as_str())
        }
        ResumeError::Run(error) => broken(error, asked.hints),
        ResumeError::Open(_) | ResumeError::Completed(_) | ResumeError::Outdated { .. } => {
            Failure::new(Exit::Broken, message)
        }
    }
}
