//! Which words of a text are paths of files.

use super::words::{has, words};

/// Whether a word is the relative path of a source file.
pub(super) fn is_source_path(word: &str) -> bool {
    let path = without_line(word);
    let Some((stem, extension)) = path.rsplit_once('.') else { return false };
    let is_absolute = path.starts_with(['/', '~', '$', '%', '\\', '@', '-']) || path.contains(':');
    let is_name = has(&words().not_paths, &path.to_lowercase());
    let is_stem = stem.contains(char::is_alphanumeric) && !stem.contains(char::is_whitespace);
    let is_source = has(&words().promotion.code.extensions, &extension.to_lowercase());
    is_source && is_stem && !is_absolute && !is_name
}

/// The path without its line and column: `src/a.rs:12:5`, `src/a.rs#L12`.
fn without_line(word: &str) -> &str {
    let mut path = word.split_once("#L").map_or(word, |(path, _)| path);
    while let Some((before, number)) = path.rsplit_once(':') {
        if !number.chars().all(|c| c.is_ascii_digit() || c == '-') {
            break;
        }
        path = before;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_source_files_are_known_by_their_extension() {
        for word in [
            "src/main.rs",
            "main.rs",
            "./a.py",
            "../a.go",
            "src/a.rs:12",
            "src/a.rs:12:5",
            "a-b_c.tsx",
            "src\\a.cs",
        ] {
            assert!(is_source_path(word), "{word}");
        }
        for word in [
            "/etc/a.py",
            "~/cache.py",
            "C:\\a.py",
            "$HOME/a.sh",
            "https://x.y/a.js",
            "src/",
            "a.txt",
            ".rs",
            "*.rs",
            "Node.js",
            "host:/a.py",
            "rs",
            "v1.2",
        ] {
            assert!(!is_source_path(word), "{word}");
        }
    }
}
