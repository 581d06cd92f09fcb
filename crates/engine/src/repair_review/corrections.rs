//! Small corrections: misspelled words, and names that lead to a value now.

use std::ops::Range;

use recipe::{
    scope::Path,
    shell::syntax::{CommandList, SyntaxNode},
};

use super::Pair;

/// KnownNames in a text, with their places.
pub(super) type KnownNames = Vec<(Path, Range<usize>)>;

/// The most words that a correction changes.
const MOST_WORDS: usize = 3;
/// The most edits of one word; a transposition is one.
const MOST_EDITS: usize = 2;
/// The shortest part of a word that can be misspelled.
const SHORTEST: usize = 4;

/// Whether only a few misspelled words differ, and the shape is the same.
pub(super) fn is_correction(before: &CommandList, after: &CommandList) -> bool {
    let (before, after) = (before.nodes(), after.nodes());
    let mut corrected = 0;
    before.len() == after.len()
        && before.iter().zip(&after).all(|pair| match pair {
            (SyntaxNode::Text(old), SyntaxNode::Text(new)) if old != new => {
                corrected += 1;
                is_misspelled(old, new)
            }
            (old, new) => old == new,
        })
        && (1..=MOST_WORDS).contains(&corrected)
}

/// Whether one word can be a misspelling of the other: few edits, in parts that are long enough, with the same digits.
/// A part that contains the other is another name: `result` and `results`.
fn is_misspelled(old: &str, new: &str) -> bool {
    let marks = |text: &str| text.chars().filter(|c| !c.is_alphabetic()).collect::<String>();
    if marks(old) != marks(new) || edits(old, new) > MOST_EDITS {
        return false;
    }
    let parts =
        |text: &str| -> Vec<String> { text.split(|c: char| !c.is_alphabetic()).map(str::to_owned).collect() };
    parts(old).iter().zip(&parts(new)).filter(|(old, new)| old != new).all(|(old, new)| {
        let is_long = |part: &str| part.chars().count() >= SHORTEST;
        is_long(old) && is_long(new) && !old.contains(new.as_str()) && !new.contains(old.as_str())
    })
}

/// The number of edits from one word to the other; swapping two neighbours is one.
fn edits(old: &str, new: &str) -> usize {
    let (old, new): (Vec<char>, Vec<char>) = (old.chars().collect(), new.chars().collect());
    if old.len().abs_diff(new.len()) > MOST_EDITS || old.len().max(new.len()) > 200 {
        return usize::MAX;
    }
    let mut rows = vec![vec![0; new.len() + 1]; old.len() + 1];
    for (at, row) in rows.iter_mut().enumerate() {
        row[0] = at;
    }
    for (at, cell) in rows[0].iter_mut().enumerate() {
        *cell = at;
    }
    for i in 1..=old.len() {
        for j in 1..=new.len() {
            let cost = usize::from(old[i - 1] != new[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + cost);
            if i > 1 && j > 1 && old[i - 1] == new[j - 2] && old[i - 2] == new[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[old.len()][new.len()]
}

/// Whether two texts differ only in names that led nowhere and now lead to a value.
pub(super) fn names_resolve(
    pair: &Pair<'_>,
    old: &KnownNames,
    before: &str,
    new: &KnownNames,
    after: &str,
) -> bool {
    let frame = |names: &KnownNames, text: &str| {
        let mut frame = text.to_owned();
        for (_, range) in names.iter().rev() {
            frame.replace_range(range.clone(), "\u{0}");
        }
        frame
    };
    let is_in_order = |names: &KnownNames| names.windows(2).all(|pair| pair[0].1.end <= pair[1].1.start);
    if old.len() != new.len()
        || !is_in_order(old)
        || !is_in_order(new)
        || frame(old, before) != frame(new, after)
    {
        return false;
    }
    let changed = || old.iter().zip(new).filter(|((left, _), (right, _))| left != right);
    let is_known = |names: &[String], path: &Path| path.names().any(|name| names.contains(&name));
    changed().next().is_some()
        && changed().all(|((left, _), (right, _))| {
            !is_known(&pair.old.names, left) && is_known(&pair.new.names, right)
        })
}
