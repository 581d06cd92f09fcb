//! The dependencies of steps: a recipe as a graph, for users and for resuming.
//!
//! Never looks into a recipe step; every recipe has its own graph.

pub mod needs;
mod outside;
mod step_reads;

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::{
    env_name,
    plan::{EnsureRule, Plan, Step, StepKind, Target, Unit, UnitId},
    scope::Path,
    step_facts::STEPS,
};

use step_reads::StepEdges;
pub use step_reads::step_reads;

/// Why a step comes after another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Link {
    /// `depends_on` names it.
    DependsOn,
    /// It reads a variable that the other one writes.
    Value,
    /// It asks how the other one went.
    Status,
    /// It reads files that the other one writes.
    Files,
    /// It is merely the next one.
    Order,
}

impl Link {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Link::DependsOn => "depends_on",
            Link::Value => "value",
            Link::Status => "status",
            Link::Files => "files",
            Link::Order => "order",
        }
    }
}

/// One edge: step `from` comes before step `to`, both as indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The earlier step.
    pub from: usize,
    /// The later step.
    pub to: usize,
    /// Why.
    pub link: Link,
    /// The variable, path or pattern, if there is one.
    pub what: Option<String>,
}

/// The variables that a step reads, by their top-level names.
pub fn reads(step: &Step) -> Vec<String> {
    let mut names: Vec<String> = paths(step).into_iter().map(|path| path.root).collect();
    names.sort();
    names.dedup();
    names
}

/// Every path into the context that a step reads.
fn paths(step: &Step) -> Vec<Path> {
    let mut paths = all_paths(step);
    paths.retain(|path| path.root != STEPS);
    paths
}

/// Every path that a step reads, also those to other steps.
fn all_paths(step: &Step) -> Vec<Path> {
    let mut templates: Vec<&crate::template::Template> =
        step.env.iter().map(|(_, template)| template).collect();
    templates.extend(&step.working_dir);
    match &step.kind {
        StepKind::Shell { command } => templates.push(command),
        StepKind::Agent(agent) => {
            templates.push(&agent.prompt);
            templates.extend(&agent.model);
            templates.extend(&agent.prompt_file);
            templates.extend(&agent.args);
            templates.extend(&agent.programs.0);
        }
        StepKind::Nested { target, overrides, recoverer, .. } => {
            if let Target::Dynamic { name, .. } = target {
                templates.push(name);
            }
            templates.extend(overrides.iter().flat_map(|(_, value)| value.templates()));
            templates.extend(&recoverer.model);
            templates.extend(&recoverer.programs.0);
        }
        StepKind::Ask(ask) => templates.extend(ask.templates()),
    }
    let in_templates = templates.into_iter().flat_map(|template| template.names());
    let mut paths: Vec<Path> = in_templates.map(|(path, _)| path.clone()).collect();
    let until = step.repeat().and_then(|repeat| repeat.until.as_ref());
    for condition in step.condition.iter().chain(until) {
        paths.extend(condition.names().into_iter().map(|(path, _)| path));
    }
    // its own value is not an input
    let is_input = |path: &Path| step.store.as_ref() != Some(&path.root);
    paths.extend(step.ensure.iter().flat_map(|rule| rule.reads()).filter(is_input));
    paths.retain(|path| !step.is_loop_name(&path.root));
    let list = step.each().map(|each| each.templates()).unwrap_or_default();
    paths.extend(list.into_iter().flat_map(|template| template.names()).map(|(path, _)| path.clone()));
    paths
}

/// The variables that a step writes: its own, and those of the steps of its recipe, which flow back.
pub fn writes(plan: &Plan, step: &Step) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = step.store.iter().cloned().collect();
    let mut seen: HashSet<UnitId> = HashSet::new();
    let mut open: Vec<UnitId> = flowing_back(step).into_iter().collect();
    while let Some(id) = open.pop() {
        if seen.insert(id) {
            let steps = &plan.unit(id).steps;
            names.extend(steps.iter().filter_map(|step| step.store.clone()));
            open.extend(steps.iter().filter_map(|step| flowing_back(step)));
        }
    }
    names
}

/// The recipe whose variables flow back.
fn flowing_back(step: &Step) -> Option<UnitId> {
    known_target(step).filter(|_| step.each().is_none())
}

fn known_target(step: &Step) -> Option<UnitId> {
    match &step.kind {
        StepKind::Nested { target: Target::Known { unit, .. }, .. } => Some(*unit),
        _ => None,
    }
}

/// A step with the steps of the recipe that it runs, and so on downwards; the recipes come second.
fn with_below<'a>(plan: Option<&'a Plan>, step: &'a Step) -> (Vec<&'a Step>, Vec<&'a Unit>) {
    let (mut steps, mut units) = (vec![step], Vec::new());
    let mut seen: HashSet<UnitId> = HashSet::new();
    let mut open: Vec<UnitId> = known_target(step).into_iter().collect();
    while let (Some(id), Some(plan)) = (open.pop(), plan) {
        if seen.insert(id) {
            let unit = plan.unit(id);
            steps.extend(unit.steps.iter().map(|step| &**step));
            open.extend(unit.steps.iter().filter_map(|step| known_target(step)));
            units.push(&**unit);
        }
    }
    (steps, units)
}

