//! The record of a generation: every decision with its reason, and the digests of everything that was read.

use serde::Serialize;
use serde_json::{Value as Json, json};

use crate::{
    brief::{Brief, Check, SelectedSkill},
    digest::sha256,
    intake::Reading,
    written::Written,
};

/// What the record says about skills.
pub const SKILL_BOUNDARY: &str = "Skills were selected at generation. The instructions of the recipe were informed by them: \
     prompts name their files. Whether an agent reads them is not checked.";

/// The version of the format.
const VERSION: u32 = 1;

/// The proof of a recipe, as the record and the output show it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProofRecord {
    /// Every check passed.
    pub ready: bool,
    pub checks: Vec<ProofCheck>,
}

/// One check of the proof.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProofCheck {
    /// `validate`, `lint`, `dry_run`, `tests` or `coverage`.
    pub name: String,
    pub passed: bool,
    pub detail: String,
}

/// The record as JSON.
pub fn record(reading: &Reading, written: &Written, proof: &ProofRecord) -> Json {
    let brief = &reading.brief;
    let recipe = written.files.first().map(|file| sha256(file.text.as_bytes())).unwrap_or_default();
    let files: Vec<Json> = written
        .files
        .iter()
        .map(|file| json!({ "path": file.path, "sha256": sha256(file.text.as_bytes()) }))
        .collect();
    let targets: Vec<&str> = brief.targets.paths.iter().map(|target| target.path.as_str()).collect();
    json!({
        "version": VERSION,
        "name": brief.name,
        "title": brief.title,
        "id": id(&brief.name, &recipe),
        "spec": { "path": brief.spec.path, "sha256": brief.spec.sha256 },
        "recipe": { "sha256": recipe, "files": files },
        "rules": brief.project.rules,
        "read": read(reading),
        "pattern": brief.pattern,
        "depth": brief.depth,
        "targets": targets,
        "target_files": brief.targets.paths,
        "target_source": brief.targets.source,
        "dropped": brief.targets.dropped,
        "constraints": constraints(brief),
        "criteria": criteria(brief, written),
        "tracks": brief.tracks,
        "items": brief.items,
        "tools": tools(brief),
        "skills": skills(reading),
        "delivery": brief.delivery,
        "budget": brief.budget,
        "environment": brief.environment,
        "commands": commands(brief),
        "clarifications": brief.clarifications,
        "questions": brief.clarifications.iter().map(|one| &one.question).collect::<Vec<_>>(),
        "assumptions": brief.notes.assumptions,
        "warnings": brief.notes.warnings,
        "proof": proof,
        "author": "generator",
    })
}

/// The id of a recipe: its name and the first digits of its digest.
pub fn id(name: &str, sha256: &str) -> String {
    format!("{name}@{}", sha256.get(..12).unwrap_or(sha256))
}

fn constraints(brief: &Brief) -> Json {
    let unchanged: Vec<Json> = brief
        .constraints
        .unchanged
        .iter()
        .map(|(path, line)| json!({ "path": path, "line": line }))
        .collect();
    json!({
        "unchanged": unchanged,
        "max_changed_files": brief.constraints.max_changed_files,
        "texts": brief.constraints.texts,
    })
}

fn criteria(brief: &Brief, written: &Written) -> Vec<Json> {
    let one = |criterion: &crate::brief::Criterion| {
        let steps = written.steps.iter().find(|steps| steps.criterion == criterion.number);
        json!({
            "number": criterion.number,
            "text": criterion.text,
            "line": criterion.line,
            "track": criterion.track,
            "check": criterion.check,
            "by": if criterion.check == Check::Person { "person" } else { "command" },
            "steps": steps.map(|steps| steps.steps.clone()).unwrap_or_default(),
        })
    };
    brief.criteria.iter().map(one).collect()
}

fn tools(brief: &Brief) -> Vec<Json> {
    let is_planned = brief.pattern.name == crate::brief::Pattern::Supervisor;
    let planner = is_planned.then_some(&brief.tools.planner);
    let all = [&brief.tools.writer].into_iter().chain(&brief.tools.reviewers).chain(planner);
    all.map(|choice| json!(choice)).collect()
}

fn skills(reading: &Reading) -> Json {
    let names: Vec<&SelectedSkill> = reading.brief.skills.iter().collect();
    json!({
        "found": reading.skill_files,
        "selected": names.iter().map(|skill| &skill.name).collect::<Vec<_>>(),
        "ranking": reading.skills,
        "note": (reading.skill_files == 0).then_some("no SKILL.md was found, so no skill was selected"),
        "boundary": SKILL_BOUNDARY,
    })
}

fn commands(brief: &Brief) -> Json {
    let project = &brief.project;
    json!({
        "project": project.kind,
        "git": project.git,
        "test": project.test,
        "lint": project.lint,
        "types": project.types,
        "build": project.build,
        "format": project.format,
        "programs": project.programs,
    })
}

/// The digest of every file that was read, besides the spec.
fn read(reading: &Reading) -> Vec<Json> {
    let project = &reading.brief.project;
    let skills = reading.skills.iter().map(|ranked| (&ranked.skill.path, &ranked.skill.sha256));
    let files = project.rules.iter().chain(&project.read).map(|file| (&file.path, &file.sha256));
    let mut all: Vec<(&String, &String)> = files.chain(skills).collect();
    all.sort();
    all.dedup();
    all.into_iter().map(|(path, sha256)| json!({ "path": path, "sha256": sha256 })).collect()
}
