//! From texts to a checked [`Plan`]: everything is read, found and understood before anything runs.
//!
//! Never stops at the first problem, and never reads a file itself: a [`Loader`] brings the texts.

mod agent;
mod ask;
mod below;
mod cleanup;
mod collisions;
mod ensure;
mod environment;
mod expression;
mod extend;
mod ids;
mod input;
mod json_schema;
mod kind;
mod limits;
mod looped;
mod members;
mod misuse;
mod multi_line;
mod names;
mod outside;
mod patterns;
mod retried;
mod schedule;
mod step;
mod step_paths;
mod undefined;
mod unit;

pub use cleanup::FAILURE;
pub use patterns::rule_fault;

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use crate::{
    agent_ref::AgentRef,
    diagnostic::{Code, Diagnostic, Severity, did_you_mean},
    plan::{Plan, Target, Unit, UnitId},
    source::{Place, Sources},
};

/// A recipe file as a loader brings it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Its path, under which it is known from now on.
    pub path: String,
    /// Its bytes.
    pub bytes: Arc<[u8]>,
}

/// Why a recipe could not be brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// No recipe has that name.
    NotFound {
        /// Where it was looked for.
        searched: Vec<String>,
    },
    /// There is one, and it cannot be read.
    Unreadable {
        /// Its path.
        path: String,
        /// Why.
        reason: String,
    },
}

/// Brings recipes and agent files by name.
pub trait Loader {
    /// The recipe that `name` means in the file `from`.
    fn recipe(&self, name: &str, from: &str) -> Result<Loaded, LoadError>;
    /// The text of the agent file that a reference in the file `from` leads to.
    fn agent(&self, reference: &AgentRef, from: &str) -> Option<Arc<str>>;
    /// The text of a file with a prompt, by its path from the directory of the file `from`.
    fn prompt_file(&self, path: &str, from: &str) -> Option<Arc<str>> {
        let _ = (path, from);
        None
    }
    /// Names of recipes that could have been meant.
    fn recipe_names(&self) -> Vec<String>;
}

/// Facts from the command line.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Context names that are set from outside.
    pub names: Vec<String>,
    /// Further names that may exist: reading one of them is not a mistake.
    pub possible: Vec<String>,
    /// Those of `names` that are meant for this recipe.
    pub typed: Vec<String>,
    /// Tags by which steps are chosen.
    pub tags: Vec<String>,
    /// Whether the texts are those of a stored run, which may be older than some rules.
    pub is_stored: bool,
}

/// The result of a check: a plan unless there are errors, and all diagnostics.
#[derive(Debug)]
pub struct Checked {
    /// The plan, if there is no error.
    pub plan: Option<Plan>,
    /// Everything that was found, in the order of the files.
    pub diagnostics: Vec<Diagnostic>,
    /// The texts that the diagnostics point into.
    pub sources: Sources,
}

impl Checked {
    /// Turns warnings into errors.
    #[must_use]
    pub fn strict(mut self) -> Checked {
        for diagnostic in self.diagnostics.iter_mut().filter(|problem| problem.severity != Severity::Note) {
            diagnostic.severity = Severity::Error;
            self.plan = None;
        }
        self
    }
}

/// Most recipes that may take part in one plan.
const MAX_UNITS: usize = 1_000;

/// Checks a recipe and everything that it reaches.
pub fn check(root: Loaded, loader: &dyn Loader, given: &Given) -> Checked {
    let mut checker = Checker::new(loader);
    let id = checker.enqueue(root, None);
    checker.drain();
    checker.finish(id, given)
}

/// A plan with a recipe more.
#[derive(Debug)]
pub struct Grafted {
    /// The plan.
    pub plan: Plan,
    /// The recipe in it.
    pub unit: UnitId,
    /// Warnings about the added recipes.
    pub warnings: Vec<Diagnostic>,
}

/// Adds a recipe whose name became known only now to a plan, with everything that it reaches. Its callers may pass on
/// any name that a recipe of the plan defines.
pub fn graft(
    plan: &Plan,
    found: Loaded,
    loader: &dyn Loader,
    given: &Given,
) -> Result<Grafted, Box<Checked>> {
    let mut checker = Checker::new(loader);
    checker.sources = plan.sources.clone();
    checker.units = plan.units.clone();
    checker.by_path =
        plan.units.iter().enumerate().map(|(at, unit)| (unit.path.clone(), UnitId(at as u32))).collect();
    checker.name_facts = plan.units.iter().map(|_| names::NameFacts::default()).collect();
    checker.before = plan.units.len();
    let id = checker.enqueue(found, None);
    checker.drain();
    let possible =
        plan.units.iter().flat_map(|unit| unit.names.iter().chain(unit.rules.iter().map(|(name, _)| name)));
    let given = Given { possible: possible.chain(&given.possible).cloned().collect(), ..given.clone() };
    let mut checked = checker.finish(plan.root, &given);
    match checked.plan.take() {
        Some(plan) => {
            checked.diagnostics.retain(|problem| problem.severity != Severity::Note);
            Ok(Grafted { plan, unit: id, warnings: checked.diagnostics })
        }
        None => Err(Box::new(checked)),
    }
}

/// How often names have been compared to find a similar one.
#[derive(Default)]
struct Comparisons {
    made: usize,
}

