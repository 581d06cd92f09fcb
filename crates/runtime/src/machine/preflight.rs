//! Finds everything that is known to be missing before the first step.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    path::{Path, PathBuf},
    sync::Arc,
};

pub use engine::run::cause::{Need, Problem};
use recipe::{
    input_type::{self, InputType},
    plan::{EnsureKind, Input, Plan, Step, StepKind, Target, Unit, UnitId},
    scope::Foreseen,
    syntax::{PermissionLevel, Rule},
    template,
    value::{Map, Value},
};

use crate::{
    agents::AgentSettings,
    machine::{host::Host, programs},
    store::secrets::{MASK, Mask},
};

/// Name of the step that represents missing things.
pub const STEP: &str = "preflight-validation";

/// The reason why nothing can run in a directory, if there is one.
pub(crate) fn dir_problem(dir: &Path) -> Option<&'static str> {
    // one question where all is well: only a directory has a `.`
    if !dir.as_os_str().is_empty() && may_execute(&dir.join(".")) {
        return None;
    }
    match dir.is_dir() {
        true if may_execute(dir) => None,
        true => Some("cannot be entered: permission denied"),
        false if dir.exists() => Some("is not a directory"),
        false => Some("does not exist"),
    }
}

/// Whether this process may execute a program, or enter a directory.
pub(crate) fn may_execute(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Problems of the context that a recipe would start with.
pub fn context_problems(unit: &Unit, context: &Map, dir: &Path) -> Vec<Problem> {
    problems_inside(unit, context, dir, dir)
}

/// The same for a sub-recipe: `dir` is the directory of the recipe that calls it, `start` that of the run. Paths of
/// inputs start from the latter.
pub(crate) fn problems_inside(unit: &Unit, context: &Map, dir: &Path, start: &Path) -> Vec<Problem> {
    let mut problems = Vec::new();
    // a name may lead into a value, or contain dots itself
    let value = |name: &str| match context.get(name) {
        Some(value) => value.clone(),
        None => template::parse_path(name).map(|path| path.resolve(context)).unwrap_or_default(),
    };
    let is_empty = |name: &str| is_empty(&value(name));
    let mask = Mask::new(unit.secrets.iter().cloned());
    for input in &unit.inputs {
        let value = value(&input.name);
        problems.extend(
            match input.required && lacks_value(input, &unit.fitted_value(&input.name, &value)) {
                true => Some(missing_value(input)),
                false => unfit_value(input, &value, &mask, start),
            },
        );
    }
    for (name, rule) in &unit.rules {
        let path = dir.join(value(name).render().as_ref());
        let shown = if mask.is_secret(name) { MASK.to_owned() } else { path.display().to_string() };
        let is_told = problems.iter().any(|told| told.need.is_about(name));
        let text = match rule {
            Rule::Optional => continue,
            _ if is_told => continue,
            _ if is_empty(name) => format!("`{name}` is empty: pass it with `--set {name}=…`"),
            Rule::Nonempty => continue,
            Rule::Path | Rule::GitRepo if !path.exists() => {
                format!("`{name}` must be a path that exists, but `{shown}` does not")
            }
            Rule::GitRepo if !is_git_repo(&path) => {
                format!("`{name}` must be a git work tree, but `{shown}` is not inside one")
            }
            Rule::Path | Rule::GitRepo => continue,
        };
        let need = if is_empty(name) { Need::Value(name.clone()) } else { Need::Path };
        problems.push(Problem { need, text });
    }
    problems
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::List(items) => items.is_empty(),
        Value::Map(members) => members.is_empty(),
        value => input_type::is_empty(value),
    }
}

/// Whether a value counts as none. `[]` and `{}` are JSON values like any other.
fn lacks_value(input: &Input, value: &Value) -> bool {
    match input.kind {
        Some(InputType::Json) => input_type::is_empty(value),
        _ => is_empty(value),
    }
}

/// The input in a message, with its description.
fn input_name(input: &Input) -> String {
    match input.description.as_str() {
        "" => format!("input `{}`", input.name),
        about => format!("input `{}` ({about})", input.name),
    }
}

fn missing_value(input: &Input) -> Problem {
    let name = &input.name;
    let (need, option) = match input.is_secret() {
        true => (Need::Secret(name.clone()), format!("--set-file {name}=FILE")),
        false => (Need::Value(name.clone()), format!("--set {name}=…")),
    };
    Problem { need, text: format!("{} has no value: pass it with `{option}`", input_name(input)) }
}

/// The problem with a value that does not fit the type of its input.
fn unfit_value(input: &Input, value: &Value, mask: &Mask, dir: &Path) -> Option<Problem> {
    let misfit = input.kind.as_ref()?.fit(value, &|path| dir.join(path).exists()).err()?;
    let shown = Some(value).filter(|_| !mask.is_secret(&input.name));
    let text = format!("{} {}", input_name(input), misfit.sentence(shown));
    Some(Problem { need: Need::Fit(input.name.clone()), text })
}

