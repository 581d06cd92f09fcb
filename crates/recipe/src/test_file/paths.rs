//! The step paths that a recipe has, for the paths that a test file names.
//!
//! Below a recipe that is known only when its step runs, every path may exist.

use std::sync::Arc;

use super::StepPattern;
use crate::{
    diagnostic::did_you_mean,
    plan::{Loop, Plan, Step, StepKind, Target, Unit, UnitId, ValueTemplate},
};

/// The most paths that are listed: enough for patterns and suggestions.
const MOST: usize = 20_000;

/// The step paths of a plan.
pub(super) struct Paths<'a> {
    plan: &'a Plan,
    /// The paths without numbers of instances, in order of the recipe.
    listed: Vec<(String, &'a Arc<Step>)>,
    /// Whether there are paths that are not listed.
    is_open: bool,
}

/// What a path leads to.
pub(super) enum Led<'a> {
    /// A step.
    Step(&'a Step),
    /// The steps that a pattern fits.
    Several(Vec<&'a Step>),
    /// Something that is known only when the recipe runs.
    Open,
}

/// Why a path leads nowhere.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Lost {
    /// What is wrong.
    pub(super) message: String,
    /// The path that was probably meant.
    pub(super) meant: Option<String>,
    /// What to do otherwise.
    pub(super) help: String,
}

impl<'a> Paths<'a> {
    pub(super) fn new(plan: &'a Plan) -> Paths<'a> {
        let mut paths = Paths { plan, listed: Vec::new(), is_open: false };
        paths.list(plan.root, "", &mut vec![plan.root]);
        paths
    }

    fn list(&mut self, unit: UnitId, before: &str, around: &mut Vec<UnitId>) {
        for step in &self.plan.unit(unit).steps {
            if self.listed.len() >= MOST {
                self.is_open = true;
                return;
            }
            let path = format!("{before}{}", step.id);
            self.listed.push((path.clone(), step));
            match &step.kind {
                StepKind::Nested { target: Target::Known { unit, .. }, .. } => {
                    // one turn of a recipe that runs itself is enough to know its paths
                    if around.iter().filter(|known| *known == unit).count() > 1 {
                        self.is_open = true;
                        continue;
                    }
                    around.push(*unit);
                    self.list(*unit, &format!("{path}/"), around);
                    around.pop();
                }
                StepKind::Nested { target: Target::Dynamic { .. }, .. } => self.is_open = true,
                StepKind::Shell { .. } | StepKind::Agent(_) | StepKind::Ask(_) => {}
            }
        }
    }

    /// The paths without numbers, with their steps.
    pub(super) fn listed(&self) -> &[(String, &'a Arc<Step>)] {
        &self.listed
    }

    /// Whether the recipe has steps that are known only when it runs.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// What a path or a pattern leads to.
    pub(super) fn find(&self, pattern: &StepPattern) -> Result<Led<'a>, Lost> {
        match pattern.is_exact() {
            true => self.walk(pattern.as_str()),
            false => self.fitting(pattern),
        }
    }

    fn fitting(&self, pattern: &StepPattern) -> Result<Led<'a>, Lost> {
        let plain = StepPattern::new(&without_numbers(pattern.as_str()));
        let steps: Vec<&Step> =
            self.listed.iter().filter(|(path, _)| plain.matches(path)).map(|(_, step)| &***step).collect();
        match steps.is_empty() {
            false => Ok(Led::Several(steps)),
            true if self.is_open => Ok(Led::Open),
            true => Err(Lost {
                message: format!("no step fits the pattern `{}`", pattern.as_str()),
                meant: None,
                help: self.all(),
            }),
        }
    }

