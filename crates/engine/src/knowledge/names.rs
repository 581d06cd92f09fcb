//! What the name of a script, a target or a task says: `./run-tests.sh` checks, `publish-docs` publishes.
//!
//! Never reads the files themselves.

use serde::Deserialize;

use super::{CheckKind, base_name, pattern::NameMeaning};

/// Words in names, and what they mean.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Names {
    /// One of these changes something outside.
    effect: Vec<String>,
    /// The same, but not as the whole name: `pr` alone is a program that prints.
    effect_in_part: Vec<String>,
    /// With one of these, it stays on this machine.
    no_effect: Vec<String>,
    /// A name that begins with one of these prepares or verifies an effect: `verify-deploy`.
    no_effect_first: Vec<String>,
    /// First or last words of tests.
    test: Vec<String>,
    /// First or last words of linters.
    lint: Vec<String>,
    /// First or last words of scripts that only prepare something.
    no_check: Vec<String>,
    /// Last words of names that belong to tests without being a test.
    no_check_last: Vec<String>,
    /// Directories whose scripts are tests.
    test_dirs: Vec<String>,
    /// Extensions of scripts.
    script_endings: Vec<String>,
}

fn has(list: &[String], word: &str) -> bool {
    list.iter().any(|known| known == word)
}

impl Names {
    /// Whether a word has the extension of a script.
    pub(super) fn is_script(&self, word: &str) -> bool {
        word.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && has(&self.script_endings, end))
    }

    /// The words of a name, without its directory and its extension: `deployWeb-prod.sh` has `deploy`, `web` and `prod`.
    fn words(&self, name: &str) -> Vec<String> {
        let file = base_name(name);
        let stem = match file.rsplit_once('.') {
            Some((stem, ending)) if has(&self.script_endings, ending) => stem,
            _ => file,
        };
        let mut words = vec![String::new()];
        let mut was_lower = false;
        for c in stem.chars() {
            let parts = matches!(c, '-' | '_' | ':' | '.' | '+');
            if parts || (c.is_uppercase() && was_lower) {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut().filter(|_| !parts) {
                word.extend(c.to_lowercase());
            }
            was_lower = c.is_lowercase();
        }
        words.retain(|word| !word.is_empty());
        words
    }

    /// Whether a name says this.
    pub(super) fn says(&self, name: &str, meaning: NameMeaning) -> bool {
        let words = self.words(name);
        let Some(first) = words.first() else { return false };
        // `:app:test` is the task `test` of `:app`
        let task = self.words(name.rsplit(':').next().unwrap_or(name));
        let begins = |list: &[String]| has(list, first) || task.first().is_some_and(|word| has(list, word));
        match meaning {
            NameMeaning::Effect => {
                let acts = words.iter().any(|word| has(&self.effect, word));
                let in_part = words.len() > 1 && words.iter().any(|word| has(&self.effect_in_part, word));
                let stays = words.iter().any(|word| has(&self.no_effect, word));
                (acts || in_part) && !stays && !has(&self.no_effect_first, first)
            }
            NameMeaning::Test => begins(&self.test),
            NameMeaning::Lint => begins(&self.lint),
        }
    }

    /// Whether the name of a step says that it checks: by its first or its last word, or by one of `more`.
    pub(super) fn is_check(&self, name: &str, more: &[String]) -> bool {
        let words = self.words(name);
        let (Some(first), Some(last)) = (words.first(), words.last()) else { return false };
        let is_one =
            |word: &String| [&self.test, &self.lint].iter().any(|list| has(list, word)) || has(more, word);
        let prepares =
            has(&self.no_check, first) || has(&self.no_check, last) || has(&self.no_check_last, last);
        (is_one(first) || is_one(last)) && !prepares
    }

    /// How a script checks, by its name or its directory.
    pub(super) fn script_check(&self, script: &str) -> Option<CheckKind> {
        let is_file = self.is_script(script) || script.contains('/');
        if !is_file || self.says(script, NameMeaning::Effect) {
            return None;
        }
        let words = self.words(script);
        let (first, last) = (words.first()?, words.last()?);
        if has(&self.no_check, first) || has(&self.no_check, last) || has(&self.no_check_last, last) {
            return None;
        }
        let named = |known: &[String]| has(known, first) || has(known, last);
        let dir = script.rsplit('/').nth(1).unwrap_or_default();
        let among_tests = self.is_script(script) && has(&self.test_dirs, dir);
        if named(&self.lint) {
            Some(CheckKind::Lint)
        } else if named(&self.test) || among_tests || (words.len() == 1 && first == "ci") {
            Some(CheckKind::Tests)
        } else {
            None
        }
    }
}
