//! A file pattern of a rule, as a place and the pattern below it. Never changes a file.
//!
//! A pattern may lead above the directory of the step, or be absolute. Part of it may be a link to a directory: then it
//! names the files there too.

use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
};

use recipe::{check::rule_fault, graph::names_file, scope::Scope, template::Template};

use crate::steps::file_search::search;

/// A file pattern.
#[derive(Clone, Debug)]
pub(crate) struct FilePattern {
    places: Vec<PatternPlace>,
}

/// A pattern below a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PatternPlace {
    base: PathBuf,
    /// Empty if it names everything below the directory.
    rest: String,
}

impl FilePattern {
    /// Reads a pattern that starts from a directory, or says what is wrong with it.
    pub(crate) fn new(cwd: &Path, text: &str) -> Result<FilePattern, String> {
        if let Some((label, _)) = rule_fault(text) {
            return Err(format!("that `{text}` is not a file pattern: {label}"));
        }
        let absolute = text.starts_with('/');
        let mut base = if absolute { PathBuf::from("/") } else { cwd.to_owned() };
        let mut rest: Vec<&str> = Vec::new();
        for part in text.split('/').filter(|part| !part.is_empty() && *part != ".") {
            match part {
                ".." if rest.pop().is_none() => drop(base.pop()),
                ".." => {}
                part => rest.push(part),
            }
        }
        let first = PatternPlace { base, rest: rest.join("/") };
        let behind = first.behind_links();
        Ok(FilePattern { places: std::iter::once(first).chain(behind).collect() })
    }

    /// Reads the pattern that a template gives, or says what is wrong with it.
    pub(crate) fn rendered(
        cwd: &Path,
        template: &Template,
        scope: &dyn Scope,
    ) -> Result<FilePattern, String> {
        let text = template.render(scope);
        let is_broken = text.starts_with('/') || text.contains("//") || text.trim().is_empty();
        let is_empty = |path: &&recipe::scope::Path| path.resolve(scope).render().is_empty();
        let names = template.names();
        match names.iter().map(|(path, _)| *path).find(is_empty).filter(|_| is_broken) {
            Some(path) => Err(format!("that `{path}` has no value")),
            None => FilePattern::new(cwd, &text),
        }
    }

    /// Whether it names a file.
    pub(super) fn names(&self, file: &Path) -> bool {
        self.places.iter().any(|place| {
            let below = file.strip_prefix(&place.base).ok().map(Path::to_string_lossy);
            below.is_some_and(|below| place.names(&below))
        })
    }

    /// Whether it can name files that are not below a directory.
    pub(super) fn leads_out_of(&self, dir: &Path) -> bool {
        self.places.iter().any(|place| !place.fixed().starts_with(dir))
    }

    /// Adds the files that it names. `left` is the number of directory entries that may still be looked at.
    pub(super) fn find(&self, files: &mut BTreeSet<PathBuf>, left: &mut usize) {
        for place in &self.places {
            let path = place.base.join(&place.rest);
            if path.is_file() || path.is_symlink() {
                files.insert(path);
            }
            let mut found = BTreeSet::new();
            search(&place.base, &place.rest, &|file| place.names(file), &mut found, left);
            files.extend(found.into_iter().map(|file| place.base.join(file)));
        }
    }
}

impl PatternPlace {
    fn names(&self, below: &str) -> bool {
        // something else took the place of a directory that the pattern goes through
        let is_around = || {
            let fixed = fixed_part(&self.rest);
            fixed.strip_prefix(below).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.rest.is_empty() || names_file(&self.rest, below) || is_around()
    }

    /// The directory or file before the first wildcard.
    fn fixed(&self) -> PathBuf {
        self.base.join(fixed_part(&self.rest))
    }

    /// The same pattern in the directory that a link in it leads to.
    fn behind_links(&self) -> Option<PatternPlace> {
        let fixed = fixed_part(&self.rest);
        let real = fs::canonicalize(self.base.join(fixed)).ok()?;
        let rest = self.rest[fixed.len()..].trim_start_matches('/').to_owned();
        (real != self.base.join(fixed)).then_some(PatternPlace { base: real, rest })
    }
}

/// The parts of a pattern before its first wildcard.
fn fixed_part(pattern: &str) -> &str {
    match pattern.find(['*', '?', '[']) {
        Some(at) => pattern[..at].rfind('/').map_or("", |end| &pattern[..end]),
        None => pattern,
    }
}

/// A file as a path from a directory.
pub(super) fn from_dir(dir: &Path, file: &Path) -> PathBuf {
    let common = dir.components().zip(file.components()).take_while(|(a, b)| a == b).count();
    let up = dir.components().skip(common).map(|_| Component::ParentDir);
    up.chain(file.components().skip(common)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_files_wherever_they_lead() {
        let cwd = Path::new("/r/src");
        for (pattern, file, expected) in [
            ("a", "/r/src/a", true),
            ("**", "/r/src/x/y", true),
            ("**", "/r/other", false),
            ("**/g", "/r/g", false),
            (".", "/r/src/a", true),
            ("..", "/r/src/a", true),
            ("../**", "/r/src/a", true),
            ("../**", "/r/tests/g", true),
            ("../tests/**", "/r/tests/golden/g", true),
            ("../src/a", "/r/src/a", true),
            ("x/../a", "/r/src/a", true),
            ("./../tests", "/r/tests/g", true),
            ("/r/tests/*", "/r/tests/g", true),
            ("../../other/**", "/other/x", true),
            ("../tests/**", "/r/src/tests/g", false),
            ("link/**", "/r/src/link", true),
            ("[id]/p", "/r/src/[id]/p", true),
            ("[ab].c", "/r/src/b.c", true),
            ("[!ab].c", "/r/src/b.c", false),
        ] {
            let names = FilePattern::new(cwd, pattern).is_ok_and(|pattern| pattern.names(Path::new(file)));
            assert_eq!(names, expected, "{pattern} {file}");
        }
    }
}