fn is_git_repo(path: &Path) -> bool {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    path.ancestors().any(|dir| dir.join(".git").exists())
}

/// Steps with `max_changed_files` in a directory outside git, and without a `changed` rule that names files. Directories
/// that only a run knows are left out: such a step fails when it runs.
pub fn uncounted_changes(
    plan: &Plan,
    working_dir: &Path,
    runs: impl Fn(&Unit, &Step) -> bool,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut open: Vec<(UnitId, PathBuf)> = vec![(plan.root, working_dir.to_owned())];
    let mut seen: HashSet<(UnitId, PathBuf)> = HashSet::new();
    while let Some((id, base)) = open.pop() {
        if !seen.insert((id, base.clone())) {
            continue;
        }
        let unit = plan.unit(id);
        for step in unit.steps.iter().filter(|step| runs(unit, step)) {
            let Some(dir) = step.working_dir.as_ref().map_or(Some(""), |dir| dir.as_literal()) else {
                continue;
            };
            let dir = base.join(dir);
            if counts_changes(step) && dir.is_dir() && !is_git_repo(&dir) {
                let text = format!(
                    "step `{}` has `max_changed_files`, and `{}` is not inside a git work tree",
                    step.id,
                    dir.display()
                );
                problems.push(Problem { need: Need::WorkTree, text });
            }
            if let StepKind::Nested { target: Target::Known { unit, .. }, .. } = &step.kind {
                open.push((*unit, dir));
            }
        }
    }
    problems
}

/// Whether the changed files of a step are counted, and nothing names them.
pub(crate) fn counts_changes(step: &Step) -> bool {
    let has = |kind: EnsureKind| step.ensure.iter().any(|rule| rule.kind() == kind);
    has(EnsureKind::MaxChangedFiles) && !has(EnsureKind::Changed)
}

/// Environment variables that the recipes which may run require, and that are not set. `runs` says which steps may run
/// at all.
pub fn missing_env(plan: &Plan, host: &Host, runs: impl Fn(&Unit, &Step) -> bool) -> Option<Problem> {
    let entered = Needed::of(plan, runs).entered;
    let mut units: Vec<_> = entered.iter().collect();
    units.sort_unstable_by_key(|(id, _)| **id);
    let required = units.into_iter().flat_map(|(id, given)| {
        let env = &plan.unit(*id).env;
        env.required.iter().filter(|name| !given.contains(name.as_str()) && !env.sets(name))
    });
    missing_names(required, &env_files(plan), host)
}

/// Environment variables that a recipe requires when it is entered, and that are neither set nor passed to it.
pub fn missing_in(unit: &Unit, host: &Host, given: &BTreeSet<String>) -> Option<Problem> {
    missing_names(
        unit.env.required.iter().filter(|name| !given.contains(*name) && !unit.env.sets(name)),
        &unit.env.files.iter().collect::<Vec<_>>(),
        host,
    )
}

/// The environment files of all recipes.
fn env_files(plan: &Plan) -> Vec<&String> {
    let mut seen = HashSet::new();
    let files = plan.units.iter().flat_map(|unit| &unit.env.files);
    files.filter(|file| seen.insert(file.as_str())).collect()
}

/// `files` are the environment files of the recipes.
fn missing_names<'p>(
    required: impl Iterator<Item = &'p String>,
    files: &[&'p String],
    host: &Host,
) -> Option<Problem> {
    let mut seen = HashSet::new();
    let missing: Vec<String> = required
        .filter(|name| host.var(name).is_none_or(|value| value.is_empty()))
        .filter(|name| seen.insert(name.as_str()))
        .cloned()
        .collect();
    let first = missing.first()?;
    let list = missing.join(", ");
    let set = match missing.iter().all(|name| host.var(name).is_some()) {
        true => "it is empty: set it",
        false => "set it",
    };
    let files: Vec<String> = files.iter().map(|file| format!("`{file}`")).collect();
    let files = if files.is_empty() { "`.env`".to_owned() } else { files.join(" or ") };
    let text =
        format!("MISSING_ENV_VAR: {list}: {set} with `export {first}=…`, or in {files} beside the recipe");
    Some(Problem { text, need: Need::Variables(missing) })
}

