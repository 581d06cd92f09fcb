//! Commands of several lines of which only the last one decides whether the step fails.

use super::{Checker, kind::effective_type};
use crate::{
    diagnostic::{Code, Diagnostic},
    shell::syntax,
    syntax::{RecipeSyntax, StepType},
};

impl Checker<'_> {
    /// Notes the first command of a recipe that ignores the failures of its earlier lines, unless `shell` is set.
    pub(super) fn note_ignored_lines(&mut self, recipe: &RecipeSyntax) {
        if recipe.shell.is_some() || recipe.unread.contains(&"shell") {
            return;
        }
        let steps = recipe.steps.iter().flat_map(|steps| &steps.value).map(|step| &step.value.shape);
        let own = steps.filter(|step| step.shell.is_none() && effective_type(step) == StepType::Bash);
        let mut commands = own.filter_map(|step| step.command.as_deref());
        let Some(command) = commands.find(|command| ignores_lines(&command.value)) else { return };
        let message = "only the last line of this command decides whether the step fails";
        self.diagnostics.push(
            Diagnostic::new(Code::IgnoredLines, command.place.first_character(), message)
                .help("write `shell: strict` at the top of the recipe, so that the first failure ends a command; `shell: bash` keeps it as it is"),
        );
    }
}

/// Whether a command has several lines and continues after a failed one.
fn ignores_lines(command: &str) -> bool {
    command.trim().contains('\n')
        && !command.lines().any(sets_errexit)
        && syntax::parse(command).is_some_and(|list| list.entries.len() > 1)
}

/// Whether a line is `set -e`, in any of its forms.
fn sets_errexit(line: &str) -> bool {
    let is_option = |word: &str| word.starts_with('-') && word.contains('e') || word == "errexit";
    let mut words = line.trim_start().split(|c: char| c.is_whitespace() || c == ';');
    words.next() == Some("set") && words.any(is_option)
}
