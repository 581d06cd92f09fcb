//! Conditions as they are written: read, their names noted, their mistakes reported.

use super::{
    Checker,
    names::{NameUse, UsedIn},
    unit::UnitScope,
};
use crate::{
    condition::{Condition, ConditionError, ConditionErrorKind},
    diagnostic::{Code, Diagnostic},
    syntax::shape::Spanned,
    template::Template,
};

impl Checker<'_> {
    /// A condition; reported if it cannot be read, its names noted.
    pub(super) fn expression(
        &mut self,
        text: &Spanned<String>,
        at: UsedIn,
        scope: &UnitScope,
    ) -> Option<Condition> {
        match Condition::parse(&text.value) {
            Ok(condition) => {
                let mut seen = std::collections::HashSet::new();
                for (path, range) in condition.names() {
                    // one report about a name is enough for one text
                    if !seen.insert(path.clone()) {
                        continue;
                    }
                    let place = text.place_of(range);
                    self.name_facts[scope.id.0 as usize].uses.push(NameUse { path, place, at });
                }
                self.quoted_templates(&condition, text);
                Some(condition)
            }
            Err(errors) => {
                self.diagnostics.extend(errors.into_iter().map(|error| condition_problem(error, text)));
                None
            }
        }
    }

    /// Warns about `'{{x}}' == 'a'`: conditions read names, and leave texts as they are.
    fn quoted_templates(&mut self, condition: &Condition, written: &Spanned<String>) {
        for (text, at) in condition.texts() {
            let template = Template::parse(text).ok();
            let Some((path, _)) = template.as_ref().and_then(|template| template.names().into_iter().next())
            else {
                continue;
            };
            let message = format!("`{{{{{path}}}}}` is not filled in: text in a condition is not rendered");
            self.diagnostics.push(
                Diagnostic::new(Code::TemplateInCondition, written.place_of(at), message)
                    .label("compared literally")
                    .help(format!("write the name alone, without quotes and braces: `{path}`")),
            );
        }
    }
}

fn condition_problem(error: ConditionError, text: &Spanned<String>) -> Diagnostic {
    let code = match error.kind {
        ConditionErrorKind::Syntax => Code::ConditionSyntax,
        ConditionErrorKind::UnknownFunction => Code::UnknownFunction,
        ConditionErrorKind::UnknownMethod => Code::UnknownMethod,
        ConditionErrorKind::WrongArguments => Code::WrongArguments,
        ConditionErrorKind::ForbiddenName => Code::ForbiddenName,
    };
    let mut problem = Diagnostic::new(code, text.place_of(error.at), error.message);
    problem.help = error.help;
    problem
}
