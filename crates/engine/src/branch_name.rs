//! The name of a git branch from any text. Never looks at a repository: text in, text out.

/// Longest slug.
const LONGEST: usize = 60;

/// The branch of a task: its issue and slug, or `task` if its text has no usable characters.
pub fn branch(prefix: &str, issue: Option<&str>, slug: Option<&str>) -> String {
    let prefix = prefix.trim_end_matches('/');
    let slug = slug.unwrap_or("task");
    match issue.map(|issue| issue.trim_start_matches('#')) {
        Some(issue) => format!("{prefix}/issue-{issue}-{slug}"),
        None => format!("{prefix}/{slug}"),
    }
}

/// The part of a text that a branch name can have, if any.
pub fn slug(text: &str) -> Option<String> {
    let mut slug = String::new();
    for c in text.trim().chars().map(|c| c.to_ascii_lowercase()) {
        match c {
            'a'..='z' | '0'..='9' | '_' | '.' => slug.push(c),
            _ if slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    // the slug is ASCII, so this cuts between characters
    slug.truncate(LONGEST);
    let slug = acceptable(&slug);
    (!slug.is_empty()).then_some(slug)
}

/// The slug without parts that git refuses: dots side by side, `-` and `.` at its ends, a final `.lock`.
fn acceptable(slug: &str) -> String {
    let dots: Vec<&str> = slug.split('.').collect();
    let single: Vec<&str> = dots
        .iter()
        .enumerate()
        .filter(|(at, part)| !part.is_empty() || *at == 0 || *at + 1 == dots.len())
        .map(|(_, part)| *part)
        .collect();
    let single = single.join(".");
    let mut rest = single.trim_matches(['-', '.']);
    while let Some(shorter) = rest.strip_suffix(".lock") {
        rest = shorter.trim_end_matches(['-', '.']);
    }
    rest.to_owned()
}

/// Whether git accepts this as a branch name: the rules of `git check-ref-format --branch`.
pub fn is_valid(branch: &str) -> bool {
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let forbidden = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    !branch.starts_with('-')
        && !branch.ends_with('.')
        && !branch.contains("..")
        && !branch.contains("@{")
        && !branch.contains(forbidden)
        && branch.split('/').all(part)
}
