//! Going on with a run.

use std::io::Write as _;

use engine::resume_plan::{Action, Effects, Producers, ResumePlan, Resumer};
use recipe::check::{Given, check};
use runtime::{
    autofix::{self, Loop},
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
    run::{broken, detail, fix_failed, reporter, snippet, with_evidence},
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
            let checked = check(loaded, &recording, &Given { names, ..Given::default() });
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
        edited,
        change: &change,
        agents: host::agents(
            program.as_deref(),
            host::Allowance { budget: header.options.budget, raised: args.options.budget.to_budget() },
            &header.working_dir,
            environment,
        )?,
        host: host::host(&plan, &header.working_dir, environment),
        loader: &library,
    };
    if args.plan {
        let place = outcome::state_dir_flag(args.options.state_dir.as_deref());
        return show_plan(&runs, folder, &resume, &place, args.format.output_format, out);
    }
    go_on(&runs, folder, resume, args, environment, out)
}

/// Asks a person whether completed agent steps may be done again.
fn ask(plan: &ResumePlan) -> bool {
    let mut stderr = std::io::stderr();
    let list = plan.rerun.join(", ");
    let _ = write!(stderr, "These steps are done and would be done again: {list}\nGo on? [y/N] ");
    let _ = stderr.flush();
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).is_ok() && matches!(answer.trim(), "y" | "Y" | "yes")
}

/// Shows what a resume would do.
fn show_plan(
    runs: &Runs,
    folder: RunFolder,
    resume: &Resume<'_>,
    place: &str,
    format: OutputFormat,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let run = folder.id();
    let plan = runs.resume_plan(folder, resume).map_err(|error| explain(error, place))?;
    if format == OutputFormat::Json {
        let mut json = serde_json::to_value(&plan).unwrap_or_default();
        json["run_id"] = json!(run);
        out.json(&json);
        return Ok(Exit::Success);
    }
    for step in &plan.steps {
        let action = match step.action {
            Action::Keep => "keep",
            Action::Rerun => "rerun",
            Action::Pending => "pending",
        };
        out.result(&format!("{action:<8} {}  ({})", step.path, step.reason));
    }
    if let Some(anchor) = &plan.anchor {
        out.result(&format!("goes on at `{anchor}`"));
    }
    if !plan.kept_producers.is_empty() {
        out.result(&format!(
            "kept, though the failed step may depend on what they made: {}; do them again with `recipe-runner-rs resume {run} --rerun-producers{place}`",
            plan.kept_producers.join(", ")
        ));
    }
    if !plan.blocked_effects.is_empty() {
        out.result(&format!(
            "stops here: side effects that are done would be repeated: {}; allow it with `recipe-runner-rs resume {run} --rerun-effects{place}`",
            plan.blocked_effects.join(", ")
        ));
    }
    Ok(Exit::Success)
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
    let mut resume = resume;
    let fixer = match args.options.auto_fix() {
        Some(policy) => {
            let shown =
                runs.open(folder.clone()).map_err(|error| Failure::new(Exit::Broken, error.to_string()))?;
            let known = shown.header.options.auto_fix_budget.clone().filter(|path| path.exists());
            autofix::prepare(runs, &policy, known, &mut resume.host).map_err(|error| broken(error.into()))?;
            Some(Loop {
                runs,
                policy,
                agents: resume.agents.clone(),
                host: resume.host.clone(),
                loader: resume.loader,
                recipe_file: environment.absolute(std::path::Path::new(&shown.header.recipe_path)),
                plan: resume.edited.as_ref().map_or(shown.plan, |(plan, _)| plan.clone()),
                level: 0,
            })
        }
        None => None,
    };
    let result = {
        let mut reporter = reporter(&args.options, format, environment, out);
        match (runs.resume(folder.clone(), resume, &mut *reporter), fixer) {
            (Ok(first), Some(fixer)) => Ok(fixer.run(first, &mut *reporter).map_err(fix_failed)?),
            (result, _) => result,
        }
    };
    match result {
        Ok(result) => {
            let mut result = with_evidence(runs, result, format);
            outcome::name_state_dir(&mut result, args.options.state_dir.as_deref());
            let detail = detail(&args.options, environment);
            Ok(outcome::show(&result, format, detail, &snippet(environment), out))
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
        ResumeError::Effects { run, .. } => Failure::new(Exit::Waiting, message)
            .hint(format!("see why:     recipe-runner-rs resume {run} --plan{place}"))
            .hint(format!("repeat them: recipe-runner-rs resume {run} --rerun-effects{place}")),
        ResumeError::Declined(run) => Failure::new(Exit::Waiting, message)
            .hint(format!("see why:  recipe-runner-rs resume {run} --plan{place}"))
            .hint(format!("go ahead: recipe-runner-rs resume {run} --yes{place}")),
        ResumeError::NoStep { run, .. } => Failure::new(Exit::BadArguments, message)
            .hint(format!("recipe-runner-rs show {run}{place} lists the steps")),
        ResumeError::Blocked(_) => Failure::new(Exit::Blocked, message),
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
