//! Names that a recipe reads and that nothing defines at that point.
//!
//! Never reports a name that only a run can define.

use std::collections::{BTreeSet, HashMap};

use super::{
    Comparisons,
    below::SubRecipeCall,
    members,
    names::{Flow, NameUse, UsedIn, next_after_group},
};
use crate::{
    diagnostic::{Code, Diagnostic, did_you_mean},
    plan::{Plan, Unit},
};

/// Names that hooks know besides the context.
const HOOK_NAMES: &[&str] = &["step_id", "step_type", "step_status", "step_error", "recipe_name", "run_id"];
/// Names that prompts know besides the context.
const PROMPT_NAMES: &[&str] = &["working_directory", "NONINTERACTIVE"];
/// Names that mean "nothing" in conditions.
const CONDITION_NAMES: &[&str] = &["none", "None"];

/// The names that the steps of one recipe can see.
pub(super) struct UndefinedNames<'a> {
    plan: &'a Plan,
    unit: &'a Unit,
    flow: &'a Flow,
    /// The names that callers and the command line define.
    outside: &'a BTreeSet<&'a str>,
    /// The index of the first step that can see a name; later definitions do not count.
    visible: HashMap<&'a str, usize>,
    /// The step that assigns a name; `None` if several do.
    assigned: HashMap<&'a str, Option<usize>>,
    /// The first step that can see names known only during a run.
    open_from: Option<usize>,
    comparisons: Comparisons,
}

impl<'a> UndefinedNames<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        unit: &'a Unit,
        flow: &'a Flow,
        outside: &'a BTreeSet<&'a str>,
    ) -> UndefinedNames<'a> {
        let visible = unit.expected().map(|name| (name.as_str(), 0)).collect();
        let (assigned, comparisons) = (HashMap::new(), Comparisons::default());
        let mut names =
            UndefinedNames { plan, unit, flow, outside, visible, assigned, open_from: None, comparisons };
        names.add_steps();
        names
    }

    fn add_steps(&mut self) {
        let mut after = 0;
        for (at, step) in self.unit.steps.iter().enumerate() {
            if at >= after {
                after = next_after_group(self.unit, at);
            }
            for name in self.flow.defined_by(step) {
                self.visible.entry(name).or_insert(after);
                let only = self.assigned.entry(name).or_insert(Some(at));
                *only = only.filter(|first| *first == at);
            }
            if self.flow.opens(step) {
                self.open_from = self.open_from.or(Some(after));
            }
        }
    }

    /// The problem with a name that is read, if there is one.
    pub(super) fn find(&mut self, used: &NameUse) -> Option<Diagnostic> {
        let root = used.path.root.as_str();
        if self.open_from.is_some_and(|open| used.at.step() >= open) || is_special(root, used.at) {
            return None;
        }
        let names: Vec<String> = used.path.names().collect();
        // a name may have dots itself: the longest that is defined counts
        if let Some(at) = names.iter().rposition(|name| self.sees(name, used)) {
            return self.missing_member(used, &names[at], at);
        }
        let is_allowed = self.comparisons.allow(self.visible.len() + self.outside.len());
        let known = self.visible.keys().copied().chain(self.outside.iter().copied());
        let meant = is_allowed.then(|| did_you_mean(root, known)).flatten();
        // conditions often read optional names: only a probable typo is reported
        if matches!(used.at, UsedIn::Condition(_)) && meant.is_none() && !self.visible.contains_key(root) {
            return self.not_an_operand(used);
        }
        Some(undefined_name(root, used, meant, self.visible.get(root).copied(), self.unit))
    }

    fn sees(&self, name: &str, used: &NameUse) -> bool {
        self.outside.contains(name) || self.visible.get(name).is_some_and(|from| *from <= used.at.step())
    }

    /// A member that the value of a defined name cannot have. `name` has the first `at` segments of the path.
    fn missing_member(&mut self, used: &NameUse, name: &str, at: usize) -> Option<Diagnostic> {
        let root = used.path.root.as_str();
        let (outside, visible, assigned) = (self.outside, &self.visible, &self.assigned);
        let around = |name: &str| outside.contains(name) || visible.contains_key(name);
        let replaced = |name: &str| outside.contains(name) || assigned.contains_key(name);
        let missing = members::missing(self.unit, used, (name, at), &replaced, &mut self.comparisons);
        // the value of the name is that of one step, and nothing outside can replace it
        let only = assigned.get(root).copied().flatten().filter(|_| at == 0 && !outside.contains(root));
        missing.or_else(|| {
            let call = SubRecipeCall::of(self.unit, root, only?)?;
            call.missing(self.plan, self.flow, used, &around, &mut self.comparisons)
        })
    }

    /// A name in a condition that looks like a subtraction or a number.
    fn not_an_operand(&self, used: &NameUse) -> Option<Diagnostic> {
        let root = used.path.root.as_str();
        let is_term = |word: &str| self.sees(word, used) || word.bytes().all(|byte| byte.is_ascii_digit());
        if root.split_once('-').is_some_and(|(name, rest)| self.sees(name, used) && is_term(rest)) {
            return Some(not_a_sum(root, used));
        }
        root.starts_with(|c: char| c.is_ascii_digit()).then(|| not_a_number(root, used))
    }
}

/// Whether a name has a meaning of its own in this part of a recipe.
fn is_special(name: &str, at: UsedIn) -> bool {
    match at {
        UsedIn::Hook => HOOK_NAMES.contains(&name),
        UsedIn::Prompt(_) => PROMPT_NAMES.contains(&name),
        UsedIn::Condition(_) => CONDITION_NAMES.contains(&name),
        _ => false,
    }
}

/// `n-1` is one name in a condition: taken for a subtraction it would be false without a word.
fn not_a_sum(root: &str, used: &NameUse) -> Diagnostic {
    let message =
        format!("`{root}` is read as one name, and nothing defines it: a condition cannot subtract");
    Diagnostic::new(Code::ConditionSyntax, used.place, message)
        .label("not a subtraction")
        .help("compute it in a bash step, and compare its output")
}

/// `1_000` and `0x10` are names in a condition: taken for numbers they would be false without a word.
fn not_a_number(root: &str, used: &NameUse) -> Diagnostic {
    let message = format!("`{root}` is neither a number nor a known name");
    Diagnostic::new(Code::UndefinedVariable, used.place, message)
        .label("not a number")
        .help("write digits, as in `1000` or `0.5`; put text into quotes")
}

fn undefined_name(
    root: &str,
    used: &NameUse,
    meant: Option<&str>,
    defined_after: Option<usize>,
    unit: &Unit,
) -> Diagnostic {
    let message = match used.at {
        UsedIn::Hook | UsedIn::End | UsedIn::Secret => format!("nothing defines `{root}`"),
        UsedIn::Step(_) | UsedIn::Prompt(_) | UsedIn::Condition(_) => {
            format!("nothing defines `{root}` before this step")
        }
    };
    let problem = Diagnostic::new(Code::UndefinedVariable, used.place, message);
    match (defined_after, meant) {
        (Some(after), _) => {
            let step = &unit.steps[after - 1];
            let event = match &step.group {
                Some(group) => format!("parallel group `{}` has ended", group.name),
                None => format!("step `{}` has run", step.id),
            };
            problem.label("renders as empty text").help(format!("it gets its value only when {event}"))
        }
        (None, Some(meant)) => problem.label(format!("did you mean `{meant}`?")),
        (None, None) => problem
            .label(if used.at == UsedIn::Secret { "hides nothing" } else { "renders as empty text" })
            .help(format!("declare it under `context:`, or pass it with `--set {root}=…`")),
    }
}
