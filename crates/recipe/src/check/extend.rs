//! Inheritance: a recipe that `extends` another one, merged with it.
//!
//! Never looks at the meaning of fields; it only decides which recipe's field wins.

use crate::{
    diagnostic::{Code, Diagnostic},
    source::{FileId, Place, Span},
    syntax::{
        HooksSyntax, RecipeSyntax, StepSyntax,
        kinds::{Named, WithDigest},
        shape::{Decode, Optional, Spanned},
    },
    test_file::is_test_file,
    value::Value,
    yaml,
};

use super::{Checker, Loaded, unit::index_ids};

/// How many recipes one may extend in a row.
const MAX_DEPTH: usize = 20;

/// Whether everything that a recipe extends could be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lineage {
    /// All of it.
    Whole,
    /// A parent is missing, so fields and steps may be, too.
    Broken,
}

impl Checker<'_> {
    /// Reads a file and everything that it extends.
    pub(super) fn read(
        &mut self,
        loaded: &Loaded,
        chain: &mut Vec<String>,
    ) -> Option<(RecipeSyntax, Lineage)> {
        let text = match yaml::decode(&loaded.bytes) {
            Ok(text) => text,
            Err(error) => {
                let file = self.sources.add(loaded.path.clone(), "");
                let start = Place { file, span: Span::default() };
                self.diagnostics.push(Diagnostic { place: Some(start), ..error.to_diagnostic() });
                return None;
            }
        };
        let file = self.source(&loaded.path, &text);
        let node = yaml::parse(&self.sources, file, &mut self.diagnostics)?;
        if let Some(cases) =
            node.get("cases").filter(|_| is_test_file(&loaded.path) && node.get("steps").is_none())
        {
            let problem =
                Diagnostic::new(Code::NoSteps, cases.key.place, "this is a test file, not a recipe");
            let help = format!("run its cases with `recipe-runner-rs test {}`", loaded.path);
            self.diagnostics.push(problem.label("cases, no steps").help(help));
            return None;
        }
        let recipe = RecipeSyntax::decode(&node, "recipe", &mut self.diagnostics)?;
        chain.push(loaded.path.clone());
        let Some(extends) = &recipe.extends else {
            let lost = recipe.unread.contains(&"extends");
            return Some((recipe, if lost { Lineage::Broken } else { Lineage::Whole }));
        };
        Some(match self.parent(extends, &loaded.path, chain) {
            Some((parent, lineage)) => (merge(recipe, parent), lineage),
            None => (recipe, Lineage::Broken),
        })
    }

    /// A file that takes part twice is one source, so that its problems are reported once.
    fn source(&mut self, path: &str, text: &str) -> FileId {
        let known = self.sources.iter().find(|(_, file)| file.path == path && *file.text == *text);
        match known.map(|(id, _)| id) {
            Some(id) => id,
            None => self.sources.add(path, text),
        }
    }

    fn parent(
        &mut self,
        extends: &Spanned<String>,
        path: &str,
        chain: &mut Vec<String>,
    ) -> Option<(RecipeSyntax, Lineage)> {
        let name = self.required_text(Some(extends), "extends", "recipe", extends.place)?;
        let loaded = self.find_recipe(name.trim(), extends.place, path)?;
        if let Some(at) = chain.iter().position(|seen| *seen == loaded.path) {
            let circle = chain[at..].iter().chain([&loaded.path]).cloned().collect::<Vec<_>>().join(" → ");
            self.diagnostics.push(
                Diagnostic::new(Code::CircularExtends, extends.place, "circular `extends`")
                    .label("leads back to itself")
                    .help(format!("remove one `extends` of the circle {circle}")),
            );
            return None;
        }
        if chain.len() > MAX_DEPTH {
            let message = format!("recipes extend each other more than {MAX_DEPTH} levels deep");
            self.diagnostics.push(Diagnostic::new(Code::DeepRecipes, extends.place, message));
            return None;
        }
        self.read(&loaded, chain)
    }
}

fn merge(child: RecipeSyntax, parent: RecipeSyntax) -> RecipeSyntax {
    RecipeSyntax {
        place: child.place,
        unread: [child.unread, parent.unread].concat(),
        blank: [child.blank, parent.blank].concat(),
        name: child.name.or(parent.name),
        version: child.version.or(parent.version),
        description: child.description.or(parent.description),
        author: child.author.or(parent.author),
        tags: child.tags.or(parent.tags),
        context: merge_with(child.context, parent.context, merge_context),
        extends: child.extends,
        recursion: child.recursion.or(parent.recursion),
        shell: child.shell.or(parent.shell),
        schedule: child.schedule.or(parent.schedule),
        hooks: merge_with(child.hooks, parent.hooks, merge_hooks),
        context_validation: child.context_validation.or(parent.context_validation),
        inputs: child.inputs.or(parent.inputs),
        output: child.output.or(parent.output),
        default_step_timeout: child.default_step_timeout.or(parent.default_step_timeout),
        secrets: merge_with(child.secrets, parent.secrets, merge_secrets),
        env: child.env.or(parent.env),
        budget: child.budget.or(parent.budget),
        permissions: child.permissions.or(parent.permissions),
        steps: merge_with(child.steps, parent.steps, merge_steps),
    }
}

fn merge_with<T>(child: Optional<T>, parent: Optional<T>, merge: fn(T, T) -> T) -> Optional<T> {
    match (child, parent) {
        (Some(child), Some(parent)) => Some(Box::new(Spanned {
            value: merge(child.value, parent.value),
            place: child.place,
            scalar: child.scalar,
        })),
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

/// A recipe that adds a secret keeps the secrets of its parent.
fn merge_secrets(child: Vec<Spanned<String>>, parent: Vec<Spanned<String>>) -> Vec<Spanned<String>> {
    let is_new = |name: &Spanned<String>| child.iter().all(|known| known.value != name.value);
    let kept: Vec<Spanned<String>> = parent.into_iter().filter(is_new).collect();
    child.iter().cloned().chain(kept).collect()
}

fn merge_hooks(child: HooksSyntax, parent: HooksSyntax) -> HooksSyntax {
    HooksSyntax {
        place: child.place,
        unread: child.unread,
        blank: child.blank,
        pre_step: child.pre_step.or(parent.pre_step),
        post_step: child.post_step.or(parent.post_step),
        on_error: child.on_error.or(parent.on_error),
    }
}

type Steps = Vec<Spanned<WithDigest<StepSyntax>>>;

fn merge_steps(child: Steps, parent: Steps) -> Steps {
    let mut inherited = index_ids(&parent);
    let mut merged = parent;
    for step in child {
        // an inherited step is replaced once: another step with its id is a duplicate
        let replaced = step.value.shape.id.as_ref().and_then(|id| inherited.remove(&id.value));
        match replaced {
            Some(at) => merged[at] = step,
            None => merged.push(step),
        }
    }
    merged
}
