//! `explain` and `--explain`: what a recipe would do, as text, JSON or a graph.
//!
//! Never runs anything; conditions are shown, not evaluated.

mod graph;
mod json;
mod machine;
mod text;

use std::collections::HashSet;

use recipe::{
    graph::{self as step_graph, Edge, needs::waves},
    plan::{Loop, Plan, Step, StepKind, Target, Unit, UnitId, ValueTemplate},
    syntax::When,
};
use runtime::{requests::AgentChoice, store::secrets::Mask};
use serde_json::Value as Json;

use crate::{
    args::{
        ExplainArgs,
        options::{OutputFormat, Tags},
    },
    environment::Environment,
    exit::Exit,
    load_recipe,
    out::Out,
    report::{diagnostics, failure::Failure, step_list},
};

/// Explains a recipe.
pub(crate) fn explain(args: &ExplainArgs, environment: &Environment, out: &mut Out) -> Result<Exit, Failure> {
    let Some(asked) = &args.recipe else { return Err(load_recipe::nothing_asked("explain RECIPE")) };
    let inputs = load_recipe::inputs(&args.reading.context, environment)?;
    let library = load_recipe::library(&args.reading.places, environment);
    let as_json = args.format.output_format == OutputFormat::Json;
    let loaded = load_recipe::find(&library, asked).inspect_err(|failure| {
        if as_json {
            out.json(&serde_json::json!({ "valid": false, "error": failure.message, "diagnostics": [] }));
        }
    })?;
    let checked =
        load_recipe::examine(&library, loaded, &inputs, args.reading.tags.all(), &args.reading.strictness);
    let choice = AgentChoice { agent_binary: args.agent_binary.clone(), permissions: args.permissions };
    let checked = load_recipe::fitted(checked, &choice, &args.reading.places, environment);
    load_recipe::report(&checked, environment, out);
    let plan = match load_recipe::accept(checked) {
        Ok(plan) => plan,
        Err(refused) => {
            if as_json {
                let problems = diagnostics::problems(&refused.diagnostics, &refused.sources);
                out.json(&serde_json::json!({ "valid": false, "diagnostics": problems }));
            }
            return Ok(Exit::Invalid);
        }
    };
    let machine = machine::Machine::new(args, &plan, environment);
    let mask = secrets(&plan);
    out.hide(&mask);
    match args.graph {
        Some(kind) if as_json => {
            let kind_word = format!("{kind:?}").to_lowercase();
            let text = graph::draw(&plan, kind);
            out.json(&serde_json::json!({ "graph": kind_word, "text": mask.text(&text) }));
        }
        Some(kind) => out.result_as_is(&graph::draw(&plan, kind)),
        None if as_json => {
            let mut description = json::describe(&plan, &args.reading.tags, &machine, &mask);
            hide(&mut description, &mask);
            out.json(&description);
        }
        None => {
            let length = if args.verbose { Length::Full } else { Length::of(&plan) };
            out.result(&text::describe(&plan, &args.reading.tags, &machine, &mask, length));
        }
    }
    Ok(Exit::Success)
}

/// How much is shown of each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    /// Everything.
    Full,
    /// One line.
    Short,
}

impl Length {
    /// The length for a plan of this size.
    fn of(plan: &Plan) -> Length {
        let steps: usize = plan.units.iter().map(|unit| unit.steps.len()).sum();
        if steps > step_list::LONG { Length::Short } else { Length::Full }
    }
}

/// Sub-recipes that were already shown: each one is expanded once, so that recursion ends and the text stays short.
struct Expansion<'a> {
    plan: &'a Plan,
    shown: HashSet<UnitId>,
}

