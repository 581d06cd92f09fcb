//! Better words from an agent: whole prompts and descriptions, and further rules of `ensure`. Nothing else can change.
//!
//! Never asks an agent itself: the caller passes in the answer, and proves the result again.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use thiserror::Error;

use crate::{
    brief::Brief,
    cases,
    writing::{
        Outline,
        step::{Role, StepDraft},
    },
    written::{Written, WrittenFile, file_of, write},
};

/// The most tokens of one call, prompt and answer together.
pub const MOST_TOKENS: u64 = 60_000;

/// The longest time of one call, in seconds.
pub const LONGEST_SECONDS: u32 = 120;

/// One change that an agent proposes.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct RecipeEdit {
    /// The path of the step.
    pub step: String,
    pub field: EditedField,
    /// A text for `prompt` and `description`, a rule or a list of rules for `ensure`.
    pub value: Json,
}

/// The fields that an agent may change.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EditedField {
    Prompt,
    Description,
    /// Rules are added; none is taken away.
    Ensure,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    edits: Vec<RecipeEdit>,
}

/// The changed files, and each change beside what was there before.
#[derive(Clone, Debug, PartialEq)]
pub struct Refined {
    pub written: Written,
    pub diff: Vec<RefinedField>,
}

/// One change, for the record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RefinedField {
    pub step: String,
    pub field: EditedField,
    pub before: String,
    pub after: String,
}

/// Why an answer is not used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RefusedAnswer {
    #[error("the answer is not `{{\"edits\": […]}}` with `step`, `field` and `value`: {0}")]
    Garbage(String),
    #[error("the answer has no edits")]
    Nothing,
    #[error("there is no step `{0}`")]
    UnknownStep(String),
    #[error("`{step}` has no `{field}` that can change")]
    NoField { step: String, field: &'static str },
    #[error("`{0}` must keep the values and the limits of its prompt: {1}")]
    LostWords(String, String),
    #[error("the rules for `{0}` are not rules of `ensure`")]
    NotRules(String),
}

/// What an agent is asked.
pub fn request(written: &Written) -> String {
    let mut prompt = String::from(
        "These recipes were generated for a workflow engine. Make the prompts for the agents clearer and more precise, where you\n\
         can. You may replace whole `prompt` and `description` values and add rules to `ensure`. Nothing else can change.\n\
         A prompt must keep every `{{name}}` and every file of the old one, and must keep forbidding commits, pushes and pull requests.\n\
         Change no file. Answer with JSON alone:\n\
         {\"edits\": [{\"step\": \"implement\", \"field\": \"prompt\", \"value\": \"…\"}]}\n\
         `field` is `prompt`, `description` or `ensure`; the step of a sub-recipe is `track-NAME/STEP`.\n",
    );
    for file in written.recipes() {
        prompt.push_str(&format!("\n{}:\n```yaml\n{}```\n", file.path, file.text));
    }
    prompt
}

/// The recipe with the changes of an answer.
pub fn refine(brief: &Brief, answer: &str) -> Result<Refined, RefusedAnswer> {
    let edits = edits(answer)?;
    let mut outline = Outline::of(brief);
    let mut diff = Vec::new();
    for edit in &edits {
        let step = find(brief, &mut outline, &edit.step)
            .ok_or_else(|| RefusedAnswer::UnknownStep(edit.step.clone()))?;
        diff.push(apply(step, edit)?);
    }
    let plain = write(brief);
    let mut files: Vec<WrittenFile> = outline.recipes.iter().map(file_of).collect();
    let tests = cases::text(brief, &outline);
    files.extend(plain.files.last().map(|file| WrittenFile { path: file.path.clone(), text: tests }));
    Ok(Refined { written: Written { files, steps: plain.steps }, diff })
}

/// The changes of an answer: the last JSON object in it.
fn edits(answer: &str) -> Result<Vec<RecipeEdit>, RefusedAnswer> {
    let garbage = |reason: String| RefusedAnswer::Garbage(reason);
    let object =
        recipe::json::last_object(answer).ok_or_else(|| garbage("there is no JSON object".to_owned()))?;
    let answer: Answer =
        serde_json::from_str(&object.to_json()).map_err(|error| garbage(error.to_string()))?;
    if answer.edits.is_empty() { Err(RefusedAnswer::Nothing) } else { Ok(answer.edits) }
}

fn find<'o>(brief: &Brief, outline: &'o mut Outline, path: &str) -> Option<&'o mut StepDraft> {
    let (recipe, id) = match path.split_once('/') {
        Some((track, id)) => (format!("{}-{}", brief.name, track.strip_prefix("track-")?), id),
        None => (brief.name.clone(), path),
    };
    let recipe = outline.recipes.iter_mut().find(|one| one.name == recipe)?;
    recipe.steps.iter_mut().find(|step| step.id == id)
}

fn apply(step: &mut StepDraft, edit: &RecipeEdit) -> Result<RefinedField, RefusedAnswer> {
    let field = match edit.field {
        EditedField::Prompt => "prompt",
        EditedField::Description => "description",
        EditedField::Ensure => "ensure",
    };
    let before = step.value(field);
    let missing = || RefusedAnswer::NoField { step: edit.step.clone(), field };
    match edit.field {
        EditedField::Prompt | EditedField::Description => {
            let text = edit.value.as_str().filter(|text| !text.trim().is_empty()).ok_or_else(missing)?;
            let old = before.clone().ok_or_else(missing)?;
            if edit.field == EditedField::Prompt {
                keeps_words(&edit.step, &old, text)?;
            }
            step.replace(field, text);
        }
        EditedField::Ensure => {
            if matches!(step.role, Role::Approve) || step.has("ask:") {
                return Err(missing());
            }
            step.add_rules(&rules(edit)?);
        }
    }
    let after = step.value(field).unwrap_or_default();
    Ok(RefinedField { step: edit.step.clone(), field: edit.field, before: before.unwrap_or_default(), after })
}

/// The rules of an edit as JSON, which is YAML too.
fn rules(edit: &RecipeEdit) -> Result<Vec<String>, RefusedAnswer> {
    let refused = || RefusedAnswer::NotRules(edit.step.clone());
    let rules: Vec<&Json> = match &edit.value {
        Json::Array(rules) => rules.iter().collect(),
        one => vec![one],
    };
    let is_rule = |rule: &&Json| rule.as_object().is_some_and(|members| members.len() == 1);
    if rules.is_empty() || !rules.iter().all(is_rule) {
        return Err(refused());
    }
    Ok(rules.iter().map(ToString::to_string).collect())
}

/// A new prompt has every value of the old one, and forbids what it forbade.
fn keeps_words(step: &str, old: &str, new: &str) -> Result<(), RefusedAnswer> {
    let lost = |what: String| Err(RefusedAnswer::LostWords(step.to_owned(), what));
    for part in old.split("{{").skip(1) {
        let name = part.split("}}").next().unwrap_or_default();
        let value = format!("{{{{{name}}}}}");
        if !new.contains(&value) {
            return lost(format!("`{value}` is missing"));
        }
    }
    let lower = new.to_lowercase();
    let forbidden = ["commit", "push", "pull request"];
    for word in forbidden.iter().filter(|word| old.to_lowercase().contains(*word)) {
        let forbids = ["do not", "don't", "never", "must not", "no "].iter().any(|no| lower.contains(no));
        if !lower.contains(word) || !forbids {
            return lost(format!("it does not forbid `{word}`"));
        }
    }
    Ok(())
}
