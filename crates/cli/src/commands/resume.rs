//! `resume`: continues a run.

mod edited;
mod planned;
mod question;
mod same_flags;

use std::path::Path;

use engine::{
    RunStatus,
    resume::{Effects, Producers, ResumePlan, Resumer},
};
use recipe::plan::Plan;
use runtime::{
    machine::{discovery::Library, dotenv},
    os::shell_word::quote,
    repair::{self, AutoFixError, Loop},
    report::command_line::{CliHint, option},
    runs::{Interrupted, OpenError, OpenedRun, Resume, ResumeError, RunError, Runs},
    store::{
        folder::{Header, Options, RunFolder},
        journal::JournalError,
        sources::Recording,
    },
};
use serde_json::json;

use super::stored_runs::{find, runs_at, unreadable};
use crate::{
    args::{options::OutputFormat, stored::ResumeArgs},
    commands::run::{broken, detail, fix_failed, report_missing, reporter, snippet, with_evidence},
    environment::Environment,
    exit::Exit,
    host, load_recipe,
    out::Out,
    report::{failure::Failure, result},
};
use edited::Edited;
use question::ask;
use same_flags::Asked;

/// Continues a run where it stopped.
pub(crate) fn resume(args: &ResumeArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let (result, name) = match meant(args, environment) {
        Ok(meant) => {
            let name = meant.header.recipe_name.clone();
            (resume_run(args, meant, environment, out), name)
        }
        Err(failure) => (Err(failure), String::new()),
    };
    result.or_else(|failure| Ok(report_missing(&failure, &name, args.format.output_format, out)))
}

/// The requested run.
struct Meant {
    runs: Runs,
    folder: RunFolder,
    header: Header,
}

fn meant(args: &ResumeArgs, environment: &Environment) -> Result<Meant, Failure> {
    let runs = runs_at(args.options.state_dir.as_deref(), environment)?;
    let folder = find(&runs, &args.run)?;
    let header = folder.header().map_err(|error| Failure::new(Exit::Broken, error.to_string()))?;
    let runs = runs.believing(host::knowledge(&header.working_dir, environment)?);
    Ok(Meant { runs, folder, header })
}

fn resume_run(
    args: &ResumeArgs,
    Meant { runs, folder, header }: Meant,
    environment: &Environment,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let looks_only = args.plan || args.options.dry_run;
    // the variables that chose the agent and led to recipes may be missing in this shell
    let before = header.options.variables.clone().into_iter();
    let is_compat = args.options.compat || header.options.compat;
    let environment = &environment.with_defaults(before.chain(is_compat.then(host::compat_depth)));
    stays_in_place(args, &header, environment)?;
    let outside = load_recipe::outside(&args.context, environment)?;
    if !looks_only {
        // before the recipe is read: an interrupted repair may have changed it
        let grace = host::bare(environment.all(), environment).grace;
        let undone = runs.undo_repair(&folder, grace);
        let undone = undone.map_err(|error| Failure::new(Exit::Broken, error.to_string()))?;
        undone.iter().for_each(|message| out.notice(&format!("[run] {message}")));
    }
    let mut places = args.places.clone();
    places.recipe_dirs.extend(header.options.recipe_dirs.clone());
    let library = load_recipe::library(&places, environment);
    let recording = Recording::new(&library);
    let names = header.given.iter().map(|(name, _)| name.clone()).chain(outside.names()).collect();
    let mut recipe_file = None;
    let edited = match &args.recipe {
        None => None,
        Some(file) => match edited::read(args, file, names, &library, &recording, environment, out) {
            Ok(Edited { plan, file }) => {
                recipe_file = file;
                Some((plan, &recording))
            }
            Err(exit) => return Ok(exit),
        },
    };
    let opened = runs.open(folder.clone()).map_err(|error| unreadable(&error, &folder))?;
    let plan = edited.as_ref().map_or(&opened.plan, |(plan, _)| plan);
    if args.of_this_recipe {
        is_of(plan, &library, &opened, runs.reach())?;
    }
    let base = match edited {
        Some(_) => environment.cwd.clone(),
        None => opened.recipe.base(&header.working_dir),
    };
    let files = dotenv::definitions(plan, &base, &header.working_dir);
    let environment = &environment.with_files(files);
    let step_timeout = match args.options.step_timeout.or(header.options.step_timeout) {
        None => host::step_timeout(environment)?,
        known => known,
    };
    let host = host::known(plan, environment);
    host::warn(&host, plan, &base, &header.working_dir, out);
    let program = args.options.agent_binary.clone().or(header.options.agent_binary.clone());
    let change = |options: &mut Options| {
        change(options, args);
        options.step_timeout = step_timeout;
    };
    let asks = environment.stdin_is_terminal && environment.stderr_is_terminal && !args.yes;
    let confirm = |plan: &ResumePlan| !asks || ask(plan);
    let resume = Resume {
        interrupted: match (args.rerun_interrupted, args.skip_interrupted) {
            (true, _) => Interrupted::Rerun,
            (_, true) => Interrupted::Skip,
            _ => Interrupted::Ask,
        },
        from: args.from.clone(),
        resumer: Resumer::Person {
            producers: if args.rerun_producers { Producers::Again } else { Producers::Linked },
        },
        effects: if args.rerun_effects { Effects::Again } else { Effects::Once },
        confirm: &confirm,
        beside: args.options.beside(),
        given: outside.given_anew(plan.root(), &opened.state.settings.given),
        edited,
        recipe_file,
        change: &change,
        agents: host::agents(
            program.as_deref(),
            host::Allowance { budget: header.options.budget, raised: args.options.budget.to_budget() },
            &header.working_dir,
            environment,
        )?,
        host,
        loader: &library,
    };
    let asked = Asked {
        run: opened.folder.id(),
        reach: runs.reach(),
        same: same_flags::same(args, resume.recipe_file.as_deref(), &opened.mask, environment),
    };
    if looks_only {
        // a completed run does not change, so `from` has no effect
        let is_over = opened.status == RunStatus::Completed;
        let from = resume.from.filter(|_| !is_over);
        let resume = Resume { from, ..resume };
        let plan = opened.resume_plan(&resume).map_err(|error| explain(error, &asked))?;
        let changed = match resume.edited {
            None => opened.changed_recipes(),
            Some(_) => Vec::new(),
        };
        planned::show(&asked, &opened, plan, &changed, args.format.output_format, out);
        return Ok(Exit::Success);
    }
    if asks {
        // earlier output comes before the question
        out.flush();
    }
    go_on(&runs, opened, resume, Around { args, asked: &asked, base: &base, environment }, out)
}

