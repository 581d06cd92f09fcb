//! One recipe: checks its own fields, and passes its steps on.

use std::collections::HashMap;

use indexmap::IndexSet;

use crate::{
    diagnostic::{Code, Diagnostic},
    digest::sha256,
    plan::{Budget, Group, Hooks, Input, Limits, Output, Unit, UnitId},
    scope::Path,
    source::Place,
    syntax::{
        self, RecipeSyntax, Shell, StepSyntax,
        kinds::WithDigest,
        shape::{Optional, Spanned},
    },
    template::{Template, parse_path},
};

use super::{
    Checker, Loaded,
    agent::{is_agent, permissions},
    extend::Lineage,
    names::{NameUse, UsedIn},
    step::listed,
};

/// Shared data of the checks of one recipe.
pub(super) struct UnitScope {
    pub(super) id: UnitId,
    pub(super) default_timeout: Option<f64>,
    pub(super) ids: HashMap<String, usize>,
    /// The ids for a message: put together once, because many steps may name wrong ones.
    pub(super) listed: String,
    pub(super) declared: IndexSet<String>,
    pub(super) groups: Vec<Option<Group>>,
    /// Whether steps may need later ones.
    pub(super) is_graph: bool,
    /// How commands run unless a step says it itself.
    pub(super) shell: Shell,
    /// Which steps ask an agent, and which run several times.
    pub(super) agents: Vec<bool>,
    pub(super) loops: Vec<bool>,
    pub(super) lineage: Lineage,
}

