//! Snapshots: a file for each case that has one, in a folder beside the test file.
//!
//! Written only with `--update`; a missing one fails its case.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use engine::expectations::Unmet;
use recipe::{digest::sha256, source::Place};
use runtime::{os::files, store::line_diff::line_diff};

use super::outcome::CaseFailure;
use crate::report::hints::plain;

/// The longest name of a file, without its ending.
const LONGEST: usize = 100;

/// Whether snapshots are compared or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SnapshotMode {
    Compare,
    Update,
}

/// What came of a snapshot.
#[derive(Debug)]
pub(super) enum Compared {
    /// It is as the case says, or there was none to write.
    Same,
    /// It was written.
    Written(PathBuf),
    /// It is missing or differs.
    Differs(CaseFailure),
}

/// The file of a case's snapshot.
fn file_of(test_file: &Path, case: &str) -> PathBuf {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ' ' | ',' | '(' | ')');
    let safe: String = case.chars().map(|c| if is_plain(c) { c } else { '-' }).take(LONGEST).collect();
    let safe = safe.trim_matches(['.', ' ']).to_owned();
    // names that would share a file get a part of their digest
    let name = match safe == case {
        true => safe,
        false => format!("{safe}-{}", &sha256(case.as_bytes())[..8]),
    };
    let mut folder = test_file.as_os_str().to_owned();
    folder.push(".snap");
    PathBuf::from(folder).join(format!("{name}.yaml"))
}

/// Compares a snapshot with its file, or writes it.
pub(super) fn compare(test_file: &Path, case: &str, now: &str, place: Place, mode: SnapshotMode) -> Compared {
    let file = file_of(test_file, case);
    let known = match fs::read_to_string(&file) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Compared::Differs(unusable(&file, "read", &error, place)),
    };
    match (known, mode) {
        (Some(known), _) if known == now => Compared::Same,
        (_, SnapshotMode::Update) => match write(&file, now) {
            Ok(()) => Compared::Written(file),
            Err(error) => Compared::Differs(unusable(&file, "written", &error, place)),
        },
        (known, SnapshotMode::Compare) => {
            let expected = match known {
                Some(_) => format!("as in {}", shown(&file)),
                None => format!("a snapshot in {}", shown(&file)),
            };
            let actual = match &known {
                Some(known) => {
                    format!("it differs (- expected, + actual):\n{}", line_diff(known, now).trim_end())
                }
                None => format!("there is none; `{}` writes it", plain("test --update")),
            };
            let unmet = Unmet { what: "snapshot".to_owned(), expected, actual, place: Some(place) };
            Compared::Differs(CaseFailure::Unmet(unmet))
        }
    }
}

fn shown(file: &Path) -> String {
    let parts: Vec<_> = file.iter().rev().take(2).map(|part| part.to_string_lossy()).collect();
    parts.into_iter().rev().collect::<Vec<_>>().join("/")
}

fn unusable(file: &Path, what: &str, error: &io::Error, place: Place) -> CaseFailure {
    let message = format!("the snapshot {} cannot be {what}: {error}", file.display());
    CaseFailure::Wrong { message, place: Some(place) }
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    files::overwrite(file, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_file_of_its_own() {
        let file = |case: &str| file_of(Path::new("d/r.test.yaml"), case).to_string_lossy().into_owned();
        assert_eq!(file("findings are fixed"), "d/r.test.yaml.snap/findings are fixed.yaml");
        assert_ne!(file("a/b"), file("a:b"));
        for hostile in ["../../x", "/etc/passwd", "..", "", "\u{0}", &"x".repeat(500), "a\nb"] {
            let found = file(hostile);
            assert!(found.starts_with("d/r.test.yaml.snap/") && !found[19..].contains('/'), "{found}");
            assert!(found.len() < 200, "{found}");
        }
    }
}
