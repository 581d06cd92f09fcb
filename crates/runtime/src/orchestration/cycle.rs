//! One pass over the work: which files are unwanted, and whether check and reviewer are content.

use std::{fs, path::Path};

use engine::orchestration::{ChangedFile, LARGEST, UnwantedFile, unwanted};
use serde::{Deserialize, Serialize};

use super::{
    caller::Caller,
    findings::has_place,
    place::{current, watched},
    repository::WorkRepository,
    workspace::WorkspaceFacts,
};

/// How much of the output of a check is quoted.
const QUOTED: usize = 60;

/// The files of the work, looked at before it is reviewed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Guarded {
    pub(super) clean: bool,
    /// Whether a review is worth its money: the files are clean, and the check has not failed.
    ready: bool,
    pub(super) findings: Vec<UnwantedFile>,
    /// SHA-256 of the changed files.
    pub(super) state_digest: String,
    pub(super) changed: bool,
}

/// What a reviewer answers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Review {
    pub(super) verdict: String,
    pub(super) findings: Vec<ReviewFinding>,
    pub(super) criteria: Vec<CitedCriterion>,
}

/// One objection.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ReviewFinding {
    severity: String,
    file: Option<String>,
    line: Option<u64>,
    problem: String,
}

/// A criterion with the places that show it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct CitedCriterion {
    pub(super) criterion: String,
    done: bool,
    evidence: Vec<CitedPlace>,
}

/// A place in a file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct CitedPlace {
    path: String,
    line: Option<u64>,
}

/// The verdict about the work.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Assessed {
    /// Whether check, reviewer and rules are content.
    pub(super) content: bool,
    /// Whether another pass can help: not if they are content, nor if nothing was done.
    pub(super) over: bool,
    /// Whether the check passed; absent without a check.
    pub(super) passed: Option<bool>,
    pub(super) checks_failed: bool,
    /// Whether the reviewer approved; absent without a review.
    pub(super) approved: Option<bool>,
    pub(super) changed: bool,
    /// Whether the reviewer cites existing places for every criterion.
    pub(super) proven: bool,
    pub(super) feedback: String,
    pub(super) state_digest: String,
    /// How long the check took.
    pub(super) seconds: Option<f64>,
}

/// Looks at every changed file.
pub(super) async fn guard(caller: &Caller) -> Guarded {
    let workspace = current(caller).await;
    let looked = look(caller, &workspace).await;
    let failed = check_result(caller, "run-checks").is_some_and(|check| !check.passed);
    Guarded { ready: looked.clean && !failed, ..looked }
}

/// The same for a workspace.
pub(super) async fn look(caller: &Caller, workspace: &WorkspaceFacts) -> Guarded {
    let watched = watched(caller, workspace);
    let repository = WorkRepository::at(Path::new(&workspace.path), &caller.env);
    let dir = repository.dir.clone();
    let names: Vec<String> = match watched.changed().await {
        Ok(files) => {
            let below = |file: &Path| file.strip_prefix(&dir).unwrap_or(file).to_string_lossy().into_owned();
            files.iter().map(|file| below(file)).collect()
        }
        // nothing was remembered: the recipe was started alone
        Err(_) => uncommitted(&repository).await,
    };
    let findings: Vec<UnwantedFile> = names.iter().filter_map(|name| judge_file(&dir, name)).collect();
    let done = watched.done().await;
    Guarded {
        clean: findings.is_empty(),
        ready: false,
        findings,
        state_digest: done.state_digest,
        changed: !names.is_empty() || !done.commits.is_empty(),
    }
}

async fn uncommitted(repository: &WorkRepository) -> Vec<String> {
    let status =
        repository.text(&["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames"]).await;
    let status = status.unwrap_or_default();
    status.split('\0').filter_map(|entry| entry.get(3..)).map(str::to_owned).collect()
}

/// What is wrong with a file; a deleted one is not looked at.
fn judge_file(dir: &Path, name: &str) -> Option<UnwantedFile> {
    let path = dir.join(name);
    let bytes = fs::symlink_metadata(&path).ok().filter(|meta| meta.is_file())?.len();
    let content = if bytes <= LARGEST { fs::read(&path).unwrap_or_default() } else { Vec::new() };
    let text = String::from_utf8(content).unwrap_or_default();
    unwanted(&ChangedFile { path: name, bytes, text: &text })
}

