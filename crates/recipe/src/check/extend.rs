//! Inheritance: a recipe that `extends` another one, merged with it.
//!
//! Never looks at what fields mean; it only decides whose field wins.

use crate::{
    diagnostic::{Code, Diagnostic},
    source::{FileId, Place, Span},
    syntax::{
        Hooks, Recipe,
        kinds::{Named, Written},
        shape::{Decode, Spanned},
    },
    value::Value,
    yaml,
};

use super::{Checker, Loaded};

/// How many recipes one may extend in a row.
const MAX_DEPTH: usize = 20;

impl Checker<'_> {
    /// Reads a file and everything that it extends.
    pub(super) fn read(&mut self, loaded: &Loaded, chain: &mut Vec<String>) -> Option<(FileId, Recipe)> {
        let text = match yaml::decode(&loaded.bytes) {
            Ok(text) => text,
            Err(error) => {
                let file = self.sources.add(loaded.path.clone(), "");
                let start = Place { file, span: Span::default() };
                self.diagnostics.push(Diagnostic { place: Some(start), ..error.to_diagnostic() });
                return None;
            }
        };
        let file = self.sources.add(loaded.path.clone(), text);
        let node = yaml::parse(&self.sources, file, &mut self.diagnostics)?;
        let recipe = Recipe::decode(&node, "recipe", &mut self.diagnostics)?;
        chain.push(loaded.path.clone());
        let merged = match self.parent(&recipe, &loaded.path, chain)? {
            Some(parent) => merge(recipe, parent),
            None => recipe,
        };
        Some((file, merged))
    }

    /// The parent of a recipe: `None` if it cannot be had, `Some(None)` if there is none to have.
    fn parent(&mut self, recipe: &Recipe, path: &str, chain: &mut Vec<String>) -> Option<Option<Recipe>> {
        let Some(extends) = &recipe.extends else { return Some(None) };
        let loaded = self.find_recipe(&extends.value, extends.place, path)?;
        if let Some(at) = chain.iter().position(|seen| *seen == loaded.path) {
            let circle = chain[at..].iter().chain([&loaded.path]).cloned().collect::<Vec<_>>().join(" → ");
            self.diagnostics.push(
                Diagnostic::new(Code::CircularExtends, extends.place, "circular `extends`")
                    .label("leads back to itself")
                    .help(format!("the circle is {circle}")),
            );
            return None;
        }
        if chain.len() > MAX_DEPTH {
            let message = format!("recipes extend each other more than {MAX_DEPTH} levels deep");
            self.diagnostics.push(Diagnostic::new(Code::DeepRecipes, extends.place, message));
            return None;
        }
        self.read(&loaded, chain).map(|(_, parent)| Some(parent))
    }
}

fn merge(child: Recipe, parent: Recipe) -> Recipe {
    Recipe {
        place: child.place,
        name: child.name.or(parent.name),
        version: child.version.or(parent.version),
        description: child.description.or(parent.description),
        author: child.author.or(parent.author),
        tags: child.tags.or(parent.tags),
        context: merge_with(child.context, parent.context, merge_context),
        extends: child.extends,
        recursion: child.recursion.or(parent.recursion),
        hooks: merge_with(child.hooks, parent.hooks, merge_hooks),
        context_validation: child.context_validation.or(parent.context_validation),
        inputs: child.inputs.or(parent.inputs),
        output: child.output.or(parent.output),
        default_step_timeout: child.default_step_timeout.or(parent.default_step_timeout),
        secrets: child.secrets.or(parent.secrets),
        env: child.env.or(parent.env),
        budget: child.budget.or(parent.budget),
        steps: merge_with(child.steps, parent.steps, merge_steps),
    }
}

fn merge_with<T>(
    child: Option<Spanned<T>>,
    parent: Option<Spanned<T>>,
    merge: fn(T, T) -> T,
) -> Option<Spanned<T>> {
    match (child, parent) {
        (Some(child), Some(parent)) => Some(Spanned {
            value: merge(child.value, parent.value),
            place: child.place,
            scalar: child.scalar,
        }),
        (child, parent) => child.or(parent),
    }
}

fn merge_context(child: Named<Value>, parent: Named<Value>) -> Named<Value> {
    let mut merged = parent.0;
    for (name, value) in child.0 {
        match merged.iter_mut().find(|(known, _)| known.value == name.value) {
            Some(entry) => *entry = (name, value),
            None => merged.push((name, value)),
        }
    }
    Named(merged)
}

fn merge_hooks(child: Hooks, parent: Hooks) -> Hooks {
    Hooks {
        place: child.place,
        pre_step: child.pre_step.or(parent.pre_step),
        post_step: child.post_step.or(parent.post_step),
        on_error: child.on_error.or(parent.on_error),
    }
}

type Steps = Vec<Spanned<Written<crate::syntax::Step>>>;

fn merge_steps(child: Steps, parent: Steps) -> Steps {
    let inherited = parent.len();
    let mut merged = parent;
    for step in child {
        let id = step.value.shape.id.as_ref().map(|id| id.value.clone());
        let replaced = merged[..inherited]
            .iter_mut()
            .find(|known| id.is_some() && known.value.shape.id.as_ref().map(|id| &id.value) == id.as_ref());
        match replaced {
            Some(known) => *known = step,
            None => merged.push(step),
        }
    }
    merged
}
