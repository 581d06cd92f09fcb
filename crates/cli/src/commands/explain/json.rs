//! A recipe explained as JSON.

use recipe::{
    graph::{self, Edge},
    plan::{JsonMode, Limits, Plan, Step, StepKind, Unit},
};
use runtime::store::secrets::Mask;
use serde_json::{Map, Value as Json, json};

use super::{Expansion, Nested, condition_names, left_out, machine::Machine};
use crate::args::options::Tags;

pub(super) fn describe(plan: &Plan, tags: &Tags, machine: &Machine, mask: &Mask) -> Json {
    describe_unit(plan.root(), &mut Expansion::new(plan), &Surroundings { tags, machine, mask })
}

/// The inputs of the description besides the recipe.
struct Surroundings<'a> {
    tags: &'a Tags,
    machine: &'a Machine,
    mask: &'a Mask,
}

fn describe_unit<'a>(unit: &'a Unit, expansion: &mut Expansion<'a>, view: &Surroundings<'_>) -> Json {
    let edges = graph::edges(unit);
    let each = |(at, step)| describe_step(unit, step, at, &edges, expansion, view);
    let steps: Vec<Json> = unit.steps.iter().map(std::sync::Arc::as_ref).enumerate().map(each).collect();
    let inputs: Vec<Json> = unit.inputs.iter().map(|input| {
        let default = input.default.as_ref().map(|value| view.mask.value(&input.name, value));
        json!({ "name": input.name, "description": input.description, "required": input.required, "default": default })
    }).collect();
    json!({
        "name": unit.name,
        "version": unit.version,
        "description": unit.description,
        "author": unit.author,
        "tags": unit.tags,
        "path": unit.path,
        "limits": {
            "max_depth": unit.limits.max_depth.unwrap_or(Limits::DEFAULT_DEPTH),
            "max_total_steps": unit.limits.max_total_steps.unwrap_or(Limits::DEFAULT_STEPS),
        },
        "context": context(unit, view.mask),
        "inputs": inputs,
        "steps": steps,
    })
}

fn context(unit: &Unit, mask: &Mask) -> Map<String, Json> {
    let value =
        |(name, value): (&String, &recipe::value::Value)| (name.clone(), json!(mask.value(name, value)));
    unit.context.iter().map(value).collect()
}

fn describe_step<'a>(
    unit: &'a Unit,
    step: &'a Step,
    at: usize,
    edges: &[Edge],
    expansion: &mut Expansion<'a>,
    view: &Surroundings<'_>,
) -> Json {
    let skipped = left_out(step, view.tags);
    let mut described = json!({
        "id": step.id,
        "name": step.title,
        "description": step.description,
        "type": step.kind.word(),
        "condition": step.condition.as_ref().map(|condition| condition.text()),
        "condition_reads": condition_names(step),
        "reads": graph::reads(step),
        "output": step.store,
        "parse_json": step.json != JsonMode::Text,
        "needs": needs(unit, edges, at),
        "tags": step.tags,
        "filtered": skipped.is_some(),
        "filter_reason": skipped,
        "parallel_group": step.group.as_ref().map(|group| group.name.as_str()),
        "timeout": step.timeout,
        "max_attempts": step.retry.as_ref().map_or(1, |retry| retry.max_attempts),
        "working_dir": step.working_dir.as_ref().map(|dir| dir.text()),
        "continue_on_error": step.continue_on_error,
        "idempotent": step.idempotent,
        "effects": step.effects,
        "exit_codes": exit_codes(step),
    });
    if let Json::Object(fields) = &mut described {
        add_kind(step, fields, view.machine);
        add_nested(step, fields, expansion, view);
    }
    described
}

fn exit_codes(step: &Step) -> Map<String, Json> {
    step.exit_codes.iter().map(|(code, meaning)| (code.to_string(), json!(meaning.as_str()))).collect()
}

fn needs(unit: &Unit, edges: &[Edge], at: usize) -> Vec<Json> {
    let to_here = edges.iter().filter(|edge| edge.to == at);
    to_here
        .map(
            |edge| json!({ "step": unit.steps[edge.from].id, "link": edge.link.as_str(), "what": edge.what }),
        )
        .collect()
}

fn add_kind(step: &Step, fields: &mut Map<String, Json>, machine: &Machine) {
    let mut add = |name: &str, value: Json| drop(fields.insert(name.to_owned(), value));
    match &step.kind {
        StepKind::Shell { command } => add("command", json!(command.text())),
        StepKind::Agent(agent) => {
            add("agent", json!(agent.reference));
            add("agent_found", json!(agent.system_prompt.is_some()));
            add("prompt", json!(agent.prompt.text()));
            add("model", json!(agent.model.as_ref().map(|model| model.text())));
            add("agent_binary", json!(agent.program));
            let asked = machine.asked(agent.program.as_deref());
            add("program", json!(asked.name));
            add("program_path", json!(asked.path));
            add("program_problem", json!(asked.problem));
        }
        StepKind::Nested { overrides, recovery, recoverer, .. } => {
            add("passes", json!(overrides.iter().map(|(name, _)| name).collect::<Vec<_>>()));
            add("recovery_on_failure", json!(recovery));
            add("model", json!(recoverer.model.as_ref().map(|model| model.text())));
            add("agent_binary", json!(recoverer.program));
        }
    }
}

fn add_nested<'a>(
    step: &'a Step,
    fields: &mut Map<String, Json>,
    expansion: &mut Expansion<'a>,
    view: &Surroundings<'_>,
) {
    let (name, expanded) = match expansion.nested(step) {
        None => return,
        Some(Nested::Later(name)) => (name.to_owned(), Json::Null),
        Some(Nested::Again(unit)) => (unit.name.clone(), Json::Null),
        Some(Nested::Whole(unit)) => (unit.name.clone(), describe_unit(unit, expansion, view)),
    };
    fields.insert("recipe".to_owned(), json!(name));
    fields.insert("expanded".to_owned(), expanded);
}
