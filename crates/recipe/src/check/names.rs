//! Names across a plan: what defines them, what reads them, which ones collide.
//!
//! Warns about a name only if nothing at all can define it; recipes may be given names that they do not declare.

use std::collections::{HashMap, HashSet};

use super::{Given, children};
use crate::{
    diagnostic::{Code, Diagnostic, did_you_mean},
    env_name,
    plan::{Plan, StepKind, Target, Unit},
    scope::Path,
    source::Place,
    value::{Map, Value},
};

/// A place that reads a name.
#[derive(Clone, Debug)]
pub(super) struct Use {
    pub(super) path: Path,
    pub(super) place: Place,
    pub(super) at: Where,
}

/// Which part of a recipe reads it; steps by their index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Where {
    Step(usize),
    Prompt(usize),
    Condition(usize),
    Hook,
    End,
}

impl Where {
    pub(super) fn step(self) -> usize {
        match self {
            Where::Step(at) | Where::Prompt(at) | Where::Condition(at) => at,
            Where::Hook | Where::End => usize::MAX,
        }
    }
}

/// Names that hooks know besides the context.
const HOOK_NAMES: &[&str] = &["step_id", "step_type", "step_status", "step_error", "recipe_name", "run_id"];
/// Names that prompts know besides the context.
const PROMPT_NAMES: &[&str] = &["working_directory", "NONINTERACTIVE"];

pub(super) fn check(plan: &Plan, uses: &[Vec<Use>], given: &Given, diagnostics: &mut Vec<Diagnostic>) {
    let below: Vec<HashSet<String>> = names_below(plan);
    let from_callers = names_from_callers(plan, &below);
    for (at, unit) in plan.units.iter().enumerate() {
        let mut known: HashSet<&str> = from_callers[at].iter().map(String::as_str).collect();
        known.extend(given.names.iter().map(String::as_str));
        undefined(unit, &uses[at], &below, &known, diagnostics);
        collisions(unit, given, diagnostics);
    }
}

/// For every unit, the names that its final context can hold: its own and those of the recipes below.
fn names_below(plan: &Plan) -> Vec<HashSet<String>> {
    let mut names: Vec<HashSet<String>> =
        plan.units.iter().map(|unit| unit.names.iter().cloned().collect()).collect();
    spread(plan, |parent, child| {
        let missing: Vec<String> = names[child].difference(&names[parent]).cloned().collect();
        let changed = !missing.is_empty();
        names[parent].extend(missing);
        changed
    });
    names
}

/// For every unit, the names that the recipes which call it may hand down.
fn names_from_callers(plan: &Plan, below: &[HashSet<String>]) -> Vec<HashSet<String>> {
    let mut names: Vec<HashSet<String>> = vec![HashSet::new(); plan.units.len()];
    for (parent, unit) in plan.units.iter().enumerate() {
        for step in &unit.steps {
            if let StepKind::Nested { target: Target::Known { unit, .. }, overrides, .. } = &step.kind {
                let child = &mut names[unit.0 as usize];
                child.extend(below[parent].iter().cloned());
                child.extend(overrides.iter().map(|(name, _)| name.clone()));
            }
        }
    }
    spread(plan, |parent, child| {
        let missing: Vec<String> = names[parent].difference(&names[child]).cloned().collect();
        let changed = !missing.is_empty();
        names[child].extend(missing);
        changed
    });
    names
}

/// Applies `step(parent, child)` to every call until nothing changes any more.
fn spread(plan: &Plan, mut step: impl FnMut(usize, usize) -> bool) {
    let calls: Vec<(usize, usize)> = plan
        .units
        .iter()
        .enumerate()
        .flat_map(|(parent, unit)| children(unit).map(move |child| (parent, child.0 as usize)))
        .collect::<HashSet<_>>()
        .into_iter()
        .collect();
    while calls.iter().fold(false, |changed, (parent, child)| step(*parent, *child) | changed) {}
}

