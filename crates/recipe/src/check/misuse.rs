//! Templates that a command takes for code or for names: a warning, because no quoting helps there.
//!
//! Never refuses a recipe for it: the author may mean it.

use crate::{
    diagnostic::{Code, Diagnostic},
    shell::{Misuse, MisuseKind, Piece, misuses},
    source::Place,
    syntax::shape::Spanned,
    template::Template,
};

use super::Checker;

impl Checker<'_> {
    /// Warns about the templates of a command that are not taken for values.
    pub(super) fn warn_of_misuse(&mut self, written: &Spanned<String>, command: &Template) {
        let names = command.names();
        let mut pieces = Vec::new();
        let mut at = 0;
        for (number, (_, range)) in names.iter().enumerate() {
            pieces.push(Piece::Text(&command.text()[at..range.start]));
            // both branches of a condition are looked at, one after the other
            if !command.text()[range.clone()].trim_start_matches('{').trim_start().starts_with('#') {
                pieces.push(Piece::Hole(number));
            }
            at = range.end;
        }
        pieces.push(Piece::Text(&command.text()[at..]));
        for misuse in misuses(&pieces) {
            let (path, range) = &names[misuse.hole];
            let place = written.place_of(range.clone());
            self.diagnostics.push(describe(&misuse, &path.to_string(), place));
        }
    }
}

fn describe(misuse: &Misuse, name: &str, place: Place) -> Diagnostic {
    let by = &misuse.by;
    let variable = crate::env_name::variable(name).unwrap_or_else(|| format!("RECIPE_VAR_{name}"));
    let (taken_for, label, help) = match misuse.kind {
        MisuseKind::Code if by == "eval" => (
            "code and executes it",
            "becomes program text",
            "write the command without `eval`: a template is one word, whatever it contains".to_owned(),
        ),
        MisuseKind::Code => (
            "code and executes it",
            "becomes program text",
            format!("write `\"${variable}\"` between single quotes: the shell reads the variable then"),
        ),
        MisuseKind::Name => (
            "the name of a variable",
            "a subscript in it is executed",
            "use a fixed name, and keep the value in it or beside it".to_owned(),
        ),
    };
    let message = format!("`{by}` takes the value of `{{{{{name}}}}}` for {taken_for}");
    Diagnostic::new(Code::ValueAsCode, place, message).label(label).help(help)
}