/// The names of the context that a step reads, whether anything has given them a value or not: by its templates, its
/// condition and the steps of its recipe, and those of `known` whose environment names its command mentions.
pub fn inputs<'a>(plan: &Plan, step: &Step, known: impl Iterator<Item = &'a String>) -> BTreeSet<String> {
    let (dotted, mut names): (BTreeSet<String>, BTreeSet<String>) =
        reads_in(Some(plan), step).into_iter().partition(|name| name.contains('.'));
    let mentions: HashSet<&str> = mentions(Some(plan), step).into_iter().collect();
    if !mentions.is_empty() || !dotted.is_empty() {
        let is_mentioned = |name: &str| {
            let variables = [env_name::variable(name), env_name::alias(name)];
            variables.iter().flatten().any(|variable| mentions.contains(variable.as_str()))
        };
        // most dotted paths lead into a variable, and are no names
        names.extend(known.filter(|name| dotted.contains(*name) || is_mentioned(name)).cloned());
    }
    names
}

/// The names that a step reads, and those that its sub-recipe reads from the context around it: every name that
/// their paths may begin with.
fn reads_in(plan: Option<&Plan>, step: &Step) -> BTreeSet<String> {
    let (steps, units) = with_below(plan, step);
    let results = units.iter().filter_map(|unit| unit.result_template());
    let shown = results.flat_map(|template| template.names()).map(|(path, _)| path.clone());
    let all = steps.into_iter().flat_map(paths).chain(shown);
    all.flat_map(|path| path.names().collect::<Vec<_>>()).collect()
}

/// The commands of a step: its own, and those that check its work.
fn commands(step: &Step) -> impl Iterator<Item = &crate::template::Template> {
    let own = match &step.kind {
        StepKind::Shell { command } => Some(command),
        _ => None,
    };
    let checks = step.ensure.iter().filter_map(|rule| match rule {
        EnsureRule::Command(command) => Some(command),
        _ => None,
    });
    own.into_iter().chain(checks)
}

/// Words of a command that could be environment names of context values, also in the recipe that a step runs.
fn mentions<'a>(plan: Option<&'a Plan>, step: &'a Step) -> Vec<&'a str> {
    let commands = with_below(plan, step).0.into_iter().flat_map(commands);
    let words =
        commands.flat_map(|command| command.text().split(|c: char| !c.is_ascii_alphanumeric() && c != '_'));
    words.filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase())).collect()
}

/// The names of the environment that a context value has.
fn exports(name: &str) -> impl Iterator<Item = String> {
    [env_name::variable(name), env_name::alias(name)].into_iter().flatten()
}

/// One of these names that a step, or the recipe that it runs, reads in any way.
pub fn reads_one_of(plan: &Plan, step: &Step, names: &HashSet<String>) -> Option<String> {
    if names.is_empty() {
        return None;
    }
    let read = reads_in(Some(plan), step).into_iter().find(|name| names.contains(name));
    read.or_else(|| {
        let words = mentions(Some(plan), step);
        names.iter().filter(|name| exports(name).any(|word| words.contains(&word.as_str()))).min().cloned()
    })
}

/// All edges of a recipe by itself: of a recipe step only its own variable is known. See [`edges_in`].
pub fn edges(unit: &Unit) -> Vec<Edge> {
    edges_by(unit, None)
}

/// All edges of a recipe in its plan: a variable that a sub-recipe writes comes from the step that runs it.
pub fn edges_in(plan: &Plan, unit: &Unit) -> Vec<Edge> {
    edges_by(unit, Some(plan))
}

/// A step without any known dependency follows the previous step, or the whole parallel group before it.
fn edges_by(unit: &Unit, plan: Option<&Plan>) -> Vec<Edge> {
    if unit.is_graph {
        return needs::edges(unit, plan);
    }
    let mut edges = Vec::new();
    let mut writers: HashMap<String, usize> = HashMap::new();
    let mut exported: HashMap<String, String> = HashMap::new();
    let mut pending: Vec<(String, usize)> = Vec::new();
    let asked = StepEdges::new(unit);
    for (to, step) in unit.steps.iter().enumerate() {
        let same_group = to > 0 && step.group.is_some() && unit.steps[to - 1].group == step.group;
        if !same_group {
            for (name, from) in pending.drain(..) {
                exported.extend(exports(&name).map(|variable| (variable, name.clone())));
                writers.insert(name, from);
            }
        }
        let before = edges.len();
        for from in &step.depends_on {
            edges.push(Edge { from: *from, to, link: Link::DependsOn, what: None });
        }
        let mut names = reads_in(plan, step);
        names.extend(mentions(plan, step).into_iter().filter_map(|word| exported.get(word).cloned()));
        for name in names {
            if let Some(from) = writers.get(name.as_str()) {
                edges.push(Edge { from: *from, to, link: Link::Value, what: Some(name) });
            }
        }
        edges.extend(asked.of(to));
        file_edges(unit, to, &mut edges);
        if edges.len() == before {
            edges.extend(previous_level(unit, to).map(|from| Edge {
                from,
                to,
                link: Link::Order,
                what: None,
            }));
        }
        let written = match plan {
            Some(plan) => writes(plan, step),
            None => step.store.iter().cloned().collect(),
        };
        pending.extend(written.into_iter().map(|name| (name, to)));
    }
    edges
}

