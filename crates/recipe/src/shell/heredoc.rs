//! Heredocs: their delimiters, and their texts after the line that announces them.
//!
//! Never lets a value decide where a text ends: the end line is found before holes are filled.

use std::collections::HashSet;

use super::{
    Quoting, Symbol,
    frame::Kind,
    output::{Output, Slot},
    scanner::{Scanner, Style},
};

/// A heredoc that has been announced.
pub(super) struct Heredoc {
    delimiter: Vec<Symbol>,
    quoted: Quoted,
    tabs: Tabs,
    /// Where its delimiter has been written.
    slot: Slot,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoted {
    Yes,
    No,
}

/// What happens to the tabs at the start of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tabs {
    Kept,
    Stripped,
}

/// Where a text ends, where its end line ends, and the first symbol after that.
struct Extent {
    text: usize,
    line: usize,
    next: usize,
}

impl Scanner<'_, '_, '_> {
    /// `<<` or `<<-` and the delimiter.
    pub(super) fn announce_heredoc(&mut self) {
        self.copy(2);
        let tabs = if self.peek_char(0) == Some('-') { Tabs::Stripped } else { Tabs::Kept };
        self.copy(usize::from(tabs == Tabs::Stripped));
        while matches!(self.peek_char(0), Some(' ' | '\t')) {
            self.copy(1);
        }
        let mut written = Output::default();
        std::mem::swap(&mut self.out, &mut written);
        let start = self.at;
        let (delimiter, quoted) = self.read_delimiter();
        std::mem::swap(&mut self.out, &mut written);
        let slot = self.out.slot(written.finish());
        if let (true, Some(pending)) = (self.at > start, self.pending.last_mut()) {
            pending.push(Heredoc { delimiter, quoted, tabs, slot });
        }
    }

    /// Copies the delimiter's word, and gives it without its quotes.
    fn read_delimiter(&mut self) -> (Vec<Symbol>, Quoted) {
        let (mut delimiter, mut quoted, mut quote) = (Vec::new(), Quoted::No, None);
        while let Some(symbol) = self.peek(0) {
            match (symbol, quote) {
                (Symbol::Char(' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')'), None) => break,
                (Symbol::Char(c), Some(open)) if c == open => quote = None,
                (Symbol::Char(c @ ('\'' | '"')), None) => (quote, quoted) = (Some(c), Quoted::Yes),
                (Symbol::Char('$'), None) if matches!(self.peek_char(1), Some('\'' | '"')) => {}
                (Symbol::Char('\\'), None) => {
                    quoted = Quoted::Yes;
                    self.copy(1);
                    delimiter.extend(self.peek(0));
                }
                _ => delimiter.push(symbol),
            }
            self.copy_plain();
        }
        (delimiter, quoted)
    }

    /// Copies a symbol of a delimiter, which bash does not expand.
    fn copy_plain(&mut self) {
        match self.peek(0) {
            Some(Symbol::Hole(number)) => {
                self.at += 1;
                self.write(number, Style::Plain, Quoting::Delimiter);
            }
            _ => self.copy(1),
        }
    }

    /// Reads the texts of all heredocs that were announced on the line that has just ended.
    pub(super) fn read_heredocs(&mut self) {
        let announced = self.pending.last_mut().map(std::mem::take).unwrap_or_default();
        for heredoc in announced {
            let extent = self.extent(&heredoc);
            let text = self.symbols.get(self.at..extent.text).unwrap_or_default();
            let holes = text.iter().any(|symbol| matches!(symbol, Symbol::Hole(_)));
            match heredoc.quoted {
                Quoted::Yes if holes => self.rewrite_text(&heredoc, &extent),
                Quoted::Yes => {}
                Quoted::No => self.scan_text(&extent),
            }
            while self.at < extent.next {
                self.copy_plain();
            }
        }
    }

    /// Finds the end line as bash does: before anything is expanded.
    fn extent(&self, heredoc: &Heredoc) -> Extent {
        let mut start = self.at;
        let mut continued = false;
        while start < self.symbols.len() {
            let rest = self.symbols.get(start..).unwrap_or_default();
            let length = rest.iter().position(|symbol| *symbol == Symbol::Char('\n')).unwrap_or(rest.len());
            let line = rest.get(..length).unwrap_or_default();
            if !continued && let Some(used) = self.end_line(line, heredoc) {
                let whole = usize::from(used == length && length < rest.len());
                return Extent { text: start, line: start + used, next: start + used + whole };
            }
            continued = heredoc.quoted == Quoted::No && ends_in_backslash(line);
            start += length + 1;
        }
        let end = self.symbols.len();
        Extent { text: end, line: end, next: end }
    }

    /// How much of `line` is the end line of the heredoc; all of it, except directly before the
    /// parenthesis that closes a command substitution.
    fn end_line(&self, line: &[Symbol], heredoc: &Heredoc) -> Option<usize> {
        let stripped = match heredoc.tabs {
            Tabs::Stripped => without_tabs(line),
            Tabs::Kept => line,
        };
        let rest = stripped.strip_prefix(heredoc.delimiter.as_slice())?;
        let closes = self.pending.len() > 1 && rest.contains(&Symbol::Char(')'));
        (rest.is_empty() || closes).then_some(line.len() - rest.len())
    }

    /// The text of an unquoted heredoc, in which expansions count.
    fn scan_text(&mut self, extent: &Extent) {
        let text = self.symbols.get(..extent.text).unwrap_or_default();
        let out = std::mem::take(&mut self.out);
        let at = self.at;
        self.out = self.notes.nest(|notes| Scanner::start(text, at, Kind::Heredoc, out, notes).run());
        self.at = extent.text;
    }

    /// The text of a quoted heredoc with holes, and its end line, as those of an unquoted one: what
    /// the author wrote is escaped, so that the references are all that is expanded.
    fn rewrite_text(&mut self, heredoc: &Heredoc, extent: &Extent) {
        let symbols = self.symbols;
        let delimiter = plain_delimiter(heredoc, symbols.get(self.at..extent.text).unwrap_or_default());
        self.out.fill(heredoc.slot, delimiter.clone());
        while self.at < extent.text {
            match self.peek(0) {
                Some(Symbol::Hole(number)) => {
                    self.at += 1;
                    self.write(number, Style::Plain, Quoting::QuotedHeredoc);
                }
                Some(Symbol::Char('\\' | '$' | '`')) => {
                    self.out.push('\\');
                    self.copy(1);
                }
                _ => self.copy(1),
            }
        }
        self.rewrite_end_line(&delimiter, extent);
    }

    fn rewrite_end_line(&mut self, delimiter: &str, extent: &Extent) {
        if extent.text < self.symbols.len() {
            self.out.push_str(delimiter);
        }
        while self.at < extent.line {
            if let Some(Symbol::Hole(number)) = self.peek(0) {
                self.note(number, Quoting::Delimiter);
            }
            self.at += 1;
        }
    }
}