/// Checks that the run belongs to the recipe that was named with it.
fn is_of(plan: &Plan, library: &Library, opened: &OpenedRun, reach: &CliHint) -> Result<(), Failure> {
    let (header, root) = (&opened.header, plan.root());
    let file = library.absolute(&root.path);
    if root.name == header.recipe_name || header.recipe_file.as_ref() == Some(&file) {
        return Ok(());
    }
    let (run, known) = (&header.run_id, &header.recipe_name);
    let message = format!("run `{run}` is a run of `{known}`, not of `{}`", root.name);
    let command = reach.command(&format!("resume {run} {}", option("--recipe", &file.to_string_lossy())));
    Err(Failure::new(Exit::BadArguments, message)
        .hint(format!("if `{}` is the same recipe under another name: {command}", root.name))
        .hint("`recipe-runner-rs runs` shows which run belongs to which recipe"))
}

/// Checks that a run continues in its own directory: its steps have left files there.
fn stays_in_place(args: &ResumeArgs, header: &Header, environment: &Environment) -> Result<(), Failure> {
    let Some(dir) = &args.places.working_dir else { return Ok(()) };
    let real = |dir: &Path| std::fs::canonicalize(dir).unwrap_or_else(|_| dir.to_owned());
    if real(&environment.absolute(dir)) == real(&header.working_dir) {
        return Ok(());
    }
    let (run, place) = (&header.run_id, header.working_dir.display());
    let message = format!("run `{run}` works in `{place}` and cannot be resumed in `{}`", dir.display());
    let failure = Failure::new(Exit::BadArguments, message);
    if header.working_dir.exists() {
        return Err(failure.hint("leave out `-C`, or start a new run there"));
    }
    let moved = [environment.absolute(dir), header.working_dir.clone()];
    let [new, old] = moved.map(|dir| quote(&dir.to_string_lossy()));
    Err(failure
        .hint(format!(
            "if the directory was moved, put a link in its old place: `ln -s {new} {old}`, and leave out `-C`"
        ))
        .hint("or start a new run there"))
}

/// The inputs of a resume besides the run itself.
struct Around<'a> {
    args: &'a ResumeArgs,
    asked: &'a Asked<'a>,
    /// The directory that relative paths of its recipes start from.
    base: &'a Path,
    environment: &'a Environment,
}

