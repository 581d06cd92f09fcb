//! The `env` of a recipe.

use super::{
    Checker,
    names::UsedIn,
    step::is_env_name,
    unit::{bad_env_name, texts},
};
use crate::{
    diagnostic::{Code, Diagnostic},
    plan::{RecipeEnv, UnitId},
    syntax::{EnvironmentSyntax, RecipeSyntax, shape::Spanned},
};

impl Checker<'_> {
    /// The environment that a recipe asks for and gives; its mistakes are reported.
    pub(super) fn recipe_env(&mut self, recipe: &RecipeSyntax, unit: UnitId) -> RecipeEnv {
        let default_files = || vec![".env.local".to_owned(), ".env".to_owned()];
        let Some(env) = &recipe.env else {
            return RecipeEnv { files: default_files(), ..RecipeEnv::default() };
        };
        let fields = &env.value;
        if fields.required.is_none() && fields.files.is_none() && fields.set.is_none() {
            self.env_without_fields(env);
        }
        for name in fields.required.iter().flat_map(|names| &names.value) {
            if !is_env_name(&name.value) {
                self.diagnostics.push(bad_env_name(name));
            }
        }
        let mut set = Vec::new();
        for (name, value) in fields.set.iter().flat_map(|set| &set.value.0) {
            if !is_env_name(&name.value) {
                self.diagnostics.push(bad_env_name(name));
            }
            // the text is rendered for every step, with the values of that time
            let template = self.template(value, UsedIn::End, unit);
            set.extend(template.map(|template| (name.value.clone(), template)));
        }
        let files = fields.files.as_ref().map(|_| texts(&fields.files));
        RecipeEnv { required: texts(&fields.required), files: files.unwrap_or_else(default_files), set }
    }

    /// `env: {NAME: value}` is the form of a step: here it would set nothing.
    fn env_without_fields(&mut self, env: &Spanned<EnvironmentSyntax>) {
        if !env.value.unread.is_empty() {
            return;
        }
        let inside = |problem: &Diagnostic| {
            problem.place.is_some_and(|place| {
                place.file == env.place.file
                    && place.span.start >= env.place.span.start
                    && place.span.end <= env.place.span.end
            })
        };
        // one message is enough for all its variables
        self.diagnostics.retain(|problem| problem.code != Code::UnknownField || !inside(problem));
        let message = "`env` of a recipe has none of `required`, `files` and `set`";
        self.diagnostics.push(
            Diagnostic::new(Code::MissingField, env.place.first_character(), message)
                .label("sets nothing")
                .help("to set variables for all steps, write `env: {set: {NAME: value}}`")
                .recent(),
        );
    }
}
