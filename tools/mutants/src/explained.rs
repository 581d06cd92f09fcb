//! The mutants that nothing can notice, each with the reason: `explained/*.txt`, one a line,
//! `FILE | FUNCTION | CHANGE | why nothing can notice it`.

use std::{collections::BTreeMap, fs, io, path::Path};

use crate::{mutant::Mutant, project::Mutated};

/// The lists, by the name of the mutant.
pub(crate) struct Explained {
    reasons: BTreeMap<String, String>,
}

impl Explained {
    /// Reads the lists of a project.
    pub(crate) fn read(project: &Path) -> io::Result<Self> {
        let mut reasons = BTreeMap::new();
        for entry in fs::read_dir(project.join("tools/mutants/explained"))? {
            let path = entry?.path();
            for line in fs::read_to_string(&path)?.lines().map(str::trim) {
                let Some((name, reason)) = split(line) else { continue };
                if reason.is_empty() || reasons.insert(name.to_owned(), reason.to_owned()).is_some() {
                    let problem = "this line has no reason or names a mutant a second time";
                    return Err(io::Error::other(format!("{}: {problem}: {line}", path.display())));
                }
            }
        }
        Ok(Self { reasons })
    }

    /// Whether a mutant has a reason.
    pub(crate) fn has(&self, mutant: &Mutant) -> bool {
        self.reasons.contains_key(&mutant.to_string())
    }

    /// Those that do not exist any more.
    pub(crate) fn stale(&self, all: &[Mutated]) -> Vec<&str> {
        let names: Vec<String> = all.iter().flat_map(|file| &file.mutants).map(Mutant::to_string).collect();
        self.reasons.keys().filter(|name| !names.contains(name)).map(String::as_str).collect()
    }
}

/// The name of the mutant and the reason; the change may contain `|`, the reason may not.
fn split(line: &str) -> Option<(&str, &str)> {
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let is_complete = line.matches(" | ").count() >= 3;
    Some(if is_complete { line.rsplit_once(" | ")? } else { (line, "") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_mutant_and_a_reason() {
        for (line, expected) in [
            ("a.rs | f | x | because", Some(("a.rs | f | x", "because"))),
            ("a.rs | f | without arm `A | B` | because", Some(("a.rs | f | without arm `A | B`", "because"))),
            ("a.rs | f | x", Some(("a.rs | f | x", ""))),
            ("# a comment", None),
            ("", None),
        ] {
            assert_eq!(split(line), expected);
        }
    }
}