fn go_on(
    runs: &Runs,
    opened: OpenedRun,
    resume: Resume<'_>,
    around: Around<'_>,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let Around { args, asked, base, environment } = around;
    let format = args.format.output_format;
    let mut resume = resume;
    let folder = opened.folder.clone();
    let is_said =
        args.options.no_auto_fix || (opened.header.options.no_auto_fix && args.options.auto_fix.is_none());
    let is_unwanted = is_said || repair::is_forbidden(&resume.host);
    if is_unwanted {
        repair::forbid(&mut resume.host);
    }
    // an auto-fix loop that was killed continues with its own budget
    let unfinished = repair::unfinished(&folder, &opened.header.options);
    let is_off = is_unwanted && (is_said || args.options.auto_fix.is_some() || unfinished.is_some());
    let change = resume.change;
    let change = |options: &mut Options| {
        change(options);
        options.no_auto_fix = is_off;
    };
    resume.change = &change;
    let unfinished = unfinished.filter(|_| !is_unwanted);
    let known = unfinished.as_ref().map(|(_, budget)| budget.clone());
    if known.is_some() {
        resume.resumer = Resumer::Automatic { level: 0 };
    }
    let working_dir = opened.header.working_dir.clone();
    let host_for = |plan: &Plan| host::host(plan, base, &working_dir, environment);
    let fixer =
        match args.options.auto_fix().filter(|_| !is_unwanted).or(unfinished.map(|(policy, _)| policy)) {
            Some(mut policy) => {
                repair::prepare(runs, &mut policy, known, &mut resume.host)
                    .map_err(|error| broken(error.into(), runs.reach()))?;
                Some(Loop {
                    runs,
                    policy,
                    agents: resume.agents.clone(),
                    host: resume.host.clone(),
                    loader: resume.loader,
                    recipe_file: (resume.recipe_file.clone().or_else(|| opened.recipe.file.clone()))
                        .unwrap_or_else(|| environment.absolute(Path::new(&opened.recipe.path))),
                    host_for: &host_for,
                    level: 0,
                })
            }
            None => None,
        };
    let result = {
        let mut reporter = reporter(&args.options, format, environment, out);
        match fixer {
            Some(fixer) => match fixer.resume(opened, resume, &mut *reporter) {
                Err(AutoFixError::Resume(error)) => Err(error),
                other => Ok(other.map_err(|error| fix_failed(error, runs.reach()))?),
            },
            None => runs.resume(opened, resume, &mut *reporter),
        }
    };
    match result {
        Ok(result) => {
            let result = if is_off { repair::not_wanted(result) } else { result };
            let result = with_evidence(runs, result, format);
            let detail = detail(&args.options, environment);
            let exit = result::show(&result, format, detail, &snippet(environment), out);
            result::offer_to_keep(runs, &result, out);
            Ok(exit)
        }
        Err(ResumeError::Completed(run)) => {
            let message = format!("run {run} has already completed; nothing to resume");
            match format {
                OutputFormat::Json => {
                    let shown = runs.open(folder).ok();
                    let result = shown.and_then(|shown| serde_json::to_value(shown.result()).ok());
                    let mut result =
                        result.unwrap_or_else(|| json!({ "run_id": run, "status": "completed" }));
                    result["message"] = json!(message);
                    out.json(&result);
                }
                OutputFormat::Text => out.result(&message),
            }
            Ok(Exit::Success)
        }
        Err(ResumeError::Declined(run)) if format == OutputFormat::Text => {
            out.notice(&format!(
                "Nothing changed. To resume without the question: {}",
                asked.with(&run, "--yes")
            ));
            Ok(Exit::Waiting)
        }
        Err(error) => Err(explain(error, asked)),
    }
}

/// The failure message for a run that does not continue.
fn explain(error: ResumeError, asked: &Asked<'_>) -> Failure {
    let typed = |words: String| asked.reach.command(&words);
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
        ResumeError::Declined(run) => Failure::new(Exit::Waiting, message)
            .hint(format!("see why:  {}", asked.with(&run, "--plan")))
            .hint(format!("go ahead: {}", asked.with(&run, "--yes")))
            .fact("run_id", run),
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
        ResumeError::Run(error) => broken(error, asked.reach),
        ResumeError::Open(_) | ResumeError::Completed(_) => Failure::new(Exit::Broken, message),
    }
}

/// Applies the command line to the options of a run.
fn change(options: &mut Options, args: &ResumeArgs) {
    let given = &args.options;
    if let Some(number) = given.max_parallel {
        options.max_parallel = number;
    }
    if let Some(mode) = given.recovery {
        options.recovery = mode.into();
    }
    if given.max_agents.is_some() {
        options.max_agents = given.max_agents;
    }
    if given.agent_binary.is_some() {
        options.agent_binary.clone_from(&given.agent_binary);
    }
    if given.audit_dir.is_some() {
        options.audit_dir.clone_from(&given.audit_dir);
    }
    options.no_auto_stage |= given.no_auto_stage;
    options.compat |= given.compat;
    options.strict |= args.strictness.strict;
    let (include, exclude) = (args.tags.included(), args.tags.excluded());
    if !(include.is_empty() && exclude.is_empty()) {
        (options.include_tags, options.exclude_tags) = (include, exclude);
    }
}