fn undefined(
    unit: &Unit,
    uses: &[Use],
    below: &[HashSet<String>],
    outside: &HashSet<&str>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let declared = unit.context.keys().chain(unit.inputs.iter().map(|input| &input.name));
    // the index of the first step that can see a name; later definitions do not count
    let mut visible: HashMap<&str, usize> = declared.map(|name| (name.as_str(), 0)).collect();
    for (at, step) in unit.steps.iter().enumerate() {
        let after = next_after_group(unit, at);
        let stored = step.store.as_deref().into_iter();
        let mut define = |name| {
            visible.entry(name).or_insert(after);
        };
        stored.for_each(&mut define);
        match &step.kind {
            StepKind::Nested { target: Target::Known { unit, .. }, overrides, .. } => {
                below[unit.0 as usize].iter().map(String::as_str).for_each(&mut define);
                overrides.iter().map(|(name, _)| name.as_str()).for_each(&mut define);
            }
            // its names are known only when it runs
            StepKind::Nested { target: Target::Dynamic { .. }, .. } => return,
            _ => {}
        }
    }
    for used in uses {
        let root = used.path.root.as_str();
        let full = used.path.to_string();
        let sees = |name: &str| {
            outside.contains(name) || visible.get(name).is_some_and(|from| *from <= used.at.step())
        };
        let special = match used.at {
            Where::Hook => HOOK_NAMES.contains(&root),
            Where::Prompt(_) => PROMPT_NAMES.contains(&root),
            _ => false,
        };
        if special || sees(root) || sees(&full) {
            continue;
        }
        let names = visible.keys().copied().chain(outside.iter().copied());
        let meant = did_you_mean(root, names);
        // optional names are a pattern of conditions: only a probable slip is worth a word
        if matches!(used.at, Where::Condition(_)) && meant.is_none() && !visible.contains_key(root) {
            continue;
        }
        diagnostics.push(undefined_name(root, used, meant, visible.get(root).copied(), unit));
    }
}

fn undefined_name(
    root: &str,
    used: &Use,
    meant: Option<&str>,
    defined_after: Option<usize>,
    unit: &Unit,
) -> Diagnostic {
    let problem = Diagnostic::new(
        Code::UndefinedVariable,
        used.place,
        format!("nothing defines `{root}` before this step"),
    );
    match (defined_after, meant) {
        (Some(after), _) => {
            let step = unit.steps.get(after.wrapping_sub(1)).map_or("a later step", |step| step.id.as_str());
            problem
                .label("renders as empty text")
                .help(format!("it gets its value only when step `{step}` has run"))
        }
        (None, Some(meant)) => problem.label(format!("did you mean `{meant}`?")),
        (None, None) => problem
            .label("renders as empty text")
            .help(format!("declare it under `context:`, or pass it with `--set {root}=…`")),
    }
}

/// The index of the first step that sees what step `at` stores: the one after its parallel group.
fn next_after_group(unit: &Unit, at: usize) -> usize {
    let group = &unit.steps[at].group;
    let mut next = at + 1;
    while group.is_some() && unit.steps.get(next).is_some_and(|step| step.group == *group) {
        next += 1;
    }
    next
}

fn collisions(unit: &Unit, given: &Given, diagnostics: &mut Vec<Diagnostic>) {
    let Some(first) = unit.steps.first() else { return };
    let place_of = |name: &str| {
        let step = unit.steps.iter().find(|step| step.store.as_deref() == Some(name));
        step.map_or(first.place, |step| step.place)
    };
    let mut exact: HashMap<String, &str> = HashMap::new();
    let mut upper: HashMap<String, &str> = HashMap::new();
    for name in unit.names.iter().chain(&given.names) {
        if let Some(variable) = env_name::variable(name)
            && let Some(other) = exact.insert(variable.clone(), name)
            && other != name
        {
            let message = format!("`{other}` and `{name}` both become `{variable}`");
            diagnostics.push(
                Diagnostic::new(Code::NameCollision, place_of(name), message)
                    .label(format!("`{name}` collides with `{other}`"))
                    .help("rename one of them: `-` and `_` are the same in environment names"),
            );
            continue;
        }
        if let Some(alias) = env_name::alias(name)
            && let Some(other) = upper.insert(alias.clone(), name)
            && other != name
        {
            let message = format!(
                "`{other}` and `{name}` have the same uppercase form `{alias}`: neither is exported under it"
            );
            diagnostics.push(Diagnostic::new(Code::AliasCollision, place_of(name), message));
        }
    }
    nested_collisions(&unit.context, &exact, first.place, diagnostics);
}

/// `a.b` of a declared map and a top-level `a__b` would share a name.
fn nested_collisions(
    context: &Map,
    exact: &HashMap<String, &str>,
    place: Place,
    diagnostics: &mut Vec<Diagnostic>,
) {
    for (name, value) in context {
        let Value::Map(members) = value else { continue };
        for key in members.keys() {
            let full = format!("{name}.{key}");
            let Some(variable) = env_name::variable(&full) else { continue };
            if let Some(other) = exact.get(&variable) {
                let message = format!("`{full}` and `{other}` both become `{variable}`");
                diagnostics
                    .push(Diagnostic::new(Code::NameCollision, place, message).help("rename one of them"));
            }
        }
    }
}
