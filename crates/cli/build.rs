//! Puts the commit that the program was built from into its version, if that can be known.
//!
//! Never fails: without git, or outside of a repository, the version is the number alone.

use std::{path::Path, process::Command};

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    let said = match commit() {
        Some(commit) => format!("{version} ({commit})"),
        None => version.to_owned(),
    };
    println!("cargo:rustc-env=RECIPE_RUNNER_VERSION={said}");
    println!("cargo:rerun-if-changed=build.rs");
    // the log of HEAD grows with every commit, also in a worktree
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|log| Path::new(log).exists()) {
        println!("cargo:rerun-if-changed={log}");
    }
}

/// The newest commit and its day, if this file belongs to it: a copy inside of another repository does not.
fn commit() -> Option<String> {
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    git(&["log", "-1", "--format=%h %cs"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !said.is_empty()).then_some(said)
}
