//! Paths that ask how a step went (`steps.ID.status`): the step must exist and come earlier, and the question must have
//! an answer. Never looks at other names.

use std::collections::HashMap;

use super::{
    Checker, Comparisons,
    names::{NameUse, UsedIn, next_after_group},
    step::listed,
};
use crate::{
    diagnostic::{Code, Diagnostic, did_you_mean},
    plan::{Step, Unit},
    source::Place,
    step_facts::{STEPS, StepFact, StepPath, is_reserved},
    syntax::{RecipeSyntax, When},
    value::Segment,
};

impl Checker<'_> {
    /// Reports variables named `steps`.
    pub(super) fn check_steps_name(&mut self, recipe: &RecipeSyntax) {
        let steps = || recipe.steps.iter().flat_map(|steps| &steps.value).map(|step| &step.value.shape);
        let context = recipe.context.iter().flat_map(|context| &context.value.0).map(|(name, _)| name);
        let inputs = recipe.inputs.iter().flat_map(|inputs| &inputs.value);
        let inputs = inputs.filter_map(|input| input.value.name.as_deref());
        let stored = steps().flat_map(|step| [step.output.as_deref(), step.item_name.as_deref()]).flatten();
        let passed = steps().flat_map(|step| step.context.iter().chain(&step.sub_context));
        let passed = passed.flat_map(|context| &context.value.0).map(|(name, _)| name);
        let names = context.chain(inputs).chain(stored).chain(passed);
        let reserved: Vec<(String, Place)> = names
            .filter(|name| is_reserved(&name.value))
            .map(|name| (name.value.trim().to_owned(), name.place))
            .collect();
        for (name, place) in reserved {
            let message =
                format!("a variable cannot be called `{name}`: `steps` means the steps of the recipe");
            self.diagnostics.push(
                Diagnostic::new(Code::ReservedName, place, message)
                    .label("reserved")
                    .help("give it another name"),
            );
        }
    }
}

/// The steps of a recipe, for the paths that lead to them.
pub(super) struct StepPaths<'a> {
    unit: &'a Unit,
    ids: HashMap<String, usize>,
    comparisons: Comparisons,
}

impl<'a> StepPaths<'a> {
    pub(super) fn new(unit: &'a Unit) -> StepPaths<'a> {
        let mut ids = HashMap::with_capacity(unit.steps.len());
        for (at, step) in unit.steps.iter().enumerate() {
            ids.entry(step.id.clone()).or_insert(at);
        }
        StepPaths { unit, ids, comparisons: Comparisons::default() }
    }

    /// The problem with a path, if it leads to a step and has one.
    pub(super) fn find(&mut self, used: &NameUse) -> Option<Diagnostic> {
        if used.path.root != STEPS || used.at == UsedIn::Secret {
            return None;
        }
        let Some(found) = StepPath::find(&used.path, &|id| self.ids.contains_key(id)) else {
            return Some(self.unknown(used));
        };
        let index = self.ids[&found.id];
        let early = self.too_early(&found.id, index, used);
        early
            .or_else(|| not_an_instance(self.unit, index, &found, used))
            .or_else(|| self.no_fact(&found, used))
    }

    fn unknown(&mut self, used: &NameUse) -> Diagnostic {
        let Some(Segment::Key(id)) = used.path.segments.first() else {
            return Diagnostic::new(Code::UnknownStep, used.place, "`steps` needs the id of a step")
                .label("which step?")
                .help("write `steps.ID.status`, with the id of a step of this recipe");
        };
        let problem = Diagnostic::new(Code::UnknownStep, used.place, format!("there is no step `{id}`"));
        let is_allowed = self.comparisons.allow(self.ids.len());
        let meant = is_allowed.then(|| did_you_mean(id, self.ids.keys().map(String::as_str))).flatten();
        let steps = format!("the steps are {}", listed(&self.ids));
        match meant {
            Some(meant) => problem
                .label(format!("did you mean `{meant}`?"))
                .help(format!("did you mean `{meant}`? {steps}")),
            None => problem.label("no such step").help(steps),
        }
    }

    /// A step that has not ended where the path is read.
    fn too_early(&self, id: &str, index: usize, used: &NameUse) -> Option<Diagnostic> {
        let at = used.at.step();
        // hooks and the result of the recipe may ask about every step
        let reader = self.unit.steps.get(at)?;
        let problem = |code, message: String| Diagnostic::new(code, used.place, message);
        if index == at {
            let help = match reader.store.as_deref().filter(|_| used.at.after_step().is_some()) {
                Some(name) => format!("read its value as `{name}`"),
                None => "ask about an earlier step".to_owned(),
            };
            let message = format!("step `{id}` asks about itself, and has not ended yet");
            return Some(problem(Code::LaterStep, message).label("this step").help(help));
        }
        let cleans_up = |step: &Step| step.when != When::Ok;
        let is_fine = match (self.unit.is_graph, cleans_up(&self.unit.steps[index])) {
            // the reader waits for it
            (true, false) => true,
            (true, true) if !cleans_up(reader) => {
                let message = format!("step `{id}` runs after all steps without `when`");
                let problem = problem(Code::LaterStep, message).label("runs later");
                return Some(problem.help(format!("remove `when` from `{id}`, or do not ask about it here")));
            }
            _ => next_after_group(self.unit, index) <= at,
        };
        if is_fine {
            return None;
        }
        if index < at {
            let message = format!("step `{id}` runs at the same time as this one");
            let problem = problem(Code::GroupDependency, message).label("in the same parallel group");
            return Some(problem.help("take one of the two out of the group"));
        }
        let message = format!("step `{id}` does not come before this one");
        let help = "steps run in the order in which they are written: move it up";
        Some(problem(Code::LaterStep, message).label("comes later").help(help))
    }

    /// A path that asks for nothing, or for something that steps do not have.
    fn no_fact(&mut self, found: &StepPath<'_>, used: &NameUse) -> Option<Diagnostic> {
        let all = StepFact::ALL.map(StepFact::as_str);
        let help = format!("a step has {}", all.map(|name| format!("`{name}`")).join(", "));
        let problem = |message| Diagnostic::new(Code::UnknownProperty, used.place, message);
        let id = &found.id;
        match found.rest.first() {
            None => {
                let message = format!("`{}` does not say what to ask about step `{id}`", used.path);
                Some(problem(message).label("a property is missing").help(help))
            }
            Some(Segment::Index(_)) => {
                let message = format!("`{}` has one index too many", used.path);
                Some(problem(message).label("no such property").help(help))
            }
            Some(Segment::Key(name)) if StepFact::named(name).is_none() => {
                let meant = did_you_mean(name, all);
                let label =
                    meant.map_or("no such property".to_owned(), |meant| format!("did you mean `{meant}`?"));
                Some(problem(format!("a step has no property `{name}`")).label(label).help(help))
            }
            Some(Segment::Key(_)) => None,
        }
    }
}

/// An index of a step without a loop.
fn not_an_instance(unit: &Unit, index: usize, found: &StepPath<'_>, used: &NameUse) -> Option<Diagnostic> {
    let is_one = found.instance.is_none() || unit.steps[index].looped.is_some();
    let message = || format!("step `{}` has no instances: it has no `for_each` or `repeat`", found.id);
    (!is_one).then(|| {
        Diagnostic::new(Code::UnknownProperty, used.place, message())
            .label("not a loop")
            .help(format!("write `steps.{}` without an index", found.id))
    })
}
