//! The walk through a command: quotes, expansions and holes.
//!
//! Keeps a stack of open constructs instead of recursing, so that nesting costs no stack. Never goes
//! back: each symbol is read once, apart from a bounded look ahead.

use super::{
    Quoting, Symbol,
    facts::{FoundHole, ScanFacts},
    frame::{ArithmeticClose, Command, ConstructKind, ListShape, OpenConstruct, OuterQuoting, Outlet},
    heredoc::Heredoc,
    output::ScriptText,
};

/// Constructs open at once beyond which the scanner gives up on telling contexts apart.
const MAX_FRAMES: usize = 2_000;

/// How a reference is written.
#[derive(Clone, Copy)]
pub(super) enum ReferenceStyle {
    /// In quotes of its own.
    Word,
    /// As it is, where quotes are open or do not matter.
    Plain,
    /// Between two single-quoted parts.
    Single,
    /// Between two `$'…'` parts.
    AnsiC,
}

pub(super) struct Scanner<'s, 'n, 'a> {
    pub(super) symbols: &'s [Symbol],
    pub(super) at: usize,
    pub(super) frames: Vec<OpenConstruct>,
    /// The heredocs whose text is still to come, one list for each text that bash parses on its own.
    pub(super) pending: Vec<Vec<Heredoc>>,
    pub(super) out: ScriptText,
    pub(super) facts: &'n mut ScanFacts<'a>,
}

impl<'s, 'n, 'a> Scanner<'s, 'n, 'a> {
    pub(super) fn script(symbols: &'s [Symbol], output: Outlet, facts: &'n mut ScanFacts<'a>) -> Self {
        let holes = facts.holes.len();
        let kind =
            ConstructKind::Command(Box::new(Command { output, holes, ..Command::new(ListShape::Script) }));
        Scanner::start(symbols, 0, kind, ScriptText::default(), facts)
    }

    pub(super) fn start(
        symbols: &'s [Symbol],
        at: usize,
        kind: ConstructKind,
        out: ScriptText,
        facts: &'n mut ScanFacts<'a>,
    ) -> Self {
        let frame = OpenConstruct { kind, owner: facts.new_owner(), arithmetic: false };
        Scanner { symbols, at, frames: vec![frame], pending: vec![Vec::new()], out, facts }
    }

    pub(super) fn finish(self) -> String {
        self.run().finish()
    }

    /// Reads everything and returns the written script.
    pub(super) fn run(mut self) -> ScriptText {
        while let Some(symbol) = self.peek(0) {
            self.step(symbol);
        }
        while !self.frames.is_empty() {
            self.finish_word();
            self.finish_command();
            self.frames.pop();
        }
        self.out
    }

    fn step(&mut self, symbol: Symbol) {
        if self.facts.lost {
            return self.step_lost(symbol);
        }
        match self.frames.last().map(|frame| &frame.kind) {
            Some(ConstructKind::Command(_)) => self.step_command(symbol),
            Some(ConstructKind::Double) => self.step_quoted(symbol, OuterQuoting::Double),
            Some(ConstructKind::Heredoc) => self.step_quoted(symbol, OuterQuoting::Heredoc),
            Some(ConstructKind::Parameter(_)) => self.step_parameter(symbol),
            Some(ConstructKind::Arithmetic { .. }) => self.step_arithmetic(symbol),
            Some(ConstructKind::Subscript { .. }) => self.step_subscript(symbol),
            Some(ConstructKind::Pattern) => self.step_pattern(symbol),
            None => self.step_lost(symbol),
        }
    }

    fn step_lost(&mut self, symbol: Symbol) {
        self.at += 1;
        match symbol {
            Symbol::Char(c) => self.out.push(c),
            Symbol::Hole(number) => self.write(number, ReferenceStyle::Plain, Quoting::Arithmetic),
        }
    }

    // Reading.

    pub(super) fn peek(&self, ahead: usize) -> Option<Symbol> {
        self.symbols.get(self.at + ahead).copied()
    }

    pub(super) fn peek_char(&self, ahead: usize) -> Option<char> {
        match self.peek(ahead) {
            Some(Symbol::Char(c)) => Some(c),
            _ => None,
        }
    }

    /// How far away the symbol is that comes `count` after this one: bash drops a backslash before the end of a line,
    /// also in the middle of an operator.
    pub(super) fn distance(&self, count: usize) -> usize {
        let mut distance = 0;
        for _ in 0..count {
            distance += 1;
            while (self.peek_char(distance), self.peek_char(distance + 1)) == (Some('\\'), Some('\n')) {
                distance += 2;
            }
        }
        distance
    }

    /// The symbol that comes `count` after this one.
    pub(super) fn following(&self, count: usize) -> Option<Symbol> {
        self.peek(self.distance(count))
    }

    /// Whether the character `c` comes `count` after this symbol.
    pub(super) fn is_followed(&self, count: usize, c: char) -> bool {
        self.following(count) == Some(Symbol::Char(c))
    }

    /// Copies an operator of `length` characters.
    pub(super) fn copy_operator(&mut self, length: usize) {
        let distance = self.distance(length - 1);
        self.copy(distance + 1);
    }

    /// Copies the next `count` characters.
    pub(super) fn copy(&mut self, count: usize) {
        for _ in 0..count {
            if let Some(c) = self.peek_char(0) {
                self.out.push(c);
                self.at += 1;
            }
        }
    }

    // Frames.

    /// Opens a construct in which the holes still belong to the word around it.
    pub(super) fn push_inner(&mut self, kind: ConstructKind) {
        let Outlet { owner, arithmetic } = self.outlet();
        self.push(OpenConstruct { kind, owner, arithmetic });
    }

