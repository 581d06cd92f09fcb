//! Expectations: matchers with their places.

use super::Reader;
use crate::{
    diagnostic::{Code, Diagnostic},
    source::Place,
    syntax::{
        Texts,
        kinds::Named,
        shape::{Optional, Spanned},
    },
    test_file::{
        CommandsExpected, Expectations, Expected, Matcher, MatcherWords, PathExpected, StepPattern,
        syntax::{ExpectSyntax, MatcherSyntax, MatcherWordsSyntax},
    },
    value::Value,
};

impl Reader {
    pub(super) fn expectations(
        &mut self,
        syntax: Option<&Spanned<ExpectSyntax>>,
        case: Place,
    ) -> Expectations {
        let Some(spanned) = syntax else {
            return Expectations { place: Some(case), ..Expectations::default() };
        };
        let syntax = &spanned.value;
        Expectations {
            exit: self.expected(&syntax.exit),
            status: self.expected(&syntax.status),
            outcome: self.expected(&syntax.outcome),
            goal: self.expected(&syntax.goal),
            steps: self.paths(&syntax.steps),
            values: self.named(&syntax.values),
            output: self.expected(&syntax.output),
            error: self.expected(&syntax.error),
            diagnosis: self.expected(&syntax.diagnosis),
            order: patterns(&syntax.order),
            never: patterns(&syntax.never),
            calls: self.paths(&syntax.calls),
            commands: syntax.commands.as_deref().map_or_else(CommandsExpected::default, |commands| {
                CommandsExpected {
                    never: placed(&commands.value.never),
                    contains: placed(&commands.value.contains),
                    length: self.expected(&commands.value.length),
                }
            }),
            prompts: self.paths(&syntax.prompts),
            files: self.file_contents(&syntax.files),
            changed: self.expected(&syntax.changed),
            snapshot: syntax.snapshot.as_deref().filter(|wanted| wanted.value).map(|wanted| wanted.place),
            place: Some(spanned.place.first_character()),
        }
    }

    fn expected(&mut self, field: &Optional<MatcherSyntax>) -> Option<Expected> {
        field.as_deref().map(|spanned| self.one(spanned))
    }

    fn one(&mut self, spanned: &Spanned<MatcherSyntax>) -> Expected {
        Expected { matcher: self.matcher(&spanned.value), place: shown(spanned) }
    }

    fn paths(&mut self, field: &Optional<Named<MatcherSyntax>>) -> Vec<PathExpected> {
        let mut found = Vec::new();
        for (path, expected) in field.iter().flat_map(|named| &named.value.0) {
            if matches!(expected.value, MatcherSyntax::Equals(Value::Null)) {
                continue;
            }
            let expected = Expected { place: path.place, ..self.one(expected) };
            found.push(PathExpected { path: StepPattern::new(&path.value), expected });
        }
        found
    }

    fn named(&mut self, field: &Optional<Named<MatcherSyntax>>) -> Vec<(String, Expected)> {
        let mut found = Vec::new();
        for (name, expected) in field.iter().flat_map(|named| &named.value.0) {
            found.push((name.value.clone(), Expected { place: name.place, ..self.one(expected) }));
        }
        found
    }

    /// `null` means that there is no such file, as it does where files are written.
    fn file_contents(&mut self, field: &Optional<Named<MatcherSyntax>>) -> Vec<(String, Expected)> {
        for (path, _) in field.iter().flat_map(|named| &named.value.0) {
            self.relative(Some(path));
        }
        let mut found = self.named(field);
        for (_, expected) in &mut found {
            if expected.matcher == Matcher::Equals(Value::Null) {
                let words = MatcherWords { absent: Some(true), ..MatcherWords::default() };
                expected.matcher = Matcher::Words(Box::new(words));
            }
        }
        found
    }

    fn matcher(&mut self, syntax: &MatcherSyntax) -> Matcher {
        match syntax {
            MatcherSyntax::Equals(value) => Matcher::Equals(value.clone()),
            MatcherSyntax::Words(words) => Matcher::Words(Box::new(self.words(words))),
        }
    }

    fn words(&mut self, syntax: &MatcherWordsSyntax) -> MatcherWords {
        let pattern = syntax.matches.as_deref();
        if let Some((pattern, error)) =
            pattern.and_then(|text| Some((text, regex::Regex::new(&text.value).err()?)))
        {
            let message =
                format!("`{}` is not a regular expression", crate::diagnostic::shorten(&pattern.value));
            let reason = error.to_string().lines().last().unwrap_or_default().trim().to_owned();
            self.report(Diagnostic::new(Code::BadRegex, pattern.place, message).label(reason));
        }
        let words = MatcherWords {
            contains: syntax.contains.as_deref().map(|value| value.value.clone()),
            matches: pattern.map(|text| text.value.clone()),
            absent: syntax.absent.as_deref().map(|absent| absent.value),
            one_of: syntax
                .one_of
                .as_deref()
                .map(|list| list.value.iter().map(|value| value.value.clone()).collect()),
            length: syntax.length.as_deref().map(|length| self.matcher(&length.value)),
            not: syntax.not.as_deref().map(|not| self.matcher(&not.value)),
        };
        if words == MatcherWords::default() && syntax.unread.is_empty() {
            let problem =
                Diagnostic::new(Code::EmptyField, syntax.place.first_character(), "a matcher has no word");
            let help = "write `contains`, `matches`, `absent`, `one_of`, `length` or `not`; a map is compared with `contains: {…}`";
            self.report(problem.label("nothing is expected").help(help));
        }
        words
    }
}

/// The place to show: a value, or the first character of a map.
fn shown(spanned: &Spanned<MatcherSyntax>) -> Place {
    match spanned.scalar {
        Some(_) => spanned.place,
        None => spanned.place.first_character(),
    }
}

fn placed(field: &Optional<Texts>) -> Vec<(String, Place)> {
    field.iter().flat_map(|list| &list.value).map(|text| (text.value.clone(), text.place)).collect()
}

fn patterns(field: &Optional<Texts>) -> Vec<(StepPattern, Place)> {
    placed(field).into_iter().map(|(text, place)| (StepPattern::new(&text), place)).collect()
}
