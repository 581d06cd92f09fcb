//! A recipe that an agent writes in the place of the generator: what it is asked, and what it must not leave out.
//!
//! Never asks an agent itself, and never proves anything: the caller does both.

use engine::{knowledge::Knowledge, repair_review};
use recipe::{
    plan::{Plan, Step, StepKind, Unit},
    shell::syntax,
};

use crate::{
    brief::Brief,
    written::{Written, WrittenFile},
};

/// What an agent is asked. `problems` are those of its first answer.
pub fn request(brief: &Brief, written: &Written, problems: &[String]) -> String {
    let recipe = written.files.first().map(|file| file.text.as_str()).unwrap_or_default();
    let mut prompt = format!(
        "Write a recipe for a workflow engine that carries out the spec below. This recipe does it already:\n\n```yaml\n{recipe}```\n\n\
         Write a better one. Keep its name and the ids of its steps: its tests use them. Each criterion of the spec is proved by\n\
         the step `accept-N` with its number. Keep every gate, every review and every limit, and add no effect on the outside.\n\
         Change no file. Answer with the whole recipe in one `yaml` fence.\n\nThe spec:\n{}\n",
        brief.spec.text
    );
    if !problems.is_empty() {
        prompt.push_str("\nYour first answer cannot be used:\n");
        prompt.extend(problems.iter().map(|problem| format!("- {problem}\n")));
    }
    prompt
}

/// The recipe in an answer: its only `yaml` fence.
pub fn recipe_in(answer: &str) -> Result<String, String> {
    let mut fences = Vec::new();
    let mut open: Option<String> = None;
    for line in answer.lines() {
        match (&mut open, line.trim_end()) {
            (None, "```yaml" | "```yml") => open = Some(String::new()),
            (Some(_), "```") => fences.extend(open.take()),
            (Some(text), _) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, _) => {}
        }
    }
    match fences.len() {
        1 => Ok(fences.remove(0)),
        0 => Err("there is no recipe in a `yaml` fence".to_owned()),
        more => Err(format!("there are {more} `yaml` fences; one must hold the whole recipe")),
    }
}

/// The files with the recipe of an agent in the place of the generated one.
pub fn replaced(written: &Written, recipe: &str) -> Written {
    let mut files = written.files.clone();
    if let Some(file) = files.first_mut() {
        *file = WrittenFile { path: file.path.clone(), text: recipe.to_owned() };
    }
    Written { files, steps: written.steps.clone() }
}

/// What the recipe of an agent lacks, compared with the generated one.
pub fn shortcomings(knowledge: &Knowledge, generated: &Plan, proposed: &Plan) -> Vec<String> {
    let (old, new) = (generated.root(), proposed.root());
    let mut problems = Vec::new();
    if old.name != new.name {
        problems.push(format!("its name is `{}`, not `{}`", new.name, old.name));
    }
    for step in &old.steps {
        match new.steps.iter().find(|candidate| candidate.id == step.id) {
            None => problems.push(format!("the step `{}` is missing", step.id)),
            Some(found) => problems.extend(weaknesses(knowledge, step, found)),
        }
    }
    problems.extend(extra_effects(knowledge, old, new));
    problems
}

/// How a step is weaker than the generated one.
fn weaknesses(knowledge: &Knowledge, old: &Step, new: &Step) -> Vec<String> {
    let mut problems = Vec::new();
    if old.kind.word() != new.kind.word() {
        let (found, wanted) = (new.kind.word(), old.kind.word());
        problems.push(format!("the step `{}` is a {found} step, not a {wanted} step", old.id));
    }
    if new.ensure.len() < old.ensure.len() {
        problems.push(format!("the step `{}` has fewer rules of `ensure`", old.id));
    }
    let is_gate = old.id.starts_with("accept-")
        || matches!(old.id.as_str(), "read-spec" | "preflight" | "scope" | "pass");
    if is_gate && cannot_fail(knowledge, new) {
        problems.push(format!("the gate `{}` cannot fail", old.id));
    }
    if new.continue_on_error && !old.continue_on_error {
        problems.push(format!("a failure of `{}` is tolerated", old.id));
    }
    problems
}

fn cannot_fail(knowledge: &Knowledge, step: &Step) -> bool {
    let list = command(step).and_then(syntax::parse);
    list.is_some_and(|list| repair_review::cannot_fail(knowledge, &list))
}

/// The command of a bash step as it is written.
fn command(step: &Step) -> Option<&str> {
    match &step.kind {
        StepKind::Shell { command } => Some(command.text()),
        _ => None,
    }
}

/// Effects that the spec does not ask for.
fn extra_effects(knowledge: &Knowledge, old: &Unit, new: &Unit) -> Vec<String> {
    let known: Vec<&str> =
        old.steps.iter().filter(|step| has_effect(knowledge, step)).map(|step| step.id.as_str()).collect();
    let extra =
        new.steps.iter().filter(|step| has_effect(knowledge, step) && !known.contains(&step.id.as_str()));
    extra.map(|step| format!("the step `{}` has an effect that the spec does not ask for", step.id)).collect()
}

fn has_effect(knowledge: &Knowledge, step: &Step) -> bool {
    !step.effects.is_empty()
        || command(step).is_some_and(|script| repair_review::has_effect(knowledge, script))
}
