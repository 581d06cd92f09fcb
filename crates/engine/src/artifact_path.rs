//! Paths that do not belong into a repository: what must not be committed, packages, caches, build output, worktrees
//! inside the worktree. Looks at paths only, never at sizes or contents.

use recipe::graph::names_file;

use crate::orchestration::{ChangedFile, unwanted};

/// Directories of caches, reports and temporary files.
const CACHES: [&str; 8] = [
    ".cache",
    ".parcel-cache",
    ".turbo",
    ".nyc_output",
    ".eggs",
    ".hypothesis",
    ".ipynb_checkpoints",
    ".svelte-kit",
];
/// Directories that hold build output, unless the project keeps files there.
const OUTPUT: [&str; 5] = ["build", "dist", "out", "coverage", "htmlcov"];
/// Endings of files that tools make.
const MADE: [&str; 4] = [".pyc", ".pyo", ".class", ".tsbuildinfo"];
/// Files of a running agent program, which every checkout may have.
const RUNTIME: &str = ".claude/runtime/";

/// Where a path is known to git.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathState {
    /// In the last commit.
    Committed,
    /// In the index, and not in the last commit.
    Staged,
    /// Neither in the index nor ignored.
    Untracked,
    Ignored,
}

/// Why a path does not belong into the repository, if it does not. The path of another repository ends with `/`.
pub fn artifact(path: &str, state: PathState) -> Option<String> {
    let is_known = matches!(state, PathState::Committed | PathState::Staged);
    if path.starts_with(RUNTIME) || path.contains(&format!("/{RUNTIME}")) {
        return is_known.then(|| "it belongs to a running agent program".to_owned());
    }
    if path.ends_with('/') {
        return Some("it is a worktree or a repository of its own".to_owned());
    }
    if let Some(found) = unwanted(&ChangedFile { path, bytes: 0, text: "" }) {
        return Some(found.problem);
    }
    let dirs: Vec<&str> =
        path.rsplit_once('/').map(|(dirs, _)| dirs.split('/').collect()).unwrap_or_default();
    if let Some(cache) = dirs.iter().find(|dir| CACHES.contains(dir)) {
        return Some(format!("`{cache}` is a cache"));
    }
    if MADE.iter().any(|ending| path.ends_with(ending)) {
        return Some("a tool makes it".to_owned());
    }
    // a project may well keep its own files there
    let output = dirs.iter().find(|dir| OUTPUT.contains(dir)).filter(|_| state != PathState::Committed);
    output.map(|dir| format!("`{dir}` holds build output"))
}

/// Whether a line of an allowlist, a path or a pattern, names a path.
pub fn is_allowed(path: &str, allowed: &str) -> bool {
    names_file(allowed.trim(), path.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tools_make_is_found() {
        use PathState::{Committed, Ignored, Staged, Untracked};
        for (path, state, is_found) in [
            ("src/main.rs", Untracked, false),
            (".env", Untracked, true),
            ("a/node_modules/x.js", Ignored, true),
            ("a/.cache/x", Untracked, true),
            ("a/b.pyc", Staged, true),
            ("dist/app.js", Staged, true),
            ("dist/app.js", Committed, false),
            ("build", Untracked, false),
            ("worktrees/a/", Untracked, true),
            (".claude/runtime/log", Untracked, false),
            (".claude/runtime/log", Ignored, false),
            (".claude/runtime/log", Staged, true),
            ("x/.claude/runtime/log", Committed, true),
        ] {
            assert_eq!(artifact(path, state).is_some(), is_found, "{path} {state:?}");
        }
    }

    #[test]
    fn an_allowlist_has_paths_and_patterns() {
        for (path, allowed, is_meant) in [
            ("a/b", "a/b", true),
            ("a/b", "./a/b", true),
            ("a/b/c", "a/b/", true),
            ("a/bc", "a/b", false),
            ("a/x.pyc", "a/*.pyc", true),
            ("a/b/x.pyc", "a/*.pyc", false),
            ("a/b/x.pyc", "**/*.pyc", true),
            ("x.pyc", "**/*.pyc", true),
            ("a/b/x.pyc", "a/**", true),
            ("ab", "a?", true),
            ("a/b/", "a/b", true),
        ] {
            assert_eq!(is_allowed(path, allowed), is_meant, "{path} {allowed}");
        }
    }
}
