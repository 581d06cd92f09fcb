//! Names across a plan: what defines them, what reads them, which ones collide.
//!
//! Warns about a name only if nothing at all can define it; recipes may be given names that they do not declare.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
    Given, MAX_COMPARISONS, children,
    members::{self, member_names},
};
use crate::{
    diagnostic::{Code, Diagnostic, Severity, did_you_mean},
    env_name,
    plan::{Plan, Step, StepKind, Target, Unit},
    scope::Path,
    source::Place,
};

/// What the checks of one recipe found out about its names.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Places that read names.
    pub(super) uses: Vec<Use>,
    /// Where names are declared.
    pub(super) declared: HashMap<String, Place>,
    /// Part of the recipe could not be read, so nobody knows what it defines.
    pub(super) is_partial: bool,
}

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
    Secret,
}

impl Where {
    pub(super) fn step(self) -> usize {
        match self {
            Where::Step(at) | Where::Prompt(at) | Where::Condition(at) => at,
            Where::Hook | Where::End | Where::Secret => usize::MAX,
        }
    }
}

/// Names that hooks know besides the context.
const HOOK_NAMES: &[&str] = &["step_id", "step_type", "step_status", "step_error", "recipe_name", "run_id"];
/// Names that prompts know besides the context.
const PROMPT_NAMES: &[&str] = &["working_directory", "NONINTERACTIVE"];

pub(super) fn check(plan: &Plan, notes: &[Notes], given: &Given, diagnostics: &mut Vec<Diagnostic>) {
    let flow = Flow::new(plan, notes);
    let mut told = HashSet::new();
    for (at, unit) in plan.units.iter().enumerate() {
        let mut outside: BTreeSet<&str> = flow.above[at].iter().map(String::as_str).collect();
        outside.extend(given.names.iter().map(String::as_str));
        if !notes[at].is_partial && !flow.is_open_above[at] {
            undefined(unit, &notes[at].uses, &flow, &outside, diagnostics);
        }
        let mut collisions = Collisions { unit, notes: &notes[at], told: &mut told, diagnostics };
        collisions.own(given);
        collisions.with_callers(&flow.above[at]);
    }
}

/// How names travel between the recipes of a plan.
struct Flow {
    /// What the final context of a unit can hold: its own names and those of the recipes below.
    below: Vec<BTreeSet<String>>,
    /// What steps of a unit and of the recipes below assign.
    assigned: Vec<BTreeSet<String>>,
    /// What the recipes that call a unit may hand down.
    above: Vec<BTreeSet<String>>,
    /// Whether a unit can also define names that only a run will tell.
    is_open: Vec<bool>,
    /// Whether that is so for a recipe that calls the unit.
    is_open_above: Vec<bool>,
}

impl Flow {
    fn new(plan: &Plan, notes: &[Notes]) -> Flow {
        let own = |names: fn(&Unit) -> BTreeSet<String>| plan.units.iter().map(|unit| names(unit)).collect();
        let mut below: Vec<BTreeSet<String>> = own(|unit| unit.names.iter().cloned().collect());
        let mut assigned: Vec<BTreeSet<String>> =
            own(|unit| unit.steps.iter().filter_map(|step| step.store.clone()).collect());
        let dynamic = |unit: &Unit| unit.steps.iter().any(|step| is_dynamic(step));
        let mut is_open: Vec<bool> =
            plan.units.iter().zip(notes).map(|(unit, notes)| notes.is_partial || dynamic(unit)).collect();
        spread(plan, |parent, child| {
            let opened = is_open[child] && !is_open[parent];
            is_open[parent] |= opened;
            opened | flow_into(&mut below, child, parent) | flow_into(&mut assigned, child, parent)
        });
        let mut above = handed_down(plan, &below);
        let mut is_open_above = vec![false; plan.units.len()];
        spread(plan, |parent, child| {
            let opened = (is_open[parent] || is_open_above[parent]) && !is_open_above[child];
            is_open_above[child] |= opened;
            opened | flow_into(&mut above, parent, child)
        });
        Flow { below, assigned, above, is_open, is_open_above }
    }

    /// The names that a step defines for the steps after it.
    fn defined_by<'a>(&'a self, step: &'a Step) -> Vec<&'a str> {
        let mut names: Vec<&str> = step.store.as_deref().into_iter().collect();
        if let StepKind::Nested { target: Target::Known { unit, .. }, overrides, .. } = &step.kind {
            let child = unit.0 as usize;
            // what was only handed down does not come back
            let stays = |name: &&String| {
                self.assigned[child].contains(*name) || overrides.iter().all(|(key, _)| key != *name)
            };
            names.extend(self.below[child].iter().filter(stays).map(String::as_str));
        }
        names
    }