    /// Where the output of a substitution goes that opens here.
    pub(super) fn outlet(&self) -> Outlet {
        let outlet = |frame: &OpenConstruct| Outlet { owner: frame.owner, arithmetic: frame.arithmetic };
        self.frames.last().map(outlet).unwrap_or_default()
    }

    /// Opens a separate list of words.
    pub(super) fn push_command(&mut self, shape: ListShape, output: Outlet) {
        let owner = self.facts.new_owner();
        if shape == ListShape::Substitution {
            self.pending.push(Vec::new());
        }
        let (holes, known) = (self.facts.holes.len(), self.facts.known());
        let kind = ConstructKind::Command(Box::new(Command { output, holes, known, ..Command::new(shape) }));
        self.push(OpenConstruct { kind, owner, arithmetic: false });
    }

    pub(super) fn push_arithmetic(&mut self, close: ArithmeticClose) {
        let owner = self.facts.new_owner();
        self.push(OpenConstruct {
            kind: ConstructKind::Arithmetic { close, depth: 0, quote: None },
            owner,
            arithmetic: true,
        });
    }

    fn push(&mut self, frame: OpenConstruct) {
        if self.frames.len() >= MAX_FRAMES {
            self.facts.lost = true;
        } else {
            self.frames.push(frame);
        }
    }

    pub(super) fn command(&mut self) -> Option<&mut Command> {
        match self.frames.last_mut().map(|frame| &mut frame.kind) {
            Some(ConstructKind::Command(command)) => Some(command),
            _ => None,
        }
    }

    // Holes.

    /// Writes a reference to a hole; the construct around it decides whether it is arithmetic.
    pub(super) fn hole(&mut self, number: usize, style: ReferenceStyle, quoting: Quoting) {
        let evaluated = self.outlet().arithmetic;
        self.write(number, style, if evaluated { Quoting::Arithmetic } else { quoting });
    }

    pub(super) fn write(&mut self, number: usize, style: ReferenceStyle, quoting: Quoting) {
        let name = self.facts.variable(number);
        let text = match style {
            ReferenceStyle::Word => format!("\"${{{name}}}\""),
            ReferenceStyle::Plain => format!("${{{name}}}"),
            ReferenceStyle::Single => format!("'\"${{{name}}}\"'"),
            ReferenceStyle::AnsiC => format!("'\"${{{name}}}\"$'"),
        };
        self.out.push_str(&text);
        self.note(number, quoting);
    }

    /// Remembers a hole.
    pub(super) fn note(&mut self, number: usize, quoting: Quoting) {
        let owner = self.outlet().owner;
        self.facts.holes.push(FoundHole { number, quoting, owner, printed_into: 0 });
    }

    // Quotes.

    /// One symbol inside double quotes or an unquoted heredoc.
    fn step_quoted(&mut self, symbol: Symbol, around: OuterQuoting) {
        match symbol {
            Symbol::Char('"') if around == OuterQuoting::Double => {
                self.copy(1);
                self.frames.pop();
            }
            Symbol::Char('\\') => self.quoted_backslash(),
            Symbol::Char('$') => self.dollar(around),
            Symbol::Char('`') => self.backticks(around),
            Symbol::Char(_) => self.copy(1),
            Symbol::Hole(number) => {
                self.at += 1;
                self.hole(number, ReferenceStyle::Plain, quoting_of(around));
            }
        }
    }

    /// A backslash that is kept before most characters: before a hole it is a plain backslash.
    pub(super) fn quoted_backslash(&mut self) {
        match self.peek(1) {
            Some(Symbol::Hole(_)) => {
                self.out.push_str("\\\\");
                self.at += 1;
            }
            _ => self.copy(2),
        }
    }

    /// A backslash where it quotes the next character: a hole needs no more quoting.
    pub(super) fn bare_backslash(&mut self) {
        match self.peek(1) {
            Some(Symbol::Hole(_)) => self.at += 1,
            _ => self.copy(2),
        }
    }

    /// `'…'`, from its opening quote on.
    pub(super) fn single(&mut self) {
        self.copy(1);
        while let Some(symbol) = self.peek(0) {
            match symbol {
                Symbol::Char('\'') => return self.copy(1),
                Symbol::Char(_) => self.copy(1),
                Symbol::Hole(number) => {
                    self.at += 1;
                    self.hole(number, ReferenceStyle::Single, Quoting::Single);
                }
            }
        }
    }

    /// `$'…'`, from the dollar sign on.
    pub(super) fn ansi_c(&mut self) {
        self.copy(2);
        while let Some(symbol) = self.peek(0) {
            match symbol {
                Symbol::Char('\'') => return self.copy(1),
                Symbol::Char('\\') => self.quoted_backslash(),
                Symbol::Char(_) => self.copy(1),
                Symbol::Hole(number) => {
                    self.at += 1;
                    self.hole(number, ReferenceStyle::AnsiC, Quoting::AnsiC);
                }
            }
        }
    }

    /// Reads quotes and expansions in unquoted text; false if `c` starts neither.
    pub(super) fn unquoted(&mut self, c: char) -> bool {
        match c {
            '\\' => self.bare_backslash(),
            '\'' => self.single(),
            '"' => {
                self.copy(1);
                self.push_inner(ConstructKind::Double);
            }
            '$' => self.dollar(OuterQuoting::Unquoted),
            '`' => self.backticks(OuterQuoting::Unquoted),
            _ => return false,
        }
        true
    }
}

pub(super) fn quoting_of(around: OuterQuoting) -> Quoting {
    match around {
        OuterQuoting::Unquoted => Quoting::Bare,
        OuterQuoting::Double => Quoting::Double,
        OuterQuoting::Heredoc => Quoting::Heredoc,
    }
}
