//! A recipe explained as JSON.

use recipe::{
    graph::{self, Edge},
    plan::{JsonMode, Limits, Plan, Step, StepKind, Unit, ValueTemplate},
    value::Value,
};
use runtime::{report::inputs::inputs, store::secrets::Mask};
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
    let edges = expansion.edges(unit);
    let each = |at| describe_step(unit, at, &edges, expansion, view);
    let steps: Vec<Json> = (0..unit.steps.len()).map(each).collect();
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
        "inputs": inputs(unit, view.mask),
        "env": {
            "required": unit.env.required,
            "files": unit.env.files,
            "set": unit.env.set.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        },
        "shell": unit.shell.as_str(),
        "permissions": unit.limits.permissions.map(|permissions| permissions.level.as_str()),
        "result_only": unit.result_only(),
        "schedule": if unit.is_graph { "graph" } else { "sequence" },
        "waves": expansion.waves(unit),
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
    at: usize,
    edges: &[Edge],
    expansion: &mut Expansion<'a>,
    view: &Surroundings<'_>,
) -> Json {
    let step = &*unit.steps[at];
    let skipped = left_out(step, view.tags);
    let mut described = json!({
        "id": step.id,
        "name": step.title,
        "description": step.description,
        "type": step.kind.word(),
        "condition": step.condition.as_ref().map(|condition| condition.text()),
        "condition_reads": condition_names(step),
        "when": step.when.as_str(),
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
        "ensure": ensure(step),
        "ensure_retries": if step.ensure.is_empty() { 0 } else { step.ensure_retries },
        "effects": step.effects,
        "exit_codes": exit_codes(step),
    });
    if let Json::Object(fields) = &mut described {
        add_loop(step, fields);
        add_kind(step, fields, view.machine);
        add_nested(step, fields, expansion, view);
    }
    described
}

fn ensure(step: &Step) -> Vec<Json> {
    let rules = step.ensure.iter();
    rules.map(|rule| json!({ "rule": rule.kind().as_str(), "demand": rule.demand() })).collect()
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

/// How many instances run at the same time: a number, or the template that leads to it.
fn width(written: &ValueTemplate) -> Json {
    match written {
        ValueTemplate::Plain(Value::Number(number)) => json!(number.as_f64() as u64),
        other => super::list_words(other).into(),
    }
}

fn add_loop(step: &Step, fields: &mut Map<String, Json>) {
    if let Some(each) = step.each() {
        let described = json!({
            "list": super::list_words(&each.list),
            "as": each.item,
            "max_parallel": width(&each.max_parallel),
            "keep_going": each.keep_going,
            "max_items": each.max_items,
        });
        fields.insert("for_each".to_owned(), described);
    }
    if let Some(repeat) = step.repeat() {
        let described = json!({
            "max": repeat.max,
            "until": repeat.until.as_ref().map(|until| until.text()),
            "delay": repeat.delay,
            "on_exhausted": repeat.on_exhausted.as_str(),
        });
        fields.insert("repeat".to_owned(), described);
    }
}

fn add_kind(step: &Step, fields: &mut Map<String, Json>, machine: &Machine) {
    let mut add = |name: &str, value: Json| drop(fields.insert(name.to_owned(), value));
    match &step.kind {
        StepKind::Shell { command } => {
            add("command", json!(command.text()));
            add("shell", json!(step.shell.as_str()));
        }
        StepKind::Agent(agent) => {
            add("agent", json!(agent.reference));
            add("agent_found", json!(agent.system_prompt.is_some()));
            match &agent.prompt_file {
                Some(file) => add("prompt_file", json!(file.text())),
                None => add("prompt", json!(agent.prompt.text())),
            }
            add("model", json!(agent.model.as_ref().map(|model| model.text())));
            add("agent_binary", programs(&agent.programs.written()));
            let asked = agent.programs.fixed().map(|named| machine.asked(&named)).unwrap_or_default();
            let said = agent.permissions;
            add("permissions", json!(said.map(|said| said.level.as_str())));
            add("permissions_required", json!(said.map(|said| said.required)));
            add("agent_args", json!(agent.args.iter().map(|arg| arg.text()).collect::<Vec<_>>()));
            add("program", json!(asked.name));
            add("program_path", json!(asked.path));
            add("program_problem", json!(asked.problem));
        }
        StepKind::Ask(ask) => {
            add("ask", json!(ask.question.text()));
            add("choices", json!(ask.choices));
            let field = |field: &recipe::plan::Input| {
                let default = field.default.as_ref().filter(|_| !field.is_secret());
                json!({ "name": field.name, "type": field.type_word(), "required": field.required, "default": default })
            };
            add("fields", json!(ask.fields.iter().map(field).collect::<Vec<_>>()));
            let shown: Vec<&str> = ask.show.iter().map(|show| show.template().text()).collect();
            add("show", json!(shown));
            add("on_timeout", json!(ask.on_timeout.as_str()));
        }
        StepKind::Nested { overrides, recovery, recoverer, .. } => {
            add("passes", json!(overrides.iter().map(|(name, _)| name).collect::<Vec<_>>()));
            add("recovery_on_failure", json!(recovery));
            add("model", json!(recoverer.model.as_ref().map(|model| model.text())));
            add("agent_binary", programs(&recoverer.programs.written()));
        }
    }
}

/// The programs that a step names: none, one, or a list.
fn programs(names: &[&str]) -> Json {
    match names {
        [] => Json::Null,
        [name] => json!(name),
        names => json!(names),
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
