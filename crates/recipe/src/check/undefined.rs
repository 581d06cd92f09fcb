//! Names that a recipe reads and that nothing defines at that point.
//!
//! Never reports a name that only a run can define.

use std::collections::{BTreeSet, HashMap};

use super::{
    Comparisons,
    below::SubRecipeCall,
    cleanup::FAILURE,
    json_schema::no_member,
    members,
    names::{Flow, NameUse, UsedIn, next_after_group},
};
use crate::{
    diagnostic::{Code, Diagnostic, did_you_mean},
    plan::{JsonMode, Plan, Step, StepKind, Unit},
    step_facts::STEPS,
    syntax::When,
    value::Segment,
};

/// Names that hooks know besides the context.
const HOOK_NAMES: &[&str] = &["step_id", "step_type", "step_status", "step_error", "recipe_name", "run_id"];
/// Names that prompts know besides the context.
const PROMPT_NAMES: &[&str] = &["working_directory", "NONINTERACTIVE"];
/// Names that mean "nothing" in conditions.
const CONDITION_NAMES: &[&str] = &["none", "None", "null"];

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
            // in a graph, readers wait for the writers
            let from = if self.unit.is_graph { 0 } else { after };
            for name in self.flow.defined_by(step) {
                self.visible.entry(name).or_insert(from);
                let only = self.assigned.entry(name).or_insert(Some(at));
                *only = only.filter(|first| *first == at);
            }
            if self.flow.opens(step) {
                self.open_from = self.open_from.or(Some(from));
            }
        }
    }

    /// The problem with a name that is read, if there is one.
    pub(super) fn find(&mut self, used: &NameUse) -> Option<Diagnostic> {
        let root = used.path.root.as_str();
        let opens = |at: usize| self.flow.opens(&self.unit.steps[at]);
        let is_open = self.open_from.is_some_and(|open| used.at.step() >= open)
            || used.at.after_step().is_some_and(opens);
        let is_step = root == STEPS && used.at != UsedIn::Secret;
        let is_given = is_step || self.is_failure(root, used.at) || self.is_loop_name(root, used.at);
        if is_open || is_special(root, used.at) || is_given {
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
        // the value of an environment variable is masked too
        if used.at == UsedIn::Secret && meant.is_none() && !root.contains(char::is_lowercase) {
            return None;
        }
        let is_strange = used.at.is_condition() && meant.is_none() && !self.visible.contains_key(root);
        if let Some(problem) = is_strange.then(|| self.not_an_operand(used)).flatten() {
            return Some(problem);
        }
        Some(undefined_name(root, used, meant, self.visible.get(root).copied(), self.unit))
    }

    /// Whether a name is the failure that a cleanup step sees.
    fn is_failure(&self, name: &str, at: UsedIn) -> bool {
        let step = self.unit.steps.get(at.step());
        name == FAILURE && step.is_some_and(|step| step.when != When::Ok)
    }

    fn sees(&self, name: &str, used: &NameUse) -> bool {
        let is_own = |at: usize| self.flow.defined_by(&self.unit.steps[at]).contains(&name);
        let is_visible = |from: &usize| *from <= used.at.step() || self.is_of_iteration(name, used.at);
        self.outside.contains(name)
            || self.visible.get(name).is_some_and(is_visible)
            || used.at.after_step().is_some_and(is_own)
    }

    /// Whether only the instances of the step see this name. Hooks run for instances too, and items may be secret.
    fn is_loop_name(&self, name: &str, at: UsedIn) -> bool {
        if matches!(at, UsedIn::Hook | UsedIn::Secret) {
            return self.unit.steps.iter().any(|step| step.is_loop_name(name));
        }
        let step = self.unit.steps.get(at.step()).filter(|_| !matches!(at, UsedIn::Items(_)));
        step.is_some_and(|step| step.is_loop_name(name))
    }

    /// Whether a step with `repeat` gives itself this name: for its condition, and for the next iteration.
    fn is_of_iteration(&self, name: &str, at: UsedIn) -> bool {
        let step = self.unit.steps.get(at.step()).filter(|step| step.repeat().is_some());
        step.is_some_and(|step| self.flow.defined_by(step).contains(&name))
    }

    /// A member that the value of a defined name cannot have. `name` has the first `at` segments of the path.
    fn missing_member(&mut self, used: &NameUse, name: &str, at: usize) -> Option<Diagnostic> {
        if let Some(excluded) = self.excluded_member(used, name, at) {
            return Some(excluded);
        }
        let root = used.path.root.as_str();
        let (outside, visible, assigned) = (self.outside, &self.visible, &self.assigned);
        let around = |name: &str| outside.contains(name) || visible.contains_key(name);
        let replaced = |name: &str| outside.contains(name) || assigned.contains_key(name);
        let missing = members::missing(self.unit, used, (name, at), &replaced, &mut self.comparisons);
        // the value of the name is that of one step, and nothing outside can replace it
        let only = assigned.get(root).copied().flatten().filter(|_| at == 0 && !outside.contains(root));
        let missing = missing.or_else(|| self.plain_text_member(used, name, at));
        missing.or_else(|| {
            let call = SubRecipeCall::of(self.unit, root, only?)?;
            call.missing(self.plan, self.flow, used, &around, &mut self.comparisons)
        })
    }

    /// The step whose value a name has, if nothing else can give it one.
    fn only_step(&self, name: &str) -> Option<&'a Step> {
        let is_replaced = self.outside.contains(name) || self.unit.declared().any(|known| known == name);
        let step = self.assigned.get(name).copied().flatten().filter(|_| !is_replaced);
        step.map(|at| &*self.unit.steps[at]).filter(|step| step.store.as_deref() == Some(name))
    }

    /// A member that the `json_schema` of the step rules out.
    fn excluded_member(&mut self, used: &NameUse, name: &str, at: usize) -> Option<Diagnostic> {
        let below = &used.path.segments[at..];
        let found = no_member(self.only_step(name)?, below)?;
        let Segment::Key(key) = &below[found.before] else { return None };
        let keys = below[..found.before].iter().filter_map(|segment| match segment {
            Segment::Key(key) => Some(key.as_str()),
            Segment::Index(_) => None,
        });
        let path: Vec<&str> = [name].into_iter().chain(keys).collect();
        members::reported(used, &path.join("."), key, found.keys, &mut self.comparisons)
    }

    /// A path into the value of a bash step, which is text without members.
    fn plain_text_member(&self, used: &NameUse, name: &str, at: usize) -> Option<Diagnostic> {
        let step = self.only_step(name)?;
        let is_text = matches!(step.kind, StepKind::Shell { .. }) && step.json == JsonMode::Text;
        if !is_text {
            return None;
        }
        // a step with `for_each` has a list of texts
        let below = &used.path.segments[at..];
        let below = match below {
            [Segment::Index(_), rest @ ..] if step.each().is_some() => rest,
            [..] => below,
        };
        match below.first() {
            None => return None,
            Some(Segment::Key(key)) if key == "length" => return None,
            Some(_) => {}
        }
        let message = format!("`{}` reads inside `{name}`, which is plain text", used.path);
        Some(
            Diagnostic::new(Code::UndefinedVariable, used.place, message)
                .label("empty unless the text is JSON")
                .help(format!(
                    "add `parse_json: true` to step `{}`, and let its command print JSON",
                    step.id
                )),
        )
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

/// What reading a name leads to that nothing defines.
pub(super) fn no_value(at: UsedIn) -> &'static str {
    match at {
        UsedIn::Secret => "hides nothing",
        at if at.is_condition() => "has no value",
        _ => "renders as empty text",
    }
}