/// Whether the work can stay as it is.
pub(super) async fn assess(caller: &Caller) -> Assessed {
    let guarded: Guarded = caller.sibling("guard").unwrap_or_default();
    let check = check_result(caller, "run-checks");
    let reviewed = caller.sibling_state("review").filter(|step| step.status.is_done());
    let review = reviewed.map(|_| caller.sibling::<Review>("review").unwrap_or_default());
    let workspace = current(caller).await;
    let now = look(caller, &workspace).await;
    let moved = review.is_some() && now.state_digest != guarded.state_digest;
    let approved = review.as_ref().map(|review| {
        let is_must = |finding: &ReviewFinding| finding.severity == "must";
        review.verdict == "approve" && !review.findings.iter().any(is_must) && !moved
    });
    let passed = check.as_ref().map(|check| check.passed);
    let content = now.clean && passed != Some(false) && approved == Some(true);
    let dir = Path::new(&workspace.path);
    Assessed {
        content,
        over: content || !now.changed,
        passed,
        checks_failed: passed == Some(false),
        approved,
        changed: now.changed,
        proven: review.as_ref().is_some_and(|review| is_proven(dir, &review.criteria)),
        feedback: feedback(&now, check.as_ref(), review.as_ref(), moved),
        state_digest: now.state_digest,
        seconds: check.and_then(|check| check.seconds),
    }
}

/// The result of a step that ran the check.
pub(super) struct RanCheck {
    pub(super) passed: bool,
    output: String,
    seconds: Option<f64>,
}

/// The result of the step with this id, if it ran.
pub(super) fn check_result(caller: &Caller, id: &str) -> Option<RanCheck> {
    let step = caller.sibling_state(id)?;
    let output = step.value.as_ref().filter(|_| step.status.is_done())?.render().into_owned();
    Some(RanCheck { passed: output.ends_with("PASSED"), output, seconds: step.taken() })
}

/// Whether every criterion is met, with places that exist.
pub(super) fn is_proven(dir: &Path, criteria: &[CitedCriterion]) -> bool {
    let place = |place: &CitedPlace| match place.line {
        Some(line) => format!("{}:{line}", place.path),
        None => place.path.clone(),
    };
    let is_shown = |criterion: &CitedCriterion| {
        let places = &criterion.evidence;
        criterion.done && !places.is_empty() && places.iter().all(|cited| has_place(dir, &place(cited)))
    };
    !criteria.is_empty() && criteria.iter().all(is_shown)
}

/// What is wrong, for the agent that fixes it and for people.
fn feedback(now: &Guarded, check: Option<&RanCheck>, review: Option<&Review>, moved: bool) -> String {
    let mut parts = Vec::new();
    if !now.findings.is_empty() {
        let files: Vec<String> =
            now.findings.iter().map(|file| format!("- {}: {}", file.path, file.problem)).collect();
        parts.push(format!("These files do not belong into the work:\n{}", files.join("\n")));
    }
    if let Some(check) = check.filter(|check| !check.passed) {
        let lines: Vec<&str> = check.output.lines().collect();
        let last = &lines[lines.len().saturating_sub(QUOTED)..];
        parts.push(format!("The check fails:\n{}", last.join("\n")));
    }
    if moved {
        parts.push("The reviewer changed files, so the review does not count.".to_owned());
    }
    if let Some(review) = review {
        parts.extend((review.verdict.is_empty()).then(|| "The reviewer gave no verdict.".to_owned()));
        let line = |finding: &ReviewFinding| {
            let file = finding.file.as_deref().unwrap_or_default();
            let place = match finding.line {
                Some(line) => format!("{file}:{line}: "),
                None if file.is_empty() => String::new(),
                None => format!("{file}: "),
            };
            format!("- {} ({place}{})", finding.severity, finding.problem)
        };
        let findings: Vec<String> = review.findings.iter().map(line).collect();
        if !findings.is_empty() {
            parts.push(format!("The reviewer found:\n{}", findings.join("\n")));
        }
        if findings.is_empty() && review.verdict == "changes" {
            parts.push("The reviewer asks for changes and names none.".to_owned());
        }
    }
    parts.join("\n\n")
}
