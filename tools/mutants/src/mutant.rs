//! What a mutant is and how it is named. The name has no line number, so that lists of mutants survive edits.
//!
//! Never changes a text.

use std::{collections::HashMap, fmt};

/// One small change of one file.
#[derive(Debug, Clone)]
pub(crate) struct Mutant {
    /// What the variable `MUTANT` has to be for it; counts over all crates from 1.
    pub(crate) number: usize,
    /// The path from the root of the project.
    pub(crate) file: String,
    /// Where it is now.
    pub(crate) line: usize,
    /// `Type::function`, or `function`.
    pub(crate) function: String,
    /// What is changed, with ` #2` if it is the second of its kind in the function.
    pub(crate) change: String,
}

impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} | {} | {}", self.file, self.function, self.change)
    }
}

/// Numbers those of one file that would have the same name.
pub(crate) fn tell_apart(mutants: &mut [Mutant]) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for mutant in mutants {
        let times = seen.entry(mutant.to_string()).or_default();
        *times += 1;
        if *times > 1 {
            mutant.change += &format!(" #{times}");
        }
    }
}

/// Longest piece of source in a name.
const LONGEST: usize = 100;

/// A piece of source on one line, the same however it is broken into lines, and not too long.
pub(crate) fn on_one_line(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    for word in source.split_whitespace() {
        let goes_on = word.starts_with('.') && !word.starts_with("..");
        text += if text.is_empty() || goes_on { "" } else { " " };
        text += word;
    }
    for (from, to) in [("( ", "("), (" )", ")"), (",)", ")"), ("[ ", "["), (" ]", "]"), (",]", "]")] {
        text = text.replace(from, to);
    }
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_of_source_is_the_same_however_it_is_broken() {
        for (source, expected) in [
            ("a == b", "a == b"),
            ("f(\n    a,\n    b,\n)", "f(a, b)"),
            ("x\n    .iter()\n    .map(f)", "x.iter().map(f)"),
            ("[a, rest @ ..]", "[a, rest @ ..]"),
            ("&[\n    1,\n]", "&[1]"),
        ] {
            assert_eq!(on_one_line(source), expected);
        }
        assert_eq!(on_one_line(&"ü".repeat(200)), format!("{}…", "ü".repeat(100)));
    }

    #[test]
    fn equal_ones_are_numbered() {
        let mutant = |function: &str, change: &str| Mutant {
            number: 0,
            file: "a.rs".into(),
            line: 1,
            function: function.into(),
            change: change.into(),
        };
        let mut mutants = [mutant("f", "x"), mutant("g", "x"), mutant("f", "x"), mutant("f", "x")];
        tell_apart(&mut mutants);
        let names: Vec<String> = mutants.iter().map(Mutant::to_string).collect();
        assert_eq!(names, ["a.rs | f | x", "a.rs | g | x", "a.rs | f | x #2", "a.rs | f | x #3"]);
    }
}