/// How much to show of a sub-recipe.
enum Nested<'a> {
    /// All of it.
    Whole(&'a Unit),
    /// Only its name: the same explanation shows it elsewhere.
    Again(&'a Unit),
    /// Only its template: the recipe is known when the step runs.
    Later(&'a str),
}

impl<'a> Expansion<'a> {
    /// The edges of a recipe. In a graph, those through values of sub-recipes decide about the order.
    fn edges(&self, unit: &Unit) -> Vec<Edge> {
        if unit.is_graph { step_graph::edges_in(self.plan, unit) } else { step_graph::edges(unit) }
    }

    /// The ids of the steps of a graph, wave by wave: the needs of a step are in earlier waves. None in a sequence.
    fn waves(&self, unit: &'a Unit) -> Vec<Vec<&'a str>> {
        let mut found: Vec<Vec<&str>> = Vec::new();
        if unit.is_graph {
            for (step, wave) in unit.steps.iter().zip(waves(unit, &self.edges(unit))) {
                found.resize_with(found.len().max(wave), Vec::new);
                found[wave - 1].push(&step.id);
            }
        }
        found
    }

    fn new(plan: &'a Plan) -> Expansion<'a> {
        Expansion { plan, shown: HashSet::from([plan.root]) }
    }

    /// The sub-recipe of a step, if it has one.
    fn nested(&mut self, step: &'a Step) -> Option<Nested<'a>> {
        let StepKind::Nested { target, .. } = &step.kind else { return None };
        Some(match target {
            Target::Known { unit, .. } if self.shown.insert(*unit) => Nested::Whole(self.plan.unit(*unit)),
            Target::Known { unit, .. } => Nested::Again(self.plan.unit(*unit)),
            Target::Dynamic { name, .. } => Nested::Later(name.text()),
        })
    }
}

/// When a step runs, unless it is an ordinary one.
fn when(step: &Step) -> Option<&'static str> {
    match step.when {
        When::Ok => None,
        When::Failed => Some("only after a failure"),
        When::Always => Some("also after a failure"),
    }
}

/// Why the tags of the command line exclude a step, if they do.
fn left_out(step: &Step, tags: &Tags) -> Option<String> {
    let has = |wanted: &&String| step.tags.contains(wanted);
    if let Some(tag) = tags.excluded().iter().find(has) {
        return Some(format!("tag `{tag}` is excluded"));
    }
    let wanted = tags.included();
    let included = wanted.is_empty() || wanted.iter().any(|tag| has(&tag));
    (!step.tags.is_empty() && !included).then(|| "no tag of it is included".to_owned())
}

/// The other members of a step's parallel group.
fn companions<'a>(unit: &'a Unit, step: &Step) -> Vec<&'a str> {
    let same = |other: &&std::sync::Arc<Step>| {
        step.group.is_some() && other.group == step.group && other.id != step.id
    };
    unit.steps.iter().filter(same).map(|other| other.id.as_str()).collect()
}

/// Names that a condition reads, as they are written.
fn condition_names(step: &Step) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (path, _) in step.condition.iter().flat_map(recipe::condition::Condition::names) {
        let name = path.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The secrets in recipes.
pub(crate) fn secrets(plan: &Plan) -> Mask {
    let mut mask = Mask::default();
    plan.units.iter().for_each(|unit| mask.learn_unit(unit));
    for unit in &plan.units {
        mask.learn(&unit.context);
        let defaults = unit.inputs.iter().filter_map(|input| Some((&input.name, input.default.as_ref()?)));
        defaults.for_each(|(name, value)| mask.learn_value(name, value));
    }
    mask
}

/// Hides secrets in every text of a description.
fn hide(description: &mut Json, mask: &Mask) {
    match description {
        Json::String(text) => *text = mask.text(text).into_owned(),
        Json::Array(items) => items.iter_mut().for_each(|item| hide(item, mask)),
        Json::Object(members) => members.values_mut().for_each(|member| hide(member, mask)),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

/// How a step runs several times, in words.
fn loop_words(step: &Step) -> Option<String> {
    Some(match step.looped.as_ref()? {
        Loop::Each(each) => {
            let parallel = match list_words(&each.max_parallel) {
                one if one == "1" => String::new(),
                most => format!(", {most} at the same time"),
            };
            format!("for each {} of {}{parallel}", each.item, list_words(&each.list))
        }
        Loop::Repeat(repeat) => match &repeat.until {
            Some(until) => format!("at most {} times, until {}", repeat.max, until.text().trim()),
            None => format!("{} times", repeat.max),
        },
    })
}

/// A list as it is written; a list that is written out by the number of its items.
fn list_words(list: &ValueTemplate) -> String {
    match list {
        ValueTemplate::Text(template) => template.text().trim().to_owned(),
        ValueTemplate::List(items) => crate::report::words::count(items.len(), "item"),
        ValueTemplate::Plain(value) => value.render().into_owned(),
        ValueTemplate::Map(_) => String::new(),
    }
}
