//! The recipes that come with the program: their test files pass, and reach every branch.

use std::{
    fs,
    path::{Path, PathBuf},
};

use testkit::TestEnv;

/// The folder of the project.
fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All files below a folder with this ending.
fn files(dir: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            files(&path, ending, found);
        } else if path.to_string_lossy().ends_with(ending) {
            found.push(path);
        }
    }
}

#[test]
fn shipped_test_files_pass_with_full_coverage() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_recipe-runner-rs"));
    for folder in ["examples", "recipes"] {
        let dir = project().join(folder);
        let mut tests = Vec::new();
        files(&dir, ".test.yaml", &mut tests);
        assert!(!tests.is_empty(), "{folder} has test files");
        for file in &tests {
            let text = fs::read_to_string(file).unwrap();
            assert!(text.contains("min: 100"), "{} demands full coverage", file.display());
        }
        let output = env.run(["test", "--coverage", &dir.to_string_lossy()]);
        assert_eq!(output.code, 0, "{}", output.all());
    }
}