    fn walk(&self, path: &str) -> Result<Led<'a>, Lost> {
        let mut unit = self.plan.root();
        let mut before = String::new();
        let mut segments = path.split('/').peekable();
        while let Some(segment) = segments.next() {
            let (step, number) = match step_of(unit, segment) {
                Some(found) => found,
                None => return Err(self.unknown(path, unit, &before, segment)),
            };
            self.check_number(step, number, &before)?;
            before.push_str(segment);
            before.push('/');
            if segments.peek().is_none() {
                return Ok(Led::Step(step));
            }
            unit = match &step.kind {
                StepKind::Nested { target: Target::Known { unit, .. }, .. } => self.plan.unit(*unit),
                StepKind::Nested { target: Target::Dynamic { .. }, .. } => return Ok(Led::Open),
                kind => {
                    let name = before.trim_end_matches('/');
                    let message = format!("step `{name}` has no steps inside: it is a {} step", kind.word());
                    return Err(Lost { message, meant: None, help: self.all() });
                }
            };
        }
        Err(self.unknown(path, unit, &before, ""))
    }

    fn check_number(&self, step: &Step, number: Option<usize>, before: &str) -> Result<(), Lost> {
        let (Some(number), id) = (number, &step.id) else { return Ok(()) };
        let most = match &step.looped {
            None => {
                let message =
                    format!("step `{before}{id}` has no instances: it has no `for_each` or `repeat`");
                let help = format!("write `{before}{id}` without a number");
                return Err(Lost { message, meant: Some(format!("{before}{id}")), help });
            }
            Some(Loop::Repeat(repeat)) => repeat.max,
            Some(Loop::Each(each)) => match &each.list {
                ValueTemplate::List(items) => items.len(),
                _ => each.max_items,
            },
        };
        match number < most {
            true => Ok(()),
            false => Err(Lost {
                message: format!("step `{before}{id}` has at most {most} instances, counted from 0"),
                meant: None,
                help: "write a smaller number, or none for all instances".to_owned(),
            }),
        }
    }

    fn unknown(&self, path: &str, unit: &Unit, before: &str, segment: &str) -> Lost {
        let wanted = without_numbers(segment);
        let here = did_you_mean(&wanted, unit.steps.iter().map(|step| step.id.as_str()));
        let rest = path.get(before.len() + segment.len()..).unwrap_or_default();
        let number = segment.get(wanted.len()..).unwrap_or_default();
        // a step of a sub-recipe without the path to it
        let deeper = || {
            let end = format!("/{}", without_numbers(path));
            self.listed.iter().map(|(known, _)| known).find(|known| known.ends_with(&end)).cloned()
        };
        let similar = || {
            let plain = without_numbers(path);
            did_you_mean(&plain, self.listed.iter().map(|(known, _)| known.as_str())).map(str::to_owned)
        };
        let meant = here.map(|id| format!("{before}{id}{number}{rest}")).or_else(deeper).or_else(similar);
        Lost { message: format!("the recipe has no step `{path}`"), meant, help: self.all() }
    }

    fn all(&self) -> String {
        const FEW: usize = 12;
        let names: Vec<String> = self.listed.iter().take(FEW).map(|(path, _)| format!("`{path}`")).collect();
        let more = if self.listed.len() > FEW { ", …" } else { "" };
        format!("the steps are {}{more}", names.join(", "))
    }
}

/// The step of a recipe that a segment names, and the number of the instance. An id may look like an instance.
fn step_of<'a>(unit: &'a Unit, segment: &str) -> Option<(&'a Arc<Step>, Option<usize>)> {
    let by_id = |id: &str| unit.steps.iter().find(|step| step.id == id);
    let (name, number) = segment.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')).unzip();
    let instance = || Some((by_id(name?)?, Some(number?.parse().ok()?)));
    by_id(segment).map(|step| (step, None)).or_else(instance)
}

/// A path without the numbers of instances.
pub(super) fn without_numbers(path: &str) -> String {
    let plain = |segment: &str| match segment.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        Some((name, _)) => name.to_owned(),
        None => segment.to_owned(),
    };
    path.split('/').map(plain).collect::<Vec<_>>().join("/")
}
