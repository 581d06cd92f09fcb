//! `manifest`: the digests of a directory's recipes, to detect changes later.
//!
//! Never looks into subdirectories, and never touches a recipe.

use std::{collections::BTreeMap, fs, io, path::Path};

use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::{
    args::{ManifestAction, ManifestArgs, options::OutputFormat},
    environment::Environment,
    exit::Exit,
    out::Out,
    report::{failure::Failure, hints::plain},
};

/// The file with the digests.
const FILE: &str = "_recipe_manifest.json";

/// File names and the first 16 hexadecimal digits of their SHA-256.
type Digests = BTreeMap<String, String>;

/// The differences between two sets of files.
#[derive(Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Changes {
    /// Files that only the second set has.
    pub(crate) new: Vec<String>,
    /// Files that both have, with different contents.
    pub(crate) modified: Vec<String>,
    /// Files that only the first set has.
    pub(crate) deleted: Vec<String>,
}

impl Changes {
    /// The differences between `before` and `after`.
    pub(crate) fn between<T: PartialEq>(
        before: &BTreeMap<String, T>,
        after: &BTreeMap<String, T>,
    ) -> Changes {
        let only = |a: &BTreeMap<String, T>, b: &BTreeMap<String, T>| {
            a.keys().filter(|name| !b.contains_key(*name)).cloned().collect()
        };
        let differs = |name: &&String| before.get(*name).is_some_and(|old| after.get(*name) != Some(old));
        let both = after.keys().filter(differs).cloned().collect();
        Changes { new: only(after, before), modified: both, deleted: only(before, after) }
    }

    /// How many files differ.
    pub(crate) fn count(&self) -> usize {
        self.new.len() + self.modified.len() + self.deleted.len()
    }

    /// One line per file.
    pub(crate) fn lines(&self) -> String {
        let kinds = [("new", &self.new), ("modified", &self.modified), ("deleted", &self.deleted)];
        let lines = kinds.iter().flat_map(|(word, files)| {
            files.iter().map(move |file| format!("{word:<9} {}\n", crate::report::failure::clean(file)))
        });
        lines.collect()
    }
}

/// Writes a manifest or compares with it.
pub(crate) fn manifest(
    args: &ManifestArgs,
    environment: &Environment,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let (ManifestAction::Write(place) | ManifestAction::Check(place)) = &args.action;
    let dir = environment.absolute(&place.dir);
    let shown = place.dir.display().to_string();
    let now = digests(&dir).map_err(|error| unreadable(&shown, &error))?;
    match &args.action {
        ManifestAction::Write(_) => write(&dir, &shown, &now, args.output_format, out),
        ManifestAction::Check(_) => compare(&dir, &shown, &now, args.output_format, out),
    }
}

fn write(
    dir: &Path,
    shown: &str,
    now: &Digests,
    format: OutputFormat,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let text = serde_json::to_string_pretty(now).unwrap_or_default() + "\n";
    let path = dir.join(FILE);
    if let Err(error) = fs::write(&path, text) {
        let message = format!("{} cannot be written: {error}", path.display());
        return Err(Failure::new(Exit::Broken, message));
    }
    match format {
        OutputFormat::Json => out.json(&json!({ "manifest": path, "recipes": now })),
        OutputFormat::Text => out.result(&format!("{shown}/{FILE}: {} recipe files", now.len())),
    }
    Ok(Exit::Success)
}

fn compare(
    dir: &Path,
    shown: &str,
    now: &Digests,
    format: OutputFormat,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let before = read(&dir.join(FILE), shown)?;
    let changes = Changes::between(&before, now);
    let unchanged = changes.count() == 0;
    match format {
        OutputFormat::Json => {
            let Changes { new, modified, deleted } = &changes;
            out.json(&json!({ "changed": !unchanged, "new": new, "modified": modified, "deleted": deleted }));
        }
        OutputFormat::Text if unchanged => out.result(&format!("unchanged: {} recipe files", now.len())),
        OutputFormat::Text => out.result(&changes.lines()),
    }
    Ok(if unchanged { Exit::Success } else { Exit::Failed })
}

fn read(path: &Path, shown: &str) -> Result<Digests, Failure> {
    let again = format!("`{}` writes a new one", plain(&format!("manifest write {shown}")));
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Failure::new(Exit::BadArguments, format!("{shown} has no {FILE}")).hint(again));
        }
        Err(error) => return Err(unreadable(&path.display().to_string(), &error)),
    };
    serde_json::from_str(&text).map_err(|error| {
        Failure::new(Exit::BadArguments, format!("{} is not a manifest: {error}", path.display())).hint(again)
    })
}

fn unreadable(path: &str, error: &io::Error) -> Failure {
    Failure::new(Exit::BadArguments, format!("{path} cannot be read: {error}"))
}

/// The digests of all recipe files of a directory.
fn digests(dir: &Path) -> io::Result<Digests> {
    let mut digests = Digests::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if is_recipe(&path) && path.is_file() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            digests.insert(name, digest(&fs::read(&path)?));
        }
    }
    Ok(digests)
}

/// Whether a path has the extension of a recipe.
pub(crate) fn is_recipe(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml")
}

/// The first 16 hexadecimal digits of the SHA-256.
fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}
