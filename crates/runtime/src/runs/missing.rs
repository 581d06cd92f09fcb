//! What a run needs and lacks before its first step. Starts nothing.

use std::path::Path;

use engine::{
    failure::Actions,
    run::next::{Next, StartValue},
};
use recipe::{
    plan::{Input, Step, Unit},
    value::Map,
};

use super::{ORCHESTRATOR, Runs, Start, canonical_recipe};
use crate::{
    machine::{
        preflight::{self, Need, Problem, RuledOut},
        programs, task_needs,
    },
    report::{RunResult, blocked::blocked, inputs::inputs},
    runs::repro::{Repeated, keep_given},
    steps::shell::attempt::SHELL,
    store::{
        folder::{Batch, FolderError, RunFolder},
        secrets::Mask,
    },
};

/// The result of a run that cannot start, with the command to start it again.
pub(super) fn blocked_start(start: &Start<'_>, problems: &[Problem]) -> RunResult {
    let (root, dry_run) = (start.plan.root(), start.dry_run);
    let mut mask = declared(start);
    mask.learn(&start.given);
    let recipe = canonical_recipe(&root.path);
    let repeated = Repeated {
        recipe: &recipe,
        dir: &start.working_dir,
        given: &start.given,
        options: &start.options,
        folder: None,
    };
    let mut again = repeated.start(&mask);
    for problem in problems {
        let (name, value) = match &problem.need {
            Need::Value(name) | Need::Fit(name) if mask.is_secret_input(name) => (name, StartValue::File),
            Need::Value(name) | Need::Fit(name) => (name, StartValue::Missing),
            Need::Secret(name) => (name, StartValue::File),
            _ => continue,
        };
        again.inputs.retain(|(known, _)| known != name);
        again.inputs.push((name.clone(), value));
    }
    let hidden =
        |problem: &Problem| Problem { text: mask.text(&problem.text).into_owned(), ..problem.clone() };
    let problems = &problems.iter().map(hidden).collect::<Vec<_>>();
    let start = Some(Next::Start(Box::new(again)));
    let actions = Actions { start, doctor: Some(Next::Doctor), ..Actions::default() };
    let inputs = if dry_run { inputs(root, &mask) } else { Vec::new() };
    RunResult { dry_run, inputs, result_only: root.result_only(), ..blocked(&root.name, problems, &actions) }
}

/// Writes the sources and values of a run.
pub(super) fn write_start(
    start: &Start<'_>,
    folder: &RunFolder,
    files: &mut Batch,
) -> Result<(), FolderError> {
    start.recording.write(&folder.sources(0), files)?;
    keep_given(folder, &start.given, &declared(start), files)
}

/// The names that its recipes declare secret.
fn declared(start: &Start<'_>) -> Mask {
    Mask::declared(&start.plan.units)
}

impl Runs {
    /// Everything that is known to be missing before the first step.
    pub(super) fn problems(&self, start: &Start<'_>) -> Vec<Problem> {
        let root = start.plan.root();
        let mut problems = Vec::new();
        if let Some(what) = preflight::dir_problem(&start.working_dir) {
            let text = match start.working_dir.as_os_str().is_empty() {
                true => "the current directory no longer exists: go to another one with `cd`, or name one with `-C DIR`".to_owned(),
                false => format!("working directory `{}` {what}", start.working_dir.display()),
            };
            problems.push(Problem { need: Need::Path, text });
        }
        if start.working_dir.to_str().is_none() {
            let shown = start.working_dir.display();
            let text = format!(
                "the path of the working directory `{shown}` is not valid UTF-8, and could not be stored: rename it"
            );
            problems.push(Problem { need: Need::Path, text });
        }
        problems.extend(start.host.depth_problem().map(|text| Problem { need: Need::Depth, text }));
        let context = first_context(start);
        problems.extend(preflight::context_problems(root, &context, &start.working_dir));
        if root.path == ORCHESTRATOR {
            problems.extend(task_needs::problems(&start.given, &start.working_dir, &start.host));
        }
        let context = root.fitted(context);
        let options = &start.options;
        let ruled_out = RuledOut::new(&start.plan);
        let runs = |unit: &Unit, step: &Step| {
            let tagged = |list: &[String]| step.tags.iter().any(|tag| list.contains(tag));
            let is_root = std::ptr::eq(unit, &**root);
            !tagged(&options.tags.exclude_tags)
                && (step.tags.is_empty()
                    || options.tags.include_tags.is_empty()
                    || tagged(&options.tags.include_tags))
                && !(is_root && ruled_out.contains(step, &context))
        };
        problems.extend(preflight::uncounted_changes(&start.plan, &start.working_dir, runs));
        problems.extend(preflight::missing_env(&start.plan, &start.host, runs));
        problems.extend(preflight::missing_programs(&start.plan, &start.agents, &start.host, runs));
        let for_auto_fix = |name: &'_ Option<String>| name.clone().filter(|_| options.auto_fix.is_some());
        let (repairer, reviewer) = (for_auto_fix(&options.repair_agent), for_auto_fix(&options.review.agent));
        problems.extend(programs::repairer(repairer.as_deref(), &start.agents, &start.host));
        problems.extend(programs::reviewer(reviewer.as_deref(), &start.agents, &start.host));
        if !preflight::may_execute(Path::new(SHELL)) {
            let what = if Path::new(SHELL).exists() { "cannot be executed" } else { "is not installed" };
            let text = format!("the shell `{SHELL}` {what}");
            problems.push(Problem { need: Need::Program(SHELL.to_owned()), text });
        }
        problems
    }
}

/// The context at the start of a run.
pub(super) fn first_context(start: &Start<'_>) -> Map {
    let mut context = start.plan.root().defaults();
    context.extend(start.given.clone());
    context
}

/// Problems of the values that a resume gives anew, and of inputs that have another type now. Other inputs were checked
/// when the run began; a path may be gone since then.
pub(super) fn unfit_anew(was: &Unit, is: &Unit, old: &Map, new: &Map, dir: &Path) -> Vec<Problem> {
    let before = |name: &str| was.inputs.iter().find(|input| input.name == name);
    let is_new = |input: &Input| {
        new.contains_key(&input.name) || before(&input.name).is_none_or(|before| before.kind != input.kind)
    };
    let inputs = is.inputs.iter().filter(|input| is_new(input)).cloned().collect();
    let mut context = is.defaults();
    context.extend(old.clone());
    context.extend(new.clone());
    let unit = Unit { inputs, rules: Vec::new(), ..is.clone() };
    preflight::context_problems(&unit, &context, dir)
}
