//! One recipe: its own fields checked, its steps handed on.

use crate::{
    diagnostic::{Code, Diagnostic},
    digest::sha256,
    plan::{Budget, Group, Hooks, Input, Limits, Output, Unit, UnitId},
    source::Place,
    syntax::{self, OutputFormat, Recipe, kinds::Written, shape::Spanned},
    template::Template,
};

use super::{Checker, Loaded, names::Use, names::Where};

/// What the checks of one recipe share.
pub(super) struct UnitScope {
    pub(super) id: UnitId,
    pub(super) default_timeout: Option<f64>,
    pub(super) ids: Vec<(String, Place)>,
    pub(super) declared: Vec<String>,
    pub(super) groups: Vec<Option<Group>>,
}

impl Checker<'_> {
    pub(super) fn check_unit(&mut self, id: UnitId, loaded: Loaded) -> Option<Unit> {
        let (_, recipe) = self.read(&loaded, &mut Vec::new())?;
        let name = self.required_text(recipe.name.as_ref(), "name", "recipe", recipe.place);
        let steps = recipe.steps.as_ref().map(|steps| steps.value.as_slice()).unwrap_or_default();
        if steps.is_empty() {
            let place = recipe.steps.as_ref().map_or(recipe.place, |steps| steps.place);
            self.diagnostics.push(
                Diagnostic::new(Code::NoSteps, first_line(place), "the recipe has no steps")
                    .help("add `steps:` with at least one `- id: …` entry"),
            );
        }
        self.check_ids(steps);
        self.check_context_names(&recipe);
        let context = recipe.context.as_ref().map(|context| context.value.to_map()).unwrap_or_default();
        let inputs = self.inputs(&recipe);
        let mut declared: Vec<String> = context.keys().cloned().collect();
        declared.extend(inputs.iter().map(|input| input.name.clone()));
        let scope = UnitScope {
            id,
            default_timeout: recipe.default_step_timeout.as_ref().map(|seconds| seconds.value),
            ids: steps
                .iter()
                .filter_map(|step| step.value.shape.id.as_ref())
                .map(|id| (id.value.clone(), id.place))
                .collect(),
            declared,
            groups: self.groups(steps),
        };
        let mut checked = Vec::with_capacity(steps.len());
        let mut complete = true;
        for (at, step) in steps.iter().enumerate() {
            match self.check_step(step, at, &scope) {
                Some(step) => checked.push(std::sync::Arc::new(step)),
                None => complete = false,
            }
        }
        let texts = |list: &Option<Spanned<syntax::Texts>>| -> Vec<String> {
            list.iter().flat_map(|list| &list.value).map(|text| text.value.clone()).collect()
        };
        let env = recipe.env.as_ref().map(|env| &env.value);
        let unit = Unit {
            name: name?,
            version: recipe
                .version
                .as_ref()
                .map_or_else(|| "1.0".to_owned(), |version| version.value.clone()),
            description: recipe.description.as_ref().map(|text| text.value.clone()).unwrap_or_default(),
            author: recipe.author.as_ref().map(|text| text.value.clone()).unwrap_or_default(),
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
            limits: recipe.recursion.as_ref().map_or_else(Limits::default, |limits| Limits {
                max_depth: limits.value.max_depth.as_ref().map(|depth| depth.value),
                max_total_steps: limits.value.max_total_steps.as_ref().map(|steps| steps.value),
            }),
            hooks: self.hooks(&recipe, id),
            secrets: texts(&recipe.secrets),
            required_env: env.map(|env| texts(&env.required)).unwrap_or_default(),
            env_files: match env.and_then(|env| env.files.as_ref()) {
                Some(files) => files.value.iter().map(|file| file.value.clone()).collect(),
                None => vec![".env.local".to_owned(), ".env".to_owned()],
            },
            budget: recipe.budget.as_ref().map_or_else(Budget::default, |budget| Budget {
                usd: budget.value.usd.as_ref().map(|value| value.value),
                tokens: budget.value.tokens.as_ref().map(|value| value.value),
                agent_runs: budget.value.agent_runs.as_ref().map(|value| value.value),
                minutes: budget.value.minutes.as_ref().map(|value| value.value),
            }),
            names: unit_names(&scope.declared, &checked),
            context,
            inputs,
            steps: checked,
        };
        complete.then_some(unit)
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
                    .label("empty"),
                );
                None
            }
            None => {
                self.diagnostics.push(
                    Diagnostic::new(
                        Code::MissingField,
                        first_line(place),
                        format!("the {owner} has no `{name}`"),
                    )
                    .help(format!("add `{name}: …`")),
                );
                None
            }
        }
    }

    /// A template; reported if it cannot be read, its names noted.
    pub(super) fn template(&mut self, text: &Spanned<String>, at: Where, unit: UnitId) -> Option<Template> {
        match Template::parse(&text.value) {
            Ok(template) => {
                for (path, range) in template.names() {
                    let place = text.place_of(range);
                    self.uses[unit.0 as usize].push(Use { path: path.clone(), place, at });
                }
                Some(template)
            }
            Err(error) => {
                let mut problem =
                    Diagnostic::new(Code::TemplateSyntax, text.place_of(error.at), error.message)
                        .label("here");
                problem.help = error.help;
                self.diagnostics.push(problem);
                None
            }
        }
    }

    fn check_ids(&mut self, steps: &[Spanned<Written<syntax::Step>>]) {
        let mut seen = std::collections::HashMap::<&str, Place>::new();
        for id in steps.iter().filter_map(|step| step.value.shape.id.as_ref()) {
            if let Some(first) = seen.insert(&id.value, id.place) {
                let line = self.sources.line_column(first).line;
                self.diagnostics.push(
                    Diagnostic::new(
                        Code::DuplicateId,
                        id.place,
                        format!("two steps have the id `{}`", id.value),
                    )
                    .label("used twice")
                    .help(format!("the first one stands at line {line}; give this one another id")),
                );
            }
            let bad =
                id.value.contains('/') || id.value.chars().any(char::is_control) || id.value.len() > 200;
            if bad || matches!(id.value.as_str(), "." | "..") {
                self.diagnostics.push(
                    Diagnostic::new(Code::BadId, id.place, "this id cannot be used as a name")
                        .help("an id has at most 200 characters and no `/` or control characters"),
                );
            }
        }
    }

    fn check_context_names(&mut self, recipe: &Recipe) {
        let context = recipe.context.iter().flat_map(|context| &context.value.0);
        for (name, _) in context {
            if crate::template::parse_path(&name.value).is_none() {
                let message = format!("`{}` is not a name that templates can use", name.value);
                self.diagnostics.push(
                    Diagnostic::new(Code::BadName, name.place, message)
                        .severity(crate::diagnostic::Severity::Warning)
                        .help("names have letters, digits, `_`, `-` and `.`"),
                );
            }
        }
    }

    fn inputs(&mut self, recipe: &Recipe) -> Vec<Input> {
        let inputs = recipe.inputs.iter().flat_map(|inputs| &inputs.value);
        inputs
            .filter_map(|input| {
                let input = &input.value;
                Some(Input {
                    name: self.required_text(input.name.as_ref(), "name", "input", input.place)?,
                    description: input
                        .description
                        .as_ref()
                        .map(|text| text.value.clone())
                        .unwrap_or_default(),
                    required: input.required.as_ref().is_some_and(|flag| flag.value),
                    default: input.default.as_ref().map(|value| value.value.clone()),
                })
            })
            .collect()
    }

    fn output(&mut self, recipe: &Recipe, unit: UnitId) -> Option<Output> {
        let output = &recipe.output.as_ref()?.value;
        let template = match &output.template {
            Some(template) => self.template(template, Where::End, unit)?,
            None => {
                self.required_text(None, "template", "`output` map", output.place);
                return None;
            }
        };
        let format = output.format.as_ref().map_or(OutputFormat::Text, |format| format.value);
        Some(Output { format, template })
    }

    fn hooks(&mut self, recipe: &Recipe, unit: UnitId) -> Hooks {
        let Some(hooks) = &recipe.hooks else { return Hooks::default() };
        let mut hook = |text: &Option<Spanned<String>>| {
            text.as_ref().and_then(|text| self.template(text, Where::Hook, unit))
        };
        Hooks {
            pre_step: hook(&hooks.value.pre_step),
            post_step: hook(&hooks.value.post_step),
            on_error: hook(&hooks.value.on_error),
        }
    }

    /// The parallel group of every step; a name that comes again later is another group.
    fn groups(&mut self, steps: &[Spanned<Written<syntax::Step>>]) -> Vec<Option<Group>> {
        let mut groups: Vec<Option<Group>> = Vec::with_capacity(steps.len());
        let mut number = 0;
        let mut seen = std::collections::HashSet::new();
        for step in steps {
            let Some(name) = &step.value.shape.parallel_group else {
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

fn unit_names(declared: &[String], steps: &[std::sync::Arc<crate::plan::Step>]) -> Vec<String> {
    let mut names = declared.to_vec();
    names.extend(steps.iter().filter_map(|step| step.store.clone()));
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// The start of a place: what is said of a whole map should not underline all of it.
pub(super) fn first_line(place: Place) -> Place {
    let mut span = place.span;
    span.end = span.end.min(span.start + 1);
    Place { span, ..place }
}