impl Checker<'_> {
    /// Checks one recipe. Parts that cannot be understood are reported and replaced by something harmless.
    pub(super) fn check_unit(&mut self, id: UnitId, loaded: Loaded) -> Unit {
        let Some((recipe, lineage)) = self.read(&loaded, &mut Vec::new()) else {
            self.name_facts[id.0 as usize].is_partial = true;
            return Unit { path: loaded.path, ..Unit::default() };
        };
        let is_missing = |field: &str| lineage == Lineage::Whole && !recipe.unread.contains(&field);
        let name = match is_missing("name") || recipe.name.is_some() {
            true => self.required_text(recipe.name.as_deref(), "name", "recipe", recipe.missing("name")),
            false => None,
        };
        let steps = recipe.steps.as_ref().map(|steps| steps.value.as_slice()).unwrap_or_default();
        if steps.is_empty() && is_missing("steps") {
            self.diagnostics.push(no_steps(&recipe));
        }
        self.name_facts[id.0 as usize].is_partial = !is_missing("steps") || !is_missing("context");
        self.check_ids(steps);
        self.check_failure_name(&recipe);
        self.check_steps_name(&recipe);
        self.check_instance_ids(steps);
        self.declare_names(&recipe, id);
        self.note_ignored_lines(&recipe);
        self.use_secrets(&recipe, id);
        let context = recipe.context.as_ref().map(|context| context.value.to_map()).unwrap_or_default();
        let inputs = self.inputs(&recipe);
        let declared = context.keys().chain(inputs.iter().map(|input| &input.name)).cloned().collect();
        let scope = self.unit_scope(id, &recipe, lineage, declared);
        let checked: Vec<_> = steps
            .iter()
            .enumerate()
            .map(|(at, step)| std::sync::Arc::new(self.check_step(step, at, &scope)))
            .collect();
        let text = |field: &Optional<String>| field.as_ref().map(|text| text.value.clone());
        Unit {
            name: name.unwrap_or_default(),
            version: text(&recipe.version).unwrap_or_else(|| "1.0".to_owned()),
            description: text(&recipe.description).unwrap_or_default(),
            author: text(&recipe.author).unwrap_or_default(),
            tags: texts(&recipe.tags),
            path: loaded.path.clone(),
            digest: sha256(&loaded.bytes),
            rules: recipe
                .context_validation
                .iter()
                .flat_map(|rules| &rules.value.0)
                .map(|(name, rule)| (name.value.clone(), rule.value))
                .collect(),
            output: self.output(&recipe, id),
            limits: limits(&recipe),
            hooks: self.hooks(&recipe, id),
            secrets: secrets(&recipe, &inputs),
            env: self.recipe_env(&recipe, id),
            shell: scope.shell,
            budget: budget(&recipe),
            is_graph: scope.is_graph,
            names: unit_names(scope.declared, &checked),
            context,
            inputs,
            steps: checked,
        }
    }

    fn unit_scope(
        &mut self,
        id: UnitId,
        recipe: &RecipeSyntax,
        lineage: Lineage,
        declared: IndexSet<String>,
    ) -> UnitScope {
        let steps = recipe.steps.as_ref().map(|steps| steps.value.as_slice()).unwrap_or_default();
        let ids = index_ids(steps);
        UnitScope {
            id,
            default_timeout: self.positive(&recipe.default_step_timeout, "default_step_timeout"),
            listed: listed(&ids),
            ids,
            declared,
            groups: self.groups(steps),
            is_graph: self.is_graph(recipe),
            shell: recipe.shell.as_ref().map(|shell| shell.value).unwrap_or_default(),
            agents: shapes(steps).map(is_agent).collect(),
            loops: shapes(steps).map(|step| step.for_each.is_some() || step.repeat.is_some()).collect(),
            lineage,
        }
    }

    /// The text of a required field; reported if it is missing or blank.
    pub(super) fn required_text(
        &mut self,
        field: Option<&Spanned<String>>,
        name: &str,
        owner: &str,
        place: Place,
    ) -> Option<String> {
        match field {
            Some(text) if !text.value.trim().is_empty() => Some(text.value.clone()),
            Some(text) => {
                self.diagnostics.push(
                    Diagnostic::new(
                        Code::EmptyField,
                        text.place,
                        format!("`{name}` of the {owner} is empty"),
                    )
                    .label("empty")
                    .help(format!("write something after `{name}:`")),
                );
                None
            }
            None => {
                self.diagnostics.push(
                    Diagnostic::new(Code::MissingField, place, format!("the {owner} has no `{name}`"))
                        .help(format!("add `{name}: …`")),
                );
                None
            }
        }
    }

    /// A template; reported if it cannot be read, its names noted.
    pub(super) fn template(&mut self, text: &Spanned<String>, at: UsedIn, unit: UnitId) -> Option<Template> {
        let template = self.parsed(text)?;
        self.use_names(template.names(), text, at, unit);
        Some(template)
    }

    /// The same for a shell command: templates in its comments read nothing.
    pub(super) fn command(&mut self, text: &Spanned<String>, at: UsedIn, unit: UnitId) -> Option<Template> {
        let template = self.parsed(text)?;
        self.use_names(template.command_names(), text, at, unit);
        self.warn_of_misuse(text, &template);
        Some(template)
    }

    fn use_names(
        &mut self,
        names: Vec<(&Path, std::ops::Range<usize>)>,
        text: &Spanned<String>,
        at: UsedIn,
        unit: UnitId,
    ) {
        let mut seen = std::collections::HashSet::new();
        for (path, range) in names {
            // one word about a name is enough for one text
            if seen.insert(path) {
                let place = text.place_of(range);
                self.name_facts[unit.0 as usize].uses.push(NameUse { path: path.clone(), place, at });
            }
        }
    }

    fn parsed(&mut self, text: &Spanned<String>) -> Option<Template> {
        match Template::parse(&text.value) {
            Ok(template) => Some(template),
            Err(errors) => {
                self.diagnostics.extend(errors.into_iter().map(|error| {
                    let mut problem =
                        Diagnostic::new(Code::TemplateSyntax, text.place_of(error.at), error.message);
                    problem.help = error.help;
                    problem
                }));
                None
            }
        }
    }

    /// Notes where names are declared; warns about those that templates cannot use.
    fn declare_names(&mut self, recipe: &RecipeSyntax, unit: UnitId) {
        let context = recipe.context.iter().flat_map(|context| &context.value.0).map(|(name, _)| name);
        let inputs = recipe.inputs.iter().flat_map(|inputs| &inputs.value);
        // an input without a name has its own message
        let inputs = inputs.filter_map(|input| input.value.name.as_deref());
        let inputs = inputs.filter(|name| !name.value.trim().is_empty());
        for name in context.chain(inputs) {
            self.name_facts[unit.0 as usize].declared.entry(name.value.clone()).or_insert(name.place);
            if !is_variable_name(&name.value) || begins_with_hyphen(&name.value) {
                self.diagnostics.push(useless_name(name));
            }
        }
    }

    /// A misspelt secret would be shown, so its name must be one that exists.
    fn use_secrets(&mut self, recipe: &RecipeSyntax, unit: UnitId) {
        for name in recipe.secrets.iter().flat_map(|names| &names.value) {
            if name.value.trim().is_empty() {
                let problem =
                    Diagnostic::new(Code::EmptyField, name.place, "a name under `secrets` is empty");
                self.diagnostics.push(problem.help("write the name of a variable, or remove the item"));
                continue;
            }
            let path = parse_path(&name.value)
                .unwrap_or_else(|| Path { root: name.value.clone(), segments: Vec::new() });
            let place = name.place;
            self.name_facts[unit.0 as usize].uses.push(NameUse { path, place, at: UsedIn::Secret });
        }
    }

    fn output(&mut self, recipe: &RecipeSyntax, unit: UnitId) -> Option<Output> {
        let output = &recipe.output.as_ref()?.value;
        let only = output.only.as_ref().is_some_and(|only| only.value);
        let template = match &output.template {
            Some(template) => Some(self.template(template, UsedIn::End, unit)?),
            None if only => None,
            None => return None,
        };
        let format = output.format.as_ref().map_or_else(|| "text".to_owned(), |format| format.value.clone());
        Some(Output { format, template, only })
    }

    fn hooks(&mut self, recipe: &RecipeSyntax, unit: UnitId) -> Hooks {
        let Some(hooks) = &recipe.hooks else { return Hooks::default() };
        let mut hook =
            |text: &Optional<String>| text.as_ref().and_then(|text| self.command(text, UsedIn::Hook, unit));
        Hooks {
            pre_step: hook(&hooks.value.pre_step),
            post_step: hook(&hooks.value.post_step),
            on_error: hook(&hooks.value.on_error),
        }
    }

    /// The parallel group of every step; a name that comes again later is another group.
    fn groups(&mut self, steps: &[Spanned<WithDigest<StepSyntax>>]) -> Vec<Option<Group>> {
        let mut groups: Vec<Option<Group>> = Vec::with_capacity(steps.len());
        let mut number = 0;
        let mut seen = std::collections::HashSet::new();
        for step in steps {
            let name = step.value.shape.parallel_group.as_ref();
            let Some(name) = name.filter(|name| !name.value.trim().is_empty()) else {
                groups.push(None);
                continue;
            };
            let previous = groups.last().and_then(Option::as_ref);
            if previous.is_none_or(|group| group.name != name.value) {
                number += 1;
                if !seen.insert(name.value.clone()) {
                    let message =
                        format!("parallel group `{}` is used again: this is a new group", name.value);
                    self.diagnostics
                        .push(Diagnostic::new(Code::GroupReopened, name.place, message).help(
                            "move the steps next to each other, or give the second group another name",
                        ));
                }
            }
            groups.push(Some(Group { name: name.value.clone(), number }));
        }
        groups
    }
}

