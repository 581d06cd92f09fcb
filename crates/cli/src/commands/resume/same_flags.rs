//! The flags of a resume, for commands that add another flag. Never runs one.

use std::path::Path;

use runtime::store::{folder::RunFolder, secrets::Mask};

use crate::{
    args::{options::RepairMode, stored::ResumeArgs},
    environment::Environment,
    host::StoredRuns,
    load_recipe,
    report::hints::{Hints, option},
};

/// A requested resume.
pub(super) struct AskedResume<'a> {
    pub(super) run: String,
    pub(super) hints: &'a Hints,
    pub(super) recipe_name: String,
    /// The secrets of the run.
    pub(super) mask: Mask,
    /// Its flags.
    same: String,
}

/// The requested resume; a run that cannot be read has no known secrets.
pub(super) fn asked<'a>(
    args: &ResumeArgs,
    runs: &'a StoredRuns,
    folder: &RunFolder,
    environment: &Environment,
) -> AskedResume<'a> {
    let opened = runs.open(folder.clone()).ok();
    let mut places = args.reading.places.clone();
    let kept = opened.iter().flat_map(|opened| opened.header.options.recipe_dirs.clone());
    places.recipe_dirs.extend(kept);
    let library = load_recipe::library(&places, environment);
    let loaded = args.recipe.as_ref().and_then(|file| library.root(&file.to_string_lossy()).ok());
    let file = loaded.and_then(|loaded| std::fs::canonicalize(library.absolute(&loaded.path)).ok());
    let (recipe_name, mask) = match opened {
        Some(opened) => (opened.header.recipe_name, opened.mask),
        None => (String::new(), Mask::default()),
    };
    let same = same(args, file.as_deref(), &mask, environment);
    AskedResume { run: folder.id(), hints: &runs.hints, recipe_name, mask, same }
}

impl AskedResume<'_> {
    /// The same command with one more flag.
    pub(super) fn with(&self, run: &str, flag: &str) -> String {
        self.hints.command(&format!("resume {run}{} {flag}", self.same))
    }
}

/// The given flags, valid in any directory. The user has to fill in secrets.
fn same(args: &ResumeArgs, recipe: Option<&Path>, mask: &Mask, environment: &Environment) -> String {
    let mut flags = String::new();
    let path = |file: &Path| file.to_string_lossy().into_owned();
    let tags = |tags: Vec<String>| (!tags.is_empty()).then(|| tags.join(","));
    let named = [
        ("--recipe", recipe.or(args.recipe.as_deref()).map(path)),
        ("--from", args.from.clone()),
        ("--include-tags", tags(args.reading.tags.included())),
        ("--exclude-tags", tags(args.reading.tags.excluded())),
        ("--permissions", args.options.permissions.map(|level| level.as_str().to_owned())),
    ];
    for (flag, value) in named {
        flags.extend(value.map(|value| format!(" {}", option(flag, &value))));
    }
    for file in &args.reading.context.context_files {
        flags.push_str(&format!(" {}", option("--context-file", &path(&environment.absolute(file)))));
    }
    for set in &args.reading.context.set {
        match set.split_once('=').filter(|(name, _)| mask.is_secret(name.trim())) {
            Some((name, _)) => flags.push_str(&format!(" {}", option("--set", &format!("{name}=…")))),
            None => flags.push_str(&format!(" {}", option("--set", set))),
        }
    }
    for (name, file) in args.reading.context.set_file.iter().filter_map(|set| set.split_once('=')) {
        let file = path(&environment.absolute(Path::new(file)));
        flags.push_str(&format!(" {}", option("--set-file", &format!("{name}={file}"))));
    }
    let set = [
        ("--compat", args.options.compat),
        ("--no-cleanup", args.options.no_cleanup),
        ("--rerun-producers", args.rerun_producers),
        ("--rerun-effects", args.rerun_effects),
        ("--rerun-interrupted", args.rerun_interrupted),
        ("--skip-interrupted", args.skip_interrupted),
    ];
    flags.extend(args.options.auto_fix.map(|most| format!(" --auto-fix={most}")));
    flags.extend(
        args.options.repair_agent.iter().map(|agent| format!(" {}", option("--repair-agent", agent))),
    );
    flags.extend(
        args.options.review_agent.iter().map(|agent| format!(" {}", option("--review-agent", agent))),
    );
    if args.options.accept_repairs == Some(RepairMode::Refuse) {
        flags.push_str(" --accept-repairs refuse");
    }
    for (flag, _) in set.into_iter().filter(|(_, is_set)| *is_set) {
        flags.push_str(&format!(" {flag}"));
    }
    flags
}
