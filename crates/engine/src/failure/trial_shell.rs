//! The state of a shell on paper: variables, the last status, settings. What only a real run can know is unknown.

use std::collections::HashMap;

use recipe::shell::syntax::{ShellWord, WordPart};

use super::trial_values::arithmetic;

/// The state of a shell that a subshell copies.
#[derive(Clone, Default)]
pub(super) struct Shell {
    pub(super) values: HashMap<String, String>,
    pub(super) status: i32,
    pub(super) statuses: Vec<i32>,
    pub(super) stops_at_failures: bool,
    pub(super) pipefail: bool,
}

impl Shell {
    pub(super) fn set(&mut self, options: &[String]) {
        for (at, option) in options.iter().enumerate() {
            let (is_on, letters) = match option.split_at_checked(1) {
                Some(("-", letters)) => (true, letters),
                Some(("+", letters)) => (false, letters),
                _ => continue,
            };
            if letters.contains('e') {
                self.stops_at_failures = is_on;
            }
            match options.get(at + 1).map(String::as_str).filter(|_| letters.ends_with('o')) {
                Some("errexit") => self.stops_at_failures = is_on,
                Some("pipefail") => self.pipefail = is_on,
                _ => {}
            }
        }
        self.status = 0;
    }

    /// The value of a word, if everything in it is known.
    pub(super) fn value(&self, word: &ShellWord) -> Option<String> {
        let parts = word.parts.iter().map(|part| match part {
            WordPart::Text(text) if text.contains("{{") => None,
            WordPart::Text(text) => Some(text.clone()),
            WordPart::Expansion(text) => self.expand(text),
            WordPart::Commands { .. } => None,
        });
        parts.collect()
    }

    fn expand(&self, text: &str) -> Option<String> {
        if let Some(inner) = text.strip_prefix("$((").and_then(|rest| rest.strip_suffix("))")) {
            return arithmetic(inner, &mut self.values.clone()).map(|value| value.to_string());
        }
        let name = text.strip_prefix('$')?;
        let name = name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name);
        match name {
            "?" => Some(self.status.to_string()),
            name if name.starts_with("PIPESTATUS") => {
                let at = name.trim_start_matches("PIPESTATUS").trim_matches(['[', ']']);
                self.statuses.get(at.parse::<usize>().unwrap_or(0)).map(i32::to_string)
            }
            name => self.values.get(name).cloned(),
        }
    }
}