/// What these steps of a plan need from outside and lack.
pub fn missing_for(plan: &Plan, steps: &[&Arc<Step>], settings: &AgentSettings, host: &Host) -> Vec<Problem> {
    let mut problems = Vec::new();
    // names that depend on a value are known only when the step runs
    let named: BTreeSet<Vec<String>> = steps
        .iter()
        .filter_map(|step| match &step.kind {
            StepKind::Agent(agent) => agent.programs.fixed(),
            _ => None,
        })
        .collect();
    problems.extend(named.iter().filter_map(|named| programs::problem_of_all(named, settings, host)));
    let mentions = |name: &str| {
        steps.iter().any(|step| match &step.kind {
            StepKind::Shell { command } => command.text().contains(name),
            StepKind::Agent(_) | StepKind::Nested { .. } | StepKind::Ask(_) => true,
        })
    };
    let is_set = |name: &str| plan.units.iter().any(|unit| unit.env.sets(name));
    let required =
        plan.units.iter().flat_map(|unit| &unit.env.required).filter(|name| mentions(name) && !is_set(name));
    problems.extend(missing_names(required, &env_files(plan), host));
    problems
}

/// Agent programs that the run needs and that are missing. `runs` says which steps may run at all.
pub fn missing_programs(
    plan: &Plan,
    settings: &AgentSettings,
    host: &Host,
    runs: impl Fn(&Unit, &Step) -> bool,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut seen = HashSet::new();
    for step in Needed::of(plan, runs).steps {
        let StepKind::Agent(agent) = &step.kind else { continue };
        let level = agent.permissions.map(|permissions| permissions.level).or(settings.permissions);
        let Some(named) = agent.programs.fixed() else { continue };
        if seen.insert((named.clone(), level)) {
            let found = programs::problem_of_all(&named, settings, host);
            let refused = || {
                let may_be_limited = plan.units.iter().any(|unit| unit.limits.permissions.is_some());
                let is_full = level.unwrap_or(PermissionLevel::Full) == PermissionLevel::Full;
                let (problem, fix) = programs::root_problem(&named, settings, host)?;
                (is_full && !may_be_limited)
                    .then(|| Problem { text: format!("{}: {fix}", problem.text), ..problem })
            };
            problems.extend(
                found.or_else(refused).map(|problem| Problem {
                    text: format!("step `{}`: {}", step.id, problem.text),
                    ..problem
                }),
            );
        }
    }
    problems
}

/// The parts of a plan that may run.
struct Needed<'p> {
    /// The steps, including those of sub-recipes.
    steps: Vec<&'p Step>,
    /// The recipes, each with the variables that all steps which run it pass to it.
    entered: HashMap<UnitId, BTreeSet<&'p str>>,
}

impl<'p> Needed<'p> {
    fn of(plan: &'p Plan, runs: impl Fn(&Unit, &Step) -> bool) -> Needed<'p> {
        let mut needed = Needed { steps: Vec::new(), entered: HashMap::from([(plan.root, BTreeSet::new())]) };
        let mut queue = vec![plan.root];
        while let Some(id) = queue.pop() {
            let unit = plan.unit(id);
            for step in unit.steps.iter().filter(|step| runs(unit, step)) {
                if let StepKind::Nested { target: Target::Known { unit, .. }, .. } = &step.kind {
                    let own = plan.unit(id).env.set.iter().chain(&step.env).map(|(name, _)| name.as_str());
                    let given: BTreeSet<&str> = own.chain(needed.entered[&id].iter().copied()).collect();
                    queue.extend(needed.enter(*unit, given).then_some(*unit));
                }
                needed.steps.push(&**step);
            }
        }
        needed
    }

    /// Notes that a recipe is run with these variables; returns whether that changes its entry.
    fn enter(&mut self, unit: UnitId, given: BTreeSet<&'p str>) -> bool {
        let known = self.entered.get(&unit).cloned();
        let both =
            known.as_ref().map_or(given.clone(), |known| known.intersection(&given).copied().collect());
        let is_new = known.as_ref() != Some(&both);
        self.entered.insert(unit, both);
        is_new
    }
}

/// Finds, before the first step, the steps of the main recipe that are certain to be skipped.
pub struct RuledOut {
    /// Names whose values only the run knows; `None` if the names themselves are unknown.
    unknown: Option<HashSet<String>>,
}

impl RuledOut {
    /// Collects the names once: a plan may have thousands of conditions.
    pub fn new(plan: &Plan) -> RuledOut {
        let mut unknown = HashSet::new();
        for unit in &plan.units {
            for step in &unit.steps {
                // a recipe whose name is a template may assign any name
                if matches!(&step.kind, StepKind::Nested { target: Target::Dynamic { .. }, .. }) {
                    return RuledOut { unknown: None };
                }
                unknown.insert(step.id.clone());
                unknown.extend(step.store.clone());
            }
            if !Arc::ptr_eq(unit, plan.root()) {
                unknown.extend(unit.context.keys().cloned());
            }
        }
        RuledOut { unknown: Some(unknown) }
    }

    /// Whether the condition of this step is false in every run with this initial context.
    pub fn contains(&self, step: &Step, context: &Map) -> bool {
        let (Some(condition), Some(unknown)) = (&step.condition, &self.unknown) else { return false };
        condition.decide(&Foreseen { scope: context, unknown }) == Ok(Some(false))
    }
}