    /// Whether a step can define names that only a run will tell.
    fn opens(&self, step: &Step) -> bool {
        match &step.kind {
            StepKind::Nested { target: Target::Known { unit, .. }, .. } => self.is_open[unit.0 as usize],
            _ => is_dynamic(step),
        }
    }
}

pub(super) fn is_dynamic(step: &Step) -> bool {
    matches!(&step.kind, StepKind::Nested { target: Target::Dynamic { .. }, .. })
}

/// Adds the names of one unit to those of another; says whether any was new.
fn flow_into(names: &mut [BTreeSet<String>], from: usize, to: usize) -> bool {
    let missing: Vec<String> = names[from].difference(&names[to]).cloned().collect();
    let changed = !missing.is_empty();
    names[to].extend(missing);
    changed
}

/// For every unit, what the steps that call it hand down directly.
fn handed_down(plan: &Plan, below: &[BTreeSet<String>]) -> Vec<BTreeSet<String>> {
    let mut names: Vec<BTreeSet<String>> = vec![BTreeSet::new(); plan.units.len()];
    for (parent, unit) in plan.units.iter().enumerate() {
        for step in &unit.steps {
            if let StepKind::Nested { target: Target::Known { unit, .. }, overrides, .. } = &step.kind {
                let child = &mut names[unit.0 as usize];
                child.extend(below[parent].iter().cloned());
                child.extend(overrides.iter().map(|(name, _)| name.clone()));
            }
        }
    }
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
    flow: &Flow,
    outside: &BTreeSet<&str>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let declared = unit.context.keys().chain(unit.inputs.iter().map(|input| &input.name));
    // a rule is a promise that the caller gives the variable
    let declared = declared.chain(unit.rules.iter().map(|(name, _)| name));
    // the index of the first step that can see a name; later definitions do not count
    let mut visible: HashMap<&str, usize> = declared.map(|name| (name.as_str(), 0)).collect();
    // the first step that can see names which only a run will tell
    let mut open_from = None;
    let mut assigned: HashMap<&str, usize> = HashMap::new();
    let mut after = 0;
    for (at, step) in unit.steps.iter().enumerate() {
        if at >= after {
            after = next_after_group(unit, at);
        }
        for name in flow.defined_by(step) {
            visible.entry(name).or_insert(after);
            assigned.entry(name).or_insert(after);
        }
        if flow.opens(step) {
            open_from = open_from.or(Some(after));
        }
    }
    let mut suggestions: HashMap<&str, Option<&str>> = HashMap::new();
    for used in uses.iter().filter(|used| open_from.is_none_or(|open| used.at.step() < open)) {
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
            let is_whole = special || sees(&full) || used.path.segments.is_empty();
            diagnostics
                .extend((!is_whole).then(|| members::missing(unit, used, outside, &assigned)).flatten());
            continue;
        }
        let meant = match suggestions.get(root) {
            Some(known) => *known,
            None if suggestions.len() * (visible.len() + outside.len()) > MAX_COMPARISONS => None,
            None => {
                let names = visible.keys().copied().chain(outside.iter().copied());
                let meant = did_you_mean(root, names);
                suggestions.insert(root, meant);
                meant
            }
        };
        // optional names are a pattern of conditions: only a probable slip is worth a word
        if matches!(used.at, Where::Condition(_)) && meant.is_none() && !visible.contains_key(root) {
            let is_term = |word: &str| sees(word) || word.bytes().all(|byte| byte.is_ascii_digit());
            let is_sum = root.split_once('-').is_some_and(|(name, rest)| sees(name) && is_term(rest));
            diagnostics.extend(is_sum.then(|| not_a_sum(root, used)));
            continue;
        }
        diagnostics.push(undefined_name(root, used, meant, visible.get(root).copied(), unit));
    }
}

/// `n-1` is one name in a condition: taken for a subtraction it would be false without a word.
fn not_a_sum(root: &str, used: &Use) -> Diagnostic {
    let message = format!("`{root}` is one name here, and nothing defines it: a condition cannot subtract");
    Diagnostic::new(Code::ConditionSyntax, used.place, message)
        .label("not a subtraction")
        .help("compute it in a bash step, and compare its output")
}