/// A delimiter that needs no quotes and is no line of `text`: the author's own where that will do.
fn plain_delimiter(heredoc: &Heredoc, text: &[Symbol]) -> String {
    let own: Option<String> = heredoc
        .delimiter
        .iter()
        .map(|symbol| match symbol {
            Symbol::Char(c) if c.is_ascii_alphanumeric() || *c == '_' => Some(*c),
            _ => None,
        })
        .collect();
    own.filter(|own| !own.is_empty()).unwrap_or_else(|| unused_delimiter(text))
}

fn unused_delimiter(text: &[Symbol]) -> String {
    let lines: HashSet<&[Symbol]> =
        text.split(|symbol| *symbol == Symbol::Char('\n')).map(without_tabs).collect();
    let is_free = |candidate: &String| {
        let line: Vec<Symbol> = candidate.chars().map(Symbol::Char).collect();
        !lines.contains(line.as_slice())
    };
    (0..=lines.len()).map(|number| format!("RECIPE_END_{number}")).find(is_free).unwrap_or_default()
}

fn without_tabs(line: &[Symbol]) -> &[Symbol] {
    let tabs = line.iter().take_while(|symbol| **symbol == Symbol::Char('\t')).count();
    line.get(tabs..).unwrap_or_default()
}

fn ends_in_backslash(line: &[Symbol]) -> bool {
    line.iter().rev().take_while(|symbol| **symbol == Symbol::Char('\\')).count() % 2 == 1
}