/// Whether a name has a meaning of its own in this part of a recipe.
fn is_special(name: &str, at: UsedIn) -> bool {
    match at {
        UsedIn::Hook => HOOK_NAMES.contains(&name),
        UsedIn::Prompt(_) => PROMPT_NAMES.contains(&name),
        at if at.is_condition() => CONDITION_NAMES.contains(&name),
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
        _ => format!("nothing defines `{root}` before this step"),
    };
    let problem = Diagnostic::new(Code::UndefinedVariable, used.place, message);
    match (defined_after, meant) {
        (Some(after), _) => {
            let step = &unit.steps[after - 1];
            let event = match &step.group {
                Some(group) => format!("parallel group `{}` has ended", group.name),
                None => format!("step `{}` has run", step.id),
            };
            problem.label(no_value(used.at)).help(format!("it gets its value only when {event}"))
        }
        (None, _) if root == FAILURE => problem
            .label(no_value(used.at))
            .help("only steps with `when: failed` or `when: always` see the failure"),
        (None, Some(meant)) => problem.label(format!("did you mean `{meant}`?")),
        (None, None) if used.at.is_condition() && used.path.segments.is_empty() => problem
            .label(no_value(used.at))
            .help(format!("for text write `'{root}'`; a variable is declared under `context:`, or given with `--set {root}=…`")),
        (None, None) => problem
            .label(no_value(used.at))
            .help(format!("declare it under `context:`, or pass it with `--set {root}=…`")),
    }
}