fn undefined_name(
    root: &str,
    used: &Use,
    meant: Option<&str>,
    defined_after: Option<usize>,
    unit: &Unit,
) -> Diagnostic {
    let message = match used.at {
        Where::Hook | Where::End | Where::Secret => format!("nothing defines `{root}`"),
        Where::Step(_) | Where::Prompt(_) | Where::Condition(_) => {
            format!("nothing defines `{root}` before this step")
        }
    };
    let problem = Diagnostic::new(Code::UndefinedVariable, used.place, message);
    match (defined_after, meant) {
        (Some(after), _) => {
            let step = &unit.steps[after - 1];
            let event = match &step.group {
                Some(group) => format!("parallel group `{}` has ended", group.name),
                None => format!("step `{}` has run", step.id),
            };
            problem.label("renders as empty text").help(format!("it gets its value only when {event}"))
        }
        (None, Some(meant)) => problem.label(format!("did you mean `{meant}`?")),
        (None, None) => problem
            .label(if used.at == Where::Secret { "hides nothing" } else { "renders as empty text" })
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

/// Names that become the same environment variable.
struct Collisions<'a> {
    unit: &'a Unit,
    notes: &'a Notes,
    /// Pairs that have been told, in whichever recipe.
    told: &'a mut HashSet<(String, String)>,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl Collisions<'_> {
    fn own(&mut self, given: &Given) {
        let mut exact: HashMap<String, String> = HashMap::new();
        let mut upper: HashMap<String, String> = HashMap::new();
        for name in self.unit.names.iter().chain(&given.names) {
            if let Some(variable) = env_name::variable(name)
                && let Some(other) = exact.insert(variable, name.clone())
                && other != *name
            {
                self.report(name, &other, Severity::Error);
            } else if let Some(alias) = env_name::alias(name)
                && let Some(other) = upper.insert(alias.clone(), name.clone())
                && other != *name
            {
                self.report_alias(name, &other, &alias);
            }
        }
        for (name, value) in &self.unit.context {
            for member in member_names(name, value) {
                let Some(variable) = env_name::variable(&member) else { continue };
                match exact.insert(variable, member.clone()) {
                    Some(other) if other != member => self.report(&member, &other, Severity::Error),
                    // a value that is given for a member becomes the member
                    Some(_) if self.unit.names.contains(&member) => self.report_member(&member, name),
                    _ => {}
                }
            }
        }
    }

    /// A recipe usually does not know its callers, so this does not stop it.
    fn with_callers(&mut self, above: &BTreeSet<String>) {
        let own: HashSet<&String> = self.unit.names.iter().collect();
        let foreign = above.iter().filter(|name| !own.contains(name));
        let handed: HashMap<String, &String> =
            foreign.filter_map(|name| Some((env_name::variable(name)?, name))).collect();
        for name in &self.unit.names {
            if let Some(variable) = env_name::variable(name)
                && let Some(other) = handed.get(&variable)
            {
                self.report(name, other, Severity::Warning);
            }
        }
    }

    fn report(&mut self, name: &str, other: &str, severity: Severity) {
        let (Some(place), Some(variable)) = (self.place(name, other), env_name::variable(name)) else {
            return;
        };
        if !self.told.insert((name.min(other).to_owned(), name.max(other).to_owned())) {
            return;
        }
        let message = format!("`{other}` and `{name}` both become `{variable}`");
        self.diagnostics.push(
            Diagnostic::new(Code::NameCollision, place, message)
                .severity(severity)
                .label(format!("`{name}` collides with `{other}`"))
                .help("rename one of them: in environment names `-` is `_`, and `.` is `__`"),
        );
    }

    /// `a.b` as a name of its own would never be read: the path leads into `a`.
    fn report_member(&mut self, member: &str, map: &str) {
        let Some(place) = self.place(member, map) else { return };
        let message = format!("`{member}` is a name of its own, and also a member of `{map}`");
        self.diagnostics.push(
            Diagnostic::new(Code::NameCollision, place, message)
                .label(format!("`{map}` has it already"))
                .help(format!("rename it, or remove it from `{map}`: templates cannot tell the two apart")),
        );
    }

    fn report_alias(&mut self, name: &str, other: &str, alias: &str) {
        let Some(place) = self.place(name, other) else { return };
        let message = format!(
            "`{other}` and `{name}` have the same uppercase form `{alias}`: neither is exported under it"
        );
        let help = format!("rename one of them, or read them as `{}{name}`", env_name::PREFIX);
        self.diagnostics.push(
            Diagnostic::new(Code::AliasCollision, place, message)
                .label(format!("same as `{other}`"))
                .help(help),
        );
    }

    /// Where a name is declared, or the one that it collides with, or the member's top-level name.
    fn place(&self, name: &str, other: &str) -> Option<Place> {
        let declared = |name: &str| self.notes.declared.get(name).copied();
        let stored = |name: &str| {
            let step = self.unit.steps.iter().find(|step| step.store.as_deref() == Some(name));
            step.map(|step| step.place)
        };
        let top = |name: &str| name.split_once('.').and_then(|(top, _)| declared(top));
        let known = |name: &str| declared(name).or_else(|| stored(name)).or_else(|| top(name));
        let first = || self.unit.steps.first().map(|step| step.place);
        known(name).or_else(|| known(other)).or_else(first)
    }
}
