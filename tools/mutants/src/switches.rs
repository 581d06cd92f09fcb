//! Writes changes into a text so that each sleeps behind a switch: `crate::mutant(7)` is true in the process whose
//! variable `MUTANT` is `7`. All mutants are compiled at once that way.
//!
//! Knows nothing of Rust but the switch.

use std::{cmp::Reverse, ops::Range};

/// The switch, at the end of the root of every crate that has mutants.
pub(crate) const SWITCH: &str = r#"
#[doc(hidden)]
pub fn mutant(number: usize) -> bool {
    static CHOSEN: std::sync::LazyLock<usize> =
        std::sync::LazyLock::new(|| std::env::var("MUTANT").ok().and_then(|text| text.parse().ok()).unwrap_or(0));
    *CHOSEN == number
}
"#;

/// The order of texts inserted at one place: first the ends of ranges, the inner before the outer, then single texts,
/// then the starts of ranges, the outer before the inner. Of equal ranges the earlier is the outer.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    End { length: usize, age: Reverse<usize> },
    Alone { age: usize },
    Start { length: Reverse<usize>, age: usize },
}

/// What is to be inserted into a text.
#[derive(Debug, Default)]
pub(crate) struct Insertions {
    all: Vec<(usize, Side, String)>,
}

impl Insertions {
    /// Text at one place.
    pub(crate) fn at(&mut self, place: usize, text: String) {
        let age = self.all.len();
        self.all.push((place, Side::Alone { age }, text));
    }

    /// Text around a range; ranges may be nested but never cross.
    pub(crate) fn around(&mut self, range: Range<usize>, before: String, after: &str) {
        let (length, age) = (range.len(), self.all.len());
        self.all.push((range.start, Side::Start { length: Reverse(length), age }, before));
        self.all.push((range.end, Side::End { length, age: Reverse(age) }, after.to_owned()));
    }

    /// The text with everything inserted.
    pub(crate) fn into_text(mut self, original: &str) -> String {
        self.all.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        let mut written = String::with_capacity(original.len() * 3);
        let mut done = 0;
        for (place, _, text) in self.all {
            written += &original[done..place];
            written += &text;
            done = place;
        }
        written + &original[done..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_nest() {
        let mut insertions = Insertions::default();
        insertions.around(0..5, "<".into(), ">");
        insertions.around(0..5, "(".into(), ")");
        insertions.around(0..2, "[".into(), "]");
        insertions.around(2..5, "{".into(), "}");
        insertions.at(2, "·".into());
        assert_eq!(insertions.into_text("abcde!"), "<([ab]·{cde})>!");
    }
}