impl Comparisons {
    /// Whether this many more may be made: beyond a bound, problems are reported without a suggestion.
    fn allow(&mut self, more: usize) -> bool {
        const MOST: usize = 100_000;
        self.made += more;
        self.made <= MOST
    }
}

/// The state of one check.
struct Checker<'a> {
    loader: &'a dyn Loader,
    sources: Sources,
    diagnostics: Vec<Diagnostic>,
    units: Vec<Arc<Unit>>,
    by_path: HashMap<String, UnitId>,
    queue: VecDeque<(UnitId, Loaded)>,
    name_facts: Vec<names::NameFacts>,
    /// How many of the units were checked before.
    before: usize,
    comparisons: Comparisons,
}

impl<'a> Checker<'a> {
    fn new(loader: &'a dyn Loader) -> Checker<'a> {
        Checker {
            loader,
            sources: Sources::default(),
            diagnostics: Vec::new(),
            units: Vec::new(),
            by_path: HashMap::new(),
            queue: VecDeque::new(),
            name_facts: Vec::new(),
            before: 0,
            comparisons: Comparisons::default(),
        }
    }

    /// The id of a loaded recipe in the plan.
    fn enqueue(&mut self, loaded: Loaded, named_at: Option<Place>) -> UnitId {
        if let Some(id) = self.by_path.get(&loaded.path) {
            return *id;
        }
        let id = UnitId(self.units.len() as u32);
        if self.units.len() >= MAX_UNITS {
            if let Some(place) = named_at {
                let message = format!("more than {MAX_UNITS} recipes take part");
                let help = "merge some of the recipes into one";
                self.diagnostics.push(Diagnostic::new(Code::DeepRecipes, place, message).help(help));
            }
            return UnitId(0);
        }
        self.by_path.insert(loaded.path.clone(), id);
        self.units.push(Arc::default());
        self.name_facts.push(names::NameFacts::default());
        self.queue.push_back((id, loaded));
        id
    }

    fn drain(&mut self) {
        while let Some((id, loaded)) = self.queue.pop_front() {
            let unit = self.check_unit(id, loaded);
            self.units[id.0 as usize] = Arc::new(unit);
        }
    }

    /// Checks all recipes together. Recipes with errors take part, with placeholders for the parts that could not be
    /// understood, so that every problem is reported at once; only a plan without errors is returned.
    fn finish(mut self, root: UnitId, given: &Given) -> Checked {
        let plan = Plan { root, units: self.units, sources: self.sources.clone() };
        names::check(&plan, self.before, &self.name_facts, given, &mut self.diagnostics);
        schedule::check(&plan, self.before, &mut self.diagnostics);
        limits::check(&plan, &mut self.diagnostics);
        outside::check(&plan, &self.name_facts, given, &mut self.diagnostics);
        let mut diagnostics: Vec<Diagnostic> = Vec::with_capacity(self.diagnostics.len());
        self.diagnostics.sort_by_key(|diagnostic| diagnostic.place);
        for mut found in self.diagnostics.into_iter().map(Diagnostic::with_advice) {
            if given.is_stored && found.is_recent {
                found.severity = Severity::Warning;
            }
            let same_place = diagnostics.iter().rev().take_while(|known| known.place == found.place);
            if same_place.into_iter().all(|known| *known != found) {
                diagnostics.push(found);
            }
        }
        let failed = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
        Checked { plan: (!failed).then_some(plan), diagnostics, sources: self.sources }
    }

    /// The recipe that `name` means in the file of `place`; reports it if it is missing.
    fn find_recipe(&mut self, name: &str, place: Place, from: &str) -> Option<Loaded> {
        match self.loader.recipe(name, from) {
            Ok(loaded) => Some(loaded),
            Err(error) => {
                // the loader may have to look at many files
                let known = match self.comparisons.allow(1_000) {
                    true => self.loader.recipe_names(),
                    false => Vec::new(),
                };
                let problem = unknown_recipe(name, place, &error, &known);
                self.diagnostics.push(problem);
                None
            }
        }
    }
}

fn unknown_recipe(name: &str, place: Place, error: &LoadError, known: &[String]) -> Diagnostic {
    match error {
        LoadError::NotFound { searched } => {
            let problem = Diagnostic::new(Code::UnknownRecipe, place, format!("recipe `{name}` not found"));
            let looked = format!("looked in {}", searched.join(", "));
            match did_you_mean(name, known.iter().map(String::as_str)) {
                Some(meant) => problem
                    .label(format!("did you mean `{meant}`?"))
                    .help(format!("did you mean `{meant}`? {looked}")),
                None => problem.label("no such recipe").help(format!(
                    "correct the name, or add the directory of the recipe with `-R DIR`; {looked}"
                )),
            }
        }
        LoadError::Unreadable { path, reason } => Diagnostic::new(
            Code::UnknownRecipe,
            place,
            format!("recipe `{name}` cannot be read: {path}: {reason}"),
        )
        .label("cannot be read")
        .help("check that the file is readable and is a recipe"),
    }
}

/// The units that a unit's steps name.
fn children(unit: &Unit) -> impl Iterator<Item = UnitId> {
    unit.steps.iter().filter_map(|step| match &step.kind {
        crate::plan::StepKind::Nested { target: Target::Known { unit, .. }, .. } => Some(*unit),
        _ => None,
    })
}
