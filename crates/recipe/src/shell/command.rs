//! Lists of commands: words, operators, redirections and comments.
//!
//! Follows the grammar of bash as far as quoting depends on it, and never checks it.

use super::{
    Quoting, Symbol,
    frame::{ArithmeticClose, Builtin, ConstructKind, ListShape, Outlet, Position, Redirect, SubscriptKind},
    scanner::{ReferenceStyle, Scanner},
    word::{array_name, is_identifier, precedes_command},
};

impl Scanner<'_, '_, '_> {
    pub(super) fn step_command(&mut self, symbol: Symbol) {
        match symbol {
            Symbol::Hole(number) => {
                self.begin_quoted();
                self.at += 1;
                self.hole(number, ReferenceStyle::Word, Quoting::Bare);
            }
            Symbol::Char(' ' | '\t') => {
                self.finish_word();
                self.copy(1);
            }
            Symbol::Char('\n') => self.newline(),
            Symbol::Char('\\') if self.peek_char(1) == Some('\n') => self.copy(2),
            Symbol::Char('#') if !self.in_word() => self.comment(),
            Symbol::Char('[') if self.opens_subscript() => self.subscript(),
            Symbol::Char('<' | '>') if self.is_followed(1, '(') => {
                self.begin_quoted();
                self.process_substitution();
            }
            Symbol::Char(c @ (';' | '&' | '|' | '<' | '>' | '(' | ')')) => self.operator(c),
            Symbol::Char('\\' | '\'' | '"' | '$' | '`') => self.quoted_part(symbol),
            Symbol::Char(c) => self.word_char(c),
        }
    }

    pub(super) fn process_substitution(&mut self) {
        self.copy_operator(2);
        self.push_command(ListShape::Substitution, Outlet::default());
    }

    // Words.

    pub(super) fn in_word(&mut self) -> bool {
        self.command().is_some_and(|command| command.word.started)
    }

    fn begin(&mut self) {
        let (start, holes) = (self.at, self.facts.holes.len());
        let begins = self.begins_with_hole();
        let Some(command) = self.command() else { return };
        if command.word.started {
            return;
        }
        command.word.started = true;
        (command.word.start, command.word.holes) = (start, holes);
        if begins && command.evaluates_options() {
            self.out.push_str("-- ");
        }
    }

    /// Whether a hole comes first, also if it is quoted.
    fn begins_with_hole(&self) -> bool {
        let rest = self.symbols.get(self.at..).unwrap_or_default();
        let quotes = |symbol: &&Symbol| matches!(symbol, Symbol::Char('\\' | '$' | '"' | '\''));
        let first = rest.iter().take(3).find(|symbol| !quotes(symbol));
        matches!(first, Some(Symbol::Hole(_)))
    }

    fn begin_quoted(&mut self) {
        self.begin();
        if let Some(command) = self.command() {
            command.word.quoted = true;
        }
    }

    fn quoted_part(&mut self, symbol: Symbol) {
        self.begin_quoted();
        if let Symbol::Char(c) = symbol {
            self.unquoted(c);
        }
    }

    fn word_char(&mut self, c: char) {
        self.begin();
        self.copy(1);
        if let Some(command) = self.command() {
            command.word.text.push(c);
        }
    }

    fn comment(&mut self) {
        while let Some(symbol) = self.peek(0) {
            match symbol {
                Symbol::Char('\n') => return,
                Symbol::Char(_) => self.copy(1),
                Symbol::Hole(number) => {
                    self.at += 1;
                    self.write(number, ReferenceStyle::Plain, Quoting::Comment);
                }
            }
        }
    }

    /// Whether a bracket here opens the subscript of an assignment.
    fn opens_subscript(&mut self) -> bool {
        self.command().is_some_and(|command| match (command.shape, command.position) {
            (ListShape::Array(_), _) => !command.word.started,
            (ListShape::Condition, _) => false,
            (_, Position::Command | Position::Assigned) => {
                !command.word.quoted && is_identifier(&command.word.text)
            }
            _ => false,
        })
    }

    fn subscript(&mut self) {
        let holes = self.facts.holes.len();
        let textual = match self.command() {
            Some(command) => match command.shape {
                ListShape::Array(textual) => textual,
                _ => {
                    let name = command.word.text.clone();
                    self.subscripts_of(&name)
                }
            },
            None => SubscriptKind::Numbers,
        };
        self.copy(1);
        self.push_inner(ConstructKind::Subscript { depth: 0, holes, textual });
    }

    /// The kind of subscripts of `name`, as far as it is declared.
    pub(super) fn subscripts_of(&mut self, name: &str) -> SubscriptKind {
        let declared = self.command().is_some_and(
            |command| matches!(command.builtin, Builtin::Declare(attributes) if attributes.associative),
        );
        if declared || self.facts.is_associative(name) { SubscriptKind::Keys } else { SubscriptKind::Numbers }
    }

    // Lines.

    fn newline(&mut self) {
        self.finish_word();
        self.finish_command();
        self.copy(1);
        if let Some(command) = self.command()
            && matches!(command.position, Position::Command | Position::Assigned | Position::Argument)
        {
            command.restart();
        }
        self.read_heredocs();
    }

    // Operators.

    fn operator(&mut self, c: char) {
        // `]]` needs no space after it: in `[[ … ]]; then` the condition ends before the semicolon
        if c != '(' && self.in_condition() {
            self.finish_word();
        }
        match c {
            _ if self.in_condition() => self.condition_operator(c),
            '(' => self.open(),
            ')' => self.close(),
            '<' | '>' => self.redirection(),
            '&' if self.is_followed(1, '>') => {
                self.finish_word();
                self.redirect(2, Redirect::File);
            }
            _ => self.separator(c),
        }
    }

    fn in_condition(&mut self) -> bool {
        self.command().is_some_and(|command| command.shape == ListShape::Condition)
    }

    fn condition_operator(&mut self, c: char) {
        let regex = self.command().is_some_and(|command| command.previous.text == "=~");
        if c == '(' && (regex || self.in_word()) {
            self.begin_quoted();
            self.copy(1);
            return self.push_inner(ConstructKind::Pattern);
        }
        self.copy(1);
    }

    /// `;`, `&`, `|` and operators that start with them.
    fn separator(&mut self, c: char) {
        self.finish_word();
        let next = self.following(1);
        if c == '|' && next != Some(Symbol::Char('|')) {
            self.pass_on();
        }
        self.finish_command();
        let ends_case = c == ';' && matches!(next, Some(Symbol::Char(';' | '&')));
        self.copy_operator(if ends_case { 2 } else { 1 });
        let Some(command) = self.command() else { return };
        let in_pattern = matches!(command.position, Position::Pattern | Position::FirstPattern);
        if ends_case {
            command.position = Position::FirstPattern;
            if next == Some(Symbol::Char(';')) && self.peek_char(0) == Some('&') {
                self.copy(1);
            }
        } else if !(in_pattern && c == '|') {
            command.restart();
        }
    }

    /// The output of this command is the input of another one.
    fn pass_on(&mut self) {
        let holes = self.facts.holes.len();
        if let Some(command) = self.command() {
            command.holes = holes;
        }
    }

    fn redirection(&mut self) {
        self.drop_descriptor();
        let [first, second, third] = [0, 1, 2].map(|count| match self.following(count) {
            Some(Symbol::Char(c)) => c,
            _ => ' ',
        });
        match (first, second, third) {
            ('<', '<', '<') => self.redirect(3, Redirect::Text),
            ('<', '<', _) => self.announce_heredoc(),
            ('<', '&' | '>', _) | ('>', '>' | '&' | '|', _) => self.redirect(2, Redirect::File),
            _ => self.redirect(1, Redirect::File),
        }
    }

    /// Ends the word before a redirection, unless it is the file descriptor: `2>` or `{fd}>`.
    fn drop_descriptor(&mut self) {
        let Some(command) = self.command() else { return };
        let word = &command.word;
        let variable = word.text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let number = word.text.bytes().all(|byte| byte.is_ascii_digit());
        let (element, holes) = (variable.is_some_and(|name| name.contains('[')), word.holes);
        if !word.quoted && (number || variable.is_some_and(is_identifier)) {
            command.word = Default::default();
        } else if element {
            command.word = Default::default();
            self.make_arithmetic(holes);
        } else {
            self.finish_word();
        }
    }

    fn redirect(&mut self, length: usize, redirect: Redirect) {
        self.copy_operator(length);
        if let Some(command) = self.command() {
            command.redirecting = Some(redirect);
        }
    }

    // Parentheses.

    fn open(&mut self) {
        if self.opens_arithmetic() {
            self.copy_operator(2);
            return self.push_arithmetic(ArithmeticClose::Parentheses);
        }
        let extended = self
            .at
            .checked_sub(1)
            .and_then(|at| self.symbols.get(at))
            .is_some_and(|symbol| matches!(symbol, Symbol::Char('@' | '!' | '?' | '*' | '+')));
        let empty = self.is_followed(1, ')');
        let Some(command) = self.command() else { return };
        let word = &command.word;
        // `f@()` is the name of a function, and a lone `!` a negation
        let no_pattern = command.position == Position::Command && (empty || word.text == "!");
        let in_pattern = matches!(command.position, Position::FirstPattern | Position::Pattern);
        if let Some(name) = array_name(&word.text).map(str::to_owned) {
            self.open_array(&name);
        } else if extended && !no_pattern {
            self.copy(1);
            self.push_inner(ConstructKind::Pattern);
        } else if in_pattern {
            command.position = Position::Pattern;
            self.copy(1);
        } else {
            self.finish_word();
            self.copy(1);
            let output = self.command().map(|command| command.output).unwrap_or_default();
            self.push_command(ListShape::Subshell, output);
        }
    }

    fn opens_arithmetic(&mut self) -> bool {
        let allowed = self.command().is_some_and(|command| {
            let word = &command.word;
            let reserved = word.text == "for" || precedes_command(&word.text);
            let starts = match command.position {
                Position::Command | Position::ForName | Position::Coproc => !word.started || reserved,
                Position::CoprocRest => true,
                _ => false,
            };
            starts && !matches!(command.shape, ListShape::Array(_))
        });
        if !(allowed && self.is_followed(1, '(') && self.closes_as_arithmetic(1)) {
            return false;
        }
        self.finish_word();
        if let Some(command) = self.command() {
            command.restart();
        }
        true
    }

    fn open_array(&mut self, name: &str) {
        let textual = self.subscripts_of(name);
        let integer = self.facts.is_integer(name);
        self.copy(1);
        self.push_command(ListShape::Array(textual), Outlet::default());
        if let Some(frame) = self.frames.last_mut() {
            frame.arithmetic = integer;
        }
    }

    fn close(&mut self) {
        self.finish_word();
        self.finish_command();
        self.copy(1);
        let Some(command) = self.command() else { return };
        if matches!(command.position, Position::FirstPattern | Position::Pattern) {
            return command.restart();
        }
        let (shape, known) = (command.shape, command.known);
        if shape == ListShape::Script {
            return;
        }
        self.frames.pop();
        match shape {
            ListShape::Subshell => {
                self.facts.forget(known);
                if let Some(command) = self.command() {
                    command.restart();
                }
            }
            ListShape::Substitution => {
                self.facts.forget(known);
                self.close_substitution();
            }
            _ => {}
        }
    }

    /// Heredocs without a text inside `$(…)` have it after their line.
    fn close_substitution(&mut self) {
        let open = self.pending.pop().unwrap_or_default();
        match self.pending.last_mut() {
            Some(outer) => outer.extend(open),
            None => self.pending.push(open),
        }
    }
}
