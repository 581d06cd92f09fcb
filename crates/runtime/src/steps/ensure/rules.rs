//! The results of rules about files, in words. Never changes a file.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use engine::run::ensure::RuleCheck;
use recipe::{
    plan::{EnsureKind, EnsureRule},
    scope::Scope,
};

use super::file_pattern::{FilePattern, from_dir};
use crate::steps::file_search::ENTRIES;

/// The most files that a result lists.
const LISTED: usize = 10;

/// A rule about changed files, with its values.
#[derive(Debug)]
pub(crate) struct ChangeRule {
    kind: EnsureKind,
    expected: String,
    patterns: Vec<FilePattern>,
    most: u64,
}

impl ChangeRule {
    /// The rule with the values of its patterns, or the result of a rule that has no meaning with these values.
    pub(crate) fn new(rule: &EnsureRule, cwd: &Path, scope: &dyn Scope) -> Result<ChangeRule, RuleCheck> {
        let patterns = rule.patterns().iter().map(|pattern| FilePattern::rendered(cwd, pattern, scope));
        let patterns = patterns.collect::<Result<Vec<_>, _>>().map_err(|why| unmet(rule, scope, why))?;
        let most = if let EnsureRule::MaxChangedFiles(most) = rule { *most } else { 0 };
        Ok(ChangeRule { kind: rule.kind(), expected: expected(rule, scope), patterns, most })
    }

    /// Checks the rule; `changed` are the changed files, or the reason why they are not known.
    pub(super) fn check(self, cwd: &Path, changed: &Result<Vec<PathBuf>, String>) -> RuleCheck {
        let (met, found) = match changed {
            Ok(files) => self.judge(cwd, files),
            Err(problem) => (false, problem.clone()),
        };
        RuleCheck { rule: self.kind, met, expected: self.expected, found }
    }

    fn judge(&self, cwd: &Path, files: &[PathBuf]) -> (bool, String) {
        let is_named = |file: &Path| self.patterns.iter().any(|pattern| pattern.names(file));
        let shown = |wanted: Option<bool>| -> Vec<String> {
            let files = files.iter().filter(|file| wanted.is_none_or(|wanted| is_named(file) == wanted));
            files.map(|file| from_dir(cwd, file).display().to_string()).collect()
        };
        match self.kind {
            EnsureKind::Changed => match (shown(Some(true)), shown(None)) {
                (none, all) if none.is_empty() && all.is_empty() => (false, "no changed file".to_owned()),
                (none, all) if none.is_empty() => (false, format!("only other changes: {}", listed(&all))),
                (some, _) => (true, listed(&some)),
            },
            EnsureKind::Unchanged => none_of(&shown(Some(true))),
            EnsureKind::OnlyChanged => none_of(&shown(Some(false))),
            _ => {
                let all = shown(None);
                let count = match all.len() {
                    0 => "no changed file".to_owned(),
                    1 => format!("1 changed file: {}", listed(&all)),
                    count => format!("{count} changed files: {}", listed(&all)),
                };
                (all.len() as u64 <= self.most, count)
            }
        }
    }
}

/// The result of a rule that cannot be met, and why.
pub(crate) fn unmet(rule: &EnsureRule, scope: &dyn Scope, found: String) -> RuleCheck {
    RuleCheck { rule: rule.kind(), met: false, expected: expected(rule, scope), found }
}

/// What a rule demands, in words.
fn expected(rule: &EnsureRule, scope: &dyn Scope) -> String {
    let patterns = || {
        let each = rule.patterns().iter().map(|pattern| format!("`{}`", pattern.render(scope)));
        each.collect::<Vec<_>>().join(" or ")
    };
    match rule {
        EnsureRule::Changed(_) => format!("a change to a file that matches {}", patterns()),
        EnsureRule::Unchanged(_) => format!("no change to files that match {}", patterns()),
        EnsureRule::OnlyChanged(_) => format!("changes only to files that match {}", patterns()),
        EnsureRule::MaxChangedFiles(1) => "at most 1 changed file".to_owned(),
        EnsureRule::MaxChangedFiles(most) => format!("at most {most} changed files"),
        EnsureRule::File(file) => existing_file(&file.render(scope)),
        EnsureRule::Command(command) => success(command.text()),
        EnsureRule::Condition(condition) => format!("`{}`", condition.text().trim()),
    }
}

fn existing_file(pattern: &str) -> String {
    format!("a file `{pattern}` that is not empty")
}

/// The demand of a command, in words.
pub(super) fn success(command: &str) -> String {
    format!("`{}` to exit with 0", engine::run::text::brief(command.trim()))
}

fn none_of(files: &[String]) -> (bool, String) {
    match files.is_empty() {
        true => (true, "no such change".to_owned()),
        false => (false, format!("changes to {}", listed(files))),
    }
}

fn listed(files: &[String]) -> String {
    let shown: Vec<String> = files.iter().take(LISTED).map(|file| format!("`{file}`")).collect();
    match files.len().saturating_sub(LISTED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Checks that a file exists and is not empty; for a pattern, that one of the files is not empty.
pub(super) fn check_file(cwd: &Path, text: &str, pattern: &FilePattern) -> RuleCheck {
    let (met, found) = find_file(cwd, text, pattern);
    RuleCheck { rule: EnsureKind::File, met, expected: existing_file(text), found }
}

fn find_file(cwd: &Path, text: &str, pattern: &FilePattern) -> (bool, String) {
    let path = cwd.join(text);
    match fs::metadata(&path) {
        Ok(meta) if meta.is_dir() => return (false, "a directory".to_owned()),
        Ok(meta) => return (meta.len() > 0, size(meta.len())),
        Err(_) if path.is_symlink() => return (false, "a link that leads to no file".to_owned()),
        Err(_) => {}
    }
    if !text.contains(['*', '?', '[']) {
        return (false, "no such file".to_owned());
    }
    let (mut files, mut left) = (BTreeSet::new(), ENTRIES);
    pattern.find(&mut files, &mut left);
    let with_size = |file: &PathBuf| Some((file.clone(), fs::metadata(file).ok()?));
    let found: Vec<_> = files.iter().filter_map(with_size).filter(|(_, meta)| meta.is_file()).collect();
    match found.iter().find(|(_, meta)| meta.len() > 0) {
        Some((file, meta)) => {
            (true, format!("`{}` with {}", from_dir(cwd, file).display(), size(meta.len())))
        }
        None if !found.is_empty() => (false, "only empty files".to_owned()),
        None if left == 0 => (false, format!("no such file among the first {ENTRIES} directory entries")),
        None => (false, "no such file".to_owned()),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0 => "an empty file".to_owned(),
        1 => "1 byte".to_owned(),
        bytes => format!("{bytes} bytes"),
    }
}
