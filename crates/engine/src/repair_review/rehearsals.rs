//! Options that turn a command into a dry run, and options without which it is one.
//!
//! Known programs only: the meaning of options of the project's own programs is unknown.

use super::program::Call;

const REHEARSALS: [&str; 32] = [
    "--dry-run",
    "--dry_run",
    "-dry-run",
    "-n",
    "--noop",
    "--no-op",
    "--dryrun",
    "--dry",
    "--check",
    "--what-if",
    "--whatif",
    "-WhatIf",
    "--plan",
    "--simulate",
    "--pretend",
    "--preview",
    "--local",
    "--just-print",
    "--recon",
    "--list-only",
    "--no-push",
    "--no-publish",
    "--no-deploy",
    "--no-upload",
    "--no-execute",
    "--skip-publish",
    "--skip-deploy",
    "--skip=publish",
    "--snapshot",
    "--validate-only",
    "--build-only",
    "--help",
];

/// Options that turn a dry run off.
const REAL: [&str; 8] =
    ["--execute", "--push", "--prod", "--production", "--apply", "--no-dry-run", "--publish", "--upload"];

/// Programs whose short options can be combined.
const CLUSTERS: [&str; 6] = ["rsync", "make", "gmake", "rclone", "git", "just"];

/// Programs whose `-n` names a namespace.
const NAMESPACES: [&str; 6] = ["kubectl", "oc", "helm", "argocd", "flux", "kustomize"];

/// The option that turns a command into a dry run.
pub fn rehearses(call: &Call) -> Option<&str> {
    let program = call.program.as_str();
    call.arguments().iter().map(String::as_str).find(|word| match *word {
        "-n" => !NAMESPACES.contains(&program),
        word if word.starts_with("--dry-run=") => !matches!(word, "--dry-run=none" | "--dry-run=false"),
        "-C" => program == "ansible-playbook",
        word => REHEARSALS.contains(&word) || (CLUSTERS.contains(&program) && is_cluster(word)),
    })
}

/// Whether `-n` is among combined short options: `-avn`.
fn is_cluster(word: &str) -> bool {
    let letters = word.strip_prefix('-').unwrap_or_default();
    letters.len() < 8 && letters.contains('n') && letters.chars().all(|c| c.is_ascii_alphabetic())
}

/// Why a command has become a dry run.
pub(super) fn objection(old: &Call, new: &Call) -> Option<String> {
    let words = new.words.join(" ");
    if let Some(option) = rehearses(new).filter(|option| !old.has(option)) {
        return Some(format!("`{option}` makes `{words}` a rehearsal"));
    }
    let lost = REAL.iter().find(|option| old.has(option) && !new.has(option))?;
    Some(format!("`{words}` does without `{lost}`"))
}
