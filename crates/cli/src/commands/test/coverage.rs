//! Which branches of the recipes the cases reached, and whether that is enough.
//!
//! A sub-recipe with a test file of its own counts for that file, not for those of the recipes that use it.

use std::collections::{BTreeMap, BTreeSet};

use engine::coverage::BranchName;
use recipe::test_file::test_file_of;
use serde::Serialize;

use super::load::LoadedTests;

/// The coverage of all recipes.
#[derive(Debug, Serialize)]
pub(crate) struct CoverageReport {
    /// The percentage of all branches.
    pub(crate) percent: f64,
    /// Recipe by recipe.
    pub(crate) recipes: Vec<RecipeCoverage>,
}

/// The coverage of one recipe file.
#[derive(Debug, Serialize)]
pub(crate) struct RecipeCoverage {
    pub(crate) file: String,
    pub(crate) covered: usize,
    /// The branches without those that are allowed to be missed.
    pub(crate) total: usize,
    pub(crate) missing: Vec<MissingBranch>,
    /// Branches that no case reaches, as the test file allows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) allowed: Vec<AllowedMiss>,
}

/// A branch that no case reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct MissingBranch {
    pub(crate) name: String,
    pub(crate) line: usize,
}

/// A branch that no case needs to reach.
#[derive(Debug, Serialize)]
pub(crate) struct AllowedMiss {
    pub(crate) name: String,
    pub(crate) reason: String,
}

/// A recipe with less coverage than its test file demands.
pub(crate) struct TooLow {
    pub(crate) recipe: String,
    pub(crate) percent: f64,
    pub(crate) min: f64,
}

/// The coverage that these branches give.
pub(crate) fn measure(files: &[&LoadedTests], covered: &BTreeSet<BranchName>) -> CoverageReport {
    let allowed = allowed(files);
    let mut order: Vec<&str> = Vec::new();
    let mut lines: BTreeMap<&BranchName, usize> = BTreeMap::new();
    let mut names: BTreeMap<&str, Vec<&BranchName>> = BTreeMap::new();
    for branch in files.iter().flat_map(|file| &file.branches) {
        let file = branch.name.file.as_str();
        if !order.contains(&file) {
            order.push(file);
        }
        if lines.insert(&branch.name, branch.line).is_none() {
            names.entry(file).or_default().push(&branch.name);
        }
    }
    let recipe = |file: &&str| {
        let branches = &names[file];
        let is_free = |name: &&&BranchName| allowed.contains_key(**name) && !covered.contains(**name);
        let counted: Vec<&BranchName> = branches.iter().filter(|name| !is_free(name)).copied().collect();
        let missing = counted.iter().filter(|name| !covered.contains(**name));
        let missing: Vec<MissingBranch> =
            missing.map(|name| MissingBranch { name: name.name.clone(), line: lines[*name] }).collect();
        let free = branches.iter().filter(is_free);
        RecipeCoverage {
            file: (*file).to_owned(),
            covered: counted.len() - missing.len(),
            total: counted.len(),
            missing,
            allowed: free
                .map(|name| AllowedMiss { name: name.name.clone(), reason: allowed[*name].to_owned() })
                .collect(),
        }
    };
    let recipes: Vec<RecipeCoverage> = order.iter().map(recipe).collect();
    CoverageReport { percent: percent(&recipes.iter().collect::<Vec<_>>()), recipes }
}

/// The branches that a test file allows to be missed: in its own recipe, or else in one that the recipe reaches.
fn allowed<'a>(files: &[&'a LoadedTests]) -> BTreeMap<&'a BranchName, &'a str> {
    let mut found = BTreeMap::new();
    for file in files {
        let own = &file.plan.root().path;
        for allowed in &file.file.coverage.allow {
            let named =
                || file.branches.iter().map(|branch| &branch.name).filter(|name| name.name == allowed.branch);
            let here = named().find(|name| name.file == *own);
            let names: Vec<&BranchName> = match here {
                Some(name) => vec![name],
                None => named().collect(),
            };
            found.extend(names.into_iter().map(|name| (name, allowed.reason.as_str())));
        }
    }
    found
}

/// The percentage of the branches of recipes; 100 if they have none.
pub(super) fn percent(recipes: &[&RecipeCoverage]) -> f64 {
    let total: usize = recipes.iter().map(|recipe| recipe.total).sum();
    let covered: usize = recipes.iter().map(|recipe| recipe.covered).sum();
    if total == 0 { 100.0 } else { covered as f64 * 100.0 / total as f64 }
}

impl CoverageReport {
    /// The test files whose `min` is not reached.
    pub(crate) fn too_low(&self, files: &[&LoadedTests]) -> Vec<TooLow> {
        let low = |file: &&LoadedTests| {
            let min = file.file.coverage.min?;
            let own: Vec<&RecipeCoverage> =
                self.recipes.iter().filter(|recipe| counts_for(file, &recipe.file)).collect();
            let percent = percent(&own);
            (percent < min).then(|| TooLow { recipe: file.plan.root().path.clone(), percent, min })
        };
        files.iter().filter_map(low).collect()
    }
}

/// Whether a recipe counts for a test file: its own recipe, and those that it reaches and that have no test file.
fn counts_for(file: &LoadedTests, recipe: &str) -> bool {
    let is_reached = file.plan.units.iter().any(|unit| unit.path == recipe);
    let is_own = file.plan.root().path == recipe;
    let tested = || {
        let path = file.cwd.join(recipe);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        path.with_file_name(test_file_of(&name)).is_file()
    };
    is_reached && (is_own || !(recipe.starts_with("built-in:") || tested()))
}
