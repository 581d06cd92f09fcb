//! The words of a `grep`: its patterns, its files, and how strict it is.
//!
//! Never judges whether a change is honest.

use super::{comparisons::plain_name, program::Call};

/// Long options that do not change what is found.
const LONG: [&str; 42] = [
    "quiet",
    "silent",
    "no-messages",
    "count",
    "files-with-matches",
    "max-count",
    "only-matching",
    "byte-offset",
    "with-filename",
    "no-filename",
    "label",
    "line-number",
    "initial-tab",
    "null",
    "after-context",
    "before-context",
    "context",
    "text",
    "binary-files",
    "devices",
    "directories",
    "exclude",
    "exclude-from",
    "exclude-dir",
    "include",
    "recursive",
    "dereference-recursive",
    "line-buffered",
    "binary",
    "null-data",
    "color",
    "colour",
    "basic-regexp",
    "no-ignore-case",
    "help",
    "version",
    "glob",
    "type",
    "hidden",
    "no-ignore",
    "multiline",
    "unrestricted",
];

/// The words of a `grep`.
pub(super) struct Grep {
    /// The patterns.
    pub(super) patterns: Vec<String>,
    /// The files.
    pub(super) files: Vec<String>,
    flags: String,
    /// Whether it has an option that grep does not have, so that it never worked.
    pub(super) is_broken: bool,
}

impl Grep {
    pub(super) fn new(call: &Call) -> Grep {
        let flags = match call.program.as_str() {
            "egrep" | "rg" => "E",
            "fgrep" => "F",
            _ => "",
        };
        let mut grep =
            Grep { patterns: Vec::new(), files: Vec::new(), flags: flags.to_owned(), is_broken: false };
        let mut words = call.arguments().iter().map(String::as_str);
        while let Some(word) = words.next() {
            if word == "--" {
                grep.files.extend(words.by_ref().map(plain_name));
            } else if let Some(long) = word.strip_prefix("--") {
                grep.long(long);
            } else if let Some(cluster) = word.strip_prefix('-').filter(|cluster| !cluster.is_empty()) {
                grep.short(cluster, &mut words);
            } else {
                grep.files.push(plain_name(word));
            }
        }
        if grep.patterns.is_empty() && !grep.files.is_empty() {
            grep.patterns.push(grep.files.remove(0));
        }
        grep
    }

    fn short<'a>(&mut self, cluster: &'a str, words: &mut impl Iterator<Item = &'a str>) {
        for (at, letter) in cluster.char_indices() {
            if !"efmABCdD".contains(letter) {
                self.flags.push(letter);
                continue;
            }
            let rest = &cluster[at + 1..];
            let value = if rest.is_empty() { words.next().unwrap_or_default() } else { rest };
            match letter {
                'e' => self.patterns.push(value.to_owned()),
                'f' => self.patterns.push(format!("-f {value}")),
                _ => {}
            }
            return;
        }
    }

    fn long(&mut self, option: &str) {
        match option.split_once('=').unwrap_or((option, "")) {
            ("regexp", value) => self.patterns.push(value.to_owned()),
            ("file", value) => self.patterns.push(format!("-f {value}")),
            ("ignore-case", _) => self.flags.push('i'),
            ("invert-match", _) => self.flags.push('v'),
            ("files-without-match", _) => self.flags.push('L'),
            ("word-regexp", _) => self.flags.push('w'),
            ("line-regexp", _) => self.flags.push('x'),
            ("fixed-strings", _) => self.flags.push('F'),
            ("extended-regexp", _) => self.flags.push('E'),
            ("perl-regexp", _) => self.flags.push('P'),
            (name, _) => self.is_broken |= !LONG.iter().any(|known| known.starts_with(name)),
        }
    }

    /// A short option that makes it easier to pass than the old one.
    pub(super) fn loosened(&self, old: &Grep) -> Option<char> {
        let gained = |letter: &char| self.flags.contains(*letter) && !old.flags.contains(*letter);
        let lost = |letter: &char| old.flags.contains(*letter) && !self.flags.contains(*letter);
        let speaks = self.patterns.iter().any(|text| text.contains(['|', '?', '+', '(', '{']));
        ['v', 'i', 'y', 'L']
            .into_iter()
            .find(gained)
            .or_else(|| ['x', 'w', 'F'].into_iter().find(lost))
            .or_else(|| ['E', 'P'].into_iter().find(|letter| speaks && gained(letter)))
    }
}