/// The fields of every step.
fn shapes(steps: &[Spanned<WithDigest<StepSyntax>>]) -> impl Iterator<Item = &StepSyntax> {
    steps.iter().map(|step| &step.value.shape)
}

/// The index of every step by its id; of a duplicate, that of the first.
pub(super) fn index_ids(steps: &[Spanned<WithDigest<StepSyntax>>]) -> HashMap<String, usize> {
    let mut ids = HashMap::with_capacity(steps.len());
    for (at, step) in steps.iter().enumerate() {
        if let Some(id) = &step.value.shape.id {
            ids.entry(id.value.clone()).or_insert(at);
        }
    }
    ids
}

fn unit_names(declared: IndexSet<String>, steps: &[std::sync::Arc<crate::plan::Step>]) -> Vec<String> {
    let mut names = declared;
    names.extend(steps.iter().filter_map(|step| step.store.clone()));
    names.into_iter().collect()
}

/// Whether a text can be the name of a variable: a path without indexes.
pub(super) fn is_variable_name(text: &str) -> bool {
    !text.contains('[') && parse_path(text).is_some()
}

/// Whether templates take a name for text: `{{-x}}` belongs to another language.
pub(super) fn begins_with_hyphen(name: &str) -> bool {
    name.trim_start().starts_with('-')
}

/// Warns of a name that templates cannot use.
pub(super) fn useless_name(name: &Spanned<String>) -> Diagnostic {
    let message = format!("`{}` is not a name that templates can use", name.value);
    Diagnostic::new(Code::BadName, name.place, message)
        .severity(crate::diagnostic::Severity::Warning)
        .help("names have letters, digits, `_`, `-` and `.`, and do not begin with `-`")
}

/// Reports a name that no environment variable can have.
pub(super) fn bad_env_name(name: &Spanned<String>) -> Diagnostic {
    let message = format!("`{}` is not a name for an environment variable", name.value);
    Diagnostic::new(Code::BadName, name.place, message)
        .label("not a name")
        .help("use letters, digits and `_`, and do not start with a digit")
}

fn no_steps(recipe: &RecipeSyntax) -> Diagnostic {
    let written = recipe.steps.as_ref().map(|steps| steps.place.first_character());
    let place = written.unwrap_or_else(|| recipe.missing("steps"));
    Diagnostic::new(Code::NoSteps, place, "the recipe has no steps")
        .help("add `steps:` with at least one `- id: …` entry")
}

pub(super) fn texts(list: &Optional<syntax::Texts>) -> Vec<String> {
    list.iter().flat_map(|list| &list.value).map(|text| text.value.clone()).collect()
}

/// The names that the recipe lists as secret, and its inputs of that type.
fn secrets(recipe: &RecipeSyntax, inputs: &[Input]) -> Vec<String> {
    let mut names = texts(&recipe.secrets);
    let more = inputs.iter().filter(|input| input.is_secret()).map(|input| &input.name);
    let more: Vec<String> = more.filter(|name| !names.contains(name)).cloned().collect();
    names.extend(more);
    names
}

fn limits(recipe: &RecipeSyntax) -> Limits {
    let recursion = recipe.recursion.as_ref().map(|recursion| &recursion.value);
    Limits {
        max_depth: recursion.and_then(|limits| limits.max_depth.as_ref()).map(|depth| depth.value),
        max_total_steps: recursion
            .and_then(|limits| limits.max_total_steps.as_ref())
            .map(|steps| steps.value),
        permissions: permissions(&recipe.permissions),
    }
}

fn budget(recipe: &RecipeSyntax) -> Budget {
    recipe.budget.as_ref().map_or_else(Budget::default, |budget| Budget {
        usd: budget.value.usd.as_ref().map(|value| value.value),
        tokens: budget.value.tokens.as_ref().map(|value| value.value),
        agent_runs: budget.value.agent_runs.as_ref().map(|value| value.value),
        minutes: budget.value.minutes.as_ref().map(|value| value.value),
    })
}
