//! The place of each template in a shell command, and the script with references in their places.
//!
//! Values never become program text: a `{{x}}` becomes `${NAME}`, written for the quoting around it.
//! Never sees a value, never runs anything, and never fails: a command that bash would refuse stays
//! one that bash refuses.
//!
//! What [`assemble`] guarantees, for every value without a NUL byte and at any size:
//!
//! - A bare hole is one word, or the part of one that it is written as: `--{{x}}`, `a={{x}}`,
//!   `> {{x}}`, `<<< {{x}}`, `a=({{x}})`. It is not split, not globbed and not read as a pattern,
//!   also in `[[ … ]]`, in `case` and in `${x#{{p}}}`.
//! - Inside `"…"`, `$"…"`, `'…'` and `$'…'` it is the value, and the quote continues after it.
//! - Inside `$(…)`, backticks, `<(…)`, `${…}`, subshells and functions the innermost quoting counts.
//! - In a heredoc it is the value byte by byte. A quoted heredoc with holes becomes an unquoted one
//!   whose own text is escaped. As bash looks for the end line before it expands anything, no
//!   value can end a heredoc, and `<<-` strips no tab of a value.
//! - A backslash or a `$` directly before a hole never reaches the reference: a bare `\{{x}}` is the
//!   value, `"\{{x}}"` is a backslash and the value, `${{x}}` is a dollar sign and the value.
//! - Wherever bash would evaluate the value as arithmetic, and so could run commands in it, the
//!   hole is listed in [`Script::arithmetic`], and the caller accepts only whole numbers. These places
//!   are `$((…))`, `((…))`, `$[…]`, `for ((…))`, subscripts, the offsets of `${x:…:…}`, the operands
//!   of `-eq` and its kin in `[[ … ]]`, `let` with any quotes or prefix, and values assigned to
//!   names that the command declares with `-i` anywhere, also by `for`, `read` and `printf -v`. Subscripts
//!   of names that the command itself declares with `-A` are plain text, except where a builtin takes
//!   the element for a name (`unset 'm[{{x}}]'`) and so expands it once more. A value that `echo` or
//!   `printf` prints directly into such a place, as in `$(( $(echo {{x}}) ))`, counts as being there.
//! - A value right after `printf` or `wait` is never read as an option, because they evaluate options.
//! - A hole as a parameter's name (`${{{x}}}`) is an error of bash, never a lookup.
//! - Comments and the delimiters of heredocs are not expanded by bash; a hole there has no effect.
//! - The time is linear in the length of the command. Beyond an extreme depth of nesting every
//!   hole counts as arithmetic.
//!
//! It cannot protect a command whose purpose is to evaluate a value. If it recognises such a command
//! (`eval {{x}}`, `bash -c '… {{x}}'`, `trap '… {{x}}' EXIT`, `read {{x}}`, `unset {{x}}`,
//! `declare {{x}}=1`, `declare -n y={{x}}`, `printf -v {{x}}`, `[[ -v {{x}} ]]`), [`misuses`] reports it, and the
//! checker warns.

mod command;
mod construct;
mod expansion;
mod facts;
mod frame;
mod heredoc;
mod misuse;
mod output;
mod parameter;
mod scanner;
pub mod syntax;
mod word;

#[cfg(test)]
mod tests;

use facts::ScanFacts;
use frame::Outlet;
pub use misuse::{Misuse, MisuseKind};
use scanner::Scanner;

/// A command cut at its templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text as the author wrote it.
    Text(&'a str),
    /// The template with this number. The same number may be at many places.
    Hole(usize),
}

/// What surrounds a hole: the innermost context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoting {
    /// Not quoted: a word or a part of one.
    Bare,
    /// Inside `"…"` or `$"…"`.
    Double,
    /// Inside `'…'`.
    Single,
    /// Inside `$'…'`.
    AnsiC,
    /// In the text of a heredoc whose delimiter is not quoted.
    Heredoc,
    /// In the text of a heredoc whose delimiter is quoted.
    QuotedHeredoc,
    /// Where bash evaluates the value as an arithmetic expression.
    Arithmetic,
    /// In a comment.
    Comment,
    /// As the delimiter of a heredoc, or in its end line.
    Delimiter,
    /// As the name of a parameter inside `${…}`, which bash refuses.
    Name,
}

/// A command with references in place of its templates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// The text for bash.
    pub body: String,
    /// The holes whose value must be a whole number, sorted, each once.
    pub arithmetic: Vec<usize>,
    /// The holes that a command takes for the name of a variable, sorted, each once.
    pub names: Vec<usize>,
    /// The holes whose variable must be set, sorted, each once.
    pub used: Vec<usize>,
}

/// The innermost context of every hole, in order.
pub fn scan(pieces: &[Piece<'_>]) -> Vec<Quoting> {
    let (_, facts) = run(pieces, &|number| format!("V{number}"));
    facts.holes.into_iter().map(|hole| hole.quoting).collect()
}

/// The holes that a command takes for code or for the name of a variable.
pub fn misuses(pieces: &[Piece<'_>]) -> Vec<Misuse> {
    let (_, facts) = run(pieces, &|number| format!("V{number}"));
    facts.misuses
}

/// Writes the script. `name` gives the shell variable of a hole; the values themselves are not needed.
pub fn assemble(pieces: &[Piece<'_>], name: &dyn Fn(usize) -> String) -> Script {
    let (body, ScanFacts { holes, misuses, .. }) = run(pieces, name);
    let pick = |wanted: &dyn Fn(Quoting) -> bool| {
        let mut numbers: Vec<usize> =
            holes.iter().filter(|hole| wanted(hole.quoting)).map(|hole| hole.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    let arithmetic = pick(&|quoting| quoting == Quoting::Arithmetic);
    let used = pick(&|quoting| !matches!(quoting, Quoting::Comment | Quoting::Delimiter));
    let mut names: Vec<usize> =
        misuses.iter().filter(|misuse| misuse.kind == MisuseKind::Name).map(|misuse| misuse.hole).collect();
    names.sort_unstable();
    names.dedup();
    Script { body, arithmetic, names, used }
}

/// One character of the command, or one hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Symbol {
    Char(char),
    Hole(usize),
}

fn run<'a>(pieces: &[Piece<'_>], name: &'a dyn Fn(usize) -> String) -> (String, ScanFacts<'a>) {
    let symbols: Vec<Symbol> = pieces.iter().flat_map(symbols_of).collect();
    let mut facts = ScanFacts::new(name, symbols.len());
    let body = Scanner::script(&symbols, Outlet::default(), &mut facts).finish();
    if facts.integers.is_empty() {
        return (body, facts);
    }
    // a function may assign to a name that is declared with `-i` further down
    let mut again = ScanFacts::new(name, symbols.len());
    again.integers = facts.integers;
    let body = Scanner::script(&symbols, Outlet::default(), &mut again).finish();
    (body, again)
}

fn symbols_of<'a>(piece: &Piece<'a>) -> Box<dyn Iterator<Item = Symbol> + 'a> {
    match *piece {
        Piece::Text(text) => Box::new(text.chars().map(Symbol::Char)),
        Piece::Hole(number) => Box::new(std::iter::once(Symbol::Hole(number))),
    }
}