fn file_edges(unit: &Unit, to: usize, edges: &mut Vec<Edge>) {
    for pattern in &unit.steps[to].reads {
        for (from, earlier) in unit.steps[..to].iter().enumerate() {
            if earlier.produces.iter().any(|made| patterns_meet(made, pattern)) {
                edges.push(Edge { from, to, link: Link::Files, what: Some(pattern.clone()) });
            }
        }
    }
}

/// The steps directly before `to`: one step, or all of a parallel group.
fn previous_level(unit: &Unit, to: usize) -> std::ops::Range<usize> {
    let mut end = to;
    while end > 0 && unit.steps[to].group.is_some() && unit.steps[end - 1].group == unit.steps[to].group {
        end -= 1;
    }
    let mut start = end.saturating_sub(1);
    while start > 0
        && unit.steps[start].group.is_some()
        && unit.steps[start - 1].group == unit.steps[start].group
    {
        start -= 1;
    }
    start..end
}

/// Whether two file patterns can name the same file: equal, or one matches the other.
pub fn patterns_meet(a: &str, b: &str) -> bool {
    a == b || matches_glob(a.as_bytes(), b.as_bytes()) || matches_glob(b.as_bytes(), a.as_bytes())
}

/// Whether a pattern matches the path of a file.
pub fn matches_file(pattern: &str, file: &str) -> bool {
    matches_glob(pattern.as_bytes(), file.as_bytes())
}

/// Whether a pattern matches the path of a file. A path without wildcards also names the files below it.
pub fn names_file(pattern: &str, file: &str) -> bool {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern).trim_end_matches('/');
    let is_below = || file.strip_prefix(pattern).is_some_and(|rest| rest.starts_with('/'));
    pattern == "." || matches_file(pattern, file) || (!pattern.contains(['*', '?']) && is_below())
}

/// `*` matches within a path segment, `**` across segments, `?` one character, `[a-z]` one of these. A `[` in a name
/// matches itself too.
fn matches_glob(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern, text) {
        ([], []) => true,
        ([b'*', b'*', rest @ ..], _) => (0..=text.len()).any(|at| {
            let rest = rest.strip_prefix(b"/").filter(|_| at == 0 || text[at - 1] == b'/').unwrap_or(rest);
            matches_glob(rest, &text[at..])
        }),
        ([b'*', rest @ ..], _) => {
            let end = text.iter().position(|byte| *byte == b'/').unwrap_or(text.len());
            (0..=end).any(|at| matches_glob(rest, &text[at..]))
        }
        ([b'?', rest @ ..], [first, text @ ..]) if *first != b'/' => matches_glob(rest, text),
        ([b'[', rest @ ..], [first, text @ ..]) => {
            let is_itself = *first == b'[' && matches_glob(rest, text);
            is_itself || after_class(rest, *first).is_some_and(|rest| matches_glob(rest, text))
        }
        ([a, rest @ ..], [b, text @ ..]) if a == b => matches_glob(rest, text),
        _ => false,
    }
}

/// What follows a class like `[a-z]` or `[!a]` in a pattern, if a character belongs to the class.
fn after_class(class: &[u8], character: u8) -> Option<&[u8]> {
    let (is_negated, class) = match class {
        [b'!' | b'^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let end = class.iter().skip(1).position(|byte| *byte == b']')? + 1;
    let (mut members, mut is_member) = (&class[..end], false);
    while let [first, rest @ ..] = members {
        (is_member, members) = match rest {
            [b'-', last, rest @ ..] => (is_member || (*first..=*last).contains(&character), rest),
            rest => (is_member || *first == character, rest),
        };
    }
    (is_member != is_negated && character != b'/').then_some(&class[end + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_meet_when_they_can_name_the_same_file() {
        for (a, b, expected) in [
            ("out.txt", "out.txt", true),
            ("*.txt", "out.txt", true),
            ("out/*.txt", "out/a.txt", true),
            ("out/*.txt", "out/x/a.txt", false),
            ("out/**/*.txt", "out/x/y/a.txt", true),
            ("**/a.txt", "a.txt", true),
            ("a?c", "abc", true),
            ("a[b-d]c", "acc", true),
            ("a[!b-d]c", "acc", false),
            ("a[b]c", "a[b]c", true),
            ("a[b", "ab", false),
            ("a[/]c", "a/c", false),
            ("a.txt", "b.txt", false),
        ] {
            assert_eq!(patterns_meet(a, b), expected, "{a} {b}");
        }
    }
}
