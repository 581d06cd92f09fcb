//! What is dubious about a recipe that is valid: checks that check nothing, effects without a guard, secrets in texts.
//!
//! Reports only what the recipe itself shows. A command that cannot be parsed gives no finding. Never runs anything.

mod agents;
mod allowance;
mod checks;
mod clauses;
mod code;
mod effects;
mod fix;
mod flow;
mod flow_rules;
mod hygiene;
mod loops;
mod script;
mod secrets;
mod self_satisfying;
mod surroundings;
mod view;

use std::collections::BTreeMap;

use recipe::{
    diagnostic::Severity,
    field_places::FieldPlaces,
    plan::{Plan, Step, Unit},
    source::Place,
};

pub use code::LintCode;
pub use fix::{Fix, FixRefusal, apply};

use crate::knowledge::Knowledge;
use view::UnitView;

/// A finding about a recipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub code: LintCode,
    /// How bad it is.
    pub level: Severity,
    /// Where.
    pub place: Place,
    /// What is dubious, in one sentence.
    pub message: String,
    /// What to do.
    pub help: String,
    /// The change that repairs it, if a program can make it.
    pub fix: Option<Fix>,
}

/// The level of a rule in a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LintLevel {
    /// It is not used.
    Off,
    /// It has this level.
    On(Severity),
}

impl LintLevel {
    /// The words in a configuration.
    pub const WORDS: [&str; 4] = ["off", "note", "warning", "error"];

    /// The level with this name.
    pub fn named(word: &str) -> Option<LintLevel> {
        Some(match word {
            "off" => LintLevel::Off,
            "note" => LintLevel::On(Severity::Note),
            "warning" => LintLevel::On(Severity::Warning),
            "error" => LintLevel::On(Severity::Error),
            _ => return None,
        })
    }
}

/// The levels that a configuration sets.
pub type LintLevels = BTreeMap<LintCode, LintLevel>;

/// What `lint` is asked to look at.
pub struct LintSubject<'a> {
    /// The recipe with its sub-recipes.
    pub plan: &'a Plan,
    /// What is believed about programs.
    pub knowledge: &'a Knowledge,
    /// The levels of the configuration.
    pub levels: &'a LintLevels,
    /// Whether a recipe file has a test file; absent if that cannot be said.
    pub has_tests: &'a dyn Fn(&str) -> Option<bool>,
}

/// The findings about a recipe and its sub-recipes, in the order of the files and lines.
pub fn lint(subject: &LintSubject<'_>) -> Vec<Finding> {
    let places = FieldPlaces::of(subject.plan);
    let mut report = Report { places: &places, findings: Vec::new() };
    let views: Vec<UnitView<'_>> =
        subject.plan.units.iter().map(|unit| UnitView::of(subject.plan, unit, subject.knowledge)).collect();
    for view in &views {
        checks::look(view, &mut report);
        self_satisfying::look(view, &mut report);
        effects::look(view, &mut report);
        agents::look(view, &mut report);
        loops::look(view, &mut report);
        hygiene::look(view, &mut report);
        surroundings::look(view, &mut report);
        secrets::look(view, &mut report);
    }
    flow_rules::look(subject.plan, &views, &mut report);
    hygiene::look_at_plan(subject, &views, &mut report);
    settle(subject, report.findings, &places)
}

/// The findings with their levels, without those that are allowed or switched off.
fn settle(subject: &LintSubject<'_>, mut findings: Vec<Finding>, places: &FieldPlaces) -> Vec<Finding> {
    let allowances = allowance::find(subject.plan, places);
    findings.retain(|finding| !allowances.iter().any(|allowance| allowance.covers(finding, subject.plan)));
    findings.extend(allowances.iter().filter_map(allowance::Allowance::problem));
    findings.retain_mut(|finding| match subject.levels.get(&finding.code) {
        Some(LintLevel::Off) => false,
        Some(LintLevel::On(level)) => {
            finding.level = *level;
            true
        }
        None => true,
    });
    findings.sort_by(|a, b| (a.place, a.code, &a.message).cmp(&(b.place, b.code, &b.message)));
    findings.dedup_by(|a, b| (a.place, a.code) == (b.place, b.code));
    findings
}

/// Collects findings.
struct Report<'a> {
    places: &'a FieldPlaces,
    findings: Vec<Finding>,
}

impl Report<'_> {
    /// Adds a finding at a place.
    fn add(
        &mut self,
        code: LintCode,
        place: Place,
        message: String,
        help: impl Into<String>,
    ) -> &mut Finding {
        let finding = Finding { code, level: code.level(), place, message, help: help.into(), fix: None };
        self.findings.push(finding);
        let last = self.findings.len() - 1;
        &mut self.findings[last]
    }

    /// Adds a finding at a field of a step; at its id if the field is not written there.
    fn at_field(
        &mut self,
        code: LintCode,
        (step, field): (&Step, &str),
        message: String,
        help: impl Into<String>,
    ) -> &mut Finding {
        let place = self.places.field_place(step, &[field]);
        self.add(code, place, message, help)
    }

    /// Adds a finding about a step as a whole.
    fn at_step(&mut self, code: LintCode, step: &Step, message: String, help: impl Into<String>) {
        self.add(code, step.place, message, help);
    }

    /// Whether a field of a step is written in its recipe.
    fn has_field(&self, step: &Step, field: &str) -> bool {
        self.places.field(step, field).is_some()
    }

    /// The place of a field of a recipe.
    fn recipe_place(&self, unit: &Unit, names: &[&str]) -> Option<Place> {
        self.places.recipe_place(unit, names)
    }
}
