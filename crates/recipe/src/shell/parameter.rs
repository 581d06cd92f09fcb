//! `${…}`: which part of it a place belongs to, and how that part is quoted.
//!
//! Never expands anything.

use super::{
    Quoting, Symbol,
    frame::{Around, Kind, Parameter, Part},
    scanner::{Scanner, Style, quoting_of},
};

impl Scanner<'_, '_, '_> {
    pub(super) fn step_parameter(&mut self, symbol: Symbol) {
        let Some(Parameter { around, part, .. }) = self.parameter() else { return };
        let (around, part) = (*around, *part);
        match (symbol, part) {
            (Symbol::Hole(number), _) => self.parameter_hole(number, around, part),
            (Symbol::Char('}'), Part::Name | Part::Word | Part::Pattern | Part::Offset) => {
                self.copy(1);
                self.frames.pop();
            }
            (Symbol::Char(c), Part::Name) => self.parameter_name(c),
            (Symbol::Char(c), Part::Subscript(depth)) => self.parameter_subscript(c, depth),
            (Symbol::Char(c), Part::Word) if around != Around::Unquoted => self.quoted_word(c, around),
            (Symbol::Char('<' | '>'), Part::Word | Part::Pattern) if self.is_followed(1, '(') => {
                self.process_substitution();
            }
            (Symbol::Char(c), _) => {
                if !self.unquoted(c) {
                    self.copy(1);
                }
            }
        }
    }

    fn parameter(&mut self) -> Option<&mut Parameter> {
        match self.frames.last_mut().map(|frame| &mut frame.kind) {
            Some(Kind::Parameter(parameter)) => Some(parameter),
            _ => None,
        }
    }

    /// Goes on with `part`, which may be evaluated as arithmetic where the whole is not.
    fn enter(&mut self, part: Part, arithmetic: Option<Quoting>) {
        let Some(frame) = self.frames.last_mut() else { return };
        if let Kind::Parameter(parameter) = &mut frame.kind {
            parameter.part = part;
            frame.arithmetic = arithmetic.is_some() || parameter.inherited;
        }
    }

    fn parameter_hole(&mut self, number: usize, around: Around, part: Part) {
        self.at += 1;
        match part {
            Part::Name => self.hole(number, Style::Plain, Quoting::Name),
            Part::Word if around != Around::Unquoted => self.hole(number, Style::Plain, quoting_of(around)),
            Part::Offset => self.hole(number, Style::Plain, Quoting::Arithmetic),
            Part::Word | Part::Pattern | Part::Subscript(_) => {
                self.hole(number, Style::Word, Quoting::Bare);
            }
        }
    }

    fn parameter_name(&mut self, c: char) {
        let follows = self.peek_char(1);
        let Some(parameter) = self.parameter() else { return };
        let named = !matches!(parameter.name.as_str(), "" | "#" | "!");
        let prefix = parameter.name.is_empty() && matches!(c, '#' | '!');
        if prefix || c.is_ascii_alphanumeric() || c == '_' || (!named && "@*?$-!#".contains(c)) {
            parameter.name.push(c);
            return self.copy(1);
        }
        match c {
            '[' => self.enter_subscript(),
            '=' => self.enter_assigned(),
            ':' if follows == Some('=') => self.enter_assigned(),
            ':' if matches!(follows, Some('-' | '?' | '+')) => self.enter(Part::Word, None),
            ':' => self.enter(Part::Offset, Some(Quoting::Arithmetic)),
            '-' | '?' | '+' => self.enter(Part::Word, None),
            '#' | '%' | '/' | '^' | ',' => self.enter(Part::Pattern, None),
            _ => {}
        }
        self.copy(1);
    }

    /// The name without its prefix.
    fn parameter_variable(&mut self) -> String {
        let name = self.parameter().map(|parameter| parameter.name.trim_start_matches(['#', '!']).to_owned());
        name.unwrap_or_default()
    }

    fn enter_subscript(&mut self) {
        let name = self.parameter_variable();
        let keys = self.notes.is_associative(&name);
        self.enter(Part::Subscript(0), (!keys).then_some(Quoting::Arithmetic));
    }

    /// The value that `${x:=…}` assigns.
    fn enter_assigned(&mut self) {
        let name = self.parameter_variable();
        self.enter(Part::Word, self.notes.is_integer(&name).then_some(Quoting::Arithmetic));
    }

    fn parameter_subscript(&mut self, c: char, depth: usize) {
        if self.unquoted(c) {
            return;
        }
        match c {
            '[' => self.set_part(Part::Subscript(depth + 1)),
            ']' if depth > 0 => self.set_part(Part::Subscript(depth - 1)),
            ']' => self.enter(Part::Name, None),
            _ => {}
        }
        self.copy(1);
    }

    fn set_part(&mut self, part: Part) {
        if let Some(parameter) = self.parameter() {
            parameter.part = part;
        }
    }

    /// The word of an expansion inside double quotes or a heredoc: single quotes mean nothing.
    fn quoted_word(&mut self, c: char, around: Around) {
        match c {
            '\\' => self.quoted_backslash(),
            '$' => self.dollar(around),
            // in here `\"` keeps its backslash
            '`' => self.backticks(Around::Unquoted),
            '"' => {
                self.copy(1);
                self.push_inner(Kind::Double);
            }
            _ => self.copy(1),
        }
    }
}
