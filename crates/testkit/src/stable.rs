//! Outputs that are the same in every run: without times, ids, digests, paths and the user of the test.

use crate::TestEnv;

impl TestEnv {
    /// The text with times, ids, digests, paths and the user replaced: `0.0s`, `DATE`, `RUN-1`, `DIGEST`, `/project`.
    pub fn stable(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (number, id) in self.run_ids().iter().enumerate() {
            text = text.replace(id, &format!("RUN-{}", number + 1));
        }
        let places = [(self.dir().to_owned(), "/project"), (self.state(), "/state"), (self.home(), "~")];
        for (path, name) in places {
            let real = path.canonicalize().unwrap_or_else(|_| path.clone());
            text = text.replace(&*real.to_string_lossy(), name).replace(&*path.to_string_lossy(), name);
        }
        without_times(&text)
    }
}

fn without_times(text: &str) -> String {
    let mut stable = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '-');
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let word = rest[..end].trim_end_matches(['.', ':', '-']);
        if word.is_empty() {
            stable.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let after = &rest[word.len()..];
        let is_time = after.starts_with(" s") || stable.ends_with("\"duration\": ");
        let is_person = stable.ends_with("\"actor\": \"") || stable.ends_with("requested  by ");
        let is_request = stable.ends_with("\"request_id\": \"");
        stable.push_str(match (is_person, is_request) {
            (true, _) => "USER",
            (_, true) => "REQUEST",
            _ => stable_word(word, is_time),
        });
        rest = after;
    }
    stable
}

fn stable_word(word: &str, is_time: bool) -> &str {
    let is_number = |word: &str| word.contains('.') && word.parse::<f64>().is_ok();
    let pattern: String = word.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    match pattern.as_str() {
        "0000-00-00" => "DATE",
        "00:00:00" => "TIME",
        _ if pattern.starts_with("0000-00-00T00:00:00") => "TIME",
        _ if word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit()) => "DIGEST",
        _ if word.strip_suffix('s').is_some_and(is_number) => "0.0s",
        _ if is_time && is_number(word) => "0.0",
        _ => word,
    }
}

/// An indented raw string without its indentation and without the line break at its beginning.
pub fn dedent(text: &str) -> String {
    let text = text.strip_prefix('\n').unwrap_or(text).trim_end();
    let indent = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let least = text.lines().filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or_default();
    text.lines().map(|line| format!("{}\n", line.get(least..).unwrap_or_default())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_digests_are_replaced() {
        let digest = "0123456789abcdef".repeat(4);
        for (text, expected) in [
            ("took 12.3s: ok", "took 0.0s: ok"),
            ("2026-11-16 15:16:34 (now)", "DATE TIME (now)"),
            ("\"at\": \"2026-11-16T15:16:34.123Z\",", "\"at\": \"TIME\","),
            ("\"duration\": 0.021,", "\"duration\": 0.0,"),
            ("time: 0.4 s on average", "time: 0.0 s on average"),
            ("  requested  by me (cli)", "  requested  by USER (cli)"),
            (
                "\"actor\": \"me\", \"request_id\": \"1-a\"",
                "\"actor\": \"USER\", \"request_id\": \"REQUEST\"",
            ),
            ("version 1.4, 3 steps.", "version 1.4, 3 steps."),
            (&format!("sha {digest}."), "sha DIGEST."),
        ] {
            assert_eq!(without_times(text), expected);
        }
    }

    #[test]
    fn an_indented_recipe_loses_its_indentation() {
        assert_eq!(dedent("\n    name: a\n    steps:\n      - x\n    "), "name: a\nsteps:\n  - x\n");
    }
}
