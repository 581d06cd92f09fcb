//! Files that do not belong into a commit: secrets, huge files, downloaded or built things, unfinished merges.

use serde::{Deserialize, Serialize};

/// The largest file that is committed, in bytes.
pub const LARGEST: u64 = 5 * 1024 * 1024;

/// Directories of downloaded packages, caches and build output.
const TREES: [&str; 14] = [
    "node_modules",
    "bower_components",
    "target",
    ".venv",
    "venv",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".gradle",
    ".terraform",
    ".next",
    "site-packages",
];
/// Names of files with keys.
const KEYS: [&str; 6] = ["id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", ".pgpass"];
const KEY_ENDINGS: [&str; 5] = [".key", ".p12", ".pfx", ".jks", ".keystore"];
/// The first line of a private key has both.
const KEY_MARKS: [&str; 2] = ["-----BEGIN", "PRIVATE KEY-----"];
/// Endings of environment files that show only names.
const SAMPLES: [&str; 5] = [".example", ".sample", ".template", ".dist", ".defaults"];

/// A changed file, as far as the rules look at it.
#[derive(Clone, Copy, Debug)]
pub struct ChangedFile<'a> {
    /// Its path from the top of the work.
    pub path: &'a str,
    /// Its size in bytes.
    pub bytes: u64,
    /// The beginning of its content; empty if it is not text.
    pub text: &'a str,
}

/// A file that does not belong into the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnwantedFile {
    /// Its path.
    pub path: String,
    /// What is wrong with it.
    pub problem: String,
}

/// What is wrong with a file, if anything is.
pub fn unwanted(file: &ChangedFile<'_>) -> Option<UnwantedFile> {
    let found = |problem: String| Some(UnwantedFile { path: file.path.to_owned(), problem });
    let mut dirs: Vec<&str> = file.path.split('/').collect();
    let name = dirs.pop().unwrap_or_default();
    if let Some(tree) = dirs.iter().find(|dir| TREES.contains(dir)) {
        return found(format!("`{tree}` holds downloaded or built files"));
    }
    let is_sample = || SAMPLES.iter().any(|ending| name.ends_with(ending));
    if (name == ".env" || name.starts_with(".env.")) && !is_sample() {
        return found("environment files hold secrets".to_owned());
    }
    let is_key = KEYS.contains(&name) || KEY_ENDINGS.iter().any(|ending| name.ends_with(ending));
    if is_key || KEY_MARKS.iter().all(|mark| file.text.contains(mark)) {
        return found("it looks like a private key".to_owned());
    }
    if file.bytes > LARGEST {
        return found(format!("it has {:.1} MB, more than 5", file.bytes as f64 / 1024.0 / 1024.0));
    }
    let has = |mark: &str| file.text.lines().any(|line| line.starts_with(mark));
    if has("<<<<<<< ") && has(">>>>>>> ") && file.text.lines().any(|line| line == "=======") {
        return found("it has the marks of an unfinished merge".to_owned());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_built_things_are_unwanted() {
        let of = |path: &str, bytes: u64, text: &str| unwanted(&ChangedFile { path, bytes, text }).is_some();
        for path in [".env", "a/.env.local", "node_modules/x/y.js", "a/target/debug/x", "id_rsa", "tls.key"] {
            assert!(of(path, 1, ""), "{path}");
        }
        for path in [".env.example", "src/env.rs", "targets/a", "src/target.rs", "key.rs", "cert.pem"] {
            assert!(!of(path, 1, "x"), "{path}");
        }
        assert!(of("a.bin", LARGEST + 1, "") && !of("a.bin", LARGEST, ""));
        assert!(of("cert.pem", 9, "-----BEGIN RSA PRIVATE KEY-----\n"));
        assert!(of("a.rs", 9, "x\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> other\n"));
        assert!(!of("a.md", 9, "Title\n=======\n"));
    }
}
