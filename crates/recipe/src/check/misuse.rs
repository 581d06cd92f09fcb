//! Templates that a command takes for code or for names: a warning, because no quoting helps there.
//!
//! Never refuses a recipe for it: the author may mean it.

use crate::{
    diagnostic::{Code, Diagnostic},
    shell::{Misuse, Piece, Taken, misuses},
    syntax::shape::Spanned,
    template::Template,
};

use super::Checker;

impl Checker<'_> {
    /// Warns about the templates of a command that are not taken for values.
    pub(super) fn warn_of_misuse(&mut self, written: &Spanned<String>, command: &Template) {
        let names = command.names();
        if names.is_empty() {
            return;
        }
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
            let problem = describe(&misuse, &path.to_string());
            self.diagnostics.push(Diagnostic { place: Some(written.place_of(range.clone())), ..problem });
        }
    }
}

fn describe(misuse: &Misuse, name: &str) -> Diagnostic {
    let by = &misuse.by;
    let problem = Diagnostic {
        severity: Code::ValueAsCode.severity(),
        code: Code::ValueAsCode,
        message: String::new(),
        place: None,
        label: String::new(),
        help: None,
    };
    let variable = crate::env_name::variable(name).unwrap_or_else(|| format!("RECIPE_VAR_{name}"));
    match misuse.taken {
        Taken::Code => Diagnostic {
            message: format!("`{by}` takes the value of `{{{{{name}}}}}` for code and executes it"),
            label: "becomes program text".to_owned(),
            help: Some(match by.as_str() {
                "eval" => "write the command without `eval`: a template is one word, whatever it contains"
                    .to_owned(),
                _ => format!(
                    "write `\"${variable}\"` between single quotes: the shell reads the variable then"
                ),
            }),
            ..problem
        },
        Taken::Name => Diagnostic {
            message: format!("`{by}` takes the value of `{{{{{name}}}}}` for the name of a variable"),
            label: "a subscript in it is executed".to_owned(),
            help: Some("use a fixed name, and keep the value in it or beside it".to_owned()),
            ..problem
        },
    }
}
