//! Heredocs: their delimiters, and their texts after the line that announces them.
//!
//! Never lets a value decide where a text ends: the end line is found before holes are filled.

use std::collections::HashSet;

use super::{
    Quoting, Symbol,
    frame::ConstructKind,
    output::Slot,
    scanner::{ReferenceStyle, Scanner},
    word::unquote,
};

/// A heredoc that has been announced.
pub(super) struct Heredoc {
    delimiter: Vec<Symbol>,
    quoted: DelimiterQuoting,
    tabs: LeadingTabs,
    /// Where its delimiter has been written.
    slot: Slot,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DelimiterQuoting {
    Yes,
    No,
}

/// What happens to the tabs at the start of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LeadingTabs {
    Kept,
    Stripped,
}

/// Where a text ends, where its end line ends, and the first symbol after that.
struct HeredocExtent {
    text: usize,
    line: usize,
    next: usize,
}

impl<'s> Scanner<'s, '_, '_> {
    /// `<<` or `<<-` and the delimiter.
    pub(super) fn announce_heredoc(&mut self) {
        let tabs = if self.is_followed(2, '-') { LeadingTabs::Stripped } else { LeadingTabs::Kept };
        self.copy_operator(if tabs == LeadingTabs::Stripped { 3 } else { 2 });
        while matches!(self.peek_char(0), Some(' ' | '\t')) {
            self.copy(1);
        }
        let outside = std::mem::take(&mut self.out);
        let written = self.read_delimiter();
        let delimiter = std::mem::replace(&mut self.out, outside).finish();
        let slot = self.out.slot(delimiter);
        if let (false, Some(pending)) = (written.is_empty(), self.pending.last_mut()) {
            pending.push(Heredoc { delimiter: unquote(written), quoted: quoted(written), tabs, slot });
        }
    }

    /// Copies the delimiter's word.
    fn read_delimiter(&mut self) -> &'s [Symbol] {
        let (start, mut quote) = (self.at, None);
        while let Some(symbol) = self.peek(0) {
            match (symbol, quote) {
                (Symbol::Char(' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')'), None) => break,
                (Symbol::Char('\\'), None | Some('"')) => self.copy(1),
                (Symbol::Char(c), Some(open)) if c == open => quote = None,
                (Symbol::Char(c @ ('\'' | '"')), None) => quote = Some(c),
                _ => {}
            }
            self.copy_plain();
        }
        self.symbols.get(start..self.at).unwrap_or_default()
    }

    /// Copies a symbol of a delimiter, which bash does not expand.
    fn copy_plain(&mut self) {
        match self.peek(0) {
            Some(Symbol::Hole(number)) => {
                self.at += 1;
                self.write(number, ReferenceStyle::Plain, Quoting::Delimiter);
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
                DelimiterQuoting::Yes if holes => self.rewrite_text(&heredoc, &extent),
                DelimiterQuoting::Yes => {}
                DelimiterQuoting::No => self.scan_text(&extent),
            }
            while self.at < extent.next {
                self.copy_plain();
            }
        }
    }

    /// Finds the end line as bash does: before anything is expanded, but after lines that end in a backslash have been
    /// joined with the next.
    fn extent(&self, heredoc: &Heredoc) -> HeredocExtent {
        let mut start = self.at;
        while self.symbols.get(start).is_some() {
            let (places, end) = self.line(start, heredoc.quoted);
            if let Some(used) = self.end_line(&places, heredoc) {
                let line = places.get(used).copied().unwrap_or(end);
                let next = if line == end { self.symbols.len().min(end + 1) } else { line };
                return HeredocExtent { text: start, line, next };
            }
            start = end + 1;
        }
        let end = self.symbols.len();
        HeredocExtent { text: end, line: end, next: end }
    }

    /// The places of the symbols of the line that starts here, and where it ends.
    fn line(&self, start: usize, quoted: DelimiterQuoting) -> (Vec<usize>, usize) {
        let (mut places, mut at) = (Vec::new(), start);
        while let Some(symbol) = self.symbols.get(at).filter(|symbol| **symbol != Symbol::Char('\n')) {
            let escapes = quoted == DelimiterQuoting::No && *symbol == Symbol::Char('\\');
            match self.symbols.get(at + 1) {
                Some(Symbol::Char('\n')) if escapes => {}
                Some(_) if escapes => places.extend([at, at + 1]),
                _ => places.push(at),
            }
            at += if escapes { 2 } else { 1 };
        }
        (places, at.min(self.symbols.len()))
    }

    /// How much of a line is the end line of the heredoc; all of it, except directly before the
    /// parenthesis that closes a command substitution.
    fn end_line(&self, places: &[usize], heredoc: &Heredoc) -> Option<usize> {
        let line: Vec<Symbol> = places.iter().filter_map(|at| self.symbols.get(*at).copied()).collect();
        let stripped = match heredoc.tabs {
            LeadingTabs::Stripped => without_tabs(&line),
            LeadingTabs::Kept => &line,
        };
        let rest = stripped.strip_prefix(heredoc.delimiter.as_slice())?;
        let closes = self.pending.len() > 1 && rest.contains(&Symbol::Char(')'));
        (rest.is_empty() || closes).then_some(line.len() - rest.len())
    }

    /// The text of an unquoted heredoc, in which expansions count.
    fn scan_text(&mut self, extent: &HeredocExtent) {
        let text = self.symbols.get(..extent.text).unwrap_or_default();
        let out = std::mem::take(&mut self.out);
        let at = self.at;
        self.out =
            self.facts.nest(|facts| Scanner::start(text, at, ConstructKind::Heredoc, out, facts).run());
        self.at = extent.text;
    }

    /// The text of a quoted heredoc with holes, and its end line, as those of an unquoted one: what
    /// the author wrote is escaped, so that the references are all that is expanded.
    fn rewrite_text(&mut self, heredoc: &Heredoc, extent: &HeredocExtent) {
        let symbols = self.symbols;
        let delimiter = plain_delimiter(heredoc, symbols.get(self.at..extent.text).unwrap_or_default());
        self.out.fill(heredoc.slot, delimiter.clone());
        while self.at < extent.text {
            match self.peek(0) {
                Some(Symbol::Hole(number)) => {
                    self.at += 1;
                    self.write(number, ReferenceStyle::Plain, Quoting::QuotedHeredoc);
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

    fn rewrite_end_line(&mut self, delimiter: &str, extent: &HeredocExtent) {
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

/// A delimiter that needs no quotes and is not a line of `text`: the author's own if possible.
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

/// Whether a part of a delimiter is quoted, so that the text is not expanded.
fn quoted(delimiter: &[Symbol]) -> DelimiterQuoting {
    let quotes = |at: usize| match delimiter.get(at) {
        Some(Symbol::Char('\'' | '"')) => true,
        Some(Symbol::Char('\\')) => delimiter.get(at + 1) != Some(&Symbol::Char('\n')),
        _ => false,
    };
    if (0..delimiter.len()).any(quotes) { DelimiterQuoting::Yes } else { DelimiterQuoting::No }
}
