//! The project's files, and the copy of them into which the mutants are written.
//!
//! Never writes into the project itself, only below `target/mutants`.

use std::{
    collections::HashSet,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{generate::mutants_of, mutant::Mutant, switches::SWITCH};

/// The crates that have mutants.
pub(crate) const CRATES: [&str; 2] = ["recipe", "engine"];

/// The project's folder.
pub(crate) struct Project {
    pub(crate) root: PathBuf,
    files: Vec<String>,
}

/// A file with its mutants.
pub(crate) struct Mutated {
    pub(crate) file: String,
    pub(crate) mutants: Vec<Mutant>,
    text: String,
}

impl Project {
    /// The project in a folder, with the files that git knows or would know.
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        let mut git = Command::new("git");
        git.args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"]).current_dir(&root);
        let output = git.output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        let names = String::from_utf8_lossy(&output.stdout).into_owned();
        let there = |name: &&str| !name.is_empty() && root.join(name).is_file();
        let files = names.split('\0').filter(there).map(str::to_owned).collect();
        Ok(Self { root, files })
    }

    /// Everything that is written here is below this folder.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.root.join("target/mutants")
    }

    /// The copy of the project.
    pub(crate) fn tree(&self) -> PathBuf {
        self.scratch().join("tree")
    }

    /// Every file that has mutants.
    pub(crate) fn mutated(&self) -> io::Result<Vec<Mutated>> {
        let mut all: Vec<Mutated> = Vec::new();
        let mut next = 1;
        for file in self.files.iter().filter(|file| has_mutants(file)) {
            let original = fs::read_to_string(self.root.join(file))?;
            let (mutants, text) = mutants_of(file, &original, next)
                .map_err(|error| io::Error::other(format!("{file}: {error}")))?;
            next += mutants.len();
            all.push(Mutated { file: file.clone(), mutants, text });
        }
        Ok(all)
    }

    /// Brings the copy up to date, with the mutants of these files.
    pub(crate) fn copy_with(&self, mutated: &[Mutated]) -> io::Result<()> {
        let tree = self.tree();
        remove_others(&tree, &tree, &self.files.iter().map(|file| tree.join(file)).collect())?;
        for file in &self.files {
            let mut bytes = match mutated.iter().find(|mutated| mutated.file == *file) {
                Some(mutated) => mutated.text.clone().into_bytes(),
                None => fs::read(self.root.join(file))?,
            };
            if CRATES.iter().any(|krate| *file == format!("crates/{krate}/src/lib.rs")) {
                bytes.extend_from_slice(SWITCH.as_bytes());
            }
            write_if_new(&tree.join(file), &bytes)?;
        }
        Ok(())
    }
}

/// The crate of a file.
pub(crate) fn crate_of(file: &str) -> &str {
    file.split('/').nth(1).unwrap_or_default()
}

/// Sources of the crates, without those of their tests.
fn has_mutants(file: &str) -> bool {
    let of_crate = |krate: &&str| file.starts_with(&format!("crates/{krate}/src/"));
    let for_tests = file.split('/').any(|part| part == "tests" || part == "tests.rs");
    file.ends_with(".rs") && CRATES.iter().any(of_crate) && !for_tests
}

/// Removes files that are no longer part of the project.
fn remove_others(tree: &Path, folder: &Path, known: &HashSet<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(tree, &path, known)?;
        } else if !known.contains(&path) && path != tree.join("Cargo.lock") {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Leaves a file alone that is the same already, so that cargo does not build it again.
fn write_if_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(path, bytes)
}
