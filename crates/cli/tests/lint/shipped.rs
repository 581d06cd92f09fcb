//! Shipped recipes and examples have no error and no warning.

use std::path::{Path, PathBuf};

use crate::env;

fn recipes(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            recipes(&path, found);
        } else if name.ends_with(".yaml") && !name.ends_with(".test.yaml") && !name.starts_with('.') {
            found.push(path);
        }
    }
}

#[test]
fn a53_shipped_recipes_and_examples_have_no_error_and_no_warning() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    recipes(&root.join("recipes"), &mut files);
    recipes(&root.join("examples"), &mut files);
    assert!(files.len() > 40, "{files:?}");
    let env = env();
    let mut arguments = vec!["lint".to_owned(), "--deny".to_owned(), "warning".to_owned()];
    arguments.extend(files.iter().map(|file| file.to_string_lossy().into_owned()));
    let output = env.run(&arguments);
    assert_eq!(output.code, 0, "{}", output.all());
}
